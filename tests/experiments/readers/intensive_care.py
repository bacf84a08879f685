"""A few made-up patients in the layout of the official files."""

from pathlib import Path

import numpy as np
import pandas as pd

SHARED = Path(__file__).parents[4] / "shared" / "data"
ABSENT = "the data set is not beside the project, and may not be shipped with it"


def write_physionet2012(folder: Path, rows: int = 8, seed: int = 0) -> pd.DataFrame:
    """Age and urine tell who dies; some urine is missing."""
    rng = np.random.default_rng(seed)
    age, urine = rng.uniform(20.0, 90.0, rows), rng.uniform(10.0, 200.0, rows)
    risk = 1.0 / (1.0 + np.exp(-(age - 55.0 - 0.2 * (urine - 100.0)) / 8.0))
    table = pd.DataFrame(
        {
            "set": "a",
            "In-hospital_death": (risk > rng.uniform(size=rows)).astype(int),
            "SAPS-I": 10,
            "SOFA": 5,
            "Length_of_stay": 3,
            "Survival": -1,
            "Age": age,
            "ICUType": 1 + np.arange(rows) % 4,
            "Urine_mean": np.where(np.arange(rows) % 7 == 3, np.nan, urine),
            "HR_mean": rng.normal(80.0, 10.0, rows),
        }
    )
    table.to_parquet(folder / "icu_flat.parquet")
    return table


PATIENT = """patientunitstayid,gender,age,ethnicity,hospitalid,admissionheight,\
hospitaladmitoffset,hospitaldischargeoffset,hospitaldischargestatus,unittype,unitadmitsource,\
unitstaytype,admissionweight,uniquepid
12,Male,> 89,Asian,59,170,-1,900,Expired,MICU,Floor,admit,70.5,002-1
11,Female,61,,59,,-20,500,Alive,SICU,Operating Room,readmit,,002-2
13,Male,40,Hispanic,60,180,-5,100,,MICU,Floor,admit,80,002-3
14,Male,41,Hispanic,60,181,-5,100,Alive,MICU,Floor,admit,81,002-4
"""


def write_eicu(folder: Path) -> None:
    """Four stays: one of unknown outcome, one without physiology, and two that count."""
    from experiments.readers.eicu import BEFORE, HISTORY, PHYSIOLOGY

    (folder / "patient.csv").write_text(PATIENT)
    physiology = pd.DataFrame(0.0, index=[11, 12, 13], columns=PHYSIOLOGY)
    physiology["wbc"] = [8.5, -1.0, 3.0]
    history = pd.DataFrame(0, index=[13, 12, 11], columns=[*HISTORY, "diedinhospital"])
    history["ejectfx"] = [-1, -1, 55]
    results = pd.DataFrame(0, index=[12, 12], columns=[*BEFORE, "actualventdays"])
    results["ptcawithin24h"], results["apacheversion"] = [0, 1], ["IV", "IVa"]
    tables = {
        "apacheApsVar.csv.gz": physiology,
        "apachePredVar.csv": history,
        "apachePatientResult.csv": results,
    }
    for name, table in tables.items():
        table.rename_axis("patientunitstayid").to_csv(folder / name)
