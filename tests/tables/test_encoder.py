"""Features as scikit-learn would make them, with statistics that are kept."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from labelwise.tables.encoder import LEVELS, OTHER, Encoder, fit_encoder


def split(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """One frame as three tables."""
    first, second = len(frame) // 3, 2 * len(frame) // 3
    parts = {"labelled": frame[:first], "pool": frame[first:second], "target": frame[second:]}
    return {name: part.reset_index(drop=True) for name, part in parts.items()}


def fitted(frame: pd.DataFrame, **options) -> tuple[Encoder, np.ndarray]:
    encoder = fit_encoder(split(frame), list(frame.columns), **options)
    return encoder, encoder.encode(frame)


def test_numbers_are_standardised_over_all_tables():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(5, 3, 60), "b": rng.integers(0, 9, 60)})
    encoder, found = fitted(frame)
    np.testing.assert_allclose(
        found, StandardScaler().fit_transform(frame), rtol=1e-12, atol=1e-12
    )
    assert encoder.names == ["a", "b"]
    assert encoder.notes == ()


@pytest.mark.parametrize("levels", [2, 3, 7, LEVELS])
def test_texts_become_indicators(levels):
    rng = np.random.default_rng(levels)
    texts = [f"level {index:02d}" for index in rng.permutation(levels)]
    frame = pd.DataFrame({"site": [*texts, *rng.choice(texts, 90)]})
    encoder, found = fitted(frame)
    other = OneHotEncoder(sparse_output=False, drop="if_binary")
    np.testing.assert_array_equal(found, other.fit_transform(frame))
    first = 1 if levels == 2 else 0
    assert encoder.names == [f"site = {level}" for level in sorted(texts)[first:]]


def test_a_level_that_was_never_seen_raises_no_indicator():
    encoder, _ = fitted(pd.DataFrame({"site": list("abc") * 9}))
    new = pd.DataFrame({"site": ["b", "z", None]})
    np.testing.assert_array_equal(encoder.encode(new), [[0, 1, 0], [0, 0, 0], [0, 0, 0]])


def test_a_pair_of_levels_takes_one_indicator():
    encoder, _ = fitted(pd.DataFrame({"sex": ["m", "f", "m"] * 9}))
    assert encoder.names == ["sex = m"]
    new = pd.DataFrame({"sex": ["m", "f", "x"]})
    np.testing.assert_array_equal(encoder.encode(new), [[1], [0], [0]])


def test_rare_levels_share_an_indicator_with_unseen_ones():
    common = [f"c{index:02d}" for index in range(LEVELS)]
    rare = [f"r{index}" for index in range(5)]
    frame = pd.DataFrame({"site": common * 4 + rare})
    encoder, found = fitted(frame)
    assert encoder.names == [f"site = {level}" for level in [*common, OTHER]]
    np.testing.assert_array_equal(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found[-5:, -1], 1.0)
    np.testing.assert_array_equal(found[:-5, :-1], np.tile(np.eye(LEVELS), (4, 1)))
    assert encoder.encode(pd.DataFrame({"site": ["never"]}))[0, -1] == 1.0
    assert encoder.notes == ("Column 'site': 5 rare levels of 35 share one indicator.",)


def test_a_level_called_other_joins_the_rare_ones():
    frame = pd.DataFrame(
        {"site": [OTHER] * 50 + [f"s{index % 40:02d}" for index in range(160)]}
    )
    encoder, found = fitted(frame)
    assert encoder.names.count(f"site = {OTHER}") == 1
    assert found[0, -1] == 1.0
    np.testing.assert_array_equal(found.sum(axis=1), 1.0)


def test_which_levels_are_rare_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"site": [f"s{index % 45}" for index in range(180)]})
    shuffled = frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)
    assert fitted(frame)[0] == fitted(shuffled)[0]


def test_missing_numbers_become_the_median_with_an_indicator():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 100.0, np.nan, 4.0]})
    encoder, found = fitted(frame)
    filled = frame["a"].fillna(3.5).to_numpy()
    np.testing.assert_allclose(found[:, 0], (filled - filled.mean()) / filled.std(), rtol=1e-12)
    np.testing.assert_array_equal(found[:, 1], [0, 1, 0, 0, 1, 0])
    assert encoder.names == ["a", "a (missing)"]
    assert encoder.notes == (
        "Column 'a': 2 missing of 6, replaced by the median 3.5 with an indicator column.",
    )


def test_a_gap_that_comes_later_is_filled_without_an_indicator():
    encoder, _ = fitted(pd.DataFrame({"a": [1.0, 2.0, 6.0]}))
    np.testing.assert_allclose(
        encoder.encode(pd.DataFrame({"a": [np.nan]})),
        encoder.encode(pd.DataFrame({"a": [2.0]})),
    )


def test_a_missing_text_is_a_level():
    frame = pd.DataFrame({"site": ["n", None, "s", "n", "s", None]})
    encoder, found = fitted(frame)
    assert encoder.names == ["site = (missing)", "site = n", "site = s"]
    np.testing.assert_array_equal(found[:, 0], [0, 1, 0, 0, 0, 1])


def test_dates_are_numbers_of_days_whatever_their_zone():
    days = pd.to_datetime(["2024-01-01", "2024-01-11", "2024-01-21"])
    _, found = fitted(pd.DataFrame({"day": days}))
    np.testing.assert_allclose(found[:, 0], [-np.sqrt(1.5), 0.0, np.sqrt(1.5)], atol=1e-12)
    encoder, zoned = fitted(
        pd.DataFrame({"day": days.tz_localize("UTC").tz_convert("Asia/Tokyo")})
    )
    np.testing.assert_allclose(zoned, found, atol=1e-12)
    later = encoder.encode(pd.DataFrame({"day": pd.to_datetime(["2024-01-31"])}))
    np.testing.assert_allclose(later, 2 * np.sqrt(1.5))


@pytest.mark.parametrize("kind", [bool, "boolean", object])
def test_booleans_are_numbers(kind):
    frame = pd.DataFrame(
        {"flag": pd.Series([True, False, False, True, False, False], dtype=kind)}
    )
    _, found = fitted(frame)
    expected = StandardScaler().fit_transform(frame.astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_numbers_written_as_text_are_numbers():
    _, found = fitted(pd.DataFrame({"a": ["1", "2", "6"]}))
    _, expected = fitted(pd.DataFrame({"a": [1.0, 2.0, 6.0]}))
    np.testing.assert_array_equal(found, expected)


def test_numbers_may_be_called_categorical():
    """1 in a table of whole numbers and 1.0 beside a gap are the same level."""
    parts = {
        "labelled": pd.DataFrame({"code": [1, 2, 3]}),
        "pool": pd.DataFrame({"code": [1.0, np.nan, 3.0]}),
        "target": pd.DataFrame({"code": ["1", "2", "3"]}),
    }
    encoder = fit_encoder(parts, ["code"], categorical=["code"])
    assert encoder.names == ["code = (missing)", "code = 1", "code = 2", "code = 3"]
    np.testing.assert_array_equal(encoder.encode(parts["pool"]), np.eye(4)[[1, 0, 3]])


def test_categories_of_pandas_are_texts_even_if_they_are_numbers():
    frame = pd.DataFrame({"grade": pd.Categorical([1, 2, 3, 1, 2, 3])})
    assert fitted(frame)[0].names == ["grade = 1", "grade = 2", "grade = 3"]


@pytest.mark.parametrize("values", [[1.0] * 6, ["same"] * 6, [1e6 + 1e-6, *[1e6] * 5]])
def test_constant_columns_are_left_out_and_said_so(values):
    frame = pd.DataFrame({"k": values, "a": range(6)})
    encoder, _ = fitted(frame)
    assert encoder.names == ["a"]
    assert encoder.notes == ("Column 'k' is constant and left out of the features.",)


def test_empty_columns_are_left_out_and_said_so():
    encoder, _ = fitted(pd.DataFrame({"k": [np.nan] * 6, "a": range(6)}))
    assert encoder.names == ["a"]
    assert encoder.notes == ("Column 'k' is empty and left out of the features.",)


def test_texts_that_name_rows_are_left_out_unless_chosen():
    frame = pd.DataFrame({"note": [f"text {index}" for index in range(60)], "a": range(60)})
    encoder, _ = fitted(frame)
    assert encoder.names == ["a"]
    assert "60 distinct texts in 60 rows" in encoder.notes[0]
    assert len(fitted(frame, chosen=True)[0].names) == LEVELS + 2


def test_a_column_empty_in_one_table_takes_its_kind_from_the_others():
    parts = split(pd.DataFrame({"site": ["n", "s", "w"] * 4}))
    parts["pool"] = pd.DataFrame({"site": [np.nan] * 4})
    encoder = fit_encoder(parts, ["site"])
    assert encoder.names[0] == "site = (missing)"
    np.testing.assert_array_equal(encoder.encode(parts["pool"])[:, 0], 1.0)


def test_many_wide_categorical_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            f"c{column}": rng.choice([f"v{level}" for level in range(40)], 400)
            for column in range(30)
        }
    )
    encoder, found = fitted(frame)
    assert found.shape == (400, 30 * (LEVELS + 1))
    np.testing.assert_array_equal(found.reshape(400, 30, -1).sum(axis=2), 1.0)
    assert len(encoder.notes) == 30


def test_a_hundred_thousand_rows():
    rng = np.random.default_rng(0)
    size = 10**5
    frame = pd.DataFrame(
        {
            "a": np.where(rng.uniform(size=size) < 0.1, np.nan, rng.normal(size=size)),
            "site": rng.choice(["n", "s", "w", None], size),
            "day": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 999, size), "D"),
        }
    )
    encoder, found = fitted(frame)
    assert found.shape == (size, 7)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, [0, -1]].mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(found[:, [0, -1]].std(axis=0), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(found[:, 1], frame["a"].isna())
    np.testing.assert_array_equal(found[:, 3], frame["site"] == "n")
    assert encoder.names[3] == "site = n"


def test_an_encoder_survives_storage():
    frame = pd.DataFrame(
        {"a": [1.0, np.nan, 3.0] * 2, "site": list("nsw") * 2, "two": list("xy") * 3}
    )
    encoder, found = fitted(frame)
    again = Encoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again == encoder
    np.testing.assert_array_equal(again.encode(frame), found)


def test_one_table_at_a_time_gives_the_same_rows():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0] * 3, "site": list("nsw") * 3})
    encoder, found = fitted(frame)
    parts = [encoder.encode(part) for part in split(frame).values()]
    np.testing.assert_array_equal(np.concatenate(parts), found)


BAD = {
    "a text among numbers": ("pool.a", {"a": [1, 2, 3, 4, 5, "x", 7, 8, 9]}, {}),
    "infinity": ("pool.a", {"a": [1.0, 2.0, 3.0, np.inf, 5.0, 6.0]}, {}),
    "gaps": ("pool.a", {"a": [1.0, 2.0, 3.0, np.nan, 5.0, np.nan]}, {"missing": "refuse"}),
    "a constant": ("features", {"a": [1.0] * 6}, {}),
}


@pytest.mark.parametrize("name", BAD)
def test_unusable_columns_are_named(name, refused):
    where, frame, options = BAD[name]
    with refused(where=where):
        fitted(pd.DataFrame(frame), **options)


def test_a_column_of_two_kinds_is_refused(refused):
    days = pd.to_datetime(["2024-01-31", "2024-02-29"])
    parts = {"pool": pd.DataFrame({"a": [1.0, 2.0]}), "target": pd.DataFrame({"a": days})}
    with refused(where="target.a"):
        fit_encoder(parts, ["a"])
