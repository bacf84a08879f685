"""Fitted mixtures against the posterior of their hyper-parameters, summed over a dense grid."""

from itertools import product

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs import fit_mixture as mixing
from labelwise.beliefs.fit import FitProblem, fit_gaussian_process
from labelwise.beliefs.fit_mixture import fit_mixture, free_directions
from labelwise.beliefs.hyperparameters import FitOptions
from labelwise.errors import InvalidInput
from tests.beliefs.reference import covariance
from tests.marks import but_slow

RNG = np.random.default_rng(2)
SIZE, MANY = 30, 400
X = RNG.uniform(-3.0, 3.0, size=(SIZE, 1))
KERNEL = np.exp(-0.5 * (X - X.T) ** 2)
F = np.linalg.cholesky(KERNEL + 1e-9 * np.eye(SIZE)) @ RNG.normal(size=SIZE)
Y = F + 0.4 * RNG.normal(size=SIZE)
BINARY = (RNG.uniform(size=SIZE) < 1.0 / (1.0 + np.exp(-2.0 * F))).astype(float)
KINDS = {"gp": (Y, None), "classifier": (BINARY, "logit")}
FLAT = {"kernel": "rbf", "mean": "zero"}


def log_posterior_at(problem, length_scale, variance, noise):
    """Of log-parameters, by an eigendecomposition; priors and their widths as documented."""
    scales = problem.scales
    kernel = covariance("rbf", X, X, float(scales.length_scale[0]) * np.exp(length_scale))
    values, vectors = np.linalg.eigh(kernel)
    variances = np.asarray(scales.labels.variance * np.exp(variance))[..., None]
    noises = np.asarray(scales.labels.noise * np.exp(noise))[..., None]
    spread = variances * values + noises
    fit = -0.5 * np.sum((vectors.T @ Y) ** 2 / spread + np.log(spread), axis=-1)
    return fit - 0.5 * (length_scale**2 + variance**2 + (noise / 1.5) ** 2)


def log_posterior_of_numbers(problem, steps):
    axis = np.linspace(-5.0, 5.0, steps)
    logs = [log_posterior_at(problem, step, axis[:, None], axis[None, :]) for step in axis]
    return np.array(list(product(axis, axis, axis))), np.array(logs).ravel()


@jax.jit
def log_posteriors(problem, points):
    return jax.lax.map(problem.log_posterior, points)


def log_posterior_of_binary(problem, steps):
    axis = np.linspace(-5.0, 5.0, steps)
    points = np.array(list(product(axis, axis)))
    return points, np.asarray(log_posteriors(problem, points))


@pytest.fixture(scope="module", params=but_slow(KINDS, {"classifier"}))
def problem(request):
    """Labels, the mixture, and the posterior on a grid: points and their chances."""
    y, link = KINDS[request.param]
    fit = fit_mixture(X, y, components=MANY, link=link, starts=1, **FLAT)
    problem = FitProblem.of(X, y, FitOptions("rbf", "zero", link=link))
    on_grid = log_posterior_of_numbers if link is None else log_posterior_of_binary
    points, logs = on_grid(problem, 41)
    chances = np.exp(logs - logs.max())
    return y, fit, problem, points, chances / chances.sum()


def positions_of(belief, problem):
    """Log-parameters of each component, in units of their prior medians."""
    found, scales = belief.components, problem.scales
    ratio = lambda one, other: np.asarray(one) / np.asarray(other)
    parts = [
        ratio(found.kernel.length_scale, scales.length_scale),
        ratio(found.kernel.variance, scales.labels.variance),
    ]
    if problem.options.link is None:
        parts.append(ratio(found.noise, scales.labels.noise))
    return np.log(np.stack(parts, axis=1))


def test_components_have_the_mean_and_spread_of_the_posterior(problem):
    _, fit, problem, points, chances = problem
    # What is left out at the edges of the grid does not count.
    edge = (np.abs(points) > 4.9).any(axis=1)
    assert chances[edge].sum() < 1e-3
    mean = chances @ points
    second = chances @ (points - mean) ** 2
    fourth = chances @ (points - mean) ** 4
    found = positions_of(fit.prior, problem)
    # Drawn candidates are worth `effective` of equal weight; picking some adds as much again.
    share = 1.0 / fit.effective + 1.0 / MANY
    assert (np.abs(found.mean(axis=0) - mean) < 4 * np.sqrt(second * share)).all()
    error = 4 * np.sqrt((fourth - second**2) * share)
    assert (np.abs(found.var(axis=0) - second) < error).all()
    # A fit of one component would have no spread: these errors are small beside it.
    assert (error < 0.6 * second).all()


def test_the_labels_of_the_fit_give_every_component_the_same_weight(problem):
    y, fit, _, _, _ = problem
    weight = np.asarray(eqx.filter_jit(lambda belief: belief.condition(X, y).weight)(fit.prior))
    assert weight.shape == (MANY,)
    assert_allclose(weight, np.full(MANY, 1.0 / MANY), rtol=1e-6)


def test_the_best_is_the_top_of_the_grid(problem):
    _, fit, problem, points, chances = problem
    top = points[np.argmax(chances)]
    spacing = points[1, -1] - points[0, -1]
    best, other = np.asarray(log_posteriors(problem, np.stack([fit.best.position, top])))
    assert best >= other - 1e-9
    assert np.linalg.norm(top - np.array(fit.best.position)) < 3 * spacing
    assert MANY < fit.effective <= 8 * MANY


