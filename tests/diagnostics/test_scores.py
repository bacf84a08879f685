"""Losses of beliefs: closed forms beside draws, finite ensembles, the oracle on its data."""

from functools import cache

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.mixture import Mixture
from labelwise.beliefs.neural.registry import neural_belief
from labelwise.datasets.two_anchors import TwoAnchorDesign, draw_two_anchors
from labelwise.diagnostics import (
    GaussianMoments,
    Labelling,
    draw_dyads,
    fresh_labels,
    gaussian_losses,
    label_log_probs,
    one_by_one,
    prequential_losses,
    sampled_losses,
    score,
    score_dyads,
    score_update,
)
from labelwise.diagnostics.gaussian import gaussian_moments
from labelwise.inputs import as_jax

RNG = np.random.default_rng(11)
X, NEW = RNG.normal(size=(8, 2)), RNG.normal(size=(6, 2))
Y, CAME = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=8), np.sin(NEW[:, 0])
CLASSES = (CAME > 0.0).astype(float)


@cache
def key():
    return jax.random.key(0)


@eqx.filter_jit
def condition(prior, x, y):
    return prior.condition(x, y)


def learn(x, y):
    return condition(GaussianProcess(RBF(1.5, 0.69), 0.04), as_jax(x), as_jax(y))


@cache
def process():
    return learn(X, Y)


@cache
def moments():
    made = gaussian_moments(process(), NEW)
    return made.mean[0], made.covariance[0]


@cache
def mixture():
    priors = [GaussianProcess(RBF(scale, 0.69), 0.04) for scale in (0.7, 2.0)]
    return condition(Mixture.of(priors), as_jax(X), as_jax(Y))


@cache
def ensemble(**options):
    shape = {"hidden": (4,), "steps": 20, "labels": "binary", **options}
    name = shape.pop("name", "ensemble")
    return neural_belief(name, 2, **shape).condition(X, (Y > 0.0).astype(float))


def densities(mean, covariance, bundles, labels):
    """Minus the log-density of every bundle, by another library."""
    return [
        -multivariate_normal(
            mean[rows], covariance[np.ix_(rows, rows)] + 0.04 * np.eye(10)
        ).logpdf(y)
        for rows, y in zip(bundles, labels, strict=True)
    ]


def test_gaussian_losses_are_densities_though_rows_are_repeated():
    bundles = draw_dyads(np.random.default_rng(0), 6, 20)
    mean, covariance = moments()
    written = densities(mean, covariance, bundles, CAME[bundles])
    found = score(key(), process(), NEW, CAME, bundles)
    assert found.mean == pytest.approx(np.mean(written), rel=1e-9)
    assert found.bias == 0.0


def test_the_closed_form_is_what_many_draws_come_to():
    bundles, draws = draw_dyads(np.random.default_rng(4), 6, 5), 100_000
    exact = gaussian_losses(gaussian_moments(process(), NEW), bundles, CAME[bundles])
    table = label_log_probs(key(), process(), NEW, CAME, draws)
    losses, bias = sampled_losses(table, bundles)
    # The bias is half the squared relative error of the mean likelihood.
    assert (np.abs(losses - exact) < 3.0 * np.sqrt(2.0 * bias) + bias).all()


def test_a_mixture_averages_likelihoods_by_weight():
    bundles = draw_dyads(np.random.default_rng(2), 6, 15)
    belief, parts = mixture(), gaussian_moments(mixture(), NEW)
    each = np.stack(
        [
            densities(parts.mean[part], parts.covariance[part], bundles, CAME[bundles])
            for part in range(2)
        ]
    )
    written = -np.log(np.asarray(belief.weight) @ np.exp(-each))
    assert score(key(), belief, NEW, CAME, bundles).mean == pytest.approx(
        written.mean(), rel=1e-9
    )


def test_fresh_labels_of_a_gaussian_belief_are_scored_where_they_stand():
    bundles = draw_dyads(np.random.default_rng(0), 6, 10)
    fresh = fresh_labels(
        np.random.default_rng(1), bundles, lambda rng, at: CAME[at] + rng.normal(size=len(at))
    )
    mean, covariance = moments()
    written = densities(mean, covariance, bundles, fresh)
    found = score(key(), process(), NEW, CAME, bundles, fresh)
    assert found.mean == pytest.approx(np.mean(written), rel=1e-9)


def test_without_noise_there_is_no_density(refused):
    silent = GaussianMoments(np.ones(1), np.zeros((1, 2)), np.eye(2)[None], np.zeros(1))
    with refused(where="noise"):
        gaussian_losses(silent, np.array([[0, 0]]), np.zeros((1, 2)))


def test_an_ensemble_is_scored_by_all_members_whatever_the_key():
    bundles = draw_dyads(np.random.default_rng(0), 6, 50)
    losses = [score(jax.random.key(seed), ensemble(), NEW, CLASSES, bundles) for seed in (1, 2)]
    assert losses[0] == losses[1]
    assert losses[0].bias == 0.0
    chances = 1.0 / (1.0 + np.exp(-np.asarray(ensemble().panel(NEW))))
    likely = np.where(CLASSES[None, :] == 1.0, chances, 1.0 - chances)
    written = [-np.log(likely[:, rows].prod(axis=1).mean()) for rows in bundles]
    assert losses[0].mean == pytest.approx(np.mean(written), rel=1e-6)


