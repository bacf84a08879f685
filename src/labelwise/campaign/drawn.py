"""The answer from drawn rows: right by how chance chose them, whatever the belief is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from labelwise.campaign.arrays import Arrays
from labelwise.campaign.estimate import GRID, LEVEL
from labelwise.campaign.losses import count_terms, is_effect, known_terms, terms_of
from labelwise.campaign.question import Question
from labelwise.campaign.state import State
from labelwise.design.effect import effect_record
from labelwise.design.intervals import (
    Interval,
    mean_interval,
    positive_interval,
    ratio_interval,
)
from labelwise.design.pseudo import linearised
from labelwise.design.record import Record, Round
from labelwise.design.sequence import Sequence as Draws
from labelwise.design.sequence import estimates
from labelwise.design.skips import among_labellable
from labelwise.design.tails import heavy_tails
from labelwise.estimands.registry import Bounds

POSITIVE = ("mse", "mae", "brier", "log-loss")  # skewed losses: intervals on the log scale
PLANNED = 100  # draws at which the any-time interval is tightest, if no budget says


@dataclass(frozen=True)
class Asked:
    """A committed ask, as far as drawn rows need it."""

    rows: tuple[int, ...]
    probabilities: tuple[float, ...]
    drawn: tuple[bool, ...]
    closed: tuple[int, ...]  # rows that could not be asked then
    terms: np.ndarray | None  # predictions, terms × pool


@dataclass(frozen=True)
class DrawnAnswer:
    """What drawn rows say of one question."""

    value: float
    std: float
    quantiles: tuple[float, ...]  # at GRID: ends of intervals of every level
    anytime: tuple[float, float]  # right at every look, at the usual level
    draws: int
    waiting: int  # draws that wait for earlier labels
    dropped: int  # draws that failed or expired
    skipped: int  # rows that cannot be labelled
    heavy: bool  # whether the spread rests on a few draws

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"anytime": list(self.anytime), "quantiles": list(self.quantiles)}


def answer_by_draws(
    arrays: Arrays,
    question: Question,
    place: int,
    mass: np.ndarray,
    asked: Sequence[Asked],
    state: State,
    bounds: Bounds,
    planned: int,
) -> DrawnAnswer | None:
    """From all draws so far; `place` is where the question's terms begin. None if too few."""
    skipped, dropped = _marks(state, len(mass))
    rounds = tuple(_round(one, place, count_terms(question), len(mass)) for one in asked)
    if not rounds or not np.where(skipped, 0.0, mass).any():
        return None
    record = _record(arrays, question, mass, rounds, state, skipped, dropped)
    noisy = is_effect(question)
    found = estimates(among_labellable(record) if skipped.any() else record, noisy=noisy)
    if len(found.values) < 2:
        return None
    among = bool(skipped.any())
    interval = lambda level, plan: _cut(_interval(question, found, among, level, plan), bounds)
    value = _value(question, found.values.mean(axis=0), among)
    if not math.isfinite(value):
        return None
    low, high = interval(0.6827, None)
    return DrawnAnswer(
        value=float(
            np.clip(
                value,
                *(
                    -np.inf if bounds[0] is None else bounds[0],
                    np.inf if bounds[1] is None else bounds[1],
                ),
            )
        ),
        std=(high - low) / 2.0,
        quantiles=_quantiles(interval, value),
        anytime=interval(LEVEL, planned),
        draws=len(found.values),
        waiting=found.waiting,
        dropped=found.dropped,
        skipped=int(skipped.sum()),
        heavy=heavy_tails(_spread_values(question, found, among)),
    )


