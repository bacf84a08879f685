"""Answers about a pool of which one has a sample, held to enumeration and to simulation."""

from itertools import combinations, product

import numpy as np
import pytest

from labelwise.evaluation.answer import GRID, Answer
from labelwise.evaluation.influence import spread_of_cells
from labelwise.evaluation.question import make_inquiry
from labelwise.evaluation.two_phase import (
    Influence,
    Mended,
    foreseen_variance,
    of_whole,
    phase_variance,
    with_foreseen,
)
from labelwise.pools.first_phase import FirstPhase
from labelwise.survey.draws import DrawRecord, RoundDraws

ROWS, SIZES = np.array([4, 3]), np.array([3, 2])
STRATUM = np.repeat([0, 1], ROWS)
TERMS = np.array([0.3, 1.7, -2.0, 0.9, 4.0, 3.1, 5.5])  # of the whole pool
GUESS = np.array([0.0, 1.0, -1.0, 1.0, 3.0, 3.0, 6.0])
SCORE = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 2.0])  # that draws go by


def ask(estimand: str):
    options = {"threshold": 0.5, "tolerance": None, "quantile": None}
    return make_inquiry(estimand, prediction="score", options=options).questions[0]


def samples():
    """Every first-phase sample; all are equally likely."""
    parts = [combinations(np.flatnonzero(h == STRATUM), size) for h, size in enumerate(SIZES)]
    return [np.array([*one, *two]) for one, two in product(*parts)]


def phase_of(rows: np.ndarray) -> FirstPhase:
    return FirstPhase(ROWS, SIZES, STRATUM[rows], "every one")


def draws_of(rows: np.ndarray):
    """Every pair of draws without replacement from a sample, and how likely it is."""
    score = SCORE[rows]
    for first in range(len(rows)):
        for second in range(len(rows)):
            if first != second:
                chances = [
                    score[first] / score.sum(),
                    score[second] / (score.sum() - score[first]),
                ]
                yield [first, second], chances


def record_of(rows: np.ndarray, taken, chances, guess=GUESS) -> DrawRecord:
    terms = np.full((1, len(rows)), np.nan)
    terms[0, taken] = TERMS[rows[taken]]
    none, every = np.zeros(len(rows), bool), np.ones(len(rows), bool)
    round_ = RoundDraws(np.array(taken), np.array(chances), every, guess[rows][None, :])
    mass = 1.0 / phase_of(rows).probability
    return DrawRecord(mass, terms, (round_,), none, none)


def expected_variance(guess: np.ndarray, mended: bool) -> float:
    """Of the estimator, over every sample and every pair of draws."""
    total = []
    for rows in samples():
        phase = phase_of(rows)
        mass = 1.0 / phase.probability
        inside = Mended(guess[rows][None, :], np.array([guess.mean()])) if mended else None
        truth = np.array([TERMS[rows] @ mass / mass.sum()])
        influence = Influence(phase, mass, np.ones(1), truth, inside)
        each = [
            np.prod(chances) * _unclipped(record_of(rows, taken, chances), influence)
            for taken, chances in draws_of(rows)
        ]
        total.append(sum(each))
    return float(np.mean(total))


def _unclipped(record: DrawRecord, influence: Influence) -> float:
    """`phase_variance` where it may say less than 0, which one sample of few rows may."""
    from labelwise.evaluation import two_phase

    squares, sums = two_phase._draw_by_draw(record, influence)
    pairs = two_phase._factors(influence.phase)[1]
    products = (sums.sum(axis=0) ** 2 - (sums**2).sum(axis=0)) / (len(squares) * 1.0)
    found = float(squares.mean() - pairs @ products)
    assert phase_variance(record, influence) == max(found, 0.0)
    return found


@pytest.mark.parametrize("mended", [False, True])
def test_the_variance_of_the_first_phase_is_estimated_without_bias(mended):
    estimates = [
        (TERMS - mended * GUESS)[rows] @ (1.0 / phase_of(rows).probability) / ROWS.sum()
        for rows in samples()
    ]
    exact = float(np.var(estimates))  # over every sample, each as likely
    np.testing.assert_allclose(expected_variance(GUESS, mended), exact, rtol=1e-10)


def test_a_mended_answer_is_moved_to_the_mean_of_predictions_over_the_pool():
    rows = samples()[1]
    phase = phase_of(rows)
    mass = 1.0 / phase.probability
    mended = Mended(GUESS[rows][None, :], np.array([GUESS.mean()]))
    influence = Influence(phase, mass, np.array([2.0]), np.zeros(1), mended)
    expected = 2.0 * (GUESS.mean() - GUESS[rows] @ mass / mass.sum())
    assert influence.shift == pytest.approx(expected)


