"""How a campaign lets chance choose, and what the draws say: both, question by question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.metrics import Bounds
from labelwise.evaluation.answer import Answer
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.predicted_terms import Foreseen, foresee
from labelwise.evaluation.question import Quantity
from labelwise.evaluation.round import Draws, Round
from labelwise.evaluation.spec import Sampling, Spec
from labelwise.evaluation.state import State
from labelwise.evaluation.survey_answer import (
    PLANNED,
    About,
    History,
    Within,
    answer_within,
)
from labelwise.evaluation.survey_weights import Population
from labelwise.evaluation.two_phase import Mended
from labelwise.policies.draw import By, Draw
from labelwise.policies.registry import describe_policy
from labelwise.policies.sampling import first_probabilities
from labelwise.pools.first_phase import FirstPhase
from labelwise.survey.variance_floor import predicted_spread
from labelwise.types import Batch

# What chances go by: how far a row's loss may be off, the policy's own scores, or both.
BY: dict[str, By] = {"loss": "scores", "policy": "policy", "balance": "balance"}


def check_sampling(sampling: Sampling) -> Sampling:
    """Check how chance chooses; `by` is None if the policy alone is to choose."""
    by = None if sampling.by == "none" else sampling.by
    if by is None:
        return replace(sampling, by=None)
    if by not in BY:
        raise InvalidInput.must("sampling.by", f"be {', '.join(BY)} or none", f"it is {by!r}")
    _check_policy_counts(sampling, by)
    floor = float(Draw(floor=sampling.floor).floor)
    if floor == 0.0:
        raise InvalidInput(
            "floor must be above 0: rows without a chance have no answer from drawn rows",
            "raise it",
            where="floor",
        )
    return replace(sampling, floor=floor)


def _check_policy_counts(sampling: Sampling, by: str) -> None:
    """Refuse a policy that draws by loss would not ask."""
    name = describe_policy(sampling.policy)["name"]
    if by == "loss" and name != "lookahead":
        raise InvalidInput(
            f"Rows drawn by loss do not ask the policy {name!r}",
            "choose by='policy', or leave the policy out",
            where="sampling.by",
        )


@dataclass(frozen=True)
class Survey:
    """The questions that drawn rows can answer, for whom, and what they say."""

    arrays: Arrays
    spec: Spec
    questions: tuple[Quantity, ...]
    population: Population
    phase: FirstPhase | None = None  # by which the pool's rows came from a larger one
    mended: Mapping[str, Mended] = field(default_factory=dict)  # by title, over all of that

    @cached_property
    def reasons(self) -> tuple[str | None, ...]:
        """Of each question, why drawn rows cannot answer it; None if they can."""
        return tuple(self._reason(question) for question in self.questions)

    @property
    def answerable(self) -> tuple[Quantity, ...]:
        pairs = zip(self.questions, self.reasons, strict=True)
        return tuple(question for question, reason in pairs if reason is None)

    @property
    def by_chance(self) -> bool:
        """Whether batches are drawn."""
        chosen = self.spec.sampling.by is None and self.spec.sampling.policy["name"] != "random"
        return not chosen and bool(self.answerable)

    @property
    def floor(self) -> float:
        """Random rows are drawn uniformly as it is."""
        return 1.0 if self.spec.sampling.by is None else self.spec.sampling.floor

    def _reason(self, question: Quantity) -> str | None:
        if self.population.weight is None:
            return self.population.reason
        if question.metric.is_effect:
            return self._reason_of_effect(question)
        for name in question.models:
            predictions = self.arrays.pool_predictions.get(name)
            if predictions is None or np.isnan(predictions).any():
                return f"The pool lacks {name!r}, without which labels say nothing of it."
        if question.group is not None and question.group[0] not in self.arrays.pool_groups:
            return f"The pool lacks {question.group[0]!r}, so its rows have no group."
        if not self._mass(question).any():
            return f"No pool row counts for the {question.title}."
        return None

    def _reason_of_effect(self, question: Quantity) -> str | None:
        chance = self.arrays.chance
        if chance is None:
            return "Treatments are not assigned by chance, so drawn units have no answer."
        if not ((chance > 0.0) & (chance < 1.0)).all():
            return "Some units have no chance of one treatment, so drawn units have no answer."
        if question.name == "att" or question.group is not None:
            return "Drawn units answer for all of the target, not for a part of it."
        return None

    def _mass(self, question: Quantity) -> np.ndarray:
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

    def foresee(self, analysis: Posterior) -> Foreseen:
        """What labels would say of the questions, as the belief sees it now."""
        return foresee(analysis, self.answerable, self.masses)

    def terms_of(self, foreseen: Foreseen, question: Quantity) -> np.ndarray:
        """What the belief expects of every pool row for one question, terms × pool."""
        begin = self._places()[question.title][1]
        return foreseen.terms[begin : begin + question.averaged.count]

    def draw(self, foreseen: Foreseen, besides: float = 0.0) -> Draw:
        """How chance chooses the next batch; random rows are drawn apart from treatments.

        `besides` is what any label teaches, whatever its row.
        """
        if self.spec.sampling.by is None:
            return Draw(floor=1.0)
        by = BY[self.spec.sampling.by]
        scores = None if by == "policy" else foreseen.spread
        # Only a policy that looks ahead has scores that are gains.
        gains = by != "scores" and self.spec.sampling.policy["name"] == "lookahead"
        return Draw(scores, self.spec.sampling.floor, by, besides if gains else 0.0)

    def record(self, batch: Batch, foreseen: Foreseen, closed: Sequence[int]) -> Draws:
        """What a round must keep for its draws to be used later."""
        is_open = np.ones(len(self.arrays.pool), bool)
        is_open[list(closed)] = False
        chances = first_probabilities(batch.logits, self.floor)
        pairs = zip(foreseen.each, self.masses, strict=True)
        return Draws(
            drawn=tuple(np.asarray(batch.drawn).tolist()),
            closed=tuple(sorted(int(row) for row in closed)),
            questions=self._places(),
            foreseen=tuple(
                predicted_spread(spread, chances, mass, is_open) for spread, mass in pairs
            ),
            # Single precision is enough: any predictions serve, as long as they are kept.
            predictions=np.asarray(foreseen.terms, np.float32),
        )

    def answers(
        self, rounds: Sequence[Round], state: State
    ) -> Mapping[Quantity, Answer | None]:
        """What the draws say so far."""
        found = self.within(rounds, state).items()
        return {
            question: None if one is None else one.whole(self.bounds(question))
            for question, one in found
        }

    def bounds(self, question: Quantity) -> Bounds:
        """Between which values the answer lies."""
        return question.bounds(*self.spec.columns.bounds, self.arrays)

    def within(self, rounds: Sequence[Round], state: State) -> Mapping[Quantity, Within | None]:
        """The same about the pool at hand, where that is a sample."""
        planned = self.spec.limits.budget or PLANNED
        history = History(rounds, state, self.spec.question.scale, max(planned, 2))
        answers = {}
        for question, mass in zip(self.answerable, self.masses, strict=True):
            mended = self.mended.get(question.title)
            about = About(question, mass, self.bounds(question), self.phase, mended)
            answers[question] = answer_within(self.arrays, about, history)
        return answers

    def _places(self) -> dict[str, list[int]]:
        """By title: which question it is, and where its terms begin."""
        places, begin = {}, 0
        for index, question in enumerate(self.answerable):
            places[question.title] = [index, begin]
            begin += question.averaged.count
        return places
