"""The library as a stranger calls it: lists, frames, masks, whole numbers, and mistakes."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import labelwise as lw
from labelwise.cli.app import app
from labelwise.datasets.synthetic import ClusterDesign, Sample

pytestmark = pytest.mark.usefixtures("unchecked")

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.sin(X[:, 0])


@cache
def known():
    """A belief, a target and a pool."""
    belief = lw.GaussianProcess(lw.RBF(1.0), 0.1).condition(X, Y)
    return belief, lw.MeanSquaredError(X + 0.5), lw.Pool(X + 1.0)


@cache
def problem():
    design = ClusterDesign(
        clusters=2,
        initial=Sample((5, 0), 0.5),
        pool=Sample((4, 4), 0.2),
        target=Sample((3, 3), 0.5),
    )
    return lw.make_clusters(0, design)


def propose(policy=None, key=0, belief=None, pool=None, k=2):
    own_belief, target, own_pool = known()
    policy = lw.Lookahead() if policy is None else policy
    belief = own_belief if belief is None else belief
    return policy.propose(key, belief, target, own_pool if pool is None else pool, k)


def rows_of(batch):
    return np.asarray(batch.indices).tolist()


def test_frames_lists_and_arrays_are_the_same_data():
    frame = pd.DataFrame(X, columns=["a", "b"])
    beliefs = [
        lw.GaussianProcess(lw.RBF(1.0), 0.1).condition(x, y)
        for x, y in ((X, Y), (frame, pd.Series(Y)), (X.tolist(), Y.tolist()))
    ]
    for belief in beliefs[1:]:
        assert_allclose(belief.mean(frame), beliefs[0].mean(X), rtol=1e-12)
    assert beliefs[0].sample(jax.random.key(0), X.tolist(), 2).shape == (2, 12)


def test_a_predictor_is_called_on_the_rows_as_they_were_given():
    frame = pd.DataFrame(X, columns=["a", "b"])
    estimand = lw.MeanSquaredError(frame, lambda rows: rows["a"])
    assert_allclose(estimand.prediction, X[:, 0])


def test_whole_numbers_of_any_kind_do():
    policy = lw.Lookahead(effort="greedy")
    assert rows_of(propose(policy, 0, k=np.int64(2))) == rows_of(
        propose(policy, jax.random.key(0))
    )
    records = lw.simulate(problem(), "random", np.int64(2), np.array([1, 2]), 0)
    assert [len(record.chosen) for record in records] == [0, 1, 2]


def test_training_options_reach_the_gradient_planners():
    policy = lw.make_policy("smoothed-autodiff", rollouts=3, objective="exact", temperature=0.2)
    assert policy == lw.policies.SmoothedAutodiff(
        lw.policies.Training("exact", 3), temperature=0.2
    )


def test_huge_masses_stay_shares():
    assert_allclose(lw.estimands.MeanOutcome(X, [1e308] * 12).mass, 1 / 12)


def test_a_feature_may_be_hidden_from_the_kernel():
    shown = lw.GaussianProcess(lw.RBF([1.0, np.inf]), 0.1).condition(X, Y)
    alone = lw.GaussianProcess(lw.RBF(1.0), 0.1).condition(X[:, :1], Y)
    assert_allclose(shown.mean(X), alone.mean(X[:, :1]), rtol=1e-10)


MISTAKES = [
    (
        lambda: lw.expected_variance(*known()[:2], X, [True, False]),
        "whole row numbers of pool x",
    ),
    (lambda: lw.expected_variance(*known()[:2], X, [0.9]), "whole row numbers of pool x"),
    (lambda: known()[2].without([99]), "must point at the 12 rows of the pool"),
    (lambda: lw.Pool(X, ["no"] * 12), "pool available must hold True or False"),
    (lambda: lw.Pool(X, np.arange(12)), "pool available must hold True or False"),
    (
        lambda: propose(k=2.5),
        "k must be a whole number",
    ),
    (
        lambda: propose(k=True),
        "k must be a whole number",
    ),
    (
        lambda: propose(key="a"),
        "key must come from jax.random",
    ),
    (lambda: propose(pool=X), "pool must be a Pool"),
    (
        lambda: propose(belief="gp"),
        "belief must be a AbstractBelief; it is a str",
    ),
    (lambda: lw.exact_moments(3, known()[1]), "int is not a Gaussian belief"),
    (
        lambda: lw.exact_moments(known()[0], X),
        "estimand must be",
    ),
    (lambda: lw.GaussianProcess("rbf", 0.1), "kernel must be"),
    (lambda: lw.GaussianProcess(lw.RBF(), 0.1, 1.0), "mean must be"),
    (lambda: lw.GaussianProcess(lw.RBF(), np.nan), "noise is NaN or infinite; give a finite"),
    (
        lambda: lw.GaussianProcess(lw.RBF(), 0.1, lw.beliefs.PredictorMean(9)).mean(X),
        "predictor from column 9 but x has 2 features",
    ),
    (lambda: lw.beliefs.PredictorMean("psi"), "mean column must be a whole number"),
    (lambda: lw.MeanSquaredError(X, lambda x: x[:, :1]), r"shape \(12, 1\) \(ravel it\)"),
    (lambda: lw.MeanSquaredError(X, None), "prediction"),
    (
        lambda: lw.make_policy("lookahead", foo=1),
        "lookahead has no option 'foo'; it has draws, effort",
    ),
    (lambda: lw.make_policy(["lookahead"]), "There is no policy"),
    (
        lambda: lw.policies.SmoothedAutodiff(temperature=float("nan")),
        "temperature must be positive",
    ),
    (
        lambda: lw.policies.Training(learning_rate=float("nan")),
        "learning_rate must be positive",
    ),
    (lambda: lw.simulate(problem(), "random", 2.0, 1, 0), "rounds must be a whole number"),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES, ids=[m[1][:30] for m in MISTAKES])
def test_a_mistake_gets_one_sentence(make, message):
    with pytest.raises(lw.InvalidInput, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.zeros(3)}, "problem labels has 3 values but pool x has 8 rows"),
        ({"labels": np.array([0.0, np.nan, *range(6)])}, "problem labels is NaN .* row 1"),
        ({"truth": np.nan}, "problem truth is NaN"),
        ({"x": np.ones((5, 2))}, "problem x has 2 features but pool x has 1"),
    ],
)
def test_a_problem_that_does_not_fit_together_is_refused(change, message):
    fields = {name: getattr(problem(), name) for name in lw.Problem.__dataclass_fields__}
    change = {name: jnp.asarray(value) for name, value in change.items()}
    with pytest.raises(lw.InvalidInput, match=message):
        lw.Problem(**(fields | change))


def test_arithmetic_that_breaks_down_gives_no_batch():
    wild = lw.GaussianProcess(lw.RBF(1.0, 1e160), 1e158)
    pool = lw.Pool(np.linspace(-3, 3, 12)[:, None], np.arange(12) > 1)
    with pytest.raises(lw.NumericalError, match="Planning broke down"):
        lw.Lookahead().propose(0, wild, lw.MeanSquaredError(X[:, :1]), pool, 3)


def test_a_belief_that_breaks_down_stops_the_simulation():
    """Without noise, labels of repeated rows contradict each other."""
    exact = lw.GaussianProcess(lw.RBF(1.0, 0.69), 0.0)
    repeated = lw.Pool(np.tile(np.asarray(problem().x)[:2], (5, 1)))
    labels = jnp.asarray(np.arange(10.0))
    wrong = eqx.tree_at(
        lambda p: (p.prior, p.pool, p.labels), problem(), (exact, repeated, labels)
    )
    with pytest.raises(
        lw.NumericalError, match=r"broke down in round 2|equal and the noise is 0"
    ):
        lw.simulate(wrong, "random", 2, 5, 0)


def typed(line, *others):
    """What a stranger types, and what comes back."""
    done = CliRunner().invoke(app, [*line.split()[1:], *map(str, others)])
    assert done.exit_code == 0, (line, done.output)
    return done.output


@pytest.mark.slow
def test_a_first_hour_from_one_file_without_labels_to_an_interval(tmp_path, monkeypatch):
    """A classifier's scores, labels in words still to come: commands as they are typed."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    x = rng.normal(size=200)
    chance = 1.0 / (1.0 + np.exp(-x))
    truth = np.where(rng.random(200) < chance, ">50K", "<=50K")
    scored = pd.DataFrame({"age": 40.0 + 9.0 * x, "score": chance, "income": ""})
    scored.to_csv("scored.csv", index=False)
    line = "labelwise new audit scored.csv --label income --prediction score --batch 15"
    refused = CliRunner().invoke(app, [*line.split()[1:], "--positive", ">50K"])
    assert refused.exit_code == 2
    assert "columns.classes" in refused.output  # one sentence with the way out
    typed(line, "--set", 'columns.classes=["<=50K", ">50K"]')
    said = typed("labelwise ask audit --out batch.csv")
    assert "<=50K or >50K" in said
    for following in ("next.csv", "last.csv"):
        batch = pd.read_csv("batch.csv")
        batch["income"] = [truth[row - 1] for row in batch["row"]]
        batch.to_csv("batch.csv", index=False)
        typed(f"labelwise tell audit batch.csv --ask --out {following}")
        (tmp_path / following).replace("batch.csv")
    answer = typed("labelwise estimate audit")
    assert "accuracy" in answer
    found = lw.Campaign.open("audit").estimate()
    low, high = found.interval()
    assert low < float(np.mean((chance >= 0.5) == (truth == ">50K"))) < high
    assert "15 row" in typed("labelwise status audit")
    typed("labelwise report audit --out report.html")
