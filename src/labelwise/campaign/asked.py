"""A committed ask, as the answer from drawn rows needs it: from the log, and into it."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Asked:
    """A committed ask, as far as drawn rows need it."""

    number: int
    rows: tuple[int, ...]
    probabilities: tuple[float, ...]
    drawn: tuple[bool, ...]
    closed: tuple[int, ...]  # rows that could not be asked then
    terms: np.ndarray | None  # predictions, terms × pool
    foreseen: tuple[float, ...]  # of each question: the spread of a draw's estimate
    questions: Mapping[str, Sequence[int]]  # by title: which it is, and where its terms begin


def parse_terms(blob: bytes, shape: Sequence[int]) -> np.ndarray:
    """Predictions as stored."""
    return np.frombuffer(zlib.decompress(blob), np.float32).reshape(shape)


def store_terms(terms: np.ndarray) -> bytes:
    """Single precision is enough: any predictions serve, as long as they are kept."""
    return zlib.compress(np.ascontiguousarray(terms, np.float32).tobytes(), 3)


def read_asked(content: Mapping[str, Any], terms: np.ndarray | None) -> Asked:
    """From a round's record."""
    plan, design = content["plan"], content.get("design") or {}
    count = len(plan["rows"])
    return Asked(
        number=content["round"],
        rows=tuple(plan["rows"]),
        probabilities=tuple(plan["probabilities"]),
        drawn=tuple(design.get("drawn", [False] * count)),
        closed=tuple(design.get("closed", ())),
        terms=terms,
        foreseen=tuple(design.get("foreseen", ())),
        questions=design.get("questions", {}),
    )
