"""Peers' intervals against simulation, and the study in small."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.__main__ import app
from experiments.peers_methods import METHODS

ROWS, DRAWN, TIMES = 4000, 200, 1500


def population(seed=0):
    rng = np.random.default_rng(seed)
    f = rng.beta(0.7, 1.2, ROWS)
    return (rng.random(ROWS) < f).astype(float), f


@pytest.mark.parametrize("name", METHODS)
def test_intervals_hold_as_often_as_they_say_and_predictions_narrow_them(name):
    y, f = population()
    found = [
        METHODS[name](y, f, DRAWN, np.random.default_rng([seed, 5])) for seed in range(TIMES)
    ]
    value, low, high = np.array(found).T
    # Four standard errors of a share, and what 200 labels leave of a normal law.
    held = np.mean((low <= y.mean()) & (y.mean() <= high))
    assert abs(held - 0.9) < 4.0 * np.sqrt(0.09 / TIMES) + 0.01
    assert abs(value.mean() - y.mean()) < 4.0 * value.std() / np.sqrt(TIMES)
    # The share of the variance that predictions leave, for those that use them.
    left = 1.0 - np.corrcoef(y, f)[0, 1] ** 2
    usual = 2.0 * 1.645 * y.std() / np.sqrt(DRAWN)
    share = 1.0 if name == "classical" else np.sqrt(left)
    assert (high - low).mean() < 1.06 * share * usual


def test_useless_predictions_do_not_widen_what_knows_their_worth():
    y, f = population()
    f = np.random.default_rng(1).permutation(f)
    both = {
        name: np.mean(
            [
                np.ptp(METHODS[name](y, f, DRAWN, np.random.default_rng(seed))[1:])
                for seed in range(300)
            ]
        )
        for name in ("classical", "ppi++")
    }
    assert both["ppi++"] < 1.03 * both["classical"]


@pytest.mark.slow
def test_the_study_in_small(tmp_path):
    y, f = population(3)
    folder = tmp_path / "data" / "ppi"
    folder.mkdir(parents=True)
    np.savez(folder / "forest.npz", Y=y[:300], Yhat=f[:300])
    out = tmp_path / "out"
    flags = ["--set", "forest", "--seeds", "1", "--jobs", "1", "--data", str(tmp_path / "data")]
    ran = CliRunner().invoke(app, ["peers", "--out", str(out), *flags])
    assert ran.exit_code == 0, ran.output
    cells = json.loads((out / "summary.json").read_text())["cells"]
    assert list(cells) == [f"forest n={n}" for n in (50, 100, 250)]
    assert cells["forest n=100"]["classical"]["labels"] == 1.0
    assert (
        cells["forest n=250"]["labelwise"]["width"] < cells["forest n=50"]["labelwise"]["width"]
    )
