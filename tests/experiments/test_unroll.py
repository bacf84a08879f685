"""The study of gradients through learning: on tiny networks, and what was measured."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments import unroll, unroll_tables
from experiments.__main__ import app
from experiments.unroll_tables import as_markdown, summarise
from labelwise.beliefs.neural.learning import Learning
from labelwise.cli.runs import Task

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tiny_networks(monkeypatch):
    shape = {"members": 3, "hidden": (4,), "prior_hidden": (4,), "steps": 5}
    monkeypatch.setattr(unroll, "SMALLER", shape)
    monkeypatch.setattr(unroll, "STEPS", (5,))
    for module in (unroll, unroll_tables):  # each of them has to be compiled
        monkeypatch.setattr(module, "MODES", ("unroll", "last half", "forward"))
    monkeypatch.setattr(unroll, "REPEATS", 1)
    unroll.gradient.cache_clear()
    yield
    unroll.gradient.cache_clear()


def run(out, *options):
    done = CliRunner().invoke(app, ["unroll", "--seeds", "1", "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.usefixtures("tiny_networks")
def test_every_way_is_held_against_the_unroll_and_differences(tmp_path):
    setting = ("--setting", "smooth, 5 steps")
    found = json.loads(run(tmp_path, *setting, "--json").stdout)
    modes = found["settings"]["smooth, 5 steps"]["modes"]
    # Differences of two sizes disagree by the plateau: their mean is no better known than that.
    assert modes["unroll"]["logits_error_tiny"] < modes["unroll"]["logits_plateau"] < 2e-5
    assert modes["unroll"]["weights_error_tiny"] < 1e-3  # rougher, where weights are near 0
    assert modes["forward"]["logits_error_unroll"] < 1e-9
    assert modes["last half"]["weights_error_unroll"] > 1e-6
    assert all(one["seconds"] > 0 and one["temporary_mb"] > 0 for one in modes.values())
    assert (tmp_path / "unroll.png").exists()
    before = (tmp_path / "rows.csv").read_bytes()
    assert "last half" in run(tmp_path, *setting).stdout
    assert (tmp_path / "rows.csv").read_bytes() == before  # nothing was run again


@pytest.mark.usefixtures("tiny_networks")
def test_few_rows_have_time_and_memory_in_the_same_columns(monkeypatch):
    monkeypatch.setattr(unroll, "FEW_ROWS", (2,))
    rows = unroll.work(Task(unroll.FEW, 0))
    assert [(row["rows"], row["mode"]) for row in rows] == [(2, "unroll"), (2, "forward")]
    assert list(rows[0])[-len(unroll.FIGURES) - 2 : -2] == unroll.FIGURES
    found = summarise(pd.DataFrame(rows), "command")["forward_over_unroll"]
    assert found == {"2": pytest.approx(rows[1]["seconds"] / rows[0]["seconds"])}


def test_the_last_steps_are_counted():
    learning = Learning()
    assert [
        unroll._in_mode(learning, mode, 50).differentiation.last for mode in unroll.LAST
    ] == [5, 10, 25]


def test_differences_are_those_of_a_known_function():
    value = lambda points: (np.asarray(points) ** 3).sum(axis=1)
    found = unroll.differences(value, np.array([1.0, -2.0]))
    tiny, doubt = unroll.plateau(found)
    np.testing.assert_allclose(tiny, [3.0, 12.0], rtol=1e-6)
    np.testing.assert_allclose(found[1e-2], np.array([3.0, 12.0]) + 1e-4, rtol=1e-9)
    assert doubt < 1e-6


def test_the_pair_that_agrees_best_is_believed():
    found = dict(
        zip(unroll.TINY, [np.array([9.0]), np.array([2.0]), np.array([2.1])], strict=True)
    )
    assert unroll.plateau(found)[0] == pytest.approx(2.05)


def test_the_figures_shown_are_the_committed_ones():
    folder = ROOT / "experiments" / "results" / "unroll"
    summary = json.loads((folder / "summary.json").read_text())
    page = (ROOT / "docs" / "results.md").read_text()
    shown = page.split("<!-- unroll -->")[1].split("<!-- /unroll -->")[0].strip()
    assert shown == as_markdown(summary)
    assert summary["command"] in page
