"""What the belief alone answers to each question.

Where the pool is the target, that is about the pool's own labels: those that came as they are,
the others imagined. Else it is about the population that the target stands for: labels of its
rows are imagined, with none known. An effect compares what no row shows, both its treatments,
and is answered by the belief's functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from labelwise.errors import NumericalError
from labelwise.estimands.metrics import Bounds
from labelwise.evaluation.answer import Answer, quantiles_of
from labelwise.evaluation.estimate import OVER_POOL, OVER_TARGET
from labelwise.evaluation.imagined import (
    DRAWS,
    Imagined,
    imagine_pool,
    imagine_target,
    pool_values,
    target_values,
)
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.predicted_terms import Foreseen
from labelwise.evaluation.question import Quantity
from labelwise.evaluation.survey import Survey

LEAST = 1e-6  # share of the answer's variance that rests on the function, at least
TAIL = 0.02  # share of draws at either end that must not decide alone


class BeliefAnswer(NamedTuple):
    """One answer, the draws behind it, and which number exactly it is about."""

    answer: Answer
    draws: np.ndarray
    quantity: str


@dataclass(frozen=True)
class BeliefAnswers:
    """The belief given all labels, ready to be asked."""

    posterior: Posterior
    survey: Survey
    skipped: tuple[int, ...] = ()  # pool rows that cannot be labelled

    @cached_property
    def by_question(self) -> Mapping[Quantity, BeliefAnswer]:
        questions = self.posterior.inquiry.questions
        return {
            question: self._answer(index, question) for index, question in enumerate(questions)
        }

    @property
    def first(self) -> Answer:
        """To the first question."""
        return self.by_question[self.posterior.inquiry.first].answer

    def bounds(self, question: Quantity) -> Bounds:
        """Between which values the answer lies."""
        return question.bounds(*self.survey.spec.columns.bounds, self.posterior.arrays)

    def _answer(self, index: int, question: Quantity) -> BeliefAnswer:
        values = self.pool_values(question)
        quantity = OVER_TARGET if values is None else OVER_POOL
        if values is None:
            values = self._target_values(index, question)
        if values is None:  # an effect, what has a closed form, or hardly ever a value
            outcome = self.posterior.answers[index]
            quantiles = quantiles_of(outcome.draws, *self.bounds(question))
            return BeliefAnswer(
                Answer(outcome.mean, outcome.std, quantiles), outcome.draws, quantity
            )
        quantiles = quantiles_of(values, *self.bounds(question))
        return BeliefAnswer(_checked(Answer.of_quantiles(quantiles)), values, quantity)

    def pool_values(self, question: Quantity) -> np.ndarray | None:
        """The number in imagined pools; None where the pool is not what is asked about."""
        survey = self.survey
        own = survey.spec.target == "pool" and question in survey.answerable
        if not own or question.metric.is_effect:
            return None
        return _enough(self._values(question, self.pool, over_pool=True))

    def _values(self, question: Quantity, imagined: Imagined, over_pool: bool) -> np.ndarray:
        if not over_pool:
            return target_values(self.posterior, imagined, question)
        survey = self.survey
        mass = survey.masses[survey.answerable.index(question)].copy()
        mass[list(self.skipped)] = 0.0
        predicted = None
        if len(imagined.rows) + len(self.posterior.known.rows) < self.posterior.size:
            predicted = survey.terms_of(self.foreseen, question)
        return pool_values(self.posterior, imagined, question, mass, predicted)

    @cached_property
    def noise_gain(self) -> float:
        """What any label, whatever its row, would teach the answers of the noise.

        In the unit of a policy's scores: of one question the fall of its variance, of several
        the sum of their relative falls.
        """
        questions = self.posterior.inquiry.questions
        each = [self._noise_gain(question) for question in questions]
        gains = [gain for gain, _ in each]
        return gains[0] if len(each) == 1 else sum(gain / left for gain, left in each if gain)

    def _noise_gain(self, question: Quantity) -> tuple[float, float]:
        """Of one question; and the variance that rests on the function alone."""
        _, values, quantity = self.by_question[question]
        if question.metric.is_effect or len(values) != DRAWS:
            return 0.0, 1.0
        over_pool = quantity == OVER_POOL
        imagined = self.pool if over_pool else self.target
        if imagined.law is None:
            return 0.0, 1.0
        law, values = _without_tails(imagined.law.variance), _without_tails(values)
        shared = float(np.cov(values, law)[0, 1]) ** 2 / max(float(law.var()), 1e-300)
        without = imagined._replace(labels=imagined.functions[None])
        plain = self._values(question, without, over_pool)
        total = float(values.var())
        left = min(float(plain.var()), total - shared)
        if total == 0.0:
            return 0.0, 1.0
        # Where noise is all there is to know, rows are alike: a large gain says so, too.
        return shared / (imagined.law.worth + 1.0), max(left, LEAST * total)

    def _target_values(self, index: int, question: Quantity) -> np.ndarray | None:
        if question.metric.is_effect or self.posterior.is_linear(index):
            return None
        values = self._values(question, self.target, over_pool=False)
        return _enough(values + self._shifts[index])

    @cached_property
    def _shifts(self) -> np.ndarray:
        return self.posterior.shifts(self.target.rows)

    @cached_property
    def foreseen(self) -> Foreseen:
        """What labels of pool rows would say."""
        return self.survey.foresee(self.posterior)

    @cached_property
    def pool(self) -> Imagined:
        """The pool as it may turn out."""
        return imagine_pool(self.posterior, self.survey.spec.seed)

    @cached_property
    def target(self) -> Imagined:
        """Labels that rows of the target may have."""
        return imagine_target(self.posterior, self.survey.spec.seed)


def _without_tails(values: np.ndarray) -> np.ndarray:
    """Draws with the outermost moved inwards: noise may have no variance of its variance."""
    return np.clip(values, *np.quantile(values, [TAIL, 1.0 - TAIL]))


def _enough(values: np.ndarray) -> np.ndarray | None:
    """Where the number has a value in most of what was imagined."""
    defined = values[np.isfinite(values)]
    return defined if 2 * len(defined) > DRAWS else None


def _checked(answer: Answer) -> Answer:
    if not np.isfinite([answer.value, answer.std]).all():
        raise NumericalError(
            "The belief broke down: the estimate is not finite",
            "bring labels and features to ordinary scales",
            where="belief",
        )
    return answer
