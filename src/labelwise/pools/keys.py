"""One uniform number a row, from the seed and its id alone.

Not from where the row stands, nor from who reads it: so a row has the same number however a
table is cut into files and whoever works on them, and the rows with the smallest numbers are a
simple random sample that any number of workers agree on. [1]

Numbers are hashes of 64 bits. Whole numbers and the texts that write them are one id, as they
are elsewhere: 7, 7.0 and "7" have the same hash.

[1] Efraimidis, Spirakis (2006), Weighted random sampling with a reservoir; with equal weights.
"""

import numpy as np
import pandas as pd
import pyarrow as pa

from labelwise.tables.ids import as_ids

# Steele, Lea, Flood (2014), Fast splittable pseudorandom number generators.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
WHOLE = 2.0**64


def mix(words: np.ndarray) -> np.ndarray:
    """Splitmix64's finaliser: every bit of a word moves half of the bits of its image."""
    with np.errstate(over="ignore"):
        words = words + GOLDEN
        words = (words ^ (words >> np.uint64(30))) * FIRST
        words = (words ^ (words >> np.uint64(27))) * SECOND
    return words ^ (words >> np.uint64(31))


def hash_ids(ids: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """64 bits for each id."""
    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    if pa.types.is_integer(kind):
        return mix(np.asarray(ids).astype(np.int64).view(np.uint64))
    return hash_texts(as_ids(ids.to_pylist(), "The pool", "pool"))


def hash_texts(texts: list[str]) -> np.ndarray:
    """The same of ids as texts; one that writes a whole number has the number's hash."""
    hashes = pd.util.hash_array(np.array(texts, object), categorize=False)
    numbers = [(place, int(text)) for place, text in enumerate(texts) if _is_whole(text)]
    if numbers:
        places, values = zip(*numbers, strict=True)
        words = [value % 2**64 for value in values]  # as a column of 64 bits holds them
        hashes[list(places)] = mix(np.array(words, np.uint64))
    return hashes


def _is_whole(text: str) -> bool:
    """Whether 64 bits hold the number, and the text is how one writes it."""
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 20:
        return False
    return -(2**63) <= int(text) < 2**64 and str(int(text)) == text


def keys(hashes: np.ndarray, seed: int) -> np.ndarray:
    """A number of each row for this seed, uniform on 64 bits."""
    return mix(hashes ^ mix(np.array([seed], np.uint64))[0])


def threshold(share: float) -> int:
    """The key up to which this share of all rows lies; at 1, all of them."""
    return min(int(share * WHOLE), 2**64 - 1)
