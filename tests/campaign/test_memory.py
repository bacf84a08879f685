"""Too little memory ends in a sentence, and nothing is changed."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from labelwise.cli import memory
from labelwise.cli.app import app
from tests.campaign import small
from tests.campaign.test_bad_settings import new_words

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes."),
        ImportError("libx.so: failed to map segment from shared object"),
    ],
    ids=["python", "jax", "loader"],
)
def test_too_little_memory_ends_in_a_sentence(error, begun, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr("labelwise.campaign.campaign.Campaign.status", fail)
    done = CliRunner().invoke(app, ["status", str(begun.path)])
    assert done.exit_code == 1
    assert done.stderr.startswith("There is not enough memory;")


@pytest.mark.slow
def test_too_little_memory_to_read_a_command_ends_in_a_sentence(begun):
    """Under such limits Python itself runs, and not all of what reads a command's words."""
    sentences = 0
    for limit in (25_000, 30_000, 35_000, 45_000, 60_000):
        words = f"ulimit -v {limit}; exec {sys.executable} -m labelwise status {begun.path}"
        done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, cwd=ROOT)
        if "There is not enough memory;" in done.stderr:
            assert (done.returncode, done.stderr.count("\n")) == (1, 1)
            sentences += 1
        elif done.returncode:  # then it was Python that could not start
            assert "labelwise/cli" not in done.stderr, done.stderr
    assert sentences > 0


@pytest.mark.parametrize("verb", ["new", "ask", "estimate", "report", "verify", "tell"])
def test_jax_is_not_started_under_a_limit_that_it_would_break(
    verb, begun, tmp_path, monkeypatch
):
    """Its libraries would end the process in words of their own, such as "LLVM ERROR"."""
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (1 << 30, 1 << 30))
    (tmp_path / "back.csv").write_text("id,y\n" + "".join(begun.pending()["id"]) + ",0.5\n")
    words, before = [verb, str(begun.path)], small.dump(begun.path)
    words = new_words(tmp_path) if verb == "new" else words
    words += [str(tmp_path / "back.csv"), "--ask"] if verb == "tell" else []
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert done.stderr.startswith("There is not enough memory: only 1024 MB of addresses")
    assert done.stderr.count("\n") == 1
    assert small.dump(begun.path) == before
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("limit", [-1, 3 << 30])
def test_wide_limits_are_no_limits(limit, monkeypatch):
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (limit, limit))
    memory.check_room()
