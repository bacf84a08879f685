"""Patients of four kinds of intensive care, and whether they died in hospital.

The PhysioNet/CinC Challenge 2012 as one flat table: a stay a row, what was known of the
patient on arrival, and the mean, least, greatest and last reading of 36 variables over the
first 48 hours. The data are not ours to ship; the table is read from a folder.

[1] Silva, Moody, Scott, Celi, Mark (2012), Predicting in-hospital mortality of ICU patients:
    the PhysioNet/Computing in Cardiology Challenge 2012.
"""

from pathlib import Path

import pandas as pd

from experiments.readers.files import check_columns, find_file
from labelwise.errors import InvalidInput

FILE = "icu_flat.parquet"
OUTCOME = "died_in_hospital"
DEATH, UNIT = "In-hospital_death", "ICUType"
UNITS = {1: "coronary", 2: "cardiac surgery", 3: "medical", 4: "surgical"}
# Stay and survival are known after the fact. The two scores are other people's predictions.
NOT_FEATURES = ["set", "SAPS-I", "SOFA", "Length_of_stay", "Survival"]


def load_physionet2012(folder: str | Path) -> pd.DataFrame:
    """One row a stay: features, some missing, and `died_in_hospital` (0 or 1)."""
    path = find_file(folder, FILE)
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{path} cannot be read as Parquet ({error})",
            "give the official file",
            where=str(path),
        ) from None
    check_columns(path, table.columns, [DEATH, UNIT, *NOT_FEATURES])
    table = table.drop(columns=NOT_FEATURES).rename(columns={DEATH: OUTCOME})
    table[UNIT] = table[UNIT].map(UNITS)
    return table.reset_index(drop=True)
