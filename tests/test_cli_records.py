"""Records as parameters of a command."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from labelwise.cli.records import with_records


@dataclass(frozen=True)
class Training:
    steps: Annotated[int, typer.Option(min=1, help="Of training.")]
    names: Annotated[list[str] | None, typer.Option("--name", help="Whose.")] = None


def _app() -> tuple[typer.Typer, list]:
    seen: list = []

    @with_records
    def fit(
        out: Annotated[str, typer.Argument()], training: Training, loud: bool = False
    ) -> None:
        """Learn."""
        seen.append((out, training, loud))

    app = typer.Typer()
    app.command()(fit)
    return app, seen


def test_fields_are_options_and_the_command_gets_the_record():
    app, seen = _app()
    given = ["there", "--steps", "3", "--name", "a", "--name", "b", "--loud"]
    assert CliRunner().invoke(app, given).exit_code == 0
    assert seen == [("there", Training(3, ["a", "b"]), True)]


def test_defaults_are_the_records():
    app, seen = _app()
    assert CliRunner().invoke(app, ["there", "--steps", "3"]).exit_code == 0
    assert seen == [("there", Training(3), False)]


@pytest.mark.parametrize("given", [["there"], ["there", "--steps", "0"]])
def test_a_field_without_default_is_required_and_bounds_hold(given: list[str]):
    app, seen = _app()
    assert CliRunner().invoke(app, given).exit_code == 2
    assert seen == []


def test_help_tells_of_every_field():
    app, _ = _app()
    told = CliRunner().invoke(app, ["--help"]).output
    assert all(part in told for part in ("--steps", "Of training.", "--name", "Learn."))
