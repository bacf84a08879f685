"""Labelled rows that chance drew: a first round, which counts like any other.

Rows that were drawn uniformly from the same rows as the pool are a part of its population. They
join the pool, and the campaign begins with a round that asked for them: each was drawn from all
rows left, all equally likely, and their labels have come. So they check the belief, too, and
the answer is about pool and labelled rows together.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Limits
from labelwise.inputs import as_jax
from labelwise.tables.cells import read_numbers
from labelwise.tables.columns import Columns
from labelwise.tables.text import listed
from labelwise.types import Batch

if TYPE_CHECKING:
    from labelwise.evaluation.evaluation import Evaluation
    from labelwise.evaluation.round import Round

CHANCE = "chance"
Frames = Mapping[str, pd.DataFrame]


def are_by_chance(labelled_by: str | None) -> bool:
    """Whether labelled rows count as drawn; refuses a way that there is not."""
    if labelled_by not in (None, "none", CHANCE):
        raise InvalidInput.must("labelled_by", "be chance or none", f"it is {labelled_by!r}")
    return labelled_by == CHANCE


def join(frames: Frames, columns: Columns, own_target: bool) -> tuple[Frames, np.ndarray]:
    """Tables with the labelled rows at the end of the pool, and the labels of these."""
    labelled, pool = frames["labelled"], frames["pool"]
    missing = [str(column) for column in pool if column not in labelled]
    reasons = {
        "the target is a table of its own": own_target,
        "there are none": labelled.empty,
        "the campaign has not decided on their treatments": columns.treatment is not None,
        f"they have no {listed(missing[:1])}, which the pool has": bool(missing),
    }
    for reason in (reason for reason, holds in reasons.items() if holds):
        raise InvalidInput(
            f"Labelled rows cannot count as drawn by chance: {reason}",
            "mend that, or leave out labelled_by",
            where="labelled_by",
        )
    labels = read_numbers(labelled, columns.label, "labelled")
    whole = pd.concat([pool, labelled[list(pool)]], ignore_index=True)
    return {"labelled": labelled.iloc[:0], "pool": whole, "target": whole}, labels


def beside(limits: Limits, labels: np.ndarray) -> Limits:
    """A budget is of labels to buy: those that there are already come on top."""
    if limits.budget is None or not len(labels):
        return limits
    return replace(limits, budget=limits.budget + len(labels))


def first_round(evaluation: "Evaluation", count: int) -> "Round":
    """The round that asked for the last rows of the pool, drawn one by one from all."""
    from labelwise.evaluation.round import Round

    size, state = evaluation.state.size, evaluation.state
    order = np.random.default_rng([evaluation.spec.seed, 8]).permutation(count)
    batch = Batch(
        indices=as_jax(size - count + order),
        probabilities=as_jax(1.0 / (size - np.arange(count))),
        scores=as_jax(np.zeros(size)),
        logits=as_jax(np.zeros(size)),
        drawn=as_jax(np.ones(count, bool)),
    )
    plan = replace(evaluation.planner.plan(batch), policy="random")
    return Round(
        number=state.round + 1,
        plan=plan,
        estimate=evaluation.estimate(),
        pending=(),
        draws=evaluation.survey.record(batch, evaluation.by_belief.foreseen, ()),
        event=state.event,
    )


def labels_of_round(round_: "Round", labels: np.ndarray) -> dict[int, float]:
    """By row of the pool, of whose end they are."""
    start = min(round_.rows)
    return {row: float(labels[row - start]) for row in round_.rows}
