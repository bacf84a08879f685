"""The records that every layer shares: rows one may label, and the batch chosen from them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from labelwise.errors import InvalidInput
from labelwise.inputs import as_fractions, as_indices, as_jax, as_matrix, as_vector, is_traced
from labelwise.tables.text import name_rows

# A logit for rows that must never be drawn: finite, so that gradients stay zero, not NaN.
EXCLUDED = -1e30
EMPTY = -1  # a place of a batch that no row was worth, or that money did not reach


class Assignment(eqx.Module):
    """Treatments that chance gives to chosen units: 1 with the unit's `chance`, else 0."""

    chance: Float[Array, " pool"]
    column: int = eqx.field(static=True)  # of the treatment among the features

    def __init__(self, column: int, chance: Any, size: int):
        chance = jnp.full(size, chance, float) if np.ndim(chance) == 0 else chance
        self.chance = as_fractions("assignment chance", chance, size, "pool x")
        self.column = int(column)


class Pool(eqx.Module):
    """The rows one may send to be labelled.

    `available` is False for rows already labelled or pending: no policy can choose them.
    `pending` lists the rows that are out; policies plan as if their labels were to come, so
    name them here rather than only mark them as not available. -1 is an unused place: keep the
    length fixed from round to round and planning compiles once.
    `unit` says which rows are one thing, so that a batch takes at most one of them: the same
    patient under two treatments. `assignment` is for experiments in which chance decides how
    a chosen unit is treated; the treatment of a row that is out stands in its `x`.
    """

    x: Float[Array, "pool dim"]
    available: Bool[Array, " pool"]
    pending: Int[Array, " pending"]  # asked, label not back yet; -1 for none
    cost: Float[Array, " pool"] | None  # of labelling each row; None: all alike
    unit: Int[Array, " pool"] | None  # None: every row is its own
    assignment: Assignment | None

    def __init__(
        self,
        x: Any,
        available: Any = None,
        pending: Any = None,
        *,
        cost: Any = None,
        unit: Any = None,
        assignment: Assignment | None = None,
    ):
        self.x = as_matrix("pool x", x)
        size = self.x.shape[0]
        if size == 0:
            raise InvalidInput(
                "The pool is empty",
                "give at least one row that can be labelled",
                where="pool x",
            )
        self.pending = _as_pending(() if pending is None else pending, size)
        mask = _as_mask(np.ones(size, bool) if available is None else available, size)
        self.cost = None if cost is None else _as_cost(cost, size)
        self.unit = None if unit is None else _as_unit(unit, size)
        self.available = _left(mask, self.pending, self.unit)
        self.assignment = assignment
        if assignment is not None:
            _check_assignment(assignment, self.x)

    @property
    def size(self) -> int:
        return self.x.shape[0]

    @property
    def arms(self) -> Float[Array, "arms dim"]:
        """The rows one may come to label: where chance decides on treatments, each unit
        untreated, then each unit treated; else the rows themselves."""
        if self.assignment is None:
            return self.x
        column = self.assignment.column
        return jnp.concatenate([self.x.at[:, column].set(arm) for arm in (0.0, 1.0)])

    def take(self, rows: Int[Array, " some"]) -> "Pool":
        """Keep some of the rows; what is pending is added to them, not available."""
        used = self.pending >= 0
        out = jnp.where(used, self.pending, 0)
        every = jnp.concatenate([rows, out])
        some = lambda values: None if values is None else values[every]
        available = self.available[every].at[rows.shape[0] :].set(False)
        places = jnp.where(used, rows.shape[0] + jnp.arange(out.shape[0]), -1)
        assignment = self.assignment
        if assignment is not None:
            chance = assignment.chance[every]
            assignment = eqx.tree_at(lambda given: given.chance, assignment, chance)
        return Pool(
            self.x[every],
            available,
            places,
            cost=some(self.cost),
            unit=some(self.unit),
            assignment=assignment,
        )

    def without(self, indices: Any) -> "Pool":
        """The same pool with these rows no longer available; what is pending stays so.

        Nor are other rows of their units: a patient treated is not untreated later.
        """
        rows = as_indices("indices", indices, self.size, "the pool")
        available = _left(self.available, rows, self.unit)
        return eqx.tree_at(lambda pool: pool.available, self, available)

    def count_left(self) -> int:
        """Count how many more rows can be labelled: of each unit, one."""
        units = np.arange(self.size) if self.unit is None else np.asarray(self.unit)
        return len(np.unique(units[np.asarray(self.available)]))

    def check_can_give(self, k: int) -> None:
        """Refuse a batch larger than what is left."""
        if is_traced(self.available):
            return
        left = self.count_left()
        if k > left:
            raise InvalidInput(
                f"Cannot choose a batch of {k} from {left} available pool rows",
                f"ask for at most {left}" if left else "the pool is used up",
                where="k",
            )


