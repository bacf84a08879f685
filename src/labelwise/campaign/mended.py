"""What `refine` found, kept in the campaign's folder: it could be computed again.

The log binds its hash, since answers rest on it. A file that is another counts as lost.
"""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import numpy as np

from labelwise.campaign.store.chain import hash_of
from labelwise.campaign.store.contract import AbstractStore
from labelwise.evaluation.two_phase import Mended
from labelwise.tables.leftovers import temporary

FILE = "refined.npz"


def keep_mended(folder: Path, mended: Mapping[str, Mended]) -> str:
    """Write it whole, or not at all; its hash, to be bound by the log."""
    arrays = {"titles": np.array(list(mended))}
    for place, one in enumerate(mended.values()):
        arrays[f"predictions{place}"] = np.asarray(one.predictions)
        arrays[f"means{place}"] = np.asarray(one.means)
    content = BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    with temporary(folder / f".{FILE}") as partly:
        partly.write_bytes(content.getvalue())
        partly.replace(folder / FILE)
    return hash_of(content.getvalue())


def is_altered(store: AbstractStore) -> bool:
    """Whether there is a file that is not the one that was bound."""
    path = None if store.folder is None else store.folder / FILE
    if path is None or not path.is_file():
        return False
    return hash_of(path.read_bytes()) != store.refined()


def read_mended(store: AbstractStore, rows: int) -> dict[str, Mended]:
    """What there is; nothing if it is not what was bound, or is of fewer rows."""
    folder = store.folder
    if folder is None or not (folder / FILE).is_file() or is_altered(store):
        return {}
    try:
        with np.load(folder / FILE, allow_pickle=False) as stored:
            titles = stored["titles"].tolist()
            found = {
                title: Mended(stored[f"predictions{place}"], stored[f"means{place}"])
                for place, title in enumerate(titles)
            }
    except (OSError, KeyError, ValueError):
        return {}
    return {title: one for title, one in found.items() if one.predictions.shape[1:] == (rows,)}
