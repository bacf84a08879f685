"""The classifier against scikit-learn, quadrature and long sampling; weights and gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessClassifier as SklearnClassifier
from sklearn.gaussian_process import kernels as sklearn_kernels

from labelwise.beliefs.classifier import GaussianProcessClassifier, log_evidence
from labelwise.beliefs.description import build_prior, describe_prior
from labelwise.beliefs.kernels import RBF, Matern32
from labelwise.beliefs.means import ConstantMean, PredictorMean, ZeroMean
from labelwise.errors import InvalidInput, NumericalError
from tests.beliefs.reference import covariance

RNG = np.random.default_rng(80)
X, AT = RNG.normal(size=(8, 2)), RNG.normal(size=(5, 2))
Y = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0])
SCALE, VARIANCE, LEVEL = 1.2, 2.0, 0.3
WEIGHT = np.array([0.9, 0.2, 0.6, 0.5, 0.8, 0.35, 0.1, 0.7])

LINKS = ("logit", "probit")
each_link = pytest.mark.parametrize("link", LINKS)


def prior(link="logit", level=LEVEL) -> GaussianProcessClassifier:
    return GaussianProcessClassifier(RBF(SCALE, VARIANCE), ConstantMean(level), link)


@eqx.filter_jit
def moments(belief, x, y, weight, at):
    """Latent mean and covariance, and the chances' mean and spread, at some rows."""
    posterior = belief.condition(x, y, weight)
    return posterior.mean(at), posterior.covariance(at), *posterior.outcome(at)


def after(link="logit", x=X, y=Y, weight=None, level=LEVEL, at=AT, belief=None):
    belief = prior(link, level) if belief is None else belief
    weight = np.ones(len(y)) if weight is None else weight
    found = moments(belief, *map(jnp.asarray, (x, y, weight, at)))
    return [np.asarray(value) for value in found]


@eqx.filter_jit
def evidence(belief, mask):
    return log_evidence(belief, jnp.asarray(X), jnp.asarray(Y), mask)


def assert_same(one, other, tolerance=1e-12):
    for mine, yours in zip(one, other, strict=True):
        assert_allclose(mine, yours, rtol=0, atol=tolerance)


# Against scikit-learn, which makes the same approximation for the logit.


@pytest.mark.parametrize(("variance", "rough"), [(0.3, 1e-3), (2.0, 1e-3), (50.0, 5e-3)])
def test_evidence_and_latent_moments_agree_with_scikit_learn(variance, rough):
    kernel = sklearn_kernels.ConstantKernel(variance) * sklearn_kernels.RBF(SCALE)
    theirs = SklearnClassifier(kernel, optimizer=None).fit(X, Y)
    belief = GaussianProcessClassifier(RBF(SCALE, variance))
    value = evidence(belief, jnp.ones(8, bool))
    assert_allclose(value, theirs.log_marginal_likelihood_value_, rtol=1e-9)
    mean, cov, chance, _ = after(belief=belief)
    their_mean, their_variance = theirs.latent_mean_and_variance(AT)
    # It stops its search once the evidence gains less than 1e-10.
    assert_allclose(mean, their_mean, rtol=0, atol=1e-6)
    assert_allclose(np.diagonal(cov), their_variance, rtol=0, atol=1e-6)
    # It replaces the logistic curve by five error functions. The nodes of our own quadrature
    # lie too far apart for the steep curve that a spread of 7 makes: 4e-3 at worst.
    assert_allclose(chance, theirs.predict_proba(AT)[:, 1], rtol=0, atol=rough)


def test_masked_rows_are_absent_from_the_evidence():
    mask = np.arange(8) % 3 > 0
    kernel = sklearn_kernels.ConstantKernel(VARIANCE) * sklearn_kernels.RBF(SCALE)
    theirs = SklearnClassifier(kernel, optimizer=None).fit(X[mask], Y[mask])
    belief = GaussianProcessClassifier(RBF(SCALE, VARIANCE))
    value = evidence(belief, jnp.asarray(mask))
    assert_allclose(value, theirs.log_marginal_likelihood_value_, rtol=1e-9)


