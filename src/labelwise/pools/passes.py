"""The two looks of a pass: how rows lie over strata, then everything else at once.

The first reads the model's output and the columns of groups alone. The second reads every
column that is needed, once: it checks cells, counts, keeps hashes of ids, and gives the rows
that may be in the sample.
"""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from labelwise.errors import InvalidInput
from labelwise.pools.checkpoint import Checkpoint
from labelwise.pools.checks import Checks, check_cells, check_tally
from labelwise.pools.duplicates import repeated_hashes, repeated_ids
from labelwise.pools.engine import Engine, Threads, in_order
from labelwise.pools.first_phase import KEY, STRATUM, TEXT, select, shares
from labelwise.pools.keys import hash_ids, hash_texts, keys, threshold
from labelwise.pools.source import Piece, Source
from labelwise.pools.strata import Cells, Strata, count_cells
from labelwise.pools.tally import Tally, from_parts, tally_rows, to_parts
from labelwise.tables.ids import as_ids
from labelwise.tables.text import cut, listed

Progress = Callable[[int, int], None]  # pieces done, and all


@dataclass(frozen=True)
class Passing:
    """On what a pass runs, where it keeps what it has done, and whom it tells."""

    engine: Engine = field(default_factory=lambda: Threads(2))
    keep: Path | None = None  # None: nowhere, so that it cannot be resumed
    progress: Progress = lambda done, total: None

    def place(self, name: str) -> "Passing":
        """The same, with a place of its own for one pass of several."""
        keep = None if self.keep is None else self.keep / name
        return Passing(self.engine, keep, self.progress)


@dataclass(frozen=True)
class Taking:
    """What the second look does with a piece."""

    source: Source
    id: str
    seed: int
    strata: Strata
    upto: tuple[int, ...]  # of each stratum, the key up to which rows may be in the sample
    counted: tuple[str, ...]  # columns of which statistics are wanted
    checks: Checks
    apart: tuple[str, ...] = ()  # ids that no row may have, such as those of labelled rows

    def __call__(self, piece: Piece) -> tuple[pa.Table, np.ndarray]:
        """Rows that may be in the sample, with statistics of all; and hashes of ids."""
        tally, parts, hashes = Tally(), [], []
        path = self.source.files[piece.file]
        for rows in self.source.batches(piece):
            check_cells(rows, self.checks, path)
            tally = tally.joined(tally_rows(rows, self.counted))
            hashed = hash_ids(rows[self.id])
            hashes.append(hashed)
            parts.append(self._candidates(rows, hashed))
        check_tally(tally, self.checks, path)
        table = pa.concat_tables(parts).combine_chunks()
        told = table.replace_schema_metadata(to_parts(tally))
        ranked = np.sort(np.concatenate(hashes))
        self._refuse_apart(ranked, path)
        return told, ranked

    def _refuse_apart(self, ranked: np.ndarray, path: str) -> None:
        if not self.apart:
            return
        known = hash_texts(list(self.apart))
        places = np.minimum(np.searchsorted(ranked, known), len(ranked) - 1)
        both = [text for text, there in zip(self.apart, ranked[places] == known) if there]  # noqa: B905
        if both:
            raise InvalidInput(
                f"The rows with id {listed(both)} are both labelled and in the pool, in {path}",
                "take them out of one",
                where=f"labelled.{self.id}",
            )

    def _candidates(self, rows: pa.Table, hashed: np.ndarray) -> pa.Table:
        stratum, key = self.strata.of(rows), keys(hashed, self.seed)
        near = np.flatnonzero(key <= np.array(self.upto, np.uint64)[stratum])
        some = rows.take(pa.array(near))
        ids = as_ids(some[self.id].to_pylist(), "The pool table", f"pool.{self.id}")
        some = some.append_column(KEY, pa.array(key[near], pa.uint64()))
        some = some.append_column(STRATUM, pa.array(stratum[near], pa.int64()))
        return some.append_column(TEXT, pa.array(ids, pa.string()))


@dataclass(frozen=True)
class Looking:
    """What the first look does with a piece."""

    source: Source
    column: str | None
    by: tuple[str, ...]
    checks: Checks

    def __call__(self, piece: Piece) -> Cells:
        cells = Cells({})
        for rows in self.source.batches(piece):
            check_cells(rows, self.checks, self.source.files[piece.file])
            cells = cells.joined(count_cells(rows, self.column, self.by))
        return cells


