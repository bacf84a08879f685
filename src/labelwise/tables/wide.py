"""Tables with very many features: a few components stand for all of them.

More than sixty length scales cannot be learnt from the labels that one buys, and one for all
says that every feature matters alike. Components in which rows differ most are a middle way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

WIDE = 60  # features, from which on they are reduced
COMPONENTS = 20  # to so many
FIT_ROWS = 20_000  # from which directions are found


@dataclass(frozen=True)
class Wide:
    """Directions among the features of the first codings."""

    codings: int  # that it is about
    centre: tuple[float, ...]
    directions: tuple[tuple[float, ...], ...]  # one a component

    @property
    def names(self) -> list[str]:
        return [f"component {number + 1}" for number in range(len(self.directions))]

    def apply(self, features: np.ndarray) -> np.ndarray:
        return (features - np.array(self.centre)) @ np.array(self.directions).T

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Wide":
        lines = tuple(tuple(line) for line in stored["directions"])
        return Wide(stored["codings"], tuple(stored["centre"]), lines)


def fit_wide(features: np.ndarray, codings: int) -> tuple[Wide, str]:
    """Learn components of encoded rows; and a sentence that says so."""
    centre = features.mean(axis=0)
    rows = np.random.default_rng(0).permutation(len(features))[:FIT_ROWS]
    away = features[rows] - centre
    variances, vectors = np.linalg.eigh(away.T @ away / len(away))
    lines = vectors.T[::-1][: min(COMPONENTS, len(features))]
    largest = lines[np.arange(len(lines)), np.argmax(np.abs(lines), axis=1)]
    lines = lines * np.where(largest < 0.0, -1.0, 1.0)[:, None]
    kept = float(variances[::-1][: len(lines)].sum() / max(float(variances.sum()), 1e-300))
    note = (
        f"{features.shape[1]} features are more than {WIDE} and are reduced to {len(lines)} "
        f"components, which keep {100 * kept:.0f} % of their variance; name the features that "
        "matter to keep them as they are."
    )
    as_tuple = lambda numbers: tuple(float(number) for number in numbers)
    return Wide(codings, as_tuple(centre), tuple(map(as_tuple, lines))), note
