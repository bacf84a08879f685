"""The answer from drawn rows: right by how chance chose them, whatever the belief is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from labelwise.estimands.metrics import Bounds, Metric
from labelwise.evaluation.answer import DESIGN, GRID, LEVEL, LEVELS, Answer
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.functional_answer import linearise
from labelwise.evaluation.predicted_terms import known_terms, pool_predictions
from labelwise.evaluation.question import Quantity
from labelwise.evaluation.round import Round
from labelwise.evaluation.state import State
from labelwise.evaluation.two_phase import Influence, Mended, of_whole, phase_variance
from labelwise.pools.first_phase import FirstPhase
from labelwise.survey.aipw import DrawEstimates, estimates
from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.survey.effects import effect_record
from labelwise.survey.intervals import Interval, log_interval, mean_interval, ratio_interval
from labelwise.survey.linearise import linearised
from labelwise.survey.multipliers import look_multiplier
from labelwise.survey.skips import among_labellable
from labelwise.survey.tails import heavy_tails
from labelwise.survey.variance_floor import WORTH, with_spread_floor

ONE_ERROR = 0.68268  # level of the interval that is one standard error to both sides
PLANNED = 100  # draws at which the any-time interval is tightest, if no budget says


class History(NamedTuple):
    """All asks of a campaign and what came of them."""

    rounds: Sequence[Round]
    state: State
    scale: str  # of intervals of positive losses: "linear" or "log"
    planned: int  # draws at which the any-time interval is tightest


class About(NamedTuple):
    """One question as drawn rows answer it."""

    question: Quantity
    mass: np.ndarray  # of pool rows
    bounds: Bounds
    phase: FirstPhase | None = None  # by which the pool's rows came from a larger one
    mended: Mended | None = None  # by means over all of that


class Within(NamedTuple):
    """An answer about the pool at hand, and what makes it one about the larger pool."""

    answer: Answer
    variance: float = 0.0  # of the first phase
    shift: float = 0.0  # by means over every row

    def whole(self, bounds: Bounds) -> Answer:
        """The answer about the larger pool, if there is one."""
        if not self.variance and not self.shift:
            return self.answer
        return of_whole(self.answer, self.variance, self.shift, bounds)


def answer_by_draws(arrays: Arrays, about: About, history: History) -> Answer | None:
    """From all draws so far; None if they are too few to tell."""
    within = answer_within(arrays, about, history)
    return None if within is None else within.whole(about.bounds)


def answer_within(arrays: Arrays, about: About, history: History) -> Within | None:
    """The same about the pool at hand, and what a larger one adds."""
    skipped, dropped = _marks(history.state, len(about.mass))
    rounds = tuple(_round(one, about, history.state) for one in history.rounds)
    if not rounds or not np.where(skipped, 0.0, about.mass).any():
        return None
    record = _record(arrays, about, rounds, history.state, skipped, dropped)
    among = bool(skipped.any()) and not _is_bent(about.question.averaged)
    record = among_labellable(record) if among else record
    draws = estimates(record, noisy=about.question.metric.is_effect)
    # Draws of rows that do not count for the question tell nothing of its spread.
    telling = int((about.mass[draws.rows] > 0.0).sum())
    if telling < 2:
        return None
    given = pool_predictions(arrays, about.question)
    labels = _labels(history.state, len(about.mass))
    linear, slope = _linear(about.question.averaged, record, draws, labels, given, among)
    if linear is None:
        return None
    variance, shift = _of_phase(about, linear, draws, slope)
    if _is_bent(about.question.averaged):
        draws = _straightened(about.question.averaged, record, linear, draws, given)
    foreseen = _foreseen(about, history)
    judged = _DrawIntervals(about, among, draws.charged, foreseen, history.scale, telling)
    value = _value(about.question.averaged, draws.values.mean(axis=0), among)
    quantiles = judged.quantiles(value)
    if not np.isfinite([value, *quantiles]).all():
        return None
    inside = judged.cut((value, value))[0]
    always = {level: judged.interval(level, history.planned) for level in LEVELS}
    always = {level: ends for level, ends in always.items() if np.isfinite(ends).all()}
    answer = Answer(
        value=inside,
        std=judged.std,
        quantiles=quantiles,
        rests_on=DESIGN,
        anytime=always.get(LEVEL),
        anytime_at={f"{level:g}": list(ends) for level, ends in always.items()},
        draws=telling,
        waiting=_come(record) - len(draws.values),
        dropped=draws.dropped,
        skipped=int(skipped.sum()),
        heavy=heavy_tails(judged.pseudo),
        beyond=value - inside,
    )
    return Within(answer, variance, shift)


@dataclass(frozen=True)
class _DrawIntervals:
    """The estimates of all draws, ready to be made intervals of."""

    about: About
    among: bool  # whether the last term says what can be labelled
    values: np.ndarray  # draws × terms
    foreseen: float
    scale: str
    telling: int  # draws of rows that count for the question

    @cached_property
    def pseudo(self) -> np.ndarray:
        """One number a draw, whose spread is the answer's."""
        metric = self.about.question.averaged
        if metric.kind == "mean" and not self.among:
            return self.values[:, 0]
        value = lambda means: _value(metric, means, self.among)
        return linearised(self.values, value, lambda means: _slope(metric, means, self.among))

    def interval(self, level: float, planned: int | None = None) -> tuple[float, float]:
        """At one look, or where draws are planned for, at every look."""
        values = self._at_one_look if planned is None else self._floored(math.inf)
        values = self._with_fewer(values, level, planned)
        return self.cut(self._uncut(values, level, planned))

    @cached_property
    def _at_one_look(self) -> np.ndarray:
        return self._floored(WORTH)

    def _floored(self, worth: float) -> np.ndarray:
        return with_spread_floor(self.values, self.pseudo, self.foreseen, worth)

    def _with_fewer(self, values: np.ndarray, level: float, planned: int | None) -> np.ndarray:
        """Spread out as far as the degrees of freedom of telling draws alone ask for."""
        times = lambda draws: look_multiplier(draws, level, planned)
        means = values.mean(axis=0)
        return means + (values - means) * (times(self.telling) / times(len(values)))

    @cached_property
    def std(self) -> float:
        """Half of what one standard error to both sides spans.

        A range that cuts an interval does not make the number surer: with nine in ten found
        and errors of a tenth, a share of 1 is one error away and not half of one.
        """
        values = self._with_fewer(self._at_one_look, ONE_ERROR, None)
        ends = self._uncut(values, ONE_ERROR, None)
        low, high = ends if np.isfinite(ends).all() else self.cut(ends)
        return (high - low) / 2.0

    def _uncut(self, values: np.ndarray, level: float, planned: int | None) -> Interval:
        question = self.about.question
        spread_out = replace(self, values=values)
        kind = question.averaged.kind
        if kind == "ratio":
            return ratio_interval(values[:, 0], values[:, 1], level, planned)
        if kind == "smooth":
            return mean_interval(spread_out.pseudo, level, planned)
        if self.scale == "log" and question.metric.is_loss and question.versus is None:
            return log_interval(spread_out.pseudo, level, planned)
        if self.among:
            return ratio_interval(values[:, 0], values[:, -1], level, planned)
        return mean_interval(values[:, 0], level, planned)

    def cut(self, interval: Interval) -> tuple[float, float]:
        """Inside the estimand's range."""
        least, most = self.about.bounds
        low, high = np.clip(interval, *_as_numbers(least, most))
        return float(low), float(high)

    def quantiles(self, value: float) -> tuple[float, ...]:
        """Ends of intervals: the lower for chances below a half, the upper above."""
        middle = self.cut((value, value))[0]
        levels = {chance: round(abs(1.0 - 2.0 * chance), 9) for chance in GRID}
        # A chance and its counterpart are the ends of one interval.
        found = {level: self.interval(level) for level in set(levels.values()) if level > 0.0}
        ends = lambda chance: found.get(levels[chance], (middle, middle))
        return tuple(ends(chance)[int(chance > 0.5)] for chance in GRID)


