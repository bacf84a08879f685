"""`python -m experiments.make_support2 support2.csv`: the tables that the package ships.

A model of hospital charges was built on patients with sepsis and is now to serve everybody. The
table holds every other patient whose charges are known: features of the first days, outcome,
and what the model predicts. The patients it learned from are left out, since no one may
evaluate a model on those. A second table has, for the same patients, whether they died in
hospital, and the risk of it according to a model built on the same 800 patients. See
SUPPORT2.md beside the tables for source and licence.
"""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from labelwise.datasets.support2 import DIED, HOME, ID, RISK

OUT = Path(__file__).parents[1] / "src/labelwise/datasets/data/support2.csv.gz"
OUT_DEATH = OUT.with_name("support2_death.csv.gz")
TRAINING, SEED = 800, 0  # how many sepsis patients the models learned from, and which
TREES = {"learning_rate": 0.05, "max_iter": 100, "max_leaf_nodes": 8, "random_state": SEED}

# The source's names, ours, and the decimals that the source can be trusted for.
COLUMNS = {
    "sno": ("patient", 0),
    "age": ("age", 1),
    "sex": ("sex", None),
    "dzgroup": ("disease", None),
    "num.co": ("comorbidities", 0),
    "hday": ("hospital_day", 0),
    "scoma": ("coma_score", 0),
    "meanbp": ("blood_pressure", 0),
    "hrt": ("heart_rate", 0),
    "resp": ("respiration", 0),
    "temp": ("temperature", 1),
    "wblc": ("white_count", 1),
    "crea": ("creatinine", 1),
    "sod": ("sodium", 0),
    "alb": ("albumin", 1),
}


def make_table(source: pd.DataFrame) -> pd.DataFrame:
    """Patients with known charges whom the model has not learned from."""
    source, table = _known(source)
    table["log_cost"] = np.log10(source["charges"]).round(3)
    learned_from = choose_training_rows(table)
    model = fit_model(table.loc[learned_from])
    table["predicted_log_cost"] = model.predict(_inputs(table)).round(3)
    return table.drop(index=learned_from.tolist()).reset_index(drop=True)


def make_death_table(source: pd.DataFrame) -> pd.DataFrame:
    """The same patients: whether each died in hospital, and the risk a model gave."""
    source, table = _known(source)
    table[DIED] = source["hospdead"]
    learned_from = choose_training_rows(table)
    model = fit_risk_model(table.loc[learned_from])
    table[RISK] = model.predict_proba(_inputs(table))[:, 1].round(3)
    return table[[ID, DIED, RISK]].drop(index=learned_from.tolist()).reset_index(drop=True)


def choose_training_rows(table: pd.DataFrame) -> np.ndarray:
    """The sepsis patients whom the models' builders had."""
    home = np.flatnonzero(table["disease"] == HOME)
    return np.random.default_rng(SEED).choice(home, TRAINING, replace=False)


def fit_model(table: pd.DataFrame) -> HistGradientBoostingRegressor:
    """Small boosted trees on every number: they bear missing values and odd ones."""
    model = HistGradientBoostingRegressor(**TREES)
    return model.fit(_inputs(table), table["log_cost"].to_numpy())


def fit_risk_model(table: pd.DataFrame) -> HistGradientBoostingClassifier:
    """The same trees for the chance of dying in hospital."""
    return HistGradientBoostingClassifier(**TREES).fit(_inputs(table), table[DIED].to_numpy())


def write_table(table: pd.DataFrame, path: Path, notice: str = "") -> None:
    """A compressed table; a notice, if any, becomes its first line."""
    text = io.StringIO()
    if notice:
        text.write(f"# {notice}\n")
    table.to_csv(text, index=False)
    # Without a time of writing, the same table is the same file.
    path.write_bytes(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))


def _known(source: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Patients with known charges, as in the source and with our features only."""
    source = source[source["charges"].notna()].reset_index(drop=True)
    features = {name: _tidy(source[old], d) for old, (name, d) in COLUMNS.items()}
    return source, pd.DataFrame(features)


def _inputs(table: pd.DataFrame) -> np.ndarray:
    hidden = [ID, "log_cost", "predicted_log_cost", DIED, RISK]
    return table.drop(columns=hidden, errors="ignore").select_dtypes("number").to_numpy(float)


def _tidy(values: pd.Series, decimals: int | None) -> pd.Series:
    if decimals is None:
        return values.str.strip()
    rounded = values.round(decimals)
    return rounded.astype("Int64") if decimals == 0 else rounded


if __name__ == "__main__":
    read = pd.read_csv(sys.argv[1], skipinitialspace=True)
    for made, path in ((make_table(read), OUT), (make_death_table(read), OUT_DEATH)):
        write_table(made, path)
        print(f"{len(made)} patients, {path.stat().st_size} bytes in {path}")
