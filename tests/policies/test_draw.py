"""Batches that chance chooses: the law they come by is the one they record."""

from functools import cache
from itertools import permutations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.errors import InvalidInput
from labelwise.estimands.named import MeanSquaredError
from labelwise.policies import draw as drawing
from labelwise.policies.baselines import Random, Uncertainty
from labelwise.policies.constraints import Candidates, Spending
from labelwise.policies.draw import Draw
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.sampling import draw_batch
from labelwise.types import EXCLUDED, Pool
from tests.conformance.cases import BELIEFS, numbers, rows
from tests.lookahead.problems import Gains

LEFT = [0, 1, 3, 4]  # four rows that may be drawn
SCORES = np.array([2.0, 0.5, 100.0, 1.0, 0.0])  # the highest is of a row that is gone
DRAWS = 6000
GREEDY = Lookahead(effort="greedy")


@cache
def problem():
    belief = BELIEFS["gp-rbf"].condition(rows(0, 6), numbers(1, 6))
    return belief, MeanSquaredError(rows(3, 5))


@cache
def pool():
    return Pool(rows(7, 5), np.arange(5) != 2)


def law(rows, weights, floor):
    """Chance of each row given those before: by weight, a share of `floor` uniformly."""
    left, found = list(LEFT), []
    for row in rows:
        share = weights[row] / weights[left].sum()
        found.append((1.0 - floor) * share + floor / len(left))
        left.remove(row)
    return np.array(found)


@cache
def gains():
    """What the policy scores rows by: the variance that the label of each alone takes."""
    return Gains.of(*problem(), pool().x)(np.arange(5)[:, None])


WEIGHTS = {
    "scores": lambda: SCORES,
    "policy": lambda: gains(),
    "balance": lambda: np.sqrt(SCORES * gains()),
}


def propose(key=0, draw=None, policy=GREEDY, among=None, k=2, spending=None):
    among = pool() if among is None else among
    return policy.propose(jax.random.key(key), *problem(), among, k, spending, draw)


@eqx.filter_jit
def many(key, how, own, among):
    """Batches of two, for each of many keys."""
    draw = lambda key: drawing.draw(key, how, own, among, 2, Spending())
    return jax.vmap(draw)(jax.random.split(key, DRAWS))


@pytest.mark.parametrize("by", WEIGHTS)
@pytest.mark.parametrize("floor", [0.0, 0.3, 1.0])
def test_batches_come_by_the_law_they_record(by, floor, getkey):
    """All twelve orders of two of four rows, by chi-square against the law by hand."""
    how = Draw(SCORES, floor, by)
    own = propose()
    batches = many(getkey(), how, own, pool())
    found, chances = np.asarray(batches.indices), np.asarray(batches.probabilities)
    assert np.asarray(batches.drawn).all()
    expected, counts = [], []
    for order in permutations(LEFT, 2):
        here = (found == order).all(axis=1)
        by_hand = law(order, WEIGHTS[by](), floor)
        if here.any():
            assert_allclose(chances[here], np.tile(by_hand, (here.sum(), 1)), rtol=1e-8)
        expected.append(DRAWS * by_hand.prod())
        counts.append(here.sum())
    expected, counts = np.array(expected), np.array(counts)
    assert counts.sum() == DRAWS
    assert_allclose(expected.sum(), DRAWS, rtol=1e-10)
    possible = expected > 0.0
    assert (counts[~possible] == 0).all()
    surprise = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    cells = possible.sum() - 1
    assert surprise < cells + 4 * np.sqrt(2 * cells)  # a mean and a standard deviation


@pytest.mark.parametrize("by", WEIGHTS)
def test_what_is_proposed_is_what_is_drawn(by):
    how = Draw(SCORES, 0.25, by)
    batch = propose(draw=how, k=3)
    order = np.asarray(batch.indices).tolist()
    assert_allclose(batch.probabilities, law(order, WEIGHTS[by](), 0.25), rtol=1e-8)
    assert np.asarray(batch.drawn).all()
    assert (np.asarray(batch.probabilities) >= 0.25 / np.array([4, 3, 2])).all()
    assert np.asarray(batch.logits)[2] == EXCLUDED
    scores = SCORES if by == "scores" else propose().scores
    assert_allclose(batch.scores, scores)


def test_the_policy_is_drawn_by_unless_scores_are_given():
    assert Draw().by == "policy"
    assert Draw(SCORES).by == "scores"


@pytest.mark.parametrize("scores", [np.zeros(5), [0.0, 0.0, 7.0, 0.0, 0.0]])
def test_scores_that_are_all_zero_are_drawn_uniformly(scores):
    """The score of a row that is gone does not count."""
    batch = propose(draw=Draw(scores, 0.0), k=3)
    assert_allclose(batch.probabilities, 1.0 / np.array([4, 3, 2]), rtol=1e-12)


def test_neither_scale_matters_to_a_balance():
    first = propose(draw=Draw(SCORES, 0.1, "balance"))
    again = propose(draw=Draw(1e9 * SCORES, 0.1, "balance"))
    assert np.array_equal(first.indices, again.indices)
    assert_allclose(first.probabilities, again.probabilities, rtol=1e-9)


