"""Settings that cannot be read are refused in one line, on the command line and in a file."""

import os
from pathlib import Path

import pytest

from labelwise.tables import bytes as tables_bytes
from tests.campaign import small
from tests.campaign.test_bad_input import refused_in_one_line

BAD_SETTINGS = {
    "twice": 'limits.stop={"width": 0.1, "width": 0.2}',
    "endless": f"limits.budget={'9' * 5000}",
    "deep": f"limits.budget={'[' * 100_000}",
    "long": f"limits.budget={'x' * 100_000}",
}
BAD_FILES = {
    "twice": b"[limits]\nbudget = 1\nbudget = 2\n",
    "endless": b"[limits]\nbudget = " + b"9" * 5000,
    "deep": b"seed = " + b"[" * 100_000,
    "latin-1": b'[columns]\nlabel = "\xe9"\n',
    "nul": b"seed = 1\n\x00",
}


def new_words(folder: Path) -> list[str]:
    """A campaign that could be made."""
    words = ["new", str(folder / "made"), "--id", "id", "--label", "y", "--prediction", "psi"]
    for name, table in small.make_tables().items():
        table.to_csv(folder / f"{name}.csv", index=False)
        words += [f"--{name}", str(folder / f"{name}.csv")]
    return words


@pytest.mark.parametrize("how", BAD_SETTINGS)
def test_a_bad_setting_is_refused_in_one_line(how, tmp_path):
    line = refused_in_one_line(*new_words(tmp_path), "--set", BAD_SETTINGS[how])
    assert len(line) < 1100
    assert how != "twice" or "two values for 'width'" in line
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("how", BAD_FILES)
def test_a_bad_file_of_settings_is_refused_in_one_line(how, tmp_path):
    (tmp_path / "audit.toml").write_bytes(BAD_FILES[how])
    line = refused_in_one_line(*new_words(tmp_path), "--config", tmp_path / "audit.toml")
    assert "audit.toml" in line


def test_settings_that_nobody_writes_into_a_pipe_are_given_up(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "audit.toml")
    monkeypatch.setattr(tables_bytes, "PATIENCE", 0.3)
    line = refused_in_one_line(*new_words(tmp_path), "--config", tmp_path / "audit.toml")
    assert line.startswith("Nobody has written to the pipe")
