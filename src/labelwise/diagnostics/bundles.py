"""Bundles: test rows whose labels are foretold together.

Beliefs that agree on every label alone may differ on several at once, and that is what shows
whether they know what they do not know. In high dimensions random rows hardly depend on each
other; a dyadic bundle repeats two rows, its anchors, so that they do. [1]

A row that stands in a bundle several times has the same label each time, as on real tables, or
a fresh one each time, where the law of labels is known. Losses under the two conventions are on
different scales. With repeated labels their noise is repeated too: a belief is then rewarded
for taking noise for the function, and the one that labels come from need not be the best.

[1] Osband, Wen, Asghari, Dwaracherla, Lu, Ibrahimi, Lawson, Hao, O'Donoghue, Van Roy (2022),
    The neural testbed: evaluating joint predictions.
"""

from collections.abc import Callable

import numpy as np

from labelwise.errors import InvalidInput

SIZE = 10  # τ, labels of a bundle
BUNDLES = 1000


def draw_dyads(
    rng: np.random.Generator, rows: int, bundles: int = BUNDLES, size: int = SIZE
) -> np.ndarray:
    """Bundles of two anchors each, which may coincide: places of rows, bundles by `size`."""
    _check(rows, bundles, size)
    anchors = rng.integers(rows, size=(bundles, 2))
    return np.take_along_axis(anchors, rng.integers(2, size=(bundles, size)), axis=1)


def draw_uniform(
    rng: np.random.Generator, rows: int, bundles: int = BUNDLES, size: int = SIZE
) -> np.ndarray:
    """Bundles of rows at random, each drawn from all: a control for dyads."""
    _check(rows, bundles, size)
    return rng.integers(rows, size=(bundles, size))


def draw_distinct(
    rng: np.random.Generator, rows: int, bundles: int = BUNDLES, size: int = SIZE
) -> np.ndarray:
    """Bundles of different rows, of fewer than `size` if there are no more.

    Their loss is least, on average, for the belief that labels come from: no label, and no
    noise in it, counts twice. That is what beliefs on real tables are to be chosen by.
    """
    _check(rows, bundles, size)
    order = rng.uniform(size=(bundles, rows)).argsort(axis=1)
    return order[:, : min(size, rows)]


def one_by_one(rows: int) -> np.ndarray:
    """Every row a bundle of its own: their losses are marginal."""
    return np.arange(rows)[:, None]


def fresh_labels(
    rng: np.random.Generator,
    bundles: np.ndarray,
    law: Callable[[np.random.Generator, np.ndarray], np.ndarray],
) -> np.ndarray:
    """A new label at every place: `law` draws one for each of the rows it is given."""
    return law(rng, bundles.ravel()).reshape(bundles.shape)


def _check(rows: int, bundles: int, size: int) -> None:
    for name, number in (("rows", rows), ("bundles", bundles), ("size", size)):
        if number < 1:
            raise InvalidInput.must(name, "be 1 or more", f"it is {number}")