# Against the exact posterior.


def quadrature(link, x, y):
    """Exact latent mean and variance at the labelled rows, and log evidence, on a grid."""
    matrix = covariance("rbf", x, x, SCALE, VARIANCE)
    nodes = np.linspace(-9.0, 9.0, 361)  # the trapezoidal rule is exact to rounding here
    white = np.stack(np.meshgrid(*[nodes] * len(y), indexing="ij"), axis=-1)
    mass = np.exp(-0.5 * (white**2).sum(axis=-1))
    f = LEVEL + white @ np.linalg.cholesky(matrix).T
    chance = np.asarray(prior(link).labels.mean(jnp.asarray(f)))
    likelihood = np.prod(np.where(y == 1.0, chance, 1.0 - chance), axis=-1)
    evidence = (mass * likelihood).sum() / mass.sum()
    share = ((mass * likelihood) / (mass * likelihood).sum())[..., None]
    axes = tuple(range(len(y)))
    mean = (share * f).sum(axis=axes)
    return mean, (share * (f - mean) ** 2).sum(axis=axes), np.log(evidence)


@pytest.mark.parametrize(("link", "share"), [("logit", (0.08, 0.12)), ("probit", (0.19, 0.24))])
@pytest.mark.parametrize("count", [1, 2])
def test_one_and_two_labels_are_near_the_exact_posterior(link, share, count):
    """The posterior leans away from the prior, so that its mode lies short of its mean.

    Measured: the mean moves 10 % too little (logit) or 21 % (probit); the variance is 5 to 7 %
    too small; the log evidence 0.012 to 0.018 a label too small.
    """
    seen = np.arange(8) < count
    exact_mean, exact_variance, exact = quadrature(link, X[:count], Y[:count])
    mean, cov, _, _ = after(link, weight=seen.astype(float), at=X[:5])
    short = 1.0 - (mean[:count] - LEVEL) / (exact_mean - LEVEL)
    ratio = np.diagonal(cov)[:count] / exact_variance
    error = evidence(prior(link), jnp.asarray(seen)) - exact
    assert ((short > share[0]) & (short < share[1])).all()
    assert ((ratio > 0.9) & (ratio < 0.97)).all()
    assert -0.025 * count < error < -0.01 * count


def slice_sample(log_likelihood, root, key, steps):
    """One chain of elliptical slice sampling of whitened values (Murray and others, 2010)."""

    def shrink(state):
        white, beside, low, high, angle, height, key = state
        low, high = jnp.where(angle < 0, angle, low), jnp.where(angle < 0, high, angle)
        key, use = jax.random.split(key)
        return (
            white,
            beside,
            low,
            high,
            jax.random.uniform(use, (), float, low, high),
            height,
            key,
        )

    def turn(state):
        return jnp.cos(state[4]) * state[0] + jnp.sin(state[4]) * state[1]

    def step(white, key):
        keys = jax.random.split(key, 4)
        beside = jax.random.normal(keys[0], white.shape)
        height = log_likelihood(root @ white) + jnp.log(jax.random.uniform(keys[1]))
        angle = jax.random.uniform(keys[2], (), float, 0.0, 2.0 * jnp.pi)
        state = (white, beside, angle - 2.0 * jnp.pi, angle, angle, height, keys[3])
        below = lambda state: log_likelihood(root @ turn(state)) < state[5]
        white = turn(jax.lax.while_loop(below, shrink, state))
        return white, root @ white

    start = jnp.zeros(root.shape[0])
    return jax.lax.scan(step, start, jax.random.split(key, steps))[1]


