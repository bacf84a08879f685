"""What a reader must know of an answer, by the rows that chance drew."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labelwise.evaluation.answer import Answer
from labelwise.evaluation.estimate import UNVERIFIED, Estimate
from labelwise.tables.text import listed, plain

if TYPE_CHECKING:
    from labelwise.evaluation.evaluation import Evaluation

APART = 2.576  # standard errors that two answers may be apart: chance exceeds it once in 100
ENOUGH = 10  # draws before their answer alone says much


def draw_caveats(estimate: Estimate, stop: Any, first: bool) -> list[str]:
    """What a reader must know of the answer, by its draws; `stop` is the rule, if any.

    What is true of all questions alike is said with the `first`.
    """
    drawn, credible = estimate.design, estimate.credible
    if drawn is None:
        return []
    caveats = []
    off = math.hypot(drawn.std, credible.std)
    if abs(drawn.value - credible.value) > APART * off > 0.0:
        leans = "the answer leans on the rows"
        if estimate.fates.interfered:
            leans = "as labels of drawn rows are missing or corrected, neither is above doubt"
        caveats.append(
            f"The belief and the drawn rows disagree by more than chance allows: "
            f"{plain(credible.value)} and {plain(drawn.value)}; {leans}."
        )
    if stop is not None and estimate.anytime is not None and first:
        low, high = estimate.anytime
        caveats.append(
            "The campaign ends when a rule says so: if you stop by it, quote the interval that "
            f"is right at every look, {plain(low)} to {plain(high)} (90 %)."
        )
    return caveats + (_waiting(drawn) if first else [])


def heavy_caveat(titles: Sequence[str]) -> list[str]:
    """One warning of all whose losses have no bound and whose spread rests on a few of them."""
    if not titles:
        return []
    which = f"The interval of {listed(titles)} rests" if len(titles) < 2 else None
    return [
        f"{which or f'Each interval of {listed(titles)} rests'} on a few large losses; where "
        "losses have no bound, 90 % intervals of any kind may hold less often than that."
    ]


def unverified_caveat(draws: int, how: str = "drawn") -> list[str]:
    """Mark what too few rows have checked, however well labelled rows seem to suit."""
    if draws >= ENOUGH:
        return []
    some = "none" if draws == 0 else str(draws)
    return [
        f"{UNVERIFIED}: {some} of the {ENOUGH} {how} labels that are to "
        "check the belief first have come; until then it may miss by far."
    ]


def _waiting(drawn: Answer) -> list[str]:
    """Labels that came and do not count yet."""
    if not drawn.waiting:
        return []
    return [
        f"{drawn.waiting} labels that came are not in the answer from drawn rows yet: they "
        "wait for those of rows drawn before them."
    ]


def told_of_draws(evaluation: "Evaluation", estimates: Sequence[Estimate]) -> list[str]:
    """Of each question's draws; of all but the first, by its title."""
    warnings, questions = [], evaluation.inquiry.questions
    for question, estimate in zip(questions, estimates, strict=True):
        if estimate.design is not None:
            first = question is evaluation.inquiry.first
            told = draw_caveats(estimate, evaluation.spec.limits.stop, first)
            warnings += told if first else [f"{estimate.title}: {one}" for one in told]
    warnings += heavy_caveat([one.title for one in estimates if _is_heavy(evaluation, one)])
    note = evaluation.survey.population.note
    any_drawn = any(evaluation.answers_by_draws.values())
    return [*warnings, *([note] if note and any_drawn else [])]


def unverified(evaluation: "Evaluation", first: Estimate) -> list[str]:
    """Whether labels that nobody had seen have checked the belief yet: draws, where chance
    draws, and else those that were bought."""
    if not evaluation.survey.by_chance:
        return unverified_caveat(first.bought, "bought")
    return unverified_caveat(0 if first.design is None else first.design.draws)


def _is_heavy(evaluation: "Evaluation", estimate: Estimate) -> bool:
    """Whether a few losses decide, of those that may be as large as you like."""
    questions = evaluation.inquiry.questions
    question = next(one for one in questions if one.title == estimate.title)
    heavy = estimate.design is not None and estimate.design.heavy
    plain = question.averaged.functional is None
    return heavy and plain and None in evaluation.by_belief.bounds(question)
