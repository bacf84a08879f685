"""Batches go to Label Studio as tasks and come back as labels."""

import json

import numpy as np
import pandas as pd
import pytest

from labelwise.campaign.labelstudio import are_tasks, read_tasks, write_tasks
from labelwise.tables.columns import Columns
from tests.campaign import small

COLUMNS = Columns("id", "y")


def answered(task, *values, name="y", **more):
    """A task with one annotation a value."""
    results = [[{"from_name": name, "type": "any", "value": value}] for value in values]
    return {**task, "annotations": [{"result": result, **more} for result in results]}


@pytest.fixture
def tasks(campaign):
    return write_tasks(campaign.ask(), COLUMNS)


def test_a_task_carries_the_row_and_its_batch_but_no_label(campaign):
    batch = campaign.ask()
    tasks = write_tasks(batch, COLUMNS)
    assert are_tasks(json.loads(json.dumps(tasks)))
    assert [task["data"]["id"] for task in tasks] == list(batch["id"])
    assert {task["data"]["batch_id"] for task in tasks} == {1}
    assert all(set(task["data"]) == {"batch_id", "id", "a", "b"} for task in tasks)
    assert [task["data"]["a"] for task in tasks] == list(batch["a"])


def test_awkward_cells_become_plain_json():
    batch = pd.DataFrame(
        {
            "id": [7, 8],
            "x": [np.nan, 1.5],
            "day": pd.to_datetime(["2024-01-31", None]),
            "flag": [True, False],
            "y": np.nan,
        }
    )
    first, second = json.loads(json.dumps(write_tasks(batch, COLUMNS), allow_nan=False))
    assert first["data"] == {"id": 7, "x": None, "day": "2024-01-31 00:00:00", "flag": True}
    assert second["data"] == {"id": 8, "x": 1.5, "day": None, "flag": False}


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ({"number": 0.25}, 0.25),
        ({"rating": 1}, 1.0),
        ({"choices": ["0"]}, 0.0),
        ({"text": ["0.125"]}, 0.125),
        ({"text": "0.5"}, 0.5),
    ],
)
def test_every_control_gives_a_label(value, label, campaign, tasks, tmp_path):
    path = tmp_path / "export.json"
    path.write_text(json.dumps([answered(task, value) for task in tasks]))
    assert campaign.tell(path).new == 3
    assert set(campaign.state().labels.values()) == {label}


def test_the_result_named_like_the_label_is_taken(campaign, tasks):
    task = answered(tasks[0], {"number": 0.5})
    task["annotations"][0]["result"].append({"from_name": "sure", "value": {"rating": 5}})
    assert campaign.tell([task]).new == 1
    assert list(campaign.state().labels.values()) == [0.5]


def test_of_several_results_with_other_names_none_is_taken(campaign, tasks):
    task = answered(tasks[0], {"number": 0.5}, name="first")
    task["annotations"][0]["result"].append({"from_name": "second", "value": {"rating": 5}})
    told = campaign.tell([task])
    assert (told.new, told.empty) == (0, 1)


def test_a_task_that_nobody_answered_is_not_yet_known(campaign, tasks):
    nothing_chosen = answered(tasks[2], {"choices": []})
    told = campaign.tell([tasks[0], {**tasks[1], "annotations": []}, nothing_chosen])
    assert (told.new, told.empty) == (0, 3)


def test_a_cancelled_task_is_reported_and_gives_no_label(tasks):
    cancelled = answered(tasks[0], {"number": 0.5}, was_cancelled=True)
    rows, ids = read_tasks([cancelled, answered(tasks[1], {"number": 0.5})], COLUMNS)
    assert ids == (tasks[0]["data"]["id"],)
    assert [row["y"] for row in rows] == [None, 0.5]


def test_ids_of_cancelled_tasks_are_written_as_everywhere():
    task = {"data": {"id": 7.0}, "annotations": [{"was_cancelled": True, "result": []}]}
    assert read_tasks([task], COLUMNS)[1] == ("7",)


def test_a_cancelled_annotation_beside_a_good_one_is_passed_over(campaign, tasks):
    task = answered(tasks[0], {"number": 0.5}, {"number": 0.75})
    task["annotations"][0]["was_cancelled"] = True
    campaign.tell([task])
    assert list(campaign.state().labels.values()) == [0.75]


def test_annotators_who_agree_give_one_label(campaign, tasks):
    assert campaign.tell([answered(tasks[0], {"number": 0.5}, {"rating": 0.5})]).new == 1


def test_annotators_who_disagree_are_refused(campaign, tasks, refused):
    with refused(where="labels", remedy="settle on one"):
        campaign.tell([answered(tasks[0], {"number": 0.5}, {"number": 0.25})])


def test_the_batch_that_came_along_is_checked(campaign, tasks, refused):
    task = answered(tasks[0], {"number": 0.5})
    task["data"]["batch_id"] = 2
    with refused(where="labels.batch_id"):
        campaign.tell([task])


def test_all_goes_round(campaign, tasks):
    back = [answered(task, {"number": small.label_of(task["data"]["id"])}) for task in tasks]
    assert campaign.tell(json.loads(json.dumps(back))).new == 3
    assert campaign.state().labels.keys() == {int(task["data"]["id"][1:]) for task in tasks}
    assert campaign.tell(back).known == 3


@pytest.mark.parametrize(
    "value",
    ["a number", ["number"], 7, None, {"number": 10**400}, {"number": {"a": 1}}, {"text": []}],
    ids=["text", "list", "number", "nothing", "digits", "object", "empty"],
)
def test_an_export_that_nobody_could_have_made_gets_a_line(value, tasks, campaign, tmp_path):
    """Or says nothing yet: no label is made of it."""
    from typer.testing import CliRunner

    from labelwise.cli.app import app

    (tmp_path / "back.json").write_text(json.dumps([answered(tasks[0], value)]))
    done = CliRunner().invoke(app, ["tell", str(campaign.path), str(tmp_path / "back.json")])
    assert done.exit_code == (0 if value == {"text": []} else 2), done.output
    assert "failed" not in done.stderr
    assert campaign.status().pool["labelled"] == 0
