"""What may be told to an evaluation: labels of its own rounds, each once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labelwise.errors import InvalidInput
from labelwise.evaluation.round import Round
from labelwise.evaluation.spec import Spec, is_binary
from labelwise.evaluation.state import State
from labelwise.tables.words import Vocabulary

if TYPE_CHECKING:
    from labelwise.evaluation.evaluation import Evaluation


def told(evaluation: "Evaluation", round_: Round, labels: Any) -> "Evaluation":
    """The evaluation once a round is asked and these of its labels have come."""
    state = evaluation.state
    is_next = round_.number == state.round + 1
    _check_follows(round_, evaluation.rounds, is_next)
    came = _labels_of(round_, labels, state, evaluation.spec)
    if is_next:
        state = state.asked(round_.number, round_.rows, round_.treated)
    rounds = {each.number: each for each in (*evaluation.rounds, round_)}
    return replace(
        evaluation,
        state=state.told(came, round_.number),
        rounds=tuple(rounds.values()),
        fitted=None,
        choice=None,
        given=None,
    )


def _check_follows(round_: Round, known: Sequence[Round], is_next: bool) -> None:
    """Refuse a round that is neither the next one nor one that was told of before."""
    same = any(
        each.number == round_.number and tuple(each.rows) == tuple(round_.rows)
        for each in known
    )
    if not (is_next or same):
        raise InvalidInput(
            f"Round {round_.number} does not follow what was told so far",
            "ask this evaluation for its next round, and tell that",
            where="round_",
        )


def _labels_of(round_: Round, labels: Any, state: State, spec: Spec) -> dict[int, float]:
    """Read labels by row, or one a row of the round, and refuse what cannot be."""
    if not isinstance(labels, Mapping):
        given = list(labels)
        if len(given) != len(round_.rows):
            raise InvalidInput(
                f"There are {len(given)} labels for the {len(round_.rows)} rows of round "
                f"{round_.number}",
                "give one for each, None where it is not known yet, or a mapping by row",
                where="labels",
            )
        labels = dict(zip(round_.rows, given, strict=True))
    strange = sorted(set(labels) - set(round_.rows))
    if strange:
        raise InvalidInput(
            f"Row {strange[0]} is not in round {round_.number}",
            "tell labels of the rows that were asked, round_.rows",
            where="labels",
        )
    came = {int(row): label for row, label in labels.items() if label is not None}
    came = _numbered(came, spec)
    return {row: _checked(row, label, state, spec) for row, label in came.items()}


def _numbered(came: dict[int, Any], spec: Spec) -> dict[int, Any]:
    """Words as the numbers of their classes; numbers stay as they are."""
    words = {row: label for row, label in came.items() if isinstance(label, str | bool)}
    if not words or not spec.columns.classes:
        return came
    read = Vocabulary(spec.columns.classes).codes
    codes = read(list(words.values()), "The labels", "labels", list(words))
    return came | dict(zip(words, codes.tolist(), strict=True))


def _checked(row: int, label: Any, state: State, spec: Spec) -> float:
    low, high = spec.columns.bounds
    inside = (low is None or label >= low) and (high is None or label <= high)
    codes = range(max(len(spec.columns.classes), 2))
    whole = not is_binary(spec.belief) or label in codes
    if not (math.isfinite(label) and inside and whole):
        raise InvalidInput(
            f"The label of row {row} cannot be {label:g}",
            "give a number that a label can have, or None if it is not known yet",
            where="labels",
        )
    if row in state.labels and state.labels[row] != label:
        raise InvalidInput(
            f"Row {row} has another label already ({state.labels[row]:g}, now {label:g})",
            "a label is told once; a campaign can correct it",
            where="labels",
        )
    return float(label)
