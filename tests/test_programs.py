"""Programs that are kept: found again by another process, and never for something else."""

import os
import subprocess
import sys
import types
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from labelwise import programs
from labelwise.program_names import Unnamed, described
from labelwise.programs import SUFFIX, VERSIONS, Program


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where programs are kept, though tests have a cache of JAX's own."""
    monkeypatch.setitem(sys.modules, OWN.__name__, OWN)
    TRACES.clear()
    monkeypatch.setattr(programs, "kept_folder", lambda: tmp_path)
    return tmp_path


class Line(eqx.Module):
    slope: jax.Array
    name: str = eqx.field(static=True)


# As if it were one of Labelwise's own.
OWN = types.ModuleType("labelwise.lines")
Line.__module__, OWN.Line = OWN.__name__, Line
TRACES: list[str] = []


def new(factor=2.0):
    """A program that no process has used yet; it tells when it is traced."""

    def along(line, x, label=None):
        TRACES.append(line.name)
        return {"at": line.slope * x * factor, "line": line, "label": label}

    along.__module__ = OWN.__name__
    return Program(along)


LINE, X = Line(np.asarray(3.0), "first"), np.arange(4.0)


def kept(folder):
    return sorted(folder.glob(f"*/*{SUFFIX}"))


def test_a_second_process_finds_what_the_first_has_made(folder):
    made, found = (new()(LINE, X, label="a") for _ in range(2))
    assert len(TRACES) == len(kept(folder)) == 1
    assert_array_equal(made["at"], 6.0 * X)
    assert_array_equal(found["at"], 6.0 * X)
    assert found["line"].name == "first"
    assert found["label"] == "a"


def test_other_numbers_in_arrays_are_the_same_program_and_all_else_is_another(folder):
    one = new()
    one(LINE, X)
    assert_array_equal(one(LINE, X + 1)["at"], 6.0 * (X + 1))
    assert len(TRACES) == 1
    others = [
        (Line(LINE.slope, "second"), X),
        (LINE, np.arange(5.0)),
        (LINE, X, "b"),
        (LINE, X.astype(np.float32)),
    ]
    for count, given in enumerate(others, start=2):
        one(*given)
        assert len(TRACES) == len(kept(folder)) == count


def test_what_a_function_has_from_around_it_is_part_of_its_name(folder):
    assert_array_equal(new(2.0)(LINE, X)["at"], 6.0 * X)
    assert_array_equal(new(5.0)(LINE, X)["at"], 15.0 * X)


@pytest.mark.parametrize("harm", ["cut", "flip", "other"])
def test_a_file_that_is_not_as_it_was_written_is_made_anew(folder, harm):
    new()(LINE, X)
    (path,) = kept(folder)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    harmed = {"cut": bytes(content[:100]), "flip": bytes(content), "other": b"?"}
    path.write_bytes(harmed[harm])
    assert_array_equal(new()(LINE, X)["at"], 6.0 * X)
    assert len(TRACES) == 2
    new()(LINE, X)
    assert len(TRACES) == 2


def test_a_function_of_the_users_is_not_kept(folder):
    own = Program(lambda x: 2.0 * x)
    assert_array_equal(own(X), 2.0 * X)
    assert not kept(folder)


def test_inside_another_program_it_is_a_function_like_any_other(folder):
    along = new()
    slope = jax.grad(lambda x: along(LINE, x)["at"].sum())(jnp.asarray(X))
    assert_array_equal(slope, np.full(4, 6.0))
    assert not kept(folder)


def test_who_looks_into_programs_sees_every_step(folder):
    with jax.disable_jit():
        new()(LINE, X)
        new()(LINE, X)
    assert len(TRACES) == 2
    assert not kept(folder)


def test_few_versions_stay(folder, monkeypatch):
    for number in range(VERSIONS + 2):
        monkeypatch.setattr(programs, "surroundings", lambda number=number: (str(number),))
        new()(LINE, X)
        (newest,) = {path.parent for path in kept(folder)} - set(_aged(folder))
        os.utime(newest, (number, number))
    assert len(kept(folder)) == VERSIONS
    assert newest in {path.parent for path in kept(folder)}


def _aged(folder):
    return [path for path in folder.iterdir() if path.stat().st_mtime < 1e6]


@dataclass
class Other:
    """Not of Labelwise."""

    value: float = 1.0


ONE, TWO = (lambda x: x + 1), (lambda x: x + 2)
ONE.__module__ = TWO.__module__ = "labelwise.lines"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        ((1, 2), [1, 2]),
        ({"a": 1}, {"a": 2}),
        (np.zeros(3), np.zeros(4)),
        (np.zeros(3), np.zeros(3, np.float32)),
        (ONE, TWO),
        (jnp.float64, jnp.float32),
    ],
    ids=["number", "truth", "list", "value", "shape", "dtype", "function", "class"],
)
def test_what_differs_has_different_names(one, other):
    try:
        names = described(one), described(other)
    except Unnamed:
        pytest.fail("both have names")
    assert repr(names[0]) != repr(names[1])


@pytest.mark.parametrize("value", [Other(), object(), {1, 2}], ids=["class", "object", "set"])
def test_what_another_process_may_not_know_has_none(value):
    with pytest.raises(Unnamed):
        described(value)


SCRIPT = """
import labelwise.numerics
from labelwise.numerics import cholesky
from labelwise.programs import Program

def factor(matrix):
    print("traced")
    return cholesky(matrix)

factor.__module__ = "labelwise.lines"
import numpy as np
print(np.asarray(Program(factor)(np.diag([4.0, 9.0])))[1, 1])
"""


@pytest.mark.slow
def test_a_new_process_factorises_by_a_program_that_it_has_not_traced(tmp_path):
    """JAX finds the library for that while it lowers: a process that lowers nothing died."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    run = lambda: subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=env | {"LABELWISE_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert run() == ["traced", "3.0"]
    assert run() == ["3.0"]
