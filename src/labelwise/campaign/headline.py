"""Which of the two answers is shown first, why, and what a reader must know of the draws."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from labelwise.campaign.drawn import DrawnAnswer
from labelwise.campaign.estimate import BELIEF_ALONE, Estimate
from labelwise.tables.texts import plain

ENOUGH = 10  # draws before their answer is shown first
APART = 2.576  # standard errors that two answers may be apart: chance exceeds it once in 100

OWN = "the interval is the belief's own: it is right if the belief is"


def with_draws(
    estimate: Estimate, drawn: DrawnAnswer | None, reason: str | None, by_chance: bool
) -> Estimate:
    """The estimate with the draws' answer beside the belief's, and a headline.

    The rule is fixed: enough draws, and their answer comes first. Choosing the narrower of two
    intervals would make both too narrow.
    """
    if drawn is None:
        return replace(estimate, why=_why_belief(reason, by_chance, 0))
    design = drawn.to_dict()
    if drawn.draws < ENOUGH:
        why = _why_belief(None, True, drawn.draws)
        return replace(estimate, design=design, why=why)
    return replace(
        estimate,
        value=drawn.value,
        std=drawn.std,
        quantiles=drawn.quantiles,
        quantity="over the rows of the pool, as they stand for the target",
        headline="design",
        why=(
            f"the interval rests on {drawn.draws} rows drawn by chance, as in a survey: it "
            "holds even where the belief is wrong"
        ),
        design=design,
    )


def _why_belief(reason: str | None, by_chance: bool, draws: int) -> str:
    if reason is not None:
        return f"{OWN}. {reason}"
    if not by_chance:
        return BELIEF_ALONE
    return f"{OWN}; {draws} drawn labels are too few to check it, {ENOUGH} are needed"


def draw_caveats(
    drawn: DrawnAnswer, credible: Mapping[str, Any], stop: Any, first: bool
) -> list[str]:
    """What a reader must know of the answer from drawn rows; `stop` is the rule, if any.

    What is true of all questions alike is said with the `first`.
    """
    found = []
    off = math.hypot(drawn.std, credible["std"])
    if abs(drawn.value - credible["value"]) > APART * off > 0.0:
        found.append(
            f"The two answers disagree by more than chance allows: {plain(drawn.value)} from "
            f"drawn rows, {plain(credible['value'])} from the belief; trust the drawn rows."
        )
    if drawn.heavy:
        found.append(
            "The interval rests on a few large losses; where losses have no bound, 90 % "
            "intervals of any kind may hold less often than that."
        )
    if stop is not None and drawn.anytime is not None and first:
        low, high = drawn.anytime
        found.append(
            "The campaign ends when a rule says so: if you stop by it, quote the interval that "
            f"is right at every look, {plain(low)} to {plain(high)} (90 %)."
        )
    if not first:
        return found
    if drawn.skipped:
        found.append(
            f"{drawn.skipped} rows could not be labelled; the answer from drawn rows is about "
            "those that can."
        )
    if drawn.dropped:
        found.append(
            f"{drawn.dropped} drawn labels failed or expired and were left out; if labels fail "
            "for a reason that matters, the answer is off."
        )
    if drawn.waiting:
        found.append(
            f"{drawn.waiting} labels that came are not in the answer from drawn rows yet: they "
            "wait for those of rows drawn before them."
        )
    return found
