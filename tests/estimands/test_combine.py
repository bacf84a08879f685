"""Several estimands: their values side by side, and the one number a plan makes small."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.errors import InvalidInput
from labelwise.estimands.combine import Several, parts_of, scalarisation_of
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.estimands.moments import exact_moments, moments_of
from labelwise.estimands.named import Accuracy, MeanOutcome, MeanSquaredError, Recall
from labelwise.likelihoods import BernoulliLikelihood
from tests.estimands.chances import CHANCE, SCORE, WHERE, X, function_of

VARIANCES = np.array([4.0, 0.25, 1.0])


@cache
def parts():
    return [Accuracy(X, SCORE), Recall(X, SCORE), MeanOutcome(X, where=WHERE)]


def test_its_value_lists_those_of_its_parts():
    f, labels = function_of(CHANCE), BernoulliLikelihood()
    found = Several(parts()).value(f, labels)
    assert_allclose(found, [part.value(f, labels) for part in parts()], rtol=1e-15)
    assert parts_of(Several(parts())) == tuple(parts())


def test_its_mass_is_the_mean_of_the_parts():
    both = Several([MeanOutcome(X, where=WHERE), MeanOutcome(X, where=~WHERE)])
    expected = np.where(WHERE, 0.5 / WHERE.sum(), 0.5 / (~WHERE).sum())
    assert_allclose(both.mass, expected, rtol=1e-12)


def test_the_sum_adds_what_share_of_each_variance_is_left():
    aim = scalarisation_of(Several(parts(), weights=[1.0, 2.0, 3.0]), jnp.asarray(VARIANCES))
    assert float(aim.total(jnp.asarray(VARIANCES))) == pytest.approx(6.0)
    left = jnp.array([2.0, 0.05, 0.9])
    assert float(aim.total(left)) == pytest.approx(1 * 0.5 + 2 * 0.2 + 3 * 0.9)


def test_the_worst_is_the_part_with_most_left():
    aim = scalarisation_of(Several(parts(), combine="worst"), jnp.asarray(VARIANCES))
    left = jnp.array([[2.0, 1.0], [0.05, 0.2], [0.3, 0.3]])
    shares = np.array([[0.5, 0.25], [0.2, 0.8], [0.3, 0.3]])
    # A hundredth of the mean is added to tell ties apart.
    assert_allclose(aim.total(left), shares.max(axis=0) + 0.01 * shares.mean(axis=0))


def test_a_part_that_is_certain_does_not_decide():
    aim = scalarisation_of(Several(parts()), jnp.array([4.0, 0.0, 1.0]))
    assert float(aim.total(jnp.array([1.0, 0.0, 0.5]))) == pytest.approx(0.75)


def test_of_one_estimand_the_aim_is_its_variance():
    assert float(scalarisation_of(parts()[1], jnp.array([7.0])).total(jnp.array([3.0]))) == 3.0


def test_its_moments_are_those_of_its_parts():
    belief = GaussianProcess(RBF(0.8, 1.5), 0.1).condition(X[:3], CHANCE[:3])
    several = Several([MeanSquaredError(X, SCORE), MeanOutcome(X, where=WHERE)])
    found = moments_of(jax.random.key(0), belief, several, 10)
    alone = [exact_moments(belief, part) for part in several.parts]
    assert_allclose(found.mean, [one.mean for one in alone], rtol=1e-12)
    assert_allclose(found.variance, [one.variance for one in alone], rtol=1e-12)


def test_it_can_be_made_inside_a_compiled_function():
    made = jax.jit(lambda x: Several([MeanOutcome(x), Recall(x, SCORE)]).mass)(jnp.asarray(X))
    assert_allclose(made, np.full(12, 1 / 12), rtol=1e-12)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Several([]), "Several estimands need at least one part"),
        (lambda: Several([parts()[0], 3.0]), "part must be a"),
        (
            lambda: Several([parts()[0], MeanOutcome(X[:5])]),
            "Estimands that are planned jointly must be on the same target rows",
        ),
        (
            lambda: Several([parts()[0], AverageTreatmentEffect(X, 1)]),
            "Estimands that are planned jointly must be on the same target rows",
        ),
        (lambda: Several([Several(parts()), parts()[0]]), "one by one"),
        (
            lambda: Several(parts(), combine="mean"),  # pyright: ignore
            "combine must be 'sum' or 'worst'; it is 'me",
        ),
        (lambda: Several(parts(), weights=[1.0, 2.0]), "weights has 2 values but the list of"),
        (lambda: Several(parts(), weights=[1.0, -2.0, 1.0]), "weights must not be negative"),
        (lambda: Several(parts(), weights=[0, 0, 0]), "and some must be positive"),
        (
            lambda: Several(parts(), weights=[1, np.nan, 0]),
            "weights is NaN or infinite in row 1",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
