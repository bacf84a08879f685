"""One answer of two: against sampling, and in its limits."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from labelwise.evaluation.answer import COMBINED, DESIGN, GRID, Answer
from labelwise.evaluation.combined import (
    BIAS_OF_CLASSES,
    BIAS_OF_NUMBERS,
    BROKEN,
    LEAST,
    TAILS,
    _belief_at_every_look,
)
from labelwise.evaluation.combined import combine as combine_of

FREE = (None, None)
BIAS = {False: BIAS_OF_CLASSES, True: BIAS_OF_NUMBERS}


def combine(belief, drawn, bounds, numbers=False, more=2.0):
    return combine_of(belief, drawn, bounds, numbers=numbers, more=more)


def of_belief(value, std):
    return Answer(value, std, tuple(scipy.stats.norm(value, std).ppf(GRID)))


def of_draws(value, std, draws=40, wide=3.0):
    quantiles = tuple(scipy.stats.norm(value, std).ppf(GRID))
    reach = wide * std
    always = {"0.9": [value - reach, value + reach]}
    return Answer(
        value, std, quantiles, DESIGN, tuple(always["0.9"]), always, draws, waiting=2, skipped=1
    )


def by_sampling(belief, drawn, numbers, draws=400_000):
    """Bias and error from their laws, weighed by how well they explain the distance."""
    rng = np.random.default_rng(0)
    single = drawn.std * math.sqrt(drawn.draws)
    own, lasting = BIAS[numbers]
    scale = math.sqrt((own * belief.std) ** 2 + (lasting * single) ** 2)
    usual = scale * rng.standard_t(TAILS, draws)
    wide = single * rng.normal(size=draws)
    bias = np.where(rng.uniform(size=draws) < BROKEN, wide, usual)
    noise = math.sqrt(max(drawn.std**2 - belief.std**2, LEAST * drawn.std**2))
    apart = drawn.value - belief.value
    weight = scipy.stats.t.pdf((apart - bias) / noise, drawn.draws - 1)
    truth = belief.value + bias + belief.std * rng.normal(size=draws)
    order = np.argsort(truth)
    steps = np.cumsum(weight[order]) / weight.sum()
    effective = weight.sum() ** 2 / np.sum(weight**2)
    return truth[order], steps, effective


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("apart", [0.0, 0.15, 0.6])
def test_the_quantiles_are_those_of_bias_and_error_given_the_distance(apart, numbers):
    belief, drawn = of_belief(1.0, 0.1), of_draws(1.0 + apart, 0.16)
    found = combine(belief, drawn, FREE, numbers)
    truth, steps, effective = by_sampling(belief, drawn, numbers)
    for chance in (0.05, 0.25, 0.5, 0.75, 0.95):
        value = np.interp(chance, GRID, found.quantiles)
        share = np.interp(value, truth, steps)
        # Five standard errors of the sampled share, and half a step of the quantiles' grid.
        off = 5.0 * math.sqrt(chance * (1 - chance) / effective) + 0.005
        assert abs(share - chance) < off


def test_where_both_agree_the_answer_is_nearly_the_beliefs():
    belief = of_belief(1.0, 0.1)
    found = combine(belief, of_draws(1.0, 0.2), FREE)
    assert found.value == pytest.approx(1.0, abs=1e-3)
    # No narrower than the belief's own, and at most as wide as with a bias of its prior law.
    assert (
        0.1 * (1 - 1e-3)
        < found.std
        < math.hypot(0.1, BIAS[False].at(0.1, 0.2 * math.sqrt(40)) * math.sqrt(3.0)) * 1.05
    )


def test_as_draws_grow_the_answer_is_theirs_whatever_the_belief():
    """A belief that is sure of the wrong number is left for the drawn rows'."""
    belief = of_belief(1.0, 0.02)
    for draws in (100, 10_000):
        std = 2.0 / math.sqrt(draws)
        found = combine(belief, of_draws(2.0, std, draws), FREE)
        near = abs(found.value - 2.0)
        assert near < 2.5 * std
    assert near < 0.05
    assert found.std < 1.3 * math.hypot(std, 0.02)


@pytest.mark.parametrize("numbers", [False, True])
def test_a_bias_that_labels_do_not_mend_is_found_before_it_deceives(numbers):
    """A belief off by a small part of a label's spread, and ever surer of it."""
    rng, off, held = np.random.default_rng(2), 0.02, {}
    for draws in (100, 1000, 10_000):
        own, std = 0.4 / math.sqrt(draws), 1.0 / math.sqrt(draws)
        noise, kept = math.sqrt(std**2 - own**2), []
        for _ in range(200):
            apart, error = off + noise * rng.normal(), own * rng.normal()
            found = combine(of_belief(0.0, own), of_draws(apart, std, draws), FREE, numbers)
            low, high = found.interval()
            kept.append(low <= off + error <= high)
        held[draws] = np.mean(kept)
    # Three standard errors below 85 %: with no lasting part of the scale, a belief that is off
    # by more than its spread holds in half of the campaigns with 1,000 draws.
    assert min(held.values()) > 0.85 - 3 * math.sqrt(0.85 * 0.15 / 200)


def test_few_draws_hardly_move_it():
    belief = of_belief(1.0, 0.1)
    found = combine(belief, of_draws(3.0, 2.0, draws=2), FREE)
    assert abs(found.value - 1.0) < 0.1


