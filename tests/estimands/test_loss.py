"""Errors of a predictor against plain averages over drawn labels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.metrics import r2_score

from labelwise.estimands.named import (
    MeanAbsoluteError,
    MeanError,
    MeanOutcome,
    MeanSquaredError,
    RSquared,
)
from labelwise.likelihoods import BernoulliLikelihood, GaussianLikelihood
from tests.estimands.chances import CHANCE, MASS, SCORE, SIZE, WHERE, X, function_of, weights

DRAWS = 40_000
NOISE = 0.3
F = np.linspace(-1.0, 2.0, SIZE)
RNG = np.random.default_rng(5)
GAUSSIAN = F + np.sqrt(NOISE) * RNG.normal(size=(DRAWS, SIZE))
BINARY = (RNG.uniform(size=(DRAWS, SIZE)) < CHANCE).astype(float)
CASES = {
    "gaussian": (
        jax.device_put(F),
        GaussianLikelihood(jax.device_put(np.float64(NOISE))),
        GAUSSIAN,
    ),
    "logit": (function_of(CHANCE), BernoulliLikelihood(), BINARY),
}
LOSSES = {
    MeanSquaredError: lambda y: (y - SCORE) ** 2,
    MeanAbsoluteError: lambda y: np.abs(y - SCORE),
    MeanError: lambda y: SCORE - y,
    MeanOutcome: lambda y: y,
}
GROUPS = pytest.mark.parametrize(
    ("mass", "where"), [(None, None), (MASS, WHERE)], ids=["even", "weighted group"]
)


def build(kind, mass, where):
    own = () if kind is MeanOutcome else (SCORE,)
    return kind(X, *own, mass=mass, where=where)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", LOSSES, ids=lambda kind: kind.__name__)
@GROUPS
def test_it_is_the_mean_loss_of_drawn_labels(case, kind, mass, where):
    f, labels, drawn = CASES[case]
    w = weights(mass, where)
    losses = LOSSES[kind](drawn) @ (w / w.sum())
    found = float(build(kind, mass, where).value(f, labels))
    assert abs(found - losses.mean()) < 4 * losses.std() / np.sqrt(DRAWS)


@pytest.mark.parametrize("case", CASES)
@GROUPS
def test_r_squared_is_that_of_many_labels_on_the_target(case, mass, where):
    f, labels, drawn = CASES[case]
    w = weights(mass, where)
    score = lambda some: r2_score(
        some.ravel(), np.tile(SCORE, len(some)), sample_weight=np.tile(w, len(some))
    )
    found = float(RSquared(X, SCORE, mass, where).value(f, labels))
    # Twenty shares of the labels tell the standard error of the whole.
    shares = [score(share) for share in np.split(drawn, 20)]
    assert abs(found - score(drawn)) < 4 * np.std(shares, ddof=1) / np.sqrt(20)


def test_r_squared_of_the_truth_is_the_share_that_is_not_noise():
    labels = GaussianLikelihood(jnp.asarray(NOISE))
    found = float(RSquared(X, F).value(jnp.asarray(F), labels))
    assert found == pytest.approx(F.var() / (F.var() + NOISE), rel=1e-12)
    at_mean = float(RSquared(X, F.mean()).value(jnp.asarray(F), labels))
    assert at_mean == pytest.approx(0.0, abs=1e-12)


def test_without_noise_the_absolute_error_is_a_plain_distance():
    labels = GaussianLikelihood(jnp.asarray(0.0))
    found = float(MeanAbsoluteError(X, SCORE).value(jnp.asarray(F), labels))
    assert found == pytest.approx(np.abs(F - SCORE).mean(), rel=1e-12)


@pytest.mark.parametrize("prediction", [-0.5, 0.0, 0.3, 1.0, 1.7])
def test_the_absolute_error_of_binary_labels_holds_outside_the_unit_interval_too(prediction):
    expected = CHANCE * abs(1 - prediction) + (1 - CHANCE) * abs(prediction)
    found = MeanAbsoluteError(X, prediction).value(function_of(CHANCE), BernoulliLikelihood())
    assert float(found) == pytest.approx(expected.mean(), rel=1e-12)


def test_a_predictor_may_be_a_function_its_numbers_or_one_number():
    f, labels, _ = CASES["gaussian"]
    for kind in (MeanSquaredError, MeanAbsoluteError, MeanError, RSquared):
        by_function = kind(X, lambda x: 0.0 * x[:, 0] + 0.4).value(f, labels)
        assert by_function == kind(X, np.full(SIZE, 0.4)).value(f, labels)
        assert by_function == kind(X, 0.4).value(f, labels)
