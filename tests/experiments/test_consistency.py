"""The posterior-consistency benchmark, each study on a small part."""

import itertools
import json
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import jax
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from typer.testing import CliRunner

from experiments import consistency, consistency_cases
from experiments.__main__ import app
from experiments.consistency import agents_of, make_task
from experiments.consistency_agents import (
    AGENTS,
    GRIDS,
    Lesson,
    Training,
    along,
    every_setting,
    learn,
    learn_until,
    make,
)
from experiments.consistency_cases import Protocol, cases, judge
from experiments.consistency_data import as_numbers, load_rows
from experiments.consistency_report import as_best, as_markdown, as_stops, summarise
from labelwise.diagnostics import Labelling, draw_dyads, score

TRIAL = Training(members=2, batch=8, steps=4)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 3)), RNG.integers(2, size=12).astype(float)
QUICK = ("--set", "support2", "--steps", "3", "--members", "2", "--jobs", "1")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Judged by little, in this process."""
    usual = consistency_cases.Protocol
    small = lambda data=None, **own: usual(data, inference=2, bundles=20, draws=8, **own)
    monkeypatch.setattr(consistency_cases, "Protocol", small)


def run(tmp_path, *words):
    command = [*words, *QUICK, "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*command, "--json"])
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 0, again.output
    assert "Every task is done already." in again.stderr
    return json.loads(done.stdout), pd.read_csv(tmp_path / "rows.csv")


@cache
def lesson(seed=0):
    rng = np.random.default_rng(seed)
    return Lesson(Labelling(X, rng.permutation(Y)))


def functions(belief):
    return np.asarray(belief.representatives(jax.random.key(0), X, 5))


@pytest.mark.parametrize("name", ["ensemble-plus", "epinet"])
def test_settings_and_data_learnt_at_once_are_as_learnt_alone(name):
    settings = [{"prior_scale": 1.0}, {"prior_scale": 10.0}]
    lessons = [lesson(0), lesson(1)]
    found = learn(name, lessons, settings, TRIAL, 3)
    pairs = itertools.product(lessons, settings)
    for belief, (one, setting) in zip(found, pairs, strict=True):
        alone = make(name, 3, one, TRIAL, 3, **setting).condition(one.first.x, one.first.y)
        assert_allclose(functions(belief), functions(alone), rtol=2e-4, atol=2e-5)
    assert not np.allclose(functions(found[0]), functions(found[1]))
    assert not np.allclose(functions(found[0]), functions(found[2]))


def test_training_that_is_looked_at_is_the_same_training():
    stopped = learn_until("mlp", lesson(), [1, 4], TRIAL, 0)
    alone = make("mlp", 3, lesson(), TRIAL, 0).condition(X, lesson().first.y)
    assert_allclose(functions(stopped[1]), functions(alone), rtol=2e-4, atol=2e-5)
    early = make("mlp", 3, lesson(), replace(TRIAL, steps=1), 0)
    assert_allclose(
        functions(stopped[0]), functions(early.condition(X, lesson().first.y)), atol=2e-5
    )


def test_grids_are_the_papers():
    assert len(every_setting("dropout")) == 49
    assert len(every_setting("ensemble-plus")) == 25
    assert len(every_setting("epinet")) == 30
    assert GRIDS["ensemble"]["decay"][-1] == 1000.0
    assert [one["prior_scale"] for one in along("hypermodel", "prior_scale")] == [
        1,
        3,
        10,
        30,
        100,
    ]
    assert every_setting("gp-mixture") == [{}]


def test_missing_numbers_become_the_median_of_rows_that_may_train():
    table = pd.DataFrame({"a": [1.0, 3.0, np.nan, 100.0], "b": ["x", "y", "x", None]})
    made = as_numbers(table, np.array([True, True, False, False]))
    assert_allclose(made[:, 0], [1.0, 3.0, 2.0, 100.0])
    assert made.shape == (4, 4)
    assert_allclose(made[:, 1:].sum(axis=1), 1.0)


def test_cases_hold_the_papers_sizes_and_bias():
    found = cases("support2", "clusters", 0, None)
    rows = load_rows("support2", None, 0)
    for case in found:
        assert len(case.lesson.first.y) == len(case.tests["inside"].y) == 250
        assert len(case.tests["outside"].y) == 250
        assert len(case.more.y) == 50
        assert case.lesson.first.x.shape[1] == rows.dim
    distances = [case.about["distance"] for case in found]
    assert distances == sorted(distances)
    assert found[0].about["clusters"] < 50  # too small a table for fifty
    strengths = [case.about["strength"] for case in cases("support2", "linear", 0, None)]
    assert strengths == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]


def test_what_is_judged_is_the_diagnostics_own_score():
    case = cases("synthetic", "clusters", 0, None)[2]
    belief = learn("gp-oracle", [case.lesson], [{}], TRIAL, 0)[0]
    protocol = Protocol(inference=1, bundles=30, draws=5)
    row = next(one for one in judge(belief, case, protocol) if one["where"] == "outside")
    test = case.tests["outside"]
    bundles = draw_dyads(np.random.default_rng(0), len(test.y), 30)
    alone = score(jax.random.key(0), belief, test.x, test.y, bundles)
    assert row["joint"] == pytest.approx(alone.mean, abs=1e-6)
    assert {"joint_fresh", "distinct", "marginal"} <= set(row)


@pytest.mark.slow
def test_the_study_out_of_distribution(tmp_path):
    summary, rows = run(tmp_path, "ood", "--agent", "mlp", "--agent", "epinet")
    assert set(rows["bias"]) == {"clusters", "linear"}
    linear = rows[rows["bias"] == "linear"]
    assert len(linear) == 2 * 7 * 2
    assert (tmp_path / "support2.png").exists()
    one = next(cell for cell in summary["table"] if cell["bias"] == "linear")
    mine = linear[(linear["agent"] == one["agent"]) & (linear["strength"] == one["strength"])]
    outside = mine[mine["where"] == "outside"]["joint"].mean()
    assert one["joint_outside"] == pytest.approx(outside, abs=1e-4)


@pytest.mark.slow
def test_the_study_before_and_after_labels(tmp_path):
    words = ("--agent", "hypermodel", "--option", "usual", "--option", "prior_scale")
    summary, rows = run(tmp_path, "dynamic", *words)
    assert len(rows) == (1 + 5) * 2 * 2
    for cell in summary["table"]:
        gain = cell["joint_outside_0"] - cell["joint_outside_1"]
        assert cell["joint_gain"] == pytest.approx(gain, abs=2e-4)
    assert (tmp_path / "support2.png").exists()


def test_after_labels_from_outside_the_belief_has_learnt_from_both(monkeypatch):
    """T=0 learns from the first labels, T=1 from these and the pool's, in this order."""
    case, learnt = cases("support2", "clusters", 0, None)[-1], []

    def spy(agent, lessons, settings, training, seed):
        learnt.append(lessons[0].first)
        return ["a belief"]

    monkeypatch.setattr(consistency, "learn", spy)
    monkeypatch.setattr(consistency, "judge", lambda *_: [{"where": "outside", "joint": 0.0}])
    rows = consistency.dynamic("support2/usual/mlp/0", Protocol())
    assert [row["time"] for row in rows] == [0, 1]
    first, more = case.lesson.first, case.more
    assert_array_equal(learnt[0].x, first.x)
    assert_array_equal(learnt[1].x, np.concatenate([first.x, more.x]))
    assert_array_equal(learnt[1].y, np.concatenate([first.y, more.y]))


