"""Counts of numbers in fixed bins, whatever their range: quantiles that add up.

A number in single precision, its bits put in the order of numbers, has a bin by its first 16:
sign, exponent and seven bits of the fraction. So bins are 0.8 % wide or less, need not be known
beforehand, and counts of two tables are those of both together.
"""

from dataclasses import dataclass

import numpy as np

BINS = 1 << 16
SIGN = np.uint32(1 << 31)


def bins_of(numbers: np.ndarray) -> np.ndarray:
    """The bin of each number; larger numbers have no smaller bins."""
    with np.errstate(over="ignore"):
        single = np.asarray(numbers).astype(np.float32, copy=False)
    bits = single.view(np.uint32)
    # All bits of a number below zero are turned over, of others the sign alone.
    turned = (single.view(np.int32) >> np.int32(31)).view(np.uint32) | SIGN
    return ((bits ^ turned) >> np.uint32(16)).astype(np.int64)


def middle_of(bins: np.ndarray) -> np.ndarray:
    """A number in the middle of each bin."""
    ordered = (np.asarray(bins, np.uint32) << np.uint32(16)) | np.uint32(0x8000)
    bits = np.where(ordered & SIGN, ordered ^ SIGN, ~ordered)
    return bits.astype(np.uint32).view(np.float32).astype(float)


@dataclass(frozen=True, eq=False)
class Sketch:
    """How many numbers lie in each bin that has any."""

    places: np.ndarray
    counts: np.ndarray

    @staticmethod
    def of(numbers: np.ndarray) -> "Sketch":
        counts = np.bincount(bins_of(numbers), minlength=BINS)
        places = np.flatnonzero(counts)
        return Sketch(places, counts[places])

    def joined(self, other: "Sketch") -> "Sketch":
        """Of the numbers of both."""
        places = np.union1d(self.places, other.places)
        counts = np.zeros(len(places), np.int64)
        for one in (self, other):
            counts[np.searchsorted(places, one.places)] += one.counts
        return Sketch(places, counts)

    def quantile(self, share: float) -> float:
        """The number below which this share of all lies, to the width of a bin."""
        ends = np.cumsum(self.counts)
        place = int(np.searchsorted(ends, share * ends[-1]))
        return float(middle_of(self.places[min(place, len(ends) - 1)]))

    def to_bytes(self) -> bytes:
        return np.concatenate([self.places, self.counts]).astype(np.int64).tobytes()

    @staticmethod
    def from_bytes(content: bytes) -> "Sketch":
        return Sketch(*np.split(np.frombuffer(content, np.int64), 2))
