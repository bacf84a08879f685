"""The best rows of parts that are joined are those of the whole, in whatever order."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from labelwise.pools.best import HASH, KIND, SCORE, Best

ROWS, KINDS = 500, 12
BEST = Best(total=60, each=3)


def table(seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    score = rng.integers(40, size=ROWS).astype(np.float32)  # many that tie
    score[rng.random(ROWS) < 0.05] = np.nan  # rows that must not be asked
    kind = rng.integers(KINDS, size=ROWS).astype(np.int32)
    hashes = rng.permutation(ROWS).astype(np.uint64)
    return pa.table({SCORE: score, KIND: kind, HASH: hashes})


def by_hand(rows: pa.Table) -> set[int]:
    """Hashes of the best rows: of every kind the first few, then the best of the rest."""
    ranked = sorted(
        (-score, hash_, kind)
        for score, kind, hash_ in zip(*(column.to_pylist() for column in rows.columns))  # noqa: B905
        if score == score
    )
    first = [one for k in range(KINDS) for one in [r for r in ranked if r[2] == k][: BEST.each]]
    rest = [one for one in ranked if one not in set(first)]
    return {one[1] for one in [*sorted(first), *rest][: BEST.total]}


@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_are_those_of_every_kind_then_of_all(seed):
    found = BEST.chosen(table(seed))
    assert set(found[HASH].to_pylist()) == by_hand(table(seed))
    assert found[HASH].to_pylist() == sorted(found[HASH].to_pylist())


@pytest.mark.parametrize("parts", [2, 7])
def test_parts_in_any_order_join_to_the_whole(parts):
    whole, rng = table(), np.random.default_rng(parts)
    shuffled = whole.take(pa.array(rng.permutation(ROWS)))
    cuts = np.linspace(0, ROWS, parts + 1).astype(int)
    pieces = [shuffled.slice(begin, end - begin) for begin, end in pairwise(cuts)]
    kept = BEST.joined(pieces[:1])
    for piece in pieces[1:]:
        kept = BEST.joined([kept, BEST.joined([piece])])
    assert len(kept) < ROWS // 2
    assert BEST.chosen(kept).equals(BEST.chosen(whole))


def test_rows_without_a_score_are_never_among_them():
    rows = table()
    few = Best(total=ROWS, each=ROWS).chosen(rows)
    assert len(few) == np.isfinite(rows[SCORE].to_numpy()).sum() < ROWS
