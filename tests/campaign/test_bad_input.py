"""Bad input is refused in one line, whatever way it comes; commands that are stopped stop."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from labelwise.cli.app import app
from labelwise.errors import InvalidInput, StoreError
from labelwise.tables import bytes as tables_bytes
from labelwise.tables.leftovers import take_away_all, temporary
from labelwise.tables.numbers import as_numbers
from tests.campaign import fuzz, small
from tests.campaign.conftest import open_campaign

ROOT = Path(__file__).parents[2]
INPUTS = 60  # of each verb; the slow lane has the rest of a thousand


@pytest.fixture(autouse=True)
def as_users(unchecked):
    """Users' mistakes must reach our own messages."""


@pytest.fixture
def out(campaign):
    """A campaign and the ids of its first batch."""
    return campaign, list(campaign.ask()["id"])


def refused_in_one_line(*words, stdin: bytes | None = None) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert done.exit_code == 2, (done.exit_code, done.output)
    (line,) = done.stderr.strip().splitlines()
    assert "failed" not in line
    return line


def test_durations_are_no_numbers(out, tmp_path):
    campaign, ids = out
    days = np.array([1, 2, 3], "timedelta64[D]").astype("timedelta64[us]")
    assert np.isnan(as_numbers(list(days))).all()
    assert np.isnan(as_numbers(days)).all()
    for unit in ("s", "us", "ns"):
        labels = pa.array([1, 2, 3], pa.duration(unit))
        pq.write_table(pa.table({"id": ids, "y": labels}), tmp_path / "back.parquet")
        line = refused_in_one_line("tell", campaign.path, tmp_path / "back.parquet")
        assert "labels are numbers" in line


@pytest.mark.parametrize("column", ["a", "psi", "y"])
def test_a_campaign_is_not_made_of_durations(column, tmp_path, refused):
    tables = small.make_tables()
    days = pd.to_timedelta(range(small.LABELLED), unit="D")
    tables["labelled"] = tables["labelled"].assign(**{column: days})
    with refused(where=f"labelled.{column}"):
        small.make(tmp_path / "campaign", **tables)


def test_predictions_that_are_texts_make_no_campaign(tmp_path, refused):
    tables = small.make_tables()
    tables["labelled"] = tables["labelled"].assign(psi="seven")
    with refused(where="labelled.psi"):
        small.make(tmp_path / "campaign", **tables | {"predictor_in_belief": True})


def test_a_key_that_stands_twice_is_refused(out, tmp_path):
    campaign, ids = out
    for name, text in {
        "back.json": f'[{{"id": "{ids[0]}", "y": 0.1, "y": 0.2}}]',
        "back.jsonl": f'{{"id": "{ids[0]}", "y": 0.1, "y": 0.2}}',
    }.items():
        (tmp_path / name).write_text(text)
        line = refused_in_one_line("tell", campaign.path, tmp_path / name)
        assert "two values for 'y'" in line
    line = refused_in_one_line("tell", campaign.path, "-", stdin=text.encode())
    assert "two values for 'y'" in line


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_label_of_hundreds_of_digits_is_infinite(digits, out):
    campaign, ids = out
    text = json.dumps([{"id": ids[0], "y": 0}]).replace(": 0", f": {'9' * digits}")
    assert "is infinite" in refused_in_one_line("tell", campaign.path, "-", stdin=text.encode())


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_only_utf8_is_read_from_standard_input(encoding, out):
    campaign, _ = out
    stdin = "id,y\né,1\n".encode(encoding)
    assert "is not UTF-8 text" in refused_in_one_line("tell", campaign.path, "-", stdin=stdin)


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "\\ud800", "y": 1}]',
        '[{"id\\ud800": "a", "y": 1}]',
        '[{"id": "a", "y": "\\udc80"}]',
        "[" * 100_000,
        '[{"id": "a\\u0000b\\n", "y": 1}]',
    ],
    ids=["id", "column", "label", "deep", "control"],
)
def test_what_is_no_text_gets_a_line(text, out):
    campaign, _ = out
    refused_in_one_line("tell", campaign.path, "-", stdin=text.encode())


