"""The studies of treatment effects, recall and coverage, each on a small part."""

import json
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from experiments import ate, recall, well_specified
from experiments.__main__ import app
from experiments.readers import acic2016
from experiments.reporting import first_below, share_of_random
from labelwise.cli.runs import Task
from labelwise.diagnostics import clusters
from labelwise.estimands.smoothing import SmoothedRecall
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.optimise import Training

pytestmark = pytest.mark.slow


def run(tmp_path, *command):
    words = [*command, "--seeds", "1", "--jobs", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(app, words)  # resumed: nothing is run, the table is printed
    assert again.exit_code == 0, again.output
    return json.loads(done.stdout), pd.read_csv(tmp_path / "rows.csv"), again.stdout


@pytest.fixture(autouse=True)
def quick_data(monkeypatch):
    """The same units are read once, and clusters are searched for once."""
    monkeypatch.setattr(clusters, "RESTARTS", 1)
    for module in (acic2016, ate):
        monkeypatch.setattr(module, "load_acic2016", read_acic2016)


read_acic2016 = cache(acic2016.load_acic2016)


@pytest.fixture
def small_trials(monkeypatch):
    """Few units, and two components in either data set, so that both share programs."""
    small = replace(
        ate.DESIGN, labelled=20, pool=30, target=15, rounds=1, batch=2, variance_kept=0.3
    )
    monkeypatch.setattr(ate, "DESIGN", small)
    whole = ate.components
    monkeypatch.setattr(ate, "components", lambda x, share: whole(x, share)[:, :2])
    ate.components_of.cache_clear()
    yield
    ate.components_of.cache_clear()


@pytest.mark.parametrize(
    ("dataset", "others"), [("acic2016", ["lookahead-pairs"]), ("actg175", [])]
)
def test_effects_are_judged_round_by_round(tmp_path, small_trials, dataset, others):
    names = ["random", "lookahead", *others]
    chosen = [word for name in names for word in ("--policy", name)]
    summary, rows, told = run(tmp_path, "ate", "--dataset", dataset, *chosen)
    assert list(summary["policies"]) == names
    assert len(rows) == 2 * len(names)
    assert rows["error"].to_numpy() == pytest.approx(abs(rows["estimate"] - rows["truth"]))
    inside = (rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"])
    assert (rows["covered"] == inside).all()
    starts = rows[rows["round"] == 0]
    assert_allclose(starts["std"], starts["std"].iloc[0], rtol=1e-6)  # all begin alike
    assert "lookahead" in told
    assert (tmp_path / "effect.png").stat().st_size > 10_000


def test_the_true_effect_is_that_of_the_target_rows(small_trials):
    units = ate.draw_units("acic2016", 0, ate.DESIGN)
    everyone = ate.components_of("acic2016", ate.DESIGN.variance_kept)
    data = read_acic2016(1)
    rows = [int(np.argmin(((everyone - x) ** 2).sum(axis=1))) for x in units.x_target]
    assert units.truth == pytest.approx(np.mean((data.mu1 - data.mu0)[rows]))


def test_components_keep_distances_and_no_outcome_has_a_say():
    x = np.random.default_rng(0).normal(size=(20, 3)) * [3.0, 2.0, 1.0]
    parts = ate.components(x, 1.0)
    assert parts.shape == (20, 3)
    assert_allclose(np.linalg.norm(parts[0] - parts[1]), np.linalg.norm(x[0] - x[1]))
    assert ate.components(x, 0.5).shape[1] < 3


def test_recall_and_accuracy_are_judged_by_what_came_true(tmp_path, monkeypatch):
    small = replace(recall.DESIGN, initial=20, pool=15, target=12, rounds=1, batch=2)
    monkeypatch.setattr(recall, "DESIGN", small)
    monkeypatch.setattr(recall, "DRAWS", 200)
    options = ["--policy", "random", "--policy", "lookahead"]
    summary, rows, told = run(tmp_path, "recall", *options)
    assert len(rows) == 4
    assert rows["truth"].between(0.0, 1.0).all()
    assert ((rows["accuracy_truth"] * 12).round(6) % 1 == 0).all()
    assert list(summary["accuracy"]["policies"]) == ["random", "lookahead"]
    assert "random" in told
    for name in ("recall.png", "accuracy.png"):
        assert (tmp_path / name).stat().st_size > 10_000


def test_coverage_of_two_families_is_counted(tmp_path, monkeypatch):
    small = {"CAMPAIGNS": 3, "ROUNDS": 1, "Lookahead": partial(Lookahead, effort="greedy")}
    for name, value in small.items():
        monkeypatch.setattr(well_specified, name, value)
    options = ["--family", "bias", "--family", "average treatment effect"]
    summary, rows, told = run(tmp_path, "well-specified", *options)
    assert list(summary["families"]) == ["bias", "average treatment effect"]
    assert len(rows) == 4
    end = rows[(rows["policy"] == "bias") & (rows["round"] == 1)]["covered"].iloc[0]
    assert summary["families"]["bias"]["end"]["coverage"] == pytest.approx(end)
    assert "bias" in told
    assert (tmp_path / "coverage.png").stat().st_size > 10_000


def test_an_unknown_family_is_refused(tmp_path):
    done = CliRunner().invoke(
        app, ["well-specified", "--family", "magic", "--out", str(tmp_path)]
    )
    assert done.exit_code == 2
    assert "There is no family 'magic'" in " ".join(done.stderr.split())


def test_a_goal_is_reached_on_the_line_between_two_rounds():
    labels = np.array([0.0, 10.0, 20.0])
    assert first_below(labels, [4.0, 2.0, 1.0], 3.0) == pytest.approx(5.0)
    assert first_below(labels, [4.0, 2.0, 1.0], 1.0) == pytest.approx(20.0)
    assert first_below(labels, [4.0, 2.0, 1.0], 5.0) == 0.0
    assert first_below(labels, [4.0, 2.0, 1.0], 0.5) is None


def test_labels_are_compared_seed_by_seed():
    curves = {"random": [4.0, 3.0, 2.0], "good": [4.0, 2.0, 1.0], "bad": [4.0, 4.0, 4.0]}
    rows = pd.DataFrame(
        [
            {"seed": seed, "policy": policy, "labels": 10 * index, "std": value + seed}
            for seed in (0, 1)
            for policy, values in curves.items()
            for index, value in enumerate(values)
        ]
    )
    good, bad = (share_of_random(rows, name) for name in ("good", "bad"))
    assert good == {"mean": 0.5, "standard_error": 0.0, "never": 0}
    assert bad["mean"] == 1.0
    assert bad["never"] == 2


def test_a_planner_can_plan_for_the_papers_smoothed_recall(monkeypatch):
    design = replace(recall.DESIGN, initial=40, pool=60, target=80, rounds=1, batch=3)
    monkeypatch.setattr(recall, "DESIGN", design)
    monkeypatch.setattr(recall, "FEW", Training(rollouts=2, steps=2, draws=20))
    smooth = recall.work(Task(f"reinforce-baseline{recall.PLANNED_SMOOTHLY}", 0))
    exact = recall.work(Task("reinforce-baseline", 0))
    assert smooth[0]["estimate"] == exact[0]["estimate"]  # judged by recall, both
    assert smooth[0]["std"] == exact[0]["std"]
    assert len(smooth[1]["chosen"].split()) == 3
    drawn = recall.draw_problem(0, design)
    planned = drawn.planned_for("smoothed-autodiff-smoothed-recall").estimand
    assert isinstance(planned, SmoothedRecall)
    assert drawn.planned_for("lookahead") is drawn.problem
