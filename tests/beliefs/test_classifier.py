"""The classifier against scikit-learn, quadrature and long sampling; weights and gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, log_ndtr, ndtr
from sklearn.gaussian_process import GaussianProcessClassifier as SklearnClassifier
from sklearn.gaussian_process import kernels as sklearn_kernels

from labelwise.beliefs.classifier import GaussianProcessClassifier, log_evidence
from labelwise.beliefs.kernels import RBF, Matern32
from labelwise.beliefs.means import ConstantMean, PredictorMean, ZeroMean
from labelwise.beliefs.stored import build_belief, describe_prior
from labelwise.errors import InvalidInput, NumericalError
from tests.beliefs.reference import covariance
from tests.marks import but_slow

RNG = np.random.default_rng(80)
X, AT = RNG.normal(size=(8, 2)), RNG.normal(size=(5, 2))
Y = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0])
SCALE, VARIANCE, LEVEL = 1.2, 2.0, 0.3
WEIGHT = np.array([0.9, 0.2, 0.6, 0.5, 0.8, 0.35, 0.1, 0.7])

LINKS = ("logit", "probit")
CURVES = {"logit": expit, "probit": ndtr}
each_link = pytest.mark.parametrize("link", but_slow(LINKS, {"probit"}))


def prior(link="logit", level=LEVEL) -> GaussianProcessClassifier:
    return GaussianProcessClassifier(RBF(SCALE, VARIANCE), ConstantMean(level), link)


def seen_at(belief, at):
    """Latent mean and covariance, and the chances' mean and spread, at some rows."""
    return belief.mean(at), belief.covariance(at), *belief.outcome(at)


@eqx.filter_jit
def moments(belief, x, y, weight, at):
    return seen_at(belief.condition(x, y, weight), at)


def after(link="logit", x=X, y=Y, weight=None, level=LEVEL, at=AT, belief=None):
    belief = prior(link, level) if belief is None else belief
    weight = np.ones(len(y)) if weight is None else weight
    found = moments(belief, x, y, weight, at)
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
    belief = GaussianProcessClassifier(RBF(SCALE, variance), ConstantMean(0.0))
    value = evidence(belief, np.ones(8, bool))
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
    value = evidence(prior(level=0.0), mask)
    assert_allclose(value, theirs.log_marginal_likelihood_value_, rtol=1e-9)


# Against the exact posterior.


def quadrature(link, x, y):
    """Exact latent mean and variance at the labelled rows, and log evidence, on a grid."""
    matrix = covariance("rbf", x, x, SCALE, VARIANCE)
    nodes = np.linspace(-9.0, 9.0, 361)  # the trapezoidal rule is exact to rounding here
    white = np.stack(np.meshgrid(*[nodes] * len(y), indexing="ij"), axis=-1)
    mass = np.exp(-0.5 * (white**2).sum(axis=-1))
    f = LEVEL + white @ np.linalg.cholesky(matrix).T
    chance = CURVES[link](f)
    likelihood = np.prod(np.where(y == 1.0, chance, 1.0 - chance), axis=-1)
    evidence = (mass * likelihood).sum() / mass.sum()
    share = ((mass * likelihood) / (mass * likelihood).sum())[..., None]
    axes = tuple(range(len(y)))
    mean = (share * f).sum(axis=axes)
    return mean, (share * (f - mean) ** 2).sum(axis=axes), np.log(evidence)


@pytest.mark.parametrize(
    ("link", "share"),
    [
        ("logit", (0.08, 0.12)),
        pytest.param("probit", (0.19, 0.24), marks=pytest.mark.slow),
    ],
)
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
    error = float(evidence(prior(link), seen)) - exact
    assert ((short > share[0]) & (short < share[1])).all()
    assert ((ratio > 0.9) & (ratio < 0.97)).all()
    assert -0.025 * count < error < -0.01 * count


def slice_sample(log_likelihood, root, chains, steps):
    """Chains of elliptical slice sampling of latent values (Murray and others, 2010)."""
    rng = np.random.default_rng(81)
    white, found = np.zeros((chains, len(root))), []
    for _ in range(steps):
        beside = rng.normal(size=white.shape)
        height = log_likelihood(white @ root.T) + np.log(rng.uniform(size=chains))
        angle = rng.uniform(0.0, 2.0 * np.pi, size=chains)
        low, high, left = angle - 2.0 * np.pi, angle.copy(), np.arange(chains)
        while left.size:  # those whose bracket has yet to shrink
            turn = angle[left, None]
            new = np.cos(turn) * white[left] + np.sin(turn) * beside[left]
            below = log_likelihood(new @ root.T) < height[left]
            white[left[~below]] = new[~below]
            left = left[below]
            low[left] = np.where(angle[left] < 0, angle[left], low[left])
            high[left] = np.where(angle[left] < 0, high[left], angle[left])
            angle[left] = rng.uniform(low[left], high[left])
        found.append(white @ root.T)
    return np.stack(found, axis=1)


