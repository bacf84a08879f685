"""When enough is known: rules that end a campaign, alone or together.

    stop=width(0.02) | budget(200)            # whichever comes first
    stop=width(0.02, level=0.95) & gain(below=0.01)   # only once both hold

A rule that looks at the interval after every batch must not use one that is right only at one
look, or it would stop at the lucky moments: widths are judged by the any-time interval where
rows were drawn, and else by the belief's own, which is right at every look if the belief is.
"""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from labelwise.errors import InvalidInput, StoreError
from labelwise.evaluation.answer import LEVELS
from labelwise.evaluation.estimate import Estimate
from labelwise.inputs import as_count
from labelwise.tables.text import plain


class Facts(NamedTuple):
    """What rules look at."""

    bought: int  # labels bought or on order
    estimate: Estimate
    gain: float | None  # share of the standard deviation that the next batch should take away
    by_chance: bool = False  # rows are drawn: then the belief's interval decides nothing


class Rule(abc.ABC):
    """Says whether to stop."""

    @abc.abstractmethod
    def met(self, facts: Facts) -> str | None:
        """Why to stop, in words; None to go on."""

    @abc.abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """As JSON."""

    @property
    @abc.abstractmethod
    def words(self) -> str:
        """The rule in words."""

    @property
    def needs_gain(self) -> bool:
        """Whether it looks at the next batch."""
        return False

    def __or__(self, other: "Rule") -> "Rule":
        return AnyOf((self, other))

    def __and__(self, other: "Rule") -> "Rule":
        return AllOf((self, other))


@dataclass(frozen=True)
class Width(Rule):
    """Stop once the interval of this level is no wider than `below`."""

    below: float
    level: float = 0.9

    def __post_init__(self) -> None:
        _check_positive("width", self.below)
        if self.level not in LEVELS:
            known = ", ".join(f"{level:g}" for level in LEVELS)
            raise InvalidInput.must("level", f"be one of {known}", f"it is {self.level!r}")

    def met(self, facts):
        found, name = _interval(facts, self.level)
        if found is None or found[1] - found[0] > self.below:
            return None
        return (
            f"the {name} is {plain(found[1] - found[0], 2)} wide, no more than "
            f"{plain(self.below, 2)}"
        )

    def to_dict(self):
        return {"rule": "width", "below": self.below, "level": self.level}

    @property
    def words(self):
        return f"the {100 * self.level:g} % interval is at most {plain(self.below, 2)} wide"


@dataclass(frozen=True)
class Budget(Rule):
    """Stop once this many labels are bought or on order."""

    labels: int

    def __post_init__(self) -> None:
        as_count("budget", self.labels)

    def met(self, facts):
        return f"{facts.bought} labels are bought" if facts.bought >= self.labels else None

    def to_dict(self):
        return {"rule": "budget", "labels": self.labels}

    @property
    def words(self):
        return f"{self.labels} labels are bought"


@dataclass(frozen=True)
class Gain(Rule):
    """Stop once the next batch should lower the standard deviation by less than this share."""

    below: float

    def __post_init__(self) -> None:
        _check_positive("gain", self.below)

    def met(self, facts):
        if facts.gain is None or facts.gain >= self.below:
            return None
        return (
            f"the next batch should lower the standard deviation by {100 * facts.gain:.1f} %, "
            f"less than {100 * self.below:.3g} %"
        )

    def to_dict(self):
        return {"rule": "gain", "below": self.below}

    @property
    def words(self):
        return (
            f"a batch should lower the standard deviation by less than {100 * self.below:g} %"
        )

    @property
    def needs_gain(self):
        return True


@dataclass(frozen=True)
class AnyOf(Rule):
    """Stop once one of some rules says so."""

    rules: tuple[Rule, ...]

    def met(self, facts):
        reasons = [reason for rule in self.rules if (reason := rule.met(facts)) is not None]
        return reasons[0] if reasons else None

    def to_dict(self):
        return {"rule": "any", "rules": [rule.to_dict() for rule in self.rules]}

    @property
    def words(self):
        return " or ".join(rule.words for rule in self.rules)

    @property
    def needs_gain(self):
        return any(rule.needs_gain for rule in self.rules)


@dataclass(frozen=True)
class AllOf(AnyOf):
    """Stop once all of some rules say so."""

    def met(self, facts):
        reasons = [rule.met(facts) for rule in self.rules]
        return None if None in reasons else " and ".join(str(reason) for reason in reasons)

    def to_dict(self):
        return super().to_dict() | {"rule": "all"}

    @property
    def words(self):
        return " and ".join(rule.words for rule in self.rules)


def width(below: float, level: float = 0.9) -> Rule:
    """Stop once the interval is no wider than this."""
    return Width(below, level)


def budget(labels: int) -> Rule:
    """Stop once this many labels are bought."""
    return Budget(labels)


def gain(below: float) -> Rule:
    """Stop once a batch should lower the standard deviation by less than this share."""
    return Gain(below)


def read_rule(found: Mapping[str, Any]) -> Rule:
    """A rule as stored."""
    kind = found.get("rule")
    if kind == "width":
        return Width(found["below"], found["level"])
    if kind == "budget":
        return Budget(found["labels"])
    if kind == "gain":
        return Gain(found["below"])
    if kind in ("any", "all"):
        rules = tuple(read_rule(one) for one in found["rules"])
        return AnyOf(rules) if kind == "any" else AllOf(rules)
    raise StoreError(
        f"The campaign stops by a rule {kind!r} that this Labelwise does not know",
        "upgrade Labelwise",
        where="stop",
    )


def read_stop(given: Any) -> dict[str, Any] | None:
    """A rule as it is stored, from a rule or from a table of `width` and `gain`."""
    if given is None:
        return None
    rule = _from_table(given) if isinstance(given, Mapping) else given
    if not isinstance(rule, Rule):
        raise InvalidInput.must(
            "stop",
            "be a rule such as width(0.02), budget(200) or gain(below=0.01), or some joined "
            "by | and &",
            f"it is {given!r}",
        )
    # In words too, so that they can be read without loading the rules.
    return rule.to_dict() | {"words": rule.words}


def _from_table(given: Mapping[str, Any]) -> Rule:
    """As a file has it: whichever of its entries is met first."""
    makers = {"width": width, "gain": gain, "labels": budget}
    strange = [key for key in given if key not in makers]
    if strange or not given:
        raise InvalidInput(
            f"A rule to stop has {', '.join(makers)}, not {', '.join(strange) or 'nothing'}",
            "give one of them, or several",
            where="stop",
        )
    rules = [makers[key](value) for key, value in given.items()]
    return rules[0] if len(rules) == 1 else AnyOf(tuple(rules))


def _interval(facts: Facts, level: float) -> tuple[list[float] | None, str]:
    """The interval that may be looked at after every batch, and its name."""
    percent, estimate = f"{100 * level:g} %", facts.estimate
    if facts.by_chance or estimate.design is not None:
        always = {} if estimate.design is None else estimate.design.anytime_at
        return always.get(f"{level:g}"), f"{percent} any-time interval"
    return list(estimate.credible.interval(level)), f"belief's {percent} interval"


def _check_positive(name: str, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < np.inf:
        raise InvalidInput.must(name, "be a positive number", f"it is {value!r}")
