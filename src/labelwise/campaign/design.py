"""How a campaign lets chance choose, and what the draws say: both, question by question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from labelwise.campaign.analysis import Analysis, Proposal
from labelwise.campaign.arrays import Arrays
from labelwise.campaign.asked import Asked
from labelwise.campaign.drawn import PLANNED, About, DrawnAnswer, History, answer_by_draws
from labelwise.campaign.losses import Foreseen, count_terms, foresee, is_effect
from labelwise.campaign.population import Population
from labelwise.campaign.question import Question
from labelwise.campaign.settings import Settings
from labelwise.campaign.state import State
from labelwise.design.foreseen import foreseen_spread
from labelwise.errors import InvalidInput
from labelwise.policies.drawing import By, Draw
from labelwise.policies.selection import first_chances

# What chances go by: how far a row's loss may be off, the policy's own scores, or both.
BY: dict[str, By] = {"loss": "scores", "policy": "policy", "balance": "balance"}
SCALES = ("linear", "log")


def check_draw(by: Any, floor: Any, scale: Any) -> dict[str, Any] | None:
    """Settings of the draw; None if the policy alone is to choose."""
    if by is None or by == "none":
        return None
    if by not in BY:
        raise InvalidInput.must("draw", f"be {', '.join(BY)} or none", f"it is {by!r}")
    if scale not in SCALES:
        raise InvalidInput.must("scale", "be linear or log", f"it is {scale!r}")
    share = float(Draw(floor=floor).floor)
    if share == 0.0:
        raise InvalidInput(
            "floor must be above 0: rows without a chance have no answer from drawn rows",
            "raise it",
            where="floor",
        )
    return {"by": by, "floor": share, "scale": scale}


@dataclass(frozen=True)
class Design:
    """The questions that drawn rows can answer, and for whom."""

    arrays: Arrays
    settings: Settings
    questions: tuple[Question, ...]
    population: Population

    @cached_property
    def reasons(self) -> tuple[str | None, ...]:
        """Of each question, why drawn rows cannot answer it; None if they can."""
        return tuple(self._reason(question) for question in self.questions)

    @property
    def answerable(self) -> tuple[Question, ...]:
        pairs = zip(self.questions, self.reasons, strict=True)
        return tuple(question for question, reason in pairs if reason is None)

    @property
    def by_chance(self) -> bool:
        """Whether batches are drawn."""
        chosen = self.settings.draw is None and self.settings.policy["name"] != "random"
        return not chosen and bool(self.answerable)

    @property
    def floor(self) -> float:
        """Random rows are drawn uniformly as it is."""
        return 1.0 if self.settings.draw is None else self.settings.draw["floor"]

    def _reason(self, question: Question) -> str | None:
        if self.population.weight is None:
            return self.population.reason
        if is_effect(question):
            return self._reason_of_effect(question)
        models = [one for one in (question.prediction, question.versus) if one is not None]
        for name in models:
            found = self.arrays.pool_predictions.get(name)
            if found is None or np.isnan(found).any():
                return f"The pool lacks {name!r}, without which labels say nothing of it."
        if question.group is not None and question.group[0] not in self.arrays.pool_groups:
            return f"The pool lacks {question.group[0]!r}, so its rows have no group."
        if not self._mass(question).any():
            return f"No pool row counts for the {question.title}."
        return None

    def _reason_of_effect(self, question: Question) -> str | None:
        chance = self.arrays.chance
        if chance is None:
            return "Treatments are not assigned by chance, so drawn units have no answer."
        if not ((chance > 0.0) & (chance < 1.0)).all():
            return "Some units have no chance of one treatment, so drawn units have no answer."
        if question.name == "att" or question.group is not None:
            return "Drawn units answer for all of the target, not for a part of it."
        return None

    def _mass(self, question: Question) -> np.ndarray:
        """What each pool row stands for in the question."""
        weight = self.population.weight
        assert weight is not None
        if question.group is None:
            return weight
        column, value = question.group
        return weight * (self.arrays.pool_groups[column] == value)

    @cached_property
    def masses(self) -> list[np.ndarray]:
        return [self._mass(question) for question in self.answerable]

    def foresee(self, analysis: Analysis) -> Foreseen:
        """What labels would say of the questions, as the belief sees it now."""
        return foresee(analysis, self.answerable, self.masses)

    def draw(self, foreseen: Foreseen) -> Draw:
        """How chance chooses the next batch; random rows are drawn apart from treatments."""
        if self.settings.draw is None:
            return Draw(floor=1.0)
        by = BY[self.settings.draw["by"]]
        scores = None if by == "policy" else foreseen.spread
        return Draw(scores, self.settings.draw["floor"], by)

    def record(
        self, proposal: Proposal, foreseen: Foreseen, closed: Sequence[int]
    ) -> dict[str, Any]:
        """What a round must keep for its draws to be used later, beside the predictions."""
        is_open = np.ones(len(self.arrays.pool), bool)
        is_open[list(closed)] = False
        chances = np.asarray(first_chances(jnp.asarray(proposal.logits), self.floor))
        pairs = zip(foreseen.each, self.masses, strict=True)
        return {
            "drawn": list(proposal.drawn),
            "closed": sorted(int(row) for row in closed),
            "shape": list(foreseen.terms.shape),
            "questions": self._places(),
            "foreseen": [
                foreseen_spread(spread, chances, mass, is_open) for spread, mass in pairs
            ],
        }

    def answers(
        self, asked: Sequence[Asked], state: State
    ) -> Mapping[Question, DrawnAnswer | None]:
        """What the draws say so far."""
        draw = self.settings.draw or {}
        planned = self.settings.budget or PLANNED
        history = History(asked, state, draw.get("scale", "linear"), max(planned, 2))
        found = {}
        for question, mass in zip(self.answerable, self.masses, strict=True):
            bounds = question.bounds(self.settings.low, self.settings.high, self.arrays)
            about = About(question, mass, bounds)
            found[question] = answer_by_draws(self.arrays, about, history)
        return found

    def _places(self) -> dict[str, list[int]]:
        """By title: which question it is, and where its terms begin."""
        places, begin = {}, 0
        for index, question in enumerate(self.answerable):
            places[question.title] = [index, begin]
            begin += count_terms(question)
        return places
