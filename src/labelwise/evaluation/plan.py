"""What asking would bring: a plan for the next batch, and a forecast of many.

Every plan stands beside random and uncertainty sampling, judged by the same belief, so that
one sees when planning does not help.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax
import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.moments import has_closed_form
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.round import Plan, Reason, verdict
from labelwise.evaluation.survey_forecast import Widths
from labelwise.inputs import as_jax
from labelwise.lookahead.path import variance_along
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.constraints import ROUNDING, Spending
from labelwise.policies.draw import Draw
from labelwise.policies.registry import make_policy
from labelwise.types import Batch

ORDERS = 32  # random batches over which chance is averaged
MOST_COVARIANCES = 50  # batches up to this size keep the joint prediction of their labels
PAD = 16  # rows in a list that is judged come in multiples of this


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


def make_plan(
    analysis: Posterior,
    policy: AbstractPolicy,
    name: str,
    seed: int,
    round_: int,
    k: int,
    spending: Spending | None = None,
    batch: Batch | None = None,
) -> Plan:
    """Choose a batch for a round (unless it is given), and weigh it."""
    batch = analysis.propose(policy, seed, round_, k, spending) if batch is None else batch
    rows, treated = rows_of(batch), treated_of(batch)
    places = _places(analysis, batch)
    count = len(places)
    # Rivals have as many rows, and may not cost more than the round may.
    limit = None if spending is None or spending.limit is None else float(spending.limit)
    allowed = None if limit is None else Spending(limit)
    rival = make_policy("uncertainty-sequential")
    uncertain = analysis.propose(rival, seed, round_, count, allowed)
    chance = _random_orders(analysis, count, seed, round_, limit)
    rivals = [_places(analysis, uncertain), *chance]
    stds, falls = _judge(analysis, places, rivals)
    mean, covariance, chances = analysis.predict(places)
    cost = analysis.arrays.cost
    kept = count <= MOST_COVARIANCES
    return Plan(
        rows=rows,
        probabilities=tuple(float(chance) for chance in np.asarray(batch.probabilities)),
        policy=name,
        std=analysis.answer.std,
        expected=stds[0],
        uncertainty=stds[1],
        random=float(np.sqrt(np.mean(np.square(stds[2:])))),
        reasons=_reasons(analysis, places, falls, mean, covariance),
        covariance=_as_tuples(covariance) if kept and chances is None else None,
        treated=treated,
        chances=_as_tuples(chances.round(5)) if kept and chances is not None else None,
        cost=None if cost is None else float(cost[list(rows)].sum()),
        drawn=tuple(bool(one) for one in np.asarray(batch.drawn)),
    )


def make_forecast(
    analysis: Posterior,
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
            batch = analysis.propose(policy, seed, round_ + index, k, spending, pool, draw)
        except InvalidInput:
            if index == 0:
                raise
            break  # what is left is not worth its price, or beyond the limit
        out += rows_of(batch)
        treated |= dict(zip(rows_of(batch), treated_of(batch) or (), strict=False))
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


def rows_of(batch: Batch) -> tuple[int, ...]:
    """Pool rows, as whole numbers."""
    return tuple(int(row) for row in np.asarray(batch.indices))


def treated_of(batch: Batch) -> tuple[float, ...] | None:
    """How each row is to be treated, if at all."""
    if batch.treatment is None:
        return None
    return tuple(float(arm) for arm in np.asarray(batch.treatment))


def _places(analysis: Posterior, batch: Batch) -> np.ndarray:
    """The rows of a batch among the arms."""
    rows = rows_of(batch)
    return analysis.places(rows, treated_of(batch) or [None] * len(rows))


def std_along(analysis: Posterior, orders: Sequence[Any]) -> np.ndarray:
    """Standard deviations expected along lists of rows, as today's belief judges them."""
    return np.sqrt(_variances_along(analysis, orders))


def _random_orders(
    analysis: Posterior, k: int, seed: int, round_: int, limit: float | None = None
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


def _judge(analysis: Posterior, batch: Any, rivals: Sequence[Any]):
    """Standard deviations once pending labels and the batch, or each rival's, are in.

    And by how much each row of the batch, given those before it, lowers the variance of now.
    """
    known = analysis.known
    pending = analysis.places(known.pending, [known.treated.get(row) for row in known.pending])
    lists = [[*pending, *rows] for rows in (batch, *rivals)]
    along = _variances_along(analysis, [*lists, batch])
    stds = [float(value) for value in np.sqrt(along[:-1, -1])]
    return stds, -np.diff(along[-1, : len(batch) + 1])


def _variances_along(analysis: Posterior, lists: Sequence[Any]) -> np.ndarray:
    longest = max(len(rows) for rows in lists)
    orders = np.full((len(lists), -(-longest // PAD) * PAD), -1)
    for index, rows in enumerate(lists):
        orders[index, : len(rows)] = rows
    key = jax.random.key(0)
    along = variance_along(
        key, analysis.belief, analysis.estimand, analysis.arms, as_jax(orders)
    )
    variances = np.maximum(np.asarray(along)[:, 0, : longest + 1], 0.0)
    if has_closed_form(analysis.belief, analysis.estimand):
        return variances
    # The shares of the variance that are left are trusted more than its level, which knows
    # nothing of a linearised estimand's bends, nor of how far components are apart.
    return variances * analysis.answer.std**2 / np.maximum(variances[:, :1], 1e-300)


def _reasons(analysis: Posterior, rows, falls, mean, covariance) -> tuple[Reason, ...]:
    """Each row's part of the gain, and the part of the target it speaks for."""
    falls = np.maximum(falls, 0.0)
    gains = falls / falls.sum() if falls.sum() > 0 else np.full(len(rows), 1.0 / len(rows))
    spoken = _speaks_for(analysis, rows, np.diag(covariance))
    stds = np.sqrt(np.diag(covariance))
    return tuple(
        Reason(*(float(value) for value in values))
        for values in zip(gains, spoken, mean, stds, strict=True)
    )


def _speaks_for(analysis: Posterior, rows, variance) -> np.ndarray:
    """Every target row goes to the batch row that explains most of its variance."""
    x = as_jax(np.asarray(analysis.arms)[np.asarray(rows)])
    cross = np.asarray(_covariance(analysis.belief, x, analysis.estimand.x))
    best = np.argmax(cross**2 / variance[:, None], axis=0)
    return np.bincount(best, np.asarray(analysis.estimand.mass), minlength=len(rows))


_covariance = jax.jit(lambda belief, x, other: belief.covariance(x, other))


def _as_tuples(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in matrix)
