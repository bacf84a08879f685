"""The prior that a corpus teaches: found again where it is known, and scored by hand."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

from experiments import prior
from experiments.prior_evidence import MOST_FEATURES, NAMES, WIDE, draws_of, evidence_of
from experiments.prior_tasks import Task

DRAWS = 400


def made_up(kind, rows=12, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    y = x[:, 2] + 0.5 * rng.normal(size=rows)
    y = (y > 0).astype(float) if kind == "class" else y
    return Task("made up", "study", "good", seed, x, y, x.std(axis=0), 0.2)


def test_the_evidence_of_numbers_is_that_of_their_normal_law():
    task = made_up("number")
    draws, logs = evidence_of(task, "number")
    factors = draws_of(task, "number")[1]
    offset, slope, variance, scale, noise = draws[5]
    unit, own = task.y.std(), factors[5][-3:]
    length = task.spread * np.sqrt(3.0) * np.exp(scale + own)
    r = np.sqrt(5.0 * (((task.x[:, None] - task.x[None]) / length) ** 2).sum(axis=2))
    matrix = unit**2 * np.exp(variance) * (1 + r + r**2 / 3) * np.exp(-r)
    matrix += unit**2 * np.exp(noise) * np.eye(len(task.y))
    mean = 0.2 + unit * offset + slope * (task.x[:, 2] - 0.2)
    expected = scipy.stats.multivariate_normal(mean, matrix).logpdf(task.y)
    assert_allclose(logs[5], expected, rtol=1e-8)
    assert factors.shape[1] == MOST_FEATURES + 1


def test_the_evidence_under_a_prior_is_the_weighed_mean_over_draws():
    rng = np.random.default_rng(1)
    centre, spread = WIDE["number"]
    draws = centre + spread * rng.normal(size=(2, DRAWS, len(NAMES)))
    logs = rng.normal(size=(2, DRAWS))
    law = np.concatenate([centre + 0.1, np.log(0.7 * spread), [0.0]])
    found = prior._scores("number", law, draws, logs)
    weight = scipy.stats.norm.logpdf(draws, centre + 0.1, 0.7 * spread).sum(axis=2)
    weight -= scipy.stats.norm.logpdf(draws, centre, spread).sum(axis=2)
    expected = scipy.special.logsumexp(weight + logs, axis=1) - np.log(DRAWS)
    assert_allclose(found, expected, rtol=1e-9)


def test_a_prior_is_found_again():
    """Tasks whose labels tell, with noise, of hyper-parameters drawn from a known law."""
    rng = np.random.default_rng(2)
    centre, spread = WIDE["class"]
    tasks, size = 300, len(NAMES) - 1
    truth = centre[:size] + 0.5 * spread[:size] * rng.normal(size=(tasks, size))
    draws = centre + spread * rng.normal(size=(tasks, 4 * DRAWS, len(NAMES)))
    width = 0.4 * spread[:size]
    seen = truth + width * rng.normal(size=truth.shape)  # what labels tell of each
    logs = -0.5 * np.sum(((draws[:, :, :size] - seen[:, None]) / width) ** 2, axis=2)
    (found,) = prior._described("class", prior._fit("class", draws, logs, 1), 1)
    for place, name in enumerate(NAMES[:size]):
        middle, wide = found[name]
        # Four standard errors of a mean of what is seen; of the spread, in a few hundred tasks.
        off = 4.0 * np.hypot(0.5, 0.4) * spread[place] / np.sqrt(tasks)
        assert abs(middle - centre[place]) < off
        assert wide == pytest.approx(0.5 * spread[place], rel=0.35)
    assert found["share"] == pytest.approx(1.0)


def test_shares_of_kinds_sum_to_one():
    law = jnp.asarray(np.zeros(2 * 2 * 4 + 2))
    kinds = prior._described("class", np.asarray(law), 2)
    assert sum(kind["share"] for kind in kinds) == pytest.approx(1.0)
    assert set(kinds[0]) == {"share", *NAMES[:4]}
