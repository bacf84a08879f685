"""Which sequences are said to rest on a few draws."""

import numpy as np
import pytest

from labelwise.survey.tails import heavy_tails

RUNS, DRAWS = 400, 50


def flagged(draw):
    """How often 50 draws are flagged; known within 2.5 % (one standard error)."""
    rng = np.random.default_rng(9)
    return np.mean([heavy_tails(draw(rng)) for _ in range(RUNS)])


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.uniform(size=DRAWS),
        lambda rng: rng.normal(size=DRAWS),
        lambda rng: (rng.uniform(size=DRAWS) < 0.2).astype(float),
    ],
    ids=["uniform", "normal", "errors"],
)
def test_tame_losses_are_seldom_flagged(draw):
    assert flagged(draw) < 0.05


def test_losses_without_a_variance_are_mostly_flagged():
    assert flagged(lambda rng: rng.standard_t(3, size=DRAWS) ** 2) > 0.6


def test_one_draw_that_makes_up_the_spread_is_flagged_and_a_scale_changes_nothing():
    values = np.append(np.arange(30) % 3, 50.0)
    assert heavy_tails(values)
    assert heavy_tails(1e-9 * values + 4e-9)
    assert not heavy_tails(values[:-1])


@pytest.mark.parametrize("values", [[], [2.0], [3.0] * 20])
def test_without_a_spread_there_is_nothing_to_flag(values):
    assert not heavy_tails(np.array(values, float))


def test_several_columns_are_refused():
    with pytest.raises(ValueError, match=r"values has shape \(5, 2\)"):
        heavy_tails(np.ones((5, 2)))
