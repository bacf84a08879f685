"""People of Connecticut, and what they earn: the American Community Survey.

The survey's public microdata for one state and year, a person a row, in an extract that gives
columns readable names and writes 'b' where a question does not apply. Only people with an
income above $100 are kept, as in [1], unless more is asked for: the logarithm needs a positive
income, and a few dollars a year are a gap in the record rather than an income. Social security
and public assistance are parts of the income, so they are left out; so is the survey's weight,
which is no property of the person. The files are read from a folder; they are not ours to ship.

[1] Ding, Hardt, Miller, Schmidt (2021), Retiring Adult: New Datasets for Fair Machine Learning.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from experiments.readers.files import check_columns, find_file, read_csv

LOG_INCOME, ABOVE = "log_income", "income_above_50k"
INCOME = "Income"  # dollars of the year, adjusted by the Census Bureau
LEAST, LINE = 100.0, 50_000.0  # dollars: who is kept, and who is above
NOT_FEATURES = ["PWeight", "PA_Inc", "SS_Inc"]
NOT_ASKED = "b"
MARRIAGES = "#_of_marriages"
NUMBERS = ["Age", "Hours_Worked", "Fam_Size", "Children", "Education", MARRIAGES]
CODES = [
    "PUMA", "FoodSnap", "Tenure", "Grandparents", "MLTG_HH", "Citizenship?", "COW",
    "Speaks_English", "Other_Lang_Home", "Marital_Status", "Military", "Sex", "Disability",
    "Parent_Employment", "Employment", "Health_Cov", "Hispanic", "IND", "Private_HI",
    "Public_HI", "Race", "Place_of_Birth",
]  # fmt: skip


def load_acs(folder: str | Path, year: int = 2018, least: float = LEAST) -> pd.DataFrame:
    """One row a person: features, `log_income` and `income_above_50k` (0 or 1).

    People with an income of more than `least` dollars are kept.

    Numbers and ordered codes (schooling) are numbers, missing where a question does not
    apply; all other codes are texts, 'b' among them.
    """
    path = find_file(folder, f"ct_{year}.csv")
    table = read_csv(path)
    check_columns(path, table.columns, [INCOME, *NOT_FEATURES, *NUMBERS, *CODES])
    table = table[table[INCOME] > least].reset_index(drop=True)
    numbers = table[NUMBERS].replace(NOT_ASKED, np.nan).astype(float)
    numbers[MARRIAGES] = numbers[MARRIAGES].fillna(0.0)  # who never married was not asked
    income = table[INCOME].astype(float)
    outcomes = {LOG_INCOME: np.log(income), ABOVE: (income > LINE).astype(int)}
    return pd.concat([numbers, table[CODES].astype(str)], axis=1).assign(**outcomes)
