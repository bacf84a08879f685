"""Numbers of rows: uniform, and of the id and the seed alone."""

import numpy as np
import pyarrow as pa

from labelwise.pools.keys import hash_ids, hash_texts, keys, mix, threshold


def test_mix_is_splitmix64():
    # The first outputs of the published generator from the state 1234567.
    golden = 0x9E3779B97F4A7C15
    states = [(1234567 + step * golden) % 2**64 for step in range(3)]
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mix(np.array(states, np.uint64)).tolist() == expected


def test_an_id_is_one_however_it_is_written():
    numbers = hash_ids(pa.chunked_array([pa.array([7, 12, -3])]))
    floats = hash_ids(pa.chunked_array([pa.array([7.0, 12.0, -3.0])]))
    texts = hash_ids(pa.chunked_array([pa.array(["7", "12", "-3"])]))
    np.testing.assert_array_equal(numbers, floats)
    np.testing.assert_array_equal(numbers, texts)


def test_so_it_is_of_all_whole_numbers_of_64_bits():
    signed, unsigned = [-(2**63), -(2**62), 2**62, 2**63 - 1], [2**63, 2**64 - 1]
    for kind, values in ((pa.int64(), signed), (pa.uint64(), unsigned)):
        numbers = hash_ids(pa.chunked_array([pa.array(values, kind)]))
        np.testing.assert_array_equal(numbers, hash_texts([str(value) for value in values]))


def test_ids_that_differ_have_other_hashes():
    texts = ["7", "07", "seven", "", "-0", "99999999999999999999", "Ä"]
    assert len(set(hash_texts(texts).tolist())) == len(texts)


def test_keys_are_uniform_and_of_another_seed_independent():
    hashes = mix(np.arange(100_000, dtype=np.uint64))
    first, second = (keys(hashes, seed) / 2.0**64 for seed in (0, 1))
    counts = np.histogram(first, 20, (0.0, 1.0))[0]
    expected = len(hashes) / 20
    assert np.abs(counts - expected).max() < 5.0 * np.sqrt(expected)
    assert abs(np.corrcoef(first, second)[0, 1]) < 5.0 / np.sqrt(len(hashes))


def test_the_share_below_a_threshold_is_the_share():
    first = keys(mix(np.arange(50_000, dtype=np.uint64)), 3)
    below = (first <= np.uint64(threshold(0.1))).mean()
    assert abs(below - 0.1) < 5.0 * np.sqrt(0.1 * 0.9 / 50_000)
    assert threshold(1.0) == 2**64 - 1
