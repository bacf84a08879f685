"""The coverage study on a small part: one campaign played through, and sums by hand."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from experiments import coverage, coverage_campaign
from experiments.__main__ import app
from experiments.coverage_campaign import Labels, with_predictor
from experiments.coverage_problems import draw

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One campaign of the made-up problem in which the belief is right, of 20 labels."""
    out = tmp_path_factory.mktemp("coverage")
    words = ["coverage", "--campaigns", "1", "--problem", "well-specified", "--jobs", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage_campaign, "ROUNDS", 4)
        patch.setattr(coverage_campaign, "LOOKS", np.array([5, 11, 20]))
        done = CliRunner().invoke(app, [*words, "--out", str(out), "--json"])
        assert done.exit_code == 0, done.output
        again = CliRunner().invoke(app, [*words, "--out", str(out)])
    assert again.exit_code == 0, again.output
    return json.loads(done.stdout), pd.read_csv(out / "rows.csv"), again.stdout, out


def test_every_interval_is_held_to_the_truth(run):
    summary, rows, told, out = run
    assert list(rows["estimand"]) == ["mse", "mae", "mean"]
    problem = draw("well-specified", 0)
    errors = problem.pool_y - problem.pool_prediction
    truth = [np.mean(errors**2), np.mean(np.abs(errors)), problem.pool_y.mean()]
    assert_allclose(rows["truth"], truth, rtol=1e-4)
    for kind in coverage.KINDS:
        assert (rows[f"{kind}_low"] <= rows[f"{kind}_high"]).all()
    assert summary["cells"]["well-specified mse"]["campaigns"] == 1
    assert "well-specified" in told
    assert (out / "coverage.png").stat().st_size > 10_000


def test_the_classical_interval_is_students_with_a_finite_pool():
    from scipy.stats import t

    problem = draw("well-specified", 3)
    found = coverage_campaign.classical_answer(problem, "mse", 3)
    rows = np.random.default_rng([3, 3]).choice(500, 50, replace=False)
    loss = (problem.pool_y - problem.pool_prediction)[rows] ** 2
    reach = t.ppf(0.95, 49) * loss.std(ddof=1) / np.sqrt(50) * np.sqrt(1 - 50 / 500)
    assert_allclose([found.low, found.high], [loss.mean() - reach, loss.mean() + reach])


def test_rows_are_summed_by_hand():
    kinds = [f"{kind}_{end}" for kind in coverage.KINDS for end in ("value", "low", "high")]
    rows = pd.DataFrame({name: [0.0, 0.0, 0.0, 0.0] for name in kinds})
    rows = rows.assign(
        policy="acs-50k", estimand="brier", seed=range(4), round=0, truth=0.5, seconds=1.0,
        ever_missed=[1, 0, 0, 0], heavy=0, classical_high=1.0,
        design_high=[0.4, 0.5, 0.6, 2.0], design_value=[0.5, 0.5, 0.5, 0.9],
        planned_low=[0.0, np.nan, np.nan, 0.0], planned_high=[1.0, np.nan, np.nan, 0.1],
    )  # fmt: skip
    cell = coverage.summarise(rows, "the command")["cells"]["acs-50k brier"]
    design, planned = cell["kinds"]["design"], cell["kinds"]["planned"]
    assert design["coverage"] == 0.75
    assert_allclose(design["standard_error"], np.sqrt(0.75 * 0.25 / 4))
    assert_allclose(design["relative_width"], 3.5 / 4)
    assert_allclose(design["rmse"], 0.2)
    assert (planned["campaigns"], planned["coverage"]) == (2, 0.5)
    assert cell["ever_missed"] == 0.25
    table = coverage.as_markdown(coverage.summarise(rows, "the command"))
    assert "| acs-50k, Brier score | 1.00 / 1.00 |" in table


def test_chances_enter_by_their_log_odds():
    x, chance = np.zeros((2, 1)), np.array([0.5, 0.75])
    assert_allclose(with_predictor(x, chance, True)[:, 1], [0.0, np.log(3.0)])
    assert_allclose(with_predictor(x, chance, False)[:, 1], chance)


def test_known_labels_are_the_first_and_those_bought():
    problem = draw("well-specified", 0)
    x, y = Labels(problem, False, [4, 2]).known()
    assert len(x) == len(problem.y) + 2
    assert_allclose(y[-2:], problem.pool_y[[4, 2]])
    assert_allclose(x[-1, :-1], problem.pool_x[2])
