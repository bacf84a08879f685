"""Hashes that occur twice, among more of them than are looked at together."""

import numpy as np

from labelwise.pools import duplicates
from labelwise.pools.duplicates import repeated_hashes, repeated_ids


def test_repeated_hashes_are_found_range_by_range(tmp_path, monkeypatch):
    monkeypatch.setattr(duplicates, "RANGE", 64)
    rng = np.random.default_rng(0)
    all_ = rng.integers(0, 2**63, 5000).astype(np.uint64) * np.uint64(2)
    all_[[17, 4000]] = all_[[900, 901]]
    files = []
    for number, part in enumerate(np.split(all_, 5)):
        files.append(tmp_path / f"{number}.npy")
        np.save(files[-1], np.sort(part))
    values, counts = np.unique(all_, return_counts=True)
    np.testing.assert_array_equal(repeated_hashes(files, 5000), values[counts > 1])


def test_ids_whose_hashes_are_alike_are_held_to_each_other():
    assert repeated_ids([("a", "one"), ("b", "one"), ("c", "two")]) is None
    assert repeated_ids([("a", "one"), ("b", "one"), ("a", "two")]) == ("a", ["one", "two"])
