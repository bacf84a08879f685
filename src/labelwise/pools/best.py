"""The best rows of a table larger than memory: those of two parts join to both's.

Best are so many rows of all, and so many of each kind besides, lest all that are kept be alike.
Rows whose scores tie go by the hash of their id, so that nothing depends on the order in which
they are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

SCORE, KIND, HASH = "labelwise score", "labelwise kind", "labelwise hash"


@dataclass(frozen=True)
class Best:
    """How many rows are kept."""

    total: int
    each: int  # of each kind, before the rest go by score alone

    def places(self, score: np.ndarray, kind: np.ndarray, hashes: np.ndarray) -> np.ndarray:
        """Where the rows stand that may be among the best of a larger table."""
        order = _ranked(score, hashes)
        kept = np.zeros(len(order), bool)
        kept[: self.total] = True
        kept |= _rank_within(kind[order]) < self.each
        return np.sort(order[kept])

    def joined(self, parts: Sequence[pa.Table]) -> pa.Table:
        """Rows that may be among the best of several tables."""
        table = pa.concat_tables(parts, promote_options="permissive")
        return table.take(pa.array(self.places(*_columns(table))))

    def chosen(self, table: pa.Table) -> pa.Table:
        """The best rows of all, in the order of their hashes."""
        score, kind, hashes = _columns(table)
        rows = self.rows(score, kind, hashes)
        return table.take(pa.array(rows[np.argsort(hashes[rows], kind="stable")]))

    def rows(self, score: np.ndarray, kind: np.ndarray, hashes: np.ndarray) -> np.ndarray:
        """Where the best rows stand: of every kind the best, then the rest."""
        order = _ranked(score, hashes)
        first = _rank_within(kind[order]) < self.each
        return np.concatenate([order[first], order[~first]])[: self.total]


def _columns(table: pa.Table) -> tuple[np.ndarray, ...]:
    return tuple(table[name].to_numpy() for name in (SCORE, KIND, HASH))


def _ranked(score: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Places of rows that have a score, best first."""
    order = np.lexsort((hashes, -score))
    return order[np.isfinite(score[order])]


def _rank_within(kind: np.ndarray) -> np.ndarray:
    """Of rows in their order, how many of the same kind come before each."""
    order = np.argsort(kind, kind="stable")
    ranked = kind[order]
    begins = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if len(kind) else []
    lengths = np.diff(np.r_[begins, len(kind)]).astype(np.int64)
    rank = np.zeros(len(kind), np.int64)
    rank[order] = np.arange(len(kind)) - np.repeat(np.asarray(begins, np.int64), lengths)
    return rank
