"""What a batch may be made of: rows that are free, units taken once, and money.

With costs, a batch is what a round's limit pays for, and each row must be worth its price.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Scalar

from labelwise.inputs import as_scalar
from labelwise.types import Pool

ROUNDING = 1e-12  # three rows at 0.1 are paid for by 0.3


class Spending(eqx.Module):
    """How costs are held against gains: by a limit on a round, by a price, or both.

    `price` is what one unit of cost is worth, in units of the variance that is to fall:
    minimise variance + price · cost. None means that cost only counts against the limit.
    """

    limit: Scalar | None
    price: Scalar | None

    def __init__(self, limit: Any = None, price: Any = None):
        self.limit = None if limit is None else as_scalar("limit", limit, low=0.0, strict=True)
        self.price = None if price is None else as_scalar("price", price, low=0.0)

    @property
    def counts(self) -> bool:
        """Whether costs count at all."""
        return self.limit is not None or self.price is not None


class Candidates(eqx.Module):
    """The rows of a pool, as a batch in the making may choose from them."""

    available: Bool[Array, " pool"]
    unit: Int[Array, " pool"] | None
    cost: Float[Array, " pool"] | None
    spending: Spending

    @staticmethod
    def of(pool: Pool, spending: Spending | None = None) -> "Candidates":
        spending = Spending() if spending is None else spending
        return Candidates(pool.available, pool.unit, pool.cost, spending)

    @property
    def plain(self) -> bool:
        """Whether rows differ in nothing but what they teach."""
        return self.unit is None and self.cost is None

    def open(self, rows: Int[Array, " k"], filled: Bool[Array, " k"]) -> Bool[Array, " pool"]:
        """Rows that may join: free, of no unit in the batch, and paid for."""
        free = self.available & ~self.taken(rows, filled)
        if self.unit is not None:
            units = jnp.where(filled, self.unit[rows], -1)
            free = free & ~jnp.isin(self.unit, units)
        if self.cost is not None and self.spending.limit is not None:
            limit = self.spending.limit * (1.0 + ROUNDING)
            free = free & (self.spent(rows, filled) + self.cost <= limit)
        return free

    def without_money(self) -> "Candidates":
        """The same rows if cost were no matter."""
        return Candidates(self.available, self.unit, None, Spending())

    def spent(self, rows: Int[Array, " k"], filled: Bool[Array, " k"]) -> Scalar:
        """The cost of a batch."""
        if self.cost is None:
            return jnp.zeros(())
        return jnp.sum(jnp.where(filled, self.cost[rows], 0.0))

    def price_of(self, rows: Int[Array, " k"], filled: Bool[Array, " k"]) -> Scalar:
        """What a batch costs, in units of the variance."""
        price = self.spending.price
        return jnp.zeros(()) if price is None else price * self.spent(rows, filled)

    def worth(self, gains: Float[Array, " pool"]) -> Float[Array, " pool"]:
        """Gains less what the rows cost."""
        if self.cost is None or self.spending.price is None:
            return gains
        return gains - self.spending.price * self.cost

    def taken(self, rows: Int[Array, " k"], filled: Bool[Array, " k"]) -> Bool[Array, " pool"]:
        """Rows that are in the batch."""
        size = self.available.shape[0]
        places = jnp.where(filled, rows, size)  # past the end: not written
        return jnp.zeros(size, bool).at[places].set(True, mode="drop")

    def take(self, rows: Int[Array, " some"]) -> "Candidates":
        """The same candidates on some of the rows."""
        some = lambda values: None if values is None else values[rows]
        return Candidates(self.available[rows], some(self.unit), some(self.cost), self.spending)
