"""The first look: equal tables look equal, different ones different, by known amounts."""

import numpy as np
import pytest

from labelwise.tables import shift
from labelwise.tables.shift import (
    FEWEST_ROWS,
    MOST_ROWS,
    compare,
    nearest,
    tell_apart,
    uncovered,
)


def normal(seed: int, size: int, shift: float = 0.0, dim: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(shift, size=(size, dim))


def test_tables_of_one_law_cannot_be_told_apart():
    size = 600
    found = tell_apart(normal(0, size), normal(1, size), 0)
    # Under equal laws the area is Mann and Whitney's statistic, whose spread is known.
    spread = np.sqrt((2 * size + 1) / (12 * size**2))
    assert found == pytest.approx(0.5, abs=4 * spread)


def test_separated_tables_are_told_apart():
    assert tell_apart(normal(0, 200), normal(1, 200, shift=10.0), 0) > 0.99


def test_a_shift_of_known_size_has_its_area():
    """No classifier beats the best one, whose area is Φ(d / √2) for normals d apart."""
    from scipy.stats import norm

    size = 1000
    found = tell_apart(normal(0, size, dim=1), normal(1, size, shift=1.0, dim=1), 0)
    best = norm.cdf(1.0 / np.sqrt(2.0))
    spread = np.sqrt(best * (1 - best) / size)  # at most, for any law of the scores
    assert 0.65 < found < best + 4 * spread


def test_too_few_rows_are_not_judged():
    assert tell_apart(normal(0, FEWEST_ROWS - 1), normal(1, 100), 0) is None
    assert tell_apart(normal(0, FEWEST_ROWS), normal(1, 100), 0) is not None


def test_the_look_is_the_same_for_the_same_seed():
    tables = normal(0, 50), normal(1, MOST_ROWS + 500), normal(2, 100)
    looks = [compare(*tables, ["a", "b", "c"], seed).to_dict() for seed in (5, 5)]
    assert looks[0] == looks[1]


def test_mean_differences_are_in_units_of_the_targets_spread():
    labelled, pool, target = normal(0, 40, 1.0), normal(1, 50, -2.0), 3.0 * normal(2, 60)
    found = {
        one.feature: one
        for one in compare(labelled, pool, target, ["a", "b", "c"], 0).differences
    }
    for index, name in enumerate("abc"):
        spread = target[:, index].std()
        mean = lambda table, column=index: table[:, column].mean()
        expected = (mean(labelled) - mean(target)) / spread
        assert found[name].labelled == pytest.approx(expected, rel=1e-12)
        assert found[name].pool == pytest.approx(
            (mean(pool) - mean(target)) / spread, rel=1e-12
        )


def test_the_largest_difference_comes_first():
    labelled = normal(0, 40) + np.array([0.5, -3.0, 1.5])
    found = compare(labelled, normal(1, 40), normal(2, 40), ["a", "b", "c"], 0).differences
    assert [one.feature for one in found] == ["b", "c", "a"]


def test_a_feature_constant_in_the_target_is_measured_elsewhere():
    labelled, pool, target = normal(0, 40, dim=1), normal(1, 40, dim=1), np.zeros((40, 1))
    (found,) = compare(labelled, pool, target, ["a"], 0).differences
    spread = np.concatenate([labelled, pool]).std()
    assert found.labelled == pytest.approx(labelled.mean() / spread, rel=1e-12)
    (same,) = compare(target, target, target, ["a"], 0).differences
    assert (same.labelled, same.pool) == (0.0, 0.0)


def test_one_in_twenty_is_uncovered_without_a_shift(monkeypatch):
    from labelwise.tables import shift

    monkeypatch.setattr(shift, "tell_apart", lambda *_: None)  # only the neighbours matter here
    shares = [
        compare(
            normal(3 * seed, 100),
            normal(3 * seed + 1, 12),
            normal(3 * seed + 2, 400),
            list("abc"),
            seed,
        )
        for seed in range(40)
    ]
    found = np.array([share.uncovered for share in shares])
    assert shares[0].expected_uncovered == pytest.approx(0.05)
    assert found.mean() == pytest.approx(0.05, abs=4 * found.std() / np.sqrt(len(found)))
    assert found.std() < 0.05


def test_a_target_elsewhere_is_uncovered():
    assert (
        compare(normal(0, 50), normal(1, 50), normal(2, 50, 9.0), list("abc"), 0).uncovered
        == 1.0
    )


def test_half_a_target_elsewhere_is_half_uncovered():
    target = np.concatenate([normal(2, 300), normal(3, 300, shift=30.0)])
    found = compare(normal(0, 300), normal(1, 50), target, list("abc"), 0).uncovered
    # The far half counts whole; of the near half one in twenty or so.
    assert 0.5 <= found <= 0.5 + 0.1


def test_target_rows_count_for_the_uncovered_share_by_their_mass():
    labelled, target = np.zeros((1, 2)), np.array([[0.0, 0.5], [9.0, 0.0], [0.0, -9.0]])
    mass = np.array([5.0, 1.0, 2.0])
    # The first row alone is near: 3 of 8 shares of the mass are far, but 2 of 3 rows.
    assert uncovered(labelled, target, 1.0, mass) == pytest.approx(3 / 8, rel=1e-12)
    assert uncovered(labelled, target, 1.0, 10.0 * mass) == pytest.approx(3 / 8, rel=1e-12)
    assert uncovered(labelled, target, 1.0) == pytest.approx(2 / 3, rel=1e-12)
    # A row of mass 2 is as good as two rows of mass 1.
    twice = np.repeat(target, [5, 1, 2], axis=0)
    assert uncovered(labelled, twice, 1.0) == pytest.approx(3 / 8, rel=1e-12)


def test_a_pool_that_is_the_target_is_not_compared_with_itself():
    target = normal(0, 50)
    look = compare(normal(1, 50), target, target, list("abc"), 0, same=True)
    assert look.pool_auc is None
    assert look.labelled_auc is not None


@pytest.mark.parametrize("size", [1, 2])
def test_a_tiny_target_has_no_neighbourhoods(size):
    assert (
        compare(normal(0, 20), normal(1, 20), normal(2, size), list("abc"), 0).uncovered == 0.0
    )


def test_rows_in_both_tables_do_not_mislead_the_classifier():
    rng = np.random.default_rng(8)
    target = rng.normal(size=(600, 3))
    pool = target[:200]
    # Under equal laws the area has standard deviation √((n + m + 1) / (12 n m)).
    spread = ((200 + 400 + 1) / (12 * 200 * 400)) ** 0.5
    assert abs(tell_apart(pool, target, seed=0) - 0.5) < 4 * spread
    assert tell_apart(target, target, seed=0) is None


@pytest.mark.parametrize("held", [1, 70, 10**6])
@pytest.mark.parametrize("away", [0.0, 1e4])
def test_the_nearest_row_is_found_whatever_is_held_at_a_time(held, away, monkeypatch):
    """Against a tree, far from zero too, where lengths are many times the distances."""
    from scipy.spatial import cKDTree

    rows, others = normal(0, 90, away), normal(1, 35, away)
    rows[:5] = others[:5]
    monkeypatch.setattr(shift, "MOST_DISTANCES", held)
    found, expected = nearest(rows, others), cKDTree(others).query(rows)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
