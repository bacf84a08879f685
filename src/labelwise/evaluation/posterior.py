"""All that is known at one instant, ready to be reasoned with: belief, estimand and pool.

The same code serves a live campaign and a back-test on known labels. Rows are padded to
fixed multiples with labels of weight 0 (absent), so that a round rarely compiles anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from labelwise.beliefs.fit import PAD, padded
from labelwise.beliefs.stored import build_belief
from labelwise.errors import NumericalError
from labelwise.estimands.base import AbstractEstimand, LinearEstimand
from labelwise.estimands.combine import parts_of
from labelwise.estimands.moments import has_closed_form, representative_values
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.fit import fit_prior
from labelwise.evaluation.labels import LabelSet, as_treated, known_rows
from labelwise.evaluation.question import Inquiry, Quantity
from labelwise.evaluation.target_moments import TargetMoments, target_moments, target_shifts
from labelwise.inputs import as_jax
from labelwise.numerics import add_diagonal
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.constraints import Spending
from labelwise.policies.draw import Draw
from labelwise.programs import program
from labelwise.types import Assignment, Batch, Pool

PAD_PENDING = 16
DRAWS = 5000  # of the estimand, for quantiles
OUTCOME_DRAWS = 2000  # of expected labels, for their covariance
CHANCES = 64  # draws of chances that are kept with a batch, to hold its labels to


@dataclass(frozen=True)
class Outcome:
    """What the belief says of one question."""

    question: Quantity
    mean: float
    std: float
    draws: np.ndarray


class Predicted(NamedTuple):
    """What is expected of the labels of some rows."""

    mean: np.ndarray
    covariance: np.ndarray
    cross: np.ndarray  # covariance of the function with the target's rows, rows × target
    chances: np.ndarray | None = None  # of 0/1 labels, draws × rows


@dataclass(frozen=True)
class Posterior:
    """A belief given all labels, and what it says."""

    arrays: Arrays
    known: LabelSet
    prior: dict[str, Any]  # as fitted, with what tells whether to trust it
    belief: Any  # conditioned on all labels
    inquiry: Inquiry
    assignment: Mapping[str, Any] | None = None  # of treatments

    @staticmethod
    def of(
        arrays: Arrays,
        known: LabelSet,
        inquiry: Inquiry,
        belief: Mapping[str, Any],
        seed: int,
        fitted: Mapping[str, Any] | None = None,
        assignment: Mapping[str, Any] | None = None,
        start: Sequence[float] | None = None,
    ) -> "Posterior":
        """Fit (unless `fitted` is a fit of the same labels) and condition.

        A fit may `start` where an earlier one ended.
        """
        arrays = as_treated(arrays, known)
        prior = dict(fitted) if fitted else fit_prior(arrays, known, belief, seed, start)
        posterior = _condition(build_belief(prior), *_padded(*known_rows(arrays, known, seed)))
        numbers = jax.tree.leaves(eqx.filter(posterior, eqx.is_inexact_array))
        if not all(np.isfinite(leaf).all() for leaf in numbers):
            raise NumericalError(
                "The belief broke down: labels contradict it to rounding",
                "drop repeated rows or choose another kernel",
                where="belief",
            )
        return Posterior(arrays, known, prior, posterior, inquiry, assignment)

    @cached_property
    def estimand(self) -> AbstractEstimand:
        """On the target rows that stand for all."""
        thinned = self.arrays.thin is not None
        mass = self.arrays.thin_mass if thinned else self.arrays.mass
        return self.inquiry.build(self.arrays, self._thin, mass)

    @property
    def _thin(self) -> Any:
        return slice(None) if self.arrays.thin is None else self.arrays.thin

    @property
    def planned_treatment(self) -> bool:
        """Whether plans propose the treatment too: then each pool row stands there twice."""
        return self.assignment is not None and self.assignment["mode"] == "planned"

    @cached_property
    def pool(self) -> Pool:
        return self.pool_with(self.known.pending, PAD_PENDING)

    def pool_with(
        self,
        pending: Sequence[int],
        multiple: int,
        treated: Mapping[int, float] | None = None,
    ) -> Pool:
        """The pool with these rows out; places for them come in multiples."""
        treated = self.known.treated if treated is None else treated
        available = np.ones(self.size, bool)
        available[[*self.known.closed, *pending]] = False
        places = np.full(-(-len(pending) // multiple) * multiple, -1)
        places[: len(pending)] = self.places(pending, [treated.get(row) for row in pending])
        twice = 2 if self.planned_treatment else 1
        cost = self.arrays.cost
        return Pool(
            self.arms if self.planned_treatment else self._as_treated_x(treated),
            np.tile(available, twice),
            places if self.planned_treatment else _units(places, self.size),
            cost=None if cost is None else np.tile(cost, twice),
            unit=np.tile(np.arange(self.size), 2) if self.planned_treatment else None,
            assignment=self._assignment,
        )

    @property
    def size(self) -> int:
        return len(self.arrays.pool)

    @property
    def _assignment(self) -> Assignment | None:
        if self.arrays.chance is None or self.arrays.treatment_column is None:
            return None
        return Assignment(self.arrays.treatment_column, self.arrays.chance, self.size)

    def _as_treated_x(self, treated: Mapping[int, float]) -> jax.Array:
        column = self.arrays.treatment_column
        if column is None or not treated:
            return self._pool_x
        rows = np.fromiter(treated, int)
        values = np.fromiter(treated.values(), float)
        return self._pool_x.at[rows, column].set(values)

    @cached_property
    def _pool_x(self) -> jax.Array:
        return as_jax(np.array(self.arrays.pool))

    @cached_property
    def arms(self) -> jax.Array:
        """Rows as they may be treated: untreated, then treated; else as they are."""
        column = self.arrays.treatment_column
        if column is None or self.assignment is None or self.assignment["mode"] == "given":
            return self._pool_x
        return jnp.concatenate([self._pool_x.at[:, column].set(arm) for arm in (0.0, 1.0)])

    def places(self, rows: Sequence[int], treated: Sequence[float | None]) -> np.ndarray:
        """Where rows with their treatments stand among the arms."""
        return np.array(
            [row + self.size * int(arm or 0.0) for row, arm in zip(rows, treated, strict=True)],
            int,
        )

    def at_random(self, rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
        """Where rows stand among the arms if chance treats them."""
        if len(self.arms) == self.size:
            return rows
        chance = self.arrays.chance
        chance = np.full(self.size, 0.5) if chance is None else chance
        return rows + self.size * (rng.uniform(size=len(rows)) < chance[rows])

    @cached_property
    def answers(self) -> tuple[Outcome, ...]:
        """To each question: moments over the whole target, draws from the rows for it."""
        parts = parts_of(self.estimand)
        found = target_moments(self.belief, parts)
        outcomes = [self._answer(index, moments) for index, moments in enumerate(found)]
        if not all(np.isfinite([outcome.mean, outcome.std]).all() for outcome in outcomes):
            raise NumericalError(
                "The belief broke down: the estimate is not finite",
                "bring labels and features to ordinary scales",
                where="belief",
            )
        return tuple(outcomes)

    def shifts(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Of each question, from some rows that stand for the target to all of them.

        Unless said, from those that plans look at.
        """
        arrays, every = self.arrays, len(self.arrays.target)
        if rows is None:
            rows = np.arange(every) if arrays.thin is None else arrays.thin
        if len(rows) == every:
            return np.zeros(len(self.inquiry.questions))
        parts = parts_of(self.estimand)
        if len(rows) != (every if arrays.thin is None else len(arrays.thin)):
            # Each of thin rows counts alike.
            mass = None if arrays.mass is None or arrays.thin is not None else arrays.mass[rows]
            parts = [one.build(arrays, rows, mass) for one in self.inquiry.questions]
        wholes = [one.build(arrays, mass=arrays.mass) for one in self.inquiry.questions]
        return target_shifts(self.belief, parts, wholes)

    @property
    def answer(self) -> Outcome:
        """To the first question."""
        return self.answers[0]

    def _answer(self, index: int, moments: TargetMoments) -> Outcome:
        question = self.inquiry.questions[index]
        draws = self._values[:, index]
        mean, std = draws.mean(), draws.std(ddof=min(1, len(draws) - 1))
        if len(draws) < DRAWS:
            draws = _spread_out(draws)
        if moments.mean is not None and moments.variance is not None:
            mean, std = moments.mean, np.sqrt(max(moments.variance, 0.0))
            if self.is_linear(index):
                draws = mean + std * _NORMAL
        shift = float(self._shifts[index])
        return Outcome(question, float(mean) + shift, float(std), draws + shift)

    @cached_property
    def _shifts(self) -> np.ndarray:
        return self.shifts()

    def is_linear(self, index: int) -> bool:
        """Whether the number asked for is Gaussian, as the function is."""
        part = parts_of(self.estimand)[index]
        return isinstance(part, LinearEstimand) and has_closed_form(self.belief, part)

    @cached_property
    def _values(self) -> np.ndarray:
        """Draws of every part of the estimand; none are needed where all are linear."""
        parts = parts_of(self.estimand)
        linear = all(isinstance(part, LinearEstimand) for part in parts)
        if linear and has_closed_form(self.belief, self.estimand):
            return np.zeros((2, len(parts)))
        values = representative_values(jax.random.key(0), self.belief, self.estimand, DRAWS)
        return np.asarray(values).reshape(-1, len(parts))

    def propose(
        self,
        policy: AbstractPolicy,
        seed: int,
        round_: int,
        k: int,
        spending: Spending | None = None,
        pool: Pool | None = None,
        draw: Draw | None = None,
    ) -> Batch:
        """The next batch, in the pool's own rows; all chance comes from (seed, round)."""
        pool = self.pool if pool is None else pool
        key = round_key(seed, round_)
        batch = policy.propose(key, self.belief, self.estimand, pool, k, spending, draw)
        if not self.planned_treatment:
            return batch
        rows = np.asarray(batch.indices)
        arms = (rows // self.size).astype(float)
        return replace(batch, indices=as_jax(rows % self.size), treatment=as_jax(arms))

    def predict(self, places: Any) -> Predicted:
        """What is expected of the labels at some arms."""
        x, target = as_jax(np.asarray(self.arms)[np.asarray(places)]), self.estimand.x
        if self.belief.has_number_labels:
            mean, covariance, cross = map(np.asarray, _label_moments(self.belief, x, target))
            return Predicted(mean, covariance, cross)
        chances, cross = map(np.asarray, _outcome_draws(self.belief, x, target))
        mean = chances.mean(axis=0)
        covariance = np.cov(chances.T).reshape(len(mean), len(mean))
        np.fill_diagonal(covariance, mean * (1.0 - mean))
        return Predicted(mean, covariance, cross, chances[:CHANCES])


# Quantiles of a standard normal, that stand for draws of what is known to be normal.
_NORMAL = scipy.special.ndtri((np.arange(DRAWS) + 0.5) / DRAWS)


def _spread_out(values: np.ndarray) -> np.ndarray:
    """What a few functions say of one more like them: Student's law around their mean."""
    count = len(values)
    if count < 2 or not values.std():
        return np.full(DRAWS, values.mean())
    chances = (np.arange(DRAWS) + 0.5) / DRAWS
    away = scipy.special.stdtrit(count - 1, chances) * np.sqrt(1.0 + 1.0 / count)
    return values.mean() + values.std(ddof=1) * away


def _units(places: np.ndarray, size: int) -> np.ndarray:
    """Arms as units again; -1 stays an unused place."""
    return np.where(places < 0, -1, places % size)


@jax.jit
def round_key(seed: int | jax.Array, round_: int | jax.Array) -> jax.Array:
    """The key of one round."""
    return jax.random.fold_in(jax.random.key(seed), round_)


def _padded(x: np.ndarray, y: np.ndarray):
    extra = -len(y) % PAD if len(y) else PAD
    weight = np.arange(len(y) + extra) < len(y)
    return as_jax(padded(x, extra)), as_jax(np.pad(y, (0, extra))), as_jax(weight.astype(float))


@program
def _condition(prior, x, y, weight):
    return prior.condition(x, y, weight)


@program
def _label_moments(belief, x, target):
    """Mean and covariance of labels at `x`, and covariance of the function with the target."""
    both = belief.covariance(x, jnp.concatenate([x, target]))
    own, cross = both[:, : len(x)], both[:, len(x) :]
    return belief.mean(x), add_diagonal(own, belief.likelihood.noise), cross


@program
def _outcome_draws(belief, x, target):
    """Joint draws of the expected labels at some rows; their covariance with the target."""
    functions = belief.sample(jax.random.key(0), x, OUTCOME_DRAWS)
    return belief.likelihood.mean(functions), belief.covariance(x, target)
