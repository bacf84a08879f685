"""Campaigns about pools of which they have a sample."""

import json
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from labelwise.campaign.campaign import Campaign
from labelwise.campaign.choosing import Workers, passing_beside
from labelwise.campaign.mended import keep_mended, read_mended
from labelwise.cli.app import app
from labelwise.errors import InvalidInput
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.reopened import checked_rows, reopen
from labelwise.evaluation.spec import Question, Sampling, Tables
from labelwise.evaluation.two_phase import Mended, with_foreseen
from labelwise.tables.columns import Columns
from tests.campaign import small

ROWS, SAMPLE, BATCH = 4000, 1000, 6


@cache
def pool() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    x, place = rng.normal(size=(ROWS, 2)), rng.choice(["north", "south"], ROWS, p=[0.9, 0.1])
    score = 1.0 / (1.0 + np.exp(2.0 - 1.5 * x[:, 0]))
    frame = pd.DataFrame({"id": np.arange(ROWS), "a": x[:, 0], "b": x[:, 1], "place": place})
    return frame.assign(score=score.astype(np.float32))


def labels(ids: pd.Series) -> np.ndarray:
    rows = pool().iloc[ids.astype(int)]
    noise = np.random.default_rng(4).random(ROWS)[rows["id"]]
    chance = 1.0 / (1.0 + np.exp(2.2 - 1.4 * rows["a"] - 0.3 * rows["b"]))
    return (noise < chance.to_numpy()).astype(int)


def write(folder: Path, files: int = 4) -> Path:
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(ROWS), files)):
        pool().iloc[part].to_parquet(folder / f"{number}.parquet", row_group_size=400)
    return folder


