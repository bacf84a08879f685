"""Small texts about rows, and texts that a spreadsheet must not run."""

import math
from typing import Any

# What makes a spreadsheet take a cell for a formula, full-width forms included.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
MOST = 5  # ids named in one message
LONGEST = 60  # characters of each


def listed(ids: Any) -> str:
    """Write 'a', 'a, b', 'a, b, c, d, e and 40 more'."""
    texts = [cut(str(name)) for name in ids]
    tail = f" and {len(texts) - MOST} more" if len(texts) > MOST else ""
    return ", ".join(texts[:MOST]) + tail


def cut(text: str) -> str:
    """Cut what is too long to be read in a message."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def is_text(value: Any) -> bool:
    """Whether it is text that a file can hold: half of a UTF-16 pair is none."""
    try:
        return isinstance(value, str) and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def name_rows(indices: Any) -> str:
    """Write 'row 3', 'rows 3, 7', 'rows 3, 7, 9, 11, 12 and 40 more'."""
    return f"row{'' if len(indices) == 1 else 's'} {listed(indices)}"


def hold(rows: Any) -> str:
    """Choose the verb of a sentence about rows."""
    return "holds" if len(rows) == 1 else "hold"


def apart(name: str, taken: set[str]) -> str:
    """Change our name for a column where the user has a column of that name."""
    while name in taken:
        name = f"labelwise_{name}"
    return name


def plain(number: float, digits: int = 4) -> str:
    """Write so many significant digits, and no exponent where none is needed."""
    if number == 0.0 or not 1e-4 <= abs(number) < 1e7:
        return f"{number:.{digits}g}"
    rounded = float(f"{number:.{digits}g}")
    decimals = max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)
    return f"{rounded:.{decimals}f}"


def guard(text: str) -> str:
    """Text that a spreadsheet must not run as a formula gets an apostrophe in front."""
    return f"'{text}" if text.startswith(FORMULA) and not _is_number(text) else text


def unguard(text: str) -> str:
    """Undo `guard` on text that comes back."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
