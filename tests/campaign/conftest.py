"""Small campaigns, made once and copied."""

import shutil

import pytest

from tests.campaign import small

SEEN: dict[tuple, float | None] = {}


@pytest.fixture(scope="package", autouse=True)
def looks_are_remembered():
    """Half of what a campaign's creation takes is to tell its tables apart, and most campaigns
    here have the same ones: every two tables are told apart once."""
    from labelwise.tables import shift

    look = shift.tell_apart

    def remembered(one, other, seed):
        key = (one.shape, one.tobytes(), other.shape, other.tobytes(), seed)
        if key not in SEEN:
            SEEN[key] = look(one, other, seed)
        return SEEN[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shift, "tell_apart", remembered)
        yield


@pytest.fixture(scope="session")
def fresh_folder(tmp_path_factory):
    """A campaign that nothing was asked of."""
    folder = tmp_path_factory.mktemp("fresh") / "campaign"
    small.make(folder)
    return folder


@pytest.fixture(scope="session")
def begun_folder(fresh_folder, tmp_path_factory):
    """Two batches out: one labelled; of the other a row skipped, one failed, one pending."""
    folder = tmp_path_factory.mktemp("begun") / "campaign"
    shutil.copytree(fresh_folder, folder)
    campaign = open_campaign(folder)
    first = campaign.ask()
    campaign.tell(small.labels_of(first["id"]))
    second = list(campaign.ask()["id"])
    campaign.skip(second[0], "torn")
    campaign.fail(second[1], "blurred")
    return folder


@pytest.fixture
def campaign(fresh_folder, tmp_path):
    return copied(fresh_folder, tmp_path)


@pytest.fixture
def begun(begun_folder, tmp_path):
    return copied(begun_folder, tmp_path)


def copied(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "campaign")
    return open_campaign(tmp_path / "campaign")


def open_campaign(folder):
    from labelwise.campaign.campaign import Campaign

    return Campaign.open(folder)
