"""What the belief answers of labels of several classes.

The belief is about whether the model is right in a row, a label that is 0 or 1; which class a
row is of where the model is wrong, `wrong_classes` knows. Together they say how likely each
class is, and imagine labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from labelwise.estimands.class_metrics import called, term_tables
from labelwise.estimands.metrics import Bounds
from labelwise.evaluation.answer import Answer, quantiles_of
from labelwise.evaluation.belief_answer import BeliefAnswer
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.estimate import OVER_POOL, OVER_TARGET
from labelwise.evaluation.imagined import Imagined, imagine_pool, imagine_target
from labelwise.evaluation.labels import LabelSet
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.predicted_terms import Foreseen
from labelwise.evaluation.question import Quantity
from labelwise.evaluation.survey import Survey
from labelwise.evaluation.wrong_classes import WrongClasses, others, weighed
from labelwise.inputs import as_jax
from labelwise.numerics import in_blocks
from labelwise.programs import program

DRAWS, FEWER = 1000, 400  # imagined pools; of many classes fewer
MANY = 10  # classes


def as_right(arrays: Arrays, known: LabelSet) -> tuple[Arrays, LabelSet]:
    """Labels that say whether the model is right."""
    right = lambda labels, said: (np.asarray(labels) == said).astype(float)
    pool = arrays.called["pool"][list(known.rows)]
    return (
        replace(arrays, labels=right(arrays.labels, arrays.called["labelled"])),
        replace(known, labels=tuple(right(known.labels, pool).tolist())),
    )


@dataclass(frozen=True)
class ClassAnswers:
    """The belief given all labels, ready to be asked about classes."""

    posterior: Posterior  # about whether the model is right
    survey: Survey
    arrays: Arrays  # with the labels' classes
    labels: Mapping[int, float]  # of pool rows: the number of their class
    questions: Sequence[Quantity]
    skipped: tuple[int, ...] = ()
    noise_gain: float = 0.0  # classes have no noise to be learnt

    @cached_property
    def by_question(self) -> Mapping[Quantity, BeliefAnswer]:
        return {question: self._answer(question) for question in self.questions}

    @property
    def first(self) -> Answer:
        return self.by_question[self.questions[0]].answer

    def bounds(self, question: Quantity) -> Bounds:
        return question.metric.range

    def _answer(self, question: Quantity) -> BeliefAnswer:
        own = self.survey.spec.target == "pool" and question in self.survey.answerable
        values = self._pool_values(question) if own else self._target_values(question)
        known = values[np.isfinite(values)]
        if not known.size:  # a class that nobody is of in any pool that is imagined
            values = known = np.linspace(0.0, 1.0, len(values))
        quantiles = quantiles_of(known, *self.bounds(question))
        about = OVER_POOL if own else OVER_TARGET
        return BeliefAnswer(Answer.of_quantiles(quantiles), values, about)

    @cached_property
    def foreseen(self) -> Foreseen:
        """What labels of pool rows would say."""
        survey, each = self.survey, []
        for question, mass in zip(survey.answerable, survey.masses, strict=True):
            tables = _tables(question, self._pool)
            terms = np.array([np.sum(table * self._expected, axis=1) for table in tables])
            slope = np.nan_to_num(question.metric.slope(terms @ mass / mass.sum()))
            along = sum(one * table for one, table in zip(slope, tables, strict=True))
            mean = np.sum(along * self._expected, axis=1)
            away = (along - mean[:, None]) ** 2
            each.append((terms, np.sqrt(np.sum(away * self._expected, axis=1)), mean))
        terms, spreads, along = zip(*each, strict=True)
        weighted = [mass * one for mass, one in zip(survey.masses, spreads, strict=True)]
        parts = [one / max(float(one.sum()), 1e-300) for one in weighted]
        spread = np.sqrt(np.mean(np.square(parts), axis=0))
        return Foreseen(np.concatenate(terms), spread, tuple(spreads), tuple(along))

    @property
    def _pool(self) -> np.ndarray:
        """Chances that the model gives to pool rows."""
        return self.arrays.pool_predictions[str(self.questions[0].prediction)]

    @cached_property
    def _wrong(self) -> WrongClasses:
        rows = list(self.labels)
        chances = np.concatenate([self.arrays.labelled_predictions, self._pool[rows]])
        codes = np.concatenate([self.arrays.labels, [self.labels[row] for row in rows]])
        return WrongClasses.seen(chances, codes)

    @cached_property
    def _expected(self) -> np.ndarray:
        """How likely each class is, of every pool row."""
        right = np.asarray(_chances(self.posterior.belief, as_jax(self.arrays.pool)))
        return _likely(self._pool, right, self._wrong.mean)

    @cached_property
    def _imagined(self) -> tuple[Imagined, np.ndarray]:
        """Some pool rows that stand for all, and classes that they may be of."""
        seed = self.survey.spec.seed
        found = imagine_pool(self.posterior, seed)
        rng = np.random.default_rng([seed, 8])
        some = _some(len(found.functions), self._pool.shape[1])
        right, chances = found.labels[:, some].astype(bool), self._pool[found.rows]
        shares, said = others(chances), called(chances)
        factors = self._wrong.draws(rng, len(some))
        classes = np.empty(right.shape, int)
        for place in range(len(some)):
            ends = np.cumsum(weighed(shares, said, factors[place]), axis=1)
            wanted = rng.random((len(right), len(chances), 1))
            wrong = np.minimum(np.sum(wanted > ends, axis=2), chances.shape[1] - 1)
            classes[:, place] = np.where(right[:, place], said, wrong)
        return found, classes

    def _pool_values(self, question: Quantity) -> np.ndarray:
        """What the number is in every imagined pool."""
        survey, (imagined, classes) = self.survey, self._imagined
        mass = survey.masses[survey.answerable.index(question)].copy()
        mass[list(self.skipped)] = 0.0
        rows, known = imagined.rows, np.isin(np.arange(len(mass)), list(self.labels))
        weight = mass[rows] * (mass[~known].sum() / max(float(mass[rows].sum()), 1e-300))
        codes = np.array([self.labels[int(row)] for row in np.flatnonzero(known)], int)
        means = []
        for table in _tables(question, self._pool):
            here = table[rows] * weight[:, None]
            drawn = here[np.arange(len(rows)), classes].sum(axis=2).mean(axis=0)
            expected = np.sum(table * self._expected, axis=1)
            off = expected[~known] @ mass[~known] - expected[rows] @ weight
            means.append(drawn + off + table[known, codes] @ mass[known])
        return np.asarray(question.metric.combine(np.array(means) / mass.sum()), float)

    def _target_values(self, question: Quantity) -> np.ndarray:
        """What the number is over the population, for each function."""
        seed = self.survey.spec.seed
        found = imagine_target(self.posterior, seed)
        chances = self.arrays.predictions[str(question.prediction)][found.rows]
        weight = question.shares(self.arrays, found.rows)
        some = _some(len(found.functions), chances.shape[1])
        factors = self._wrong.draws(np.random.default_rng([seed, 9]), len(some))
        tables = np.array(_tables(question, chances)) * (weight / weight.sum())[:, None]
        likely = (
            _likely(chances, found.functions[one], factors[place])
            for place, one in enumerate(some)
        )
        means = np.array([np.tensordot(tables, each, axes=2) for each in likely])
        return np.asarray(question.metric.combine(means.T), float)


def _tables(question: Quantity, chances: np.ndarray) -> list[np.ndarray]:
    place = lambda word: 0 if word is None else question.classes.index(word)
    return term_tables(question.name, chances, place(question.positive), place(question.said))


def _likely(chances: np.ndarray, right: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """How likely each class is, rows × classes."""
    said = called(chances)
    likely = weighed(others(chances), said, factors) * (1.0 - right)[:, None]
    likely[np.arange(len(said)), said] = right
    return likely


def _some(draws: int, classes: int) -> np.ndarray:
    """Which of the functions that were drawn are looked at."""
    most = FEWER if classes > MANY else DRAWS
    return np.arange(0, draws, max(draws // most, 1))


@program
def _chances(belief, x):
    """That the model is right, of each row."""
    return in_blocks(lambda rows: belief.outcome(rows)[0], x)
