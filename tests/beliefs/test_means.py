"""Prior means: what they give at each row, and what they refuse."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.beliefs.means import ConstantMean, PredictorMean, ZeroMean
from labelwise.errors import InvalidInput

X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, -5.0]])
compiled = eqx.filter_jit(lambda mean, x: mean(x))


@pytest.mark.parametrize(
    ("mean", "values"),
    [
        (ZeroMean, [0.0, 0.0, 0.0]),
        (lambda: ConstantMean(-2.5), [-2.5, -2.5, -2.5]),
        (lambda: PredictorMean(1), [10.0, 20.0, -5.0]),
        (lambda: PredictorMean(0, intercept=0.5, slope=2.0), [2.5, 4.5, 6.5]),
        (lambda: PredictorMean(-1, intercept=1.0, slope=-1.0), [-9.0, -19.0, 6.0]),
    ],
    ids=["zero", "constant", "predictor", "line", "line-last"],
)
def test_a_mean_gives_its_formula_at_each_row(mean, values):
    np.testing.assert_allclose(mean()(jnp.asarray(X)), values, rtol=1e-15)
    np.testing.assert_allclose(compiled(mean(), X), values, rtol=1e-15)
    assert jax.eval_shape(mean(), X[:0]).shape == (0,)


def test_a_predictor_mean_is_linear_in_its_coefficients():
    of = lambda a, b: PredictorMean(1, a, b)(jnp.asarray(X))
    slope = jax.jit(jax.jacfwd(of, argnums=(0, 1)))(0.3, 0.7)
    np.testing.assert_allclose(slope[0], np.ones(3), rtol=1e-15)
    np.testing.assert_allclose(slope[1], X[:, 1], rtol=1e-15)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda value: ConstantMean(value), "mean level"),
        (lambda value: PredictorMean(0, intercept=value), "mean intercept"),
        (lambda value: PredictorMean(0, slope=value), "mean slope"),
    ],
)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "is NaN or infinite; "),
        (np.inf, "is NaN or infinite; "),
        ("high", "must hold numbers only; "),
        ([1.0, 2.0], r"must have no axes \(one number\); it has shape \(2,\)\."),
    ],
)
def test_a_coefficient_that_is_no_finite_number_is_refused(make, name, value, message):
    with pytest.raises(InvalidInput, match=f"{name} {message}"):
        make(value)
