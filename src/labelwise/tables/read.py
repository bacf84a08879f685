"""Tables from outside: frames, CSV, Parquet, JSON and Excel, with errors that name the file.

`read_table` makes a frame of anything. `read_columns` is for labels that come back: it reads
texts itself, so that nobody who tells a label waits for pandas.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwise.errors import InvalidInput
from labelwise.tables.any_frame import as_pandas
from labelwise.tables.bytes import bytes_of, text_in, unpacked
from labelwise.tables.excel import ENDING, read_sheet
from labelwise.tables.json_rows import parse_rows_of_json

if TYPE_CHECKING:
    import pandas as pd

PREAMBLE = re.compile(r"^(Error tokenizing data\. C error: |Could not open Parquet.*?': )")
# What stands for an empty cell in a CSV file, except where an id is expected.
GAPS = ["", "NA", "N/A", "n/a", "#N/A", "nan", "NaN", "-nan", "-NaN", "NULL", "null", "None"]
GAPS += ["<NA>", "#NA", "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
TEXTS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
FORMATS = (*TEXTS, *(f"{ending}.gz" for ending in TEXTS), ".parquet", ".pq", ENDING)
JSON = (".json", ".jsonl", ".ndjson")


def read_table(
    source: Any, name: str, text: Iterable[str] = (), *, where: str | None = None
) -> pd.DataFrame:
    """A frame with plain text column names and a fresh index.

    `name` says which table it is in messages, and `where` what the table is called, if not so.
    Columns in `text` (ids) are kept as they are written, so that "007" does not become 7.
    """
    where = where or name
    if isinstance(source, str | Path):
        return _plain(_read_file(Path(source), tuple(text)), name, where)
    frame = as_pandas(source)
    if frame is None:
        raise InvalidInput.must(
            where,
            "be a frame (pandas, Polars, Arrow, Hugging Face) or the path of a file",
            f"it is {source if source is None else f'of type {type(source).__name__}'}",
            name=name,
        )
    return _plain(frame, name, where)


def read_columns(
    source: Any, name: str, text: Iterable[str] = (), *, where: str | None = None
) -> Mapping[str, Any]:
    """Read the same table as columns of cells, by name; a list holds one mapping a row."""
    if isinstance(source, str | Path):
        path = Path(source)
        ending = text_format(path)
        if ending in JSON:
            source = read_json(path)
        elif ending not in (".parquet", ".pq"):
            return _guarded(path, lambda: _columns(path, ending, tuple(text)))
    if not isinstance(source, list):
        frame = read_table(source, name, text, where=where)
        return {str(column): frame[column] for column in frame}
    names = list(dict.fromkeys(key for row in source for key in row))
    _check_names([str(key).strip() for key in names], name, where or name)
    return {str(key).strip(): [row.get(key) for row in source] for key in names}


def parse_rows(content: str, name: str, text: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Read the same, one mapping a row, from the text of a CSV file (through a pipe, say)."""
    source = io.StringIO(content.lstrip("\ufeff"), newline="")
    columns = _cells(source, name, tuple(text), ",")
    return [
        dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
    ]


def read_json(path: Path) -> list[dict[str, Any]]:
    """Read the objects of a JSON file."""
    read = lambda: parse_rows_of_json(_text_of(path).read(), str(path))
    return _guarded(path, read)


def parse_json(content: str, name: str) -> list[dict[str, Any]] | None:
    """Read the objects in a text, if it is JSON at all."""
    content = content.lstrip("\ufeff \t\r\n")
    return parse_rows_of_json(content, name) if content[:1] in ("[", "{") else None


def text_format(path: Path) -> str:
    """The same of what is in it, if it is packed."""
    return file_format(path).removesuffix(".gz")


def file_format(path: Path) -> str:
    """Find the ending that decides how a file is read or written."""
    for ending in FORMATS:
        if path.name.lower().endswith(ending):
            return ending
    raise InvalidInput(
        f"{path} has no known ending",
        f"use one of {', '.join(TEXTS)} (these also with .gz), .parquet, .pq or {ENDING} so "
        "that its format is clear",
        where=str(path),
    )


