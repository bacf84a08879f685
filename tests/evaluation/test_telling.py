"""An evaluation without a folder: made from tables, and told only what can be."""

from functools import cache

import numpy as np
import pytest

import labelwise as lw
from tests.test_cli import make_rows


@cache
def evaluation():
    labelled, pool = make_rows(20, 0.6, 0, 1), make_rows(40, 1.2, 100, 2)
    columns = lw.Columns(id="id", label="y", prediction="guess", label_range=(-50.0, 50.0))
    tables = lw.Tables(labelled, pool.drop(columns="y"))
    return lw.Evaluation.of(tables, columns, "mse", belief={"name": "gp", "components": 1})


@cache
def first():
    return evaluation().ask(3)


@cache
def told():
    return evaluation().tell(first(), {first().rows[0]: 0.5})


def test_labels_come_by_row_or_one_a_row_of_the_round():
    rows = first().rows
    by_row = evaluation().tell(first(), {rows[0]: 0.5, rows[2]: 1.5})
    in_order = evaluation().tell(first(), [0.5, None, 1.5])
    assert by_row.state.labels == in_order.state.labels == {rows[0]: 0.5, rows[2]: 1.5}
    assert set(by_row.state.pending) == {rows[1]}


def test_what_comes_late_joins_its_round():
    after = told().tell(first(), {first().rows[1]: 0.25})
    assert after.state.labels == {first().rows[0]: 0.5, first().rows[1]: 0.25}
    assert len(after.rounds) == 1
    assert told().tell(first(), {first().rows[0]: 0.5}).state.labels == told().state.labels


@pytest.mark.parametrize(
    "labels",
    [
        lambda rows: {-1: 0.5},
        lambda rows: {max(set(range(40)) - set(rows)): 0.5},
        lambda rows: [0.5],
        lambda rows: {rows[0]: np.nan},
        lambda rows: {rows[0]: 51.0},
        lambda rows: {rows[0]: 0.75},
    ],
    ids=["no row", "another row", "too few", "not a number", "out of range", "another label"],
)
def test_what_cannot_be_is_refused(labels, refused):
    with refused(where="labels"):
        told().tell(first(), labels(first().rows))


def test_a_round_of_another_state_is_refused(refused):
    other = evaluation().ask(4)
    with refused(where="round_"):
        told().tell(other, {other.rows[0]: 0.5})
