"""Reading the official files of a data set from a folder that the user gives."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from labelwise.errors import InvalidInput


def find_file(folder: str | Path, *names: str) -> Path:
    """The first of some names that the folder holds."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InvalidInput(
            f"There is no folder {folder}", "give the folder of the data set", where=str(folder)
        )
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InvalidInput(
        f"{folder} has no file {' or '.join(names)}",
        "give the folder of the data set",
        where=str(folder),
    )


def read_csv(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path, low_memory=False)
    except (OSError, EOFError, ValueError) as error:
        raise InvalidInput(
            f"{path} cannot be read as CSV ({error})", "give the official file", where=str(path)
        ) from None


def check_columns(path: Path, found: Iterable[str], wanted: Iterable[str]) -> None:
    found = set(found)
    missing = [name for name in wanted if name not in found]
    if missing:
        raise InvalidInput(
            f"{path} lacks the columns {', '.join(missing)}",
            "give the official file",
            where=str(path),
        )
