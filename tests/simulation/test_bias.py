"""Selection bias: rows of one cluster, or rows along one direction, by their stated laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2
from sklearn.cluster import KMeans

from labelwise.simulation.bias import (
    BIASES,
    cluster_bias,
    draw_direction,
    keep_probability,
    linear_bias,
    tilted_bias,
)

SEEDS = range(5)


@pytest.fixture(scope="module")
def spread_out():
    """Six clouds of 100 rows, far apart, in an order that tells nothing."""
    rng = np.random.default_rng(0)
    centres = 20.0 * rng.normal(size=(6, 3))
    cloud = rng.permutation(np.repeat(np.arange(6), 100))
    return centres[cloud] + rng.normal(size=(600, 3)), cloud


@pytest.mark.parametrize("name", BIASES)
def test_rows_are_distinct_and_follow_the_seed(name, spread_out):
    x, _ = spread_out
    chosen = [BIASES[name](x, 40, seed) for seed in SEEDS]
    for seed, rows in zip(SEEDS, chosen, strict=True):
        assert len(rows) == len(set(rows.tolist())) == 40
        assert rows.min() >= 0
        assert rows.max() < 600
        assert (rows == BIASES[name](x, 40, seed)).all()
    assert len({tuple(sorted(rows.tolist())) for rows in chosen}) == len(SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_that_is_plain_to_see_is_kept_to(seed, spread_out):
    x, cloud = spread_out
    assert len(set(cloud[cluster_bias(x, 60, seed, clusters=6)].tolist())) == 1


def test_different_seeds_come_to_different_clusters(spread_out):
    x, cloud = spread_out
    homes = {int(cloud[cluster_bias(x, 60, seed, clusters=6)][0]) for seed in range(12)}
    # All twelve draws in one of six clusters has probability 6⁻¹¹.
    assert len(homes) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_without_plain_clusters_rows_still_share_a_k_means_label(seed):
    x = np.random.default_rng(1).normal(size=(500, 2))
    rows = cluster_bias(x, 20, seed)
    labels = KMeans(10, n_init=10, random_state=seed).fit_predict(x)
    assert len(set(labels[rows].tolist())) == 1
    assert x[rows].var(axis=0).sum() < 0.5 * x.var(axis=0).sum()


def test_a_small_cluster_is_never_home():
    """Clouds of 30 and 100 rows: forty labels can only come from the second."""
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(size=(30, 2)), 50.0 + rng.normal(size=(100, 2))])
    for seed in SEEDS:
        assert cluster_bias(x, 40, seed, clusters=2).min() >= 30


@pytest.mark.parametrize("strength", [0.0, 4.0, 16.0])
def test_linear_bias_keeps_rows_by_the_papers_probability(strength):
    """σ(k βᵀx / d) of standardised x, β uniform in [-1, 1]ᵈ, by hand; then a row is drawn from
    those kept, so that row i comes first with probability E[kept_i / number kept]."""
    x, draws = 5.0 + 3.0 * np.random.default_rng(7).normal(size=(12, 3)), 4000
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    counts, expected, variance = np.zeros((3, 12))
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        chosen = rng.uniform(size=12), rng.uniform(-1.0, 1.0, size=3)
        probability = 1.0 / (1.0 + np.exp(-strength * standard @ chosen[1] / 3.0))
        kept = chosen[0] < probability
        if not kept.any():
            continue
        counts[linear_bias(x, 1, seed, strength)[0]] += 1
        first = kept / kept.sum()
        expected, variance = expected + first, variance + first * (1.0 - first)
    assert (np.abs(counts - expected) < 5 * np.sqrt(variance)).all()


@pytest.mark.parametrize("strength", [2.0, 16.0])
def test_kept_shares_agree_with_the_stated_probabilities(strength):
    """By simulation of the law: β once, then who is kept, many times."""
    x, draws = np.random.default_rng(8).normal(size=(40, 5)), 4000
    stated = keep_probability(np.random.default_rng(1), x, strength)
    beta = np.random.default_rng(1).uniform(-1.0, 1.0, size=5)
    logits = np.log(stated) - np.log1p(-stated)
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    assert_allclose(logits, strength * standard @ beta / 5)
    kept = np.random.default_rng(2).uniform(size=(draws, 40)) < stated
    off = np.abs(kept.mean(axis=0) - stated)
    assert (off < 5 * np.sqrt(stated * (1 - stated) / draws)).all()


def test_linear_bias_draws_from_rows_kept_and_no_others():
    x = np.random.default_rng(9).normal(size=(200, 2))
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        kept = rng.uniform(size=200) < keep_probability(rng, x, 16.0)
        rows = linear_bias(x, int(kept.sum()), seed)
        assert set(rows.tolist()) == set(np.flatnonzero(kept).tolist())


def test_a_column_that_never_varies_does_not_bias():
    x = np.random.default_rng(9).normal(size=(30, 2))
    flat = np.column_stack([x, np.full(30, 7.0)])
    probability = keep_probability(np.random.default_rng(0), flat, 9.0)
    assert_allclose(probability, keep_probability(np.random.default_rng(0), x, 6.0))


@pytest.mark.parametrize("strength", [0.5, 3.0, -3.0])
def test_tilted_bias_moves_rows_along_its_direction(strength):
    """The first row drawn has the mean projection of the table's own tilted weights."""
    x, draws = np.random.default_rng(3).normal(size=(300, 4)), 200
    moved, expected, variance = np.zeros((3, draws))
    for seed in range(draws):
        along = x @ draw_direction(np.random.default_rng(seed), 4)
        weight = np.exp(strength * along)
        weight /= weight.sum()
        moved[seed] = along[tilted_bias(x, 1, seed, strength)[0]]
        expected[seed] = weight @ along
        variance[seed] = weight @ (along - expected[seed]) ** 2
    assert abs((moved - expected).mean()) < 5 * np.sqrt(variance.sum()) / draws
    assert moved.mean() * np.sign(strength) > 0.5 * abs(expected.mean())