def create(path: Path, source: Path, **sampling) -> Campaign:
    return Campaign.create(
        path,
        Tables(pool=str(source)),
        Columns(id="id", label="y", prediction="score"),
        Question("accuracy", threshold=0.4, by=["place"]),
        {"name": "auto", "components": 1},
        Sampling(batch=BATCH, **({"whole": 2000, "sample": SAMPLE} | sampling)),
        seed=7,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Campaign:
    folder = tmp_path_factory.mktemp("large")
    return create(folder / "audit", write(folder / "pool"))


@pytest.fixture(scope="module")
def told(made) -> Campaign:
    for _ in range(4):
        batch = made.ask()
        made.tell(batch.assign(y=labels(batch["id"])))
    return made


def test_the_pool_is_a_sample_and_says_so(made):
    status = made.status()
    assert status.sample is not None
    assert status.sample["rows"] == ROWS
    assert status.rows["pool"] == status.sample["sample"] == len(made.tables["pool"])
    assert abs(status.rows["pool"] - SAMPLE) < 50
    assert "'score'" in status.sample["how"]
    assert "place" in status.sample["how"]


def test_masses_are_what_rows_stand_for(made):
    evaluation, phase = made.evaluation(), made.phase
    assert phase is not None
    assert phase.probability.min() < 0.5 * phase.probability.max()
    expected = 1.0 / phase.probability
    for mass in (evaluation.arrays.mass, evaluation.survey.population.weight):
        np.testing.assert_allclose(mass / mass.sum(), expected / expected.sum())
    assert expected.sum() == pytest.approx(ROWS)  # of every stratum as many as it has
    south = made.tables["pool"]["place"] == "south"
    assert expected[south].sum() == pytest.approx((pool()["place"] == "south").sum())


def test_the_encoder_has_the_statistics_of_every_row(made):
    coding = next(one for one in made.encoder.codings if one.column == "a")
    assert coding.centre == pytest.approx(pool()["a"].mean())
    assert coding.scale == pytest.approx(pool()["a"].std(ddof=0))
    told = made.store.document("statistics")
    assert told["rows"] == ROWS
    assert told["levels"]["place"] == pool()["place"].value_counts().to_dict()


def test_an_answer_has_the_variance_of_both_phases(told):
    evaluation, estimate = told.evaluation(), told.estimate()
    question = evaluation.inquiry.questions[0]
    within = evaluation.within[question]
    assert within is not None
    assert estimate.credible.first_phase > 0.0
    foreseen = estimate.credible.first_phase**2
    variance = with_foreseen(within.variance, foreseen, within.answer.draws)
    for answer in (estimate.design, estimate.combined):
        assert answer is not None
        assert answer.first_phase**2 == pytest.approx(variance)
    assert estimate.design.std**2 == pytest.approx(within.answer.std**2 + variance)
    share = estimate.design.first_phase**2 / estimate.lead.std**2
    stored = estimate.to_dict()["first_phase"]
    assert stored["share_of_variance"] == pytest.approx(share)
    assert stored["rows"] == ROWS
    assert f"{ROWS} rows of the pool" in estimate.quantity
    assert type(estimate).from_dict(estimate.to_dict()) == estimate


def test_commands_say_of_what_the_pool_is_a_sample(told):
    told.estimate()
    status = CliRunner().invoke(app, ["status", str(told.path)], env={"COLUMNS": "200"})
    assert status.exit_code == 0, status.output
    assert f"of {ROWS} rows, in " in status.output
    assert "% of its variance" in status.output
    estimate = CliRunner().invoke(app, ["estimate", str(told.path), "--json"])
    stored = json.loads(estimate.output)["first_phase"]
    assert stored["rows"] == ROWS
    assert 0.0 < stored["share_of_variance"] < 1.0
    exported = told.path.parent / "rows.csv"
    told.export(exported)
    np.testing.assert_allclose(
        pd.read_csv(exported)["first_phase_probability"], told.phase.probability
    )


def test_refining_mends_by_every_row(told):
    before = told.estimate()
    evaluation = told.evaluation()
    after = told.refine(workers=2)
    found = told.evaluation().mended[before.title]
    # The same predictions of the whole pool, by the belief, in double precision.
    belief = evaluation.posterior.belief
    chance = np.asarray(belief.likelihood.mean(belief.mean(told.encoder.encode(pool()))))
    called = pool()["score"].to_numpy() >= 0.4
    right = np.where(called, chance, 1.0 - chance)
    np.testing.assert_allclose(found.means, [right.mean()], rtol=1e-4)
    assert after.first_phase["refined"]
    assert after.design.first_phase < before.design.first_phase
    again = Campaign.open(told.path).estimate()
    assert again.value == after.value
    rows = len(told.phase.stratum)
    assert set(read_mended(told.store, rows)) == set(told.evaluation().mended)
    other = keep_mended(told.path, {before.title: Mended(found.predictions, found.means + 0.1)})
    assert other != told.store.refined()
    assert read_mended(told.store, rows) == {}  # it is not what the log has bound
    assert any("refine" in note for note in told.verify().notes)
    assert Campaign.open(told.path).estimate().value == before.value


def test_a_pass_that_was_cut_off_leaves_no_campaign_and_goes_on(tmp_path, monkeypatch):
    from labelwise.pools import passes

    source, path = write(tmp_path / "pool"), tmp_path / "audit"

    def cut_off(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(passes, "select", cut_off)
        with pytest.raises(KeyboardInterrupt):
            create(path, source)
    assert not path.exists()
    assert {one.name for one in tmp_path.iterdir()} == {"pool", ".audit.pass"}
    monkeypatch.setattr(passes.Taking, "__call__", cut_off)  # nothing is left to take
    create(path, source)
    assert {one.name for one in tmp_path.iterdir()} == {"pool", "audit"}


def test_a_pool_that_is_not_too_large_is_whole(tmp_path, refused):
    campaign = create(tmp_path / "audit", write(tmp_path / "pool"), whole=ROWS)
    assert campaign.phase is None
    assert campaign.status().sample is None
    pd.testing.assert_frame_equal(campaign.tables["pool"], pool(), check_dtype=False)
    with refused(where="pool"):
        campaign.refine()


def test_a_large_pool_needs_ids(tmp_path, refused):
    with refused(where="columns.id"):
        Campaign.create(
            ":memory:",
            Tables(pool=str(write(tmp_path / "pool"))),
            Columns(label="y", prediction="score"),
            "accuracy",
            sampling=Sampling(whole=2000),
        )


def test_a_sample_of_hardly_any_rows_is_refused(tmp_path, refused):
    with refused(where="sample"):
        create(tmp_path / "audit", write(tmp_path / "pool"), sample=10)


def prepared(folder: Path, **parts):
    """A large pool beside another table, prepared and no more."""
    columns = Columns(id="id", label="y", prediction="score")
    sampling = Sampling(whole=2000, sample=SAMPLE, labelled_by=parts.pop("labelled_by", None))
    tables = Tables(pool=str(write(folder / "pool")), **parts)
    return prepare(tables, columns, "accuracy", sampling=sampling, telling_apart=False)


def test_a_target_of_its_own_says_what_rows_stand_for(tmp_path):
    target = pool().sample(800, random_state=1).drop(columns="id")
    found = prepared(tmp_path, target=target)
    assert found.phase is not None
    assert np.ptp(found.phase.probability) < 0.02  # rows are nearly alike
    assert found.arrays.mass is None
    weight = found.population.weight
    assert weight is not None
    # The rows are weighed to look like the target, and for how they were drawn besides.
    shares = weight / weight.sum()
    spread = target["a"].std() / np.sqrt(len(target))
    assert abs(shares @ found.tables["pool"]["a"] - target["a"].mean()) < 3.0 * spread


def test_a_large_target_is_sampled_uniformly(tmp_path):
    large = write(tmp_path / "target")
    found = prepared(tmp_path, target=str(large))
    assert len(found.tables["target"]) == SAMPLE
    assert any(f"Of the target's {ROWS} rows" in note for note in found.encoder.notes)


def test_a_labelled_row_that_is_anywhere_in_the_pool_is_refused(tmp_path, refused):
    labelled = pool().iloc[[3999]].assign(y=1)
    with refused(where="labelled.id"):
        prepared(tmp_path, labelled=labelled)


def test_labels_drawn_by_chance_do_not_join_a_sample(tmp_path, refused):
    labelled = pool().iloc[:9].assign(y=0, id=np.arange(-9, 0))
    with refused(where="sampling.labelled_by"):
        prepared(tmp_path, labelled=labelled, labelled_by="chance")


def test_files_without_a_column_that_was_read_are_refused(made, tmp_path, refused):
    phase = replace(made.phase, address=str(write(tmp_path / "pool")))
    assert reopen(phase).columns == phase.columns
    with refused(where=phase.address) as error:
        reopen(replace(phase, columns=(*phase.columns, "price")))
    assert "'price'" in error.value.what


def test_a_pool_that_is_refused_leaves_nothing(tmp_path, refused):
    folder = write(tmp_path / "pool")
    pool().iloc[:400].to_parquet(folder / "9.parquet")  # ids that the first file has too
    with refused(where="pool.id"):
        create(tmp_path / "audit", folder)
    assert [one.name for one in tmp_path.iterdir()] == ["pool"]


def test_a_name_that_is_taken_is_refused_before_the_pass(made, tmp_path, refused):
    (tmp_path / "notes").write_text("mine")
    tables, columns, told = Tables(pool=made.phase.address), Columns(id="id", label="y"), []
    with refused(where=str(tmp_path)):
        Campaign.create(tmp_path, tables, columns, progress=lambda *given: told.append(given))
    assert not told


def test_files_that_hold_something_else_now_are_refused(made, tmp_path, refused):
    source = write(tmp_path / "pool")
    phase = replace(made.phase, address=str(source))
    file = source / "2.parquet"
    held = pd.read_parquet(file)
    held.assign(score=np.nan).to_parquet(file)
    opened = reopen(phase)
    piece = next(one for one in opened.pieces if opened.files[one.file] == str(file))
    with refused(where="pool.score") as error:
        list(checked_rows(opened, piece, made.spec))
    assert "2.parquet" in error.value.what
    for one in source.iterdir():
        pd.read_parquet(one).assign(a="many").to_parquet(one)
    with refused(where=phase.address) as error:
        reopen(phase)
    assert "texts in 'a'" in error.value.what


@pytest.mark.parametrize(("where", "left"), [("pool", []), ("s3://bucket", [".audit.ask"])])
def test_a_pass_of_choosing_that_is_refused_leaves_nothing(tmp_path, where, left):
    with pytest.raises(InvalidInput), passing_beside(tmp_path / "audit", Workers()):
        raise InvalidInput("It is not there", "bring it back", where=where)
    assert [one.name for one in tmp_path.iterdir()] == left


@pytest.mark.parametrize("when", ["new", "ask", "plan"])
def test_a_cluster_that_has_nothing_to_read_is_refused(when, tmp_path, refused):
    """A campaign whose tables are in memory: nothing is passed over."""
    if when == "new":
        columns = Columns(id="id", label="y", prediction="psi")
        parts = (tmp_path / "campaign", Tables(**small.make_tables()), columns)
        act = partial(Campaign.create, *parts, scheduler="local")
    else:
        act = partial(getattr(small.make(tmp_path / "campaign"), when), 2, scheduler="local")
    with refused(where="--scheduler"):
        act()