def test_arguments_that_are_no_text_get_a_line(out, tmp_path):
    campaign, _ = out
    words = [b"skip", os.fsencode(campaign.path), b"r\xff", b"--reason", b"\xff"]
    done = labelwise(*words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "\\udcff" in done.stderr
    done = labelwise(b"status", os.fsencode(tmp_path) + b"/\xff")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def labelwise(*words: bytes | str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "labelwise", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_a_reason_that_is_no_text_is_refused(begun, refused):
    for name in ("skip", "fail"):
        with refused(where="reason"):
            getattr(begun, name)("r7", "torn \udcff")
    with refused(where="reason"):
        begun.correct({"r7": 0.5}, "torn \udcff")


def test_ids_that_are_no_text_make_no_campaign(tmp_path, refused):
    tables = small.make_tables()
    ids = tables["pool"]["id"].astype(object)
    tables["pool"]["id"] = ids.where(ids != "r3", "r\udcff")
    with refused(where="pool.id"):
        small.make(tmp_path / "campaign", **tables)
    assert not list(tmp_path.iterdir())


def test_sentences_are_one_line_however_long_what_they_quote(begun):
    long = "x" * 100_000
    line = refused_in_one_line("skip", begun.path, long, "two\nlines\r\u2028 and more")
    assert len(line) < 600
    error = InvalidInput(f"what {long} is", f"do {long}", where="here")
    assert len(str(error)) < 1100
    assert str(error).endswith("x.")


@pytest.mark.parametrize(
    "words", [["status", "{}"], ["tell", "{camp}", "{}"], ["backup", "{camp}", "{}"]]
)
def test_names_that_no_file_can_have_get_a_line(words, begun):
    long = "x" * 300 + ".csv"
    line = refused_in_one_line(*(word.format(long, camp=begun.path) for word in words))
    assert "is too long" in line


def test_a_pipe_that_nobody_writes_to_is_given_up(out, tmp_path, monkeypatch, refused):
    campaign, _ = out
    os.mkfifo(tmp_path / "back.csv")
    monkeypatch.setattr(tables_bytes, "PATIENCE", 0.3)
    with refused(where="<tmp>/back.csv"):
        campaign.tell(tmp_path / "back.csv")


def test_a_pipe_is_read_to_its_end(out, tmp_path):
    campaign, ids = out
    pipe = tmp_path / "back.csv"
    os.mkfifo(pipe)

    def write():
        with open(pipe, "w") as file:
            file.write(f"id,y\n{ids[0]},0.25\n")
            file.flush()
            time.sleep(0.3)
            file.write(f"{ids[1]},0.5\n")

    writer = threading.Thread(target=write)
    writer.start()
    assert campaign.tell(pipe).new == 2
    writer.join()


# What a command does once it may be stopped, and until then.
# Tests that run in the background may have been told to ignore interruptions; this does not.
STOPPED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from labelwise.cli import main
from labelwise.cli.signals import end_in_one_word
end_in_one_word()
print("ready", flush=True)
sys.argv[0] = "labelwise"
main()
"""


def stopped(words: list[str], number: int, after: float) -> tuple[int, str]:
    """How a command ends that is told to stop."""
    command = [sys.executable, "-c", STOPPED, *words]
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(after)
    child.send_signal(number)
    return child.wait(), child.communicate()[1]


# What is in the making cannot be taken away, and nobody reads what is said.
UNWILLING = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from labelwise.cli.signals import end_in_one_word
from labelwise.tables import leftovers
end_in_one_word()
leftovers.take_away_all = lambda: os.unlink("nowhere")
os.close(2) if {closed} else None
os.kill(os.getpid(), signal.SIG{name})
"""


@pytest.mark.parametrize("closed", [False, True], ids=["heard", "unheard"])
@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143)])
def test_a_command_that_cannot_clean_up_ends_all_the_same(name, code, closed):
    command = [sys.executable, "-c", UNWILLING.format(name=name, closed=closed)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == code
    assert done.stderr in ("", "Interrupted.\n", "Terminated.\n")
    assert closed or done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_command_that_is_stopped_says_one_word(number, out, tmp_path):
    campaign, ids = out
    (tmp_path / "back.csv").write_text("id,y\n" + "".join(f"{one},0.5\n" for one in ids))
    codes = []
    for after in np.linspace(0.0, 0.6, 12):
        folder = shutil.copytree(campaign.path, tmp_path / f"{after}")
        code, said = stopped(["tell", str(folder), str(tmp_path / "back.csv")], number, after)
        word = {signal.SIGINT: "Interrupted.\n", signal.SIGTERM: "Terminated.\n"}[number]
        assert (code, said) in [(0, ""), (128 + number, word)]
        assert open_campaign(folder).status().pool["labelled"] in (0, 3)
        codes.append(code)
    assert 128 + number in codes


@pytest.mark.slow
def test_a_new_campaign_that_is_stopped_or_killed_leaves_nothing_for_long(tmp_path):
    for name, table in small.make_tables().items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    place = tmp_path / "place"
    place.mkdir()
    words = ["new", str(place / "audit"), "--id", "id", "--label", "y", "--prediction", "psi"]
    words += [f"--{name}={tmp_path / name}.csv" for name in small.make_tables()]
    for after in (0.05, 1.0, 2.0):
        code, said = stopped(words, signal.SIGTERM, after)
        assert (code, said) == (143, "Terminated.\n") or code == 0
        assert [one.name for one in place.iterdir()] in ([], ["audit"])
        shutil.rmtree(place / "audit", ignore_errors=True)


def test_what_a_killed_new_left_is_swept_by_the_next(tmp_path):
    left = tmp_path / ".campaign.abcd1234"
    (left / "tables").mkdir(parents=True)
    (left / "making").touch()
    other = tmp_path / ".campaign.notes123"
    other.mkdir()
    (other / "making").touch()
    (other / "diary.txt").write_text("not ours")
    small.make(tmp_path / "campaign")
    assert sorted(one.name for one in tmp_path.iterdir()) == [other.name, "campaign"]


def test_what_another_process_is_making_is_left_alone(tmp_path):
    from labelwise.campaign.store.turns import owned

    left = tmp_path / ".campaign.abcd1234"
    (left / "tables").mkdir(parents=True)
    (left / "making").touch()
    with owned(left / "making") as ours:
        assert ours
        small.make(tmp_path / "campaign")
        assert left.is_dir()


def test_what_is_in_the_making_is_taken_away_at_the_end(tmp_path):
    with temporary(tmp_path / "half"):
        (tmp_path / "half").mkdir()
        (tmp_path / "half" / "a").touch()
        take_away_all()
        assert not (tmp_path / "half").exists()
    take_away_all()  # of nothing


@pytest.mark.parametrize("verb", ["tell", "new"])
def test_spoilt_tables_are_taken_or_refused_in_one_line(verb, tmp_path):
    found = fuzz.fuzz(tmp_path, verb, INPUTS)
    assert min(found["accepted"], found["refused"]) > 5


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["tell", "new"])
def test_a_thousand_spoilt_tables_are_taken_or_refused_in_one_line(verb, tmp_path):
    assert fuzz.fuzz(tmp_path, verb, 1000 - INPUTS, start=INPUTS).total() == 1000 - INPUTS


def test_the_fuzzer_sees_what_is_wrong(tmp_path, monkeypatch):
    """It would be of no use otherwise."""

    def fail(*_, **__):
        raise KeyError("unforeseen")

    fuzzer = fuzz.Fuzzer(tmp_path)
    monkeypatch.setattr("labelwise.campaign.campaign.Campaign.tell", fail)
    monkeypatch.setattr("labelwise.campaign.campaign.Campaign.correct", fail)
    with pytest.raises(AssertionError, match="exit 1"):
        fuzzer.tell(0)


def test_a_store_error_is_one_line_too():
    assert "\n" not in str(StoreError("a\nb", "c\nd"))
