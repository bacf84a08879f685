"""The belief's own answers: against closed forms, and labels averaged over by hand."""

import numpy as np
import pandas as pd
import pytest

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.estimands.catalogue import ESTIMANDS
from labelwise.evaluation import data, imagined
from labelwise.evaluation.belief_answer import TAIL
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.imagined import DRAWS, imagine_target, target_values
from labelwise.evaluation.spec import Tables
from labelwise.tables.columns import Columns

SIZE, TARGET = 30, 50
SURE = GaussianProcess(RBF(1.0, 1e-8), 0.1)  # of its function, not of noise
BELIEF = GaussianProcess(RBF(1.0, 1.0), 0.1)
CLASSES = {"name": "auto", "components": 2}


def table(seed, size, prefix, binary=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size)
    y = 0.3 * rng.normal(size=size)
    ids = [f"{prefix}{index}" for index in range(size)]
    if not binary:
        return pd.DataFrame({"id": ids, "x": x, "guess": 0.5 * x, "y": y})
    chance = 1.0 / (1.0 + np.exp(-x))
    label = (rng.random(size) < chance).astype(float)
    return pd.DataFrame({"id": ids, "x": x, "guess": chance, "y": label})


def start(question, belief, binary=False, own_target=False):
    first, pool = table(0, 12, "l", binary), table(1, SIZE, "p", binary).drop(columns="y")
    target = table(2, TARGET, "t", binary).drop(columns=["y", "id"]) if own_target else None
    columns = Columns("id", "y", prediction="guess")
    return Evaluation.of(Tables(first, pool, target), columns, question, belief=belief)


def test_what_a_label_teaches_of_the_noise_is_its_share_of_that_uncertainty():
    """Sure of the function, a squared error is the noise's variance and a known number.

    Its uncertainty is that of the variance, worth some labels; one more takes one in that many
    and one away.
    """
    belief = start("mse", SURE).by_belief
    law = belief.pool.law
    inside = np.clip(law.variance, *np.quantile(law.variance, [TAIL, 1.0 - TAIL]))
    expected = inside.var(ddof=1) / (law.worth + 1.0)
    # Noise of 30 labels is in the answers too, some three times as large; 2,000 of them tell
    # the slope of 1 to 1 in 15.
    assert belief.noise_gain == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize("question", ["accuracy", "brier"])
def test_classes_have_no_noise_to_be_taught_of(question):
    assert start(question, CLASSES, binary=True).by_belief.noise_gain == 0.0


def test_noise_says_nothing_of_a_mean_outcome():
    belief = start("mean", BELIEF).by_belief
    # A correlation of 2,000 pairs that are independent: five standard errors.
    answer = belief.by_question[belief.posterior.inquiry.first]
    law = belief.pool.law
    assert belief.noise_gain * (law.worth + 1.0) < 25.0 / DRAWS * answer.draws.var()


@pytest.mark.parametrize(("looked_at", "few"), [(1000, 500), (1000, 20), (30, 500), (30, 20)])
def test_a_squared_error_over_a_population_is_expected_in_closed_form(
    monkeypatch, looked_at, few
):
    """Mean square of the expected error, variance of the function, and that of the noise.

    However few of the 50 rows stand for the target.
    """
    monkeypatch.setattr(data, "TARGET_ROWS", looked_at)
    monkeypatch.setattr(imagined, "FEW", few)
    evaluation = start("mse", BELIEF, own_target=True)
    posterior, belief = evaluation.posterior, evaluation.by_belief
    x = posterior.arrays.target
    mean, variance = posterior.belief.mean(x), posterior.belief.variance(x)
    error = np.asarray(mean) - posterior.arrays.predictions["guess"]
    expected = np.mean(error**2 + np.asarray(variance)) + belief.target.law.variance.mean()
    values = belief.by_question[posterior.inquiry.first].draws
    assert len(belief.target.rows) == min(TARGET, looked_at, few)
    # Five standard errors of a mean of draws.
    assert abs(values.mean() - expected) < 5.0 * values.std() / np.sqrt(DRAWS)


def test_noise_of_labels_is_no_uncertainty_about_a_population():
    """Sure of function and noise, an expected error is known however few rows there are."""
    evaluation = start("mse", SURE, own_target=True)
    belief = evaluation.by_belief
    values = belief.by_question[evaluation.inquiry.first].draws
    # All that varies is the noise's variance, but for noise that goes with the errors of 50
    # rows times 8 labels: 2 error noise, on average over them, spread evenly over its law.
    left = values - belief.target.law.variance
    errors = np.mean(evaluation.posterior.arrays.predictions["guess"] ** 2)
    noise = belief.target.law.variance.mean()
    assert left.std() < 1.5 * np.sqrt(4.0 * errors * noise / (TARGET * 8))


@pytest.mark.parametrize("question", ["recall", "brier", "f1"])
def test_labels_of_a_population_are_averaged_over(question):
    evaluation = start(question, CLASSES, binary=True, own_target=True)
    posterior, quantity = evaluation.posterior, evaluation.inquiry.first
    target = imagine_target(posterior, 0)
    found = target_values(posterior, target, quantity)
    guess, metric = posterior.arrays.predictions["guess"], ESTIMANDS[question]
    one, zero = (metric.stack(np.full(TARGET, label), guess, None) for label in (1.0, 0.0))
    chance = target.functions[7]
    means = (one * chance + zero * (1.0 - chance)).mean(axis=1)
    assert found[7] == pytest.approx(float(metric.combine(means)), rel=1e-12)


def test_where_noise_is_all_there_is_to_know_gains_stay_finite():
    """Of several questions gains are relative to what the function leaves, which is nothing."""
    gain = start(["mse", "mae"], SURE).by_belief.noise_gain
    assert np.isfinite(gain)
    assert gain > 0.0


def test_few_rows_stand_for_the_target_only_where_all_count_alike(monkeypatch):
    monkeypatch.setattr(imagined, "FEW", 20)
    assert len(start("mae", BELIEF, own_target=True).by_belief.target.rows) == 20
    classes = start("recall", CLASSES, binary=True, own_target=True)
    assert len(classes.by_belief.target.rows) == TARGET


def test_a_batch_that_is_not_weighed_is_the_same():
    """Rows, chances and the answers that follow; nothing is said of what it would bring."""
    first = start("mse", BELIEF)
    weighed, plain = first.ask(3), first.ask(3, weigh=False)
    assert plain.rows == weighed.rows
    assert plain.plan.probabilities == weighed.plan.probabilities
    assert plain.plan.reasons == ()
    answers = [first.tell(one, [0.1, 0.2, 0.3]).estimate().lead for one in (weighed, plain)]
    assert answers[0] == answers[1]
