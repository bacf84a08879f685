"""The exact one-step objective, against formulas by hand, enumeration and Monte Carlo."""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.errors import InvalidInput
from labelwise.estimands.moments import exact_moments
from labelwise.lookahead.expected import expected_variance
from labelwise.policies.lookahead import Lookahead
from labelwise.types import Pool
from tests.lookahead.problems import expected_variance_by_hand, random_problem, subsets

IMAGINED = 4000


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_formula_by_hand(seed):
    belief, estimand, pool_x = random_problem(seed)
    for rows in subsets(6, 3)[::4]:
        assert_allclose(
            expected_variance(belief, estimand, pool_x, rows),
            expected_variance_by_hand(belief, estimand, pool_x, rows),
            rtol=1e-10,
        )


@eqx.filter_jit
def imagined_variances(key, belief, estimand, x):
    labels = belief.sample_labels(key, x, IMAGINED)
    return jax.vmap(lambda y: exact_moments(belief.condition(x, y), estimand).variance)(labels)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_mean_over_imagined_labels(seed, getkey):
    belief, estimand, pool_x = random_problem(seed)
    rows = np.array([4, 0, 2])
    x = np.asarray(pool_x)[rows]
    after = np.asarray(imagined_variances(getkey(), belief, estimand, jnp.asarray(x)))
    error = 4 * after.std() / np.sqrt(IMAGINED) + 1e-12
    exact = float(expected_variance(belief, estimand, pool_x, rows))
    assert abs(after.mean() - exact) < error


@eqx.filter_jit
def variances_after(belief, estimand, x, nodes):
    """One a node: labels lie so many standard deviations off, each after those before it."""
    noise = belief.noise * jnp.eye(x.shape[0])
    labels = belief.mean(x)[None] + nodes @ jnp.linalg.cholesky(belief.covariance(x) + noise).T
    return jax.vmap(lambda y: exact_moments(belief.condition(x, y), estimand).variance)(labels)


def test_the_whole_objective_of_algorithm_1_by_enumeration():
    """Every batch, every imagined label: the variance after is quadratic in the labels, so
    three Gauss-Hermite nodes a label integrate it exactly; then lookahead must find the least.
    """
    belief, estimand, pool_x = random_problem(0)
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    weights = np.outer(weights, weights).ravel() / weights.sum() ** 2
    nodes = jnp.asarray(list(product(nodes, repeat=2)))
    objective = {}
    for rows in subsets(6, 2).tolist():
        x = jnp.asarray(np.asarray(pool_x)[rows])
        after = np.asarray(variances_after(belief, estimand, x, nodes))
        objective[tuple(rows)] = weights @ after
        found = expected_variance(belief, estimand, pool_x, rows)
        assert_allclose(found, weights @ after, rtol=1e-10)
    batch = Lookahead().propose(jax.random.key(0), belief, estimand, Pool(pool_x), 2)
    best = min(objective, key=objective.__getitem__)
    assert tuple(sorted(np.asarray(batch.indices).tolist())) == best


def test_an_empty_batch_leaves_the_variance_as_it_is():
    belief, estimand, pool_x = random_problem(1)
    assert_allclose(
        expected_variance(belief, estimand, pool_x, []),
        exact_moments(belief, estimand).variance,
        rtol=1e-12,
    )


def test_a_row_outside_the_pool_is_refused():
    belief, estimand, pool_x = random_problem(1)
    with pytest.raises(InvalidInput, match=r"rows of pool x .* they range from 2 to 6"):
        expected_variance(belief, estimand, pool_x, [2, 6])
