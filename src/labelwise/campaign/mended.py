"""What `refine` found, kept in the campaign's folder: it could be computed again."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from labelwise.evaluation.two_phase import Mended
from labelwise.tables.leftovers import temporary

FILE = "refined.npz"


def keep_mended(folder: Path, mended: Mapping[str, Mended]) -> None:
    """Write it whole, or not at all."""
    arrays = {"titles": np.array(list(mended))}
    for place, one in enumerate(mended.values()):
        arrays[f"predictions{place}"] = np.asarray(one.predictions)
        arrays[f"means{place}"] = np.asarray(one.means)
    with temporary(folder / f".{FILE}") as partly:
        with open(partly, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        partly.replace(folder / FILE)


def read_mended(folder: Path | None, rows: int) -> dict[str, Mended]:
    """What there is; nothing if it cannot be read or is of another pool."""
    if folder is None or not (folder / FILE).is_file():
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
