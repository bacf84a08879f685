"""The patients of SUPPORT2 with a model of the risk of dying in hospital."""

from importlib.resources import files

import pandas as pd

from labelwise.datasets.support2 import ID, LABEL, PREDICTION, load_support2

DIED, RISK = "died_in_hospital", "predicted_risk"


def load_support2_death() -> pd.DataFrame:
    """One row a patient: id, 14 features, death in hospital (0/1) and its predicted risk."""
    features = load_support2().drop(columns=[LABEL, PREDICTION])
    with (files("experiments.readers") / "data" / "support2_death.csv.gz").open("rb") as file:
        death = pd.read_csv(file, compression="gzip")
    return features.merge(death, on=ID, validate="one_to_one")
