"""Parts of a pool by what the model says of a row, and by the groups that are asked about.

The first look counts rows in fine cells: a group, and a bin of the model's output. Strata are
made of neighbouring bins, the finer where more is at stake. Counts are whole numbers, so strata
are the same however the pool is cut into files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from labelwise.pools.sketch import BINS, bins_of
from labelwise.pools.tally import as_floats
from labelwise.tables.ids import as_text

FEW = 64  # groups of which all bins are counted at once

Group = tuple[str, ...]  # a value of each column that groups are made of


@dataclass(frozen=True)
class Cells:
    """How many rows each group has in each bin."""

    counts: dict[tuple[Group, int], int]

    def joined(self, other: "Cells") -> "Cells":
        counts = dict(self.counts)
        for cell, many in other.counts.items():
            counts[cell] = counts.get(cell, 0) + many
        return Cells(counts)

    def table(self) -> tuple[tuple[Group, ...], np.ndarray, np.ndarray]:
        """Groups, bins, and counts, groups × bins; all in order."""
        groups = tuple(sorted({group for group, _ in self.counts}))
        bins = np.array(sorted({bin_ for _, bin_ in self.counts}), np.int64)
        counts = np.zeros((len(groups), len(bins)), np.int64)
        place = {group: line for line, group in enumerate(groups)}
        for (group, bin_), many in self.counts.items():
            counts[place[group], int(np.searchsorted(bins, bin_))] = many
        return groups, bins, counts


@dataclass(frozen=True)
class Strata:
    """How a row's stratum is found."""

    column: str | None  # the model's output; None: one stratum a group
    edges: tuple[int, ...]  # first bins of all parts but the first
    by: tuple[str, ...]  # columns of the groups
    groups: tuple[Group, ...]

    @property
    def count(self) -> int:
        return max(len(self.groups), 1) * (len(self.edges) + 1)

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Strata":
        """Read what JSON has of it."""
        groups = tuple(tuple(group) for group in stored["groups"])
        return Strata(stored["column"], tuple(stored["edges"]), tuple(stored["by"]), groups)

    def of(self, rows: pa.Table) -> np.ndarray:
        """The stratum of each row."""
        part = np.zeros(len(rows), np.int64)
        if self.column is not None:
            bins = bins_of(as_floats(rows[self.column]))
            part = np.searchsorted(np.array(self.edges, np.int64), bins, side="right")
        if not self.by:
            return part
        found, codes = groups_of(rows, self.by)
        place = {group: line for line, group in enumerate(self.groups)}
        lines = np.array([place[group] for group in found], np.int64)
        return lines[codes] * (len(self.edges) + 1) + part


def count_cells(rows: pa.Table, column: str | None, by: Sequence[str]) -> Cells:
    """Of some rows in memory."""
    found, codes = groups_of(rows, by)
    bins = np.zeros(len(rows), np.int64)
    if column is not None:
        bins = bins_of(as_floats(rows[column]))
    cells = codes * BINS + bins
    if len(found) <= FEW:
        counts = np.bincount(cells, minlength=len(found) * BINS)
        cells = np.flatnonzero(counts)
        counts = counts[cells]
    else:
        cells, counts = np.unique(cells, return_counts=True)
    pairs = zip(cells.tolist(), counts.tolist(), strict=True)
    return Cells({(found[cell >> 16], cell & 0xFFFF): many for cell, many in pairs})


def groups_of(rows: pa.Table, by: Sequence[str]) -> tuple[list[Group], np.ndarray]:
    """The groups that are there, and which of them each row belongs to."""
    found: list[Group] = [()]
    codes = np.zeros(len(rows), np.int64)
    for name in by:
        texts, own = _coded(rows[name])
        merged, codes = np.unique(codes * len(texts) + own, return_inverse=True)
        found = [(*found[one // len(texts)], texts[one % len(texts)]) for one in merged]
    return found, codes


def _coded(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """Texts of a column's values, as groups are called elsewhere, and each row's."""
    coded = _one(column).dictionary_encode(null_encoding="encode")
    values = coded.dictionary.to_pylist()
    missing = [value is None or value != value for value in values]
    texts = [
        "missing" if gone else as_text(value)
        for value, gone in zip(values, missing, strict=True)
    ]
    # Values that are written alike, as with a space at the end, are one group.
    names = list(dict.fromkeys(texts))
    place = {text: line for line, text in enumerate(names)}
    own = np.array([place[text] for text in texts], np.int64)
    return names, own[coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)]


def _one(column: pa.ChunkedArray) -> Any:
    """A column in one part, as it is or decoded."""
    whole = column.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def cut(bins: np.ndarray, stake: np.ndarray, parts: int) -> tuple[int, ...]:
    """Edges of at most so many parts of neighbouring bins that have like shares of a stake."""
    ends = np.cumsum(stake) / max(float(stake.sum()), 1e-300)
    places = np.searchsorted(ends, np.arange(1, parts) / parts) + 1
    return tuple(int(bins[place]) for place in np.unique(places) if place < len(bins))