def test_all_labels_known_it_is_a_point():
    point = Answer(0.7, 0.0, (0.7,) * len(GRID))
    drawn = Answer(0.7, 0.0, (0.7,) * len(GRID), DESIGN, draws=9)
    found = combine(point, drawn, FREE)
    assert found.interval() == (0.7, 0.7)
    assert (found.value, found.std) == (0.7, 0.0)


def test_it_keeps_what_is_known_of_the_draws_and_stays_in_range():
    found = combine(of_belief(0.97, 0.03), of_draws(0.99, 0.05), (0.0, 1.0))
    assert found.rests_on == COMBINED
    assert (found.draws, found.waiting, found.skipped) == (40, 2, 1)
    assert max(found.quantiles) <= 1.0
    assert list(found.quantiles) == sorted(found.quantiles)


def test_a_range_that_cuts_the_draws_makes_them_no_surer():
    """Draws that say 1.04 ± 0.05 of a share are shown as 1, and weigh as what they say."""
    belief, free = of_belief(0.9, 0.03), of_draws(1.04, 0.05)
    cut = replace(free, value=1.0, beyond=0.04, quantiles=tuple(np.clip(free.quantiles, 0, 1)))
    found, wanted = combine(belief, cut, (0.0, 1.0)), combine(belief, free, FREE)
    assert_allclose(found.quantiles, np.clip(wanted.quantiles, 0.0, 1.0), rtol=1e-12)
    assert (found.std, found.beyond) == (pytest.approx(wanted.std), 0.0)


def test_an_end_that_the_range_cuts_does_not_narrow_the_interval_for_every_look():
    belief, free = of_belief(0.9, 0.03), of_draws(0.97, 0.05)
    cut = replace(free, anytime_at={"0.9": [free.anytime_at["0.9"][0], 1.0]})
    low, high = combine(belief, cut, (0.0, 1.0)).anytime
    assert_allclose((low, high), np.clip(combine(belief, free, FREE).anytime, 0.0, 1.0))


def test_the_interval_for_every_look_is_no_narrower():
    belief, drawn = of_belief(1.0, 0.1), of_draws(1.3, 0.16)
    found = combine(belief, drawn, FREE)
    assert found.anytime is not None
    low, high = found.interval()
    assert found.anytime[1] - found.anytime[0] >= (high - low) * (1 - 1e-9)
    assert found.anytime_at["0.9"] == list(found.anytime)


@pytest.mark.parametrize(("first", "looks"), [(60, 50), (60, 600), (10, 300), (1, 100)])
def test_a_belief_that_is_right_is_seldom_missed_at_any_look(first, looks):
    """Of a mean with a conjugate prior worth some labels, looked at after every label."""
    rng, times = np.random.default_rng(3), 4000
    truth = rng.normal(size=times) / math.sqrt(first)
    labels = truth[:, None] + rng.normal(size=(times, looks))
    count = first + np.arange(1, looks + 1)
    far = np.abs(np.cumsum(labels, axis=1) / count - truth[:, None]) * np.sqrt(count)
    edge = lambda more: _belief_at_every_look(of_belief(0.0, 1.0), 0.9, more).interval()[1]
    ever = (far > np.array([edge(each / first) for each in count])).any(axis=1)
    # With the term that is taken for its mean, Ville's inequality has 10 %.
    assert ever.mean() < 0.1 + 3.0 * math.sqrt(0.09 / times)
    # Intervals for one look are missed at some far more often.
    assert (far > of_belief(0.0, 1.0).interval()[1]).any(axis=1).mean() > 0.2


def test_the_interval_for_every_look_has_the_belief_wider_the_more_it_has_learnt():
    """Draws that say next to nothing leave the belief's own part."""
    belief, drawn = of_belief(1.0, 0.1), of_draws(1.0, 50.0, wide=100.0)
    halves = [
        np.diff(combine(belief, drawn, FREE, more=more).anytime)[0] / 2.0 for more in (1.0, 9.0)
    ]
    expected = [0.1 * math.sqrt(2.0 * math.log(10.0) + math.log(more) + 1.0) for more in (1, 9)]
    assert halves[0] < halves[1]
    # A bias may come on top: of the law's scale, 0.15 of the belief's and a part of a draw's.
    assert all(half > least for half, least in zip(halves, expected, strict=True))


def test_a_skewed_belief_stays_skewed():
    law = scipy.stats.gamma(2.0, scale=0.1)
    belief = Answer(law.median(), law.std(), tuple(law.ppf(GRID)))
    found = combine(belief, of_draws(law.median(), 1.0), FREE)
    low, high = found.interval()
    assert high - found.value > 1.3 * (found.value - low)


def test_if_the_belief_is_right_nine_in_ten_hold():
    """Truths and answers drawn by the model itself, without bias: cautious, not careless."""
    rng = np.random.default_rng(1)
    held = []
    for _ in range(400):
        error, noise = 0.1 * rng.normal(), math.sqrt(0.16**2 - 0.1**2) * rng.normal()
        found = combine(of_belief(1.0, 0.1), of_draws(1.0 + noise, 0.16), FREE)
        low, high = found.interval()
        held.append(low <= 1.0 + error <= high)
    # Four standard errors below 90 %; above it by what the possible bias adds.
    assert 0.9 - 4 * math.sqrt(0.09 / 400) < np.mean(held) < 0.97


def test_quantiles_of_a_sum_do_not_depend_on_units():
    one = combine(of_belief(1.0, 0.1), of_draws(1.2, 0.16), FREE)
    other = combine(of_belief(1000.0, 100.0), of_draws(1200.0, 160.0), FREE)
    assert_allclose(np.array(other.quantiles) / 1000.0, one.quantiles, rtol=1e-9)
