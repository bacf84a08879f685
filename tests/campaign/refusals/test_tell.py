"""A campaign refuses what does not fit its log, and stays as it was."""

from pathlib import Path
from typing import Any

import pandas as pd

from tests.campaign import small
from tests.campaign.refusals.cases import Case, by_id, files_in, history


def frame(ids: Any, labels: Any, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": ids, "y": labels, **more})


def tell_an_empty_file(campaign, ids) -> None:
    path = campaign.path.parent / "labels.csv"
    path.write_bytes(b"")
    campaign.tell(path)


def task(one: Any, **more: Any) -> dict[str, Any]:
    return {"data": {"id": one}, **more}


def annotation(**value: Any) -> dict[str, Any]:
    return {"result": [{"from_name": "y", "value": value}]}


def export_folder(campaign) -> Path:
    path = campaign.path.parent / "folder.csv"
    path.mkdir()
    return path


USE = [
    Case(
        "tell some unknown ids",
        "labels",
        lambda c, ids: c.tell({ids["pending"]: 0.5} | {f"x{i}": 0.5 for i in range(7)}),
    ),
    Case(
        "tell a blank id", "labels.id", lambda c, ids: c.tell(frame([ids["pending"], " "], 0.5))
    ),
    Case(
        "tell one id two labels",
        "labels.y",
        lambda c, ids: c.tell(frame([ids["pending"]] * 2, [0.5, 0.6])),
    ),
    Case("tell text", "labels.y", lambda c, ids: c.tell({ids["pending"]: "bad"})),
    Case("tell a label too high", "labels.y", lambda c, ids: c.tell({ids["pending"]: 1.01})),
    Case(
        "tell a good and a conflicting label",
        "labels",
        lambda c, ids: c.tell({ids["pending"]: 0.5, ids["labelled"]: 0.123}),
    ),
    Case("tell a row never asked", "labels", lambda c, ids: c.tell({ids["available"]: 0.5})),
    Case(
        "tell with an unknown rule",
        "unasked",
        lambda c, ids: c.tell({ids["pending"]: 0.5}, unasked="maybe"),
    ),
    Case("tell an initial row", "labels", lambda c, _: c.tell({"r1000": 0.5})),
    Case(
        "tell of a wrong batch",
        "labels.batch_id",
        lambda c, ids: c.tell(frame([ids["pending"]], 0.5, batch_id=1)),
    ),
    Case(
        "tell of a text batch",
        "labels.batch_id",
        lambda c, ids: c.tell(frame([ids["pending"]], 0.5, batch_id="first")),
    ),
    Case(
        "tell of half a batch",
        "labels.batch_id",
        lambda c, ids: c.tell(frame([ids["pending"]], 0.5, batch_id=1.5)),
    ),
    Case("tell without ids", "labels.id", lambda c, ids: c.tell(pd.DataFrame({"y": [0.5]}))),
    Case(
        "tell without labels",
        "labels.y",
        lambda c, ids: c.tell(pd.DataFrame({"id": [ids["pending"]], "label": 0.5})),
    ),
    Case("tell no rows", "labels", lambda c, _: c.tell(frame([], []))),
    Case("tell an empty list", "labels", lambda c, _: c.tell([])),
    Case("tell None", "labels", lambda c, _: c.tell(None)),
    Case("tell numbers", "labels", lambda c, _: c.tell([0.5, 0.6])),
    Case("tell an empty file", "<tmp>/labels.csv", tell_an_empty_file),
    Case(
        "tell a missing file",
        "<tmp>/campaign/none.csv",
        lambda c, _: c.tell(c.path / "none.csv"),
    ),
    Case(
        "tell a missing JSON file",
        "<tmp>/campaign/none.json",
        lambda c, _: c.tell(str(c.path / "none.json")),
    ),
    Case("tell a task without id", "labels.id", lambda c, _: c.tell([{"data": {"text": "x"}}])),
    Case(
        "tell annotations that are none",
        "labels",
        lambda c, ids: c.tell([task(ids["pending"], annotations=3)]),
    ),
    Case(
        "tell disagreeing annotations",
        "labels",
        lambda c, ids: c.tell(
            [task(ids["pending"], annotations=[annotation(number=0.1), annotation(number=0.2)])]
        ),
    ),
    Case(
        "tell two choices",
        "labels",
        lambda c, ids: c.tell(
            [task(ids["pending"], annotations=[annotation(choices=["0", "1"])])]
        ),
    ),
    Case(
        "tell a box",
        "labels",
        lambda c, ids: c.tell([task(ids["pending"], annotations=[annotation(rectangle=3)])]),
    ),
    Case(
        "correct a row without label", "labels", lambda c, ids: c.correct({ids["pending"]: 0.5})
    ),
    Case("correct an unknown row", "labels", lambda c, ids: c.correct({"r99": 0.5})),
    Case("correct out of range", "labels.y", lambda c, ids: c.correct({ids["labelled"]: 2})),
    Case("skip an unknown row", "ids", lambda c, _: c.skip("r99")),
    Case(
        "skip a labelled row", "ids", lambda c, ids: c.skip([ids["pending"], ids["labelled"]])
    ),
    Case("skip an initial row", "ids", lambda c, _: c.skip("r1000")),
    Case("skip nothing", "ids", lambda c, _: c.skip([""])),
    Case("skip a frame", "ids", lambda c, _: c.skip(c.pending())),
    Case("fail a row that is not out", "ids", lambda c, ids: c.fail(ids["available"])),
    Case("ask for none", "n", lambda c, _: c.ask(0)),
    Case("ask for more than the budget", "n", lambda c, _: c.ask(17)),
    Case("plan for none", "n", lambda c, _: c.plan(0)),
    Case("forecast no rounds", "rounds", lambda c, _: c.forecast(0)),
    Case(
        "export to an unknown ending",
        "<tmp>/campaign/rows.doc",
        lambda c, _: c.export(c.path / "rows.doc"),
    ),
    Case(
        "export to nowhere",
        "<tmp>/campaign/no",
        lambda c, _: c.export(c.path / "no" / "rows.csv"),
    ),
    Case("export to a folder", "<tmp>/folder.csv", lambda c, _: c.export(export_folder(c))),
]


@by_id(USE)
def test_bad_input_changes_nothing(case, refused, begun, ids):
    before, files = small.dump(begun.path), files_in(begun.path)
    with refused(where=case.where, error=case.error, places=ids):
        case.action(begun, ids)
    assert small.dump(begun.path) == before
    assert files_in(begun.path) == files


def test_more_rows_than_the_pool_has_are_refused(refused, tmp_path):
    campaign = small.make(tmp_path / "campaign", budget=None)
    before = history(campaign)
    with refused(where="n"):
        campaign.ask(31)
    assert history(campaign) == before
