"""The eICU loader, on made-up stays and on the demonstration where it is at hand."""

import numpy as np
import pandas as pd
import pytest

from experiments.readers.eicu import load_eicu
from tests.experiments.readers.intensive_care import ABSENT, SHARED, write_eicu


@pytest.fixture
def folder(tmp_path):
    write_eicu(tmp_path)
    return tmp_path


def test_files_become_one_row_a_stay(folder):
    table = load_eicu(folder)
    assert table["died_in_hospital"].tolist() == [0, 1]  # stays 11 and 12
    assert table["age"].tolist() == [61.0, 90.0]
    assert table["hospitaladmitoffset"].tolist() == [-20, -1]  # a minute before, not missing
    expected = {
        "aps_wbc": [8.5, np.nan],
        "ejectfx": [55.0, np.nan],
        "ptcawithin24h": [np.nan, 1],
    }
    for column, values in expected.items():
        np.testing.assert_array_equal(table[column].to_numpy(float), values)


def test_what_is_known_only_later_is_left_out(folder):
    later = {"hospitaldischargeoffset", "hospitaldischargestatus", "actualventdays"}
    names = set(load_eicu(folder))
    assert not names & (later | {"diedinhospital", "patientunitstayid", "uniquepid"})


def test_a_missing_file_is_refused(folder, refused):
    (folder / "apachePredVar.csv").unlink()
    with refused(where="<tmp>"):
        load_eicu(folder)


def test_missing_columns_are_named(folder, refused):
    text = (folder / "patient.csv").read_text().replace("unittype", "unit")
    (folder / "patient.csv").write_text(text)
    with refused(where="<tmp>/patient.csv"):
        load_eicu(folder)


@pytest.mark.parametrize("name", ["patient.csv", "apacheApsVar.csv.gz"])
def test_a_file_that_cannot_be_read_is_refused(folder, name, refused):
    (folder / name).write_bytes(b"")
    with refused(where=f"<tmp>/{name}"):
        load_eicu(folder)


def test_a_stay_with_two_rows_is_refused(folder, refused):
    path = folder / "apachePredVar.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[-1]]))
    with refused(where="<tmp>/apachePredVar.csv", remedy="keep one"):
        load_eicu(folder)


@pytest.mark.skipif(not (SHARED / "eicu_demo").is_dir(), reason=ABSENT)
def test_the_demonstration_agrees_with_the_table_made_from_it():
    table = load_eicu(SHARED / "eicu_demo")
    flat = pd.read_csv(SHARED / "eicu_demo" / "eicu_demo_flat.csv")
    flat = flat.sort_values("patientunitstayid", ignore_index=True)
    both = [name for name in flat if name in table]
    assert len(both) == 55
    # That table takes an admission one minute before as missing; so nothing else differs.
    table["hospitaladmitoffset"] = table["hospitaladmitoffset"].replace(-1, np.nan)
    pd.testing.assert_frame_equal(table[both], flat[both], check_dtype=False)