@each_link
def test_eight_labels_are_near_long_sampling(link):
    """Measured: latent means 0.10 too near the prior at worst, variances 5 % too small, chances
    off by 0.016 (logit) or 0.022 (probit), their variances by 3 % or 9 %.
    """
    chains, steps, warm = 1000, 260, 60
    rows = np.concatenate([X, AT])
    matrix = covariance("rbf", rows, rows, SCALE, VARIANCE)
    root = np.linalg.cholesky(matrix + 1e-10 * np.eye(13))
    sign = 2.0 * Y - 1.0
    log_chance = {"logit": lambda f: -np.logaddexp(0.0, -f), "probit": log_ndtr}[link]
    log_likelihood = lambda shift: log_chance(sign * (LEVEL + shift[:, :8])).sum(axis=1)
    f = LEVEL + slice_sample(log_likelihood, root, chains, steps)[:, warm:, 8:]
    chances = CURVES[link](f)
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
    x, weight = np.concatenate([X, np.repeat(X[-1:], 8, axis=0)]), np.repeat([1.0, 0.0], 8)
    padded = after(x=x, y=np.append(Y, np.zeros(8)), weight=weight)
    other = after(x=x, y=np.append(Y, np.ones(8)), weight=weight)
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
        mean, cov, chance, spread = moments(belief, X, Y, weight, AT)
        return share @ (mean + chance + 3.0 * spread) + share @ cov @ share

    return jax.vmap(jax.value_and_grad(total))(weights)


@each_link
def test_gradients_in_the_weights_agree_with_finite_differences(link):
    step = 1e-4
    steps = step * np.concatenate([np.eye(8), -np.eye(8), np.zeros((1, 8))])
    values, slopes = map(np.asarray, totals(prior(link), WEIGHT[None, :] + steps))
    finite = (values[:8] - values[8:16]) / (2 * step)
    # Some h² of third derivatives, and rounding of 1e-15 / h.
    assert_allclose(slopes[16], finite, rtol=1e-5, atol=1e-7)


@each_link
def test_gradients_at_weight_zero_are_those_of_a_small_weight(link):
    """Where a root of the weight would have none."""
    weights = np.stack([np.zeros(8), np.full(8, 1e-8), WEIGHT * (np.arange(8) % 2)])
    # As many as above, so that nothing is compiled again.
    weights = np.concatenate([weights, np.repeat(weights[2:] + 1e-8, 14, axis=0)])
    values, slopes = map(np.asarray, totals(prior(link), weights))
    assert np.isfinite(values).all()
    assert np.isfinite(slopes).all()
    assert_allclose(slopes[0], slopes[1], rtol=1e-5, atol=1e-6)
    assert_allclose(slopes[2], slopes[3], rtol=1e-5, atol=1e-6)


# In turn, in any order, mirrored.


@eqx.filter_jit
def in_turn(belief, x, y, weight):
    first = belief.condition(x[:3], y[:3], weight[:3])
    return seen_at(first.condition(x[3:], y[3:], weight[3:]), AT)


@each_link
def test_labels_in_turn_teach_the_same_as_at_once_even_in_part(link):
    assert_same(in_turn(prior(link), X, Y, WEIGHT), after(link, weight=WEIGHT))


@each_link
def test_the_order_of_labels_does_not_matter(link):
    order = np.random.default_rng(82).permutation(8)
    shuffled = after(link, X[order], Y[order], WEIGHT[order])
    assert_same(shuffled, after(link, weight=WEIGHT))


@each_link
def test_mirrored_labels_mirror_the_function(link):
    mean, cov, chance, spread = after(link, y=1.0 - Y, level=-LEVEL)
    assert_same((-mean, cov, 1.0 - chance, spread), after(link))


@eqx.filter_jit
def with_no_more_labels(belief, x, y):
    """After labels and after none."""
    some, none = belief.condition(x, y), (np.zeros((0, 2)), np.zeros(0))
    return seen_at(some.condition(*none), AT), seen_at(belief.condition(*none), AT)


def test_no_new_labels_change_nothing():
    again, empty = with_no_more_labels(prior(), X, Y)
    assert_same(again, after())
    assert_allclose(empty[0], np.full(5, LEVEL), rtol=0, atol=1e-15)


# Storing.


@eqx.filter_jit
def untaught(belief):
    return belief.mean(AT), belief.covariance(AT)


@pytest.mark.parametrize(
    "mean",
    [ZeroMean, lambda: ConstantMean(0.3), lambda: PredictorMean(1, 0.2, -0.7)],
    ids=["ZeroMean", "ConstantMean", "PredictorMean"],
)
def test_a_prior_is_stored_to_the_last_bit(mean):
    belief = GaussianProcessClassifier(Matern32([0.1, 3.7], 1.1), mean(), "probit")
    again = build_belief(describe_prior(belief))
    assert isinstance(again, GaussianProcessClassifier)
    assert again.link == "probit"
    assert_same(untaught(again), untaught(belief), tolerance=0)


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
