"""Rows of a larger pool that join the sample of it, because a round asks for them.

A row that a policy chooses among all rows may be outside of the sample. It comes to the pool
with the round that asks for it, after all that are there, and from then on stands for itself:
it is a part of the pool that is known row by row, and the sample stands for the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Joined:
    """Rows that come with a round."""

    ids: tuple[str, ...]
    strata: tuple[int, ...]  # that the first phase had them in
    table: bytes = field(repr=False)  # Parquet: the rows, as the pool table has them

    def to_dict(self) -> dict[str, Any]:
        """All but the rows themselves, which are stored beside it."""
        return {"ids": list(self.ids), "strata": list(self.strata)}

    @staticmethod
    def from_dict(stored: Mapping[str, Any], table: bytes) -> "Joined":
        return Joined(tuple(stored["ids"]), tuple(stored["strata"]), table)
