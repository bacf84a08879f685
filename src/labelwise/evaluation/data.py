"""The three tables as arrays, and the part of the target that plans are made on."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from labelwise.beliefs.hyperparameters import ModelOutput, spread_of
from labelwise.evaluation.class_predictions import chances_in
from labelwise.pools.first_phase import FirstPhase
from labelwise.tables.cells import read_numbers
from labelwise.tables.columns import Columns
from labelwise.tables.encoder import Encoder
from labelwise.tables.ids import as_text

# Plans and variances look at this many target rows; the estimate itself looks at all.
TARGET_ROWS = 1000
COMPARED = 5000  # rows of a sample that stand for it where tables are compared


@dataclass(frozen=True)
class Arrays:
    """Encoded rows with their numbers."""

    pool: np.ndarray  # pool × features
    target: np.ndarray  # target × features
    labelled: np.ndarray  # labelled × features
    labels: np.ndarray  # of the labelled rows
    mass: np.ndarray | None  # weights of target rows; None: all equal
    predictions: dict[str, np.ndarray]  # of target rows, by column
    predictor_column: int | None  # the feature that is the prediction
    thin: np.ndarray | None  # target rows that stand for all; None: all do
    thin_mass: np.ndarray | None = None  # weights of these; None: all equal
    groups: dict[str, np.ndarray] = field(default_factory=dict)  # of target rows, as text
    cost: np.ndarray | None = None  # of pool rows
    treatment_column: int | None = None  # the feature that is the treatment
    chance: np.ndarray | None = None  # that pool rows are treated; None: as they are
    pool_predictions: dict[str, np.ndarray] = field(default_factory=dict)  # where it has them
    pool_groups: dict[str, np.ndarray] = field(default_factory=dict)
    output: ModelOutput | None = None  # the prediction as its column has it
    # Of several classes: chances that the model gives labelled rows; whom it calls what.
    labelled_predictions: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    called: dict[str, np.ndarray] = field(default_factory=dict)  # of labelled and pool rows

    @property
    def features(self) -> int:
        return self.pool.shape[1]

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation of each feature in the population; of one that is constant, 1.

        The treatment's is set so that its length scale is expected to be one: labels of the
        treated and of the others then tell of each other, but not too much.
        """
        spread = spread_of(self.target)
        if self.treatment_column is not None:
            spread[self.treatment_column] = 1.0 / np.sqrt(self.features)
        return spread


def make_arrays(
    tables: dict[str, pd.DataFrame],
    columns: Columns,
    encoder: Encoder,
    seed: int,
    groups: Iterable[str] = (),
    assignment: Mapping[str, Any] | None = None,
    target_rows: int | None = None,
    phase: FirstPhase | None = None,
) -> Arrays:
    """Encode checked tables; `tables` has labelled, pool and target.

    At most `target_rows` of the target stand for all, or as many as usual. A `phase` says how
    a target that is a sample of a larger pool was drawn.
    """
    target, pool = tables["target"], tables["pool"]
    read = lambda name, column, **range: (
        None
        if column is None
        else read_numbers(tables[name], column, name, said="The table", **range)
    )
    mass = weighed(read("target", columns.weight, low=0.0), phase)
    models = [name for name in (columns.prediction, columns.versus) if name is not None]
    encoded = {name: _with_treatment(encoder, columns, tables[name], name) for name in tables}
    predictor = len(encoder.names) - 1  # it is coded last
    arrays = Arrays(
        pool=encoded["pool"],
        target=encoded["target"],
        labelled=encoded["labelled"],
        labels=read_numbers(tables["labelled"], columns.label, "labelled"),
        mass=mass,
        predictions={name: read_numbers(target, name, "target") for name in models},
        predictor_column=predictor if columns.predictor_in_belief and models else None,
        output=_output(encoder, encoded["target"], mass) if models else None,
        thin=thin_rows(encoded["target"], mass, seed, target_rows),
        groups={name: as_groups(target[name]) for name in groups},
        cost=read("pool", columns.cost),
        treatment_column=None if columns.treatment is None else len(encoder.names),
        chance=_chance(pool, columns, assignment),
        pool_predictions={
            name: read_numbers(pool, name, "pool", missing=True)
            for name in models
            if name in pool
        },
        pool_groups={name: as_groups(pool[name]) for name in groups if name in pool},
    )
    return _with_classes(arrays, tables, columns) if columns.several else arrays


