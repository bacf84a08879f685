"""Four tables of the Fraud Dataset Benchmark, read from their official files.

The files come from Kaggle, under its terms, and are read from a folder: `creditcard.csv` (card
fraud), `Fraud_Data.csv` (e-commerce), `train.csv` (vehicle loans), `train_transaction.csv` and
`train_identity.csv` (IEEE-CIS). Names are written in lower case and features are chosen as the
benchmark does [1]; ids and timestamps are no features. Codes whose order means nothing are
texts. The address of an e-commerce purchase is kept as the number it is given as, and time
since signup, as in the benchmark, within a day.

Of card fraud a case-control cut will do as well (`creditcard_case_control.csv`): all frauds and
a few of the others, so that shares of ones are not the population's.

[1] Grover, Xu, Tittelfitz, Cheng, Li, Zablocki, Liu, Zhou (2022), Fraud dataset benchmark and
    applications.
"""

import re
from pathlib import Path

import pandas as pd

from experiments.readers.files import check_columns, find_file, read_csv

OUTCOME = "fraud"
TRANSACTION = "transactionid"
IEEE_TEXTS = [
    "productcd",
    "card6",
    "p_emaildomain",
    "r_emaildomain",
    "devicetype",
    "deviceinfo",
]
IEEE_NUMBERS = [
    "transactionamt", "card1", "card2", "card3", "card5", "addr1", "dist1",
    *(f"c{number}" for number in (1, 2, *range(4, 15))),
    *(f"v{number}" for number in (
        62, 70, 76, 78, 82, 91, 127, 130, 139, 160, 165, 187, 203, 207, 209, 210, 221, 234, 257,
        258, 261, 264, 266, 267, 271, 274, 277, 283, 285, 289, 291, 294,
    )),
    *(f"id_{number:02}" for number in (1, 2, 5, 6, 9, 13, 17, 19, 20)),
]  # fmt: skip
CARD = [*(f"v{number}" for number in range(1, 29)), "amount"]
ECOMMERCE = ["purchase_value", "age", "ip_address"]
ECOMMERCE_TEXTS = ["source", "browser"]
LOAN_CODES = [
    "branch_id", "supplier_id", "manufacturer_id", "current_pincode_id", "state_id",
    "employee_code_id",
]  # fmt: skip
LOAN_SPANS = ["average_acct_age", "credit_history_length"]  # such as "1yrs 11mon"


def load_ieeecis(folder: str | Path) -> pd.DataFrame:
    """One row a transaction: 67 features, most of them sometimes missing, and `fraud` (0/1)."""
    path = find_file(folder, "train_transaction.csv")
    bought, known = _read(path), _read(find_file(folder, "train_identity.csv"))
    known = known.rename(columns=lambda name: name.replace("id-", "id_"))
    check_columns(path, bought.columns, [TRANSACTION, "isfraud"])
    table = bought.merge(known, how="left", on=TRANSACTION)
    check_columns(path, table.columns, [*IEEE_NUMBERS, *IEEE_TEXTS])
    numbers = table[IEEE_NUMBERS].astype(float)
    texts = table[IEEE_TEXTS].astype("string").fillna("none").astype(object)
    return pd.concat([numbers, texts], axis=1).assign(**{OUTCOME: table["isfraud"].astype(int)})


def load_ccfraud(folder: str | Path) -> pd.DataFrame:
    """One row a payment by card: 28 components, the amount, and `fraud` (0/1)."""
    path = find_file(folder, "creditcard.csv", "creditcard_case_control.csv")
    table = _read(path)
    check_columns(path, table.columns, ["class", *CARD])
    return table[CARD].astype(float).assign(**{OUTCOME: table["class"].astype(int)})


def load_fraudecom(folder: str | Path) -> pd.DataFrame:
    """One row a purchase: six features and `fraud` (0/1)."""
    path = find_file(folder, "Fraud_Data.csv")
    table = _read(path)
    times = ["signup_time", "purchase_time"]
    check_columns(path, table.columns, ["class", *times, *ECOMMERCE, *ECOMMERCE_TEXTS])
    signed, bought = (pd.to_datetime(table[name]) for name in times)
    numbers = table[ECOMMERCE].astype(float)
    numbers["time_since_signup"] = (bought - signed).dt.seconds.astype(float)
    texts = table[ECOMMERCE_TEXTS].astype(str)
    return pd.concat([numbers, texts], axis=1).assign(**{OUTCOME: table["class"].astype(int)})


def load_vehicleloan(folder: str | Path) -> pd.DataFrame:
    """One row a loan: features and `fraud` (0/1), which is a default here.

    Spans are in months and birthdays are years of birth; the day of disbursal is left out.
    """
    path = find_file(folder, "train.csv")
    table = _read(path).rename(columns={"disbursaldate": "disbursal_date"})
    needed = ["loan_default", "uniqueid", "date_of_birth", *LOAN_CODES, *LOAN_SPANS]
    check_columns(path, table.columns, needed)
    made = table.drop(columns=["uniqueid", "loan_default", "disbursal_date"], errors="ignore")
    made["date_of_birth"] = made["date_of_birth"].map(_year).astype(float)
    for name in LOAN_SPANS:
        made[name] = made[name].map(_months).astype(float)
    texts = {*LOAN_CODES, *made.select_dtypes(exclude="number")}
    made = made.assign(**{name: made[name].fillna("none").astype(str) for name in texts})
    return made.assign(**{OUTCOME: table["loan_default"].astype(int)})


def _read(path: Path) -> pd.DataFrame:
    """A file with names in lower case, parts joined by underscores."""
    plain = lambda name: re.sub(r"[ .]+", "_", name.strip()).lower()
    return read_csv(path).rename(columns=plain)


def _year(day: str) -> int:
    """Of days such as 01-01-84, or with four digits; nobody born later than 2019 borrows."""
    year = int(re.split(r"[-/]", day)[-1])
    if year >= 100:
        return year
    return 2000 + year if year < 20 else 1900 + year


def _months(span: str) -> int:
    years, months = (int(number) for number in re.findall(r"\d+", span))
    return 12 * years + months
