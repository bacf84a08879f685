"""Clients of a bank in Taiwan, and whether they failed to pay their card's next bill.

A client a row: credit limit, sex, schooling, marriage and age, then six months of payment
status, bills and payments, all before the month of the outcome. The UCI repository gives the
table as an Excel file; save it as CSV, without its first line of X1, X2, …. Sex, schooling and
marriage are codes whose order means nothing, so they are texts. The file is read from a folder.

[1] Yeh, Lien (2009), The comparisons of data mining techniques for the predictive accuracy of
    probability of default of credit card clients, Expert Systems with Applications 36.
"""

import re
from pathlib import Path

import pandas as pd

from experiments.readers.files import check_columns, find_file, read_csv

FILES = ("credit_default_uci.csv", "UCI_Credit_Card.csv")
OUTCOME = "default_payment_next_month"
ID, CODES = "ID", ["SEX", "EDUCATION", "MARRIAGE"]
NUMBERS = [
    "LIMIT_BAL", "AGE", "PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6",
    *(f"BILL_AMT{month}" for month in range(1, 7)),
    *(f"PAY_AMT{month}" for month in range(1, 7)),
]  # fmt: skip


def load_credit(folder: str | Path) -> pd.DataFrame:
    """One row a client: 23 features, none missing, and `default_payment_next_month` (0/1)."""
    path = find_file(folder, *FILES)
    # Copies in use part the words of the outcome's name by blanks, dots or hyphens.
    table = read_csv(path).rename(columns=lambda name: re.sub(r"[ .-]", "_", name))
    check_columns(path, table.columns, [ID, OUTCOME, *NUMBERS, *CODES])
    features = [table[NUMBERS].astype(float), table[CODES].astype(str)]
    return pd.concat([*features, table[[OUTCOME]].astype(int)], axis=1)