def test_a_later_fit_starts_where_an_earlier_ended():
    cold = fit_mixture(X, Y, components=4, starts=2, **FLAT)
    assert len(cold.best.starts) == 2
    warm = fit_mixture(X, Y, components=4, starts=1, start=cold.best.position, **FLAT)
    assert len(warm.best.starts) == 2  # the prior medians, and where it was told to
    # L-BFGS-B stops where a step gains less than some 1e-9 of the value.
    assert_allclose(warm.best.starts[0], cold.best.starts[0], atol=1e-5)
    assert_allclose(warm.best.position, cold.best.position, atol=1e-3)


def test_a_start_for_other_parameters_is_not_used():
    other = fit_mixture(X, Y, components=4, starts=1, start=[0.0, 0.0], **FLAT)
    assert len(other.best.starts) == 1


def test_the_best_is_that_of_a_single_fit():
    mixed = fit_mixture(X, Y, components=4, starts=2, seed=3, **FLAT)
    alone = fit_gaussian_process(X, Y, starts=2, seed=3, **FLAT)
    assert mixed.best.position == alone.position


def test_the_same_seed_gives_the_same_mixture():
    first, again, other = (
        np.asarray(
            fit_mixture(X, Y, components=4, starts=1, seed=seed, **FLAT).prior.components.noise
        )
        for seed in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()
    assert first.shape == (4,)


@pytest.mark.slow
def test_of_many_features_the_length_scales_move_together():
    x = RNG.normal(size=(24, 21))
    y = x[:, 0] + 0.3 * RNG.normal(size=24)
    fit = fit_mixture(x, y, components=6, starts=1)
    scales = np.asarray(fit.prior.components.kernel.length_scale)
    ratio = scales / np.asarray(fit.best.prior.kernel.length_scale)
    assert_allclose(ratio, np.tile(ratio[:, :1], (1, 21)), rtol=1e-10)
    assert np.ptp(np.log(ratio[:, 0])) > 0.1
    assert np.ptp(np.log(np.asarray(fit.prior.components.noise))) > 0.1


@pytest.mark.parametrize("features", [1, 20, 21])
def test_directions_are_all_or_one_for_the_length_scales(features):
    x = RNG.normal(size=(5, features))
    problem = FitProblem.of(x, RNG.normal(size=5), FitOptions("rbf", "constant"))
    found = free_directions(problem.scales, problem.size)
    if features <= 20:
        assert (found == np.eye(features + 3)).all()
        return
    assert found.shape == (features + 3, 4)
    position = found @ np.array([0.7, 1.0, 2.0, 3.0])
    assert_allclose(position, [0.7] * features + [1.0, 2.0, 3.0])


def test_the_curvature_is_that_of_the_log_posterior():
    problem = FitProblem.of(X, Y, FitOptions("rbf", "zero"))
    at, step = np.array([0.1, -0.3, 0.4]), 1e-3
    value = lambda move: -log_posterior_at(problem, *(at + step * move))
    cross = lambda a, b: value(a + b) - value(a - b) - value(b - a) + value(-a - b)
    truth = np.array([[cross(a, b) for b in np.eye(3)] for a in np.eye(3)]) / (4 * step**2)
    # Both err by the step squared times a fourth derivative, some 1e-5, and by rounding of
    # values of size 30 over the step squared, 1e-8.
    found = mixing._curvature(problem, at, np.eye(len(at)))
    assert_allclose(found, truth, atol=1e-3)
    some = np.random.default_rng(3).normal(size=(len(at), 2))
    along = mixing._curvature(problem, at, some)
    assert_allclose(along, some.T @ truth @ some, atol=1e-3 * np.sum(some**2))
    assert np.abs(truth).max() > 1.0


def test_where_labels_say_nothing_candidates_are_as_wide_as_the_prior():
    shape = mixing._shape(np.diag([4.0, 1e-9, -2.0, np.nan]))
    assert_allclose(shape, np.diag([0.25, *[1.0 / mixing.LEAST_CURVATURE] * 3]), atol=1e-12)


def test_candidates_beyond_arithmetic_have_no_weight():
    weight = mixing._normalised(np.array([-1000.0, np.nan, -1000.0 + np.log(3.0), np.inf]))
    assert_allclose(weight, [0.25, 0.0, 0.75, 0.0], rtol=1e-12)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"components": 0}, "components must be at least 1; it is 0"),
        ({"components": 2.5}, r"components must be a whole number; it is 2\.5"),
        ({"link": "cauchit"}, "link must be 'logit' or 'probit'; it is 'cauchit'"),
        ({"link": "logit"}, "y must hold 0 or 1; rows 0, 1, 2, 3, 4 and 25 more hold"),
        ({"kernel": "cubic"}, "kernel must be one of rbf, .*, linear; it is 'cubic'"),
        ({"mean": "predictor"}, "A mean linear in the predictor needs predictor_column"),
        ({"starts": 0}, "starts must be at least 1; it is 0"),
        ({"x": np.full((SIZE, 1), np.nan)}, "x is NaN or infinite in rows 0, 1, 2, 3, 4"),
        ({"x": X[:1], "y": Y[:1]}, "Fitting needs at least 2 labelled rows; there are 1"),
        ({"spread": [-1.0]}, "spread must hold standard deviations; some are negative"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, message):
    with pytest.raises(InvalidInput, match=message):
        fit_mixture(**({"x": X, "y": Y, "starts": 1} | change))