@each_link
def test_eight_labels_are_near_long_sampling(link):
    """Measured: latent means 0.10 too near the prior at worst, variances 5 % too small, chances
    off by 0.016 (logit) or 0.022 (probit), their variances by 3 % or 9 %.
    """
    chains, steps, warm = 200, 800, 100
    labels, y = prior(link).labels, jnp.asarray(Y)
    rows = np.concatenate([X, AT])
    matrix = covariance("rbf", rows, rows, SCALE, VARIANCE)
    root = jnp.asarray(np.linalg.cholesky(matrix + 1e-10 * np.eye(13)))
    sampler = lambda key: slice_sample(
        lambda shift: labels.log_prob(y, LEVEL + shift[:8]).sum(), root, key, steps
    )
    keys = jax.random.split(jax.random.key(81), chains)
    f = LEVEL + np.asarray(jax.jit(jax.vmap(sampler))(keys))[:, warm:, 8:]
    chances = np.asarray(labels.mean(jnp.asarray(f)))
    error = lambda draws: 5 * draws.mean(axis=1).std(axis=0) / np.sqrt(chains)
    mean, cov, chance, spread = after(link)
    assert (error(f) < 0.05).all()  # or the comparison says little
    assert (np.abs(mean - f.mean(axis=(0, 1))) < 0.11 + error(f)).all()
    assert_allclose(np.diagonal(cov), f.var(axis=(0, 1)), rtol=0.08)
    assert (np.abs(chance - chances.mean(axis=(0, 1))) < 0.025 + error(chances)).all()
    assert_allclose(spread, chances.var(axis=(0, 1)), rtol=0.12)


# Weights.


@each_link
def test_weights_of_zero_and_one_pick_a_subset(link):
    weight = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    absent = np.where(weight > 0, Y, 1.0 - Y)
    subset = after(link, X[weight > 0], Y[weight > 0])
    assert_same(after(link, y=absent, weight=weight), subset)


@each_link
def test_no_weight_at_all_leaves_the_prior(link):
    mean, cov, _, _ = after(link, weight=np.zeros(8))
    assert_allclose(mean, np.full(5, LEVEL), rtol=0, atol=1e-14)
    assert_allclose(cov, covariance("rbf", AT, AT, SCALE, VARIANCE), rtol=0, atol=1e-14)


def test_padded_rows_are_absent_to_the_last_bit():
    """Padding repeats a row that counts, so that a trace of it would show."""
    x, y = np.concatenate([X, np.repeat(X[-1:], 3, axis=0)]), np.append(Y, np.zeros(3))
    padded = after(x=x, y=y, weight=np.append(np.ones(8), np.zeros(3)))
    other = after(x=x, y=np.append(Y, np.ones(3)), weight=np.append(np.ones(8), np.zeros(3)))
    assert_same(padded, other, tolerance=0)
    assert_same(padded, after(), tolerance=1e-14)


def test_half_a_label_twice_is_a_label():
    twice = after(x=np.repeat(X, 2, axis=0), y=np.repeat(Y, 2), weight=np.full(16, 0.5))
    assert_same(twice, after())


@eqx.filter_jit
def totals(belief, weights):
    """A number that depends on every moment, for each row of weights."""
    share = jnp.asarray(np.linspace(0.5, 1.5, 5))

    def total(weight):
        mean, cov, chance, spread = moments(belief, *map(jnp.asarray, (X, Y, weight, AT)))
        return share @ (mean + chance + 3.0 * spread) + share @ cov @ share

    return jax.vmap(jax.value_and_grad(total))(weights)


@each_link
def test_gradients_in_the_weights_agree_with_finite_differences(link):
    step = 1e-4
    steps = step * np.concatenate([np.eye(8), -np.eye(8), np.zeros((1, 8))])
    values, slopes = totals(prior(link), jnp.asarray(WEIGHT[None, :] + steps))
    finite = (values[:8] - values[8:16]) / (2 * step)
    # Some h² of third derivatives, and rounding of 1e-15 / h.
    assert_allclose(slopes[16], finite, rtol=1e-5, atol=1e-7)


