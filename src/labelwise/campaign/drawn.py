"""The answer from drawn rows: right by how chance chose them, whatever the belief is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from labelwise.campaign.arrays import Arrays
from labelwise.campaign.asked import Asked
from labelwise.campaign.estimate import GRID, LEVEL, as_answer
from labelwise.campaign.losses import count_terms, is_effect, known_terms, terms_of
from labelwise.campaign.question import Question
from labelwise.campaign.state import State
from labelwise.design.effect import effect_record
from labelwise.design.foreseen import WORTH, at_least
from labelwise.design.intervals import Interval, log_interval, mean_interval, ratio_interval
from labelwise.design.multipliers import anytime_multiplier, multiplier
from labelwise.design.pseudo import linearised
from labelwise.design.record import Record, Round
from labelwise.design.sequence import estimates
from labelwise.design.skips import among_labellable
from labelwise.design.tails import heavy_tails
from labelwise.estimands.registry import Bounds

POSITIVE = ("mse", "mae", "brier", "log-loss")  # losses that the log scale suits
LEVELS = (0.8, 0.9, 0.95, 0.99)  # at which any-time intervals are kept
PLANNED = 100  # draws at which the any-time interval is tightest, if no budget says


@dataclass(frozen=True)
class DrawnAnswer:
    """What drawn rows say of one question."""

    value: float
    std: float
    quantiles: tuple[float, ...]  # at GRID: ends of intervals of every level
    anytime: tuple[float, float] | None  # right at every look, at the usual level
    anytime_at: Mapping[str, list[float]]  # the same at other levels
    draws: int
    waiting: int  # draws whose label has come, but not all earlier ones
    dropped: int  # draws that failed or expired
    skipped: int  # rows that cannot be labelled
    heavy: bool  # whether the spread rests on a few draws

    def to_dict(self) -> dict[str, Any]:
        anytime = None if self.anytime is None else list(self.anytime)
        answer = as_answer(self.value, self.std, self.quantiles)
        return asdict(self) | answer | {"anytime": anytime}


class History(NamedTuple):
    """All asks of a campaign and what came of them."""

    asked: Sequence[Asked]
    state: State
    scale: str  # of intervals of positive losses: "linear" or "log"
    planned: int  # draws at which the any-time interval is tightest


class About(NamedTuple):
    """One question as drawn rows answer it."""

    question: Question
    mass: np.ndarray  # of pool rows
    bounds: Bounds


def answer_by_draws(arrays: Arrays, about: About, history: History) -> DrawnAnswer | None:
    """From all draws so far; None if they are too few to tell."""
    skipped, dropped = _marks(history.state, len(about.mass))
    rounds = tuple(_round(one, about, history.state) for one in history.asked)
    if not rounds or not np.where(skipped, 0.0, about.mass).any():
        return None
    record = _record(arrays, about, rounds, history.state, skipped, dropped)
    among = bool(skipped.any())
    record = among_labellable(record) if among else record
    found = estimates(record, noisy=is_effect(about.question))
    # Draws of rows that do not count for the question tell nothing of its spread.
    telling = int((about.mass[found.rows] > 0.0).sum())
    if telling < 2:
        return None
    foreseen = _foreseen(about, history)
    judged = _Judged(about, among, found.charged, foreseen, history.scale, telling)
    value = _value(about.question, found.values.mean(axis=0), among)
    quantiles = judged.quantiles(value)
    if not np.isfinite([value, *quantiles]).all():
        return None
    low, high = np.interp([0.15866, 0.84134], GRID, quantiles)
    always = {level: judged.interval(level, history.planned) for level in LEVELS}
    always = {level: ends for level, ends in always.items() if np.isfinite(ends).all()}
    return DrawnAnswer(
        value=judged.cut((value, value))[0],
        std=float(high - low) / 2.0,
        quantiles=quantiles,
        anytime=always.get(LEVEL),
        anytime_at={f"{level:g}": list(ends) for level, ends in always.items()},
        draws=telling,
        waiting=_come(record) - len(found.values),
        dropped=found.dropped,
        skipped=int(skipped.sum()),
        heavy=heavy_tails(judged.pseudo),
    )


@dataclass(frozen=True)
class _Judged:
    """The estimates of all draws, ready to be made intervals of."""

    about: About
    among: bool  # whether the last term says what can be labelled
    values: np.ndarray  # draws × terms
    foreseen: float
    scale: str
    telling: int  # draws of rows that count for the question

    @property
    def pseudo(self) -> np.ndarray:
        """One number a draw, whose spread is the answer's."""
        question = self.about.question
        plain = is_effect(question) or terms_of(question).kind == "mean"
        if plain and not self.among:
            return self.values[:, 0]
        value = lambda means: _value(question, means, self.among)
        return linearised(self.values, value, lambda means: _slope(value, means))

    def interval(self, level: float, planned: int | None = None) -> tuple[float, float]:
        """At one look, or where draws are planned for, at every look."""
        worth = WORTH if planned is None else math.inf
        values = at_least(self.values, self.pseudo, self.foreseen, worth)
        values = self._with_fewer(values, level, planned)
        return self.cut(self._uncut(values, level, planned))

    def _with_fewer(self, values: np.ndarray, level: float, planned: int | None) -> np.ndarray:
        """Spread out as far as the degrees of freedom of telling draws alone ask for."""
        times = lambda draws: (
            multiplier(draws, level)
            if planned is None
            else anytime_multiplier(draws, level, planned)
        )
        means = values.mean(axis=0)
        return means + (values - means) * (times(self.telling) / times(len(values)))

    def _uncut(self, values: np.ndarray, level: float, planned: int | None) -> Interval:
        question = self.about.question
        spread_out = replace(self, values=values)
        kind = "mean" if is_effect(question) else terms_of(question).kind
        if kind == "ratio":
            return ratio_interval(values[:, 0], values[:, 1], level, planned)
        if kind == "smooth":
            return mean_interval(spread_out.pseudo, level, planned)
        if self.scale == "log" and question.name in POSITIVE and question.versus is None:
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
        ends = []
        for chance in GRID:
            level = abs(1.0 - 2.0 * chance)
            ends.append(middle if level < 1e-9 else self.interval(level)[int(chance > 0.5)])
        return tuple(ends)


