"""Rows drawn together: their law is the one asked for, and they are spread evenly."""

import numpy as np
import pytest

from labelwise.policies.stratified import capped, systematic

LAW = np.array([0.05, 0.3, 0.1, 0.15, 0.0, 0.25, 0.15])
ORDER = np.array([3.0, 1.0, 2.0, 0.0, 9.0, 5.0, 4.0])
TIMES = 4000


def draws(k, law=LAW, order=ORDER):
    rng = np.random.default_rng(5)
    return np.array([systematic(rng, law, order, k) for _ in range(TIMES)])


@pytest.mark.parametrize("place", [0, 2])
def test_each_draw_has_the_law_that_is_kept(place):
    taken = draws(3)[:, place]
    seen = np.bincount(taken, minlength=7) / TIMES
    np.testing.assert_allclose(seen, LAW, atol=4.0 * np.sqrt(0.25 / TIMES))


def test_every_third_of_the_order_gives_one_row():
    """By the law's own measure: between any two rows of a sample lies a third of it."""
    rows = np.argsort(ORDER)
    begin = np.zeros(7)
    begin[rows] = np.cumsum(LAW[rows]) - LAW[rows]
    for sample in draws(3)[:200]:
        low = np.sort(begin[sample])
        high = np.sort((begin + LAW)[sample])
        teeth = (np.arange(3) + np.linspace(0.0, 1.0, 999)[:, None]) / 3.0
        assert ((low <= teeth + 1e-9) & (teeth <= high + 1e-9)).all(axis=1).any()


def test_no_row_comes_twice_and_none_without_a_chance():
    some = draws(3)
    assert all(len(set(sample)) == 3 for sample in some.tolist())
    assert 4 not in some


def test_all_rows_are_taken_where_there_are_no_more():
    law = capped(np.array([0.7, 0.1, 0.2]), 3)
    np.testing.assert_allclose(law, 1.0 / 3.0)
    assert all(sorted(sample) == [0, 1, 2] for sample in draws(3, law, ORDER[:3])[:50].tolist())


def test_a_law_is_cut_at_one_in_k_and_keeps_its_proportions_below():
    law = capped(np.array([0.6, 0.2, 0.1, 0.1]), 2)
    np.testing.assert_allclose(law, [0.5, 0.25, 0.125, 0.125])


def test_rows_of_equal_order_come_in_any():
    """Without ties broken by chance, the first and second row would never come together."""
    pairs = draws(2, np.full(4, 0.25), np.zeros(4))
    assert {tuple(sorted(pair)) for pair in pairs.tolist()} == {
        (a, b) for a in range(4) for b in range(a + 1, 4)
    }
