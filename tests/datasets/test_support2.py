"""The table shipped for the demonstration."""

from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from labelwise.datasets.support2 import (
    DIED,
    HOME,
    ID,
    LABEL,
    PREDICTION,
    RISK,
    draw_support2,
    load_support2,
    load_support2_death,
)

DATA = files("labelwise.datasets") / "data"
KNOWN_LATER = {  # the source's columns that tell how the stay went, or what it cost
    *("death", "hospdead", "slos", "d.time", "charges", "totcst", "totmcst", "avtisst"),
    *("surv2m", "surv6m", "prg2m", "prg6m", "dnr", "dnrday", "sfdm2", "adlsc"),
}


@pytest.fixture(scope="module")
def table():
    return load_support2()


def squared_error(table):
    return (table[LABEL] - table[PREDICTION]) ** 2


def test_the_table_is_the_one_that_was_made(table):
    assert table.shape == (8133, 17)
    assert table[ID].is_unique
    assert table[[ID, LABEL, PREDICTION]].notna().all(axis=None)
    assert_allclose(
        [table[ID].sum(), table["age"].sum(), table[LABEL].sum(), table[PREDICTION].sum()],
        [37154783, 510834.8, 35657.048, 37867.894],
        rtol=1e-9,
    )


def test_features_are_of_both_kinds_and_some_values_are_missing(table):
    features = table.drop(columns=[ID, LABEL, PREDICTION])
    text = [name for name in features if not pd.api.types.is_numeric_dtype(features[name])]
    assert text == ["sex", "disease"]
    assert table["disease"].nunique() == 8
    missing = features.isna().sum()
    assert missing["albumin"] > 1000
    assert 0 < missing["white_count"] < 300
    assert missing[text].sum() == 0


def test_nothing_known_only_later_is_a_feature(table):
    assert not KNOWN_LATER & set(table)
    features = table.drop(columns=[ID, LABEL, PREDICTION]).select_dtypes("number")
    # The outcome itself under another name would correlate at 1; honest features do not.
    assert features.corrwith(table[LABEL], method="spearman").abs().max() < 0.7


def test_licence_source_and_changes_stand_beside_the_table():
    text = (DATA / "SUPPORT2.md").read_text(encoding="utf-8")
    for phrase in ("Attribution 4.0", "10.3886/ICPSR02957.v2", "122:191–203", "**Changes**"):
        assert phrase in text
    for column in load_support2().columns:
        assert f"`{column}`" in text
    assert len((DATA / "support2.csv.gz").read_bytes()) < 400_000


def test_the_model_is_better_at_home_than_elsewhere(table):
    """By more than five standard errors of the difference."""
    error, home = squared_error(table), table["disease"] == HOME
    here, away = error[home], error[~home]
    standard_error = np.sqrt(here.var() / len(here) + away.var() / len(away))
    assert away.mean() - here.mean() > 5 * standard_error
    assert away.mean() > 2 * here.mean()


def test_at_home_the_model_is_better_than_no_model(table):
    here = table[table["disease"] == HOME]
    assert squared_error(here).mean() < 0.75 * here[LABEL].var()


def test_a_draw_labels_the_home_diseases_and_keeps_the_population_apart():
    labelled, pool = draw_support2(3, labelled=60, pool=500)
    again = draw_support2(3, labelled=60, pool=500)
    assert (len(labelled), len(pool)) == (60, 500)
    assert set(labelled["disease"]) == {HOME}
    assert pool["disease"].nunique() == 8
    assert not set(labelled[ID]) & set(pool[ID])
    pd.testing.assert_frame_equal(labelled, again[0])
    pd.testing.assert_frame_equal(pool, again[1])
    assert set(draw_support2(4, 60, 500)[1][ID]) != set(pool[ID])


@pytest.mark.parametrize(("labelled", "pool"), [(0, 10), (10_000, 10), (80, 8133), (80, 0)])
def test_a_draw_that_is_too_large_is_refused(labelled, pool, refused):
    with refused(where="labelled"):
        draw_support2(0, labelled, pool)


def test_deaths_are_of_the_same_patients(table):
    deaths = load_support2_death()
    assert deaths[ID].tolist() == table[ID].tolist()
    assert set(deaths) == (set(table) - {LABEL, PREDICTION}) | {DIED, RISK}
    assert set(deaths[DIED]) == {0, 1}
    assert deaths[DIED].sum() == 2034
    assert deaths[RISK].between(0.0, 1.0, inclusive="neither").all()


def test_the_risk_says_something_and_does_not_give_the_answer_away():
    deaths = load_support2_death()
    ranks, ones = deaths[RISK].rank(), deaths[DIED].sum()
    wins = ranks[deaths[DIED] == 1].sum() - ones * (ones + 1) / 2
    assert 0.65 < wins / (ones * (len(deaths) - ones)) < 0.75  # the area under the curve


def test_columns_of_the_deaths_are_documented():
    text = (DATA / "SUPPORT2.md").read_text(encoding="utf-8")
    assert f"`{DIED}`" in text
    assert f"`{RISK}`" in text
