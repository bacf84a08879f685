"""Intensive-care stays of the eICU Collaborative Research Database, full or demonstration.

Four of its files are joined to one row a stay. What was known on the first day is kept;
discharge, length of stay, days on a ventilator and predictions of death are left out, since
they tell the outcome. (The paper keeps two of them.) The full database needs credentials of
PhysioNet; the demonstration is open and has the same layout. Neither is ours to ship.

[1] Pollard, Johnson, Raffa, Celi, Mark, Badawi (2018), The eICU Collaborative Research
    Database, Scientific Data 5.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from experiments.readers.files import check_columns, find_file, read_csv
from labelwise.errors import InvalidInput

FILES = ("patient.csv", "apacheApsVar.csv", "apachePredVar.csv", "apachePatientResult.csv")
OUTCOME = "died_in_hospital"
STAY, STATUS, VERSION = "patientunitstayid", "hospitaldischargestatus", "apacheversion"
DIED = {"Alive": 0, "Expired": 1}  # of other stays the outcome is not known
ABOVE, OLDEST = "> 89", "90"  # how the oldest are given, and the age they are taken to have
MISSING = -1  # in the APACHE files

PATIENT = [
    "gender", "age", "ethnicity", "unittype", "unitadmitsource", "unitstaytype",
    "admissionheight", "admissionweight", "hospitaladmitoffset",
]  # fmt: skip
PHYSIOLOGY = [
    "intubated", "vent", "dialysis", "eyes", "motor", "verbal", "meds", "urine", "wbc",
    "temperature", "respiratoryrate", "sodium", "heartrate", "meanbp", "ph", "hematocrit",
    "creatinine", "albumin", "pao2", "pco2", "bun", "glucose", "bilirubin", "fio2",
]  # fmt: skip
HISTORY = [
    "graftcount", "thrombolytics", "aids", "hepaticfailure", "lymphoma", "metastaticcancer",
    "leukemia", "immunosuppression", "cirrhosis", "electivesurgery", "activetx", "readmit",
    "ima", "midur", "ventday1", "oobventday1", "oobintubday1", "diabetes", "ejectfx",
    "visitnumber", "amilocation",
]  # fmt: skip
BEFORE = ["preopmi", "preopcardiaccath", "ptcawithin24h"]


def load_eicu(folder: str | Path) -> pd.DataFrame:
    """One row a stay: features, some missing, and `died_in_hospital` (0 or 1).

    Stays without first-day physiology, or whose outcome is not known, are left out.
    """
    files = [find_file(folder, name, f"{name}.gz") for name in FILES]
    patient = _read(files[0], [*PATIENT, STATUS])
    patient = patient[patient[STATUS].isin(list(DIED))]
    patient = patient.assign(age=pd.to_numeric(patient["age"].replace(ABOVE, OLDEST)))
    physiology = _read_apache(files[1], PHYSIOLOGY).add_prefix("aps_")
    history = _read_apache(files[2], HISTORY)
    table = patient.join([physiology, history], how="inner")
    table = table.join(_read_apache(files[3], BEFORE, version="IVa"))
    table[OUTCOME] = table.pop(STATUS).map(DIED).astype(int)
    return table.sort_index().reset_index(drop=True)  # the id of a stay is no feature


def _read_apache(path: Path, columns: list[str], version: str | None = None) -> pd.DataFrame:
    return _read(path, columns, version).replace(MISSING, np.nan)


def _read(path: Path, columns: list[str], version: str | None = None) -> pd.DataFrame:
    """Some columns by stay; of results, which come by version of APACHE, one version's."""
    table = read_csv(path)
    check_columns(path, table.columns, [STAY, *columns, *([VERSION] if version else [])])
    if version:
        table = table[table[VERSION] == version]
    table = table.set_index(STAY)[columns]
    if not table.index.is_unique:
        stay = table.index[table.index.duplicated()][0]
        raise InvalidInput(
            f"{path} has several rows for the stay {stay}", "keep one", where=str(path)
        )
    return table