def test_a_foreseen_variance_is_that_of_labels_as_they_are_foreseen():
    rng, spread = np.random.default_rng(0), np.linspace(0.5, 1.5, 5)
    rows = samples()[0]
    phase, mass = phase_of(rows), 1.0 / phase_of(rows).probability
    influence = Influence(phase, mass, np.ones(1), np.zeros(1))
    made = []
    for _ in range(4000):
        terms = GUESS[rows] + spread * rng.normal(size=5)
        made.append(
            sum(
                (ROWS[h] / ROWS.sum()) ** 2
                * (1.0 / SIZES[h] - 1.0 / ROWS[h])
                * terms[phase.stratum == h].var(ddof=1)
                for h in range(2)
            )
        )
    found = foreseen_variance(influence, GUESS[rows][None, :], spread)
    assert abs(np.mean(made) - found) < 4.0 * np.std(made) / np.sqrt(len(made))


def test_a_variance_foreseen_holds_after_a_few_draws_and_never_narrows():
    assert with_foreseen(0.0, 2.0, 10) == pytest.approx(1.5)
    assert with_foreseen(1.0, 2.0, 3000) == pytest.approx(1.0, rel=0.02)
    assert with_foreseen(3.0, 2.0, 5) == 3.0


def test_a_sample_of_all_rows_adds_nothing():
    phase = FirstPhase(ROWS, ROWS, STRATUM, "all")
    influence = Influence(phase, np.ones(7), np.ones(1), np.zeros(1))
    assert foreseen_variance(influence, TERMS[None, :], np.ones(7)) == 0.0


def test_an_answer_about_the_pool_is_wider_by_the_first_phase():
    quantiles = tuple(0.5 + 0.1 * (chance - 0.5) for chance in GRID)
    answer = Answer(0.5, 0.03, quantiles, anytime=(0.4, 0.7), anytime_at={"0.9": [0.4, 0.7]})
    whole = of_whole(answer, 0.04**2, 0.01, (0.0, 1.0))
    assert whole.std == pytest.approx(0.05)
    assert whole.value == pytest.approx(0.51)
    low, high = answer.interval()
    expected = [0.51 + (end - 0.5) * 5.0 / 3.0 for end in (low, high)]
    np.testing.assert_allclose(whole.interval(), expected)
    np.testing.assert_allclose(whole.anytime_at["0.9"], [0.51 - 0.5 / 3.0, 0.51 + 1.0 / 3.0])
    assert whole.first_phase == pytest.approx(0.04)
    assert of_whole(answer, 1e6, 0.0, (0.0, 1.0)).interval() == (0.0, 1.0)


def test_an_answer_without_any_spread_has_the_first_phases():
    sure = Answer(0.5, 0.0, (0.5,) * len(GRID))
    low, high = of_whole(sure, 0.01, 0.0, (None, None)).interval()
    assert high - low == pytest.approx(2.0 * 0.1 * 1.6448536, rel=1e-3)


def test_influence_on_recall_lies_with_rows_that_may_be_positive():
    values, counts = np.array([0.01, 0.4, 0.9]), np.array([[9000, 900, 100]])
    question = ask("recall")
    spread = spread_of_cells([question], (), [()], values, counts)[0]
    # By hand: recall moves by (called - recall) / positives with a positive row.
    positives = counts[0] @ values
    recall = 90.0 / positives
    moved = np.array([recall, recall, 1.0 - recall])
    expected = np.sqrt(values * (1.0 - values)) * moved
    np.testing.assert_allclose(spread / spread[0], expected / expected[0])


def test_a_group_that_is_asked_about_has_its_own_share():
    question = ask("accuracy")
    counts = np.array([[900], [100]])
    small = type(question)(**vars(question) | {"group": ("place", "south")})
    spread = spread_of_cells(
        [small], ("place",), [("north",), ("south",)], np.ones(1) / 2, counts
    )
    assert spread[0, 0] == 0.0
    assert spread[1, 0] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["accuracy, common", "recall, 2 %"])
def test_answers_from_both_phases_are_unbiased_and_hold(name):
    from experiments import two_phase as study

    problem = study.problems()[name]
    rows = [study.replicate(problem, seed) for seed in range(150)]
    error = np.array([row["value"] - row["truth"] for row in rows])
    assert abs(error.mean()) < 3.5 * error.std(ddof=1) / np.sqrt(len(rows))
    holds = np.mean([row["holds"] for row in rows])
    assert abs(holds - 0.9) < 3.5 * np.sqrt(0.9 * 0.1 / len(rows))
