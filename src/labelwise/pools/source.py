"""Parquet in a directory, a glob, Hive partitions or a bucket, as an ordered list of pieces.

A piece is one row group of one file. Files come in the order of their paths, so that pieces
have the same numbers wherever and whenever they are read. Only columns that are asked for are
read, a batch of rows at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from labelwise.errors import InvalidInput
from labelwise.pools.kinds import Pair, cast, casts_of, kinds_alike
from labelwise.pools.places import Found, absolute, find_files, open_file
from labelwise.tables.text import listed

BATCH = 1 << 18  # rows that are looked at together
REWRITE = "write it again, or leave it out"
MISSING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Piece:
    """One row group of one file."""

    number: int  # in the order of the pass
    file: int
    group: int
    rows: int


@dataclass(frozen=True)
class Source:
    """A table in files, of which nothing but the footers has been read."""

    address: str
    table: str  # which it is: the pool, or the target
    files: tuple[str, ...]
    stamps: tuple[str, ...]  # size and time of each file, which tell whether it has changed
    partitions: tuple[tuple[Pair, ...], ...]  # of each file: columns in its path
    pieces: tuple[Piece, ...]
    columns: tuple[str, ...]  # that all files have, those in paths last
    kinds: Mapping[str, str]  # of columns, in a word: numbers, texts, dates, ...
    casts: Mapping[str, pa.DataType] = field(default_factory=dict)  # where files differ

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    def only(self, columns: Sequence[str]) -> "Source":
        """The same rows, with these columns alone."""
        return replace(self, columns=tuple(name for name in self.columns if name in columns))

    def batches(self, piece: Piece) -> Iterator[pa.Table]:
        """The rows of a piece, some at a time."""
        path, inside = self.files[piece.file], dict(self.partitions[piece.file])
        stored = [name for name in self.columns if name not in inside]
        with _readable(path, self.table), open_file(self.address, path) as opened:
            file = pq.ParquetFile(opened)
            options: Any = {"row_groups": [piece.group], "columns": stored}
            for batch in file.iter_batches(BATCH, use_threads=False, **options):
                # Without what pandas wrote of an index, which is a column like any other.
                rows = pa.Table.from_batches([batch]).replace_schema_metadata(None)
                yield self._with_partitions(cast(rows, self.casts), inside)

    def _with_partitions(self, rows: pa.Table, inside: dict[str, str | None]) -> pa.Table:
        for name, whole in self._inside.items():
            if name in self.columns:
                text = pa.scalar(inside[name], pa.string())
                cell: Any = text.cast(pa.int64()) if whole else text
                rows = rows.append_column(name, pa.repeat(cell, len(rows)))
        return rows.select(list(self.columns))

    @cached_property
    def _inside(self) -> dict[str, bool]:
        """Columns in paths, and whether they are whole numbers in all of them."""
        each = [dict(pairs) for pairs in self.partitions]
        names = each[0] if each else {}
        # A missing value is as good a number as any text of digits.
        return {name: all((one[name] or "0").isdecimal() for one in each) for name in names}


def is_large(source: Any) -> bool:
    """Whether it names Parquet that need not be read whole: files, or a file by its footer."""
    if not isinstance(source, str | Path):
        return False
    text = str(source)
    if "://" in text or any(mark in text for mark in "*?["):
        return not Path(text).is_file()
    return Path(text).is_dir() or is_one_file(text)


def is_one_file(source: Any) -> bool:
    """Whether it is a Parquet file on the disk."""
    path = Path(str(source))
    return path.suffix.lower() in (".parquet", ".pq") and path.is_file()


def open_source(address: Any, table: str) -> Source:
    """List the pieces; every file's columns are held to those of the first."""
    address = absolute(str(address))
    found = find_files(address, table)
    footers = [_footer(address, one.path, table) for one in found]
    partitions = tuple(_partitions(one) for one in found)
    stored, paths = [schema for schema, _ in footers], [one.path for one in found]
    kinds = kinds_alike(stored, partitions, paths, table)
    inside = [name for name, _ in partitions[0]]
    groups = [
        (file, group, rows)
        for file, (_, counts) in enumerate(footers)
        for group, rows in enumerate(counts)
        if rows
    ]
    if not groups:
        raise InvalidInput(f"The {table} table has no rows", "give at least one", where=table)
    return Source(
        address=address,
        table=table,
        files=tuple(paths),
        stamps=tuple(one.stamp for one in found),
        partitions=partitions,
        pieces=tuple(Piece(number, *group) for number, group in enumerate(groups)),
        columns=(*(name for name in stored[0].names if name not in inside), *inside),
        kinds=kinds,
        casts=casts_of(stored),
    )


def _footer(address: str, path: str, table: str) -> tuple[pa.Schema, list[int]]:
    with _readable(path, table), open_file(address, path) as opened:
        file = pq.ParquetFile(opened)
        groups = range(file.metadata.num_row_groups)
        schema = file.schema_arrow.remove_metadata()
        return schema, [file.metadata.row_group(group).num_rows for group in groups]


class _readable:
    """Says in one sentence whatever goes wrong with a file, and which it is."""

    def __init__(self, path: str, table: str):
        self.path, self.table = path, table

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, pa.ArrowException | OSError | EOFError | ValueError) and not (
            isinstance(error, InvalidInput)
        ):
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            raise InvalidInput(
                f"{self.path} of the {self.table} is not a readable Parquet file "
                f"({reason.rstrip('.')})",
                REWRITE,
                where=self.path,
            ) from None


def _partitions(found: Found) -> tuple[Pair, ...]:
    """Columns that directories name, as in year=2024/part-0.parquet.

    What a path cannot hold is written as %20, and a missing value as Hive calls it.
    """
    parts = PurePosixPath(found.below).parts[:-1]
    pairs = [part.partition("=") for part in parts if "=" in part]
    return tuple(
        (unquote(name), None if value == MISSING else unquote(value))
        for name, _, value in pairs
    )


def require_columns(source: Source, needed: Sequence[str]) -> None:
    """Refuse a column that the files have not."""
    absent = [name for name in needed if name not in source.columns]
    if absent:
        raise InvalidInput(
            f"The {source.table} table has no column {absent[0]!r}",
            f"name one that it has: {listed(source.columns)}",
            where=f"{source.table}.{absent[0]}",
        )
