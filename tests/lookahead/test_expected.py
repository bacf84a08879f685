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


@eqx.filter_jit
def variance_after(belief, estimand, x, y):
    return exact_moments(belief.condition(x, y), estimand).variance


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_formula_by_hand(seed):
    belief, estimand, pool_x = random_problem(seed)
    for rows in subsets(6, 3)[::4]:
        assert_allclose(
            expected_variance(belief, estimand, pool_x, rows),
            expected_variance_by_hand(belief, estimand, pool_x, rows),
            rtol=1e-10,
        )


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_mean_over_imagined_labels(seed, getkey):
    belief, estimand, pool_x = random_problem(seed)
    rows = jnp.array([4, 0, 2])
    labels = belief.sample_labels(getkey(), pool_x[rows], IMAGINED)
    after = eqx.filter_jit(
        jax.vmap(lambda y: exact_moments(belief.condition(pool_x[rows], y), estimand).variance)
    )(labels)
    error = 4 * after.std() / np.sqrt(IMAGINED) + 1e-12
    assert abs(after.mean() - expected_variance(belief, estimand, pool_x, rows)) < error


def test_the_whole_objective_of_algorithm_1_by_enumeration():
    """Every batch, every imagined label: the variance after is quadratic in the labels, so
    three Gauss-Hermite nodes a label integrate it exactly; then lookahead must find the least.
    """
    belief, estimand, pool_x = random_problem(0, pool=5)
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    weights = weights / weights.sum()
    objective = {}
    for rows in subsets(5, 2):
        mean = np.asarray(belief.mean(pool_x[rows]))
        labels = np.asarray(belief.covariance(pool_x[rows])) + float(belief.noise) * np.eye(2)
        root = np.linalg.cholesky(labels)
        objective[tuple(rows)] = sum(
            weights[i]
            * weights[j]
            * variance_after(
                belief, estimand, pool_x[rows], jnp.asarray(mean + root @ [nodes[i], nodes[j]])
            )
            for i, j in product(range(3), repeat=2)
        )
    for rows, value in objective.items():
        assert_allclose(
            expected_variance(belief, estimand, pool_x, list(rows)), value, rtol=1e-10
        )
    batch = Lookahead().propose(jax.random.key(0), belief, estimand, Pool(pool_x), 2)
    assert tuple(sorted(np.asarray(batch.indices))) == min(objective, key=objective.__getitem__)


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
