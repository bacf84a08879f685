"""Which of many cases are tried only where there is time for everything."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def but_slow(names: Iterable[str], slow: Container[str]) -> list[Any]:
    """Names to parametrize by; those in `slow` are marked so."""
    mark = lambda name: [pytest.mark.slow] if name in slow else []
    return [pytest.param(name, id=name, marks=mark(name)) for name in names]
