"""Parquet in a directory, a glob, Hive partitions or a bucket, as an ordered list of pieces.

A piece is one row group of one file. Files come in the order of their paths, so that pieces
have the same numbers wherever and whenever they are read. Only columns that are asked for are
read, a batch of rows at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from labelwise.errors import InvalidInput
from labelwise.pools.places import Found, absolute, find_files, open_file
from labelwise.tables.text import listed

BATCH = 1 << 18  # rows that are looked at together
REWRITE = "write it again, or leave it out"


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
    partitions: tuple[tuple[tuple[str, str], ...], ...]  # of each file: columns in its path
    pieces: tuple[Piece, ...]
    columns: tuple[str, ...]  # that all files have, those in paths last
    kinds: Mapping[str, str]  # of columns, in a word: numbers, texts, dates, ...

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
                yield self._with_partitions(rows, inside)

    def _with_partitions(self, rows: pa.Table, inside: dict[str, str]) -> pa.Table:
        for name in self._inside:
            if name in self.columns:
                value = int(inside[name]) if self._inside[name] else inside[name]
                rows = rows.append_column(name, pa.array([value] * len(rows)))
        return rows.select(list(self.columns))

    @cached_property
    def _inside(self) -> dict[str, bool]:
        """Columns in paths, and whether they are whole numbers in all of them."""
        each = [dict(pairs) for pairs in self.partitions]
        names = each[0] if each else {}
        return {name: all(one[name].isdecimal() for one in each) for name in names}


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
    stored = [schema for schema, _ in footers]
    _check_alike(stored, partitions, [one.path for one in found], table)
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
        files=tuple(one.path for one in found),
        stamps=tuple(one.stamp for one in found),
        partitions=partitions,
        pieces=tuple(Piece(number, *group) for number, group in enumerate(groups)),
        columns=(*(name for name in stored[0].names if name not in inside), *inside),
        kinds=_kinds(stored[0], partitions[0]),
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


def _partitions(found: Found) -> tuple[tuple[str, str], ...]:
    """Columns that directories name, as in year=2024/part-0.parquet."""
    parts = PurePosixPath(found.below).parts[:-1]
    pairs = [part.partition("=") for part in parts if "=" in part]
    return tuple((name, value) for name, _, value in pairs)


def _check_alike(
    schemas: Sequence[pa.Schema], partitions: Sequence[Any], paths: Sequence[str], table: str
) -> None:
    first = _kinds(schemas[0], partitions[0])
    for schema, inside, path in zip(schemas, partitions, paths, strict=True):
        kinds = _kinds(schema, inside)
        absent = [*(first.keys() - kinds.keys()), *(kinds.keys() - first.keys())]
        other = [name for name in first if name in kinds and kinds[name] != first[name]]
        if absent:
            has = "has not" if absent[0] in first else "alone has"
            what = f"{path} {has} the column {sorted(absent)[0]!r}, unlike {paths[0]}"
        elif other:
            name = other[0]
            what = f"{path} holds {kinds[name]} in {name!r}, but {paths[0]} {first[name]}"
        else:
            continue
        raise InvalidInput(
            f"The files of the {table} differ: {what}",
            "write all files with the same columns",
            where=path,
        )


def _kinds(schema: pa.Schema, inside: Any) -> dict[str, str]:
    """What each column holds, in a word; a dictionary holds what its values are."""
    return {field.name: _kind(field.type) for field in schema} | {
        name: "a part of the path" for name, _ in inside
    }


def _kind(kind: pa.DataType) -> str:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = {
        "numbers": lambda: pa.types.is_integer(kind) or pa.types.is_floating(kind),
        "texts": lambda: pa.types.is_string(kind) or pa.types.is_large_string(kind),
        "dates": lambda: pa.types.is_temporal(kind),
        "nothing": lambda: pa.types.is_null(kind),
    }
    return next((word for word, test in tests.items() if test()), str(kind))


def require_columns(source: Source, needed: Sequence[str]) -> None:
    """Refuse a column that the files have not."""
    absent = [name for name in needed if name not in source.columns]
    if absent:
        raise InvalidInput(
            f"The {source.table} table has no column {absent[0]!r}",
            f"name one that it has: {listed(source.columns)}",
            where=f"{source.table}.{absent[0]}",
        )
