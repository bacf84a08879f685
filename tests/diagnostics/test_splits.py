"""Selection bias as the paper has it: shifts grow with strength, nothing held out leaks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ks_2samp

from labelwise.datasets.two_anchors import TwoAnchorDesign, draw_two_anchors
from labelwise.diagnostics.clusters import label_clusters, rank_clusters
from labelwise.diagnostics.splits import (
    STRENGTHS,
    Sizes,
    draw_slopes,
    linear_probability,
    linear_split,
    may_train,
    split_clusters,
    standardise,
)

ROWS = np.random.default_rng(0).normal(size=(4000, 6))
TRAINS = may_train(np.random.default_rng(1), 4000)
SLOPES = draw_slopes(np.random.default_rng(2), 6)


def shift(strength, by):
    """How far kept rows lie ahead of the others along β, on average."""
    kept = np.random.default_rng(3).uniform(size=4000) < linear_probability(
        ROWS, SLOPES, strength, by
    )
    along = ROWS @ SLOPES
    return kept, along[kept].mean() - along[~kept].mean()


@pytest.mark.parametrize("by", ["paper", "rank"])
def test_without_strength_half_is_kept_and_nothing_shifts(by):
    kept, _ = shift(0.0, by)
    assert abs(kept.mean() - 0.5) < 4 * np.sqrt(0.25 / 4000)
    assert ks_2samp((ROWS @ SLOPES)[kept], (ROWS @ SLOPES)[~kept]).pvalue > 0.01


@pytest.mark.parametrize("by", ["paper", "rank"])
def test_the_shift_grows_with_the_strength(by):
    shifts = [shift(strength, by)[1] for strength in STRENGTHS[1:]]
    assert (np.diff(shifts) > 0).all()


def test_a_strength_by_rank_means_the_same_whatever_the_features():
    wide = np.concatenate([ROWS, np.zeros((4000, 60))], axis=1)
    slopes = np.concatenate([SLOPES, np.zeros(60)])
    chance = lambda x, slopes, by: linear_probability(x, slopes, 8.0, by)
    assert_allclose(chance(wide, slopes, "rank"), chance(ROWS, SLOPES, "rank"))
    assert chance(wide, slopes, "paper").std() < chance(ROWS, SLOPES, "paper").std() / 5


def test_a_linear_split_learns_from_kept_rows_and_holds_its_tests_out():
    sizes = Sizes(100, 80, 60, 20)
    split = linear_split(np.random.default_rng(4), ROWS, TRAINS, 16.0, sizes)
    parts = (split.train, split.inside, split.outside, split.pool)
    assert [len(part) for part in parts] == [100, 80, 60, 20]
    assert len(np.unique(np.concatenate(parts))) == 260
    assert TRAINS[split.train].all()
    assert not TRAINS[np.concatenate(parts[1:])].any()
    along = ROWS @ draw_slopes(np.random.default_rng(4), 6)
    assert along[split.train].mean() > 0.5 > -0.5 > along[split.outside].mean()


def test_a_split_that_asks_for_too_much_is_refused(refused):
    with refused(where="sizes"):
        linear_split(np.random.default_rng(4), ROWS, TRAINS, 0.0, Sizes(train=3000))


def lumps():
    """Five lumps along a line, the first the largest."""
    rng, counts = np.random.default_rng(6), (900, 400, 350, 100, 380)
    centres = np.repeat(np.arange(5.0) * 10.0, counts)
    x = rng.normal(size=(len(centres), 2)) + centres[:, None]
    return x, np.repeat(np.arange(5), counts)


def test_clusters_are_ranked_by_their_distance_from_the_largest():
    x, lump = lumps()
    rank, distance = rank_clusters(x, np.array([3, 0, 4, 1, 2])[lump])
    assert_array_equal(rank, lump + 1)
    assert (np.diff(distance) >= 0).all()
    assert_allclose(distance, 10.0 * np.sqrt(2.0) * np.arange(5), atol=0.5)


def test_cluster_splits_are_disjoint_have_their_sizes_and_leave_the_small_ones_out():
    x, lump = lumps()
    trains = may_train(np.random.default_rng(0), len(x), 0.5)
    sizes = Sizes(250, 250, 250, 50)
    made = split_clusters(np.random.default_rng(7), x, trains, (20, 30, 40, 50), sizes)
    assert made.clusters <= 5
    assert (np.diff(made.distance) >= 0).all()
    for split in made.by_rank.values():
        parts = (split.train, split.inside, split.outside, split.pool)
        assert [len(part) for part in parts] == [250, 250, 250, 50]
        assert len(np.unique(np.concatenate(parts))) == 800
        assert set(lump[split.train]) == set(lump[split.inside]) == {0}
        assert len(set(lump[np.concatenate(parts[2:])])) == 1
        assert trains[split.train].all()
        assert not trains[split.inside].any()
    if made.clusters == 5:
        assert 4 not in made.by_rank  # a hundred rows: the next farther one stands in


def test_a_table_too_small_for_any_clusters_is_refused(refused):
    with refused(where="sizes"):
        split_clusters(np.random.default_rng(7), ROWS[:300], TRAINS[:300])


def test_rows_held_out_do_not_enter_the_scale():
    other = ROWS.copy()
    other[~TRAINS] = 1e3 * other[~TRAINS] + 7.0
    assert_array_equal(standardise(other, TRAINS)[TRAINS], standardise(ROWS, TRAINS)[TRAINS])
    made = standardise(ROWS, TRAINS)
    assert_allclose(made[TRAINS].mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(made[TRAINS].std(axis=0), 1.0, atol=1e-12)


def test_a_column_without_spread_stays_finite_and_edges_hold():
    flat = np.concatenate([ROWS, np.full((4000, 1), 3.0)], axis=1)
    made = standardise(flat, TRAINS, 1.5)
    assert_array_equal(made[:, -1], 0.0)
    assert np.abs(made).max() == 1.5


def test_k_means_finds_the_lumps():
    x, lump = lumps()
    found = label_clusters(x, 5, 0)
    assert len({tuple(pair) for pair in zip(found, lump, strict=True)}) == 5


def test_two_anchors_lie_as_far_apart_as_is_said():
    data = draw_two_anchors(0, 8.0)
    centre = lambda rows: data.x[rows].mean(axis=0)
    error = 0.5 * np.sqrt(5 * 2 / 100)  # of a difference of means of a hundred rows
    assert abs(np.linalg.norm(centre(data.outside) - centre(data.train)) - 8.0) < 4 * error
    assert np.linalg.norm(centre(data.inside) - centre(data.train)) < 4 * error
    assert [len(part) for part in (data.train, data.inside, data.outside, data.pool)] == [
        100, 100, 100, 20,
    ]  # fmt: skip


def test_labels_of_two_anchors_have_the_variance_of_their_law():
    design = TwoAnchorDesign(train=1, test=2, more=1, dim=1, spread=0.0)
    draws = [draw_two_anchors(seed, 50.0, design) for seed in range(400)]
    function = np.array([data.function for data in draws])
    # Rows on one anchor have one value; those of far anchors are independent, variance 0.69.
    assert_allclose(function[:, 0], function[:, 1], atol=1e-6)
    error = np.sqrt(2.0 / 400)
    assert abs(function[:, 0].var() / 0.69 - 1.0) < 4 * error
    assert abs(np.corrcoef(function[:, 0], function[:, 2])[0, 1]) < 4 / np.sqrt(400)
    noise = np.array([data.y - data.function for data in draws])
    assert abs(noise.var() / 0.01 - 1.0) < 4 * np.sqrt(2.0 / noise.size)
