"""Candidates foretell what they have not seen: the right one wins, and what is wrong shows."""

import json
from dataclasses import replace
from functools import cache

import equinox as eqx
import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF, Linear
from labelwise.diagnostics import (
    Contest,
    Labelling,
    Standing,
    draw_distinct,
    hold_contest,
    score,
)
from labelwise.diagnostics.contest import FEWEST, hold_out_clusters
from labelwise.inputs import as_jax

ROWS = 48


@eqx.filter_jit
def condition(prior, x, y, weight):
    return prior.condition(x, y, weight)


def process(kernel, noise=0.05):
    """Rows that are absent fill the table up: one program serves all folds."""
    prior = GaussianProcess(kernel, noise)

    def learn(x, y):
        weight = np.arange(ROWS) < len(y)
        rows = np.pad(x, ((0, ROWS - len(y)), (0, 0)))
        labels = np.pad(y, (0, ROWS - len(y)))
        return condition(prior, *map(as_jax, (rows, labels, weight.astype(float))))

    return learn


CANDIDATES = {
    "smooth": process(RBF(1.0, 1.0)),
    "straight": process(Linear(1.0)),
    "sure": process(RBF(30.0, 1e-4), 0.01),  # of nearly everything, wrongly
}


@cache
def labels(kind, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, 2))
    function = x @ rng.normal(size=2)
    if kind == "smooth":
        squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)
        values, vectors = np.linalg.eigh(np.exp(-0.5 * squared))
        function = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=ROWS))
    return Labelling(x, function + np.sqrt(0.05) * rng.normal(size=ROWS))


@pytest.mark.parametrize("kind", ["smooth", "straight"])
def test_the_belief_that_labels_come_from_is_chosen(kind):
    contests = [hold_contest(CANDIDATES, labels(kind, seed)) for seed in range(10)]
    assert sum(contest.best.name == kind for contest in contests) >= 9
    assert all(contest.standings[-1].name != kind for contest in contests)


def test_a_belief_that_is_sure_and_wrong_is_not_calibrated():
    contest = hold_contest({"sure": CANDIDATES["sure"]}, labels("smooth", 0))
    assert not contest.calibrated
    assert contest.margin is None
    assert contest.standard_error is None


def test_right_beliefs_are_called_calibrated():
    contests = [hold_contest(CANDIDATES, labels("smooth", seed)) for seed in range(10)]
    right = [one for contest in contests for one in contest.standings if one.name == "smooth"]
    assert sum(one.calibrated for one in right) >= 9


def test_batches_are_foretold_from_the_labels_before_them():
    known = labels("straight", 1)
    seen = []

    def learn(x, y):
        seen.append(len(y))
        return CANDIDATES["straight"](x, y)

    batches = [np.arange(30, 36), np.arange(36, 48)]
    contest = hold_contest({"straight": learn}, known, batches)
    assert seen[-2:] == [30, 36]
    assert len(contest.best.batches) == 2
    assert len(contest.best.clusters) + 2 == len(seen)


def test_a_batch_is_scaled_to_ten_labels():
    known = labels("straight", 1)
    batch = np.arange(43, 48)
    contest = hold_contest({"straight": CANDIDATES["straight"]}, known, [batch])
    before, after = (
        CANDIDATES["straight"](known.x[:rows], known.y[:rows]).log_evidence for rows in (43, 48)
    )
    assert contest.best.batches[0] == pytest.approx(-2.0 * float(after - before), rel=1e-6)


def test_every_row_is_held_out_once_and_never_learnt_from_then():
    folds = hold_out_clusters(labels("smooth", 0).x, 0)
    for fold in folds:
        assert not set(fold.test) & set(fold.seen)
        assert len(fold.test) + len(fold.seen) == ROWS
    tested = np.concatenate([fold.test for fold in folds])
    assert len(np.unique(tested)) == len(tested) > 0.9 * ROWS


def rows_of(kind):
    rng = np.random.default_rng(0)
    if kind == "all alike":
        return np.ones((14, 3))
    if kind == "one far off":
        return np.concatenate([rng.normal(size=(13, 2)), [[1e3, 1e3]]])
    if kind == "one cluster of most":
        return np.concatenate([rng.normal(size=(100, 2)), 50.0 + rng.normal(size=(20, 2))])
    return rng.standard_t(1.0, size=(40, 20))