def test_pairs_are_drawn_one_after_the_other_in_proportion():
    """Three rows on a line, all ordered pairs: p_i p_j / (1 - p_i)."""
    x, draws = np.array([[0.0], [0.5], [1.0]]), 4000
    found = np.zeros((3, 3))
    for seed in range(draws):
        sign = np.sign(draw_direction(np.random.default_rng(seed), 1)[0])
        first, second = tilted_bias(x, 2, seed, strength=2.0 * sign)  # always to the right
        found[first, second] += 1
    weight = np.exp(2.0 * x[:, 0])
    p = weight / weight.sum()
    expected = p[:, None] * p[None, :] / (1 - p[:, None])
    pairs = ~np.eye(3, dtype=bool)
    misfit = ((found - draws * expected)[pairs] ** 2 / (draws * expected[pairs])).sum()
    assert misfit < chi2.ppf(1 - 1e-6, df=5)
    assert found.trace() == 0


def test_without_strength_every_row_is_as_likely():
    """Row counts over 3,000 draws of 5 from 20; a draw without replacement varies less than
    a multinomial one by (20 - 5) / (20 - 1), which the statistic is divided by."""
    x, draws, size = np.random.default_rng(4).normal(size=(20, 3)), 3000, 5
    chosen = np.concatenate([tilted_bias(x, size, seed, strength=0.0) for seed in range(draws)])
    counts, expected = np.bincount(chosen, minlength=20), draws * size / 20
    statistic = ((counts - expected) ** 2).sum() / expected * (20 - 1) / (20 - size)
    assert statistic < chi2.ppf(1 - 1e-6, df=19)


def test_a_great_strength_does_not_overflow():
    x = np.random.default_rng(5).normal(size=(50, 2))
    along = x @ draw_direction(np.random.default_rng(0), 2)
    assert set(tilted_bias(x, 5, 0, strength=1e6)) == set(np.argsort(along)[-5:])


@pytest.mark.parametrize("choose", BIASES.values(), ids=BIASES)
def test_rows_that_cannot_be_chosen_from_are_refused(choose, refused):
    x = np.random.default_rng(6).normal(size=(50, 2))
    for size in (51, 0):
        with refused(where="size", what=f"it is {size}"):
            choose(x, size, 0)
    with refused(where="x"):
        choose(np.where(x > 2, np.nan, x), 5, 0)
    with refused(where="x"):
        choose(x[:, 0], 5, 0)


def test_mistakes_are_named(refused):
    x = np.random.default_rng(6).normal(size=(50, 2))
    with refused(where="size", remedy="lower the size or the number of clusters"):
        cluster_bias(x, 45, 0)
    with refused(where="clusters"):
        cluster_bias(x, 5, 0, clusters=51)
    with refused(where="size", remedy="lower the size"):
        linear_bias(x, 50, 0)
    for choose in (linear_bias, tilted_bias):
        with refused(where="strength"):
            choose(x, 5, 0, strength=float("nan"))
