"""Log-losses of bundles, held to enumeration, closed forms and other ways to a number."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from labelwise.diagnostics import (
    LogLoss,
    draw_distinct,
    draw_dyads,
    draw_uniform,
    dyad_losses,
    expected_dyad_losses,
    fresh_labels,
    log_mean_exp,
    one_by_one,
    sampled_losses,
)

RNG = np.random.default_rng(5)
TABLE = np.log(RNG.uniform(0.05, 0.95, size=(40, 12)))  # 40 functions, 12 test rows
BUNDLES = draw_dyads(np.random.default_rng(1), 12, 300)


def explicit(table, bundles):
    """-log of the mean over functions of a product, as it is written down."""
    return np.array([-np.log(np.exp(table)[:, rows].prod(axis=1).mean()) for rows in bundles])


def test_losses_are_what_the_definition_says():
    losses, _ = sampled_losses(TABLE, BUNDLES)
    assert_allclose(losses, explicit(TABLE, BUNDLES), rtol=1e-12)


def test_bundles_in_chunks_are_the_same(monkeypatch):
    whole = sampled_losses(TABLE, BUNDLES)
    monkeypatch.setattr("labelwise.diagnostics.log_loss.CHUNK", 900)
    assert_allclose(sampled_losses(TABLE, BUNDLES), whole, rtol=1e-13)


def test_of_one_function_the_joint_loss_is_the_sum_of_marginal_ones():
    joint, bias = sampled_losses(TABLE[:1], BUNDLES)
    marginal, _ = sampled_losses(TABLE[:1], one_by_one(12))
    assert_allclose(joint, marginal[BUNDLES].sum(axis=1), rtol=1e-12)
    assert_allclose(bias, 0.0, atol=1e-15)


def test_functions_independent_across_rows_make_the_joint_loss_a_sum():
    count = 400_000
    chances = np.random.default_rng(2).uniform(0.2, 0.8, size=(count, 3))
    joint, _ = sampled_losses(np.log(chances), np.array([[0, 1, 2]]))
    # The likelihood has a relative spread of 0.6 over functions.
    assert joint[0] == pytest.approx(3 * np.log(2.0), abs=4 * 0.65 / np.sqrt(count))


def test_a_coin_that_falls_alike_ten_times_costs_one_bit_if_its_side_is_what_is_unknown():
    with np.errstate(divide="ignore"):
        certain = np.log(np.array([[0.0], [1.0]]))  # f is 0 or 1, and is what is unknown
    same = np.zeros((1, 10), int)
    assert sampled_losses(certain, same)[0] == pytest.approx(np.log(2.0))
    fair = np.log(np.full((2, 1), 0.5))  # chance is in the labels, whatever f is
    assert sampled_losses(fair, same)[0] == pytest.approx(10 * np.log(2.0))


def test_means_of_logarithms_are_stable():
    assert log_mean_exp(np.full(7, -1000.0)) == pytest.approx(-1000.0)
    assert log_mean_exp(np.full(7, 1000.0)) == pytest.approx(1000.0)
    assert log_mean_exp(np.full(3, -np.inf)) == -np.inf
    values = RNG.normal(size=9)
    assert log_mean_exp(np.tile(values, 4)) == pytest.approx(float(log_mean_exp(values)))


def test_an_impossible_label_costs_infinitely_much_and_no_more():
    table = np.array([[0.0, -np.inf], [0.0, -np.inf]])
    losses, bias = sampled_losses(table, np.array([[0, 1], [0, 0]]))
    assert losses[0] == np.inf
    assert losses[1] == pytest.approx(0.0)
    assert np.isfinite(bias).all()


def test_functions_given_twice_change_no_loss():
    once, _ = sampled_losses(TABLE, BUNDLES)
    assert_allclose(sampled_losses(np.tile(TABLE, (3, 1)), BUNDLES)[0], once, rtol=1e-12)


def test_dyads_by_counts_are_the_bundles_written_out():
    anchors = np.array([[0, 5], [3, 3], [7, 2]])
    counts = np.array([[10, 0], [4, 6], [3, 7]])
    rows = np.stack(
        [np.repeat(pair, count) for pair, count in zip(anchors, counts, strict=True)]
    )
    assert_allclose(dyad_losses(TABLE, anchors, counts), sampled_losses(TABLE, rows)[0])


def test_expected_dyads_are_the_mean_over_all_patterns():
    anchors, size = np.array([[1, 4], [6, 6]]), 5
    patterns = np.array(
        [[number >> place & 1 for place in range(size)] for number in range(32)]
    )
    written = [explicit(TABLE, pair[patterns]).mean() for pair in anchors]
    assert_allclose(expected_dyad_losses(TABLE, anchors, size)[0], written, rtol=1e-12)


def test_an_anchor_that_no_draw_repeats_may_be_impossible():
    table = np.array([[-0.5, -np.inf]])
    losses = dyad_losses(table, np.array([[0, 1]]), np.array([[4, 0]]))
    assert losses[0] == pytest.approx(2.0)


def test_bundles_of_one_are_marginal_however_they_are_drawn():
    marginal, _ = sampled_losses(TABLE, one_by_one(12))
    draws = 4000
    for draw in (draw_dyads, draw_uniform):
        losses, _ = sampled_losses(TABLE, draw(np.random.default_rng(3), 12, draws, 1))
        error = marginal.std() / np.sqrt(draws)
        assert abs(losses.mean() - marginal.mean()) < 4 * error


def test_dyads_have_two_anchors_and_uniform_bundles_more():
    dyads = draw_dyads(np.random.default_rng(0), 50, 400)
    distinct = np.array([len(set(rows)) for rows in dyads])
    assert distinct.max() == 2
    # Anchors coincide in one of 50, and one of two anchors is never repeated in 2 of 1024.
    share = 1 / 50 + 2 / 1024
    assert abs(np.mean(distinct == 1) - share) < 4 * np.sqrt(share / 400)
    uniform = draw_uniform(np.random.default_rng(0), 50, 400)
    assert np.mean([len(set(rows)) for rows in uniform]) > 8


def test_distinct_bundles_hold_no_row_twice_and_every_row_as_often():
    rows = draw_distinct(np.random.default_rng(0), 12, 3000, 5)
    assert all(len(set(one)) == 5 for one in rows)
    share = np.bincount(rows.ravel(), minlength=12) / 3000
    assert (np.abs(share - 5 / 12) < 4 * np.sqrt(5 / 12 * 7 / 12 / 3000)).all()
    assert draw_distinct(np.random.default_rng(0), 4, 7).shape == (7, 4)


def test_repeated_labels_reward_a_belief_that_takes_noise_for_the_function():
    """Labels N(0, 1) around a function that is 0: the belief that knows it should win."""
    y = np.random.default_rng(8).normal(size=400)
    wide = np.random.default_rng(9).normal(size=(1, 3000, 1))  # f ~ N(0, 1) at every row
    right = norm.logpdf(y)
    wrong = lambda times: (
        -np.log(
            np.exp(times * norm.logpdf(y[None, :, None], wide.swapaxes(1, 2), 1.0)).mean(axis=2)
        )
    )
    assert -right.mean() < wrong(1).mean()  # seen once, it does
    assert -10 * right.mean() > wrong(10).mean()  # repeated ten times, it does not


def test_fresh_labels_differ_where_a_row_is_repeated():
    rows = np.array([[2, 2, 2], [0, 1, 0]])
    law = lambda rng, places: 10.0 * places + rng.normal(size=len(places))
    labels = fresh_labels(np.random.default_rng(0), rows, law)
    assert len(set(labels[0])) == 3
    assert_allclose(labels, 10.0 * rows, atol=5.0)


def test_the_loss_from_few_draws_is_too_large_by_about_what_is_reported():
    """Exact: f ~ N(0, 1), ten equal labels 0 with noise 1, so N(0; 0, I + 11ᵀ)."""
    exact = 0.5 * 10 * np.log(2 * np.pi) + 0.5 * np.log(11.0)
    rows, found = np.zeros((1, 10), int), {}
    for draws in (20, 100, 500):
        rng, again = np.random.default_rng(7), 3000
        pairs = [
            sampled_losses(norm.logpdf(0.0, rng.normal(size=(draws, 1))), rows)
            for _ in range(again)
        ]
        losses, bias = np.array(pairs)[:, :, 0].T
        off, error = losses.mean() - exact, losses.std() / np.sqrt(again)
        assert off > -4 * error
        found[draws] = off
        if draws == 500:
            assert off == pytest.approx(bias.mean(), abs=4 * error + 0.1 * bias.mean())
    assert found[20] > found[100] > found[500]


def test_a_mean_loss_has_the_standard_error_of_its_bundles():
    loss = LogLoss.of(np.array([1.0, 2.0, 3.0, 6.0]), np.array([0.1, 0.1, 0.2, 0.2]))
    assert loss.mean == pytest.approx(3.0)
    assert loss.standard_error == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)
    assert loss.bias == pytest.approx(0.15)
    assert loss.to_dict()["bundles"] == 4


def test_bundles_of_rows_that_there_are_not_are_refused(refused):
    with refused(where="bundles"):
        sampled_losses(TABLE, np.array([[12]]))


def test_functions_that_are_no_table_are_refused(refused):
    with refused(where="log_probs"):
        sampled_losses(TABLE[0], BUNDLES)


def test_bundles_of_nothing_are_refused(refused):
    with refused(where="rows"):
        draw_dyads(RNG, 0)
