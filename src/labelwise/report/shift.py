"""How the tables differed when the campaign began."""

from typing import Any

from labelwise.report.markup import Markup, clip, tag
from labelwise.report.numbers import NONE, percent, signed
from labelwise.report.snapshot import Facts
from labelwise.report.tables import table

MOST_DIFFERENCES = 10
LABELLED = "labelled"
NAMES = {LABELLED: "labelled rows", "pool": "pool"}
# Upper ends of the area under the curve, and what it says up to there.
APART = (
    (0.6, "hardly different"),
    (0.75, "somewhat different"),
    (0.9, "clearly different"),
    (2.0, "almost entirely different"),
)


def first_look(facts: Facts) -> list[Markup]:
    """Compare the tables, from coarse to fine, where there are two."""
    tables = _compared(facts)
    if not tables:
        nothing = "No row had a label at the start, and the pool is the target: there is "
        return [tag("p", nothing + "nothing to compare.")]
    near = [_uncovered(facts.shift)] if LABELLED in tables else []
    return [_apart(facts, tables), *near, _differences(facts, tables)]


def _compared(facts: Facts) -> list[str]:
    """The tables that may differ from the target."""
    some = [LABELLED] if facts.rows[LABELLED] else []
    return some if is_same(facts) else [*some, "pool"]


def _apart(facts: Facts, tables: list[str]) -> Markup:
    shift, few = facts.shift, "too few rows"
    target = "pool" if is_same(facts) else "target"
    rows = [
        (f"{NAMES[name]} against the {target}", *_judged(shift[f"{name}_auc"], few))
        for name in tables
    ]
    text = (
        "A classifier was trained to tell each table’s rows from the target’s, and tried on "
        "rows it had not seen. An area under the curve of 0.5 means that it could only guess, "
        "so the tables look alike; 1 means that it was never wrong, so they have little in "
        "common."
    )
    heads = ["tables", "area under the curve", "in words"]
    shown = table("Can the tables be told apart?", heads, rows, texts=(0, 2))
    return tag("div", tag("p", text), shown)


def is_same(facts: Facts) -> bool:
    """Whether the pool is the target: then the two do not differ."""
    return facts.spec.target == "pool"


def _judged(area: float | None, otherwise: str) -> tuple[str, str]:
    if area is None:
        return NONE, otherwise
    return f"{area:.2f}", next(words for end, words in APART if area <= end)


def _uncovered(shift: dict[str, Any]) -> Markup:
    share, expected = percent(shift["uncovered"]), percent(shift["expected_uncovered"])
    return tag(
        "p",
        tag("b", f"{share} of the target has no initially labelled row near it"),
        f"; had the labelled rows been drawn from the target, it would be about {expected}.",
    )


def _differences(facts: Facts, tables: list[str]) -> Markup:
    # The list is ordered by the labelled rows; a pool that differs more counts as well.
    size = lambda feature: max(abs(feature[name]) for name in tables)
    largest = sorted(facts.shift["differences"], key=size, reverse=True)
    rows = [
        (clip(feature["feature"]), *(signed(feature[name]) for name in tables))
        for feature in largest[:MOST_DIFFERENCES]
    ]
    cut = (
        f": the {MOST_DIFFERENCES} largest of {len(largest)}"
        if len(largest) > len(rows)
        else ""
    )
    caption = f"Differences of means from the target’s, in its standard deviations{cut}"
    return table(caption, ["feature", *(NAMES[name] for name in tables)], rows)
