"""What every command shares: options, printing, and exit codes.

0 is success, 2 the user's input, 1 anything else. People get tables on standard output and
messages on standard error; `--json` gives programs one JSON value on standard output, or an
error as one on standard error.
"""

import errno
import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from labelwise.cli.memory import check_room, out_of_memory
from labelwise.errors import InvalidInput, LabelwiseError
from labelwise.tables.text import cut, plain

CampaignPath = Annotated[
    Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Reason = Annotated[str | None, typer.Option(help="Why, for the history.")]

messages = Console(stderr=True)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Errors in one sentence, with the exit code that says whose they are."""

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        as_json = options.get("as_json", False)
        try:
            function(*arguments, **options)
        except typer.Exit:
            raise
        except InvalidInput as error:
            _fail(error, 2, as_json)
        except LabelwiseError as error:
            _fail(error, 1, as_json)
        except BrokenPipeError:
            # Whoever read our output has enough of it: `labelwise ask … | head`.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except Exception as error:
            if os.environ.get("LABELWISE_DEBUG"):
                raise
            told = _unforeseen(error)
            _fail(told, 2 if isinstance(told, InvalidInput) else 1, as_json)

    return run


def _unforeseen(error: Exception) -> LabelwiseError:
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        name = cut(str(error.filename))
        return InvalidInput(f"The name {name} is too long", "give a shorter one", where=name)
    return out_of_memory(error) or LabelwiseError(
        f"Labelwise failed ({type(error).__name__}: {error})",
        "run again with LABELWISE_DEBUG=1 to see where, and report it",
    )


def _fail(error: LabelwiseError, code: int, as_json: bool) -> None:
    if as_json:
        fields = {name: getattr(error, name) for name in ("what", "where", "remedy")}
        told = {"error": fields | {"message": str(error)}}
        print(json.dumps(told, ensure_ascii=False), file=sys.stderr)
    else:
        messages.print(str(error), style="red", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(code)


def print_json(value: Any) -> None:
    """One JSON value; numbers that JSON does not know are written as null."""
    json.dump(_known_to_json(value), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def say(text: str, style: str | None = None) -> None:
    """A line for people."""
    Console().print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def warn(warnings: Iterable[str]) -> None:
    """What one must know before trusting what was just printed."""
    for warning in warnings:
        say(f"warning: {warning}", style="yellow")


def show(table: Table) -> None:
    Console().print(table)


@contextmanager
def working(text: str) -> Iterator[None]:
    """A sign of life while something takes more than a moment."""
    with messages.status(text):
        yield


def open_campaign(path: Path):
    """Open a campaign that is to reason; the first import of JAX takes a moment."""
    from labelwise.campaign.campaign import Campaign

    campaign = Campaign.open(path)  # refuses at once what is no campaign
    check_room()
    with working("starting"):
        import_module("labelwise.evaluation.evaluation")
    return campaign


def point_out_clock(campaign: Any) -> None:
    """Say so if the time is odd."""
    odd = campaign.odd_clock()
    warn([] if odd is None else [odd])


def as_text(value: Any) -> str:
    """A value as people write it."""
    return plain(value) if isinstance(value, float) else str(value)


def plural(many: int, word: str) -> str:
    """'1 row', '2 rows'."""
    return f"{many} {word}" if many == 1 else f"{many} {word}s"


def when(at: str) -> str:
    """A time of the log, to the minute."""
    return at[:16].replace("T", " ") + " UTC"


def _known_to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _known_to_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_known_to_json(inner) for inner in value]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return str(value) if isinstance(value, Path) else value