def look(looking: Looking, passing: Passing) -> Cells:
    """How many rows lie in each cell, over all pieces."""
    pieces, cells = looking.source.pieces, Cells({})
    results = passing.engine.run(looking, pieces)
    for done, one in enumerate(in_order(results, [piece.number for piece in pieces])):
        cells = cells.joined(one)
        passing.progress(done + 1, len(pieces))
    return cells


def take(
    taking: Taking, rows: np.ndarray, sizes: np.ndarray, passing: Passing
) -> tuple[pa.Table, Tally]:
    """The sample, with its strata, and statistics of every row."""
    with tempfile.TemporaryDirectory() as spare:
        kept = Checkpoint(passing.keep or Path(spare) / "pass", _what(taking, sizes))
        candidates, tally = _run(taking, kept, passing)
        _refuse_repeated(taking, kept, passing)
    pa.default_memory_pool().release_unused()
    return select(candidates, sizes), tally


def _run(taking: Taking, kept: Checkpoint, passing: Passing) -> tuple[pa.Table, Tally]:
    pieces, tally, parts = taking.source.pieces, Tally(), []
    results = kept.run(passing.engine, taking, pieces)
    for done, one in enumerate(in_order(results, [piece.number for piece in pieces])):
        tally = tally.joined(from_parts(one.schema.metadata))
        parts.append(one.replace_schema_metadata(None))
        passing.progress(done + 1, len(pieces))
    return pa.concat_tables(parts, promote_options="permissive"), tally


def upto(rows: np.ndarray, sizes: np.ndarray) -> tuple[int, ...]:
    """Of each stratum, the key up to which rows may be in the sample."""
    return tuple(threshold(share) for share in shares(rows, sizes))


def _what(taking: Taking, sizes: np.ndarray) -> dict[str, Any]:
    """What a pass is: another one starts anew."""
    source = taking.source
    return {
        "files": list(zip(source.files, source.stamps, strict=True)),
        "columns": list(source.columns),
        "id": taking.id,
        "seed": taking.seed,
        "strata": [taking.strata.column, taking.strata.edges, taking.strata.by],
        "groups": taking.strata.groups,
        "upto": [str(key) for key in taking.upto],
        "sizes": sizes.tolist(),
        "counted": taking.counted,
        "apart": taking.apart,
        "checks": asdict(taking.checks),
    }


def _refuse_repeated(taking: Taking, kept: Checkpoint, passing: Passing) -> None:
    """Refuse ids that stand for two rows; hashes that are alike are held to the ids."""
    source = taking.source
    twice = repeated_hashes(kept.arrays(source.pieces), source.rows)
    if not len(twice):
        return
    finding = Finding(source.only([taking.id]), taking.id, twice)
    results = passing.engine.run(finding, source.pieces)
    found = in_order(results, [piece.number for piece in source.pieces])
    repeated = repeated_ids(one for some in found for one in some)
    if repeated is None:
        return
    text, files = repeated
    where = files[0] if len(set(files)) == 1 else f"{files[0]} and {files[1]}"
    raise InvalidInput(
        f"The {source.table} has several rows with id {cut(text)} (in {where})",
        "give every row its own id",
        where=f"{source.table}.{taking.id}",
    )


@dataclass(frozen=True)
class Finding:
    """Finds ids whose hashes are known."""

    source: Source
    id: str
    hashes: np.ndarray

    def __call__(self, piece: Piece) -> list[tuple[str, str]]:
        path, found = self.source.files[piece.file], []
        for rows in self.source.batches(piece):
            there = np.isin(hash_ids(rows[self.id]), self.hashes)
            some = rows[self.id].filter(pa.array(there)).to_pylist()
            found += [(text, path) for text in as_ids(some, "The pool table", "pool")]
        return found


def read_whole(source: Source, checks: Checks, passing: Passing) -> pa.Table:
    """All rows of a table that is not large, in the order of its pieces."""
    reading = Reading(source, checks)
    results = passing.engine.run(reading, source.pieces)
    parts = list(in_order(results, [piece.number for piece in source.pieces]))
    return pa.concat_tables(parts, promote_options="permissive")


@dataclass(frozen=True)
class Reading:
    """Reads and checks a piece."""

    source: Source
    checks: Checks

    def __call__(self, piece: Piece) -> pa.Table:
        parts = []
        for rows in self.source.batches(piece):
            check_cells(rows, self.checks, self.source.files[piece.file])
            parts.append(rows)
        return pa.concat_tables(parts)