class Batch(eqx.Module):
    """The rows chosen in one round, with what is needed to audit the choice."""

    indices: Int[Array, " k"]  # pool rows, in the order they were chosen or drawn
    probabilities: Float[Array, " k"]  # chance of each draw given those before; 1 if not drawn
    scores: Float[Array, " pool"]  # what the policy ranked the rows by, before any was chosen
    logits: Float[Array, " pool"]  # log-weights of a draw from the policy; EXCLUDED = never
    drawn: Bool[Array, " k"]  # whether chance chose it, from all rows left
    treatment: Float[Array, " k"] | None = None  # given by chance, where chance decides


def _as_mask(available: Any, size: int) -> Bool[Array, " pool"]:
    if is_traced(available):
        return available
    mask = np.asarray(available)
    if mask.dtype != bool and not np.isin(mask, [0, 1]).all():
        raise InvalidInput.must(
            "pool available", "hold True or False for each row", f"it holds {mask.dtype}"
        )
    _check_shape("pool available", mask, size, "give one True or False a row")
    return as_jax(np.array(mask, bool))


def _check_shape(name: str, values: np.ndarray, size: int, remedy: str) -> None:
    if values.shape != (size,):
        what = f"{name} has shape {values.shape} but pool x has {size} rows"
        raise InvalidInput(what, remedy, where=name)


@jax.jit  # one program, since pools are made eagerly
def _left(available, rows, unit) -> Bool[Array, " pool"]:
    """Take these rows, -1 for none, and all others of their units from what is available."""
    size = available.shape[0]
    places = jnp.where(rows < 0, size, rows)  # past the end: not written
    gone = jnp.zeros(size, bool).at[places].set(True, mode="drop")
    if unit is not None:
        gone = jnp.zeros(size, bool).at[unit].max(gone)[unit]
    return available & ~gone


def _check_assignment(assignment: Assignment, x: Float[Array, "pool dim"]) -> None:
    size, features = x.shape
    if assignment.chance.shape[0] != size:
        raise InvalidInput(
            f"assignment chance has {assignment.chance.shape[0]} values but pool x has {size} "
            "rows",
            "give one chance a unit",
            where="assignment chance",
        )
    if not -features <= assignment.column < features:
        raise InvalidInput(
            f"Chance is to set the treatment in column {assignment.column}, but pool x has "
            f"{features} features",
            "columns are numbered from 0",
            where="assignment column",
        )


def _as_cost(cost: Any, size: int) -> Float[Array, " pool"]:
    vector = as_vector("pool cost", cost, size, "pool x")
    if not is_traced(vector):
        bad = np.flatnonzero(np.asarray(vector) <= 0.0)
        if bad.size:
            raise InvalidInput.must(
                "pool cost",
                "be positive",
                f"see {name_rows(bad)}: free labels cannot be weighed against others",
            )
    return vector


def _as_unit(unit: Any, size: int) -> Int[Array, " pool"]:
    if is_traced(unit):
        return unit
    names = np.asarray(unit)
    _check_shape("pool unit", names, size, "name the unit of each row")
    return as_jax(np.unique(names, return_inverse=True)[1].ravel())


def _as_pending(pending: Any, size: int) -> Int[Array, " pending"]:
    if is_traced(pending):
        return pending
    places = as_indices("pool pending", pending, size, "pool x", unused=-1)
    rows, counts = np.unique(np.asarray(pending), return_counts=True)
    if (counts[rows != -1] > 1).any():
        raise InvalidInput(
            f"pool pending holds {name_rows(rows[(counts > 1) & (rows != -1)])} more than once",
            "give each pending row once",
            where="pool pending",
        )
    return places
