"""Fields of records that check what is put into them, by name."""

from collections.abc import Collection
from dataclasses import MISSING
from typing import Any, get_args

import equinox as eqx

from labelwise.errors import InvalidInput
from labelwise.inputs import as_count, as_scalar


def choice(name: str, options: Any, default: str) -> Any:
    """One of the words of a `Literal`."""
    check = lambda value: check_choice(name, value, options)
    return eqx.field(static=True, default=default, converter=check)


def check_choice(name: str, value: Any, options: Any) -> Any:
    """The value, if it is one of the words."""
    if value not in get_args(options):
        listed = ", ".join(get_args(options))
        raise InvalidInput.must(name, f"be one of {listed}", f"it is {value!r}")
    return value


def count(name: str, default: Any = MISSING, least: int = 1) -> Any:
    """A whole number; or nothing, where that is the default."""
    check = lambda value: None if value is default is None else as_count(name, value, least)
    return eqx.field(static=True, default=default, converter=check)


def number(name: str, default: float | None, strict: bool = False) -> Any:
    """A plain number at or (`strict`) above 0, or nothing where that is the default.

    No array: those may be traced.
    """

    def check(value: Any) -> float | None:
        if value is default is None:
            return None
        plain = float(value)
        if plain > 0.0 or (plain == 0.0 and not strict):
            return plain
        bound = f"{'greater than' if strict else 'at least'} 0"
        raise InvalidInput.must(name, f"be {bound}", f"it is {plain:g}")

    return eqx.field(static=True, default=default, converter=check)


def scalar(name: str, default: float, strict: bool = False) -> Any:
    """A number at or (`strict`) above 0 that may be traced, and differentiated in."""
    check = lambda value: as_scalar(name, value, low=0.0, strict=strict)
    return eqx.field(default=default, converter=check)


def check_known(whose: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse options that there are not."""
    if strange := sorted(set(given) - set(known)):
        raise InvalidInput(
            f"{whose} has no option {strange[0]!r}",
            f"it has {', '.join(sorted(known))}",
            where=strange[0],
        )