class Coins:
    """A belief of which each key draws other functions, or always the same one."""

    def __init__(self, same):
        self.same = same
        self.likelihood = SimpleNamespace(log_prob=lambda y, f: np.log(np.where(y, f, 1.0 - f)))

    def sample(self, key, x, draws):
        seed = 0 if self.same else int(np.asarray(jax.random.key_data(key))[-1])
        return np.random.default_rng(seed).uniform(0.1, 0.9, size=(draws, len(x)))


def test_scatter_over_inference_seeds_is_that_of_drawn_functions(monkeypatch):
    """Nothing, where every seed draws the same ones."""
    beliefs = [Coins(same=True), Coins(same=False)]
    monkeypatch.setattr(consistency, "learn_until", lambda *_: beliefs)
    monkeypatch.setattr(consistency, "stops_of", lambda _: (10, 30))
    rows = consistency.sensitivity("support2/s/mlp/0", Protocol())
    scatter = {row["steps"]: row["sd"] for row in rows if row["where"] == "inside"}
    assert scatter[10] == 0.0
    assert scatter[30] > 0.0


def test_a_swept_setting_is_learnt_with_and_told_beside_its_loss(monkeypatch):
    """In place of a belief stands the setting that it would have learnt with."""
    learn_with = lambda agent, lessons, settings, training, seed: list(settings)
    monkeypatch.setattr(consistency, "learn", learn_with)
    loss = lambda belief, *_: [{"where": "inside", "joint": 2.0 * belief["prior_scale"]}]
    monkeypatch.setattr(consistency, "judge", loss)
    rows = consistency.tradeoff("support2/prior_scale/epinet/0", Protocol())
    assert [row["value"] for row in rows] == list(GRIDS["epinet"]["prior_scale"])
    assert all(row["joint"] == 2.0 * row["value"] for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "agent", "rows_of_an_agent"),
    [
        ("tradeoff", "epinet", (5 + 6 + 1) * 2),
        ("sensitivity", "mlp", 2),
        ("hyperparameters", "mlp", (5 + 4) * 2),
    ],
)
def test_the_studies_of_settings(study, agent, rows_of_an_agent, tmp_path):
    summary, rows = run(tmp_path, study, "--agent", agent)
    assert len(rows) == rows_of_an_agent
    assert summary["table"]
    assert (tmp_path / "support2.png").exists()


