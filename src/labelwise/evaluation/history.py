"""Other models' results on the same rows: how hard each row is, and for whom.

Results of many models on one set of rows are nearly of low rank: a few factors of each row say
most of who gets it right. They become features. The mean of a row's results, drawn a little
towards a half as two more models of either kind would draw it, is what is expected of the label
where nothing else is: the belief takes it for the output of a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.tables.columns import Columns
from labelwise.tables.numbers import as_numbers
from labelwise.tables.reduce import matching, reduce_embedding
from labelwise.tables.text import apart

if TYPE_CHECKING:
    from labelwise.evaluation.question import Inquiry

FACTORS = 4
NAME, MEAN = "history", "history (mean)"

Frames = Mapping[str, pd.DataFrame]


def with_history(
    columns: Columns, tables: Frames, names: Sequence[str]
) -> tuple[Columns, dict[str, pd.DataFrame], list[str]]:
    """Tables with factors in the place of other models' results; and what was done."""
    if not columns.history:
        return columns, dict(tables), []
    wanted = [matching(pattern, names, "history") for pattern in columns.history]
    models = list(dict.fromkeys(name for each in wanted for name in each))
    factors = reduce_embedding(tables, NAME, models, FACTORS)
    usual = apart(MEAN, set(names))
    changed = {}
    for place, table in tables.items():
        own = dict(zip(factors.made, factors.values[place].T, strict=True))
        results = np.column_stack([as_numbers(table[name]) for name in models])
        changed[place] = table.drop(columns=models).assign(**own, **{usual: _mean(results)})
    first = columns.prediction is None
    note = (
        f"The results of {len(models)} other models stand as {len(factors.made)} factors, "
        f"which keep {100 * factors.kept:.0f} % of their variance, and as their mean"
        f"{', from which labels are expected' if first else ''}."
    )
    columns = replace(
        columns,
        prediction=usual if first else columns.prediction,
        derived=(*columns.derived, *factors.made, usual),
        features=(*columns.features, *factors.made) if columns.features else (),
    )
    return columns, changed, [note]


def _mean(results: np.ndarray) -> np.ndarray:
    """Of each row's results that are there; of shares, with two more of one half."""
    known = ~np.isnan(results)
    total, count = np.nansum(results, axis=1), known.sum(axis=1)
    inside = results[known]
    if inside.size and ((inside >= 0.0) & (inside <= 1.0)).all():
        return (total + 1.0) / (count + 2.0)
    whole = float(inside.mean()) if inside.size else 0.0
    return np.where(count > 0, total / np.maximum(count, 1), whole)


def is_expected_by_others(columns: Columns) -> bool:
    """Whether the output that the belief goes by is the mean of other models' results."""
    return columns.prediction in columns.derived and not columns.several


def check_own_output(inquiry: "Inquiry", columns: Columns) -> None:
    """Refuse to hold labels to other models' results as if they were predictions."""
    needs = [one.name for one in inquiry.questions if one.metric.needs == "prediction"]
    if needs and is_expected_by_others(columns):
        raise InvalidInput(
            f"The estimand {needs[0]!r} needs predictions, and other models' results are none",
            "name the prediction column, or ask for mean or positive-rate",
            where="prediction",
        )
