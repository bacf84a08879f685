"""Metrics, beliefs and policies of one's own in campaigns, from files."""

import numpy as np
import pytest
from typer.testing import CliRunner

from labelwise.beliefs.bootstrap import BootstrapPrior, fit_bootstrap
from labelwise.campaign.campaign import Campaign
from labelwise.cli.app import app
from labelwise.estimands.catalogue import find_metric
from labelwise.own_code import source_hash
from labelwise.policies.registry import POLICIES, make_policy
from tests.campaign.small import make_tables
from tests.campaign.test_questions import binary_tables, classifier, create, gaussian, unfitted

FILE = '''
import numpy as np

def cost(label, prediction):
    """Cost of a wrong call."""
    if label == 1 and prediction < 0.5:
        return 10.0
    return 1.0 if label == 0 and prediction >= 0.5 else 0.0

def brier(label, prediction):
    return np.square(label - prediction)

def half(scores):
    return scores.uncertainty * (scores.expected > 0.5) + 1e-6

def wrong(scores):
    return scores.expected[:2]

def negative(scores):
    return scores.expected - 100.0

def broken(scores):
    return scores.nothing
'''


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def play(campaign, n=10):
    batch = campaign.ask(n)
    campaign.tell(batch.assign(y=(batch["a"] > 0) * 1))
    return campaign.estimate()


def test_a_function_of_one_label_in_a_file_is_a_metric_in_both_answers(tmp_path, file):
    """As typed: --metric metrics.py:cost; an if is no obstacle."""
    for name, table in binary_tables().items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    tables = [f"--{name}={tmp_path / name}.csv" for name in ("labelled", "pool")]
    words = ["new", tmp_path / "c", *tables, "--id=id", "--label=y", "--prediction=psi"]
    words += [f"--metric={file}:cost", "--set=sampling.policy=random"]
    words += ["--set=belief.components=1", '--set=columns.features=["a","b"]']
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    campaign = Campaign.open(tmp_path / "c")
    assert campaign.spec.question.estimand == (f"{file}:cost",)
    assert campaign.spec.sources == {f"{file}:cost": source_hash(f"{file}:cost")}
    found = play(campaign)
    assert found.title == "Cost of a wrong call"
    assert found.design is not None
    assert 0.0 < found.credible.value < 10.0
    pool = binary_tables()["pool"]
    missed = ((pool["psi"] < 0.5) & (pool["a"] > 0)).mean() * 10.0
    called = ((pool["psi"] >= 0.5) & (pool["a"] <= 0)).mean()
    assert abs(found.design.value - missed - called) < 4.0 * found.design.std


def test_functions_of_numpy_answer_as_the_catalogues_do(tmp_path, file):
    given = {"prediction": "psi", **unfitted(classifier())}
    theirs = create(tmp_path / "a", binary_tables(), estimand="brier", **given)
    mine = create(tmp_path / "b", binary_tables(), estimand=f"{file}:brier", **given)
    known, found = play(theirs), play(mine)
    assert found.credible.value == pytest.approx(known.credible.value, rel=1e-9)
    assert found.design.value == pytest.approx(known.design.value, rel=1e-6)


def test_of_numbers_its_slope_is_found_on_the_host(file):
    import jax
    import jax.numpy as jnp

    terms = find_metric(f"{file}:brier").terms
    y, guess = np.array([0.3, 2.0, -1.0]), np.array([0.1, 0.5, 0.5])
    loss = jax.jit(jax.value_and_grad(lambda y: terms(y, jnp.asarray(guess), None)[0].sum()))
    value, slope = loss(jnp.asarray(y))
    assert float(value) == pytest.approx(np.sum((y - guess) ** 2))
    np.testing.assert_allclose(slope, 2.0 * (y - guess), rtol=1e-6)


def test_a_file_that_changes_is_warned_of(tmp_path, file):
    given = {"prediction": "psi", **unfitted(classifier())}
    campaign = create(tmp_path / "c", binary_tables(), estimand=f"{file}:brier", **given)
    assert "has changed" not in " ".join(campaign.estimate().warnings)
    file.write_text(f"{FILE}\n# another text\n")
    again = Campaign.open(campaign.path)
    again.tell({"r0": 1.0}, unasked="accept")
    assert f"The file of '{file}:brier' has changed" in again.estimate().warnings[0]


def test_a_policy_of_ones_own_is_drawn_by_its_scores(tmp_path, file):
    campaign = create(
        tmp_path / "c",
        make_tables(),
        prediction="psi",
        belief=gaussian(),
        policy=f"{file}:half",
        features=["a", "b"],
        predictor_in_belief=False,
        floor=0.05,
    )
    assert campaign.spec.sampling.policy == {"name": "own", "path": f"{file}:half"}
    assert f"{file}:half" in campaign.spec.sources
    evaluation = campaign.evaluation()
    expected = np.asarray(evaluation.posterior.belief.outcome(evaluation.posterior.pool.x)[0])
    round_ = evaluation.ask(12)
    wanted = expected[list(round_.rows)] > 0.5
    assert wanted.sum() >= 10 or wanted.sum() == (expected > 0.5).sum()
    assert all(round_.plan.drawn or ())


