"""Statistics that add up: held to numpy's of all rows at once."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from labelwise.pools.sketch import Sketch, bins_of, middle_of
from labelwise.pools.tally import Tally, from_parts, tally_rows, to_parts
from tests.pools.tables import columns

NAMES = ("a", "b", "kind")


def in_parts(table: pa.Table, size: int) -> Tally:
    tally = Tally()
    for start in range(0, len(table), size):
        tally = tally.joined(tally_rows(table.slice(start, size), NAMES))
    return tally


@pytest.mark.parametrize("size", [100, 999, 6000])
def test_parts_have_the_statistics_of_the_whole(size):
    table = pa.table(columns())
    tally, frame = in_parts(table, size), table.to_pandas()
    assert tally.rows == len(frame)
    for name in ("a", "b"):
        found, known = tally.numbers[name], frame[name].dropna().to_numpy(float)
        assert found.missing == frame[name].isna().sum()
        assert found.count == len(known)
        np.testing.assert_allclose(found.mean, known.mean(), rtol=1e-12)
        np.testing.assert_allclose(found.std, known.std(), rtol=1e-10)
        assert (found.low, found.high) == (known.min(), known.max())
    assert tally.levels["kind"] == frame["kind"].value_counts().to_dict()


def test_quantiles_are_right_to_the_width_of_a_bin():
    numbers = np.concatenate([np.random.default_rng(1).standard_cauchy(20_000), [0.0, -0.0]])
    sketch = Sketch.of(numbers[:7000]).joined(Sketch.of(numbers[7000:]))
    for share in (0.01, 0.25, 0.5, 0.9):
        exact = float(np.quantile(numbers, share, method="inverted_cdf"))
        assert abs(sketch.quantile(share) - exact) <= 0.008 * abs(exact)


def test_bins_follow_the_order_of_numbers():
    numbers = np.array([-np.inf, -1e30, -2.0, -1e-30, 0.0, 1e-30, 0.5, 1.0, 1e30, np.inf])
    bins = bins_of(numbers)
    assert (np.diff(bins) > 0).all()
    finite = numbers[1:-1]
    np.testing.assert_allclose(middle_of(bins_of(finite)), finite, rtol=0.008, atol=1e-30)


def test_a_tally_is_read_back_to_the_last_bit():
    tally = in_parts(pa.table(columns()), 1000)
    assert to_parts(from_parts(to_parts(tally))) == to_parts(tally)


def test_a_column_of_very_many_texts_has_no_levels():
    names = pd.Series(range(6000)).astype(str)
    tally = in_parts(pa.table(columns() | {"kind": names}), 1000)
    assert tally.levels["kind"] is None
