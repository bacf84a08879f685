"""Batches as Label Studio tasks, and its annotations as labels. Files only, no SDK.

A task carries `batch_id` and the row's id in its data, and comes back with them. The label is
read from the result named like the label column, or from the only one there is.
"""

from typing import TYPE_CHECKING, Any

from labelwise.errors import InvalidInput
from labelwise.tables.columns import Columns
from labelwise.tables.ids import as_ids
from labelwise.tables.numbers import as_numbers
from labelwise.tables.text import listed

if TYPE_CHECKING:
    import pandas as pd

BATCH = "batch_id"  # the column, and the field of a task, that says which batch it was


def write_tasks(batch: "pd.DataFrame", columns: Columns) -> list[dict[str, Any]]:
    """One task a row; the empty label column is left out."""
    both = [name for name in (columns.label, columns.second_label) if name is not None]
    rows = batch.drop(columns=both).astype(object)
    rows = rows.where(rows.notna(), None)
    return [
        {"data": {str(k): _plain(v) for k, v in row.items()}} for row in rows.to_dict("records")
    ]


def are_tasks(value: Any) -> bool:
    """Whether a value looks like Label Studio's export."""
    is_task = lambda task: isinstance(task, dict) and isinstance(task.get("data"), dict)
    return isinstance(value, list) and bool(value) and all(map(is_task, value))


def read_tasks(
    tasks: list[dict[str, Any]], columns: Columns
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """One row a task, of its id, batch id and label; and the ids of cancelled tasks."""
    rows, cancelled = [], []
    for number, task in enumerate(tasks, 1):
        data = task["data"]
        if columns.id not in data:
            raise InvalidInput(
                f"tell: task {number} has no {columns.id!r} in its data",
                "export the tasks that Labelwise wrote",
                where=f"labels.{columns.id}",
            )
        id_, made = data[columns.id], _annotations(task, number)
        given = [annotation for annotation in made if not annotation.get("was_cancelled")]
        if made and not given:
            cancelled += as_ids(id_, f"tell: task {number}", f"labels.{columns.id}")
        both = [name for name in (columns.label, columns.second_label) if name is not None]
        labels = {name: _label(given, name, id_, alone=len(both) == 1) for name in both}
        rows.append({columns.id: id_, BATCH: data.get(BATCH), **labels})
    return rows, tuple(cancelled)


def _annotations(task: dict[str, Any], number: int) -> list[dict[str, Any]]:
    made = task.get("annotations") or []
    objects = lambda values: (
        isinstance(values, list) and all(isinstance(value, dict) for value in values)
    )
    results = lambda annotation: annotation.get("result") or []
    if not objects(made) or not all(objects(results(annotation)) for annotation in made):
        raise InvalidInput(
            f"tell: the annotations of task {number} are not as Label Studio writes them",
            "export the tasks again, as JSON",
            where="labels",
        )
    return made


def _label(annotations: list[dict[str, Any]], name: str, id_: Any, alone: bool) -> Any:
    """The value of a name; `alone` says that the only result there is may have another."""
    values = {
        _value(result, id_)
        for annotation in annotations
        for result in _named(annotation.get("result") or [], name, alone)
    } - {None}
    if len(values) > 1:
        raise InvalidInput(
            f"tell: annotations of {id_} disagree ({', '.join(sorted(map(str, values)))})",
            "settle on one",
            where="labels",
        )
    return values.pop() if values else None


def _named(results: list[dict[str, Any]], name: str, alone: bool) -> list[dict[str, Any]]:
    ours = [result for result in results if result.get("from_name") == name]
    return ours or (results if alone and len(results) == 1 else [])


def _value(result: dict[str, Any], id_: Any) -> Any:
    value = result.get("value")
    for kind in ("number", "rating", "choices", "text"):
        if isinstance(value, dict) and kind in value:
            return _single(value[kind], kind, id_)
    raise InvalidInput(
        f"tell: the annotation of {id_} holds no number, rating, choice or text",
        "use one of these controls for the label",
        where="labels",
    )


def _single(given: Any, kind: str, id_: Any) -> Any:
    values = given if isinstance(given, list) else [given]
    if len(values) > 1:
        raise InvalidInput(
            f"tell: the annotation of {id_} holds several {kind} ({listed(values)})",
            "leave one",
            where="labels",
        )
    value = values[0] if values else None  # nothing was chosen: no label yet
    if isinstance(value, bool | int | float):
        return float(as_numbers([value])[0])  # of hundreds of digits: infinite
    return value if value is None else str(value)


def _plain(value: Any) -> Any:
    """numpy's numbers as Python's; dates as text."""
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, str | int | float | bool | None) else str(value)
