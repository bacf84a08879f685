"""Fitting classifiers: the evidence's gradient, the objective, and what few labels allow."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessClassifier as SklearnClassifier
from sklearn.gaussian_process import kernels as sklearn_kernels

from labelwise.beliefs.classifier import GaussianProcessClassifier, log_evidence
from labelwise.beliefs.fit import fit_gaussian_process_classifier
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.means import ConstantMean, PredictorMean, ZeroMean
from labelwise.errors import InvalidInput
from tests.marks import but_slow

RNG = np.random.default_rng(100)
X = RNG.normal(size=(20, 2))
Y = (np.sin(2 * X[:, 0]) + 0.7 * RNG.normal(size=20) > 0.0).astype(float)


def fit(x=X, y=Y, **options):
    return fit_gaussian_process_classifier(x, y, kernel="rbf", **options)


def objective(x, y, length_scale, variance) -> float:
    """Evidence times prior for a zero mean and the logit, the evidence from scikit-learn."""
    kernel = sklearn_kernels.ConstantKernel(variance) * sklearn_kernels.RBF(length_scale)
    theirs = SklearnClassifier(kernel, optimizer=None).fit(x, y)
    away = [*np.log(length_scale / (x.std(axis=0) * np.sqrt(2))), np.log(variance / 2.0)]
    return theirs.log_marginal_likelihood_value_ - 0.5 * np.square(away).sum()


@eqx.filter_jit
def chances(belief, y):
    """After the labels."""
    return belief.condition(X, y).outcome(X)[0]


@pytest.mark.parametrize("link", but_slow(["logit", "probit"], {"probit"}))
def test_gradients_of_the_evidence_agree_with_finite_differences(link):
    x = np.concatenate([X[:8], X[7:8], X[7:8]])  # as padding repeats them
    y, mask = Y[:10], np.arange(10) < 8

    @jax.jit
    def values_and_slopes(positions):
        def value(position):
            kernel = RBF(jnp.exp(position[:2]), jnp.exp(position[2]))
            belief = GaussianProcessClassifier(kernel, ConstantMean(position[3]), link)
            return log_evidence(belief, *map(jnp.asarray, (x, y, mask)))

        return jax.lax.map(jax.value_and_grad(value), positions)

    step, middle = 1e-4, np.array([-0.2, 0.3, 1.4, 0.5])
    steps = step * np.concatenate([np.eye(4), -np.eye(4), np.zeros((1, 4))])
    values, slopes = map(np.asarray, values_and_slopes(middle[None, :] + steps))
    assert_allclose(slopes[8], (values[:4] - values[4:8]) / (2 * step), rtol=1e-5, atol=1e-7)


def test_the_objective_reached_is_evidence_times_prior_and_a_maximum():
    found = fit(mean="zero")
    assert isinstance(found.prior.prior_mean, ZeroMean)
    scale = np.asarray(found.prior.kernel.length_scale)
    variance = float(found.prior.kernel.variance)
    best = objective(X, Y, scale, variance)
    assert_allclose(found.starts[0], best, rtol=1e-9)
    assert found.starts[0] > objective(X, Y, X.std(axis=0) * np.sqrt(2), 2.0)
    for factor in (0.9, 1.1):
        first, second = np.array([factor, 1.0]), np.array([1.0, factor])
        assert objective(X, Y, scale * first, variance) < best
        assert objective(X, Y, scale * second, variance) < best
        assert objective(X, Y, scale, variance * factor) < best


@pytest.mark.slow
def test_160_labels_of_a_known_process_give_its_scales_back():
    rng = np.random.default_rng(101)
    x = rng.normal(size=(160, 2))
    truth = GaussianProcessClassifier(RBF([0.7, 3.0], 6.0), ConstantMean(-0.5))
    draw = eqx.filter_jit(truth.sample_labels)
    y = np.asarray(draw(jax.random.key(104), jnp.asarray(x), 1))[0]
    found = fit(x, y, starts=2)
    scale = np.asarray(found.prior.kernel.length_scale)
    # A label of 0 or 1 tells little: factors of two, and the variance drawn to its median of 2.
    assert found.at_bound == ()
    assert scale[1] > 1.5 * scale[0]
    assert_allclose(np.log(scale), np.log([0.7, 3.0]), rtol=0, atol=0.8)
    assert_allclose(np.log(found.prior.kernel.variance), np.log(6.0), rtol=0, atol=1.5)


def test_twenty_coin_tosses_give_a_sensible_fit():
    found = fit(y=np.random.default_rng(103).integers(2, size=20).astype(float))
    scale = np.asarray(found.prior.kernel.length_scale)
    variance = float(found.prior.kernel.variance)
    # Weak priors of spread 1 in log units: three of them away would be a runaway.
    assert np.abs(np.log(scale / (X.std(axis=0) * np.sqrt(2)))).max() < 3.0
    assert abs(np.log(variance / 2.0)) < 3.0
    assert found.at_bound == ()
    assert list(found.starts) == sorted(found.starts, reverse=True)


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class_alone_makes_the_other_rare_and_not_impossible(label):
    y = np.full(20, label)
    found = fit(y=y)
    assert found.at_bound == ()
    assert isinstance(found.prior.prior_mean, ConstantMean)
    assert 2.0 < abs(float(found.prior.prior_mean.level)) < 6.0
    chance = np.asarray(chances(found.prior, y))
    # The rule of succession says 1 in 22; the labels are counted in the prior and again.
    assert (np.abs(chance - label) < 0.06).all()
    assert (np.abs(chance - label) > 0.005).all()


@pytest.mark.slow
def test_both_links_tell_of_the_same_chances():
    one, other = (chances(fit(link=link).prior, Y) for link in ("logit", "probit"))
    # The curves differ in their tails, and so do Laplace's errors.
    assert_allclose(one, other, rtol=0, atol=0.08)


def test_swapped_classes_swap_the_fit():
    one, other = fit(), fit(y=1.0 - Y)
    assert_allclose(one.prior.kernel.length_scale, other.prior.kernel.length_scale, rtol=1e-3)
    level, mirrored = (float(found.prior.prior_mean.level) for found in (one, other))
    assert_allclose(level, -mirrored, atol=1e-3)
    assert_allclose(one.starts[0], other.starts[0], rtol=1e-8)


@pytest.mark.slow
def test_a_mean_linear_in_the_predictor_rises_with_it():
    found = fit(y=(X[:, 1] > 0.2).astype(float), mean="predictor", predictor_column=1)
    mean = found.prior.prior_mean
    assert isinstance(mean, PredictorMean)
    assert float(mean.slope) > 0.5


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (Y * 2, {}, r"^y must hold 0 or 1; rows [0-9, ]+and \d+ more hold 2\.$"),
        (Y, {"link": "log"}, r"^link must be 'logit' or 'probit'; it is 'log'\.$"),
        (Y, {"mean": "linear"}, r"^mean must be zero, constant or predictor; it is 'linear'"),
        (Y, {"mean": "predictor"}, r"^A mean linear in the predictor needs predictor_column"),
        (Y, {"spread": [1.0, -1.0]}, r"^spread must hold standard deviations"),
        (Y, {"starts": 0}, r"^starts must be at least 1; it is 0\.$"),
    ],
)
def test_bad_labels_and_choices_are_refused(y, options, message):
    with pytest.raises(InvalidInput, match=message):
        fit(y=y, **options)
