"""The scale of beliefs' bias: found again where it is known."""

import numpy as np
import pandas as pd
import pytest
from scipy import special

from experiments import calibration
from experiments.calibration import KEPT, OWN, SHIPPED, SIZES, summarise
from labelwise.evaluation.combined import BiasScale

LABELS = (50, 250)


def rows(own, lasting=0.0, count=300, seed=0):
    """Answers of beliefs that are off by Student's law on a known scale, and of draws.

    A single draw's spread is 1.
    """
    rng, parts = np.random.default_rng(seed), []
    for draws in LABELS:
        drawn, spread = 1.0 / np.sqrt(draws), 0.5 / np.sqrt(draws)
        off = np.hypot(own * spread, lasting) * rng.standard_t(3.0, count)
        noise = np.sqrt(drawn**2 - spread**2) * rng.normal(size=count)
        frame = pd.DataFrame(
            {
                "policy": "made-up, large",
                "truth": off + spread * rng.normal(size=count),
                "drawn": off + noise,
                "drawn_std": drawn,
                "draws": draws,
                "classical": 4.0 * drawn,
                "estimand": "mse",
                "quality": "good",
                "kind": "number",
                "bought": float(draws),
            }
        )
        for chance in KEPT:
            frame[f"q{chance:g}"] = spread * special.ndtri(chance)
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


FEW = (BiasScale(0.1, 0.0), BiasScale(0.8, 0.0), BiasScale(0.1, 0.03))


@pytest.mark.parametrize("true", FEW)
def test_a_bias_that_shrinks_with_the_spread_and_one_that_lasts_are_told_apart(
    true, monkeypatch
):
    monkeypatch.setattr(calibration, "SCALES", FEW)
    monkeypatch.setattr(calibration, "LEAST_LASTING", 0.0)
    monkeypatch.setattr(calibration, "HELD", 0.0)
    monkeypatch.setattr(calibration, "SHIPPED", {"number": FEW[0], "class": FEW[0]})
    told = summarise(rows(*true), "")["chosen"]["number"]
    assert told == f"{true.own:g}, {true.lasting:g}"


def test_intervals_grow_with_the_scale_and_so_does_their_coverage():
    looks = summarise(rows(0.5, count=60), "")["looks"]["number, large, 50 labels"]
    each = [looks[f"{own:g}, 0.02"] for own in OWN]
    widths = [one["median_width"] for one in each]
    assert widths == sorted(widths)
    assert each[-1]["coverage"] > each[0]["coverage"]


def test_what_ships_is_among_the_scales_and_is_told_of():
    summary = summarise(rows(0.5, count=30), "")
    look = summary["looks"]["number, large, 250 labels"]
    assert set(summary["shipped"].values()) <= set(look)
    assert set(summary["shipped"]) == set(SHIPPED)
    ends = summary["shipped_by"]["number"]
    shipped = summary["shipped"]["number"]
    both = [summary["looks"][f"number, large, {n} labels"][shipped] for n in LABELS]
    assert np.isclose(ends["quality"]["good"], np.mean([one["coverage"] for one in both]))
    assert all(len(size.looks) == 3 for size in SIZES.values())


def test_a_scale_that_does_not_hold_at_every_look_is_not_chosen(monkeypatch):
    """However good its score on average."""
    few = (BiasScale(0.0, 0.015), BiasScale(0.8, 0.015))
    monkeypatch.setattr(calibration, "SCALES", few)
    monkeypatch.setattr(calibration, "SHIPPED", dict.fromkeys(("number", "class"), few[0]))
    some = rows(0.6, count=150)
    held = [look["0, 0.015"]["coverage"] for look in summarise(some, "")["looks"].values()]
    assert min(held) < calibration.HELD
    assert summarise(some, "")["chosen"] == {"class": None, "number": "0.8, 0.015"}
