"""Tables to files: all or nothing, and safe to open in a spreadsheet."""

import csv
import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput, StoreError
from labelwise.tables.excel import ENDING, write_sheet
from labelwise.tables.leftovers import another_name, temporary
from labelwise.tables.read import JSON, file_format
from labelwise.tables.text import guard


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write by the path's ending; a file that was there is replaced whole or not at all."""
    ending = file_format(path)
    with replacing(path) as temporary:
        if ending in (".parquet", ".pq"):
            frame.to_parquet(temporary, index=False)
        elif ending == ENDING:
            temporary.write_bytes(write_sheet(_safe(frame), str(path)))
        else:
            content = format_table(frame, ending.removesuffix(".gz")).encode()
            # Without the time in its head, the same table gives the same file.
            packed = gzip.compress(content, mtime=0) if ending.endswith(".gz") else content
            temporary.write_bytes(packed)


def _safe(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame in which a spreadsheet finds no formula."""
    safe = frame.set_axis([guard(str(column)) for column in frame.columns], axis=1)
    for column in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[column]):
            safe[column] = safe[column].map(_guarded)
    return safe


def format_table(frame: pd.DataFrame, ending: str) -> str:
    """Write a table as text: CSV, tab-separated, or JSON."""
    if ending in JSON:
        return _as_json(frame, lines=ending != ".json")
    safe = _safe(frame)
    separator = "\t" if ending == ".tsv" else ","
    written = partial(safe.to_csv, index=False, sep=separator, lineterminator="\n")
    text = written()
    # Readers end a line at a lone carriage return too, but it alone does not bring quotes.
    return written(quoting=csv.QUOTE_NONNUMERIC) if "\r" in text else text


def _as_json(frame: pd.DataFrame, lines: bool) -> str:
    """Every digit is kept, which pandas' own writer does not do; gaps are null."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    texts = [json.dumps(row, ensure_ascii=False, default=_as_plain) for row in rows]
    if lines:
        return "".join(f"{text}\n" for text in texts)
    return "[" + ",\n ".join(texts) + "]\n"


def _as_plain(value: Any) -> Any:
    """Turn numpy's numbers into Python's; dates and the like become text."""
    return value.item() if isinstance(value, np.generic) else str(value)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Open a temporary file beside `path` that takes its place when all went well."""
    try:
        with _beside(path) as made:
            yield made
            with open(made, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(made, path)
    except OSError as error:
        raise StoreError(
            f"{path} could not be written ({error.strerror or error})",
            "make room or choose another place",
            where=str(path),
        ) from None


def write_text(text: str, path: Path) -> None:
    """Write text, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8")


def write_json(value: object, path: Path) -> None:
    """Write a value as JSON, whole or not at all."""
    write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", path)


def check_writable(path: Path) -> None:
    """Refuse a path before any work is done for it."""
    with _beside(path):
        pass


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, gone at the end; known by name before it is there, so that
    no instant leaves it behind."""
    if path.is_dir():
        raise InvalidInput(
            f"{path} is a folder", "give the name of a file in it", where=str(path)
        )
    with temporary(another_name(path, 40)) as made:
        try:
            os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except OSError as error:
            raise InvalidInput(
                f"Cannot write to {path.parent} ({error.strerror})",
                "choose another place",
                where=str(path.parent),
            ) from None
        yield made


def _guarded(value: object) -> object:
    return guard(value) if isinstance(value, str) else value