def _read_file(path: Path, text: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    ending = text_format(path)
    if ending in (".parquet", ".pq"):
        return _guarded(path, lambda: pd.read_parquet(io.BytesIO(bytes_of(path))))
    if ending in JSON:
        rows = read_json(path)
        return _guarded(path, lambda: pd.DataFrame(rows))
    if ending == ENDING:
        return _guarded(path, lambda: pd.DataFrame(_columns(path, ending, text)))
    separator = "\t" if ending == ".tsv" else ","
    return _guarded(path, lambda: _from_csv(_text_of(path), str(path), text, separator))


def _text_of(path: Path) -> io.StringIO:
    content = unpacked(bytes_of(path), path)
    return io.StringIO(text_in(content, str(path)), newline="")


def _guarded(path: Path, read: Callable[[], Any]) -> Any:
    """Say in one sentence whatever goes wrong with a file."""
    if path.is_dir():
        raise InvalidInput(
            f"{path} is a folder", "give the path of a file in it", where=str(path)
        )
    try:
        return read()
    except InvalidInput:
        raise
    except FileNotFoundError:
        what, remedy = f"There is no file {path}", "check the path"
    except UnicodeEncodeError as error:  # half of a UTF-16 pair, which JSON may hold
        what, remedy = f"{path} holds what is no text ({error.object!r})", "mend the cell"
    except OSError as error:
        what, remedy = f"{path} cannot be read ({error.strerror or error})", "check the file"
    except Exception as error:  # whatever a broken Parquet or gzip file may raise
        what = f"{path} is not a readable {path.suffix[1:]} file ({_reason(error)})"
        remedy = "write it again"
    raise InvalidInput(what, remedy, where=str(path))


def _from_csv(
    source: io.StringIO, name: str, text: tuple[str, ...], separator: str
) -> pd.DataFrame:
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            names = _header(source, name, separator)
            return pd.read_csv(
                source,
                sep=separator,
                header=0,
                names=names,
                dtype=dict.fromkeys(set(text) & set(names), str),
                # Any text may be an id, "NA" and "None" too.
                keep_default_na=False,
                na_values={column: GAPS for column in names if column not in text},
                index_col=False,
                low_memory=False,
            )
    except pd.errors.EmptyDataError:
        raise InvalidInput(
            f"{name} is empty",
            "it needs a line of column names and at least one row",
            where=name,
        ) from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise InvalidInput(
            f"{name} is not a regular CSV ({_reason(error)})",
            "give every line as many cells as the first",
            where=name,
        ) from None


def _columns(path: Path, ending: str, text: tuple[str, ...]) -> dict[str, list[Any]]:
    """The columns of a file of texts, or of a sheet."""
    if ending == ENDING:
        return _by_name(read_sheet(bytes_of(path), str(path)), str(path), text)
    separator = "\t" if ending == ".tsv" else ","
    return _cells(_text_of(path), str(path), text, separator)


def _cells(
    source: io.StringIO, name: str, text: tuple[str, ...], separator: str
) -> dict[str, list[Any]]:
    """The columns of a CSV as pandas would read them, but for numbers, which stay texts."""
    return _by_name(_lines(source, name, separator), name, text)


def _by_name(lines: list[list[Any]], name: str, text: tuple[str, ...]) -> dict[str, list[Any]]:
    """From lines, the first of which names the columns, to the columns."""
    if not lines:
        raise InvalidInput(
            f"{name} is empty",
            "it needs a line of column names and at least one row",
            where=name,
        )
    first = [cell.strip() for cell in lines.pop(0)]
    _check_names([column for column in first if column], name, name)
    columns = {
        column or f"Unnamed: {place}": [
            line[place] if place < len(line) else None for line in lines
        ]
        for place, column in enumerate(first)
    }
    return {
        column: cells if column in text else _without_gaps(cells)
        for column, cells in columns.items()
    }


def _lines(source: io.StringIO, name: str, separator: str) -> list[list[str]]:
    """Cells by line; blank lines are left out, and ragged ones refused."""
    mark = "end"  # which stands on a line of its own, unless a quotation is still open
    reader = csv.reader(
        io.StringIO(f"{source.read()}\n{mark}", newline=""), delimiter=separator
    )
    before = csv.field_size_limit(2**31 - 1)  # cells may hold whole documents
    try:
        lines, irregular = [], ""
        for line in reader:
            if line and (len(line) > 1 or not line[0].isspace()):
                lines.append(line)
            if lines and len(line) > len(lines[0]):
                irregular = irregular or (
                    f"line {reader.line_num} holds {len(line)} cells, the first {len(lines[0])}"
                )
    finally:
        csv.field_size_limit(before)
    if lines.pop() != [mark]:
        irregular = "a quotation mark is opened and not closed"
    if irregular:
        raise InvalidInput(
            f"{name} is not a regular CSV ({irregular})",
            "give every line as many cells as the first",
            where=name,
        )
    return lines


def _without_gaps(cells: list[Any]) -> list[Any]:
    """None for what stands for an empty cell; a column of nothing but true and false is so."""
    filled = [None if isinstance(cell, str) and cell in GAPS else cell for cell in cells]
    words = {cell.lower() if isinstance(cell, str) else cell for cell in filled} - {None}
    if words and words <= {"true", "false"}:
        return [None if cell is None else cell.lower() == "true" for cell in filled]
    return filled


def _header(source: io.StringIO, name: str, separator: str) -> list[str]:
    """Read the columns' names; pandas would change one that stands twice behind one's back."""
    import pandas as pd

    options: Any = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
    first = pd.read_csv(source, sep=separator, **options).iloc[0].str.strip()
    source.seek(0)
    _check_names([text for text in first if text], name, name)
    return [text or f"Unnamed: {index}" for index, text in enumerate(first)]


def _check_names(columns: Any, name: str, where: str) -> None:
    repeated = sorted(column for column in columns if list(columns).count(column) > 1)
    if repeated:
        raise InvalidInput(
            f"{name} has two columns named {repeated[0]!r}", "rename one", where=where
        )


def _plain(frame: pd.DataFrame, name: str, where: str) -> pd.DataFrame:
    import pandas as pd

    if isinstance(frame.columns, pd.MultiIndex):
        raise InvalidInput(
            f"{name} has columns of several levels",
            "flatten them to one name each",
            where=where,
        )
    if frame.index.name is not None or isinstance(frame.index, pd.MultiIndex):
        frame = _with_index(frame, name, where)
    frame = frame.set_axis([str(column).strip() for column in frame.columns], axis=1)
    _check_names(frame.columns, name, where)
    return frame.reset_index(drop=True)


def _with_index(frame: pd.DataFrame, name: str, where: str) -> pd.DataFrame:
    """An index that has a name is a column too."""
    levels = [level for level in frame.index.names if level is not None]
    twice = [level for level in levels if level in frame.columns]
    if twice:
        raise InvalidInput(
            f"{name} has an index and a column named {twice[0]!r}",
            "drop one of them",
            where=where,
        )
    return frame.reset_index()


def _reason(error: Exception | Warning) -> str:
    """Quote another library's message without its preamble and advice."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return PREAMBLE.sub("", line).split(". ")[0].rstrip(".")
