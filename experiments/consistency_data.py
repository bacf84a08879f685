"""Tables of the posterior-consistency benchmark: rows of numbers, 0/1 labels, selection bias.

Texts become one column a value (the fifty most frequent; the rest share one), missing numbers
the median of the rows that may train. Features are standardised over these and end at five
standard deviations, where a few extreme rows would otherwise be clusters of their own. At most
50,000 rows are used, as in the paper. Its data sets are read by their official files; the open
ones stand in for them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.readers import acs, credit, eicu, folktables, fraud, physionet2012
from labelwise.datasets.support2 import DIED, ID, RISK, load_support2_death
from labelwise.diagnostics.splits import (
    ClusterSplits,
    Sizes,
    Split,
    linear_split,
    may_train,
    split_clusters,
    standardise,
)
from labelwise.errors import InvalidInput

MOST_ROWS, MOST_VALUES, EDGE = 50_000, 50, 5.0


@dataclass(frozen=True)
class Source:
    """Where a table comes from."""

    load: Callable[[Path], pd.DataFrame]
    outcome: str
    folder: str | None = None  # below the data folder; none if shipped


@dataclass(frozen=True)
class Rows:
    """A table as numbers."""

    x: np.ndarray  # standardised
    y: np.ndarray
    trains: np.ndarray  # a mask: these may train

    @property
    def dim(self) -> int:
        return self.x.shape[1]


def _support2(_: Path) -> pd.DataFrame:
    return load_support2_death().drop(columns=[ID, RISK])


def _employment(folder: Path) -> pd.DataFrame:
    """Who is at work; what is only asked of those who are is left out."""
    table = acs.load_acs(folder, 2018)
    told = ["Employment", "Hours_Worked", "COW", "IND", acs.LOG_INCOME, acs.ABOVE]
    return table.drop(columns=told).assign(employed=(table["Employment"] == "1").astype(int))


def _income(folder: Path, year: int) -> pd.DataFrame:
    return acs.load_acs(folder, year).drop(columns=acs.LOG_INCOME)


_CT = "acs_pums_ct"
OPEN: dict[str, Source] = {
    "eicu-demo": Source(eicu.load_eicu, eicu.OUTCOME, "eicu_demo"),
    "physionet2012": Source(
        physionet2012.load_physionet2012, physionet2012.OUTCOME, "physionet2012"
    ),
    "support2": Source(_support2, DIED),
    "card-fraud": Source(fraud.load_ccfraud, fraud.OUTCOME, "ulb_creditcard_fraud"),
    "credit": Source(credit.load_credit, credit.OUTCOME, "credit_default_uci"),
    "acs-income": Source(partial(_income, year=2018), acs.ABOVE, _CT),
    "acs-income-2019": Source(partial(_income, year=2019), acs.ABOVE, _CT),
    "acs-income-2021": Source(partial(_income, year=2021), acs.ABOVE, _CT),
    "acs-employment": Source(_employment, "employed", _CT),
}
# The paper's own, by their official files.
OFFICIAL: dict[str, Source] = {
    "eicu": Source(eicu.load_eicu, eicu.OUTCOME, "eicu"),
    "ieeecis": Source(fraud.load_ieeecis, fraud.OUTCOME, "ieeecis"),
    "ccfraud": Source(fraud.load_ccfraud, fraud.OUTCOME, "ccfraud"),
    "fraudecom": Source(fraud.load_fraudecom, fraud.OUTCOME, "fraudecom"),
    "vehicleloan": Source(fraud.load_vehicleloan, fraud.OUTCOME, "vehicleloan"),
    "acs-employment-ny": Source(
        partial(folktables.load_folktables, task="employment"), "employed", "acs_ny"
    ),
    "acs-income-ny": Source(
        partial(folktables.load_folktables, task="income"), "income_above_50k", "acs_ny"
    ),
}
SOURCES = OPEN | OFFICIAL
MAIN = ("support2", "credit", "acs-income", "physionet2012")  # four open ones, large enough


@lru_cache(maxsize=2)
def load_rows(name: str, folder: Path | None, seed: int) -> Rows:
    """A table, with who may train drawn by the seed."""
    source = SOURCES[name]
    if source.folder is not None and folder is None:
        raise InvalidInput(
            f"The data of {name} are not shipped",
            "give the folder that holds them",
            where="data",
        )
    table = source.load(Path() if folder is None else folder / (source.folder or ""))
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    trains = may_train(np.random.default_rng(seed), len(table))
    inputs = as_numbers(table.drop(columns=source.outcome), trains)
    x = standardise(inputs, trains, EDGE)
    return Rows(
        x[:, inputs[trains].std(axis=0) > 0.0], table[source.outcome].to_numpy(float), trains
    )


def as_numbers(table: pd.DataFrame, trains: np.ndarray) -> np.ndarray:
    """Texts as one column a value, missing numbers as the median of rows that may train."""
    texts = table.select_dtypes(exclude=["number", "bool"])
    numbers = table.drop(columns=list(texts)).astype(float)
    numbers = numbers.fillna(numbers[trains].median()).fillna(0.0)
    columns = [pd.get_dummies(_shorten(texts[name])).astype(float) for name in texts]
    return pd.concat([numbers, *columns], axis=1).to_numpy()


def _shorten(values: pd.Series) -> pd.Series:
    values = values.astype(str)
    kept = values.value_counts().index[:MOST_VALUES]
    return values.where(values.isin(kept), "other")


@lru_cache(maxsize=4)
def cluster_splits(name: str, folder: Path | None, seed: int) -> ClusterSplits:
    """Splits by clusters, which are a seed's own: it draws the rows that set the scale."""
    rows = load_rows(name, folder, seed)
    sizes = _sizes(rows)
    return split_clusters(np.random.default_rng(seed), rows.x, rows.trains, sizes=sizes)


def linear_splits(
    name: str, folder: Path | None, seed: int, strengths: tuple[float, ...], by: str
) -> dict[float, Split]:
    """A split for each strength of the linear bias, all along one direction."""
    rows = load_rows(name, folder, seed)
    draw = lambda strength: linear_split(
        np.random.default_rng(seed),
        rows.x,
        rows.trains,
        strength,
        _sizes(rows),
        by,  # type: ignore[arg-type]
    )
    return {strength: draw(strength) for strength in strengths}


def _sizes(rows: Rows) -> Sizes:
    """The paper's; on tables of fewer than 5,000 rows half of them."""
    return Sizes() if len(rows.y) >= 5000 else Sizes(125, 100, 100, 25)
