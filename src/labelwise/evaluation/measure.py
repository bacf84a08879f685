"""An interval from arrays, in one call: labels of some rows, predictions of all.

The labelled rows are draws from the population whose predictions are given, with equal or known
probabilities. From the other labels one learns what a row's terms are at its prediction, takes
that over the population, and mends it by how far the labelled rows are off [1]: right whatever
predictions are worth, and narrower the more they are. There is no belief about features and no
plan; for those there are campaigns.

[1] Angelopoulos, Bates, Fannjiang, Jordan, Zrnic (2023), Prediction-powered inference.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.catalogue import find_metric
from labelwise.estimands.metrics import Metric
from labelwise.estimands.own import check_own, own_metric
from labelwise.evaluation.answer import LEVEL
from labelwise.evaluation.measured import Given
from labelwise.evaluation.question_options import OPTIONS, check_options, option_of
from labelwise.own_code import is_path
from labelwise.survey.intervals import Interval, mean_interval, ratio_interval
from labelwise.survey.linearise import linearised
from labelwise.tables.html import html_table
from labelwise.tables.text import plain

FOLDS = 5  # parts of the labels; each is predicted from the others
ROWS = 20  # labels for each bin of predictions, in which terms are averaged ...
BINS = 10  # ... up to so many
THIN = 1e-9  # weight of a labelled row beside those of the population


@dataclass(frozen=True)
class Measurement:
    """A number, how uncertain it is, and from how many labels."""

    metric: str
    title: str
    value: float
    std: float
    labels: int
    draws: np.ndarray  # one number a label, whose mean is the value; or two, a ratio's parts
    bounds: tuple[float | None, float | None] = (None, None)

    def interval(self, level: float = LEVEL) -> Interval:
        """That holds the number with this probability, whatever predictions are worth."""
        ends = (
            ratio_interval(self.draws[:, 0], self.draws[:, 1], level)
            if self.draws.shape[1] == 2
            else mean_interval(self.draws[:, 0], level)
        )
        low, high = np.clip(ends, *self.bounds) if self.bounds != (None, None) else ends
        return float(low), float(high)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{self.title}: {plain(self.value)} ± {plain(self.std, 2)}, {100 * LEVEL:.0f} % "
            f"interval {plain(low)} to {plain(high)}, from {self.labels} labels"
        )

    def _repr_html_(self) -> str:
        low, high = self.interval()
        rows = [
            ("estimate", f"{plain(self.value)} ± {plain(self.std, 2)}"),
            (f"{100 * LEVEL:.0f} % interval", f"{plain(low)} to {plain(high)}"),
            ("labels", str(self.labels)),
        ]
        return html_table(self.title, rows)


def measure(
    y: Any,
    prediction: Any = None,
    pool_prediction: Any = None,
    metric: Any = "accuracy",
    probabilities: Any = None,
    **options: Any,
) -> Measurement:
    """How good predictions are on a population, from labels `y` of some of its rows.

    `prediction` is of the labelled rows, `pool_prediction` of all rows; without the latter the
    labelled rows speak for themselves. Labels are numbers, true and false, or yes and no.
    `probabilities` say how likely each labelled row was to be drawn, each time a row was (of
    all rows they sum to one); without them all were equally likely. `metric` is a name, as
    `labelwise metrics` lists them, or a function of (label, prediction); `options` are
    threshold, tolerance or quantile.
    """
    found = own_metric(metric) if callable(metric) else find_metric(metric)
    given = Given.of(found, y, prediction, pool_prediction, probabilities)
    if callable(metric) or is_path(metric):
        check_own(found, given.y, given.prediction)
    strange = [name for name in options if name not in OPTIONS]
    if strange:
        raise InvalidInput(
            f"There is no option {strange[0]!r}",
            f"there are {', '.join(OPTIONS)}",
            where="options",
        )
    check_options(options, [found])
    option = option_of(found, options)
    draws, value = _draws(found, given, option)
    if not np.isfinite(value):
        raise InvalidInput(
            f"{len(given.y)} labels of which {_told(given.y)} give no {found.title}",
            "label more rows, so that all kinds are among them",
            where="y",
        )
    spread = _spread(found, draws)
    return Measurement(
        metric=found.name,
        title=found.title,
        value=float(np.clip(value, *found.range)) if found.range != (None, None) else value,
        std=float(spread.std(ddof=1) / np.sqrt(len(spread))),
        labels=len(given.y),
        draws=draws,
        bounds=found.range,
    )


def _told(y: np.ndarray) -> str:
    """What labels are, where they are too much alike."""
    return f"all are {y[0]:g}" if np.ptp(y) == 0.0 else f"{y.mean():.0%} are 1"


def _draws(metric: Metric, given: Given, option: float | None) -> tuple[np.ndarray, float]:
    """One line a label, and the number."""
    terms = np.asarray(metric.stack(given.y, given.prediction, option))
    if given.pool is None:
        means = terms @ given.weight / len(given.y)
        values = means + given.weight[:, None] * (terms.T - means)
    else:
        own, means, pool = _expected(terms, given)
        values = means + given.weight[:, None] * (terms - own).T
    if metric.functional is not None:
        mended = (
            _functional_alone(metric, given)
            if given.pool is None
            else _functional(metric, given, own, pool)
        )
        return mended[:, None], float(mended.mean())
    if metric.combination.settle is not None:
        where, mass = given.population
        settled = metric.combination.settle(values, where, mass)
        return settled[:, None], float(settled.mean())
    value = float(metric.combine(values.mean(axis=0)))
    if metric.kind != "smooth":
        return values, value
    straight = linearised(values, lambda m: float(metric.combine(m)), metric.slope)
    return straight[:, None], value


def _spread(metric: Metric, draws: np.ndarray) -> np.ndarray:
    """One number a label, whose spread is that of the answer."""
    if draws.shape[1] == 1:
        return draws[:, 0]
    return linearised(draws, lambda m: float(metric.combine(m)), metric.slope)


def _expected(terms: np.ndarray, given: Given) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Terms as other labels expect them: of labelled rows, terms × labels; their means over the
    population, as seen without each label, labels × terms; and of its rows, on average."""
    assert given.pool is not None
    count = len(given.y)
    part = np.random.default_rng(0).permutation(count) % FOLDS
    own, means = np.zeros(terms.shape), np.zeros(terms.shape[::-1])
    pool = np.zeros((len(terms), len(given.pool)))
    for fold in range(FOLDS):
        out = part == fold
        if not out.any():
            continue
        level = _levels(terms[:, ~out], given.prediction[~out])
        own[:, out], there = level(given.prediction[out]), level(given.pool)
        means[out] = there.mean(axis=1)[None]
        pool += there * (out.sum() / count)
    return own, means, pool


