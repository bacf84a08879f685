"""Labels that cost money: limits that hold, prices that rows must be worth, by enumeration."""

from functools import cache
from itertools import combinations

import jax
import numpy as np
import pytest

from labelwise.errors import InvalidInput
from labelwise.policies.baselines import Random, Uncertainty
from labelwise.policies.constraints import Spending
from labelwise.policies.lookahead import Lookahead
from labelwise.types import Pool
from tests.conformance.cases import ONE_OF_EACH
from tests.lookahead.problems import Gains, random_problem
from tests.marks import but_slow

SIZE, K = 6, 3
COST = np.array([1.0, 3.0, 0.5, 2.0, 0.7, 1.2])
SEEDS = (0, 6, 12, 18)  # of problems that differ in their numbers only: they compile once


@cache
def problem(seed=0):
    return random_problem(seed, pool=SIZE)


def pool_of(seed=0, **columns):
    return Pool(problem(seed)[2], **({"cost": COST} | columns))


@cache
def gains(seed=0):
    """By hand: what the variance is expected to lose."""
    return Gains.of(*problem(seed))


def batches(limit=np.inf):
    """All batches of up to K rows that the limit pays for."""
    every = [list(rows) for k in range(1, K + 1) for rows in combinations(range(SIZE), k)]
    return [rows for rows in every if COST[rows].sum() <= limit]


def choose(spending, policy=None, pool=None, seed=0, k=K):
    policy = Lookahead() if policy is None else policy
    pool = pool_of(seed) if pool is None else pool
    batch = policy.propose(jax.random.key(0), *problem(seed)[:2], pool, k, spending)
    return np.asarray(batch.indices).tolist()


@pytest.mark.parametrize(
    "policy", but_slow(ONE_OF_EACH, ONE_OF_EACH.keys() - {"lookahead-greedy", "random"})
)
def test_no_policy_spends_more_than_the_limit(policy):
    """Limits differ in their number only, so that all of them are compiled once."""
    for limit in (0.6, 1.8, 3.1, 5.5, 100.0):
        rows = choose(Spending(limit=limit), ONE_OF_EACH[policy])
        assert COST[rows].sum() <= limit
        assert 1 <= len(rows) <= K
        assert len(set(rows)) == len(rows)
        # It is not left unspent: no row that is left would still be paid for.
        left = np.delete(COST, rows)
        assert len(rows) == K or (COST[rows].sum() + left > limit).all()


def test_within_a_limit_lookahead_finds_nearly_the_best_batch():
    shares = []
    for seed in SEEDS:
        gain = gains(seed)
        for limit in (1.8, 3.1):
            mine = gain(choose(Spending(limit=limit), seed=seed))
            best = max(gain(rows) for rows in batches(limit))
            shares.append(mine / best)
    print("shares of the best gain within a limit:", np.round(shares, 3))
    assert min(shares) >= 0.9
    assert np.mean(shares) >= 0.97


def test_at_a_price_every_row_is_worth_it_and_the_batch_nearly_the_best():
    shares = []
    # In the last problem, the first row taken is not worth its price once others are.
    for seed in (*SEEDS[:3], 588):
        gain = gains(seed)
        net = lambda rows, price, gain=gain: gain(rows) - price * COST[rows].sum()
        alone = gain(np.arange(SIZE)[:, None]) / COST
        for price in np.quantile(alone, [0.4, 0.8]):
            rows = choose(Spending(price=price), seed=seed)
            for row in rows:
                others = [other for other in rows if other != row]
                worth = gain(rows) - gain(others)
                assert worth >= price * COST[row] * (1 - 1e-9)
            best = max(net(some, price) for some in batches())
            shares.append(net(rows, price) / best)
    print("shares of the best gain less its price:", np.round(shares, 3))
    assert min(shares) >= 0.9
    assert np.mean(shares) >= 0.97


def test_a_price_that_no_row_is_worth_is_said_so():
    price = 1.01 * (gains()(np.arange(SIZE)[:, None]) / COST).max()
    with pytest.raises(InvalidInput, match="No row is worth its price; lower the price"):
        choose(Spending(price=price))


@pytest.mark.parametrize("cost", [0.1, 1.0])
def test_equal_costs_are_a_limit_on_the_number_of_rows(cost):
    """Three rows at 0.1 cost 0.3, whatever the rounding of the sum."""
    pool = pool_of(cost=np.full(SIZE, cost))
    bound = choose(Spending(limit=3 * cost), pool=pool, k=5, policy=Lookahead(effort="swaps"))
    free = choose(None, pool=pool_of(cost=None), k=3, policy=Lookahead(effort="swaps"))
    assert sorted(bound) == sorted(free)


@pytest.mark.slow
def test_costs_alone_change_nothing():
    swaps = Lookahead(effort="swaps")
    assert choose(None, policy=swaps) == choose(None, pool=pool_of(cost=None), policy=swaps)


def test_of_a_unit_only_one_row_is_bought():
    unit = np.array(["a", "b", "a", "c", "b", "c"])
    rows = choose(Spending(limit=100.0), pool=pool_of(unit=unit))
    assert sorted(unit[rows]) == ["a", "b", "c"]
    lawful = [some for some in batches() if len(set(unit[some])) == len(some) == K]
    assert gains()(rows) >= 0.95 * gains()(lawful).max()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spending(limit=0.0), "limit must be greater than 0; it is 0"),
        (lambda: Spending(price=-1.0), "price must be at least 0; it is -1"),
        (lambda: pool_of(cost=COST - 0.5), "pool cost must be positive; see row 2"),
        (lambda: pool_of(cost=COST[:2]), "pool cost has 2 values but pool x has 6 rows"),
        (
            lambda: choose(Spending(limit=1.0), Random(), pool_of(cost=None)),
            "Spending needs the cost of each row; give the pool's cost",
        ),
        (
            lambda: choose(Spending(limit=0.4), Random()),
            "A limit of 0.4 pays for no row: the cheapest costs 0.5; raise the limit",
        ),
        (
            lambda: choose(Spending(limit=0.6), Uncertainty(), pool_of().without([2])),
            "A limit of 0.6 pays for no row: the cheapest costs 0.7",
        ),
        (
            lambda: choose(Spending(limit=9.0), Random(), pool_of(available=[False] * 6)),
            "the pool is used up",
        ),
    ],
)
def test_bad_spending_is_refused_in_one_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
