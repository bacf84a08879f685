"""What asking would bring: a plan for the next batch, and a forecast of many.

Every plan stands beside random and uncertainty sampling, judged by the same belief, so that
one sees when planning does not help.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import jax
import numpy as np
import scipy.special

from labelwise.errors import InvalidInput
from labelwise.estimands.moments import has_closed_form
from labelwise.evaluation.answer import LEVEL
from labelwise.evaluation.needed import Course, Needed
from labelwise.evaluation.posterior import Posterior, Predicted
from labelwise.evaluation.round import Plan, Reason, verdict
from labelwise.evaluation.survey_forecast import Widths
from labelwise.inputs import as_jax
from labelwise.lookahead.path import variance_along
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.constraints import ROUNDING, Spending
from labelwise.policies.draw import Draw
from labelwise.policies.registry import make_policy
from labelwise.tables.html import html_table
from labelwise.tables.text import plain
from labelwise.types import Batch, Pool

ORDERS = 16  # random batches over which chance is averaged
MOST_COVARIANCES = 50  # batches up to this size keep the joint prediction of their labels
PAD = 16  # rows in a list that is judged come in multiples of this


@dataclass(frozen=True)
class Forecast:
    """Expected standard deviation of the estimand against further labels."""

    policy: str
    labels: tuple[int, ...]  # further labels, pending ones included; starts at 0
    planned: tuple[float, ...]
    random: tuple[float, ...]
    draws: Widths | None = None  # of the combined interval, where rows are drawn
    known: int = 0  # labels at hand
    left: int | None = None  # rows that may still be labelled

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "verdict": self.verdict,
            "saved": self.saved,
            "draws": None if self.draws is None else self.draws.to_dict(),
        }

    def labels_for(self, width: float) -> Needed:
        """How many further labels a 90 % interval of this width should take.

        Of the answer that is shown: the combined one where rows are drawn, or else the
        belief's.
        """
        if self.draws is not None:
            return self.draws.labels_for(width)
        totals = [float(max(self.known, 1) + count) for count in self.labels]
        reach = 2.0 * float(scipy.special.ndtri(0.5 + LEVEL / 2.0))
        ours, theirs = (
            Course(totals, [reach * std for std in stds])
            for stds in (self.planned, self.random)
        )
        left = self.labels[-1] if self.left is None else self.left
        return Needed.of(width, ours, theirs, max(self.known, 1), left, measured=False)

    @property
    def verdict(self) -> str:
        """Where rows are drawn, of the interval: the belief's part of it does not tell all."""
        if self.draws is not None:
            return self.draws.verdict
        return verdict(self.policy, self.planned[-1], self.random[-1])

    def plot(self) -> Any:
        """What further labels are expected to bring, as a matplotlib figure."""
        from labelwise.evaluation.plots import plot_forecast

        return plot_forecast(self)

    def _repr_html_(self) -> str:
        if self.draws is None:
            heads = ("further labels", f"standard deviation, {self.policy}", "random rows")
            columns = self.labels, self.planned, self.random
        else:
            heads = ("further labels", "width as planned", "uniform draws")
            columns = self.draws.labels, self.draws.planned, self.draws.uniform
        lines = [
            (count, plain(ours), plain(theirs))
            for count, ours, theirs in zip(*columns, strict=True)
        ]
        return html_table("Expected", lines, [self.verdict], heads)

    @property
    def saved(self) -> int | None:
        """Labels fewer than random sampling needs for the precision it ends with."""
        pairs = zip(self.labels, self.planned, strict=True)
        reached = [count for count, std in pairs if std <= self.random[-1]]
        return self.labels[-1] - reached[0] if reached else None