def _foreseen(about: About, history: History) -> float:
    """The spread of an estimate as the belief foresaw it, root mean square over draws."""
    title = about.question.title
    each = [
        (one.foreseen[one.questions[title][0]], sum(one.drawn))
        for one in history.asked
        if title in one.questions
    ]
    count = sum(draws for _, draws in each)
    return math.sqrt(sum(draws * spread**2 for spread, draws in each) / max(count, 1))


def _come(record: Record) -> int:
    """Draws whose label has come."""
    each = (one.rows[one.chances > 0.0] for one in record.rounds)
    return sum(int(record.known[rows].sum()) for rows in each)


def _marks(state: State, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that cannot be labelled, and rows whose draw came to nothing."""
    skipped, dropped = np.zeros(size, bool), np.zeros(size, bool)
    skipped[list(state.skipped)] = True
    dropped[list({*state.failed, *state.expired})] = True
    return skipped, dropped


def _round(asked: Asked, about: About, state: State) -> Round:
    """Rounds without predictions (of early campaigns) were not drawn: zeros serve."""
    size, count = len(about.mass), count_terms(about.question)
    known = asked.terms is not None and about.question.title in asked.questions
    is_open = np.ones(size, bool)
    is_open[list(asked.closed)] = False
    terms, by_chance = np.zeros((count, size)), np.zeros(len(asked.rows), bool)
    if known:
        place = asked.questions[about.question.title][1]
        terms = asked.terms[place : place + count]  # type: ignore[index]
        by_chance = np.array(asked.drawn, bool)
    if is_effect(about.question):
        # A unit that failed and was treated anew has the draw that its outcome belongs to.
        own = [state.batches.get(row, asked.number) == asked.number for row in asked.rows]
        by_chance = by_chance & np.array(own, bool)
    return Round(
        rows=np.array(asked.rows, int),
        chances=np.where(by_chance, np.array(asked.probabilities, float), 0.0),
        open=is_open,
        predictions=terms.astype(float),
    )


def _record(arrays, about: About, rounds, state: State, skipped, dropped) -> Record:
    mass, question = about.mass, about.question
    labels = np.full(len(mass), np.nan)
    labels[list(state.labels)] = list(state.labels.values())
    if not is_effect(question):
        return Record(mass, known_terms(arrays, question, labels), rounds, skipped, dropped)
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


def _value(question: Question, means: np.ndarray, among: bool) -> float:
    if among:
        means = means[:-1] / means[-1]
    if is_effect(question):
        return float(means[0])
    return float(terms_of(question).combine(means))


def _as_numbers(least: float | None, most: float | None) -> tuple[float, float]:
    return -math.inf if least is None else least, math.inf if most is None else most


def _slope(function, means: np.ndarray) -> np.ndarray:
    """By differences: the terms are few, and their units differ."""
    steps = 1e-6 * np.maximum(np.abs(means), 1e-3)
    each = zip(np.diag(steps), steps, strict=True)
    return np.array([(function(means + d) - function(means - d)) / (2.0 * s) for d, s in each])
