"""Numbers and times as a reader wants them: few digits, true minus signs, thin spaces."""

import math
from collections.abc import Iterable
from datetime import datetime

from labelwise.report.markup import Markup, tag

THIN = "\u202f"  # narrow, and never at the end of a line
NONE = "–"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 3) -> str:
    """Write so many significant digits: 0.0123, 1.23, 12 300, 1.23 × 10⁻⁷."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0.0:
        return "0"
    # Rounding first: 9.999 has the size of 10.
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    size = int(exponent)
    if not -4 <= size < 7:
        return f"{_minus(mantissa)} × 10{str(size).translate(SUPERSCRIPTS)}"
    return fixed(value, max(digits - 1 - size, 0))


def alike(values: Iterable[float], std: float) -> list[str]:
    """Write values with the same decimals: as many as give `std` two significant digits."""
    values = list(values)
    largest = max((abs(value) for value in values), default=0.0)
    if not 0.0 < std < math.inf or largest >= 1e7 or largest < 1e-3:
        return [number(value, 4) for value in values]
    decimals = 1 - math.floor(math.log10(std))
    return [fixed(value, min(max(decimals, 0), 6)) for value in values]


def fixed(value: float, decimals: int) -> str:
    """Write so many decimals; thousands are set apart from 10 000 on."""
    text = f"{value:.{decimals}f}"
    if float(text) == 0.0:
        return text.lstrip("-")
    return _minus(f"{value:,.{decimals}f}".replace(",", THIN) if abs(value) >= 1e4 else text)


def signed(value: float) -> str:
    """Write a difference with two decimals and its sign."""
    return f"+{fixed(value, 2)}" if value >= 0.005 else fixed(value, 2)


def count(value: int) -> str:
    """Write a whole number."""
    return fixed(float(value), 0)


def percent(share: float | None) -> str:
    """Write a share in per cent; a little is not nothing."""
    if share is None or not math.isfinite(share):
        return NONE
    if 0.0 < share < 0.005:
        return f"<{THIN}1{THIN}%"
    return f"{share * 100.0:.0f}{THIN}%"


def plural(many: int, word: str) -> str:
    """Write '1 label', '2 labels'."""
    return f"{count(many)} {word}" if many == 1 else f"{count(many)} {word}s"


def moment(at: str) -> Markup:
    """Write a time of the log to the minute."""
    return tag("time", f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M} UTC", datetime=at)


def capital(text: str) -> str:
    """Make the first letter large and leave the others."""
    return text[:1].upper() + text[1:]


def _minus(text: str) -> str:
    return text.replace("-", "−")
