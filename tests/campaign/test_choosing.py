"""Campaigns whose lookahead chooses among every row of a pool of which they have a sample."""

import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from labelwise.campaign.campaign import Campaign
from labelwise.campaign.verify import verify_folder
from labelwise.cli.app import app
from labelwise.errors import StoreError
from labelwise.evaluation import everything
from labelwise.evaluation.posterior import round_key
from labelwise.evaluation.spec import Question, Sampling, Tables
from labelwise.pools.best import Best
from labelwise.tables.columns import Columns
from labelwise.types import Pool
from tests.campaign.test_altered import forge
from tests.lookahead.problems import Gains

ROWS, SAMPLE, BATCH, LABELLED = 4000, 1000, 5, 24
FEW = Best(total=200, each=2)


@cache
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(LABELLED + ROWS, 2))
    frame = pd.DataFrame({"id": np.arange(-LABELLED, ROWS), "a": x[:, 0], "b": x[:, 1]})
    return frame.assign(score=np.sin(x[:, 0]), y=np.sin(1.3 * x[:, 0]) + 0.2 * x[:, 1])


def pool() -> pd.DataFrame:
    return rows().iloc[LABELLED:].drop(columns="y").reset_index(drop=True)


def labelled(batch: pd.DataFrame) -> pd.DataFrame:
    return batch.assign(y=rows().set_index("id").loc[batch["id"].astype(int), "y"].to_numpy())


def write(folder: Path, order: np.ndarray, files: int = 3, group: int = 500) -> Path:
    folder.mkdir()
    for number, part in enumerate(np.array_split(order, files)):
        some, path = pool().iloc[part], folder / f"{number}.parquet"
        some.to_parquet(path, row_group_size=group, index=False)
    return folder


def create(path: Path, source: Path, **sampling) -> Campaign:
    settings = {"whole": 2000, "sample": SAMPLE, "by": "none", "batch": BATCH}
    settings |= {"policy": {"name": "lookahead", "effort": "greedy"}}
    return Campaign.create(
        path,
        Tables(labelled=rows().iloc[:LABELLED], pool=str(source)),
        Columns(id="id", label="y", prediction="score"),
        Question("mse"),
        {"name": "gp", "components": 1},
        Sampling(**(settings | sampling)),
        seed=7,
    )


