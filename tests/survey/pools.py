"""Tiny pools on which every course that the draws can take is followed."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from labelwise.survey.draws import DrawRecord, RoundDraws

MASS = np.array([0.5, 1.0, 2.0, 0.7, 1.3])
TERMS = np.array([[0.3, 2.0, -1.0, 0.9, 4.0], [1.0, 0.0, 1.0, 1.0, 0.0]])
FLOOR = 0.2  # of the law that is uniform over the open rows
NOBODY = np.zeros(5, bool)


@dataclass(frozen=True)
class Course:
    """One way the draws can go, and its chance."""

    chance: float = 1.0
    rounds: tuple[RoundDraws, ...] = ()
    taken: tuple[int, ...] = ()


def law(known: np.ndarray, terms: np.ndarray, open_: np.ndarray) -> np.ndarray:
    """A planner's choice, which depends on the labels seen, mixed with a uniform floor."""
    seen = terms[0, known].sum()
    planned = np.exp(np.sin(np.arange(len(open_)) * (1.0 + seen))) * open_
    return (1.0 - FLOOR) * planned / planned.sum() + FLOOR * open_ / open_.sum()


def predict(known: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Bad predictions, which change with the labels seen."""
    seen = terms[:, known].sum(axis=1)[:, None]
    return np.cos(np.arange(terms.shape[1]) + seen) + 0.5 * seen


def every_course(
    sizes: tuple[int, ...], terms: np.ndarray = TERMS, skipped: np.ndarray = NOBODY
) -> Iterator[Course]:
    """All courses of rounds of these sizes; a negative size chooses that many rows.

    Rows that cannot be labelled are drawn like others, and nothing is learnt from them.
    """
    courses = [Course()]
    for size in sizes:
        courses = [after for course in courses for after in _play(course, size, terms, skipped)]
    yield from courses


def _play(course: Course, size: int, terms: np.ndarray, skipped: np.ndarray) -> list[Course]:
    taken = np.isin(np.arange(terms.shape[1]), course.taken)
    known = taken & ~skipped
    chances = law(known, terms, ~taken)
    if size < 0:
        picks = [(tuple(np.argsort(-chances)[:-size]), (0.0,) * -size, 1.0)]
    else:
        picks = list(_ordered(chances, size))
    predictions = predict(known, terms)
    return [
        Course(
            course.chance * chance,
            (*course.rounds, RoundDraws(np.array(rows), np.array(steps), ~taken, predictions)),
            (*course.taken, *rows),
        )
        for rows, steps, chance in picks
    ]


def _ordered(weights: np.ndarray, size: int) -> Iterator[tuple[tuple, tuple, float]]:
    """Every ordered draw without replacement, the chance of each step, and of all."""
    if size == 0:
        yield (), (), 1.0
        return
    for row in np.flatnonzero(weights):
        step = weights[row] / weights.sum()
        left = np.where(np.arange(len(weights)) == row, 0.0, weights)
        for rows, steps, chance in _ordered(left, size - 1):
            yield (int(row), *rows), (step, *steps), step * chance


def record_of(
    course: Course,
    terms: np.ndarray = TERMS,
    skipped: np.ndarray = NOBODY,
    mass: np.ndarray = MASS,
) -> DrawRecord:
    """What is on record at the end of a course, with labels of the rows taken only."""
    taken = np.isin(np.arange(terms.shape[1]), course.taken)
    seen = np.where(taken & ~skipped, terms, np.nan)
    return DrawRecord(mass, seen, course.rounds, skipped, np.zeros_like(skipped))
