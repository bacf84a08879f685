"""Imagined pools: against closed forms, and surprises against leaving each label out."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.errors import NumericalError
from labelwise.evaluation import imagined
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.imagined import DRAWS, _in_parts, _pick, imagine_pool, surprises
from labelwise.evaluation.spec import Sampling, Tables
from labelwise.tables.columns import Columns

SIZE = 30
BELIEF = GaussianProcess(RBF(1.0, 1.0), 0.1)


def table(seed, size, prefix):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size)
    y = np.sin(2.0 * x) + 0.3 * rng.normal(size=size)
    ids = [f"{prefix}{index}" for index in range(size)]
    return pd.DataFrame({"id": ids, "x": x, "guess": 0.5 * x, "y": y})


FIRST, POOL = table(0, 8, "l"), table(1, SIZE, "p")


def start(question="mean", belief=BELIEF, first=FIRST, pool=POOL, **options):
    columns = Columns("id", "y", prediction="guess")
    tables = Tables(first, pool.drop(columns="y"))
    return Evaluation.of(tables, columns, question, belief=belief, **options)


def told(evaluation, count, pool=POOL):
    round_ = evaluation.ask(count)
    return evaluation.tell(round_, {row: float(pool["y"][row]) for row in round_.rows})


def test_surprises_are_those_of_leaving_each_label_out():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(7, 1)), rng.normal(size=7)
    # Labels that do not count are there as padding: they must not show.
    weight = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    found = surprises(BELIEF.condition(x, y, weight))
    expected = []
    for out in np.flatnonzero(weight):
        others = np.flatnonzero(weight * (np.arange(7) != out))
        left = BELIEF.condition(x[others], y[others])
        spread = np.sqrt(float(left.variance(x[[out]])[0]) + 0.1)
        expected.append((y[out] - float(left.mean(x[[out]])[0])) / spread)
    assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("evenly", [False, True])
def test_noise_is_drawn_by_its_weights(evenly):
    rng = np.random.default_rng(0)
    atoms = np.array([[-1.0, 0.0, 4.0], [2.0, 2.0, 5.0]])
    weight = np.array([[0.5, 0.25, 0.25], [0.0, 0.9, 0.1]])
    parts = 40_000 if evenly else 1000
    table = _in_parts(rng, atoms, weight, parts)
    found = np.concatenate(_pick(rng, table, (2, 2, 20_000), evenly), axis=1)
    for line in range(2):
        for value in np.unique(atoms[line]):
            share = weight[line][atoms[line] == value].sum()
            off = abs((found[line] == value).mean() - share)
            # Evenly, at most one part is on the wrong side of either end; else chance adds.
            chance = 5.0 * np.sqrt(share * (1 - share) / 40_000)
            assert off <= 2.0 / parts + (0.0 if evenly else chance)


def test_a_law_in_parts_is_right_on_average():
    """No whole number of parts: of 10 parts, weights of 0.35 and 0.65 have 3.5 and 6.5."""
    rng, lines = np.random.default_rng(1), 10_000
    atoms, weight = np.tile([0.0, 1.0], (lines, 1)), np.tile([0.35, 0.65], (lines, 1))
    ones = _in_parts(rng, atoms, weight, 10).sum(axis=1)
    assert set(np.unique(ones)) == {6.0, 7.0}
    assert abs(ones.mean() - 6.5) < 5.0 * 0.5 / np.sqrt(lines)


@pytest.mark.parametrize("evenly", [False, True])
def test_rows_have_their_noise_by_chance(evenly):
    """Over draws no row has more of it than another; evenly, in each draw every part once."""
    rng, draws, rows = np.random.default_rng(2), 20_000, 8
    table = np.broadcast_to(np.arange(8.0), (draws, 8))
    found = _pick(rng, table, (1, draws, rows), evenly)[0]
    spread = np.arange(8.0).std()
    assert np.abs(found.mean(axis=0) - 3.5).max() < 5.0 * spread / np.sqrt(draws)
    each_once = [len(np.unique(line)) == 8 for line in found[:100]]
    assert all(each_once) if evenly else not all(each_once)


def test_the_mean_outcome_of_imagined_pools_is_that_of_the_belief():
    """Without labels of the pool: a linear function of a Gaussian, noise of no mean."""
    evaluation = start()
    found = evaluation.estimate().credible
    posterior = evaluation.posterior
    x = jnp.asarray(posterior.arrays.pool)
    mean = float(np.mean(posterior.belief.mean(x)))
    variance = float(np.mean(posterior.belief.covariance(x))) + 0.1 / SIZE
    values = np.asarray(found.quantiles)
    # Six standard errors of a median of the draws; noise is not Gaussian, so the spread is off.
    off = 6.0 * 1.2533 * np.sqrt(variance / DRAWS)
    assert abs(found.value - mean) < off
    assert found.std == pytest.approx(np.sqrt(variance), rel=0.15)
    assert list(values) == sorted(values)


def test_with_every_label_known_the_answer_is_the_number_itself():
    evaluation = told(start("mse"), SIZE)
    found = evaluation.estimate()
    truth = float(((POOL["y"] - POOL["guess"]) ** 2).mean())
    assert found.credible.interval() == pytest.approx((truth, truth), rel=1e-9)
    assert found.value == pytest.approx(truth, rel=1e-6)


def test_labels_that_came_are_as_they_are():
    evaluation = told(start("mse"), 12)
    found = imagine_pool(evaluation.posterior, 0)
    assert not set(found.rows) & set(evaluation.posterior.known.rows)
    assert found.labels.shape == (1, DRAWS, SIZE - 12)


def test_chances_of_classes_are_the_beliefs():
    said = lambda frame: frame.assign(
        y=(frame["y"] > 0.0).astype(float), guess=1.0 / (1.0 + np.exp(-frame["x"]))
    )
    first, pool = said(FIRST), said(POOL)
    options = {"name": "auto", "components": 2}
    evaluation = start("accuracy", options, first, pool)
    labels = imagine_pool(evaluation.posterior, 0).labels[0]
    expected = np.asarray(
        evaluation.posterior.belief.outcome(evaluation.posterior.arrays.pool)[0]
    )
    # Five standard errors of a share, and draws of the function are shared by all rows.
    assert np.abs(labels.mean(axis=0) - expected).max() < 5.0 * 0.5 / np.sqrt(DRAWS) + 0.01


@pytest.mark.slow
def test_some_rows_stand_for_a_larger_pool():
    large = table(5, 2500, "q")
    evaluation = start("mse", pool=large)
    small = evaluation.estimate().credible
    posterior = evaluation.posterior
    mean = np.asarray(posterior.belief.mean(posterior.arrays.pool))
    variance = np.asarray(posterior.belief.variance(posterior.arrays.pool))
    expected = np.mean((mean - large["guess"]) ** 2 + variance) + 0.1
    # The median of a skewed law lies below its mean.
    assert small.value == pytest.approx(expected, rel=0.1)
    imagined = imagine_pool(posterior, 0)
    assert imagined.labels.shape == (3, DRAWS, 1000)


def test_a_squared_error_may_be_larger_than_any_seen():
    """Surprises that were not seen have heavy tails: the interval reaches up."""
    evaluation = start("mse", sampling=Sampling(batch=5))
    low, high = evaluation.estimate().credible.interval(0.98)
    middle = evaluation.estimate().credible.value
    assert high - middle > 1.5 * (middle - low)


def test_functions_that_are_not_finite_are_no_classes(monkeypatch):
    """A comparison with what is no number is false, and would pass for a label of 0."""
    broken = lambda belief, x: (np.full((DRAWS, len(x)), np.nan), np.zeros(DRAWS))
    monkeypatch.setattr(imagined, "_functions", broken)
    with pytest.raises(NumericalError, match="its functions are not finite"):
        imagine_pool(start("mse").posterior, 0)
