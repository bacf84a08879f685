"""Variances by learning from imagined labels, against closed forms and learning by hand."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments import exhaustive_refit as relearnt
from experiments.exhaustive_refit import expected_variances, moments_after
from labelwise.estimands.moments import values_of
from labelwise.estimands.named import MeanOutcome
from tests.conformance.cases import NEURAL, rows
from tests.lookahead.problems import expected_variance_by_hand, random_problem

BATCHES = np.array([[0, 1], [4, 2], [3, 5]])
DRAWS, WORLDS = 4000, 300


@cache
def key():
    return jax.random.key(3)


@pytest.fixture
def many_draws(monkeypatch):
    monkeypatch.setattr(relearnt, "DRAWS", DRAWS)


@pytest.mark.usefixtures("many_draws")
def test_of_a_linear_estimand_labels_do_not_matter():
    belief, estimand, pool_x = random_problem(2, target=4)
    labels = jnp.asarray(np.random.default_rng(0).normal(size=(3, 6)))
    found = moments_after(key(), belief, estimand, pool_x, jnp.asarray(BATCHES), labels)
    found = np.asarray(found.variance)
    assert_allclose(found, np.broadcast_to(found[:, :1], (3, 3)), rtol=1e-9)
    exact = [expected_variance_by_hand(belief, estimand, pool_x, rows) for rows in BATCHES]
    # The variance of n draws of a normal is off by √(2/n) of it.
    assert_allclose(found[:, 0], exact, rtol=5 * np.sqrt(2 / DRAWS))


@eqx.filter_jit
def sample_labels(key, belief, x, worlds):
    return belief.sample_labels(key, x, worlds)


@pytest.mark.usefixtures("many_draws")
def test_a_squared_error_is_expected_to_vary_as_the_closed_form_says():
    belief, estimand, pool_x = random_problem(0, target=3)
    found = np.asarray(
        expected_variances(key(), belief, estimand, pool_x, jnp.asarray(BATCHES), WORLDS)
    )
    labels = sample_labels(jax.random.key(4), belief, pool_x, WORLDS)
    each = np.asarray(
        moments_after(key(), belief, estimand, pool_x, jnp.asarray(BATCHES), labels).variance
    )
    exact = [expected_variance_by_hand(belief, estimand, pool_x, rows) for rows in BATCHES]
    error = each.std(axis=1) / np.sqrt(WORLDS)
    print("found:", found, "exact:", exact, "error:", error)
    # Draws of a quadratic have heavier tails than a normal: twice its share is allowed.
    assert (np.abs(found - exact) < 4 * error + 8 * np.sqrt(2 / DRAWS) * np.array(exact)).all()
    assert np.ptp(exact) > 2 * np.abs(found - exact).max()  # it tells batches apart


@eqx.filter_jit
def values_after(belief, estimand, x, y):
    """The estimand's value under each member, after these labels."""
    known = belief.condition(x, y)
    return values_of(estimand, known.panel(estimand.x), known.likelihood)


@eqx.filter_jit
def panel_at(belief, x):
    return belief.panel(x)


def test_a_network_is_conditioned_on_each_batch_and_its_members_compared():
    belief, pool_x = NEURAL["ensemble"], rows(7, 6)
    estimand = MeanOutcome(rows(3, 4), 1.0 + np.arange(4))
    labels = jnp.asarray(np.random.default_rng(1).normal(size=(2, 6)))
    found = moments_after(key(), belief, estimand, pool_x, jnp.asarray(BATCHES[:2]), labels)
    assert found.variance.shape == (2, 2)
    for number, batch in enumerate(BATCHES[:2]):
        for world in range(2):
            x, y = np.asarray(pool_x)[batch], np.asarray(labels)[world, batch]
            values = np.asarray(values_after(belief, estimand, jnp.asarray(x), jnp.asarray(y)))
            at = number, world
            assert_allclose(np.asarray(found.mean)[at], values.mean(), rtol=1e-8)
            assert_allclose(np.asarray(found.variance)[at], values.var(ddof=1), rtol=1e-8)


def test_each_member_of_an_ensemble_imagines_one_world(monkeypatch):
    """With fewer members than worlds, each does once."""
    seen = []
    monkeypatch.setattr(
        relearnt,
        "moments_after",
        lambda key, belief, estimand, pool_x, batches, labels: (
            seen.append(labels) or relearnt.Moments(jnp.zeros((2, 3)), jnp.ones((2, 3)))
        ),
    )
    belief, pool_x = NEURAL["ensemble"], rows(7, 6)
    expected_variances(
        key(), belief, MeanOutcome(rows(3, 4)), pool_x, jnp.asarray(BATCHES[:2]), 50
    )
    members = np.asarray(panel_at(belief, pool_x))
    imagined = np.asarray(seen[0])
    assert imagined.shape == (3, 6)
    assert np.abs(imagined - members).max() < 5 * np.sqrt(0.1)  # the noise around each
    assert np.abs(imagined - members).min() > 0.0
