"""People of a state from the official person file of the American Community Survey.

The Census Bureau's 1-year public-use file (`psam_p36.csv` for New York), from which two tables
are made as in [1]: who is employed (16 features, everybody) and who earns more than $50,000 (10
features, people of 17 and older with hours worked and an income above $100). Age and hours are
numbers, all else are codes; a question that was not asked is a code of its own. The file is
read from a folder. From 2019 on the relation to the head of the household has another name.

[1] Ding, Hardt, Miller, Schmidt (2021), Retiring Adult: New Datasets for Fair Machine Learning.
"""

from pathlib import Path
from typing import Literal

import pandas as pd

from experiments.readers.files import check_columns, find_file, read_csv

Task = Literal["employment", "income"]
OUTCOMES: dict[Task, str] = {"employment": "employed", "income": "income_above_50k"}
NUMBERS = ("AGEP", "WKHP")
RELATION, LATER = "RELP", "RELSHIPP"
FEATURES: dict[Task, list[str]] = {
    "employment": [
        "AGEP", "SCHL", "MAR", RELATION, "DIS", "ESP", "CIT", "MIG", "MIL", "ANC", "NATIVITY",
        "DEAR", "DEYE", "DREM", "SEX", "RAC1P",
    ],
    "income": [
        "AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", RELATION, "WKHP", "SEX", "RAC1P",
    ],
}  # fmt: skip
NOT_ASKED = "none"


def load_folktables(folder: str | Path, task: Task, state: str = "36") -> pd.DataFrame:
    """One row a person: features and the outcome (0/1); `state` is its code (36: New York)."""
    path = find_file(folder, f"psam_p{state}.csv")
    table = read_csv(path).rename(columns={LATER: RELATION})
    about = ["ESR"] if task == "employment" else ["PINCP", "PWGTP"]
    check_columns(path, table.columns, [*FEATURES[task], *about])
    if task == "income":
        earns = (table["AGEP"] > 16) & (table["PINCP"] > 100) & (table["WKHP"] > 0)
        table = table[earns & (table["PWGTP"] >= 1)]
    outcome = table["ESR"] == 1 if task == "employment" else table["PINCP"] > 50_000
    made = {name: _column(table[name], name) for name in FEATURES[task]}
    return pd.DataFrame(made | {OUTCOMES[task]: outcome.astype(int)}).reset_index(drop=True)


def _column(values: pd.Series, name: str) -> pd.Series:
    if name in NUMBERS:
        return values.astype(float)
    asked = values.notna()
    codes = values.where(asked, 0).map(
        lambda code: f"{code:g}" if not isinstance(code, str) else code
    )
    return codes.where(asked, NOT_ASKED)
