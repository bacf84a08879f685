"""When enough is known: rules that end a campaign, alone or together.

    stop=width(0.02) | budget(200)            # whichever comes first
    stop=width(0.02, level=0.95) & gain(below=0.01)   # only once both hold

A rule that looks at the interval after every batch must not use one that is right only at one
look, or it would stop at the lucky moments: widths are judged by the any-time interval where
rows were drawn, and else by the belief's own, which is right at every look if the belief is.
"""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from labelwise.errors import InvalidInput, StoreError
from labelwise.evaluation.answer import LEVELS
from labelwise.evaluation.estimate import Estimate
from labelwise.inputs import as_count, as_positive
from labelwise.tables.text import plain

if TYPE_CHECKING:
    from labelwise.evaluation.round import Plan
    from labelwise.evaluation.survey import Survey


class Standing(NamedTuple):
    """What rules look at."""

    bought: int  # labels bought or on order
    estimate: Estimate
    gain: float | None  # share of the standard deviation that the next batch should take away
    by_chance: bool = False  # rows are drawn: then the belief's interval decides nothing


@dataclass(frozen=True)
class Rule(abc.ABC):
    """Says whether to stop."""

    name: ClassVar[str]  # as it is stored

    @abc.abstractmethod
    def met(self, standing: Standing) -> str | None:
        """Say why to stop; None to go on."""

    @property
    @abc.abstractmethod
    def words(self) -> str:
        """Say what the rule is."""

    @property
    def needs_gain(self) -> bool:
        """Whether it looks at the next batch."""
        return any(rule.needs_gain for rule in getattr(self, "rules", ()))

    def to_dict(self) -> dict[str, Any]:
        """Give JSON of which `read_rule` makes the rule again."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if "rules" in values:
            values["rules"] = [rule.to_dict() for rule in values["rules"]]
        return {"rule": self.name, **values}

    def __or__(self, other: "Rule") -> "Rule":
        return AnyOf((self, other))

    def __and__(self, other: "Rule") -> "Rule":
        return AllOf((self, other))


@dataclass(frozen=True)
class Width(Rule):
    """Stop once the interval of this level is no wider than `below`."""

    name = "width"
    below: float
    level: float = 0.9

    def __post_init__(self) -> None:
        as_positive("width", self.below)
        if self.level not in LEVELS:
            known = ", ".join(f"{level:g}" for level in LEVELS)
            raise InvalidInput.must("level", f"be one of {known}", f"it is {self.level!r}")

    def met(self, standing):
        ends, name = _interval(standing, self.level)
        if ends is None or ends[1] - ends[0] > self.below:
            return None
        width = plain(ends[1] - ends[0], 2)
        return f"the {name} is {width} wide, no more than {plain(self.below, 2)}"

    @property
    def words(self):
        return f"the {100 * self.level:g} % interval is at most {plain(self.below, 2)} wide"


@dataclass(frozen=True)
class Budget(Rule):
    """Stop once this many labels are bought or on order."""

    name = "budget"
    labels: int

    def __post_init__(self) -> None:
        as_count("budget", self.labels)

    def met(self, standing):
        enough = standing.bought >= self.labels
        return f"{standing.bought} labels are bought" if enough else None

    @property
    def words(self):
        return f"{self.labels} labels are bought"


@dataclass(frozen=True)
class Gain(Rule):
    """Stop once the next batch should lower the standard deviation by less than this share."""

    name = "gain"
    below: float

    def __post_init__(self) -> None:
        as_positive("gain", self.below)

    def met(self, standing):
        if standing.gain is None or standing.gain >= self.below:
            return None
        fall = f"{100 * standing.gain:.1f} %, less than {100 * self.below:.3g} %"
        return f"the next batch should lower the standard deviation by {fall}"

    @property
    def words(self):
        share = f"{100 * self.below:g} %"
        return f"a batch should lower the standard deviation by less than {share}"

    @property
    def needs_gain(self):
        return True


@dataclass(frozen=True)
class AnyOf(Rule):
    """Stop once one of some rules says so."""

    name = "any"
    rules: tuple[Rule, ...]

    def met(self, standing):
        reasons = (rule.met(standing) for rule in self.rules)
        return next((reason for reason in reasons if reason is not None), None)

    @property
    def words(self):
        return " or ".join(rule.words for rule in self.rules)


@dataclass(frozen=True)
class AllOf(Rule):
    """Stop once all of some rules say so."""

    name = "all"
    rules: tuple[Rule, ...]

    def met(self, standing):
        reasons = [rule.met(standing) for rule in self.rules]
        return None if None in reasons else " and ".join(str(reason) for reason in reasons)

    @property
    def words(self):
        return " and ".join(rule.words for rule in self.rules)


width, budget, gain = Width, Budget, Gain  # as one writes them: width(0.02) | budget(200)
RULES: dict[str, type[Rule]] = {rule.name: rule for rule in (Width, Budget, Gain, AnyOf, AllOf)}


def read_rule(stored: Mapping[str, Any]) -> Rule:
    """Make a rule of what was stored."""
    kind = RULES.get(stored.get("rule", ""))
    if kind is None:
        raise StoreError(
            f"The campaign stops by a rule {stored.get('rule')!r} that this Labelwise does not "
            "know",
            "upgrade Labelwise",
            where="stop",
        )
    values = {field.name: stored[field.name] for field in fields(kind)}
    if "rules" in values:
        values["rules"] = tuple(read_rule(rule) for rule in values["rules"])
    return kind(**values)


def read_stop(given: Any) -> dict[str, Any] | None:
    """Bring a rule, or a table of `width` and `gain`, into the form that is stored."""
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
    """Join the entries of a file: whichever is met first."""
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


def _interval(standing: Standing, level: float) -> tuple[list[float] | None, str]:
    """Find the interval that may be looked at after every batch, and name it."""
    percent, estimate = f"{100 * level:g} %", standing.estimate
    if standing.by_chance or estimate.design is not None:
        answers = [] if estimate.design is None else [estimate.lead, *estimate.extremes]
        whatever = " whatever the missing labels are" if estimate.extremes else ""
        always = [answer.anytime_at.get(f"{level:g}") for answer in answers]
        return _hull(always), f"{percent} any-time interval{whatever}"
    return list(estimate.credible.interval(level)), f"belief's {percent} interval"


def _hull(intervals: Sequence[list[float] | None]) -> list[float] | None:
    """The interval that holds all of them; None if one is not known, or there are none."""
    known = [ends for ends in intervals if ends is not None]
    if not known or len(known) < len(intervals):
        return None
    return [min(low for low, _ in known), max(high for _, high in known)]


def standing(survey: "Survey", spent: int, estimate: Estimate, plan: "Plan | None") -> Standing:
    """What rules look at, with what the next batch should bring if there is a plan of it."""
    by_chance = survey.by_chance and survey.reasons[0] is None
    if plan is None:
        return Standing(spent, estimate, None, by_chance)
    # What was drawn must not decide whether it counts: random rows stand in for it.
    expected = plan.random if survey.by_chance else plan.expected
    gain = 1.0 - expected / max(plan.std, 1e-300)
    return Standing(spent, estimate, gain, by_chance)


def refuse_if_met(rule: Rule | None, facts: Standing) -> None:
    """Refuse to buy more once enough is known."""
    reason = None if rule is None else rule.met(facts)
    if reason is not None:
        raise InvalidInput(
            f"Enough is known: {reason}",
            "to buy more, ask with go_on=True (--go-on)",
            where="stop",
        )
