"""Campaigns made from a flat list of words, for tests that vary one thing at a time."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from labelwise.evaluation.spec import PARTS

RENAMED = {"draw": ("sampling", "by"), "chance": ("columns", "probability")}
WHERE = {one.name: (part, one.name) for part in PARTS for one in fields(PARTS[part])}
# Both a question and sampling go `by` something: here the question's groups.
WHERE |= RENAMED | {"by": ("question", "by")}


def parts_of(**words: Any) -> dict[str, Any]:
    """The arguments of `Campaign.create`."""
    found: dict[str, Any] = {part: {} for part in PARTS}
    for word, value in words.items():
        if word in ("belief", "seed"):
            found[word] = value
        else:
            part, name = WHERE[word]
            found[part][name] = value
    return found


def create(path: Path, **words: Any):
    """Make a campaign."""
    from labelwise.campaign.campaign import Campaign

    return Campaign.create(path, **parts_of(**words))
