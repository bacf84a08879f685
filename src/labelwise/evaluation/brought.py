"""Columns that hold draws of somebody's own belief: how they become all that a belief knows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.names import DRAWS
from labelwise.tables.cells import read_numbers, wrong_column
from labelwise.tables.columns import Columns
from labelwise.tables.encoder import Coding, Encoder
from labelwise.tables.reduce import matching

Frames = Mapping[str, pd.DataFrame]


def with_draws(columns: Columns, tables: Frames) -> Columns:
    """Draws are the features, and there are no others; a model's output is not among them."""
    if not columns.draws:
        return columns
    if columns.features:
        raise InvalidInput(
            "A belief from draws has no other features", "leave them out", where="features"
        )
    shared = [str(name) for name in tables["pool"].columns]
    shared = [name for name in shared if all(name in one for one in tables.values())]
    named = [matching(pattern, shared, "draws") for pattern in columns.draws]
    features = tuple(dict.fromkeys(name for each in named for name in each))
    return replace(columns, features=features, predictor_in_belief=False)


def encode_draws(columns: Columns, tables: Frames, binary: bool) -> Encoder:
    """Numbers as they are: a draw has the labels' own unit."""
    for name, table in tables.items():
        for column in columns.features:
            numbers = read_numbers(table, column, name)
            if binary and ((numbers < 0.0) | (numbers > 1.0)).any():
                far = float(numbers[np.argmax(np.abs(numbers - 0.5))])
                what = f"holds {far:g}, but draws of 0/1 labels are chances"
                raise wrong_column(name, column, what, "give numbers from 0 to 1")
    named = ", ".join(columns.draws)
    note = (
        f"The belief is that of {len(columns.features)} draws ({named}), and of nothing else."
    )
    return Encoder(tuple(Coding(name, "numeric") for name in columns.features), (note,))


def belief_of(belief: Any, columns: Columns) -> Any:
    """The belief, where draws decide it."""
    options = dict(belief) if isinstance(belief, Mapping) else {"name": belief}
    name = options.get("name", "auto")
    if not columns.draws:
        if isinstance(name, str) and name == DRAWS:
            raise InvalidInput(
                "A belief from draws needs their columns",
                "name them: columns.draws, such as draw_*",
                where="columns.draws",
            )
        return belief
    if columns.several or not isinstance(name, str) or name not in ("auto", DRAWS):
        what = "labels are of several classes" if columns.several else f"it is {name!r}"
        raise InvalidInput(
            f"Columns with draws are the belief themselves, but {what}",
            "leave columns.draws out, or the belief",
            where="columns.draws",
        )
    return {**options, "name": DRAWS}
