"""A pass: the same whoever works on it, in whatever files; resumed; and what it refuses."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from labelwise.pools.checks import Checks
from labelwise.pools.engine import Dask, Threads, in_order
from labelwise.pools.first_phase import STRATUM, allocate
from labelwise.pools.passes import Looking, Passing, Taking, look, take, upto
from labelwise.pools.source import Source, open_source
from labelwise.pools.strata import Strata, cut
from labelwise.pools.tally import to_parts
from tests.pools.tables import columns, write

CHECKS = Checks(full=("id",), numbers=("score",), finite=("a", "b"))


def sample(source: Source, passing: Passing, by: tuple[str, ...] = ("kind",)):
    """The sample and the tally, as a campaign takes them."""
    looking = Looking(source.only(["score", *by]), "score", by, CHECKS)
    groups, bins, counts = look(looking, passing).table()
    edges = cut(bins, counts.sum(axis=0).astype(float), 5)
    strata = Strata("score", edges, by, groups if by else ())
    part = np.searchsorted(np.array(edges), bins, side="right")
    place = np.arange(len(groups))[:, None] * (len(edges) + 1) + part
    rows = np.bincount(place.ravel(), counts.ravel(), strata.count).astype(int)
    sizes = allocate(rows, np.linspace(1.0, 2.0, len(rows)), 400)
    taking = Taking(source, "id", 5, strata, upto(rows, sizes), ("a", "b", "kind"), CHECKS)
    return take(taking, rows, sizes, passing)


def same(found, other) -> bool:
    return alike(found[0], other[0]) and to_parts(found[1]) == to_parts(other[1])


def alike(found: pa.Table, other: pa.Table) -> bool:
    """To the last bit; to Arrow a cell that is no number is unlike itself."""
    return found.to_pandas().equals(other.to_pandas())


def test_any_number_of_threads_finds_the_same(tmp_path):
    source = open_source(write(tmp_path / "pool"), "pool")
    first = sample(source, Passing(Threads(1)))
    assert all(same(sample(source, Passing(Threads(jobs))), first) for jobs in (2, 4))


@pytest.mark.slow
def test_processes_of_dask_find_the_same(tmp_path):
    source = open_source(write(tmp_path / "pool"), "pool")
    first = sample(source, Passing(Threads(1)))
    assert all(same(sample(source, Passing(Dask("local", jobs))), first) for jobs in (1, 2, 4))


def test_the_same_rows_are_drawn_however_the_pool_is_cut_into_files(tmp_path):
    found = [
        sample(open_source(write(tmp_path / f"{files}", files, group), "pool"), Passing())[0]
        for files, group in ((1, 6000), (3, 700), (7, 100))
    ]
    assert alike(found[0], found[1])
    assert alike(found[0], found[2])


def test_rows_of_the_sample_are_rows_of_the_pool_in_their_stratum(tmp_path):
    source = open_source(write(tmp_path / "pool"), "pool")
    found = sample(source, Passing())[0]
    frame = pa.table(columns()).to_pandas().set_index("id")
    drawn = found.to_pandas().set_index("id")
    for name in ("a", "kind", "score"):
        assert (drawn[name] == frame.loc[drawn.index, name]).all()
    by_stratum = drawn.groupby(STRATUM)["kind"].nunique()
    assert (by_stratum == 1).all()


class Dying:
    """An engine that is killed after some pieces."""

    def __init__(self, pieces: int):
        self.left, self.ran = pieces, []

    def run(self, function, pieces):
        for piece in pieces:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            self.ran.append(piece.number)
            yield piece.number, function(piece)


def test_a_pass_that_was_killed_goes_on_where_it_was(tmp_path):
    source = open_source(write(tmp_path / "pool"), "pool")
    keep = tmp_path / "pass"
    first = sample(source, Passing(Threads(1)))
    with pytest.raises(KeyboardInterrupt):
        sample(source, Passing(Dying(len(source.pieces) + 4), keep))
    going_on = Dying(1000)
    assert same(sample(source, Passing(going_on, keep)), first)
    looked = len(source.pieces)
    assert going_on.ran[looked:] == list(range(4, looked))


def test_a_pass_over_other_files_starts_anew(tmp_path):
    keep = tmp_path / "pass"
    source = open_source(write(tmp_path / "pool"), "pool")
    sample(source, Passing(Threads(1), keep))
    os.utime(Path(source.files[0]), ns=(1, 1))
    changed = Dying(1000)
    sample(open_source(tmp_path / "pool", "pool"), Passing(changed, keep))
    assert len(changed.ran) == 2 * len(source.pieces)


def test_ids_that_occur_twice_are_named_with_their_files(tmp_path, refused):
    ids = columns()["id"].copy()
    ids[5500] = 3
    source = open_source(write(tmp_path / "pool", id=ids), "pool")
    with refused(where="pool.id") as error:
        sample(source, Passing())
    assert "id 3 " in error.value.what
    assert "part-0.parquet" in error.value.what
    assert "part-2.parquet" in error.value.what


def test_an_empty_output_is_named_with_its_file(tmp_path, refused):
    score = columns()["score"].copy()
    score[4500] = np.nan
    source = open_source(write(tmp_path / "pool", score=score), "pool")
    with refused(where="pool.score") as error:
        sample(source, Passing())
    assert "part-2.parquet" in error.value.what


def test_cells_that_no_row_may_have_are_refused(tmp_path, refused):
    source = open_source(write(tmp_path / "pool"), "pool")
    for changed, where in (
        (Checks(positive=("a",)), "pool.a"),
        (Checks(empty=("kind",)), "pool.kind"),
        (Checks(full=("b",)), "pool.b"),
        (Checks(numbers=("kind",)), "pool.kind"),
    ):
        looking = Looking(source, "score", (), changed)
        with refused(where=where):
            look(looking, Passing(Threads(1)))


def test_what_comes_in_any_order_is_put_in_order():
    came = [(2, "c"), (0, "a"), (3, "d"), (1, "b")]
    assert list(in_order(came, [0, 1, 2, 3])) == ["a", "b", "c", "d"]


def test_an_error_of_one_piece_ends_the_pass(tmp_path, refused):
    source = open_source(write(tmp_path / "pool"), "pool")
    with refused(where="pool.id"):
        sample(replace(source), Passing(Threads(2), None, _refuse_at_three))


def _refuse_at_three(done: int, total: int) -> None:
    from labelwise.errors import InvalidInput

    if done == 3:
        raise InvalidInput("three pieces are done", "stop", where="pool.id")


@pytest.mark.slow  # it waits for an answer
def test_a_scheduler_that_does_not_answer_is_refused(refused):
    with refused(where="--scheduler"):
        list(Dask("tcp://127.0.0.1:9", 1).run(len, ()))  # type: ignore[arg-type]


class Killing:
    """Ends the process that works on piece 2, the first time."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __call__(self, piece):
        if piece.number == 2 and not self.mark.exists():
            self.mark.touch()
            os._exit(1)
        return piece.number * 10


@pytest.mark.slow
def test_a_piece_whose_worker_died_is_given_to_another(tmp_path):
    source = open_source(write(tmp_path / "pool"), "pool")
    mark = tmp_path / "died"
    found = dict(Dask("local", 2).run(Killing(mark), source.pieces))
    assert mark.exists()
    assert found == {piece.number: piece.number * 10 for piece in source.pieces}