def _is_bent(metric: Metric) -> bool:
    """Whether draws must be made a mean of before intervals are: rows that cannot be labelled
    then count as if one knew them all."""
    return metric.functional is not None or metric.combination.settle is not None


def _linear(
    metric: Metric,
    record: DrawRecord,
    draws: DrawEstimates,
    labels: np.ndarray,
    given: Any,
    among: bool,
) -> tuple[DrawRecord | None, np.ndarray]:
    """A record whose means, along a slope, are the answer to first order; None: no value."""
    if metric.functional is not None:
        return linearise(metric.functional, record, labels, given), np.ones(1)
    means = draws.values.mean(axis=0)
    if metric.combination.settle is not None:
        return record, np.sign(means)
    return record, np.nan_to_num(_slope(metric, means, among), posinf=0.0, neginf=0.0)


def _straightened(
    metric: Metric, record: DrawRecord, linear: DrawRecord, draws: DrawEstimates, given: Any
) -> DrawEstimates:
    """One number a draw, where the answer is not a function of a few means."""
    if metric.functional is not None:
        return estimates(linear)
    assert metric.combination.settle is not None
    values = metric.combination.settle(draws.values, given, record.labellable_mass)
    return replace(draws, values=values[:, None], charged=values[:, None])


def _of_phase(
    about: About, linear: DrawRecord, draws: DrawEstimates, slope: np.ndarray
) -> tuple[float, float]:
    """Variance of the first phase, and how far means over every row move the answer."""
    if about.phase is None:
        return 0.0, 0.0
    functional = about.question.averaged.functional is not None
    means = estimates(linear).values.mean(axis=0) if functional else draws.values.mean(axis=0)
    mended = None if functional or len(slope) != about.question.averaged.count else about.mended
    influence = Influence(about.phase, linear.labellable_mass, slope, means, mended)
    return phase_variance(linear, influence), influence.shift