def _marks(state: State, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that cannot be labelled, and rows whose draw came to nothing."""
    skipped, dropped = np.zeros(size, bool), np.zeros(size, bool)
    skipped[list(state.skipped)] = True
    dropped[list({*state.failed, *state.expired})] = True
    return skipped, dropped


def _round(asked: Asked, place: int, count: int, size: int) -> Round:
    """Rounds without predictions (of early campaigns) were not drawn: zeros serve."""
    is_open = np.ones(size, bool)
    is_open[list(asked.closed)] = False
    terms = (
        np.zeros((count, size)) if asked.terms is None else asked.terms[place : place + count]
    )
    by_chance = np.array(asked.drawn, bool) & (asked.terms is not None)
    return Round(
        rows=np.array(asked.rows, int),
        chances=np.where(by_chance, np.array(asked.probabilities, float), 0.0),
        open=is_open,
        predictions=terms.astype(float),
    )


def _record(arrays, question, mass, rounds, state: State, skipped, dropped) -> Record:
    labels = np.full(len(mass), np.nan)
    labels[list(state.labels)] = list(state.labels.values())
    if not is_effect(question):
        return Record(mass, known_terms(arrays, question, labels), rounds, skipped, dropped)
    treated = np.zeros(len(mass))
    treated[list(state.treated)] = list(state.treated.values())
    taken = np.zeros(len(mass), bool)
    for one in rounds:
        taken[one.rows] = True
    # Outcomes of units that nobody asked for have no predictions made without them.
    labels = np.where(taken, labels, np.nan)
    return effect_record(mass, labels, treated, arrays.chance, rounds, skipped, dropped)


def _value(question: Question, means: np.ndarray, among: bool) -> float:
    if among:
        means = means[:-1] / means[-1]
    if is_effect(question):
        return float(means[0])
    return float(terms_of(question).combine(means))


def _interval(question: Question, found: Draws, among: bool, level: float, planned) -> Interval:
    values = found.charged
    kind = "mean" if is_effect(question) else terms_of(question).kind
    if kind == "ratio":
        return ratio_interval(values[:, 0], values[:, 1], level, planned)
    if kind == "smooth":
        return mean_interval(_spread_values(question, found, among), level, planned)
    if among:
        return ratio_interval(values[:, 0], values[:, -1], level, planned)
    if question.name in POSITIVE and question.versus is None:
        return positive_interval(values[:, 0], level, planned)
    return mean_interval(values[:, 0], level, planned)


def _spread_values(question: Question, found: Draws, among: bool) -> np.ndarray:
    """One number a draw, whose spread is the answer's."""
    if is_effect(question) or (terms_of(question).kind == "mean" and not among):
        return found.charged[:, 0]
    value = lambda means: _value(question, means, among)
    return linearised(found.charged, value, lambda means: _slope(value, means))


def _slope(function, means: np.ndarray) -> np.ndarray:
    """By differences: the terms are few, and their units differ."""
    steps = 1e-6 * np.maximum(np.abs(means), 1e-3)
    each = zip(np.diag(steps), steps, strict=True)
    return np.array([(function(means + d) - function(means - d)) / (2.0 * s) for d, s in each])


def _cut(interval: Interval, bounds: Bounds) -> tuple[float, float]:
    low = interval[0] if bounds[0] is None else max(interval[0], bounds[0])
    high = interval[1] if bounds[1] is None else min(interval[1], bounds[1])
    return float(low), float(high)


def _quantiles(interval, value: float) -> tuple[float, ...]:
    """Ends of intervals: the lower for chances below a half, the upper above."""
    ends = []
    for chance in GRID:
        level = abs(1.0 - 2.0 * chance)
        if level < 1e-9:
            ends.append(value)
        else:
            ends.append(interval(level, None)[0 if chance < 0.5 else 1])
    return tuple(ends)


def parse_terms(blob: bytes, shape: Sequence[int]) -> np.ndarray:
    """Predictions as stored."""
    import zlib

    return np.frombuffer(zlib.decompress(blob), np.float32).reshape(shape)


def store_terms(terms: np.ndarray) -> bytes:
    """Single precision is enough: any predictions serve, as long as they are kept."""
    import zlib

    return zlib.compress(np.ascontiguousarray(terms, np.float32).tobytes(), 3)


def read_asked(content: Mapping[str, Any], terms: np.ndarray | None) -> Asked:
    """From a round's record."""
    plan, design = content["plan"], content.get("design") or {}
    count = len(plan["rows"])
    return Asked(
        rows=tuple(plan["rows"]),
        probabilities=tuple(plan["probabilities"]),
        drawn=tuple(design.get("drawn", [False] * count)),
        closed=tuple(design.get("closed", ())),
        terms=terms,
    )