@pytest.mark.slow
def test_a_cluster_finds_the_same_losses_as_processes_here(tmp_path):
    words = ("ood", *QUICK[:-2], "--agent", "mlp", "--agent", "dropout", "--bias", "clusters")
    for name, engine in (("here", []), ("there", ["--scheduler", "local"])):
        command = [*words, "--jobs", "2", *engine, "--out", str(tmp_path / name)]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    tables = [(tmp_path / name / "rows.csv").read_bytes() for name in ("here", "there")]
    assert tables[0] == tables[1]


def test_who_takes_part():
    assert agents_of("ood", "synthetic", "clusters", None) == [*AGENTS, "gp-oracle"]
    assert agents_of("dynamic", "credit", "decay", None) == [
        "ensemble-plus",
        "epinet",
        "hypermodel",
    ]
    assert agents_of("sensitivity", "credit", "steps", ["mlp", "gp-mixture"]) == ["mlp"]


def test_an_agent_that_there_is_not_is_refused(refused):
    with refused(where="agent"):
        agents_of("ood", "credit", "linear", ["forest"])


def test_data_that_are_not_shipped_need_a_folder(refused):
    with refused(where="data"):
        load_rows("credit", None, 0)


def test_more_settings_take_longer():
    seconds = lambda study, data, about, agent: make_task(study, data, about, agent, 0).seconds
    assert seconds("ood", "credit", "linear", "mlp") > seconds(
        "ood", "credit", "clusters", "mlp"
    )
    # To be judged at many strengths takes longer than to learn once.
    assert seconds("ood", "credit", "clusters", "epinet") > 50.0
    assert seconds("dynamic", "credit", "usual", "epinet") < 20.0
    one = seconds("hyperparameters", "credit", "grid", "epinet")
    assert one > seconds("hyperparameters", "credit", "learning_rate", "epinet")


def test_the_best_of_a_sweep_is_told_inside_and_outside():
    rows = [
        {"data": data, "option": "prior_scale", "agent": "epinet", "value": value}
        | {"joint_inside": inside, "joint_outside": outside}
        for data, value, inside, outside in (
            *(("a", 1.0, 2.0, 1.0), ("a", 10.0, 1.0, 2.0)),
            *(("b", 1.0, 1.0, 3.0), ("b", 10.0, 2.0, 2.5)),
        )
    ]
    page = as_best({"table": rows}, "joint_inside", "joint_outside").splitlines()
    assert page[0] == "| option | agent | a | b |"
    assert page[2] == "| prior scale | epinet | 10, 1 | 1, 10 |"


def test_early_stops_are_told_beside_the_usual_steps():
    rows = [
        {"data": "a", "agent": "mlp", "steps": steps, "joint_outside": loss, "sd_outside": 0.5}
        for steps, loss in ((30, 2.0), (1000, 3.0))
    ]
    page = as_stops({"table": rows}, 1000).splitlines()
    assert page[2] == "| mlp | 3.00 ± 0.50; 2.00 at 30 |"


def test_a_table_for_a_page_has_a_line_for_every_cell_shown():
    rows = pd.DataFrame(
        {
            "data": "a", "bias": "linear", "agent": ["mlp", "epinet"] * 4, "seed": 0,
            "strength": [0.0, 0.0, 1.0, 1.0] * 2, "where": ["inside"] * 4 + ["outside"] * 4,
            "joint": np.arange(8.0), "mean_label": 0.5,
        }
    )  # fmt: skip
    page = as_markdown(summarise("ood", rows, "command"), without=["data"])
    assert page.splitlines()[0] == "| bias | agent | strength | inside | outside |"
    assert page.splitlines()[2] == "| linear | mlp | 0 | 0.00 | 4.00 |"
    assert len(page.splitlines()) == 6
