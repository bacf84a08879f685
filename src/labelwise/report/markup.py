"""HTML that cannot be broken by data: every text is escaped unless it is made of elements.

`tag("td", row_id)` escapes `row_id`; only `tag` and `raw` make `Markup`, so a text from a table
can never become an element or an attribute.
"""

import re
from collections.abc import Iterable
from html import escape
from typing import Any

EMPTY = {"br", "hr", "img", "meta"}  # elements without an end
LONGEST = 160  # characters of a text from data that are shown
# Control characters, which no page may hold, and halves of characters, which no file may.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def raw(text: str) -> Markup:
    """Take a constant of ours for HTML; never data."""
    return Markup(text)


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Make an element; `class_` is the attribute class, `aria_label` is aria-label."""
    start = "".join(
        f' {_attribute(key)}="{_escaped(value)}"' for key, value in attributes.items()
    )
    if name in EMPTY:
        return Markup(f"<{name}{start}>")
    return Markup(f"<{name}{start}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """Join elements and texts; None is nothing, lists are opened."""
    return Markup("".join(_child(child) for child in children))


def clip(text: Any, most: int = LONGEST) -> str:
    """Cut a text from data where it would fill the page."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _child(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, list | tuple):
        return join(child)
    return _escaped(child)


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _escaped(value: Any) -> str:
    return escape(UNPRINTABLE.sub("\ufffd", str(value)), quote=True)
