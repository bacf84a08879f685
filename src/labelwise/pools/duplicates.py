"""Ids that stand for two rows, found among more ids than memory holds.

Each piece's hashes of ids are kept sorted on disk. Hashes are then looked at range by range:
those of one range from all pieces fit memory, and two that are alike lie side by side. Alike
hashes may still be of two ids: 10⁸ ids have one such pair in four thousand tables, so the ids
themselves decide.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

RANGE = 1 << 22  # hashes that are sorted together


def repeated_hashes(files: Sequence[Path], rows: int) -> np.ndarray:
    """Hashes that occur more than once, from files of sorted ones."""
    parts = max(-(-rows // RANGE), 1)
    edges = np.array([part * 2**64 // parts for part in range(1, parts)], np.uint64)
    cuts = [_cuts(file, edges) for file in files]
    found = []
    for part in range(parts):
        some = [
            _slice(file, *cut[part : part + 2]) for file, cut in zip(files, cuts, strict=True)
        ]
        together = np.concatenate(some)
        together.sort()
        found.append(np.unique(together[1:][together[1:] == together[:-1]]))
    return np.concatenate(found)


def _cuts(file: Path, edges: np.ndarray) -> list[int]:
    """Where ranges of hashes begin in a file, and where the last ends."""
    known = np.load(file, mmap_mode="r")
    return [0, *np.searchsorted(known, edges).tolist(), len(known)]


def _slice(file: Path, begin: int, end: int) -> np.ndarray:
    """Some hashes of a file; mapped, all of it would count as memory in use."""
    width = np.dtype(np.uint64).itemsize
    head = file.stat().st_size - width * len(np.load(file, mmap_mode="r"))
    return np.fromfile(file, np.uint64, end - begin, offset=head + width * begin)


def repeated_ids(ids: Iterable[tuple[str, str]]) -> tuple[str, list[str]] | None:
    """Of ids with the file each is in: the first that is there twice, and its files."""
    seen: dict[str, list[str]] = {}
    for text, file in ids:
        seen.setdefault(text, []).append(file)
    twice = sorted(text for text, files in seen.items() if len(files) > 1)
    return (twice[0], seen[twice[0]]) if twice else None
