"""How far labels that are missing could move the answer.

Missing labels are taken for the lowest and the highest that they may be, whichever pull the
answer most, and drawn rows answer anew. The belief has no part in it: where labels are missing
for a reason, it has learnt from the others alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from labelwise.evaluation.answer import Answer
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.fates import corrected_rows, drawn_rows, fates_of, withheld_rows
from labelwise.evaluation.functional_answer import functional_of, influence_of_known
from labelwise.evaluation.predicted_terms import known_terms, pool_predictions
from labelwise.evaluation.question import Quantity
from labelwise.evaluation.round import Round
from labelwise.evaluation.spec import is_binary
from labelwise.evaluation.state import Event, State
from labelwise.evaluation.survey import Survey

if TYPE_CHECKING:
    from labelwise.evaluation.evaluation import Evaluation

Extremes = Mapping[Quantity, tuple[Answer, ...]]


def missing_rows(rounds: Sequence[Round], state: State) -> list[int]:
    """Rows that the answer is about and whose labels are not there."""
    drawn = drawn_rows(rounds)
    lost = {row for row in (*state.failed, *state.expired) if row in drawn}
    return sorted({*state.skipped, *lost, *withheld_rows(drawn, state)}) if drawn else []


def told_of_fates(estimates: Sequence[Estimate], of: "Evaluation") -> list[Estimate]:
    """Each with what became of drawn rows, and how far missing labels could move it."""
    fates, found = fates_of(of.rounds, of.state), {}
    if fates.missing:
        found = extremes(of.survey, of.rounds, of.state)
    pairs = zip(of.inquiry.questions, estimates, strict=True)
    return [one.with_fates(fates, found.get(question, ())) for question, one in pairs]


def without_corrections(of: "Evaluation") -> "Evaluation | None":
    """The evaluation with drawn labels as they first came; None if none was corrected."""
    first = corrected_rows(drawn_rows(of.rounds), of.state)
    if not first:
        return None
    came = replace(of.state, labels=of.state.labels | first, first_labels={})
    return replace(of, state=came, fitted=None)


def extremes(survey: Survey, rounds: Sequence[Round], state: State) -> Extremes:
    """What drawn rows would say with the missing labels at their lowest and highest.

    By question; nothing where no label is missing or drawn rows cannot tell.
    """
    rows = missing_rows(rounds, state)
    if not rows:
        return {}
    found: dict[Quantity, tuple[Answer, ...]] = {}
    for question, mass in zip(survey.answerable, survey.masses, strict=True):
        each = []
        for pull in (-1.0, 1.0):
            labels = _worst(survey, question, mass, rows, state, pull)
            answer = survey.answers(rounds, _as_if(rounds, state, labels))[question]
            each += [] if answer is None else [answer]
        found[question] = tuple(each)
    return found


def _as_if(rounds: Sequence[Round], state: State, labels: Mapping[int, float]) -> State:
    """The state as if these labels had come back from where they were drawn."""
    drawn = drawn_rows(rounds)
    came = (
        Event("labelled", row, round=drawn.get(row), label=label)
        for row, label in labels.items()
    )
    return state.after(came)


def _worst(
    survey: Survey, question: Quantity, mass: np.ndarray, rows: list[int], state: State, pull
) -> dict[int, float]:
    """Of each missing row, the label that pulls the answer furthest down or up."""
    if question.metric.is_effect:
        low, high = _range(survey, state)
        treated = {row: arm for row, arm in state.treated.items() if row in set(rows)}
        up = lambda arm: (arm == 1.0) == (pull > 0.0)
        return {row: float(high if up(arm) else low) for row, arm in treated.items()}
    chosen = np.array(rows)
    options = _options(survey, question, state)
    along = _along(survey, question, mass, state)
    pulls = pull * np.array([along(option)[chosen] for option in options])
    best = np.argmax(np.nan_to_num(pulls, nan=-np.inf), axis=0)
    return {
        row: float(options[which][row]) for row, which in zip(rows, best.tolist(), strict=True)
    }


def _along(survey: Survey, question: Quantity, mass: np.ndarray, state: State):
    """From labels of all pool rows to how far each moves the answer, at the known ones."""
    labels = np.full(len(mass), np.nan)
    labels[list(state.labels)] = list(state.labels.values())
    arrays, functional = survey.arrays, functional_of(question)
    if functional is not None:
        given = pool_predictions(arrays, question)
        return influence_of_known(functional, labels, mass, given).of_labels
    slope = _slope(known_terms(arrays, question, labels), question, mass)
    return lambda option: slope @ known_terms(arrays, question, option)


def _slope(terms: np.ndarray, question: Quantity, mass: np.ndarray) -> np.ndarray:
    """How the answer moves with the mean of each term, at the means of known rows."""
    known = ~np.isnan(terms[0])
    weight = mass[known] / max(float(mass[known].sum()), 1e-300)
    slope = question.averaged.slope(terms[:, known] @ weight)
    return np.nan_to_num(np.asarray(slope, float), posinf=0.0, neginf=0.0)


def _options(survey: Survey, question: Quantity, state: State) -> list[np.ndarray]:
    """Labels of all pool rows at which the loss may be least or largest.

    The ends of the range that labels have, the prediction, and where there is no range, as far
    from the prediction as any label so far. Losses seen would not do for bounds: whoever hides
    the worst rows hides the largest losses. Labels from the start are not theirs to hide.
    """
    size, classes = len(survey.arrays.pool), len(survey.spec.columns.classes)
    if survey.spec.columns.several:
        return [np.full(size, float(code)) for code in range(classes)]
    low, high = _range(survey, state)
    ends = [np.full(size, end) for end in (low, high)]
    if is_binary(survey.spec.belief) or not question.models:
        return ends
    least, most = survey.spec.columns.bounds
    bounded = least is not None and most is not None
    told = {**state.labels, **state.first_labels}
    options = ends
    for model in question.models:
        predicted = np.asarray(survey.arrays.pool_predictions[model], float)
        off = max((abs(label - predicted[row]) for row, label in told.items()), default=0.0)
        apart = [0.0] if bounded else [0.0, -off, off]
        options = [*options, *(np.clip(predicted + by, least, most) for by in apart)]
    return options


def _range(survey: Survey, state: State) -> tuple[float, float]:
    """The range that labels have, or have had so far."""
    if is_binary(survey.spec.belief):
        return 0.0, 1.0
    least, most = survey.spec.columns.bounds
    told = [*state.labels.values(), *state.first_labels.values()]
    seen = np.concatenate([survey.arrays.labels, told])
    if not seen.size:  # nothing is known of labels but what models say
        models = survey.arrays.pool_predictions.values()
        seen = np.concatenate([*models]) if models else np.zeros(1)
    return (
        float(seen.min()) if least is None else least,
        float(seen.max()) if most is None else most,
    )