def test_the_same_key_gives_the_same_batch_and_others_do_not():
    how = Draw(np.ones(5), 0.3)
    batches = [propose(seed, how) for seed in (0, 0, 1, 2, 3, 4)]
    found = [tuple(np.asarray(batch.indices).tolist()) for batch in batches]
    assert found[0] == found[1]
    assert len(set(found)) > 1


@eqx.filter_jit
def first_rows(policy, keys, belief, estimand, among, how):
    """The first row that is proposed with each key, and the first drawn beside it."""
    own = lambda key: policy.propose(key, belief, estimand, among, 2)
    drawn = lambda key: drawing.draw(key, how, None, among, 2, Spending())
    first = lambda rows: jax.vmap(lambda key: rows(key).indices[0])(keys)
    return first(own), first(drawn)


def test_a_draw_is_not_tied_to_the_policy_of_the_same_key():
    """Else the rows of a random policy would tell which are drawn beside them."""
    keys = jax.random.split(jax.random.key(0), 100)
    how = Draw(np.ones(5), 0.0)
    own, drawn = map(np.asarray, first_rows(Random(), keys, *problem(), pool(), how))
    assert abs(np.mean(own == drawn) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 100)


@pytest.mark.parametrize("policy", [GREEDY, Uncertainty()])
def test_what_a_policy_chooses_is_not_drawn(policy):
    batch = propose(policy=policy)
    assert not np.asarray(batch.drawn).any()
    assert (np.asarray(batch.probabilities) == 1.0).all()


def test_what_is_random_is_drawn():
    batch = propose(policy=Random(), k=4)
    assert np.asarray(batch.drawn).all()
    assert_allclose(batch.probabilities, 1.0 / np.array([4, 3, 2, 1]), rtol=1e-12)


# Money.

COST = np.array([1.0, 1.0, 1.0, 1.0, 5.0])


def priced():
    return Pool(rows(7, 5), cost=COST)


def test_money_that_reaches_all_rows_keeps_none_from_being_drawn():
    batch = propose(draw=Draw(np.ones(5)), among=priced(), k=3, spending=Spending(limit=9.0))
    assert np.asarray(batch.drawn).all()


def test_once_money_keeps_a_row_out_those_that_follow_are_not_drawn():
    """The limit pays for any row first, and after it not for the dear one, or for no other."""
    for seed in range(8):
        batch = propose(seed, Draw(np.ones(5)), Random(), priced(), 3, Spending(limit=5.5))
        rows_drawn = np.asarray(batch.indices).tolist()
        assert np.asarray(batch.drawn).tolist() == [True] + [False] * (len(rows_drawn) - 1)
        assert COST[rows_drawn].sum() <= 5.5
        # Chances are over the rows that could be paid for.
        if rows_drawn[0] != 4:
            assert_allclose(batch.probabilities, [1 / 5, 1 / 3, 1 / 2], rtol=1e-12)


def test_a_row_out_of_reach_from_the_start_leaves_nothing_drawn():
    batch = propose(draw=Draw(np.ones(5)), among=priced(), k=2, spending=Spending(limit=4.0))
    assert not np.asarray(batch.drawn).any()


def test_drawn_does_not_come_back_when_the_dear_row_leaves_with_its_unit():
    """The dear row shares its unit with row 3: once that is drawn nothing is out of reach."""
    unit = jnp.array([0, 1, 2, 3, 3])
    everyone = jnp.asarray(np.ones(5, bool))
    candidates = Candidates(everyone, unit, jnp.asarray(COST), Spending(limit=5.5))
    logits = jnp.array([40.0, 0.0, 0.0, 20.0, -40.0])  # rows 0 and 3 come first
    batch = draw_batch(jax.random.key(0), logits, 3, candidates)
    assert np.asarray(batch.indices)[:2].tolist() == [0, 3]
    assert np.asarray(batch.drawn).tolist() == [True, False, False]


# What is refused.


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Draw(floor=-0.1), r"floor must be at least 0; it is -0\.1"),
        (lambda: Draw(floor=1.5), r"floor must be a share from 0 to 1; it is 1\.5"),
        (lambda: Draw(floor=np.nan), "floor is NaN or infinite"),
        (lambda: Draw(by="scores"), "Drawing by scores needs scores; give one a pool row"),
        (lambda: Draw(by="balance"), "Drawing by balance needs scores; give one a pool row"),
        (lambda: Draw(SCORES, by="luck"), "by must be scores, policy or balance; it is 'luck'"),  # pyright: ignore
        (lambda: Draw("high"), "draw scores must hold numbers only"),
        (lambda: Draw([[1.0]]), "draw scores must have one axis"),
        (lambda: Draw(np.full(5, np.nan)), "draw scores is NaN or infinite in rows 0, 1, 2"),
        (
            lambda: propose(draw=Draw(np.ones(4))),
            "draw scores has 4 values but pool x has 5 rows",
        ),
        (lambda: propose(draw=Draw(-SCORES)), "draw scores must not be negative; some are"),
    ],
)
def test_bad_draws_are_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
