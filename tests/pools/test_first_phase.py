"""A stratified sample: its sizes, and that rows come into it as often as is said."""

import numpy as np
import pyarrow as pa
import pytest

from labelwise.errors import NumericalError
from labelwise.pools.first_phase import (
    EVEN,
    KEY,
    STRATUM,
    TEXT,
    FirstPhase,
    allocate,
    select,
    shares,
)
from labelwise.pools.keys import keys, mix
from labelwise.pools.strata import count_cells

ROWS, SIZES = np.array([30, 50, 4]), np.array([6, 5, 4])


def drawn(seed: int, sizes: np.ndarray = SIZES) -> pa.Table:
    stratum = np.repeat(np.arange(3), ROWS)
    ids = np.arange(len(stratum))
    key = keys(mix(ids.astype(np.uint64)), seed)
    table = {"id": ids, KEY: key, STRATUM: stratum, TEXT: ids.astype(str)}
    return select(pa.table(table), sizes)


def test_every_row_has_the_probability_that_is_said():
    draws = 4000
    counts = np.zeros(ROWS.sum())
    for seed in range(draws):
        counts[drawn(seed)["id"].to_numpy()] += 1
    said = np.repeat(SIZES / ROWS, ROWS)
    error = np.sqrt(said * (1.0 - said) / draws)
    assert (np.abs(counts / draws - said) <= 4.5 * error).all()  # of 84 rows at once


def test_strata_give_as_many_rows_as_they_should():
    found = drawn(1)
    assert np.bincount(found[STRATUM].to_numpy()).tolist() == SIZES.tolist()
    assert (np.diff(found[KEY].to_numpy().astype(float)) > 0).all()  # in no other order


def test_too_few_candidates_are_no_sample():
    with pytest.raises(NumericalError):
        drawn(1, np.array([31, 5, 4]))


def test_sizes_are_neymans_but_for_an_even_share():
    rows, spread = np.array([90_000, 9_000, 1_000]), np.array([0.1, 1.0, 2.0])
    sizes = allocate(rows, spread, 1000)
    stake = rows * spread / (rows * spread).sum()
    expected = 1000 * (EVEN * rows / rows.sum() + (1.0 - EVEN) * stake)
    np.testing.assert_allclose(sizes, expected, atol=1.0)


def test_a_stratum_that_would_give_more_than_it_has_gives_all():
    sizes = allocate([100_000, 50], [1.0, 1e6], 1000)
    assert sizes.tolist() == [950, 50]


def test_no_stratum_gives_fewer_rows_than_tell_a_spread():
    assert allocate([100_000, 40, 1, 0], [1.0, 0.0, 0.0, 0.0], 100).tolist() == [100, 2, 1, 0]


def test_the_share_of_keys_that_is_looked_at_holds_the_sample():
    rows, sizes = np.array([10_000, 100, 5]), np.array([100, 100, 2])
    looked = shares(rows, sizes)
    assert looked[1] == looked[2] == 1.0
    mean = rows[0] * looked[0]
    assert (mean - sizes[0]) / np.sqrt(mean) > 7.0


def test_probabilities_are_kept():
    phase = FirstPhase(ROWS, SIZES, np.array([0, 0, 2, 1]), "by chance", "/pool", ("id",))
    again = FirstPhase.from_dict(phase.to_dict())
    np.testing.assert_array_equal(again.probability, [0.2, 0.2, 1.0, 0.1])
    assert again.told == {"rows": 84, "sample": 4, "how": "by chance"}


def test_groups_that_are_written_alike_are_counted_together():
    rows = pa.table({"place": ["north", "north ", "south", None, "north"]})
    counts = count_cells(rows, None, ["place"]).counts
    assert {group: many for (group, _), many in counts.items()} == {
        ("north",): 3,
        ("south",): 1,
        ("missing",): 1,
    }
