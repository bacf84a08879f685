"""What every row together says of each column: statistics of two parts that join to both's.

Of numbers their count, mean, spread, extent and quantiles; of texts their levels. Joined in the
order of the pieces, they are the same to the last bit whoever counted. No sum goes through
BLAS, whose order of adding depends on how many threads it has.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from labelwise.pools.sketch import Sketch
from labelwise.tables.ids import as_text

MOST_LEVELS = 5000  # of a column of texts; one with more names rows, not kinds
MISSING = "(missing)"
REST, SKETCH = b"labelwise tally", b"labelwise sketch of "
EMPTY = Sketch(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True)
class Numbers:
    """A column of numbers."""

    count: int = 0
    missing: int = 0
    mean: float = 0.0
    square: float = 0.0  # sum of squares around the mean
    low: float = np.inf
    high: float = -np.inf
    sketch: Sketch = field(default=EMPTY, repr=False)

    @property
    def std(self) -> float:
        return float(np.sqrt(self.square / max(self.count, 1)))

    def quantile(self, share: float) -> float:
        """To the width of a bin, and within the extent."""
        return float(np.clip(self.sketch.quantile(share), self.low, self.high))

    def joined(self, other: "Numbers") -> "Numbers":
        """Of both. [Chan, Golub, LeVeque 1979]"""
        count, apart = self.count + other.count, other.mean - self.mean
        if not count:
            return Numbers(missing=self.missing + other.missing)
        both = self.square + other.square
        return Numbers(
            count,
            self.missing + other.missing,
            self.mean + apart * other.count / count,
            both + apart**2 * self.count * other.count / count,
            min(self.low, other.low),
            max(self.high, other.high),
            self.sketch.joined(other.sketch),
        )


@dataclass(frozen=True)
class Tally:
    """All columns that were counted."""

    rows: int = 0
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, int] | None] = field(default_factory=dict)

    def joined(self, other: "Tally") -> "Tally":
        """Of both."""
        if not self.rows:
            return other
        numbers = {name: one.joined(other.numbers[name]) for name, one in self.numbers.items()}
        levels = {
            name: _joined_levels(one, other.levels[name]) for name, one in self.levels.items()
        }
        return Tally(self.rows + other.rows, numbers, levels)

    def to_dict(self) -> dict[str, Any]:
        """For people and programs: of numbers their quartiles, of texts the commonest."""
        return {
            "rows": self.rows,
            "numbers": {name: _told(one) for name, one in self.numbers.items()},
            "levels": {
                name: None if one is None else dict(_ranked(one)[:30])
                for name, one in self.levels.items()
            },
        }


def to_parts(tally: Tally) -> dict[bytes, bytes]:
    """Everything, to the last bit: one part in JSON, and the sketch of every column."""
    fields = ("count", "missing", "mean", "square", "low", "high")
    each = {
        name: {field: getattr(one, field) for field in fields}
        for name, one in tally.numbers.items()
    }
    told = {"rows": tally.rows, "numbers": each, "levels": tally.levels}
    sketches = {
        SKETCH + name.encode(): one.sketch.to_bytes() for name, one in tally.numbers.items()
    }
    return {REST: json.dumps(told).encode(), **sketches}


def from_parts(parts: Mapping[bytes, bytes]) -> Tally:
    """Read what `to_parts` wrote."""
    stored = json.loads(parts[REST])
    sketch = lambda name: Sketch.from_bytes(parts[SKETCH + name.encode()])
    numbers = {
        name: Numbers(**fields, sketch=sketch(name))
        for name, fields in stored["numbers"].items()
    }
    return Tally(stored["rows"], numbers, stored["levels"])


def tally_rows(rows: pa.Table, columns: Sequence[str]) -> Tally:
    """Of some rows in memory."""
    numbers, levels = {}, {}
    for name in columns:
        column, kind = rows[name], rows.schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            numbers[name] = count_numbers(as_floats(column))
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            levels[name] = count_levels(column)
    return Tally(len(rows), numbers, levels)


def as_floats(column: pa.ChunkedArray) -> np.ndarray:
    """Numbers in double precision, NaN where there is none."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if column.null_count or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy().astype(float, copy=False)


def count_numbers(values: np.ndarray) -> Numbers:
    """Statistics of some numbers; infinite ones count as what they are in extent alone."""
    with np.errstate(invalid="ignore", over="ignore"):
        mean = float(values.mean()) if len(values) else np.nan
        gaps = not np.isfinite(mean) and np.isnan(values).any()  # else there are none
        known = values[~np.isnan(values)] if gaps else values
        if not len(known):
            return Numbers(missing=len(values))
        mean = float(known.mean()) if gaps else mean
        away = known - mean
        square = float(np.multiply(away, away, out=away).sum())
    low, high = float(known.min()), float(known.max())
    missing = len(values) - len(known)
    return Numbers(len(known), missing, mean, square, low, high, Sketch.of(known))


def count_levels(column: pa.ChunkedArray) -> dict[str, int] | None:
    """How often each text comes; None if there are too many to be kinds."""
    found = column.value_counts()
    if len(found) > MOST_LEVELS:
        return None
    counts: dict[str, int] = {}
    for one in found.to_pylist():
        text = MISSING if one["values"] is None else as_text(one["values"])
        counts[text] = counts.get(text, 0) + one["counts"]
    return counts


def _joined_levels(
    first: Mapping[str, int] | None, second: Mapping[str, int] | None
) -> dict[str, int] | None:
    if first is None or second is None:
        return None
    both = dict(first)
    for level, many in second.items():
        both[level] = both.get(level, 0) + many
    return both if len(both) <= MOST_LEVELS else None


def _ranked(levels: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(levels.items(), key=lambda one: (-one[1], one[0]))


def _told(numbers: Numbers) -> dict[str, Any]:
    known = numbers.count > 0
    quartiles = [numbers.quantile(share) for share in (0.25, 0.5, 0.75)] if known else []
    return {
        "count": numbers.count,
        "missing": numbers.missing,
        "mean": numbers.mean,
        "std": numbers.std,
        "low": numbers.low if known else None,
        "high": numbers.high if known else None,
        "quartiles": quartiles,
    }