@dataclass(frozen=True)
class Planner:
    """Chooses batches for what is known now, and weighs them."""

    analysis: Posterior
    policy: AbstractPolicy
    name: str  # of the policy
    seed: int
    round_: int  # the next one
    spending: Spending | None = None
    draw: Draw | None = None  # how chance chooses; None: the policy chooses alone
    std: float | None = None  # of the estimand, as it is answered; None: as draws have it
    given: Batch | None = None  # of the next round, where it was found elsewhere

    def propose(self, k: int, pool: Pool | None = None, ahead: int = 0) -> Batch:
        """The batch of the next round, or of one some rounds `ahead`."""
        if self.given is not None and pool is None:
            return self.given
        round_ = self.round_ + ahead
        return self.analysis.propose(
            self.policy, self.seed, round_, k, self.spending, pool, self.draw
        )

    def plan(self, batch: Batch) -> Plan:
        """A batch, weighed beside random and uncertain rows."""
        analysis, plan = self.analysis, self.unweighed(batch)
        places = _places(analysis, batch)
        stds, falls = self._judge(places, self._rivals(len(places)))
        predicted = analysis.predict(places)
        covariance, chances = predicted.covariance, predicted.chances
        kept = len(places) <= MOST_COVARIANCES
        return replace(
            plan,
            std=self._std,
            expected=stds[0],
            uncertainty=stds[1],
            random=float(np.sqrt(np.mean(np.square(stds[2:])))),
            reasons=_reasons(predicted, falls, np.asarray(analysis.estimand.mass)),
            covariance=_as_tuples(covariance) if kept and chances is None else None,
            chances=_as_tuples(chances.round(5)) if kept and chances is not None else None,
        )

    def unweighed(self, batch: Batch) -> Plan:
        """A batch, and nothing of what it is expected to bring."""
        rows, cost = rows_of(batch), self.analysis.arrays.cost
        return Plan(
            rows=rows,
            probabilities=tuple(float(chance) for chance in np.asarray(batch.probabilities)),
            policy=self.name,
            std=math.nan,
            expected=math.nan,
            uncertainty=math.nan,
            random=math.nan,
            reasons=(),
            covariance=None,
            treated=treated_of(batch),
            cost=None if cost is None else float(cost[list(rows)].sum()),
            drawn=tuple(bool(one) for one in np.asarray(batch.drawn)),
        )

    def forecast(
        self, sizes: Sequence[int], advance: Callable[[], None] = lambda: None
    ) -> Forecast:
        """Plan round after round, each given that the labels before it will come."""
        analysis = self.analysis
        start = len(analysis.known.pending)
        out, treated, marks = self._look_ahead(sizes, advance)
        planned = analysis.places(out, [treated.get(row) for row in out])
        chance = [
            np.concatenate([planned[:start], rows])
            for rows in self._random_orders(len(out) - start)
        ]
        paths = self._variances_along([planned, *chance])[:, [0, *marks]]
        return Forecast(
            policy=self.name,
            labels=(0, *marks),
            planned=tuple(float(value) for value in np.sqrt(paths[0])),
            random=tuple(float(value) for value in np.sqrt(paths[1:].mean(axis=0))),
            known=len(analysis.arrays.labels) + len(analysis.known.rows),
            left=analysis.size - len(analysis.known.closed),
        )

    def std_along(self, orders: Sequence[Any]) -> np.ndarray:
        """Standard deviations expected along lists of rows, as today's belief judges them."""
        return np.sqrt(self._variances_along(orders))

    @cached_property
    def _std(self) -> float:
        return self.analysis.answer.std if self.std is None else self.std

    def _look_ahead(self, sizes: Sequence[int], advance: Callable[[], None]):
        """All rows that will be out, their treatments, and how many after each round."""
        analysis = self.analysis
        out, treated = list(analysis.known.pending), dict(analysis.known.treated)
        marks, total = [len(out)] if out else [], len(out) + sum(sizes)
        for ahead, k in enumerate(sizes):
            # One shape for all rounds: one compilation.
            pool = analysis.pool_with(out, total, treated)
            try:
                batch = self.propose(k, pool, ahead)
            except InvalidInput:
                if ahead == 0:
                    raise
                break  # what is left is not worth its price, or beyond the limit
            out += rows_of(batch)
            treated |= dict(zip(rows_of(batch), treated_of(batch) or (), strict=False))
            marks.append(len(out))
            advance()
        return out, treated, marks

    def _rivals(self, count: int) -> list[np.ndarray]:
        """As many uncertain rows, and random ones; neither may cost more than the round may."""
        spending = self.spending
        limit = None if spending is None or spending.limit is None else float(spending.limit)
        allowed = None if limit is None else Spending(limit)
        rival = make_policy("uncertainty-sequential")
        uncertain = self.analysis.propose(rival, self.seed, self.round_, count, allowed)
        return [_places(self.analysis, uncertain), *self._random_orders(count, limit)]

    def _random_orders(self, k: int, limit: float | None = None) -> list[np.ndarray]:
        analysis = self.analysis
        free = np.setdiff1d(np.arange(analysis.size), analysis.known.closed)
        rng = np.random.default_rng([self.seed, self.round_, 1])
        count = min(k, len(free))
        if limit is None or analysis.arrays.cost is None:
            orders = [rng.choice(free, count, replace=False) for _ in range(ORDERS)]
        else:
            paid = lambda rows: _paid_for(rows, analysis.arrays.cost, limit)[:count]
            orders = [paid(rng.permutation(free)) for _ in range(ORDERS)]
        return [analysis.at_random(rng, rows) for rows in orders]

    def _judge(self, batch: Any, rivals: Sequence[Any]):
        """Standard deviations once pending labels and the batch, or each rival's, are in.

        And by how much each row of the batch, given those before it, lowers the variance of
        now.
        """
        known = self.analysis.known
        treated = [known.treated.get(row) for row in known.pending]
        pending = self.analysis.places(known.pending, treated)
        lists = [[*pending, *rows] for rows in (batch, *rivals)]
        along = self._variances_along([*lists, batch])
        stds = [float(value) for value in np.sqrt(along[:-1, -1])]
        return stds, -np.diff(along[-1, : len(batch) + 1])

    def _variances_along(self, lists: Sequence[Any]) -> np.ndarray:
        analysis, longest = self.analysis, max(len(rows) for rows in lists)
        orders = np.full((len(lists), -(-longest // PAD) * PAD), -1)
        for index, rows in enumerate(lists):
            orders[index, : len(rows)] = rows
        key = jax.random.key(0)
        along = variance_along(
            key, analysis.belief, analysis.estimand, analysis.arms, as_jax(orders)
        )
        variances = np.maximum(np.asarray(along)[:, 0, : longest + 1], 0.0)
        if self.std is None and has_closed_form(analysis.belief, analysis.estimand):
            return variances
        # The shares of the variance that are left are trusted more than its level, which knows
        # nothing of a linearised estimand's bends, of noise, nor of how far components are
        # apart.
        return variances * self._std**2 / np.maximum(variances[:, :1], 1e-300)


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


def _paid_for(rows: np.ndarray, cost: Any, limit: float) -> np.ndarray:
    """Rows in order, but for those that the money left does not reach."""
    chosen, left = [], limit * (1.0 + ROUNDING)
    for row in rows:
        if cost[row] <= left:
            chosen.append(row)
            left -= cost[row]
    return np.array(chosen, int)


def _reasons(predicted: Predicted, falls: np.ndarray, mass: np.ndarray) -> tuple[Reason, ...]:
    """Each row's part of the gain, and the part of the target it speaks for."""
    falls, rows = np.maximum(falls, 0.0), len(predicted.mean)
    gains = falls / falls.sum() if falls.sum() > 0 else np.full(rows, 1.0 / rows)
    variance = np.diag(predicted.covariance)
    # Every target row goes to the batch row that explains most of its variance.
    best = np.argmax(predicted.cross**2 / variance[:, None], axis=0)
    spoken = np.bincount(best, mass, minlength=rows)
    return tuple(
        Reason(*(float(value) for value in values))
        for values in zip(gains, spoken, predicted.mean, np.sqrt(variance), strict=True)
    )


def _as_tuples(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in matrix)
