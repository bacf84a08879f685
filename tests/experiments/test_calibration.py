"""The scale of beliefs' bias: found again where it is known."""

import numpy as np
import pandas as pd
from scipy import special

from experiments.calibration import KEPT, SCALES, summarise


def rows(bias, count=600, seed=0):
    """Answers of beliefs that are off by Student's law on a known scale, and of draws."""
    rng = np.random.default_rng(seed)
    error, noise = rng.normal(size=count), np.sqrt(3.0) * rng.normal(size=count)
    off = bias * rng.standard_t(3.0, count)
    frame = pd.DataFrame(
        {
            "truth": off + error,
            "drawn": off + noise,
            "drawn_std": 2.0,
            "draws": 50,
            "classical": 8.0,
            "estimand": "mse",
            "quality": "good",
            "kind": "number",
            "bought": 50.0,
        }
    )
    for chance in KEPT:
        frame[f"q{chance:g}"] = special.ndtri(chance)
    return frame


def test_a_larger_bias_asks_for_a_larger_scale():
    chosen = [
        summarise(rows(bias), "")["kinds"]["number, 50 labels"]["chosen"]
        for bias in (0.1, 0.5, 1.0)
    ]
    assert chosen == sorted(chosen)
    assert chosen[0] <= 0.2
    assert chosen[-1] >= 0.75


def test_intervals_grow_with_the_scale_and_so_does_their_coverage():
    each = summarise(rows(0.5), "")["kinds"]["number, 50 labels"]["scales"]
    widths = [each[f"{scale:g}"]["median_width"] for scale in SCALES]
    held = [each[f"{scale:g}"]["coverage"] for scale in SCALES]
    assert widths == sorted(widths)
    assert held[-1] > held[0]
