"""What every file of refusals shares: cases, and what must stay as it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from labelwise.errors import InvalidInput, LabelwiseError
from tests.campaign import small


class Case(NamedTuple):
    """What is done, and what the error must say is at fault."""

    id: str
    where: str
    action: Callable[..., Any]
    error: type[LabelwiseError] = InvalidInput


def by_id(cases: list[Case]):
    return pytest.mark.parametrize("case", cases, ids=[case.id for case in cases])


def check_not_made(case: Case, refused, folder: Path) -> None:
    """No campaign is made with the options that the case gives, and nothing is left of it."""
    inputs, place = folder / "inputs", folder / "place"
    inputs.mkdir()
    place.mkdir()
    changes = case.action(inputs)
    with refused(where=case.where, error=case.error):
        small.make(place / "campaign", **changes)
    assert list(place.iterdir()) == []


def files_in(folder: Path) -> list[str]:
    """Names of all files; SQLite's own come and go."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return sorted(one for one in found if not one.endswith(("-wal", "-shm")))


def history(campaign) -> dict[str, list[tuple]]:
    """The log without what is computed from it, which may be kept at any time."""
    tables = small.dump(campaign.path)
    return {name: tables[name] for name in ("documents", "items", "rounds", "events")}
