"""Do predicted probabilities mean what they say: the share of ones at each of them."""

from typing import Any, NamedTuple

import numpy as np

from labelwise.estimands.calibration import BINS, bins_of
from labelwise.evaluation.answer import LEVEL
from labelwise.evaluation.belief_answer import BeliefAnswers
from labelwise.evaluation.imagined import Imagined
from labelwise.evaluation.spec import is_binary
from labelwise.report.charts import BLUE, FAINT, SOFT, chart, figure
from labelwise.report.markup import Markup
from labelwise.report.numbers import percent
from labelwise.report.snapshot import Facts


class Reliability(NamedTuple):
    """Of each bin that has rows."""

    predicted: np.ndarray  # on average
    ones: np.ndarray  # their share, as the belief has it
    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray  # share of the pool


def reliability(facts: Facts) -> Markup | None:
    """Draw shares of ones against predicted probabilities, where there are such."""
    given = probabilities_of(facts)
    if given is None:
        return None
    found = read_reliability(facts, given)
    image = chart(lambda axes: _draw(axes, found), _alt(found))
    text = (
        "Rows of the pool in ten bins of their predicted probability: the share of ones that "
        f"the belief expects, with {percent(LEVEL)} intervals, labels that came included. On "
        "the line, predictions mean what they say. Grey: how many rows a bin has."
    )
    return figure("Reliability of predicted probabilities", image, text)


def probabilities_of(facts: Facts) -> np.ndarray | None:
    """Predictions of pool rows, if they are chances of a 1."""
    column = facts.spec.columns.prediction
    given = facts.analysis.arrays.pool_predictions.get(column or "")
    if given is None or facts.spec.columns.several or not is_binary(facts.spec.belief):
        return None
    if np.isnan(given).any():
        return None
    between = given.min() >= 0.0 and given.max() <= 1.0
    return given if between and len(np.unique(given)) > 2 else None


def _pool_of(facts: Facts) -> Imagined:
    """The pool as it may turn out, as the answer has it."""
    answers = facts.evaluation.by_belief
    assert isinstance(answers, BeliefAnswers)  # of several classes there is no such figure
    return answers.pool


def read_reliability(facts: Facts, given: np.ndarray) -> Reliability:
    """By the labels that came, and those that may come to the other rows."""
    imagined, known = _pool_of(facts), facts.analysis.known
    labels = np.full(len(given), np.nan)
    labels[list(known.rows)] = known.labels
    unknown = np.bincount(bins_of(given[np.isnan(labels)]).astype(int), minlength=BINS)
    every = []
    for place in np.unique(bins_of(given)).astype(int):
        here = bins_of(given) == place
        stand_in = bins_of(given[imagined.rows]) == place
        ones = np.nansum(labels[here]) + np.zeros(imagined.functions.shape[0])
        if stand_in.any():
            ones = ones + unknown[place] * imagined.labels[:, :, stand_in].mean(axis=(0, 2))
        told = here.sum() if stand_in.any() else max(here.sum() - unknown[place], 1)
        shares = ones / told
        ends = np.quantile(shares, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        every.append((given[here].mean(), shares.mean(), *ends, here.mean()))
    return Reliability(*np.array(every).T)


def _draw(axes: Any, found: Reliability) -> None:
    axes.bar(found.predicted, found.rows, width=0.05, color=FAINT, label="share of rows")
    axes.plot([0.0, 1.0], [0.0, 1.0], "--", color=SOFT, lw=1.5)
    # A mean may lie a rounding outside its own interval.
    reach = np.maximum([found.ones - found.low, found.high - found.ones], 0.0)
    style = {"fmt": "o", "color": BLUE, "capsize": 3, "label": "share of ones"}
    axes.errorbar(found.predicted, found.ones, reach, **style)
    axes.set(xlabel="predicted probability", ylabel="share", xlim=(0, 1), ylim=(0, 1))
    axes.legend(loc="upper left")


def _alt(found: Reliability) -> str:
    each = zip(found.predicted, found.ones, found.low, found.high, strict=True)
    told = [
        f"at {percent(p)} predicted {percent(ones)} ({percent(low)} to {percent(high)})"
        for p, ones, low, high in each
    ]
    return f"Shares of ones, with {percent(LEVEL)} intervals: {'; '.join(told)}."
