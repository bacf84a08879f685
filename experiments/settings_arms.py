"""Settings that differ from the usual campaign in one thing each, on tables to test on."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from experiments.corpus import entries
from experiments.coverage_campaign import ESTIMANDS

TABLES = (
    *("mortgage-denial", "telecom-churn", "car-crash", "spam"),
    *("wage-canada", "price-ames", "reading-star"),
)
CLASSES, NUMBERS = ("telecom-churn", "spam"), ("wage-canada", "reading-star")
EARLY = 20  # labels after which a campaign of 50 is looked at, too


class Arm(NamedTuple):
    """A setting on a table; what is not said is as usual."""

    table: str
    quality: str = "shifted"
    first: int = 60
    bought: int = 50
    own_target: bool = False
    question: str | None = None  # None: all three of its kind
    sampling: tuple[str, str] = ("lookahead", "policy")

    @property
    def binary(self) -> bool:
        return entries()[self.table].kind == "class"

    @property
    def questions(self) -> tuple[str, ...]:
        return ESTIMANDS[self.binary] if self.question is None else (self.question,)

    @property
    def looks(self) -> tuple[int, ...]:
        return (EARLY, self.bought) if self.bought == 50 else (self.bought,)


def _arms() -> Iterator[tuple[str, Arm]]:
    for table in TABLES:
        yield table, Arm(table)
    for table, quality in product(TABLES, ("useless", "reversed")):
        yield f"{table} {quality} model", Arm(table, quality=quality)
    for table in (*CLASSES, *NUMBERS):
        usual = Arm(table)
        for first in (0, 20, 200):
            yield f"{table} {first} at first", usual._replace(first=first)
        yield f"{table} 200 bought", usual._replace(bought=200)
        yield f"{table} own target", usual._replace(own_target=True)
        asked = ("accuracy", "recall") if table in CLASSES else ("mse", "mae")
        for question in asked:
            yield f"{table} {question} asked alone", usual._replace(question=question)
        yield f"{table} drawn by loss", usual._replace(sampling=("lookahead", "loss"))
        yield f"{table} drawn uniformly", usual._replace(sampling=("random", "policy"))


def arms() -> dict[str, Arm]:
    """All settings, by name."""
    return dict(_arms())


def setting_of(arm: str) -> str:
    """What is special about an arm, but for its table."""
    _, _, setting = arm.partition(" ")
    return setting or "as usual"


def is_on_all_tables(arm: str) -> bool:
    """Whether its setting is tried on every table: the usual one, and other models."""
    setting = setting_of(arm)
    return setting == "as usual" or setting.endswith("model")
