"""What asking would bring: a plan for the next batch, and a forecast of many.

Every plan stands beside random and uncertainty sampling, judged by the same belief, so that
one sees when planning does not help.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from labelwise.campaign.analysis import Analysis, Proposal
from labelwise.campaign.widths import Widths
from labelwise.errors import InvalidInput
from labelwise.estimands.moments import has_closed_form
from labelwise.lookahead.path import variance_along
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.drawing import Draw
from labelwise.policies.offer import ROUNDING, Spending
from labelwise.policies.registry import make_policy

ORDERS = 32  # random batches over which chance is averaged
MOST_COVARIANCES = 50  # batches up to this size keep the joint prediction of their labels
HELPS = 0.95  # a plan that leaves more than this of random's standard deviation does not help
PAD = 16  # rows in a list that is judged come in multiples of this


@dataclass(frozen=True)
class Reason:
    """Why a row is in a batch."""

    gain: float  # share of the batch's fall in variance, given the rows before it
    speaks_for: float  # share of the target of which it tells more than the others do
    mean: float  # its label, as predicted ...
    std: float  # ... and how uncertain that is, noise included


@dataclass(frozen=True)
class Plan:
    """A batch, and what the belief expects of it. Standard deviations are the estimand's."""

    rows: tuple[int, ...]  # of the pool, in order
    probabilities: tuple[float, ...]  # of each draw; 1 if chosen
    policy: str
    std: float  # now
    expected: float  # after the labels that are out, and these
    random: float  # the same with random rows (root of the mean variance over draws)
    uncertainty: float  # the same with the least certain rows
    reasons: tuple[Reason, ...]
    covariance: tuple[tuple[float, ...], ...] | None  # of the labels, for the belief's check
    treated: tuple[float, ...] | None = None  # how each row is to be treated, if at all
    chances: tuple[tuple[float, ...], ...] | None = None  # draws of those of 0/1 labels
    cost: float | None = None  # of the batch
    drawn: tuple[bool, ...] | None = None  # which rows chance chose, from all rows left

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def verdict(self) -> str:
        """One sentence on whether planning pays."""
        return verdict(self.policy, self.expected, self.random, any(self.drawn or ()))

    @property
    def choice(self) -> str:
        """One sentence on who chose the rows."""
        return who_chose(self.drawn or ())


@dataclass(frozen=True)
class Forecast:
    """Expected standard deviation of the estimand against further labels."""

    policy: str
    labels: tuple[int, ...]  # further labels, pending ones included; starts at 0
    planned: tuple[float, ...]
    random: tuple[float, ...]
    draws: Widths | None = None  # of the interval from drawn rows

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "verdict": self.verdict,
            "saved": self.saved,
            "draws": None if self.draws is None else self.draws.to_dict(),
        }

    @property
    def verdict(self) -> str:
        drawn = self.draws is not None
        return verdict(self.policy, self.planned[-1], self.random[-1], drawn)

    @property
    def saved(self) -> int | None:
        """Labels fewer than random sampling needs for the precision it ends with."""
        pairs = zip(self.labels, self.planned, strict=True)
        reached = [count for count, std in pairs if std <= self.random[-1]]
        return self.labels[-1] - reached[0] if reached else None


def verdict(policy: str, planned: float, random: float, drawn: bool = False) -> str:
    """Whether a plan, or rows that were `drawn`, beat random rows, in words."""
    if policy == "random":
        return "These rows are random: nothing was planned."
    left = 100.0 if random == 0.0 else 100.0 * planned / random
    outcome = f"{left:.0f} % of the standard deviation that random rows would leave"
    if drawn:
        return f"By the belief's own reckoning, these rows leave {outcome}."
    if planned < HELPS * random:
        return f"By the belief's own reckoning, planning leaves {outcome}."
    return f"Planning does not help here: it leaves {outcome}."


def who_chose(drawn: Sequence[bool]) -> str:
    """Whether the rows of a batch were drawn by chance or chosen, in one sentence."""
    count, total = sum(drawn), len(drawn)
    if count == 0:
        return (
            "These rows were chosen, not drawn by chance: only the belief can answer by them."
        )
    if count == total:
        return "These rows were drawn by chance from all rows left, as in a survey."
    return (
        f"Of these {total} rows, {count} were drawn by chance from all rows left, as in a "
        "survey; the others were chosen."
    )


def make_plan(
    analysis: Analysis,
    policy: AbstractPolicy,
    name: str,
    seed: int,
    round_: int,
    k: int,
    spending: Spending | None = None,
    found: Proposal | None = None,
) -> Plan:
    """Choose a batch for a round (unless it was `found` before), and weigh it."""
    found = analysis.propose(policy, seed, round_, k, spending) if found is None else found
    places = _places(analysis, found)
    count = len(places)
    # Rivals have as many rows, and may not cost more than the round may.
    limit = None if spending is None or spending.limit is None else float(spending.limit)
    allowed = None if limit is None else Spending(limit)
    rival = make_policy("uncertainty-sequential")
    uncertain = analysis.propose(rival, seed, round_, count, allowed)
    chance = _random_orders(analysis, count, seed, round_, limit)
    stds = _stds_after(analysis, [places, _places(analysis, uncertain), *chance])
    mean, covariance, chances = analysis.predict(places)
    cost = analysis.arrays.cost
    kept = count <= MOST_COVARIANCES
    return Plan(
        rows=found.rows,
        probabilities=found.probabilities,
        policy=name,
        std=analysis.answer.std,
        expected=stds[0],
        uncertainty=stds[1],
        random=float(np.sqrt(np.mean(np.square(stds[2:])))),
        reasons=_reasons(analysis, places, mean, covariance),
        covariance=_as_tuples(covariance) if kept and chances is None else None,
        treated=found.treated,
        chances=_as_tuples(chances.round(5)) if kept and chances is not None else None,
        cost=None if cost is None else float(cost[list(found.rows)].sum()),
        drawn=found.drawn,
    )


