"""Sweeps: the same table however often they were cut off, and wherever tasks ran."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

from experiments.sweep import Engine, Sweep, Task, forecast, span
from labelwise.errors import NumericalError
from tests.experiments.toy_sweep import CONFIG, TASKS, run

ROOT = Path(__file__).parents[2]


def table(folder):
    return (folder / "rows.csv").read_bytes()


def test_rows_come_in_the_order_of_tasks(tmp_path):
    rows = run(tmp_path)
    assert rows["task"].tolist() == [task.name for task in TASKS for _ in range(2)]


@pytest.mark.slow
def test_a_sweep_killed_at_any_instant_goes_on_to_the_same_table(tmp_path):
    run(tmp_path / "whole")
    cut, lines = tmp_path / "cut", tmp_path / "cut" / "tasks.jsonl"
    for least in (1, 3):
        command = [sys.executable, "-m", "tests.experiments.toy_sweep", str(cut), "0.3"]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        while not lines.exists() or len(lines.read_text().splitlines()) < least:
            time.sleep(0.02)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = len(lines.read_text().splitlines())
    assert 3 <= kept < len(TASKS)
    with lines.open("a") as file:
        file.write('{"task": "task/7", "rows": [{"nu')  # a line cut off in the middle
    run(cut)
    assert table(cut) == table(tmp_path / "whole")


@pytest.mark.slow
def test_a_cluster_of_two_processes_finds_the_same_to_the_last_digit(tmp_path):
    pytest.importorskip("distributed")
    run(tmp_path / "here", engine=Engine(2))
    run(tmp_path / "there", engine=Engine(2, "local"))
    assert table(tmp_path / "there") == table(tmp_path / "here")


def test_a_task_that_fails_costs_no_other(tmp_path):
    with pytest.raises(NumericalError, match=r"task/3.*expected") as caught:
        run(tmp_path, broken="task/3")
    assert caught.value.what.startswith("1 of 8 tasks failed")
    assert len(Sweep(tmp_path, CONFIG).done()) == 7
    rows = run(tmp_path)  # mended
    assert len(rows) == 16


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", [None, "local"])
def test_a_task_that_kills_its_process_costs_no_other(scheduler, tmp_path):
    engine = Engine(2, scheduler)
    with pytest.raises(NumericalError, match=r"task/3.*process died") as caught:
        run(tmp_path, engine=engine, deadly="task/3")
    assert caught.value.what.startswith("1 of 8 tasks failed")
    assert len(Sweep(tmp_path, CONFIG).done()) == 7
    assert len(run(tmp_path, engine=engine)) == 16  # with more memory


def test_what_is_done_is_not_done_again(tmp_path):
    run(tmp_path)
    before = (tmp_path / "tasks.jsonl").read_text()
    run(tmp_path, broken="task/2")
    assert (tmp_path / "tasks.jsonl").read_text() == before


def test_a_folder_of_another_configuration_is_refused(tmp_path, refused):
    Sweep(tmp_path, CONFIG)
    with refused(where="<tmp>"):
        Sweep(tmp_path, {"study": "another"})


def test_a_cluster_without_dask_is_refused(tmp_path, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with refused(where="--scheduler"):
        run(tmp_path, engine=Engine(1, "local"))


def test_more_workers_take_less_time_but_no_less_than_the_longest_task():
    tasks = [Task("a", 30.0), Task("b", 10.0), Task("c", 10.0), Task("d", 10.0)]
    assert_allclose([span(tasks, workers) for workers in (1, 2, 8)], [60.0, 30.0, 30.0])
    told = forecast(tasks, 2)
    assert "60 s of work" in told
    assert "30 s on 2" in told
    assert forecast([], 2) == "Every task is done already."