@pytest.mark.parametrize(
    "kind", ["all alike", "one far off", "one cluster of most", "heavy tails"]
)
def test_no_part_of_the_rows_decides_alone(kind):
    x = rows_of(kind)
    folds = hold_out_clusters(x, 0)
    assert len(folds) >= 2
    assert all(3 <= len(fold.test) <= max(len(x) // 3, 6) for fold in folds)
    tested = np.concatenate([fold.test for fold in folds])
    assert len(np.unique(tested)) == len(tested)
    for fold in folds:
        assert sorted([*fold.test, *fold.seen]) == list(range(len(x)))


def test_a_large_batch_is_foretold_ten_labels_at_a_time():
    """The mean over bundles of ten, not a tenth of the whole batch's loss times ten."""
    known, straight = labels("straight", 1), CANDIDATES["straight"]
    contest = hold_contest({"straight": straight}, known, [np.arange(24, 48)])
    belief = straight(known.x[:24], known.y[:24])
    number = len(contest.best.clusters)  # of the batch among what is foretold
    ten = draw_distinct(np.random.default_rng(number), 24, 500)
    found = score(jax.random.key(0), belief, known.x[24:], known.y[24:], ten)
    assert contest.best.batches[0] == pytest.approx(found.mean, rel=1e-6)
    whole = score(jax.random.key(0), belief, known.x[24:], known.y[24:], np.arange(24)[None, :])
    assert abs(found.mean - whole.mean * 10 / 24) > 0.1


def test_the_margin_is_paired_over_clusters_and_batches():
    first = Standing("a", (1.0, 2.0), (3.0,), 2)
    second = Standing("b", (1.5, 3.0), (3.0,), 2)
    contest = Contest((first, second), 20)
    assert contest.margin == pytest.approx(0.5)
    assert contest.standard_error == pytest.approx(0.5 / np.sqrt(3))
    told = contest.to_dict()
    assert told["best"] == "a"
    assert told["standings"][1]["loss"] == pytest.approx(2.5)


def test_of_those_that_chance_cannot_tell_apart_the_first_is_chosen():
    known, calls = labels("smooth", 0), iter(range(100))

    def noisy(x, y):  # sometimes a little better, sometimes worse
        return process(RBF(1.0, 1.0), 0.05 * (1.01 if next(calls) % 2 else 0.99))(x, y)

    smooth = CANDIDATES["smooth"]
    for names in (("smooth", "noisy"), ("noisy", "smooth")):
        candidates = {name: smooth if name == "smooth" else noisy for name in names}
        assert hold_contest(candidates, known).best.name == names[0]


def test_a_candidate_that_fails_is_last_and_says_why():
    def broken(x, y):
        raise ArithmeticError("it broke down")

    contest = hold_contest({"broken": broken, **CANDIDATES}, labels("smooth", 0))
    assert contest.standings[-1].error == "it broke down"
    assert contest.standings[-1].loss == np.inf
    assert not contest.standings[-1].calibrated
    told = json.dumps(contest.to_dict(), allow_nan=False)
    assert json.loads(told)["standings"][-1]["loss"] is None


@pytest.mark.parametrize(("held", "calibrated"), [(8, True), (6, True), (5, False), (0, False)])
def test_chance_allows_two_of_eight_clusters_outside(held, calibrated):
    assert Standing("a", (0.0,) * 8, (), held).calibrated is calibrated


def test_too_few_labels_are_refused(refused):
    with refused(where="labels"):
        hold_contest(CANDIDATES, Labelling(np.zeros((FEWEST - 1, 2)), np.zeros(FEWEST - 1)))


def test_clusters_are_the_same_for_the_same_seed():
    x = labels("smooth", 2).x
    for one, other in zip(hold_out_clusters(x, 3), hold_out_clusters(x, 3), strict=True):
        assert_array_equal(one.test, other.test)


def test_clusters_and_batches_count_by_their_labels():
    """Ten labels that one cluster foretells count for more than three of another."""
    won = Standing("won", (1.0, 5.0), (2.0,), 2, sizes=(10, 3, 7))
    lost = Standing("lost", (3.0, 1.0), (2.0,), 2, sizes=(10, 3, 7))
    assert won.loss == pytest.approx((10 * 1.0 + 3 * 5.0 + 7 * 2.0) / 20)
    contest = Contest((won, lost), 20)
    more, share = np.array([2.0, -4.0, 0.0]), np.array([0.5, 0.15, 0.35])
    assert contest.margin == pytest.approx(share @ more)
    told = contest.to_dict()["standings"][0]
    assert told["on_clusters"] == pytest.approx((10 * 1.0 + 3 * 5.0) / 13)
    assert told["on_batches"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    "sizes", [(10,) * 8, (30, 20, 20, 10, 10, 5, 5, 3), (40, 30, 30, 3, 3, 3), (50, 50)]
)
def test_the_standard_error_is_that_of_clusters_that_vary_alike(sizes):
    """However unlike their sizes are: its square is the variance of the margin on average."""
    rng, share, times = np.random.default_rng(0), np.array(sizes) / np.sum(sizes), 4000
    squared = np.empty(times)
    for draw in range(times):
        losses = tuple(rng.normal(size=len(sizes)))
        lost = Standing("lost", losses, (), 0, sizes=sizes)
        won = Standing("won", (0.0,) * len(sizes), (), 0, sizes=sizes)
        squared[draw] = (Contest((won, lost), 1).standard_error or 0.0) ** 2
    off = 4.0 * squared.std() / np.sqrt(times)
    assert abs(squared.mean() - np.sum(share**2)) < off


def test_a_margin_is_clear_where_students_law_leaves_it_little_room():
    """Of five losses that vary by 1, the mean must be beyond 2.78 standard errors."""
    losses = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    error = losses.std(ddof=1) / np.sqrt(5)
    for factor, clear in ((2.7, False), (2.9, True)):
        lost = Standing("lost", tuple(losses + factor * error), (), 0)
        assert Contest((Standing("won", (0.0,) * 5, (), 0), lost), 5).clear is clear


def test_with_as_many_labels_in_each_it_is_the_usual_standard_error():
    losses = (1.0, 5.0, 2.0, 2.5)
    won, lost = (Standing(name, losses, (), 3, sizes=(4,) * 4) for name in ("won", "lost"))
    lost = replace(lost, clusters=(2.0, 5.5, 2.0, 7.0))
    pair = np.array(lost.clusters) - losses
    contest = Contest((won, lost), 16)
    assert contest.standard_error == pytest.approx(pair.std(ddof=1) / 2.0)
