"""The command line for every kind of question: what `new`, `ask` and `estimate` make of it."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from labelwise.cli.app import app

HEAD = ("--id", "id", "--label", "died", "--batch", "3", "--set", "sampling.policy=random")
HEAD += ("--set", "belief.components=1")  # which are quickly fitted


def call(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def ok_json(*arguments):
    done = call(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    for name, size in (("labelled", 24), ("pool", 30), ("target", 25)):
        age = rng.normal(size=size)
        table = pd.DataFrame(
            {
                "id": [f"{name}{row}" for row in range(size)],
                "age": age,
                "sex": rng.choice(["f", "m"], size),
                "model_a": 1 / (1 + np.exp(-age)),
                "model_b": rng.uniform(0.01, 0.99, size),
            }
        )
        if name == "labelled":
            table["died"] = (rng.uniform(size=size) < table["model_a"]).astype(int)
            table["z"] = np.arange(size) % 2
        if name == "pool":
            table["minutes"] = rng.choice([2.0, 10.0], size)
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


def new(tables, path, *more):
    files = [f"--{name}={tables / name}.csv" for name in ("labelled", "pool", "target")]
    return call("new", path, *files, *HEAD, *more)


def test_recall_at_a_threshold_by_group(tables, tmp_path):
    path = tmp_path / "audit"
    asked = ("--estimand", "recall", "--threshold", 0.3, "--by", "sex")
    assert new(tables, path, "--prediction", "model_a", *asked).exit_code == 0
    found = ok_json("estimate", path, "--level", 0.8)
    assert found["title"] == "recall at 0.3"
    assert found["belief"]["link"] == "logit"
    assert [part["title"] for part in found["parts"]] == [
        "recall at 0.3, sex = f",
        "recall at 0.3, sex = m",
    ]
    assert all(part["level"] == 0.8 for part in found["parts"])
    shown = call("estimate", path)
    assert "recall at 0.3, sex = m" in shown.stdout
    assert shown.stdout.count("the belief │") == 2  # there are no draws yet


def test_two_models(tables, tmp_path):
    path = tmp_path / "audit"
    given = ("--set", 'question.compare=["model_a","model_b"]', "--estimand", "accuracy")
    assert new(tables, path, *given).exit_code == 0
    found = ok_json("estimate", path)
    assert found["title"] == "accuracy at 0.5 of model_a minus that of model_b"
    assert 0.0 <= found["beats"] <= 1.0
    assert "the first model is better with probability" in call("estimate", path).stdout


@pytest.mark.slow
def test_a_treatment_effect(tables, tmp_path):
    path = tmp_path / "trial"
    assert new(tables, path, "--estimand", "ate", "--treatment", "z").exit_code == 0
    rows = ok_json("ask", path, "--out", tmp_path / "batch.csv")
    batch = pd.read_csv(tmp_path / "batch.csv")
    assert rows["rows"] == len(batch) == 3
    assert set(batch["z"]) <= {0, 1}
    batch.assign(died=[0, 1, 0]).to_csv(tmp_path / "back.csv", index=False)
    assert call("tell", path, tmp_path / "back.csv").exit_code == 0
    assert ok_json("estimate", path)["title"] == "average treatment effect"


@pytest.mark.slow
def test_costs(tables, tmp_path):
    path = tmp_path / "audit"
    given = (
        "--prediction",
        "model_a",
        "--set",
        "columns.cost=minutes",
        "--set",
        "sampling.spend=12",
        "--batch",
        9,
    )
    assert new(tables, path, *given).exit_code == 0
    plan = ok_json("plan", path)
    assert plan["cost"] <= 12


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--estimand", "recall"), "needs predictions"),
        (("--estimand", "ate"), "needs treatments"),
        (
            ("--set", "columns.treatment=z", "--set", "sampling.assign=2"),
            "assign must be given, random, planned, or",
        ),
        (
            ("--prediction", "model_a", "--set", "sampling.spend=5"),
            "spend needs what each row costs",
        ),
        (("--prediction", "model_a", "--by", "town"), "no column 'town' to group by"),
    ],
)
def test_bad_questions_end_with_two_and_one_sentence(tables, tmp_path, given, message):
    done = new(tables, tmp_path / "c", *given)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