def weighed(mass: np.ndarray | None, phase: FirstPhase | None) -> np.ndarray | None:
    """What rows of a sample stand for: the more, the less likely they were to be in it."""
    if phase is None:
        return mass
    each = 1.0 / phase.probability
    each = each * (len(each) / each.sum())
    return each if mass is None else mass * each


def as_pool(
    tables: Mapping[str, np.ndarray], phase: FirstPhase | None, spec: Any
) -> dict[str, np.ndarray]:
    """Encoded tables in which rows of a sample that stand for all count alike."""
    if phase is None:
        return dict(tables)
    pool = tables["pool"]
    rows = thin_rows(pool, weighed(None, phase), spec.seed, min(COMPARED, len(pool) // 2))
    pool = pool if rows is None else pool[rows]
    return {**tables, "pool": pool, **({"target": pool} if spec.target == "pool" else {})}


def _with_classes(arrays: Arrays, tables: dict[str, pd.DataFrame], columns: Columns) -> Arrays:
    """Chances of all classes, in the place of predictions."""
    each = {name: chances_in(table, name, columns) for name, table in tables.items()}
    name = str(columns.prediction)
    return replace(
        arrays,
        predictions={name: each["target"]},
        pool_predictions={name: each["pool"]},
        labelled_predictions=each["labelled"],
        called={one: np.argmax(each[one], axis=1) for one in ("labelled", "pool")},
    )


def _with_treatment(
    encoder: Encoder, columns: Columns, table: pd.DataFrame, name: str
) -> np.ndarray:
    """Encoded features; after them the treatment as it is, 0 where the table has none."""
    encoded = encoder.encode(table)
    if columns.treatment is None:
        return encoded
    treated = np.zeros(len(table))
    if columns.treatment in table:
        column = columns.treatment
        given = read_numbers(table, column, name, said="The table", missing=True)
        treated = np.nan_to_num(given)
    return np.column_stack([encoded, treated])


def _output(encoder: Encoder, target: np.ndarray, mass: Any) -> ModelOutput | None:
    """The last coding is the prediction's; a bare yes or no has no log-odds to speak of."""
    coding, column = encoder.codings[-1], target[:, len(encoder.names) - 1]
    if len(np.unique(column)) < 3:
        return None
    middle = coding.centre + coding.scale * float(np.average(column, weights=mass))
    return ModelOutput(coding.centre, coding.scale, middle, coding.kind == "chance")


def _chance(pool: pd.DataFrame, columns: Columns, assignment) -> np.ndarray | None:
    if assignment is None or assignment["mode"] != "random":
        return None
    if columns.probability is not None:
        return read_numbers(pool, columns.probability, "pool", low=0.0, high=1.0)
    return np.full(len(pool), float(assignment["chance"]))


def as_groups(values: pd.Series) -> np.ndarray:
    """A column as the names of groups; missing is a group too."""
    return values.map(lambda value: "missing" if pd.isna(value) else as_text(value)).to_numpy(
        dtype=str
    )


def thin_rows(
    x: np.ndarray, mass: Any, seed: int, most: int | None = None
) -> np.ndarray | None:
    """A systematic sample with chances by mass, so that its rows count alike."""
    size, most = len(x), TARGET_ROWS if most is None else most
    if size <= most:
        return None
    rng = np.random.default_rng(seed)
    order = shuffled(x, seed)
    shares = np.full(size, 1.0) if mass is None else np.asarray(mass, float)[order]
    ends = np.cumsum(shares) / shares.sum()
    ticks = (np.arange(most) + rng.uniform()) / most
    rows = order[np.minimum(np.searchsorted(ends, ticks), size - 1)]
    return np.sort(rows)


def shuffled(x: np.ndarray, seed: int) -> np.ndarray:
    """Rows in an order that looks random but depends on what they hold, not where they are."""
    salt = seed.to_bytes(8, "little")
    digest = lambda row: hashlib.blake2b(row.tobytes(), digest_size=8, salt=salt).digest()
    keys = np.array([digest(row) for row in np.ascontiguousarray(x)], "S8")
    return np.argsort(keys, kind="stable")
