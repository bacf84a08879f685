"""The gradient study in small: closed forms against integrals, commands from end to end."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import integrate
from typer.testing import CliRunner

from experiments import (
    gradient_quality,
    gradient_states,
    gradient_tables,
    rollouts,
    theory,
)
from experiments.__main__ import app
from experiments.theory_formulas import (
    General,
    binary_score,
    binary_score_with_mean,
    binary_smooth,
    first_order,
    general_score,
    general_smooth,
    printed_bias,
    printed_bound,
    printed_general_score,
)
from labelwise.datasets.synthetic import ClusterDesign, Sample, make_clusters

pytestmark = pytest.mark.slow

SMALL = ClusterDesign(
    clusters=6,
    initial=Sample((20,) + (0,) * 5, 0.5),
    pool=Sample((20,) + (2,) * 5, 0.25),
    target=Sample((4,) * 6, 0.5),
)


def invoke(*command: str) -> dict:
    done = CliRunner().invoke(app, [*command, "--jobs", "1", "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(("theta", "tau"), [(0.02, 0.05), (0.3, 0.4), (0.9, 3.0)])
def test_two_actions_have_the_moments_of_their_integrals(theta, tau):
    slope = lambda u: -1.0 / (2.0 * tau * np.cosh((u - theta) / (2.0 * tau)) ** 2)
    mean = integrate.quad(slope, 0.0, 1.0, points=[theta])[0]
    square = integrate.quad(lambda u: slope(u) ** 2, 0.0, 1.0, points=[theta])[0]
    found = binary_smooth(theta, tau)
    assert_allclose(found[:2], (mean + 2.0, square - mean**2), rtol=1e-8)
    assert_allclose(printed_bias(theta, tau), mean + 2.0, rtol=1e-8)
    assert_allclose(printed_bound(theta, tau, 3), (mean + 2.0) ** 2 + square / 3, rtol=1e-8)


def test_scores_of_two_actions_have_the_moments_of_their_law():
    theta = 0.1
    actions, law = np.array([-1.0, 1.0]), np.array([theta, 1.0 - theta])
    scores = np.array([1.0 / theta, -1.0 / (1.0 - theta)])
    for less, found in ((0.0, binary_score), (1.0 - 2.0 * theta, binary_score_with_mean)):
        each = (actions - less) * scores
        assert_allclose(found(theta).variance, law @ each**2 - (law @ each) ** 2, rtol=1e-12)


def problem(curved=True):
    return General(np.array([-1.0, 0.3, 1.0]), np.array([0.2, 0.7, 0.4]), 1, curved)


def test_the_general_gradient_is_the_slope_of_the_mean():
    one, step = problem(), 1e-6
    mean = lambda theta: theta @ one.worth(one.actions) / theta.sum()
    move = step * np.eye(3)[1]
    slope = (mean(one.theta + move) - mean(one.theta - move)) / (2.0 * step)
    assert_allclose(one.gradient, slope, rtol=1e-8)
    each = one.worth(one.actions) * one.scores
    assert_allclose(one.law @ each, slope, rtol=1e-8)
    assert_allclose(printed_general_score(one), general_score(one).variance, rtol=1e-12)


@pytest.mark.parametrize("curved", [True, False])
def test_a_smoothed_sample_is_the_slope_along_its_noise(curved):
    one, step, tau = problem(curved), 1e-6, 0.7
    noise = np.random.default_rng(0).gumbel(size=(4, 3))

    def worth(theta):
        keys = (np.log(theta) + noise) / tau
        weight = np.exp(keys) / np.exp(keys).sum(axis=1, keepdims=True)
        return one.worth(weight @ one.actions)

    move = step * np.eye(3)[1]
    slope = (worth(one.theta + move) - worth(one.theta - move)) / (2.0 * step)
    assert_allclose(general_smooth(one, tau, noise), slope, rtol=1e-6)
    hot = general_smooth(one, 1e6, noise) * 1e6
    assert_allclose(hot, np.full(4, first_order(one)), rtol=1e-4)


def test_the_theorems_are_simulated_and_judged(tmp_path, monkeypatch):
    for name, value in {"ESTIMATES": 400, "LEAST": 100, "INTEGRAL": 2_000}.items():
        monkeypatch.setattr(theory, name, value)
    found = invoke("theory", "--out", str(tmp_path))
    assert found["theorem_1"]["holds"]
    assert found["beyond_three_standard_errors"]["score"] < 20
    by_k = found["theorem_2"]["score_mse_by_k"]
    assert by_k["linear-3/low"]["300"] > 50 * by_k["linear-3/low"]["4"]
    assert by_k["linear-3/high"]["300"] < by_k["linear-3/high"]["4"]  # no divergence there
    for one in found["theorem_2"]["opposed"]:
        if one["k"] == 500:  # however many samples
            assert one["least_smooth_mse"] > 2.0 * one["gradient_squared"]
    assert by_k["linear-10/vertex"]["300"] < 0.05 * by_k["linear-10/vertex"]["4"]
    first = found["theorem_1"]["cases"][0]
    assert (first["samples"], first["score_baseline"]) == (1, None)
    printed = found["theorem_2"]["range"]
    assert printed["score_mse_at_printed"] < printed["gradient_squared_plus_slack"]
    assert (tmp_path / "theory.png").stat().st_size > 10_000


def test_cosines_are_measured_in_small(tmp_path, monkeypatch):
    monkeypatch.setattr(gradient_states, "make_clusters", partial(make_clusters, design=SMALL))
    monkeypatch.setattr(gradient_states, "BATCH", 2)
    gradient_states._rounds.cache_clear()
    monkeypatch.setattr(gradient_quality, "TRUTH", 40_000)
    monkeypatch.setattr(gradient_quality, "REPETITIONS", 20)
    for name, value in {"SMALL": 6, "PER_GROUP": 20, "GROUPS": 20}.items():
        monkeypatch.setattr(gradient_tables, name, value)
    few = {
        **{
            name: gradient_quality.KINDS[name]._replace(budget=2_000)
            for name in ("reinforce-plain-exact", "reinforce-baseline-exact")
        },
        "smoothed-even-exact 10": gradient_quality.KINDS["smoothed-even-exact 10"],
    }
    monkeypatch.setattr(gradient_quality, "KINDS", few)
    monkeypatch.setattr(gradient_tables, "KINDS", few)
    monkeypatch.setattr(gradient_quality, "NAMES", ["truth", *few])
    found = invoke("gradient-quality", "--states", "1", "--out", str(tmp_path))
    gradient_states._rounds.cache_clear()
    cosine = found["cosine"]["uniform"]
    assert found["truth_cosine"] > 0.98
    assert cosine["smoothed-even-exact 10"]["1"][0] > 0.8
    assert (
        cosine["reinforce-baseline-exact"]["100"][0]
        > cosine["reinforce-baseline-exact"]["10"][0]
    )
    assert (
        cosine["reinforce-baseline-exact"]["100"][0] > cosine["reinforce-plain-exact"]["100"][0]
    )
    assert found["enumerated"]["reinforce-baseline-exact"] > 0.8
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert (rows["repetitions"] > 0).sum() > 10
    assert (tmp_path / "cosine.png").stat().st_size > 10_000


def test_roll_outs_needed_are_those_of_the_same_objective():
    """Where the goal is met from the start, or never, that is said."""
    cosines = {
        "reinforce-plain-exact": {1: 0.1, 100: 0.2},
        "reinforce-baseline-exact": {10: 0.4, 100: 0.5},
        "reinforce-plain-sampled": {1: 0.01, 100: 0.02},
        "reinforce-baseline-sampled": {10: 0.1, 1000: 0.3},
        "smoothed-even-exact 0.5": {10: 0.3},
        "smoothed-even-sampled 0.5": {10: 0.2},
    }
    rows = pd.DataFrame(
        [
            {"policy": name, "rollouts": count, "cosine": cosine, "repetitions": 5}
            for name, by_count in cosines.items()
            for count, cosine in by_count.items()
        ]
    )
    found = gradient_tables.needed(rows)
    exact, sampled = found["smoothed-even-exact 0.5"], found["smoothed-even-sampled 0.5"]
    assert exact["plain"] == [pytest.approx(10.0), "more"]
    assert exact["baseline"] == [pytest.approx(1.0), "less"]
    assert sampled["plain"] == [pytest.approx(10.0), "more"]
    assert sampled["baseline"] == [pytest.approx(10.0), ""]


def test_what_roll_outs_buy_in_small(tmp_path, monkeypatch):
    monkeypatch.setattr(rollouts, "make_clusters", partial(make_clusters, design=SMALL))
    monkeypatch.setattr(rollouts, "ROUNDS", 1)
    names = ["lookahead", "reinforce-plain@1", "smoothed-autodiff@1"]
    options = [word for name in names for word in ("--policy", name)]
    found = invoke("rollouts", "--seeds", "1", "--out", str(tmp_path), *options)
    assert set(found["final_variance"]) == set(names)
    assert found["final_variance"]["lookahead"] < found["variance_by_round"]["lookahead"][0]
    settings = json.loads((tmp_path / "config.json").read_text())["policies"]
    assert settings["reinforce-plain@10"]["baseline"] is False
    assert settings["smoothed-autodiff@100"]["relaxation"] == "even"
    assert settings["smoothed-autodiff@100"]["rollouts"] == 100
    assert (tmp_path / "rollouts.png").stat().st_size > 10_000
