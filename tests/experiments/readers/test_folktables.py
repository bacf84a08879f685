"""The loader of official person files, on a few made-up people."""

import pandas as pd
import pytest

from experiments.readers.folktables import FEATURES, load_folktables


@pytest.fixture
def people(tmp_path):
    names = {*FEATURES["employment"], *FEATURES["income"], "ESR", "PINCP", "PWGTP"}
    table = pd.DataFrame(1.0, index=range(4), columns=sorted(names))
    table["AGEP"], table["WKHP"] = [40, 16, 50, 30], [40.0, 20.0, None, 10.0]
    table["PINCP"], table["ESR"] = [50_001.0, 70_000.0, 90_000.0, 50_000.0], [1, 6, None, 2]
    table["COW"] = [1.0, 1.0, None, 6.0]

    def write(**renamed):
        table.rename(columns=renamed).to_csv(tmp_path / "psam_p36.csv", index=False)
        return tmp_path

    return write


def test_everybody_counts_for_employment(people):
    table = load_folktables(people(), "employment")
    assert table.shape == (4, 17)
    assert table["employed"].tolist() == [1, 0, 0, 0]
    assert table["AGEP"].tolist() == [40.0, 16.0, 50.0, 30.0]


def test_income_is_about_people_who_earn(people):
    table = load_folktables(people(), "income")
    assert table["AGEP"].tolist() == [40.0, 30.0]  # too young, no hours
    assert table["income_above_50k"].tolist() == [1, 0]
    assert table["COW"].tolist() == ["1", "6"]
    assert len(table.columns) == 11


def test_a_question_not_asked_is_a_code_of_its_own(people, tmp_path):
    folder = people()
    table = pd.read_csv(folder / "psam_p36.csv")
    table.assign(MIG=[None, 1.0, 1.0, 1.0]).to_csv(folder / "psam_p36.csv", index=False)
    assert load_folktables(folder, "employment")["MIG"].tolist() == ["none", "1", "1", "1"]


def test_the_later_name_of_the_relation_is_known(people):
    assert "RELP" in load_folktables(people(RELP="RELSHIPP"), "employment")


def test_missing_columns_are_named(people, refused):
    with refused(where="<tmp>/psam_p36.csv"):
        load_folktables(people(ESR="other"), "employment")