def make_forecast(
    analysis: Analysis,
    policy: AbstractPolicy,
    name: str,
    seed: int,
    round_: int,
    sizes: Sequence[int],
    advance: Callable[[], None] = lambda: None,
    spending: Spending | None = None,
    draw: Draw | None = None,
) -> Forecast:
    """Plan round after round, each given that the labels before it will come."""
    out, treated = list(analysis.known.pending), dict(analysis.known.treated)
    start, total = len(out), len(out) + sum(sizes)
    marks = [start] if start else []
    for index, k in enumerate(sizes):
        # One shape for all rounds: one compilation.
        pool = analysis.pool_with(out, total, treated)
        try:
            found = analysis.propose(policy, seed, round_ + index, k, spending, pool, draw)
        except InvalidInput:
            if index == 0:
                raise
            break  # what is left is not worth its price, or beyond the limit
        out += found.rows
        treated |= dict(zip(found.rows, found.treated or (), strict=False))
        marks.append(len(out))
        advance()
    planned = analysis.places(out, [treated.get(row) for row in out])
    pending = planned[:start]
    chance = [
        np.concatenate([pending, rows])
        for rows in _random_orders(analysis, len(out) - start, seed, round_)
    ]
    paths = _variances_along(analysis, [planned, *chance])[:, [0, *marks]]
    return Forecast(
        policy=name,
        labels=(0, *marks),
        planned=tuple(float(value) for value in np.sqrt(paths[0])),
        random=tuple(float(value) for value in np.sqrt(paths[1:].mean(axis=0))),
    )


def _places(analysis: Analysis, found: Proposal) -> np.ndarray:
    """The rows of a batch among the arms."""
    return analysis.places(found.rows, found.treated or [None] * len(found.rows))


def std_along(analysis: Analysis, orders: Sequence[Any]) -> np.ndarray:
    """Standard deviations expected along lists of rows, as today's belief judges them."""
    return np.sqrt(_variances_along(analysis, orders))


def _random_orders(
    analysis: Analysis, k: int, seed: int, round_: int, limit: float | None = None
) -> list[np.ndarray]:
    free = np.setdiff1d(np.arange(analysis.size), analysis.known.closed)
    rng = np.random.default_rng([seed, round_, 1])
    count = min(k, len(free))
    if limit is None or analysis.arrays.cost is None:
        orders = [rng.choice(free, count, replace=False) for _ in range(ORDERS)]
    else:
        paid = lambda rows: _paid_for(rows, analysis.arrays.cost, limit)[:count]
        orders = [paid(rng.permutation(free)) for _ in range(ORDERS)]
    return [analysis.at_random(rng, rows) for rows in orders]


def _paid_for(rows: np.ndarray, cost: Any, limit: float) -> np.ndarray:
    """Rows in order, but for those that the money left does not reach."""
    chosen, left = [], limit * (1.0 + ROUNDING)
    for row in rows:
        if cost[row] <= left:
            chosen.append(row)
            left -= cost[row]
    return np.array(chosen, int)


def _stds_after(analysis: Analysis, batches: Sequence[Any]) -> list[float]:
    """Standard deviations expected once pending labels and each batch are in."""
    known = analysis.known
    pending = analysis.places(known.pending, [known.treated.get(row) for row in known.pending])
    lists = [[*pending, *batch] for batch in batches]
    return [float(value) for value in np.sqrt(_variances_along(analysis, lists)[:, -1])]


def _variances_along(analysis: Analysis, lists: Sequence[Any]) -> np.ndarray:
    longest = max(len(rows) for rows in lists)
    orders = np.full((len(lists), -(-longest // PAD) * PAD), -1)
    for index, rows in enumerate(lists):
        orders[index, : len(rows)] = rows
    key = jax.random.key(0)
    along = variance_along(
        key, analysis.belief, analysis.estimand, analysis.arms, jnp.asarray(orders)
    )
    found = np.maximum(np.asarray(along)[:, 0, : longest + 1], 0.0)
    if has_closed_form(analysis.belief, analysis.estimand):
        return found
    # The shares of the variance that are left are trusted more than its level, which knows
    # nothing of a linearised estimand's bends, nor of how far components are apart.
    return found * analysis.answer.std**2 / np.maximum(found[:, :1], 1e-300)


def _reasons(analysis: Analysis, rows, mean, covariance) -> tuple[Reason, ...]:
    """Each row's part of the gain, and the part of the target it speaks for."""
    falls = -np.diff(_variances_along(analysis, [rows])[0])
    falls = np.maximum(falls, 0.0)
    gains = falls / falls.sum() if falls.sum() > 0 else np.full(len(rows), 1.0 / len(rows))
    spoken = _speaks_for(analysis, rows, np.diag(covariance))
    stds = np.sqrt(np.diag(covariance))
    return tuple(
        Reason(*(float(value) for value in values))
        for values in zip(gains, spoken, mean, stds, strict=True)
    )


def _speaks_for(analysis: Analysis, rows, variance) -> np.ndarray:
    """Every target row goes to the batch row that explains most of its variance."""
    x = analysis.arms[np.asarray(rows)]
    cross = np.asarray(_covariance(analysis.belief, x, analysis.estimand.x))
    best = np.argmax(cross**2 / variance[:, None], axis=0)
    return np.bincount(best, np.asarray(analysis.estimand.mass), minlength=len(rows))


_covariance = jax.jit(lambda belief, x, other: belief.covariance(x, other))


def _as_tuples(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in matrix)
