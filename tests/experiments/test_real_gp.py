"""The study of intensive-care patients, on made-up ones."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments import real_gp
from experiments.__main__ import app
from experiments.readers.mortality import Sizes
from experiments.reporting import compare_by_seed
from experiments.synthetic_gp import SEVEN
from tests.experiments.readers.intensive_care import write_physionet2012

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The command on a small cohort."""
    folder = tmp_path_factory.mktemp("cohort")
    write_physionet2012(folder, rows=300)
    small = {"SIZES": Sizes(20, 40, 30), "FEATURES": 2, "CLUSTERS": 4, "FITTED": 96}
    command = ["real-gp", "--data", str(folder), "--dataset", "physionet2012"]
    command += ["--seeds", "2", "--jobs", "1", "--policy", "lookahead", "--policy", "random"]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**small, "ROUNDS": 2, "BATCH": 3}.items():
            patch.setattr(real_gp, name, value)
        yield lambda *options: CliRunner().invoke(app, [*command, *options])


@pytest.fixture(scope="module")
def first(run, tmp_path_factory):
    """A study that was run, and where it was."""
    out = tmp_path_factory.mktemp("run") / "study"
    return run("--out", str(out), "--json"), out


def test_it_runs_and_resumes(run, first):
    done, out = first
    assert done.exit_code == 0, done.output
    summary, before = json.loads(done.stdout), (out / "rows.csv").read_text()
    assert json.loads(run("--out", str(out), "--json").stdout) == summary
    assert (out / "rows.csv").read_text() == before
    assert summary["final_variance"]["lookahead"] < summary["final_variance"]["random"]
    assert set(summary["fit"]) == {"mean", "length_scale", "variance", "noise"}
    assert list(summary["cohort"]["features"]) == ["Age", "Urine_mean"]
    rows = pd.read_csv(out / "rows.csv")
    assert len(rows) == 12
    assert ((rows["estimate"] - rows["truth"]).abs() - rows["error"]).abs().max() < 1e-12
    for name in ("variance.png", "error.png", "summary.json"):
        assert (out / name).exists()


def test_refitting_changes_the_belief_from_the_start(run, first, tmp_path):
    fixed = json.loads(first[0].stdout)
    refitted = run("--refit", "--out", str(tmp_path / "refitted"), "--json")
    assert refitted.exit_code == 0, refitted.output
    found = json.loads(refitted.stdout)
    assert found["fit"] is None
    start = lambda summary: summary["variance_by_round"]["random"][0]
    assert start(found) != start(fixed)


def test_the_papers_prior_and_predictor_can_be_had(run, tmp_path):
    done = run("--paper", "--out", str(tmp_path / "paper"), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["fit"] == real_gp.PAPERS
    assert json.loads((tmp_path / "paper" / "config.json").read_text())["known"] == "paper"


def test_the_table_is_for_people(run, first):
    text = run("--out", str(first[1])).stdout
    assert "error at 2" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


def test_rows_with_and_without_refitting_are_not_mixed(run, first):
    done = run("--out", str(first[1]), "--refit")
    assert done.exit_code == 2
    assert "holds rows of another configuration" in " ".join(done.stderr.split())


def test_a_folder_without_data_is_refused_in_one_sentence(tmp_path):
    command = ["real-gp", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "has no file patient.csv" in " ".join(done.stderr.split())


def test_the_seven_policies_are_there_and_two_more():
    assert set(real_gp.policies()) == {
        *SEVEN,
        "reinforce-baseline",
        "smoothed-autodiff-centred",
    }


def test_policies_are_compared_seed_by_seed():
    rows = pd.DataFrame(
        {
            "policy": ["lookahead", "lookahead", "random", "random"],
            "seed": [0, 1, 0, 1],
            "round": 1,
            "error": [1.0, 2.0, 2.0, 5.0],
        }
    )
    found = compare_by_seed(rows, "error")
    assert found == {"random": {"mean": -2.0, "standard_error": pytest.approx(1.0)}}
    assert compare_by_seed(rows[2:], "error") == {}
