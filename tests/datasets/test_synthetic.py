"""The polyadic sampler and the paper's preset."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.datasets.synthetic import ClusterDesign, Sample, make_clusters, place_anchors

made = cache(make_clusters)  # each takes the eigenvectors of a large matrix


@pytest.fixture
def preset():
    return made(0)


def test_the_preset_is_the_papers_problem(preset):
    design = ClusterDesign()
    assert preset.x.shape == (100, 1)
    assert preset.pool.x.shape == (500, 1)
    assert preset.estimand.x.shape == (285, 1)
    assert (design.length_scale, design.variance, design.noise) == (1.0, 0.69, 0.01)
    assert design.pool.counts == (250,) + (5,) * 50
    assert design.target.counts == (10,) * 26 + (1,) * 25


def test_rows_lie_around_their_anchors(preset):
    """Anchor i is at ±i, rows within 6 standard deviations of it."""
    for x, sample in (
        (preset.pool.x, ClusterDesign().pool),
        (preset.estimand.x, ClusterDesign().target),
    ):
        cluster = np.repeat(np.arange(len(sample.counts)), sample.counts)
        distance = np.abs(np.abs(np.asarray(x)[:, 0]) - cluster)
        assert (distance[cluster > 3] < 6 * sample.spread).all()
        assert distance.max() > sample.spread


def test_the_initial_labels_come_from_one_cluster(preset):
    assert np.abs(np.asarray(preset.x)).max() < 6 * 0.5


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_anchors_grow_apart_in_any_dimension(dim):
    anchors = place_anchors(np.random.default_rng(0), 9, dim, 1.5)
    assert_allclose(np.linalg.norm(anchors, axis=1), 1.5 * np.arange(9), rtol=1e-12, atol=1e-12)


def test_labels_are_a_draw_from_the_prior():
    """(n of them) yᵀ (K + σ²)⁻¹ y is chi-squared with n degrees of freedom."""
    for seed in range(3):
        problem = made(seed)
        x, y = problem.pool.x, np.asarray(problem.labels)
        covariance = np.asarray(problem.prior.covariance(x)) + 0.01 * np.eye(500)
        statistic = y @ np.linalg.solve(covariance, y)
        assert abs(statistic - 500) < 5 * np.sqrt(2 * 500)


def test_the_truth_is_near_what_the_target_labels_would_say(preset):
    assert 0.2 < float(preset.truth) < 2.0
    assert preset.truth_is == "expected loss over the target, given the function"


def test_seeds_give_different_data_and_the_same_seed_the_same():
    once, again, other = (
        np.asarray(problem.labels) for problem in (made(1), make_clusters(1), made(2))
    )
    assert (once == again).all()
    assert not np.allclose(once, other)


def test_a_design_in_three_dimensions():
    few = lambda *counts: Sample(counts, 0.2)
    design = ClusterDesign(
        clusters=3, dim=3, initial=few(6, 0, 0), pool=few(4, 3, 2), target=few(2, 2, 2)
    )
    problem = make_clusters(0, design)
    assert problem.pool.x.shape == (9, 3)
    assert problem.belief.seen.features.shape == (6, 3)


def test_counts_must_match_the_clusters(refused):
    with refused(where="initial", remedy="give one count a cluster"):
        ClusterDesign(clusters=4)
