"""A user's own metric: what its function says, however labels are averaged over."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from numpy.testing import assert_allclose

import labelwise as lw
from labelwise.estimands.catalogue import ESTIMANDS, find_metric
from labelwise.estimands.forms import build_estimand
from labelwise.estimands.own import check_own, path_of
from labelwise.estimands.quadrature import normal_labels
from labelwise.likelihoods import BernoulliLikelihood, GaussianLikelihood
from tests.estimands import own_metrics
from tests.estimands.chances import CHANCE, MASS, SCORE, SIZE, X, function_of

HOME = "tests.estimands.own_metrics"
own = lambda name: find_metric(f"{HOME}:{name}")
F = np.linspace(-1.0, 2.0, SIZE)


def test_it_says_of_itself_what_its_function_says():
    metric = own("pinball")
    assert (metric.name, metric.title, metric.better) == (
        "pinball",
        "Pinball loss at 0.9",
        "lower",
    )
    assert metric.range == (0.0, None)
    assert metric.is_loss
    assert own("squared").title == own("squared").name == "squared"
    assert own("squared").better is None
    assert own("declared").title == "squared, declared"
    assert own("pinball") is metric  # else all would be compiled anew


def test_a_function_is_kept_by_its_path():
    assert path_of(own_metrics.pinball) == f"{HOME}:pinball"


def test_given_normal_labels_it_is_integrated_piece_by_piece():
    noise = 0.3
    found = build_estimand(own("pinball"), X, SCORE, None, MASS).value(
        jnp.asarray(F), GaussianLikelihood(jnp.asarray(noise))
    )

    def expected(f, score):
        density = scipy.stats.norm(f, np.sqrt(noise)).pdf
        part = lambda a, b: scipy.integrate.quad(
            lambda y: max(0.9 * (y - score), -0.1 * (y - score)) * density(y), a, b
        )[0]
        return part(f - 6.0, score) + part(score, f + 6.0)

    truth = [expected(f, score) for f, score in zip(F, SCORE, strict=True)]
    assert float(found) == pytest.approx(np.average(truth, weights=MASS), rel=1e-7)


@pytest.mark.parametrize("place", [-9.0, 0.3, 9.0])
def test_what_quadrature_leaves_is_what_the_documents_say(place):
    """Wherever the break is: of smooth functions little, of corners and steps more."""
    at = np.linspace(-3.0, 3.0, 200)
    mean, spread = jnp.zeros(200), jnp.ones(200)
    y, chance = map(np.asarray, normal_labels(mean, spread, [jnp.full(200, place)]))
    law, away = scipy.stats.norm, y - at[:, None]
    average = lambda values: (values * chance).sum(axis=1)
    folded = at * (2.0 * law.cdf(at) - 1.0) + 2.0 * law.pdf(at)
    assert_allclose(average(np.exp(y)), np.exp(0.5), rtol=1e-7)
    assert_allclose(average(y**2), 1.0, rtol=1e-7)
    assert np.abs(average(np.abs(away)) - folded).max() < 0.01
    assert np.abs(average(away > 0.0) - law.sf(at)).max() < 0.06


def test_given_binary_labels_it_is_exact():
    found = build_estimand(own("pinball"), X, SCORE, None, MASS).value(
        function_of(CHANCE), BernoulliLikelihood()
    )
    truth = CHANCE * 0.9 * (1.0 - SCORE) + (1.0 - CHANCE) * 0.1 * SCORE
    assert float(found) == pytest.approx(np.average(truth, weights=MASS), rel=1e-12)


@pytest.mark.parametrize("name", ["squared", "declared"])
def test_a_squared_error_of_ones_own_is_the_catalogues(name):
    f, likelihood = jnp.asarray(F), GaussianLikelihood(jnp.asarray(0.3))
    of = lambda metric: build_estimand(metric, X, SCORE, None, MASS)
    mine, theirs = of(own(name)), of(ESTIMANDS["mse"])
    assert type(mine) is type(theirs) or name == "squared"
    tolerance = 1e-12 if name == "declared" else 1e-7
    assert_allclose(mine.value(f, likelihood), theirs.value(f, likelihood), rtol=tolerance)


def test_it_may_lie_in_the_present_folder(tmp_path, monkeypatch):
    (tmp_path / "metrics_of_mine.py").write_text(
        "def gap(y, prediction):\n    return y - prediction\n"
    )
    monkeypatch.chdir(tmp_path)
    metric = find_metric("metrics_of_mine:gap")
    assert metric.stack(np.array([3.0]), np.array([1.0])).tolist() == [[2.0]]


def test_functions_of_numpy_are_called_on_the_host():
    check_own(own("numpys"), np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    form = build_estimand(own("numpys"), X, SCORE, None, MASS)
    truth = CHANCE * np.maximum(1.0, SCORE) + (1.0 - CHANCE) * np.maximum(0.0, SCORE)
    found = form.value(function_of(CHANCE), BernoulliLikelihood())
    assert float(found) == pytest.approx(np.average(truth, weights=MASS), rel=1e-12)


BAD = {
    "a lambda": lambda: path_of(lambda y, prediction: y),
    "a module that is not there": lambda: find_metric("no_such_module:pinball"),
    "a function that is not there": lambda: find_metric(f"{HOME}:nothing"),
    "no function": lambda: find_metric(f"{HOME}:number"),
}
Y, PREDICTION = np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.5, 0.1])
WRONG = {
    "one number for all rows": (
        f"{HOME}:total",
        lambda: check_own(own("total"), Y, PREDICTION),
    ),
    "no number": ("estimand", lambda: check_own(own("inverse"), Y, PREDICTION)),
    "an unknown direction": ("better", lambda: lw.estimands.metric(better="up")),  # type: ignore
    "a degree of three": ("degree", lambda: lw.estimands.metric(degree=3)),
    "a range of one": ("range", lambda: lw.estimands.metric(range=0.0)),  # type: ignore
}


@pytest.mark.parametrize("name", [*BAD, *WRONG])
def test_what_cannot_be_used_is_refused(name, refused):
    where, action = ("estimand", BAD[name]) if name in BAD else WRONG[name]
    with refused(where=where):
        action()
