"""The loader of the American Community Survey, on made-up people and on the real ones."""

import numpy as np
import pandas as pd
import pytest

from experiments.readers.acs import CODES, INCOME, MARRIAGES, NOT_FEATURES, NUMBERS, load_acs
from tests.experiments.readers.intensive_care import ABSENT, SHARED


@pytest.fixture
def people():
    """Four people: no income, pocket money, and either side of $50,000."""
    table = pd.DataFrame(1, index=range(4), columns=[*NOT_FEATURES, *NUMBERS, *CODES])
    table[INCOME] = [0.0, 100.0, 50_000.0, 80_000.0]
    table["Children"], table["Grandparents"] = ["0", "b", "b", "2"], ["b", "0", "b", "1"]
    table[MARRIAGES] = ["1", "b", "b", "1"]
    return table


def test_only_people_with_an_income_are_kept(people, tmp_path):
    people.to_csv(tmp_path / "ct_2018.csv", index=False)
    table = load_acs(tmp_path)
    np.testing.assert_allclose(np.exp(table["log_income"]), [50_000.0, 80_000.0])
    assert table["income_above_50k"].tolist() == [0, 1]


def test_parts_of_the_income_and_the_weight_are_left_out(people, tmp_path):
    people.to_csv(tmp_path / "ct_2018.csv", index=False)
    names = set(load_acs(tmp_path))
    assert not names & {"PA_Inc", "SS_Inc", "PWeight", INCOME}


def test_a_question_not_asked_is_missing_among_numbers_and_a_code_of_its_own(people, tmp_path):
    people.to_csv(tmp_path / "ct_2019.csv", index=False)
    table = load_acs(tmp_path, year=2019)
    np.testing.assert_array_equal(table["Children"], [np.nan, 2.0])
    assert table["Grandparents"].tolist() == ["b", "1"]


def test_who_was_never_married_has_no_marriages(people, tmp_path):
    people.to_csv(tmp_path / "ct_2018.csv", index=False)
    assert load_acs(tmp_path)[MARRIAGES].tolist() == [0.0, 1.0]


def test_a_year_that_is_not_there_is_refused(people, tmp_path, refused):
    people.to_csv(tmp_path / "ct_2018.csv", index=False)
    with refused(where="<tmp>"):
        load_acs(tmp_path, year=2020)


def test_missing_columns_are_named(people, tmp_path, refused):
    people.drop(columns=["SS_Inc", "Age"]).to_csv(tmp_path / "ct_2018.csv", index=False)
    with refused(where="<tmp>/ct_2018.csv"):
        load_acs(tmp_path)


@pytest.mark.skipif(not (SHARED / "acs_pums_ct").is_dir(), reason=ABSENT)
def test_the_real_table_has_its_people():
    table = load_acs(SHARED / "acs_pums_ct")
    assert table.shape == (27141, 30)
    assert table["income_above_50k"].sum() / 30592 == pytest.approx(0.369, abs=5e-4)
    assert table["log_income"].min() > np.log(100.0)
    assert table.drop(columns="Children").notna().all(axis=None)
