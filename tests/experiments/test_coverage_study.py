"""The coverage study on a small part: one campaign played by the engine, and sums by hand."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from experiments import coverage, coverage_campaign, coverage_report
from experiments.__main__ import app
from experiments.coverage_campaign import ID, LABEL, VARIANTS, Interval, begin
from experiments.coverage_problems import draw
from labelwise.campaign.campaign import Campaign
from labelwise.errors import NumericalError
from labelwise.evaluation.answer import Answer
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.spec import Limits, Question, Sampling, Tables
from labelwise.tables.columns import Columns

pytestmark = pytest.mark.slow

ROUNDS = 2
WORDS = ["coverage", "--campaigns", "1", "--problem", "well-specified", "--jobs", "1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One campaign of the made-up problem in which the belief is right, of 10 labels."""
    out = tmp_path_factory.mktemp("coverage")
    words = [*WORDS, "--variant", "planned", "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage_campaign, "ROUNDS", ROUNDS)
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == 0, done.output
        again = CliRunner().invoke(app, words)
    assert again.exit_code == 0, again.output
    return json.loads(done.stdout), pd.read_csv(out / "rows.csv"), again.stdout, out


def test_every_interval_is_held_to_the_truth(run):
    summary, rows, told, out = run
    assert list(rows["estimand"]) == ["mse", "mae", "mean"]
    problem = draw("well-specified", 0)
    errors = problem.pool_y - problem.pool_prediction
    truth = [np.mean(errors**2), np.mean(np.abs(errors)), problem.pool_y.mean()]
    assert_allclose(rows["truth"], truth, rtol=1e-4)
    kinds = ["classical", "mixture", "planned", "design", "anytime", "combined"]
    for kind in kinds:
        assert (rows[f"{kind}_low"] <= rows[f"{kind}_high"]).all()
    cell = summary["cells"]["well-specified mse"]
    assert (cell["campaigns"], cell["failed"], list(cell["kinds"])) == (1, 0, kinds)
    assert "well-specified" in told
    assert (out / "coverage.png").stat().st_size > 10_000


def test_what_is_recorded_is_what_a_campaign_in_its_folder_answers(run, tmp_path):
    """The same tables through `Campaign.create`, ask and tell, at its defaults."""
    problem, rows = draw("well-specified", 0), run[1]
    features = lambda x: pd.DataFrame(x, columns=[f"x{at}" for at in range(x.shape[1])])
    first = features(problem.x).assign(
        row=[f"first {row}" for row in range(60)],
        prediction=problem.initial_prediction,
        label=problem.y,
    )
    pool = features(problem.pool_x).assign(
        row=[f"pool {row}" for row in range(500)], prediction=problem.pool_prediction
    )
    campaign = Campaign.create(
        tmp_path / "campaign",
        Tables(first, pool),
        Columns(ID, LABEL, prediction="prediction"),
        Question(("mse", "mae", "mean")),
        sampling=Sampling(batch=5),
        limits=Limits(budget=5 * ROUNDS),
    )
    for _ in range(ROUNDS):
        batch = campaign.ask()
        places = batch[ID].str.removeprefix("pool ").astype(int)
        campaign.tell(batch.assign(**{LABEL: problem.pool_y[places]}))
    estimate = campaign.estimate()
    for at, said in enumerate((estimate, *estimate.parts)):
        recorded = rows.iloc[at]
        assert_allclose(recorded["mixture_value"], said.credible.value, rtol=1e-4)
        ends = recorded[["mixture_low", "mixture_high"]].to_numpy(float)
        assert_allclose(ends, said.credible.interval(), rtol=1e-4)
        assert said.design is not None
        ends = recorded[["design_low", "design_high"]].to_numpy(float)
        assert_allclose(ends, said.design.interval(), rtol=1e-4)
        ends = recorded[["anytime_low", "anytime_high"]].to_numpy(float)
        assert_allclose(ends, said.design.anytime, rtol=1e-4)
        assert said.headline == "combined"
        assert_allclose(recorded["combined_value"], said.value, rtol=1e-4)
        ends = recorded[["combined_low", "combined_high"]].to_numpy(float)
        assert_allclose(ends, said.interval(), rtol=1e-4)


def test_variants_are_settings_of_the_engine():
    problem = draw("well-specified", 0)
    specs = {name: begin(problem, False, VARIANTS[name], 0).spec for name in VARIANTS}
    shipped = specs["mixture"]
    assert shipped.sampling.by == Sampling().by
    assert shipped.sampling.floor == Sampling().floor
    assert specs["planned"].sampling.by is None
    assert specs["planned"].belief == shipped.belief
    assert specs["plain"].belief == shipped.belief | {"components": 1}
    assert specs["plain"].sampling == shipped.sampling
    assert specs["by-loss"].sampling.by == "loss"
    assert specs["uniform"].sampling.policy["name"] == "random"
    assert specs["uniform"].belief == specs["by-loss"].belief == shipped.belief


def test_of_other_draws_the_answer_that_leads_is_kept(monkeypatch):
    """And of another belief its own answer."""
    answer = lambda value: Answer(value, 0.1, tuple(np.linspace(value - 1.0, value + 1.0, 101)))
    estimate = Estimate("mse", "MSE", 60, 50, {}, answer(1.0), answer(2.0), answer(3.0))
    estimate = replace(estimate, parts=(estimate, estimate))
    monkeypatch.setattr(coverage_campaign, "estimates", lambda *_: [estimate])
    work = coverage.work(None, None, ("plain", "by-loss", "uniform"))
    row = work(coverage.Task("well-specified", 0))[0]
    kept = {kind: row[f"{kind}_value"] for kind in ("mixture", "plain", "by-loss", "uniform")}
    assert kept == {"mixture": 1.0, "plain": 1.0, "by-loss": 3.0, "uniform": 3.0}


def test_a_campaign_that_breaks_down_is_counted(monkeypatch):
    def broken(*_):
        raise NumericalError("It broke", "mend it", where="belief")

    monkeypatch.setattr(coverage_campaign, "estimates", broken)
    rows = coverage.work(None, None)(coverage.Task("well-specified", 0))
    assert [row["failed"] for row in rows] == [1, 1, 1]
    for kind in ("mixture", "design", "anytime", "combined"):
        assert np.isnan([row[f"{kind}_low"] for row in rows]).all()
    assert np.isfinite([row["classical_low"] for row in rows]).all()


def test_an_interval_without_ends_misses_nothing():
    answer = Answer(1.0, 0.1, tuple(np.linspace(0.0, 2.0, 101)), anytime=(0.5, 1.5))
    assert Interval.of(answer, anytime=True) == (1.0, 0.5, 1.5)
    assert Interval.of(answer, anytime=True).misses(1.6)
    assert not Interval.of(answer, anytime=True).misses(1.5)
    assert not Interval.of(None).misses(1.0)


def test_the_classical_interval_is_students_with_a_finite_pool():
    from scipy.stats import t

    problem = draw("well-specified", 3)
    interval = coverage_campaign.classical_answer(problem, "mse", 3)
    rows = np.random.default_rng([3, 3]).choice(500, 50, replace=False)
    loss = (problem.pool_y - problem.pool_prediction)[rows] ** 2
    reach = t.ppf(0.95, 49) * loss.std(ddof=1) / np.sqrt(50) * np.sqrt(1 - 50 / 500)
    assert_allclose(interval[1:], [loss.mean() - reach, loss.mean() + reach])


def made_up_rows():
    kinds = [f"{kind}_{end}" for kind in coverage.KINDS for end in ("value", "low", "high")]
    rows = pd.DataFrame({name: [0.0, 0.0, 0.0, 0.0] for name in kinds})
    return rows.assign(
        policy="acs-50k", estimand="brier", seed=range(4), round=0, truth=0.5, seconds=1.0,
        ever_missed=[1, 0, 0, 0], heavy=0, failed=0, classical_high=1.0,
        design_high=[0.4, 0.5, 0.6, 2.0], design_value=[0.5, 0.5, 0.5, 0.9],
        planned_low=[0.0, np.nan, np.nan, 0.0], planned_high=[1.0, np.nan, np.nan, 0.1],
        combined_low=0.3, combined_high=[0.4, 0.4, 0.7, 0.8],
        combined_value=[0.2, 0.5, 0.5, 0.5], classical_value=0.8,
        **{"by-loss_low": 0.4, "by-loss_high": 0.65, "by-loss_value": 0.8},
        **{"uniform_low": 0.6, "uniform_high": 1.1, "uniform_value": 1.1},
    )  # fmt: skip


def test_rows_are_summed_by_hand():
    summary = coverage.summarise(made_up_rows(), "the command")
    cell = summary["cells"]["acs-50k brier"]
    design, planned = cell["kinds"]["design"], cell["kinds"]["planned"]
    assert design["coverage"] == 0.75
    assert_allclose(design["standard_error"], np.sqrt(0.75 * 0.25 / 4))
    assert_allclose(design["relative_width"], 3.5 / 4)
    assert_allclose(design["rmse"], 0.2)
    assert (planned["campaigns"], planned["coverage"]) == (2, 0.5)
    both = cell["kinds"]["combined"]
    assert_allclose([both["coverage"], both["standard_error"]], [0.5, 0.25])
    assert_allclose([both["relative_width"], both["rmse"]], [1.1 / 4, 0.15])
    assert cell["ever_missed"] == 0.25
    table = coverage_report.as_markdown(summary)
    assert "| acs-50k, Brier score | 1.00 / 1.00 |" in table
    head, first = table.splitlines()[0], table.splitlines()[2]
    place = head.split(" | ").index("belief and draws together")
    assert first.split(" | ")[place] == "0.50 / 0.28"
    table = coverage_report.draws_as_markdown(summary).splitlines()
    assert (
        table[2] == "| acs-50k | 50 % / 0.28 / 0.50 | 100 % / 0.25 / 1.00 | 0 % / 0.50 / 2.00 |"
    )
    assert table[3].startswith("| all | 50 % / 0.28")
