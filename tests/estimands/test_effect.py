"""Treatment effects against plain differences of the function between the two arms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.errors import InvalidInput
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.estimands.moments import exact_moments
from labelwise.likelihoods import BernoulliLikelihood, GaussianLikelihood

RNG = np.random.default_rng(2)
X = RNG.normal(size=(7, 3))
X[:, 1] = [0, 1, 1, 0, 1, 0, 0]
MASS = RNG.uniform(0.5, 2.0, 7)
TREATED = X[:, 1] == 1


def outcome(x):
    """Some function of the features whose effect differs between rows."""
    return np.sin(x[:, 0]) + x[:, 1] * (1.0 + x[:, 2])


def effects(mean=lambda f: f):
    arm = lambda treatment: np.column_stack([X[:, 0], np.full(7, treatment), X[:, 2]])
    return np.asarray(mean(outcome(arm(1.0)))) - np.asarray(mean(outcome(arm(0.0))))


CASES = {
    "average": ({}, np.ones(7)),
    "weighted": ({"mass": MASS}, MASS),
    "on the treated": ({"where": TREATED}, TREATED.astype(float)),
    "in a subgroup": ({"mass": MASS, "where": X[:, 0] > 0}, MASS * (X[:, 0] > 0)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("column", [1, -2])
def test_it_is_the_mean_difference_between_the_arms(name, column):
    options, w = CASES[name]
    estimand = AverageTreatmentEffect(X, column, **options)
    f = jnp.asarray(outcome(np.asarray(estimand.x)))
    found = float(estimand.value(f, GaussianLikelihood(jnp.asarray(0.5))))
    assert found == pytest.approx(np.average(effects(), weights=w), rel=1e-12)


def test_on_binary_labels_it_is_a_difference_of_chances():
    estimand, labels = AverageTreatmentEffect(X, 1), BernoulliLikelihood("probit")
    f = jnp.asarray(outcome(np.asarray(estimand.x)))
    expected = effects(jax.scipy.stats.norm.cdf).mean()
    assert float(estimand.value(f, labels)) == pytest.approx(expected, rel=1e-12)


def test_how_the_target_was_treated_does_not_matter():
    other = X.copy()
    other[:, 1] = 1 - other[:, 1]
    one, two = AverageTreatmentEffect(X, 1), AverageTreatmentEffect(other, 1)
    assert (one.x == two.x).all()


def test_without_labels_the_effect_is_unknown_by_the_kernel_between_the_arms():
    """One unit: Var[f(x, 1) - f(x, 0)] = 2 v (1 - correlation)."""
    belief = GaussianProcess(RBF(0.8, 1.5), 0.1)
    found = exact_moments(belief, AverageTreatmentEffect(X[:1], 1)).variance
    assert float(found) == pytest.approx(3.0 * (1 - np.exp(-0.5 / 0.64)), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AverageTreatmentEffect(X, 3), "in column 3, but the rows have 3 features"),
        (lambda: AverageTreatmentEffect(X, -4), "treatment column must be at least -3; it is"),
        (lambda: AverageTreatmentEffect(X, 1.0), "treatment column must be a whole number"),
        (lambda: AverageTreatmentEffect(X[:0], 1), "The target is empty"),
        (lambda: AverageTreatmentEffect(X, 1, where=np.zeros(7)), "where holds for no target"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