def _levels(terms: np.ndarray, prediction: np.ndarray):
    """A function of predictions: the mean of the terms in bins of as many labels each."""
    bins = int(np.clip(len(prediction) // ROWS, 1, BINS))
    edges = np.unique(np.quantile(prediction, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
    here = np.searchsorted(edges, prediction, side="right")
    means = [
        terms[:, here == place].mean(axis=1) if (here == place).any() else terms.mean(axis=1)
        for place in range(len(edges) + 1)
    ]
    table = np.array(means).T
    return lambda at: table[:, np.searchsorted(edges, at, side="right")]


def _functional_alone(metric: Metric, given: Given) -> np.ndarray:
    """By the influence, at the labelled rows alone."""
    assert metric.functional is not None
    share = given.weight / given.weight.sum()
    found = metric.functional.influence(
        lambda of_labels, _: 1.0 * of_labels(given.y), share, given.prediction
    )
    each = found.of_labels(given.y)
    return found.value + given.weight * (each - share @ each)


def _functional(metric: Metric, given: Given, own: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """By the influence, at the population as it is expected, put right at the labelled rows."""
    count, functional = len(given.y), metric.functional
    assert functional is not None
    assert given.pool is not None
    size = len(given.pool)
    share = np.concatenate([np.full(size, 1.0 / size), np.full(count, THIN)])
    where = np.concatenate([given.pool, given.prediction])
    labels = np.concatenate([np.zeros(size), given.y])
    every = np.concatenate([pool, own], axis=1)
    scale = given.weight / (count * THIN)

    def means(of_labels, of_terms):
        expected = of_terms(every)
        missed = scale * (of_labels(labels) - expected)[size:]
        return np.concatenate([expected[:size], missed])

    found = functional.influence(means, share, where)
    off = given.weight * (found.of_labels(labels) - found.of_terms(every))[size:]
    return found.value + off - off.mean()
