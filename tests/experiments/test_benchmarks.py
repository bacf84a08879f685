"""The benchmarks run and report what they promise, on small parts of themselves."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import campaign, neural, neural_fit, optimality, planning, scale, start, wide
from benchmarks.__main__ import app
from benchmarks.timing import medians
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.registry import make_policy

pytestmark = pytest.mark.slow


@pytest.fixture
def two_problems(monkeypatch):
    """The first of each family, with a pool of twelve rows."""
    subsets = np.array(list(itertools.combinations(range(12), 3)))
    monkeypatch.setattr(optimality, "POOL", 12)
    monkeypatch.setattr(optimality, "SUBSETS", subsets)
    cut = lambda family: lambda: itertools.islice(family(), 1)
    families = {name: cut(family) for name, family in optimality.FAMILIES.items()}
    monkeypatch.setattr(optimality, "FAMILIES", families)
    some = {"random": make_policy("random"), "lookahead": Lookahead(effort="greedy")}
    monkeypatch.setattr(optimality, "POLICIES", some)


@pytest.mark.usefixtures("two_problems")
def test_optimality_reports_shares_of_the_best_gain():
    done = CliRunner().invoke(app, ["optimality", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert set(found) == {"clusters", "random"}
    for family in found.values():
        assert 0.99 <= family["lookahead"]["worst"] <= family["lookahead"]["mean"] <= 1 + 1e-12
        assert family["random"]["worst"] < 0.99


def test_every_subset_is_enumerated():
    assert optimality.SUBSETS.shape == (4060, 3)


def test_one_pool_reports_time_and_memory():
    seconds, memory = planning.one_pool(650, repeats=1)
    assert seconds > 0
    assert 0.05 < memory < 24


def test_a_campaign_is_timed_step_by_step(monkeypatch):
    small = {"POOL": 60, "TARGET": 30, "LABELLED": 20, "FEATURES": 3, "BATCH": 3, "ASKS": 2}
    for name, value in small.items():
        monkeypatch.setattr(campaign, name, value)
    done = CliRunner().invoke(app, ["campaign", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {name for name in found if name.endswith("_seconds")} == {
        "create_seconds", "open_seconds", "first_ask_seconds", "ask_seconds", "tell_seconds",
    }  # fmt: skip
    assert all(value > 0 for value in found.values())


def test_the_library_is_as_quick_as_the_command_line(tmp_path):
    """With room for what else the cores do; the benchmark has the ratio itself."""
    tables, audit = tmp_path / "tables", tmp_path / "audit"
    start.measure(tmp_path, ["labelwise", "demo", "--tables", tables])
    costs = start.Costs(tmp_path, lambda: None)
    costs.new("new", audit, tables, start.PATIENTS)
    own = start.LIBRARY.format(path=str(audit), verb="estimate")
    costs.of("first", "python", own)
    costs.of("command", "labelwise", "estimate", audit)
    costs.of("library", "python", own)
    found = costs.found
    assert found["first"]["programs"] > 0
    assert found["library"]["programs"] == found["command"]["programs"] == 0  # all are kept
    assert found["library"]["cpu_seconds"] < 1.6 * found["command"]["cpu_seconds"]


def test_wide_tables_are_as_wide_as_they_say(tmp_path):
    wide.write_tables(tmp_path / "wide", rows=20)
    pool = (tmp_path / "wide" / "pool.csv").read_text().splitlines()
    assert len(pool) == 21
    assert len(pool[0].split(",")) == 1 + wide.NUMBERS + wide.MARKS + 1  # id and prediction


@pytest.fixture
def small_networks(monkeypatch):
    small = {"members": 2, "hidden": (4,), "prior_hidden": (4,), "steps": 3}
    monkeypatch.setattr(neural, "TOY", small)
    fit = {"members": 2, "hidden": (4,), "steps": 3}
    monkeypatch.setattr(neural_fit, "ENSEMBLE", fit)
    monkeypatch.setattr(neural_fit, "measure", neural_fit.one_fit)  # in this process
    small = {"ROLLOUTS": 2, "REPEATS": 1, "WHOLE": 8, "PRECISIONS": ("double",)}
    for name, value in small.items():
        monkeypatch.setattr(neural, name, value)


@pytest.mark.usefixtures("small_networks")
def test_networks_are_timed_without_pytorch(monkeypatch):
    monkeypatch.setattr(neural, "eager", None)
    done = CliRunner().invoke(app, ["neural", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert "PyTorch is not installed" in done.stderr
    assert all(value > 0 for value in found["seconds_per_rollout"].values())
    assert found["speedup_over_eager"] == {"double": None}
    assert found["fit"]["double"]["seconds"] > 0
    assert found["fit"]["double"]["temporary_mb"] > 0


@pytest.mark.skipif(neural.eager is None, reason="PyTorch is an extra of this benchmark")
@pytest.mark.usefixtures("small_networks")
def test_pytorch_has_the_same_gradient():
    done = CliRunner().invoke(app, ["neural", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert all(value > 0 for value in found["speedup_over_eager"].values())
    for compared in found["agreement_with_eager"].values():
        assert compared["cosine"] == pytest.approx(1.0, abs=1e-12)
        assert compared["relative_difference"] < 1e-9


def test_medians_are_taken_in_turn():
    calls = []
    medians({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert calls == ["a", "b"] * 3


# CPU seconds that a command may take, once measured on quiet cores.
MOST_SECONDS = {
    "first ask": 15.0,
    "ask after labels": 3.5,
    "plan after labels": 3.0,
    "estimate after labels": 3.0,
    "tell": 0.5,
    "status": 0.5,
    "wide: ask after labels": 8.0,
    "wide: estimate after labels": 5.0,
}


def test_the_committed_figures_meet_what_was_promised():
    folder = planning.__file__.replace("planning.py", "results/")
    with open(folder + "optimality.json") as file:
        for family in json.load(file).values():
            assert family["lookahead"]["mean"] >= 0.999
            assert family["lookahead"]["worst"] >= 0.99
    with open(folder + "planning.json") as file:
        found = json.load(file)
    assert found["greedy_over_product"] <= 4
    assert found["lookahead_over_product"] <= 10
    assert found["sparse_speedup"] >= 20
    assert found["sparse_cosine"] >= 0.999
    assert found["growth_ratio"] <= 20
    assert found["peak_memory_gb"] < 4
    assert np.isfinite(list(found["growth_seconds"].values())).all()
    with open(folder + "campaign.json") as file:
        found = json.load(file)
    assert (found["pool"], found["features"], found["labels"]) == (20_000, 12, 500)
    assert found["ask_seconds"] < 10
    assert found["tell_seconds"] < 1
    assert found["open_seconds"] < 1
    with open(folder + "start.json") as file:
        found = json.load(file)
    commands = {step: cost for step, cost in found.items() if step != "simulate"}
    assert max(cost["programs"] for cost in commands.values()) <= 30
    page = Path(planning.__file__).parents[1] / "docs" / "results.md"
    told = page.read_text().split("A command in a new process")[1]
    for step in ("first ask", "ask after labels", "wide: ask after labels"):
        assert f"{found[step]['cpu_seconds']:.1f}" in told.split("\n\n")[0]
    for step, most in MOST_SECONDS.items():
        assert found[step]["cpu_seconds"] <= most, step
    assert not any(found[light]["jax"] for light in ("tell", "status", "help"))
    assert found["ask from Python"]["over_command"] <= 1.3
    with open(folder + "neural.json") as file:
        found = json.load(file)
    for compared in found["agreement_with_eager"].values():
        assert compared["relative_difference"] < 1e-9
    assert min(found["speedup_over_eager"].values()) > 10


def test_scale_reports_every_step_beside_a_bare_read(monkeypatch, tmp_path):
    monkeypatch.setattr(scale, "REPEATS", ((10**9, 1),))
    scale.generate(tmp_path / "pool", scale.WHOLE + 10_000)
    found = scale.measure(False, tmp_path)
    for step in ("new", "pass", "refine"):
        assert found[step]["over_read"] > 0.0
        assert found[step]["cpu_seconds"] > 0.0


def test_scale_takes_the_memory_of_every_command_by_itself(tmp_path):
    scale.generate(tmp_path / "pool", 20_000)
    assert scale.take_step("new", tmp_path)["peak_memory_gb"] > 0.1
    assert (tmp_path / "campaign").is_dir()
