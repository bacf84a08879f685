"""Seriously ill patients, with models that were built on some of them.

Charges take weeks to settle, so labels are dear. A model of their logarithm was built on
patients with organ failure and sepsis, and its error there looks fine; it is now to serve
every patient. So is one of the risk of dying in hospital, built on the same patients. The data
are SUPPORT2 (CC BY 4.0); `data/SUPPORT2.md` has source, citation and changes, and
`experiments/make_support2.py` makes the tables.
"""

from importlib.resources import files

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Tables
from labelwise.tables.columns import Columns

HOME = "ARF/MOSF w/Sepsis"  # the disease of the patients the model was built on
ID, LABEL, PREDICTION = "patient", "log_cost", "predicted_log_cost"
COLUMNS = Columns(ID, LABEL, prediction=PREDICTION)
DIED, RISK = "died_in_hospital", "predicted_risk"


def load_support2() -> pd.DataFrame:
    """One row a patient: id, 14 features (some missing), outcome and prediction."""
    return _read("support2.csv.gz")


def load_support2_death() -> pd.DataFrame:
    """One row a patient: id, 14 features, death in hospital (0/1) and its predicted risk."""
    features = load_support2().drop(columns=[LABEL, PREDICTION])
    return features.merge(_read("support2_death.csv.gz"), on=ID, validate="one_to_one")


def draw_support2(
    seed: int, labelled: int = 80, pool: int = 1000, *, death: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Who is labelled at first, sepsis patients only, and others drawn from all patients.

    Labels are charges, or deaths in hospital.
    """
    table = load_support2_death() if death else load_support2()
    rng = np.random.default_rng(seed)
    home = np.flatnonzero(table["disease"] == HOME)
    if not 0 < labelled <= len(home) or not 0 < pool <= len(table) - labelled:
        raise InvalidInput(
            f"SUPPORT2 has {len(table)} patients, {len(home)} of them with sepsis",
            f"it cannot give {labelled} labelled and {pool} in the pool: ask for fewer, and "
            "at least one",
            where="labelled",
        )
    first = rng.choice(home, labelled, replace=False)
    others = rng.choice(np.setdiff1d(np.arange(len(table)), first), pool, replace=False)
    return _take(table, first), _take(table, others)


def hide_labels(labelled: pd.DataFrame, pool: pd.DataFrame) -> Tables:
    """Tables of a campaign that starts from some patients and is about all of them."""
    hidden = lambda table: table.drop(columns=LABEL)
    return Tables(labelled, hidden(pool), hidden(load_support2()))


def true_error() -> float:
    """The model's mean squared error over all patients, which campaigns try to find out."""
    patients = load_support2()
    return float(np.mean((patients[LABEL] - patients[PREDICTION]) ** 2))


def _read(name: str) -> pd.DataFrame:
    with (files("labelwise.datasets") / "data" / name).open("rb") as file:
        return pd.read_csv(file, compression="gzip")


def _take(table: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
    return table.iloc[rows].reset_index(drop=True)