@pytest.mark.parametrize("name", ["wrong", "negative", "broken"])
def test_a_policy_that_gives_no_number_a_row_is_refused(tmp_path, file, name, refused, caplog):
    """In a sentence, though it fails within a compiled program; nothing was asked."""
    path = f"{file}:{name}"
    campaign = create(
        tmp_path / "c", make_tables(), policy=path, belief=gaussian(), estimand="mean"
    )
    with refused(where=f"policy {path!r}" if name == "broken" else path):
        campaign.ask()
    assert not caplog.records
    assert campaign.status().rounds == 0


def test_a_file_that_cannot_be_read_is_to_be_mended(tmp_path, refused):
    (tmp_path / "slip.py").write_text("def cost(:\n")
    with refused(where="estimand"):
        create(
            tmp_path / "c", make_tables(), prediction="psi", estimand=f"{tmp_path}/slip.py:cost"
        )


# Beliefs.


def linear(binary):
    name = "LogisticRegression" if binary else "Ridge"
    return {"name": f"sklearn.linear_model:{name}", "members": 12}


def test_a_bootstrap_is_the_models_fitted_to_resamples():
    """Of least squares its spread is the sandwich that theory has, up to 12 models' noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 2))
    y = x @ [1.0, -0.5] + 0.3 * rng.normal(size=80)
    options = {"members": 200, "labels": "regression"}
    prior = fit_bootstrap("sklearn.linear_model:LinearRegression", options, x, y, seed=0)
    belief = BootstrapPrior.build(prior.describe()).condition(x, y)
    rows = rng.normal(size=(5, 2))
    mean, variance = (np.asarray(one) for one in belief.outcome(rows))
    wide = np.column_stack([np.ones(80), x])
    inverse = np.linalg.inv(wide.T @ wide)
    fitted = inverse @ wide.T @ y
    there = np.column_stack([np.ones(5), rows])
    left = y - wide @ fitted
    theory = there @ inverse @ (wide.T * left**2) @ wide @ inverse @ there.T
    np.testing.assert_allclose(mean, there @ fitted, atol=5 * np.sqrt(theory.max() / 200))
    # A variance of 200 draws is known to a tenth; three of those, and a bootstrap's own bias.
    np.testing.assert_allclose(variance, np.diag(theory), rtol=0.35)
    assert float(belief.noise) == pytest.approx(0.09, rel=0.5)


@pytest.mark.parametrize("binary", [False, True])
def test_any_model_of_scikit_learn_is_a_campaigns_belief(tmp_path, binary):
    tables = binary_tables() if binary else make_tables()
    campaign = create(
        tmp_path / "c",
        tables,
        prediction="psi",
        estimand="accuracy" if binary else "mse",
        belief=linear(binary),
        features=["a", "b"],
    )
    assert campaign.spec.sources
    found = play(campaign, 10) if binary else campaign.estimate()
    assert found.credible.std > 0.0
    assert found.belief["own"].startswith("sklearn.linear_model:")
    again = Campaign.open(campaign.path).estimate()
    assert again.credible.value == pytest.approx(found.credible.value, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    list(POLICIES),
)
def test_every_policy_plans_with_it(policy):
    from labelwise.estimands.named import MeanSquaredError
    from labelwise.types import Pool

    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 2))
    y = x[:, 0] + 0.1 * rng.normal(size=20)
    prior = fit_bootstrap(
        "sklearn.linear_model:Ridge", {"members": 5, "labels": "regression"}, x, y, 0
    )
    belief = BootstrapPrior.build(prior.describe()).condition(x, y)
    short = {"rollouts": 2, "steps": 2} if policy in ("reinforce", "smoothed-autodiff") else {}
    rows = rng.normal(size=(8, 2))
    batch = make_policy(policy, **short).propose(
        0, belief, MeanSquaredError(rows, 0.0), Pool(rows), k=2
    )
    assert len(set(np.asarray(batch.indices).tolist())) == 2


MODELS = pytest.mark.parametrize(
    ("belief", "binary"),
    [
        ({"name": "sklearn.linear_model:Ridge", "slope": 3}, False),
        ({"name": "sklearn.linear_model:Ridge"}, True),
        ({"name": "sklearn.linear_model:Nothing"}, False),
        ({"name": "no_such_module:Model"}, False),
    ],
    ids=["a wrong option", "no classifier", "no such class", "no such module"],
)


def test_a_classifier_needs_both_classes(tmp_path, refused):
    tables = binary_tables()
    tables["labelled"]["y"] = 0
    with refused(where="labelled"):
        create(tmp_path / "c", tables, prediction="psi", belief=linear(True))
    assert not (tmp_path / "c").exists()


@MODELS
def test_a_model_that_does_not_suit_is_refused(tmp_path, refused, belief, binary):
    tables = binary_tables() if binary else make_tables()
    with refused(where="belief"):
        create(tmp_path / "c", tables, prediction="psi", belief=belief)
