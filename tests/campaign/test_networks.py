"""Campaigns whose belief is a network: asked, told, judged and opened again."""

import json
from functools import cache

import pytest

from labelwise.campaign.campaign import Campaign
from labelwise.errors import InvalidInput
from labelwise.evaluation.belief_options import check_belief
from tests.campaign.small import labels_of, make, make_tables

QUICK = {"steps": 20, "hidden": (6,)}
BELIEFS = {
    "ensemble-plus": {"name": "ensemble-plus", "members": 4, **QUICK},
    "epinet": {"name": "epinet", **QUICK},
    "last-layer": {"name": "last-layer", "components": 2, **QUICK},
}
OTHERS = [name for name in BELIEFS if name != "ensemble-plus"]


@pytest.fixture(scope="module")
def gone_round(tmp_path_factory):
    """The campaign with a belief after its first labels, made once."""

    @cache
    def go(name):
        path = tmp_path_factory.mktemp(name) / "c"
        campaign = make(path, belief=BELIEFS[name], policy="lookahead")
        batch = campaign.ask(3)
        assert len(set(batch["id"])) == 3
        campaign.tell(labels_of(batch["id"]))
        return campaign

    return go


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ensemble-plus", *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)]
)
def test_a_campaign_goes_round(name, gone_round):
    campaign = gone_round(name)
    found = campaign.estimate()
    low, high = found.credible.interval()
    assert low < found.credible.value < high
    assert campaign.checks()
    # Another process builds the same belief from what is stored, and nothing was pickled.
    again = Campaign.open(campaign.path)
    assert again.estimate().to_dict() == found.to_dict()
    assert json.dumps(found.to_dict())


@pytest.mark.slow
def test_labels_of_two_kinds_make_a_classifier(tmp_path):
    tables = make_tables()
    tables["labelled"]["y"] = (tables["labelled"]["y"] > 0.5).astype(float)
    campaign = make(
        tmp_path / "c",
        **tables,
        belief=BELIEFS["ensemble-plus"],
        estimand=["accuracy", "recall"],
        label_range=None,
    )
    batch = campaign.ask(2)
    with pytest.raises(InvalidInput, match="labels are 0 or 1"):
        campaign.tell({batch["id"][0]: 0.5})
    campaign.tell({one: float(index) for index, one in enumerate(batch["id"])})
    assert all(
        0.0 <= part.value <= 1.0 for part in (campaign.estimate(), *campaign.estimate().parts)
    )


def test_the_report_says_what_the_network_is(gone_round, tmp_path):
    page = gone_round("ensemble-plus").report(tmp_path / "report.html").read_text()
    assert page.count("an ensemble of 4 neural networks with prior functions (Ensemble+)") >= 2
    assert "Gaussian process" not in page
    assert "members 4" in page


@pytest.mark.parametrize(
    ("belief", "message"),
    [
        ("perceptron", "There is no belief 'perceptron'"),
        ({"name": "epinet", "members": 3}, "The belief 'epinet' has no option 'members'"),
        ({"name": "ensemble", "members": 0}, "members must be at least 1"),
        ({"name": "last-layer", "kernel": "cubic"}, "kernel must be one of"),
        ({"name": "dropout", "rate": 1.0}, "rate must be below 1"),
        ({"name": "ensemble", "kernel": "rbf"}, "has no option 'kernel'"),
    ],
)
def test_beliefs_that_do_not_exist_are_refused_in_one_sentence(belief, message):
    with pytest.raises(InvalidInput, match=message):
        check_belief(belief, 3)


def test_labels_decide_what_a_network_is_about():
    assert check_belief("ensemble", 2, binary=True)["labels"] == "binary"
    assert check_belief("ensemble", 2, binary=False)["labels"] == "regression"