@each_link
def test_gradients_at_weight_zero_are_those_of_a_small_weight(link):
    """Where a root of the weight would have none."""
    weights = np.stack([np.zeros(8), np.full(8, 1e-8), WEIGHT * (np.arange(8) % 2)])
    weights = np.concatenate([weights, weights[2:] + 1e-8])
    values, slopes = totals(prior(link), jnp.asarray(weights))
    assert np.isfinite(values).all()
    assert np.isfinite(slopes).all()
    assert_allclose(slopes[0], slopes[1], rtol=1e-5, atol=1e-6)
    assert_allclose(slopes[2], slopes[3], rtol=1e-5, atol=1e-6)


# In turn, in any order, mirrored.


@each_link
def test_labels_in_turn_teach_the_same_as_at_once_even_in_part(link):
    @eqx.filter_jit
    def in_turn(belief, x, y, weight):
        first = belief.condition(x[:3], y[:3], weight[:3])
        posterior = first.condition(x[3:], y[3:], weight[3:])
        at = jnp.asarray(AT)
        return posterior.mean(at), posterior.covariance(at), *posterior.outcome(at)

    turns = in_turn(prior(link), *map(jnp.asarray, (X, Y, WEIGHT)))
    assert_same(turns, after(link, weight=WEIGHT))


@each_link
def test_the_order_of_labels_does_not_matter(link):
    order = np.random.default_rng(82).permutation(8)
    shuffled = after(link, X[order], Y[order], WEIGHT[order])
    assert_same(shuffled, after(link, weight=WEIGHT))


@each_link
def test_mirrored_labels_mirror_the_function(link):
    mean, cov, chance, spread = after(link, y=1.0 - Y, level=-LEVEL)
    assert_same((-mean, cov, 1.0 - chance, spread), after(link))


def test_no_new_labels_change_nothing():
    posterior = prior().condition(X, Y)
    again = posterior.condition(np.zeros((0, 2)), np.zeros(0))
    assert_same(
        (again.mean(AT), again.variance(AT)), (posterior.mean(AT), posterior.variance(AT))
    )
    empty = prior().condition(np.zeros((0, 2)), np.zeros(0))
    assert_allclose(empty.mean(AT), np.full(5, LEVEL), rtol=0, atol=1e-15)


# Storing.


@pytest.mark.parametrize(
    "mean",
    [ZeroMean(), ConstantMean(0.3), PredictorMean(1, 0.2, -0.7)],
    ids=lambda mean: type(mean).__name__,
)
def test_a_prior_is_stored_to_the_last_bit(mean):
    belief = GaussianProcessClassifier(Matern32([0.1, 3.7], 1.1), mean, "probit")
    again = build_prior(describe_prior(belief))
    assert isinstance(again, GaussianProcessClassifier)
    assert again.link == "probit"
    np.testing.assert_array_equal(again.mean(AT), belief.mean(AT))
    np.testing.assert_array_equal(again.covariance(AT), belief.covariance(AT))


# What is refused.


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.0, 0.4, 1.0], r"^y must hold 0 or 1; row 1 holds 0\.4\.$"),
        ([-1.0, 1.0, -1.0], r"^y must hold 0 or 1; rows 0, 2 hold -1\.$"),
    ],
)
def test_labels_other_than_0_and_1_are_refused(y, message):
    with pytest.raises(InvalidInput, match=message):
        prior().condition(X[:3], y)


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_link_is_refused():
    with pytest.raises(InvalidInput, match=r"^link must be 'logit' or 'probit'; it is 'log'"):
        GaussianProcessClassifier(RBF(), link="log")  # pyright: ignore


def test_rows_with_other_features_are_refused():
    with pytest.raises(InvalidInput, match=r"^x has 3 features but the belief's labelled set"):
        prior().condition(X, Y).mean(np.ones((4, 3)))


def test_a_mean_beyond_all_scales_is_refused():
    with pytest.raises(NumericalError, match=r"^The posterior is not finite: the kernel's var"):
        prior("probit", level=1e200).condition(X, Y)
