"""The studies: rows, resuming, summary and figures, on a small part of one."""

import json
from functools import partial

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from experiments import support2, synthetic_gp
from experiments.__main__ import app
from experiments.synthetic_gp import SEVEN
from labelwise.cli import demo
from labelwise.cli.runs import Study, Task
from labelwise.datasets.synthetic import ClusterDesign, Sample, make_clusters
from labelwise.errors import InvalidInput, NumericalError

pytestmark = pytest.mark.slow

QUIET = Console(quiet=True)
CONFIG = {"rounds": 1}


def work(task):
    return [
        {"policy": task.policy, "seed": task.seed, "round": index, "seconds": 0.1}
        for index in (0, 1)
    ]


TASKS = [Task("a", 0), Task("a", 1), Task("b", 0)]


def test_only_what_is_missing_is_run(tmp_path):
    study, seen = Study(tmp_path, CONFIG), []
    noting = lambda task: seen.append(task) or work(task)
    study.run(TASKS[:2], noting, 1, QUIET)
    rows = Study(tmp_path, CONFIG).run(TASKS, noting, 1, QUIET)
    assert seen == TASKS
    assert len(rows) == 6


def test_a_task_cut_off_in_the_middle_is_run_again(tmp_path):
    study = Study(tmp_path, CONFIG)
    study.run(TASKS, work, 1, QUIET)
    text = study.rows_file.read_text()
    study.rows_file.write_text(text[: text.rindex("b,0,1") + 4])  # killed while writing
    assert study.missing(TASKS) == [Task("b", 0)]
    again = Study(tmp_path, CONFIG)  # what is left of the line must not meet the next one
    assert len(again.run(TASKS, work, 1, QUIET)) == 6
    assert len(pd.read_csv(again.rows_file)) == 6


@pytest.mark.parametrize("text", ["", "policy,se", "policy,seed,round,seconds"])
def test_a_file_cut_off_in_its_first_line_is_begun_again(tmp_path, text):
    Study(tmp_path, CONFIG)
    (tmp_path / "rows.csv").write_text(text)
    for _ in range(2):
        assert len(Study(tmp_path, CONFIG).run(TASKS, work, 1, QUIET)) == 6


def test_rows_of_something_else_are_left_alone(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInput, match="is not of a study"):
        Study(tmp_path, CONFIG)
    assert (tmp_path / "rows.csv").read_text() == "a,b\n1,2\n"
    assert not (tmp_path / "config.json").exists()


def test_a_task_that_leaves_too_few_rows_is_reported(tmp_path):
    with pytest.raises(NumericalError, match="left no whole set of rows"):
        Study(tmp_path, CONFIG).run(TASKS, lambda task: work(task)[:1], 1, QUIET)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="choose another --out"):
        Study(tmp_path / "file", CONFIG)


def test_rows_of_another_configuration_are_not_mixed_in(tmp_path):
    Study(tmp_path, CONFIG)
    with pytest.raises(InvalidInput, match="holds rows of another configuration"):
        Study(tmp_path, {"rounds": 2})


def test_the_synthetic_experiment_runs_and_resumes(tmp_path, monkeypatch):
    small = ClusterDesign(
        clusters=16,
        initial=Sample((20,) + (0,) * 15, 0.5),
        pool=Sample((60,) + (2,) * 15, 0.25),
        target=Sample((4,) * 16, 0.5),
    )
    monkeypatch.setattr(synthetic_gp, "ROUNDS", 4)
    monkeypatch.setattr(synthetic_gp, "make_clusters", partial(make_clusters, design=small))
    out = tmp_path / "study"
    command = ["synthetic-gp", "--seeds", "2", "--jobs", "1", "--out", str(out), "--json"]
    command += ["--policy", "lookahead", "--policy", "random"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    before = (out / "rows.csv").read_text()
    summary = json.loads(first.stdout)
    assert json.loads(CliRunner().invoke(app, command).stdout) == summary
    assert (out / "rows.csv").read_text() == before
    assert [len(values) for values in summary["variance_by_round"].values()] == [5, 5]
    assert summary["final_variance"]["lookahead"] < 0.1 * summary["final_variance"]["random"]
    rows = pd.read_csv(out / "rows.csv")
    mean = rows[(rows["policy"] == "random") & (rows["round"] == 4)]["variance"].mean()
    assert summary["final_variance"]["random"] == pytest.approx(mean)
    for name in ("variance.png", "error.png", "gradient_planners.png", "summary.json"):
        assert (out / name).exists()


def test_the_seven_policies_are_there():
    assert len(SEVEN) == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--policy", "magic"], "There is no policy 'magic'"),
        (["--variant", "authors"], "give --data FOLDER"),
        (["--variant", "authors", "--data", "nowhere"], "There is no file"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(tmp_path, options, message):
    command = ["synthetic-gp", "--jobs", "1", "--seeds", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, command + options)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


@pytest.mark.usefixtures("few_patients")
def test_campaigns_on_real_patients_are_summed_up(tmp_path, monkeypatch):
    monkeypatch.setattr(support2, "ROUNDS", 1)
    monkeypatch.setattr(support2, "draw_support2", demo.draw_support2)
    done = CliRunner().invoke(
        app, ["support2", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path), "--json"]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    start, end = (found["policies"]["lookahead"]["rmse"][index] for index in (0, 1))
    assert end < start
    assert found["policies"]["random"]["rmse"][0] == start  # both begin alike
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert len(rows) == 4
    assert ((rows["estimate"] - support2.true_error()).abs() == rows["error"]).all()
    assert (tmp_path / "error.png").stat().st_size > 10_000
