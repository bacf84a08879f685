"""The Gaussian process against scikit-learn and tinygp, and the input that it refuses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tinygp
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sklearn_kernels

from labelwise.beliefs.fit import fit_gaussian_process
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import KERNELS, RBF, Matern52
from labelwise.beliefs.means import ConstantMean, PredictorMean
from labelwise.errors import InvalidInput, NumericalError
from tests.beliefs.reference import Data, make_data, weighted_posterior
from tests.marks import but_slow

NOISE, VARIANCE = 0.05, 1.7
# Twelve rows of variance 1.7 with noise 0.05 have a condition number below 12 · 1.7 / 0.05,
# some 400; times 1e-16, a few steps and labels of size 3 rounding leaves 1e-12.
CLOSE = 1e-10

SKLEARN = {
    "rbf": lambda scale: sklearn_kernels.RBF(scale),
    "matern32": lambda scale: sklearn_kernels.Matern(scale, nu=1.5),
    "matern52": lambda scale: sklearn_kernels.Matern(scale, nu=2.5),
}
TINYGP = {
    "rbf": tinygp.kernels.ExpSquared,
    "matern32": lambda: tinygp.kernels.Matern32(distance=tinygp.kernels.distance.L2Distance()),
    "matern52": lambda: tinygp.kernels.Matern52(distance=tinygp.kernels.distance.L2Distance()),
}

each_kernel = pytest.mark.parametrize("name", but_slow(SKLEARN, SKLEARN.keys() - {"rbf"}))
BEYOND = [pytest.param(dim, marks=pytest.mark.slow) for dim in (1, 20)]
each_dim = pytest.mark.parametrize("dim", [3, 9, *BEYOND])


def scales_of(dim: int) -> np.ndarray:
    return np.sqrt(dim) * np.linspace(0.6, 1.7, dim)


def seen_at(belief, test):
    """Mean, covariance and variance."""
    return belief.mean(test), belief.covariance(test), belief.variance(test)


@eqx.filter_jit
def learn(belief, x, y, weight=None):
    return belief.condition(x, y, weight)


@eqx.filter_jit
def moments(belief, x, y, test):
    """At `test` after the labels."""
    return seen_at(belief.condition(x, y), test)


def ours(belief, data: Data):
    return [np.asarray(part) for part in moments(belief, *data)]


def sklearn_moments(name, scale, data: Data, noise=NOISE):
    kernel = sklearn_kernels.ConstantKernel(VARIANCE) * SKLEARN[name](scale)
    regressor = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
    regressor.fit(data.x, data.y)
    mean, covariance = regressor.predict(data.test, return_cov=True)
    _, sd = regressor.predict(data.test, return_std=True)
    return mean, covariance, sd**2


@eqx.filter_jit
def tinygp_moments(name, scale, data: Data):
    x, y, test = data
    with jax.numpy_rank_promotion("allow"):
        kernel = VARIANCE * tinygp.transforms.Linear(1.0 / scale, TINYGP[name]())
        conditioned = tinygp.GaussianProcess(kernel, x, diag=NOISE).condition(y, test).gp
        # tinygp adds a small diagonal of its own to what it predicts.
        jitter = jnp.diag(conditioned.noise.diagonal())
        covariance = conditioned.covariance - jitter
        return conditioned.loc, covariance, conditioned.variance - jnp.diagonal(jitter)


def assert_same_moments(mine, yours, tolerance=CLOSE):
    for one, other in zip(mine, yours, strict=True):
        assert_allclose(one, other, rtol=0, atol=tolerance)


@each_kernel
@each_dim
def test_the_posterior_agrees_with_scikit_learn_and_tinygp(name, dim):
    data = make_data(dim, 12, dim)
    scale = scales_of(dim)
    mine = ours(GaussianProcess(KERNELS[name](scale, VARIANCE), NOISE), data)
    assert_same_moments(mine, sklearn_moments(name, scale, data))
    assert_same_moments(mine, tinygp_moments(name, scale, data))
    # Not the prior in disguise: the labels told something about each row.
    assert (mine[2] < 0.95 * VARIANCE).all()


@each_kernel
def test_one_length_scale_for_all_features_agrees_with_scikit_learn(name):
    data = make_data(30, 12, 3)
    mine = ours(GaussianProcess(KERNELS[name](1.4, VARIANCE), NOISE), data)
    assert_same_moments(mine, sklearn_moments(name, 1.4, data))


@pytest.mark.parametrize("dim", [3, 9])
@pytest.mark.parametrize(
    ("mean", "formula"),
    [
        (lambda: ConstantMean(-2.5), lambda x: np.full(len(x), -2.5)),
        (lambda: PredictorMean(1, 0.4, -1.3), lambda x: 0.4 - 1.3 * x[:, 1]),
        (lambda: PredictorMean(-1), lambda x: x[:, -1]),
    ],
    ids=["constant", "predictor", "predictor-last"],
)
def test_a_mean_acts_by_subtracting_it_from_labels_and_adding_it_back(dim, mean, formula):
    data = make_data(40, 12, dim)
    scale = scales_of(dim)
    mine = ours(GaussianProcess(KERNELS["matern52"](scale, VARIANCE), NOISE, mean()), data)
    centred = data._replace(y=data.y - formula(data.x))
    shift, covariance, variance = sklearn_moments("matern52", scale, centred)
    assert_same_moments(mine, (shift + formula(data.test), covariance, variance))


def test_before_any_label_the_belief_is_its_kernel_and_its_mean():
    test = make_data(41, 4, 3).test
    kernel = KERNELS["matern32"](scales_of(3), VARIANCE)
    belief = GaussianProcess(kernel, NOISE, PredictorMean(0, 0.4, 2.0))

    @eqx.filter_jit
    def untaught(belief, x):
        return *seen_at(belief, x), belief.shift_at(belief.embed(x)), belief.kernel(x, x)

    mean, covariance, variance, shift, own = untaught(belief, test)
    assert_allclose(mean, 0.4 + 2.0 * test[:, 0], rtol=1e-15)
    assert_allclose(covariance, own, rtol=1e-15)
    assert_allclose(variance, np.full(5, VARIANCE), rtol=1e-15)
    assert (np.asarray(shift) == 0.0).all()


def test_the_covariance_of_two_tables_is_a_block_of_the_covariance_of_both():
    data = make_data(42, 8, 3)
    belief = GaussianProcess(RBF(scales_of(3), VARIANCE), NOISE)
    test = data.test

    @jax.jit
    def block(x, y):
        return belief.condition(x, y).covariance(test[:2], test[2:])

    _, covariance, _ = sklearn_moments("rbf", scales_of(3), data)
    assert_allclose(block(data.x, data.y), covariance[:2, 2:], rtol=0, atol=CLOSE)


def test_rows_taken_from_an_embedding_are_those_rows():
    data = make_data(43, 8, 3)
    belief = GaussianProcess(RBF(scales_of(3), VARIANCE), NOISE, ConstantMean(2.0))
    chosen = np.array([3, 0, 3])

    @jax.jit
    def take(x, y, test):
        posterior = belief.condition(x, y)
        rows = posterior.embed(test).take(jnp.asarray(chosen))
        covariance = posterior.covariance_at(rows, rows)
        shift = posterior.shift_at(rows)
        return posterior.mean_at(rows), covariance, posterior.variance_at(rows), shift

    mean, covariance, variance = ours(belief, data)
    true = mean[chosen], covariance[chosen][:, chosen], variance[chosen], mean[chosen] - 2.0
    assert_same_moments(take(*data), true, tolerance=1e-13)


@each_kernel
def test_without_noise_the_posterior_passes_through_its_labels(name):
    data = make_data(44, 6, 3)
    belief = GaussianProcess(KERNELS[name](1.0, VARIANCE), 0.0)
    mean, covariance, variance = ours(belief, data._replace(test=data.x))
    # Six rows about √6 length scales apart: condition number below 100.
    assert_allclose(mean, data.y, rtol=0, atol=1e-12)
    assert_allclose(covariance, np.zeros((6, 6)), atol=1e-12)
    assert (variance >= 0.0).all()
    assert_allclose(variance, np.zeros(6), atol=1e-12)


@eqx.filter_jit
def in_one_or_two(belief, x, y, test):
    """All labels at once, and the first half before the second."""
    half = x.shape[0] // 2
    first = belief.condition(x[:half], y[:half])
    return moments(belief, x, y, test), moments(first, x[half:], y[half:], test)


@each_kernel
@pytest.mark.parametrize("dim", [3, 9])
@pytest.mark.parametrize("apart", [0.0, 1e-9])
@pytest.mark.parametrize("batches", [1, 2])
def test_twin_rows_with_noise_agree_with_scikit_learn(name, dim, apart, batches):
    data = make_data(45, 5, dim)
    twins = data.x + apart
    rng = np.random.default_rng(0)
    both = Data(np.vstack([data.x, twins]), rng.normal(size=10), data.test)
    scale = scales_of(dim)
    belief = GaussianProcess(KERNELS[name](scale, VARIANCE), NOISE)
    mine = in_one_or_two(belief, *both)[batches - 1]
    assert_same_moments(mine, sklearn_moments(name, scale, both))


@pytest.mark.parametrize("noise", [1e-6, 1e-10])
def test_twin_rows_with_little_noise_get_the_mean_of_their_labels(noise):
    belief = GaussianProcess(RBF(1.0, 1.0), noise)
    x, y = np.zeros((2, 1)), np.array([0.9, 1.1])
    mean, _, variance = ours(belief, Data(x, y, x[:1]))
    # Two readings of one number are one reading of their mean, with half the noise. The
    # matrix has condition number 2/noise, which multiplies rounding of 1e-16.
    shrunk = 1.0 / (1.0 + noise / 2)
    assert_allclose(mean, [shrunk], rtol=0, atol=1e-15 / noise)
    assert_allclose(variance, [shrunk * noise / 2], rtol=0, atol=1e-15 / noise)


def test_four_batches_of_fifteen_rows_equal_all_sixty_at_once():
    data = make_data(46, 60, 3)
    belief = GaussianProcess(RBF(scales_of(3), VARIANCE), NOISE)

    @jax.jit
    def one_by_one(x, y):
        posterior = belief
        for start in range(0, 60, 15):
            posterior = posterior.condition(x[start : start + 15], y[start : start + 15])
        return posterior.mean(data.test), posterior.covariance(data.test)

    true = weighted_posterior(
        "paper",
        "rbf",
        data,
        np.ones(60),
        noise=NOISE,
        length_scale=scales_of(3),
        variance=VARIANCE,
    )
    # The condition number is below 60 · 1.7 / 0.05, some 2000.
    assert_same_moments(one_by_one(data.x, data.y), true)


def test_no_rows_change_nothing():
    data = make_data(47, 4, 2)
    test = data.test
    prior = GaussianProcess(RBF(1.0, VARIANCE), NOISE, ConstantMean(1.0))

    @jax.jit
    def with_and_without(x, y):
        posterior = prior.condition(x, y)
        still = posterior.condition(x[:0], y[:0])
        later = prior.condition(x[:0], y[:0]).condition(x, y)
        return [
            (belief.mean(test), belief.variance(test)) for belief in (posterior, still, later)
        ]

    plain, still, later = with_and_without(data.x, data.y)
    assert_same_moments(still, plain, tolerance=1e-14)
    assert_same_moments(later, plain, tolerance=1e-14)


def test_the_variance_never_falls_below_zero():
    x = np.linspace(0.0, 1.0, 30)[:, None]
    belief = GaussianProcess(RBF(1.0, VARIANCE), 1e-15)  # rounding outweighs what is left
    _, _, variance = ours(belief, Data(x, np.sin(x[:, 0]), x))
    assert (variance >= 0.0).all()
    assert (variance < 1e-6).all()


# What is refused, in the words that say why.


@pytest.fixture(scope="module")
def exact():
    return GaussianProcess(RBF(1.0, VARIANCE), 0.0)


@pytest.fixture(scope="module")
def trained_weights():
    """Three rows of three features."""
    return learn(GaussianProcess(RBF(1.0), NOISE), np.eye(3), np.ones(3))


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (-0.1, r"^noise must be at least 0; it is -0\.1\.$"),
        (np.nan, r"^noise is NaN or infinite; "),
        ([0.1, 0.2], r"^noise must have no axes \(one number\); it has shape \(2,\)\.$"),
        ("some", r"^noise must hold numbers only; "),
    ],
)
def test_a_noise_that_is_no_variance_is_refused(noise, message):
    with pytest.raises(InvalidInput, match=message):
        GaussianProcess(RBF(), noise)


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_weighting_is_refused():
    message = r"^weighting must be 'paper' or 'precision'; it is 'linear'\.$"
    with pytest.raises(InvalidInput, match=message):
        GaussianProcess(RBF(), NOISE, weighting="linear")  # pyright: ignore


def test_precision_weighting_without_noise_is_refused_with_two_remedies():
    message = (
        r"^Precision weighting divides the noise by the weight, so it needs noise > 0; "
        r"give noise, or use weighting='paper'\.$"
    )
    with pytest.raises(InvalidInput, match=message):
        GaussianProcess(RBF(), 0.0, weighting="precision")


@pytest.mark.parametrize("method", ["embed", "mean", "variance", "covariance"])
def test_rows_with_other_features_than_the_length_scales_are_refused(method):
    message = (
        r"^x has 3 features but the kernel's length_scale has 2; "
        r"give the same columns to both\.$"
    )
    prior = GaussianProcess(RBF([1.0, 2.0], VARIANCE), NOISE)
    with pytest.raises(InvalidInput, match=message):
        getattr(prior, method)(np.ones((4, 3)))
    with pytest.raises(InvalidInput, match=message):
        prior.condition(np.ones((4, 3)), np.ones(4))


@pytest.mark.parametrize("method", ["embed", "mean", "variance", "covariance"])
def test_rows_with_other_features_than_the_labelled_set_are_refused(method, trained_weights):
    message = (
        r"^x has 2 features but the belief's labelled set has 3; "
        r"give the same columns to both\.$"
    )
    with pytest.raises(InvalidInput, match=message):
        getattr(trained_weights, method)(np.ones((4, 2)))
    with pytest.raises(InvalidInput, match=message):
        trained_weights.condition(np.ones((4, 2)), np.ones(4))


@pytest.mark.parametrize("noise", [0.0, 1e-13 * VARIANCE])
def test_equal_rows_without_noise_are_refused_by_number(noise):
    belief = GaussianProcess(RBF(1.0, VARIANCE), noise)
    x = np.arange(12.0).reshape(6, 2)
    x[[4, 5]] = x[1]
    message = (
        r"^The kernel matrix is singular: labelled rows 1, 4, 5 are equal and the noise is 0; "
        r"give noise > 0, or keep one of them\.$"
    )
    with pytest.raises(NumericalError, match=message):
        belief.condition(x, np.ones(6))


def test_a_row_labelled_before_is_refused_without_noise_and_counted_from_the_first(exact):
    x = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    posterior = learn(exact, x, np.ones(3))
    with pytest.raises(NumericalError, match=r"labelled rows 1, 4 are equal and the noise is"):
        posterior.condition(x + np.array([[0.5], [0.0], [0.2]]), np.ones(3))


@eqx.filter_jit
def mean_of(belief, x):
    return belief.mean(x)


def test_an_absent_row_may_equal_another_without_noise(exact):
    x = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    posterior = exact.condition(x, [0.5, 2.0, 7.0], [1.0, 1.0, 0.0])
    assert_allclose(mean_of(posterior, x), [0.5, 2.0, 2.0], rtol=1e-12)


def test_a_row_that_was_absent_before_may_be_labelled_without_noise(exact):
    x = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    before = learn(exact, x, np.array([0.5, 7.0, 9.0]), np.array([1.0, 0.0, 0.0]))
    posterior = before.condition(x[1:2], [2.0])
    assert_allclose(mean_of(posterior, x)[:2], [0.5, 2.0], rtol=1e-12)


def test_equal_rows_are_named_by_their_own_numbers_when_another_is_absent(exact):
    x = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(NumericalError, match=r"labelled rows 1, 2 are equal"):
        exact.condition(x, [0.5, 2.0, 7.0], [0.0, 1.0, 1.0])


def test_a_near_twin_of_a_row_labelled_before_is_named_without_noise():
    x = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])
    posterior = learn(GaussianProcess(Matern52(1.0), 0.0), x, np.array([0.5, 0.0, 2.0]))
    with pytest.raises(NumericalError, match=r"closest labelled rows 2, 3 lie 1\.4e-09 apart"):
        posterior.condition(x[2:] + 1e-9, [2.0])


@pytest.mark.usefixtures("exact", "in_32_bits")  # in this order: the belief is made in 64
@pytest.mark.parametrize(
    "use",
    [
        lambda _: RBF(1.0),
        lambda exact: GaussianProcess(exact.kernel, 0.1),
        lambda exact: exact.condition(np.ones((1, 2)), np.ones(1)),
        lambda exact: exact.embed(np.ones((1, 2))),
        lambda _: fit_gaussian_process(np.eye(3), np.arange(3.0)),
    ],
    ids=["kernel", "belief", "condition", "embed", "fit"],
)
def test_32_bits_are_refused_wherever_numbers_come_in(use, exact):
    message = r"^JAX was set back to 32 bits after Labelwise was imported; call jax\.config"
    with pytest.raises(NumericalError, match=message):
        use(exact)
