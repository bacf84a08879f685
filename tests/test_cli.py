"""The command line: help without JAX, a demo, and refusals in one sentence."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from labelwise import __version__
from labelwise.cli.app import app

run = CliRunner().invoke


def test_help_starts_without_jax():
    code = (
        "import sys; from labelwise.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit('jax' in sys.modules or 'pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout


def test_every_command_has_help_and_an_example():
    for command in app.registered_commands:
        assert command.callback is not None
        assert "Example: labelwise" in (command.callback.__doc__ or "")


def test_the_version_is_printed():
    assert run(app, ["--version"]).stdout.strip() == f"labelwise {__version__}"


def test_the_demo_writes_a_figure_and_prints_json(tmp_path):
    done = run(app, ["demo", "--rounds", "2", "--out", str(tmp_path / "new"), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert set(found["policies"]) == {"random", "uncertainty-sequential", "lookahead"}
    spread = {name: outcome["std"] for name, outcome in found["policies"].items()}
    assert spread["lookahead"] < spread["uncertainty-sequential"] < spread["random"]
    assert (tmp_path / "new" / "demo.png").stat().st_size > 10_000
    assert (tmp_path / "new" / "demo.csv").read_text().count("\n") == 1 + 3 * 3


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    done = run(app, ["demo", "--out", str(tmp_path / "file" / "inside")])
    assert done.exit_code == 2
    assert "choose another --out" in done.stderr


@pytest.mark.parametrize("arguments", [["demo", "--rounds", "0"], ["demo", "--seed", "-1"]])
def test_options_out_of_range_are_refused(arguments):
    assert run(app, arguments).exit_code == 2