def _labels(state: State, size: int) -> np.ndarray:
    """Of pool rows, NaN where there is none."""
    labels = np.full(size, np.nan)
    labels[list(state.labels)] = list(state.labels.values())
    return labels


def _foreseen(about: About, history: History) -> float:
    """The spread of an estimate as the belief foresaw it, root mean square over draws."""
    title = about.question.title
    each = [
        (draws.foreseen[draws.questions[title][0]], sum(draws.drawn))
        for one in history.rounds
        if (draws := one.draws) is not None and title in draws.questions
    ]
    count = sum(draws for _, draws in each)
    return math.sqrt(sum(draws * spread**2 for spread, draws in each) / max(count, 1))


def _come(record: DrawRecord) -> int:
    """Draws whose label has come."""
    each = (one.rows[one.drawn] for one in record.rounds)
    return sum(int(record.known[rows].sum()) for rows in each)


def _marks(state: State, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that cannot be labelled, and rows whose draw came to nothing."""
    skipped, dropped = np.zeros(size, bool), np.zeros(size, bool)
    skipped[list(state.skipped)] = True
    dropped[list({*state.failed, *state.expired})] = True
    return skipped, dropped


def _round(round_: Round, about: About, state: State) -> RoundDraws:
    """Rounds that chance did not draw for this question count as chosen: zeros serve."""
    size, count = len(about.mass), about.question.averaged.count
    terms, by_chance = np.zeros((count, size)), np.zeros(len(round_.rows), bool)
    is_open, draws = np.ones(size, bool), round_.draws
    if draws is not None:
        is_open[list(draws.closed)] = False
    if draws is not None and about.question.title in draws.questions:
        place = draws.questions[about.question.title][1]
        terms, by_chance = draws.predictions[place : place + count], np.array(draws.drawn, bool)
    if about.question.metric.is_effect:
        # A unit that failed and was treated anew has the draw that its outcome belongs to.
        own = [state.batches.get(row, round_.number) == round_.number for row in round_.rows]
        by_chance = by_chance & np.array(own, bool)
    return RoundDraws(
        rows=np.array(round_.rows, int),
        probabilities=np.where(by_chance, np.array(round_.probabilities, float), 0.0),
        open=is_open,
        predictions=terms.astype(float),
        together=draws is not None and draws.together,
    )


def _record(arrays, about: About, rounds, state: State, skipped, dropped) -> DrawRecord:
    mass, question = about.mass, about.question
    labels = _labels(state, len(mass))
    if not question.metric.is_effect:
        return DrawRecord(mass, known_terms(arrays, question, labels), rounds, skipped, dropped)
    treated = np.zeros(len(mass))
    treated[list(state.treated)] = list(state.treated.values())
    taken = np.zeros(len(mass), bool)
    for one in rounds:
        taken[one.rows] = True
    # Outcomes of units that nobody asked for have no predictions made without them: they are
    # left out, and nobody waits for them.
    dropped = dropped | (~taken & ~np.isnan(labels))
    labels = np.where(taken, labels, np.nan)
    return effect_record(mass, labels, treated, arrays.chance, rounds, skipped, dropped)


def _value(metric: Metric, means: np.ndarray, among: bool) -> float:
    """The answer from the means of terms; `among` those that can be labelled, a last term."""
    return float(metric.combine(means[:-1] / means[-1] if among else means))


def _as_numbers(least: float | None, most: float | None) -> tuple[float, float]:
    return -math.inf if least is None else least, math.inf if most is None else most


def _slope(metric: Metric, means: np.ndarray, among: bool) -> np.ndarray:
    """How `_value` moves with each mean."""
    if not among:
        return metric.slope(means)
    shares = means[:-1] / means[-1]
    slope = metric.slope(shares)
    return np.append(slope, -slope @ shares) / means[-1]