def test_a_single_network_has_no_spread_over_inference_seeds():
    one = ensemble(name="mlp")
    losses = {
        score(jax.random.key(seed), one, NEW, CLASSES, one_by_one(6), draws=20).mean
        for seed in range(3)
    }
    assert len(losses) == 1


def test_drawn_functions_report_their_bias():
    belief = ensemble(
        name="epinet", dimensions=2, epinet_hidden=(2,), prior_hidden=(2,), indices=2
    )
    bundles = draw_dyads(np.random.default_rng(0), 6, 50)
    assert score(key(), belief, NEW, CLASSES, bundles, draws=20).bias > 0.0


def test_fresh_classes_are_scored_where_they_stand():
    bundles = np.array([[0, 0, 3], [5, 1, 1]])
    fresh = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    chances = 1.0 / (1.0 + np.exp(-np.asarray(ensemble().panel(NEW))))[:, bundles]
    likely = np.where(fresh[None] == 1.0, chances, 1.0 - chances).prod(axis=2)
    found = score(key(), ensemble(), NEW, CLASSES, bundles, fresh)
    assert found.mean == pytest.approx(-np.log(likely.mean(axis=0)).mean(), rel=1e-6)


def test_dyads_averaged_over_counts_agree_with_drawn_ones():
    drawn = score(
        key(), ensemble(), NEW, CLASSES, draw_dyads(np.random.default_rng(5), 6, 4000)
    )
    smooth = score_dyads(key(), ensemble(), NEW, CLASSES, np.random.default_rng(6), 4000)
    error = np.hypot(drawn.standard_error, smooth.standard_error)
    assert abs(drawn.mean - smooth.mean) < 4 * error
    assert smooth.standard_error < drawn.standard_error


def test_prequential_losses_sum_to_minus_the_log_evidence():
    """By the chain rule, whatever the batches: a process is its own benchmark."""
    batches = [Labelling(NEW[:2], CAME[:2]), Labelling(NEW[2:], CAME[2:])]
    losses = prequential_losses(key(), learn, Labelling(X, Y), batches)
    whole = learn(np.concatenate([X, NEW]), np.concatenate([Y, CAME]))
    evidence = float(whole.log_evidence) - float(learn(X, Y).log_evidence)
    assert sum(loss.mean for loss in losses) == pytest.approx(-evidence, rel=1e-9)


def test_labels_at_the_test_rows_improve_the_loss_there():
    update = score_update(
        key(), learn, Labelling(X, Y), Labelling(NEW, CAME), {"near": Labelling(NEW, CAME)}
    )["near"]
    assert update.improvement == pytest.approx(update.before.mean - update.after.mean)
    assert update.improvement > 0.0


DESIGN = TwoAnchorDesign(train=12, test=16, more=4, dim=2)
RIVALS = ((1.0, 0.69, 0.01), (2.0, 2.0, 0.01), (2.0, 0.69, 0.05))  # scale, variance, noise


@pytest.mark.parametrize("size", [1, 10])
def test_nobody_beats_the_oracle_on_its_own_data(size):
    """Paired over draws of the function: significantly better would be a leak."""
    laws = ((2.0, 0.69, 0.01), *RIVALS)
    losses = np.array([[_loss(seed, law, size) for law in laws] for seed in range(60)])
    for rival in range(1, len(laws)):
        more = losses[:, rival] - losses[:, 0]
        assert more.mean() > -2.0 * more.std(ddof=1) / np.sqrt(len(more))
        assert more.mean() > 0.0


def _loss(seed, law, size):
    data = draw_two_anchors(seed, 2.0, DESIGN)
    rng = np.random.default_rng(seed)
    bundles = draw_dyads(rng, len(data.outside), 60, size)
    fresh = fresh_labels(rng, bundles, lambda rng, at: data.fresh(rng, data.outside[at]))
    made = _moments(law, data)
    return gaussian_losses(made, bundles, fresh).mean()


def _moments(law, data):
    """By hand, in numpy: the reference must not be what is tested elsewhere."""
    scale, variance, noise = law
    kernel = lambda a, b: (
        variance * np.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(axis=2) / scale**2)
    )
    x, new = data.x[data.train], data.x[data.outside]
    known = kernel(x, x) + noise * np.eye(len(x))
    cross = np.linalg.solve(known, kernel(x, new))
    mean, covariance = cross.T @ data.y[data.train], kernel(new, new) - kernel(new, x) @ cross
    return GaussianMoments(np.ones(1), mean[None], covariance[None], np.array([noise]))


def test_the_oracle_belief_is_the_process_that_made_the_data():
    data = draw_two_anchors(3, 2.0, DESIGN)
    train = as_jax(data.x[data.train]), as_jax(data.y[data.train])
    made = gaussian_moments(condition(DESIGN.prior(), *train), data.x[data.outside])
    written = _moments((2.0, 0.69, 0.01), data)
    assert_allclose(made.mean, written.mean, atol=1e-6)
    assert_allclose(made.covariance, written.covariance, atol=1e-6)
