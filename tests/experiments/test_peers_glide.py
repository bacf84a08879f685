"""GLIDE's part of the study of peers: the same draws, told to another Python and read back.

GLIDE itself wants a newer Python than the tests have, so a stand-in measures here; what GLIDE
said is committed with the study and held to the study's own formulas.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import peers, peers_glide
from experiments.peers_methods import METHODS

STAND_IN = """
import json, sys
asked = json.load(sys.stdin)
y = asked["y"]
def mean(draw):
    seen = [y[row] for row in draw["rows"]]
    if draw["strata"] is not None and draw["rows"][0] % 2:
        return None
    return [sum(seen) / len(seen), min(seen), max(draw["chance"] or seen)]
json.dump({"version": "0", "intervals": [mean(draw) for draw in asked["draws"]]}, sys.stdout)
"""
SEEDS = range(8)
COMMITTED = Path("experiments/results/peers")


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    file = tmp_path / "worker.py"
    file.write_text(STAND_IN)
    monkeypatch.setattr(peers_glide, "WORKER", file)


def population():
    rng = np.random.default_rng(0)
    f = rng.beta(0.7, 1.2, 400)
    return (rng.random(400) < f).astype(float), f


def study_rows():
    y, f = population()
    rows = []
    for seed in SEEDS:
        for look, labels in enumerate(peers.LOOKS):
            row = {"policy": "forest", "seed": seed, "round": look, "labels": labels}
            row |= {"truth": y.mean(), "seconds": 0.0}
            row |= {f"{peers.OURS}_{end}": 0.5 for end in ("value", "low", "high")}
            for name, method in METHODS.items():
                found = method.measure(y, f, peers.draw(f, seed, look, name))
                row |= {f"{name}_{end}": number for end, number in found._asdict().items()}
            rows.append(row)
    return pd.DataFrame(rows)


def written(tmp_path):
    rows = study_rows()
    load = lambda name: population()
    peers_glide.write(rows, sys.executable, tmp_path, load, peers.draw)
    return rows


def test_it_looks_at_the_very_rows_that_the_study_drew(stand_in, tmp_path):
    rows = written(tmp_path)
    both, (y, f) = peers_glide.beside(rows, tmp_path), population()
    for _, row in both.iterrows():
        uniform = peers.draw(f, row["seed"], row["round"], "ppi++")
        by_doubt = peers.draw(f, row["seed"], row["round"], "active")
        assert row["glide ppi++_value"] == pytest.approx(y[uniform.rows].mean(), rel=1e-4)
        assert row["glide active_value"] == pytest.approx(y[by_doubt.rows].mean(), rel=1e-4)
        assert row["glide active_high"] == pytest.approx(by_doubt.chance.max(), rel=1e-4)


def test_draws_that_it_refuses_are_counted_and_left_out(stand_in, tmp_path):
    rows, (_, f) = peers_glide.beside(written(tmp_path), tmp_path), population()
    cells = peers.summarise(rows, "")["cells"]
    odd = 0
    for look, labels in enumerate(peers.LOOKS):
        first = [peers.draw(f, seed, look, "stratified").rows[0] % 2 for seed in SEEDS]
        cell = cells[f"forest n={labels}"]
        assert cell["glide stratified"]["refused"] == sum(first)
        assert cell["glide ppi++"]["refused"] == 0
        assert list(cell) == [peers.OURS, *METHODS, *peers_glide.NAMES]
        odd += sum(first)
    assert 0 < odd < len(peers.LOOKS) * len(SEEDS)


def test_figures_of_some_rows_only_are_not_shown(stand_in, tmp_path):
    rows = written(tmp_path)
    more = pd.concat([rows, rows.assign(seed=99)])
    assert not any(column.startswith("glide") for column in peers_glide.beside(more, tmp_path))


def test_a_python_without_glide_is_refused_in_a_sentence(tmp_path, refused):
    y, f = population()
    drawn = [peers.draw(f, 0, 0, "ppi++")]
    with refused(where="glide", places={"python": sys.executable}):
        peers_glide.measure(sys.executable, y, f, drawn)
    with refused(where="glide"):
        peers_glide.measure(str(tmp_path / "no-python"), y, f, drawn)


def test_the_study_and_glide_agree_where_the_weight_of_predictions_needs_no_bound():
    """The study bounds that weight by 0 and 1, which widens no interval by much."""
    rows = peers_glide.beside(pd.read_csv(COMMITTED / "rows.csv"), COMMITTED)
    width = lambda name: rows[f"{name}_high"] - rows[f"{name}_low"]
    apart = (rows["ppi++_value"] - rows["glide ppi++_value"]).abs()
    same = (apart < 2e-5) & ((width("ppi++") - width("glide ppi++")).abs() < 4e-5)
    assert same[rows["policy"] == "forest"].mean() > 0.7  # five figures are kept
    forest = lambda name: width(name)[rows["policy"] == "forest"].mean()
    for name in peers_glide.WHOSE:
        assert forest(f"glide {name}") == pytest.approx(forest(name), rel=0.04)
