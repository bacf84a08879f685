"""What a pass has done so far, kept so that one that was killed goes on where it was.

A directory beside what is being made holds one file a piece, each written whole under another
name first. It belongs to one pass: of other files, columns or settings, it is begun anew. When
all is made it is removed.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from labelwise.errors import InvalidInput
from labelwise.pools.engine import Engine
from labelwise.pools.source import Piece

WHAT = "pass.json"


class Checkpoint:
    """The directory of one pass, whose results are tables."""

    def __init__(self, folder: Path, what: Any):
        self.folder = folder
        text = json.dumps(what, sort_keys=True)
        mark = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        known = folder / WHAT
        if not known.is_file() or known.read_text() != mark:
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder)
            known.write_text(mark)

    def run(
        self,
        engine: Engine,
        function: Callable[[Piece], tuple[pa.Table, np.ndarray | None]],
        pieces: Sequence[Piece],
    ) -> Iterator[tuple[int, pa.Table]]:
        """What the function makes of each piece: what is kept first, then what is left.

        The second thing that it makes, if anything, goes to a file that `arrays` names.
        """
        kept = [piece for piece in pieces if self._path(piece.number).is_file()]
        for piece in kept:
            yield piece.number, _read(self._path(piece.number))
        left = [piece for piece in pieces if piece not in set(kept)]
        for number, (table, array) in engine.run(function, left):
            if array is not None:
                _write(
                    self.folder / f"{number}.npy", lambda file, one=array: np.save(file, one)
                )
            _write(self._path(number), lambda file, one=table: _write_table(one, file))
            yield number, table

    def arrays(self, pieces: Sequence[Piece]) -> list[Path]:
        """Files of what else pieces gave."""
        return [self.folder / f"{piece.number}.npy" for piece in pieces]

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.arrow"


def _write_table(table: pa.Table, file: Any) -> None:
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _read(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def _write(path: Path, write: Callable[[Any], Any]) -> None:
    """Whole or not at all."""
    partly = path.with_suffix(".partly")
    with open(partly, "wb") as file:
        write(file)
    os.replace(partly, path)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise InvalidInput(
            f"Cannot write to {folder} ({error.strerror})",
            "make the campaign where there is room",
            where=str(folder),
        ) from None