@pytest.fixture(scope="module", autouse=True)
def few():
    """So few candidates that most rows are none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(everything, "KEPT", FEW)
        patch.setattr(everything, "LANDMARKS", 32)
        yield


@pytest.fixture(scope="module")
def fresh(few, tmp_path_factory) -> Path:
    """A campaign that nobody has asked yet; beside it the pool."""
    folder = tmp_path_factory.mktemp("choosing")
    create(folder / "audit", write(folder / "pool", np.arange(ROWS)))
    return folder / "audit"


@pytest.fixture
def campaign(fresh, tmp_path) -> Campaign:
    shutil.copytree(fresh, tmp_path / "audit")
    return Campaign.open(tmp_path / "audit")


@pytest.fixture(scope="module")
def asked(fresh, tmp_path_factory) -> Path:
    """The same after two rounds."""
    path = tmp_path_factory.mktemp("asked") / "audit"
    shutil.copytree(fresh, path)
    told = Campaign.open(path)
    for _ in range(2):
        told.tell(labelled(told.ask()))
    return path


def outside(campaign: Campaign, ids: pd.Series) -> list[int]:
    """Those that are not in the sample that was drawn."""
    sample = pd.read_parquet(campaign.path / "tables" / "pool.parquet")
    return [one for one in ids.astype(int) if one not in set(sample["id"])]


def test_the_batch_is_worth_that_of_exact_lookahead_over_every_row(campaign):
    evaluation = campaign.evaluation()
    posterior = evaluation.posterior
    known, x = (posterior.belief, posterior.estimand), campaign.encoder.encode(pool())
    key = round_key(evaluation.spec.seed, 1)
    exact = np.asarray(evaluation.policy.propose(key, *known, Pool(x), BATCH).indices)
    batch = campaign.ask()
    assert outside(campaign, batch["id"])
    ours = batch["id"].astype(int).to_numpy()  # ids are places in the pool
    gain = Gains.of(posterior.belief.heaviest, posterior.estimand, x[np.append(ours, exact)])
    assert gain(np.arange(BATCH)) >= 0.99 * gain(BATCH + np.arange(BATCH))


def test_rows_from_outside_the_sample_join_and_count(asked):
    campaign = Campaign.open(asked)
    state, table = campaign.state(), campaign.tables["pool"]
    labels = rows().set_index("id")["y"]
    assert len(state.labels) == 2 * BATCH
    for row, label in state.labels.items():
        assert label == labels[int(table["id"].iloc[row])]
    new = outside(campaign, table["id"].iloc[sorted(state.labels)])
    assert len(new) == len(table) - len(pd.read_parquet(asked / "tables" / "pool.parquet")) > 0
    sample = campaign.status().sample
    assert sample is not None
    assert sample["joined"] == len(new)
    assert campaign.estimate().bought == 2 * BATCH
    pd.testing.assert_frame_equal(
        table.iloc[-len(new) :].reset_index(drop=True),
        pool().set_index("id").loc[table["id"].iloc[-len(new) :]].reset_index(),
    )


def test_rows_that_joined_stand_for_themselves_and_the_sample_for_the_rest(asked):
    phase = Campaign.open(asked).phase
    assert phase is not None
    assert phase.total == ROWS
    assert (phase.probability[-phase.joined :] == 1.0).all()
    assert (1.0 / phase.probability).sum() == pytest.approx(ROWS)
    mass = Campaign.open(asked).evaluation().survey.population.weight
    assert mass is not None
    np.testing.assert_allclose(mass / mass.sum(), 1.0 / phase.probability / ROWS)


def test_no_row_is_asked_twice(asked):
    history = Campaign.open(asked).store.history()
    ids = [one.id for one in history if one.event.kind == "asked"]
    assert len(set(ids)) == len(ids) == 2 * BATCH


def test_commands_go_on_with_rows_that_joined(asked, tmp_path):
    shutil.copytree(asked, tmp_path / "audit")
    run = lambda *words: CliRunner().invoke(app, [*words], env={"COLUMNS": "200"})
    path = str(tmp_path / "audit")
    planned = run("plan", path, "-n", "2", "--workers", "1")
    assert planned.exit_code == 0, planned.output
    assert "chosen besides" in run("status", path).output
    told = run("estimate", path)
    assert "that were chosen besides" in " ".join(told.output.split())
    assert run("report", path).exit_code == 0
    assert run("export", path, str(tmp_path / "rows.csv")).exit_code == 0
    exported = pd.read_csv(tmp_path / "rows.csv")
    assert (exported["state"] == "labelled").sum() == 2 * BATCH


def test_a_backup_has_the_rows_that_joined(asked, tmp_path):
    campaign = Campaign.open(asked)
    before = campaign.estimate()
    campaign.backup(tmp_path / "copy")
    copy = Campaign.open(tmp_path / "copy")
    assert copy.verify().sound, copy.verify().lines
    assert copy.estimate().value == before.value
    pd.testing.assert_frame_equal(copy.tables["pool"], campaign.tables["pool"])


LAST = "WHERE item = (SELECT max(item) FROM items)"


@pytest.mark.parametrize(
    "change",
    [
        f"UPDATE items SET id = '2999999' {LAST}",
        f"UPDATE items SET position = position + 100 {LAST}",
        "UPDATE joined SET content = (SELECT content FROM joined WHERE round = 2)",
        "DELETE FROM joined WHERE round = 1",
        "INSERT INTO items (origin, position, id) VALUES ('pool', 99999, '99999')",
    ],
)
def test_rows_that_joined_are_bound(asked, tmp_path, change):
    path = tmp_path / "audit"
    shutil.copytree(asked, path)
    forge(path, change)
    assert not verify_folder(path).sound
    with pytest.raises(StoreError):
        Campaign.open(path).tell({rows()["id"].iloc[-1]: 0.0}, unasked="accept")


def test_who_opened_before_can_tell_labels_of_rows_that_joined(campaign):
    other = Campaign.open(campaign.path)
    other.skip([other.tables["pool"]["id"].iloc[0]])  # and has read which rows there are
    batch = campaign.ask()
    assert outside(campaign, batch["id"])
    assert other.tell(labelled(batch)).new == BATCH
    assert other.pending().empty
    assert other.estimate().value == campaign.estimate().value


def test_any_number_of_workers_and_any_files_plan_the_same(campaign, tmp_path):
    ids = lambda of, **who: of.show(of.plan(**who))["id"].tolist()
    first = ids(campaign, workers=1)
    assert all(ids(campaign, workers=count) == first for count in (2, 4))
    order = np.random.default_rng(0).permutation(ROWS)
    other = create(tmp_path / "other", write(tmp_path / "cut", order, 7, 150))
    assert ids(other) == first
    assert not list(tmp_path.glob(".*"))


def test_a_pass_that_is_killed_leaves_the_campaign_as_it_was_and_goes_on(campaign, monkeypatch):
    def cut_off(*given):
        raise KeyboardInterrupt

    head = campaign.state().head
    with monkeypatch.context() as patch:
        patch.setattr(Best, "chosen", cut_off)
        with pytest.raises(KeyboardInterrupt):
            campaign.ask()
    assert campaign.state().head == head
    kept = campaign.path.with_name(".audit.ask")
    assert len(list(kept.rglob("*.arrow"))) == 9  # of three files, three groups each
    with monkeypatch.context() as patch:
        patch.setattr(everything.Scoring, "__call__", cut_off)  # nothing is left to score
        assert len(campaign.ask()) == BATCH
    assert not kept.exists()


def test_changed_files_are_refused(tmp_path, refused):
    source = write(tmp_path / "pool", np.arange(ROWS))
    campaign = create(tmp_path / "audit", source)
    (source / "2.parquet").unlink()
    with refused(where=str(source)):
        campaign.ask()


def test_rows_that_chance_draws_are_of_the_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(everything, "find_best", None)  # no pass is taken
    source = write(tmp_path / "pool", np.arange(ROWS))
    drawn = create(tmp_path / "audit", source, by="policy", policy="lookahead")
    assert not outside(drawn, drawn.ask()["id"])
