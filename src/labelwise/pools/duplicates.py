"""Ids that stand for two rows, found among more ids than memory holds.

Each piece's hashes of ids are kept sorted on disk. Hashes are then looked at range by range:
those of one range from all pieces fit memory, and two that are alike lie side by side. Alike
hashes may still be of two ids: 10⁸ ids have one such pair in four thousand tables, so the ids
themselves decide.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

RANGE = 1 << 23  # hashes that are sorted together


def repeated_hashes(files: Sequence[Path], rows: int) -> np.ndarray:
    """Hashes that occur more than once, from files of sorted ones."""
    parts = max(-(-rows // RANGE), 1)
    edges = [int(part * 2**64 // parts) for part in range(1, parts)]
    sorted_ = [np.load(file, mmap_mode="r") for file in files]
    cuts = [np.searchsorted(one, np.array(edges, np.uint64)).tolist() for one in sorted_]
    found = []
    for part in range(parts):
        some = [
            one[[0, *cut][part] : [*cut, len(one)][part]]
            for one, cut in zip(sorted_, cuts, strict=True)
        ]
        together = np.sort(np.concatenate(some))
        found.append(np.unique(together[1:][together[1:] == together[:-1]]))
    return np.concatenate(found)


def repeated_ids(ids: Iterable[tuple[str, str]]) -> tuple[str, list[str]] | None:
    """Of ids with the file each is in: the first that is there twice, and its files."""
    seen: dict[str, list[str]] = {}
    for text, file in ids:
        seen.setdefault(text, []).append(file)
    twice = sorted(text for text, files in seen.items() if len(files) > 1)
    return (twice[0], seen[twice[0]]) if twice else None
