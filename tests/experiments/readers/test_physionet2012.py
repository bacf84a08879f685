"""The PhysioNet 2012 loader, on made-up rows and on the data set where it is at hand."""

import pandas as pd
import pytest

from experiments.readers.physionet2012 import FILE, load_physionet2012
from tests.experiments.readers.intensive_care import ABSENT, SHARED, write_physionet2012

LEAKS = {"SAPS-I", "SOFA", "Length_of_stay", "Survival"}


def test_what_tells_the_outcome_is_left_out(tmp_path):
    source = write_physionet2012(tmp_path)
    table = load_physionet2012(tmp_path)
    assert list(table) == ["died_in_hospital", "Age", "ICUType", "Urine_mean", "HR_mean"]
    assert (table["died_in_hospital"] == source["In-hospital_death"]).all()
    assert table["ICUType"][:4].tolist() == [
        "coronary",
        "cardiac surgery",
        "medical",
        "surgical",
    ]
    assert table["Urine_mean"].isna().sum() == 1


def test_a_folder_without_the_file_is_refused(tmp_path, refused):
    with refused(where="<tmp>/nowhere"):
        load_physionet2012(tmp_path / "nowhere")
    with refused(where="<tmp>"):
        load_physionet2012(tmp_path)


def test_a_file_of_another_kind_is_refused(tmp_path, refused):
    (tmp_path / FILE).write_text("age,died\n")
    with refused(where=f"<tmp>/{FILE}"):
        load_physionet2012(tmp_path)
    write_physionet2012(tmp_path).drop(columns=["SOFA", "ICUType"]).to_parquet(tmp_path / FILE)
    with refused(where=f"<tmp>/{FILE}"):
        load_physionet2012(tmp_path)


@pytest.mark.skipif(not (SHARED / "physionet2012").is_dir(), reason=ABSENT)
def test_the_real_table_has_its_patients_and_no_leaks():
    table = load_physionet2012(SHARED / "physionet2012")
    assert table.shape == (12000, 150)
    assert table["died_in_hospital"].mean() == pytest.approx(0.14225)
    assert not LEAKS & set(table)
    known = pd.read_csv(SHARED / "physionet2012" / "outcomes.csv")
    assert known["In-hospital_death"].sum() == table["died_in_hospital"].sum()
    assert table["ICUType"].notna().all()
