"""The first phase: a stratified sample of a pool too large to be planned in.

A stratum of N_h rows gives the n_h of them with the smallest keys: a simple random sample
without replacement, since keys are uniform and depend on seed and id alone. So every row's
probability n_h / N_h is known exactly, and so is that of any two. Sizes are Neyman's, for the
spread that labels are expected to have in each stratum, but for a share of the sample in which
all rows are alike: whatever one expects, no row has less than this share of an even chance. [1]

[1] Cochran (1977), Sampling Techniques, §5.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from labelwise.errors import NumericalError
from labelwise.pools.strata import Strata

EVEN = 0.3  # share of the sample in which all rows are alike
LEAST = 2  # rows of a stratum, so that its spread can be told
KEY, STRATUM, TEXT = "labelwise key", "labelwise stratum", "labelwise id"


@dataclass(frozen=True)
class FirstPhase:
    """How the rows of a sample came into it."""

    rows: np.ndarray  # of each stratum in the pool
    sizes: np.ndarray  # of each stratum in the sample
    stratum: np.ndarray  # of each row of the sample
    how: str  # in words
    address: str = ""  # of the pool
    columns: tuple[str, ...] = ()  # that were read
    strata: Strata | None = None  # how a row's stratum is found; None: not written down
    kinds: tuple[str, ...] = ()  # what the columns held, in words; none: not written down
    joined: int = 0  # rows at the end of the sample that were chosen from outside of it

    @property
    def total(self) -> int:
        return int(self.rows.sum())

    @cached_property
    def probability(self) -> np.ndarray:
        """That a row came into the sample, for each row in it."""
        return (self.sizes / np.maximum(self.rows, 1))[self.stratum]

    @property
    def told(self) -> dict[str, Any]:
        """In short: rows of the pool, of the sample, and how it was drawn."""
        drawn = len(self.stratum) - self.joined
        told = {"rows": self.total, "sample": drawn, "how": self.how}
        return {**told, **({"joined": self.joined} if self.joined else {})}

    def with_joined(self, strata: Sequence[int]) -> "FirstPhase":
        """With rows of these strata besides, which were chosen and stand for themselves.

        They are a stratum of their own that is known whole, and their strata have lost them:
        what is left of a stratum is what the sample was drawn from, as none of them is in it.
        """
        if not len(strata):
            return self
        gone = np.bincount(np.asarray(strata, np.int64), minlength=len(self.rows))
        more = np.full(len(strata), len(self.rows))
        return replace(
            self,
            rows=np.append(self.rows - gone, len(strata)),
            sizes=np.append(self.sizes, len(strata)),
            stratum=np.concatenate([self.stratum, more]),
            joined=self.joined + len(strata),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows.tolist(),
            "sizes": self.sizes.tolist(),
            "stratum": self.stratum.tolist(),
            "how": self.how,
            "address": self.address,
            "columns": list(self.columns),
            "strata": None if self.strata is None else asdict(self.strata),
            "kinds": list(self.kinds),
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "FirstPhase":
        whole = lambda name: np.array(stored[name], np.int64)
        strata = stored.get("strata")
        return FirstPhase(
            whole("rows"),
            whole("sizes"),
            whole("stratum"),
            stored["how"],
            stored["address"],
            tuple(stored["columns"]),
            None if strata is None else Strata.from_dict(strata),
            tuple(stored.get("kinds", ())),
        )


def allocate(
    rows: Sequence[int] | np.ndarray, spread: Sequence[float] | np.ndarray, size: int
) -> np.ndarray:
    """How many rows each stratum gives; strata that would give all they have do so."""
    rows, spread = np.asarray(rows, np.int64), np.asarray(spread, float)
    stake = rows * spread
    stake = stake if stake.any() else rows.astype(float)
    given, whole = np.zeros(len(rows)), np.zeros(len(rows), bool)
    for _ in range(len(rows) + 1):
        left, open_ = size - rows[whole].sum(), ~whole
        share = EVEN * rows / max(rows[open_].sum(), 1)
        share = share + (1.0 - EVEN) * stake / max(float(stake[open_].sum()), 1e-300)
        given = np.where(whole, rows, max(left, 0) * share)
        over = open_ & (given >= rows)
        if not over.any():
            break
        whole |= over
    return np.minimum(np.maximum(np.round(given).astype(np.int64), LEAST), rows)


def shares(rows: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Of each stratum, the share of its keys that surely holds the sample's.

    Beyond what is needed by ten standard deviations and fifty rows: of strata of any size, one
    in 10¹² would give too few.
    """
    enough = sizes + 10.0 * np.sqrt(sizes) + 50.0
    return np.minimum(np.where(sizes < rows, enough / np.maximum(rows, 1), 1.0), 1.0)


def select(candidates: pa.Table, sizes: np.ndarray) -> pa.Table:
    """The rows with the smallest keys of each stratum, in the order of their keys.

    Keys that tie go by the id, so that nothing depends on the order of files.
    """
    order = [(STRATUM, "ascending"), (KEY, "ascending"), (TEXT, "ascending")]
    ranked = candidates.sort_by(order)
    stratum = ranked[STRATUM].to_numpy()
    found = np.bincount(stratum, minlength=len(sizes))
    if (found < sizes).any():
        raise NumericalError(
            f"Stratum {int(np.argmax(found < sizes))} gave too few rows for the sample",
            "choose another seed",
            where="seed",
        )
    rank = np.arange(len(stratum)) - (np.cumsum(found) - found)[stratum]
    return ranked.filter(pa.array(rank < sizes[stratum])).sort_by(
        [(KEY, "ascending"), (TEXT, "ascending")]
    )
