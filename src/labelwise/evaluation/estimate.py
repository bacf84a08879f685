"""What is known of the estimand: both answers, which of them leads, and what to beware of."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from labelwise.evaluation.answer import (
    BELIEF,
    COMBINED,
    DESIGN,
    GRID,
    LEVEL,
    RESTS_ON,
    Answer,
)
from labelwise.evaluation.fates import AT_RANDOM, NONE, Fates
from labelwise.tables.html import html_table
from labelwise.tables.text import plain

# Estimates are read where neither JAX nor SciPy is wanted.
if TYPE_CHECKING:
    from labelwise.estimands.metrics import Bounds


OWN = "the interval is the belief's own: it is right if the belief is"
BELIEF_ALONE = f"{OWN}, and no rows were drawn by chance to check it"
UNVERIFIED = "This interval is not verified yet"  # how a warning begins that stays beside it
OVER_TARGET = "its expected value over the target population"
OVER_POOL = "over the rows of the pool, as they stand for the target"


@dataclass(frozen=True)
class Estimate:
    """What is known of the estimand.

    `value`, `std` and `interval` are those of the answer that leads: `combined`, of the belief
    and drawn rows together, where there are draws; or else the belief's own. Its ingredients
    are the belief's answer (`credible`) and that of drawn rows alone (`design`), which holds
    whatever the belief.
    """

    estimand: str  # its name
    title: str  # its name, in words
    initial: int  # labels from the start
    bought: int  # labels from asked rows
    belief: dict[str, Any]  # the prior and its hyper-parameters
    credible: Answer
    design: Answer | None = None
    combined: Answer | None = None
    headline: str = BELIEF  # or "combined"; "design" in campaigns of before it
    why: str = BELIEF_ALONE  # this one is shown first
    quantity: str = OVER_TARGET  # which number exactly
    warnings: tuple[str, ...] = ()
    beats: float | None = None  # probability that the first of two models is the better one
    parts: tuple["Estimate", ...] = ()  # further answers: other estimands, groups, models
    fates: Fates = NONE  # what became of drawn rows
    # Where labels are missing, the answers of drawn rows with them at their lowest and highest;
    # where drawn labels were corrected, also without the corrections.
    extremes: tuple[Answer, ...] = ()
    uncorrected: Answer | None = None  # without corrections of drawn labels, if there are any
    enough: str | None = None  # why to stop, by the rule, if it is met; not by the next gain
    # Of a pool that is a sample: of how many rows, how drawn, and its share of the variance.
    first_phase: Mapping[str, Any] | None = None
    # Of the log that it rests on; None: of no log. Other logs may give the same answer.
    head: str | None = field(default=None, compare=False)

    @property
    def lead(self) -> Answer:
        """The answer that is shown first."""
        named = {COMBINED: self.combined, DESIGN: self.design}.get(self.headline)
        return self.credible if named is None else named

    @property
    def value(self) -> float:
        return self.lead.value

    @property
    def std(self) -> float:
        return self.lead.std

    @property
    def quantiles(self) -> tuple[float, ...]:
        return self.lead.quantiles

    def interval(self, level: Any = LEVEL) -> tuple[float, float]:
        """The central interval that holds the estimand with this probability."""
        return self.lead.interval(level)

    def widest(self, level: Any = LEVEL) -> tuple[float, float] | None:
        """The interval whatever the labels are that are missing, and whether or not drawn
        labels were rightly corrected; None if none are missing, or drawn rows cannot tell."""
        if not self.extremes:
            return None
        answers = (self.lead, *self.extremes, self.uncorrected)
        ends = [answer.interval(level) for answer in answers if answer is not None]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def with_fates(self, fates: Fates, extremes: tuple[Answer, ...]) -> "Estimate":
        """The estimate with what became of drawn rows, marked where labels are missing."""
        why = f"{self.why}, {AT_RANDOM}" if fates.missing else self.why
        return replace(self, fates=fates, extremes=extremes, why=why)

    def with_uncorrected(self, before: "Estimate") -> "Estimate":
        """The estimate with the one that it would be without corrections of drawn labels."""
        low, high = map(plain, before.interval())
        told = (
            f"Without the corrections of drawn labels the answer is {plain(before.value)}, "
            f"{100 * LEVEL:.0f} % interval {low} to {high}."
        )
        parts = zip(self.parts, before.parts, strict=True)
        both = replace(self._beside(before), warnings=(*self.warnings, told))
        return replace(both, parts=tuple(part._beside(other) for part, other in parts))

    def _beside(self, before: "Estimate") -> "Estimate":
        """Both answers; where labels are missing, whatever they are, with either of them."""
        extremes = (*self.extremes, *before.extremes)
        return replace(self, uncorrected=before.lead, extremes=extremes)

    @property
    def labels(self) -> int:
        return self.initial + self.bought

    def to_dict(self) -> dict[str, Any]:
        """The same keys always, JSON throughout."""
        return {
            "estimand": self.estimand,
            "title": self.title,
            "quantity": self.quantity,
            "value": self.value,
            "std": self.std,
            "level": LEVEL,
            "interval": list(self.interval()),
            "probabilities": [float(level) for level in GRID],
            "quantiles": list(self.quantiles),
            "labels": {"initial": self.initial, "bought": self.bought, "total": self.labels},
            "headline": self.headline,
            "why": self.why,
            "credible": self.credible.to_dict(),
            "design": None if self.design is None else self.design.to_dict(),
            "combined": None if self.combined is None else self.combined.to_dict(),
            "belief": self.belief,
            "warnings": list(self.warnings),
            "beats": self.beats,
            "parts": [part.to_dict() for part in self.parts],
            "enough": self.enough,
            "first_phase": None if self.first_phase is None else dict(self.first_phase),
            **self._missing_to_dict(),
            "head": self.head,
        }

    def _missing_to_dict(self) -> dict[str, Any]:
        widest = self.widest()
        return {
            "fates": self.fates.to_dict(),
            "if_missing_at_random": bool(self.fates.missing),
            "whatever_is_missing": None if widest is None else list(widest),
            "extremes": [answer.to_dict() for answer in self.extremes],
            "uncorrected": None if self.uncorrected is None else self.uncorrected.to_dict(),
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Estimate":
        """As stored; early ones hold the belief's answer alone, as their own."""
        design, combined = stored.get("design"), stored.get("combined")
        uncorrected = stored.get("uncorrected")
        return Estimate(
            estimand=stored["estimand"],
            title=stored["title"],
            initial=stored["labels"]["initial"],
            bought=stored["labels"]["bought"],
            belief=stored["belief"],
            credible=Answer.from_dict(stored.get("credible") or stored, BELIEF),
            design=None if design is None else Answer.from_dict(design, DESIGN),
            combined=None if combined is None else Answer.from_dict(combined, COMBINED),
            headline=stored.get("headline", BELIEF),
            why=stored.get("why", BELIEF_ALONE),
            quantity=stored["quantity"],
            warnings=tuple(stored["warnings"]),
            beats=stored.get("beats"),
            parts=tuple(Estimate.from_dict(part) for part in stored.get("parts", ())),
            fates=_fates(stored.get("fates", {})),
            extremes=tuple(Answer.from_dict(one, DESIGN) for one in stored.get("extremes", ())),
            uncorrected=None
            if uncorrected is None
            else Answer.from_dict(uncorrected, COMBINED),
            enough=stored.get("enough"),
            first_phase=stored.get("first_phase"),
            head=stored.get("head"),
        )

    def without_draws(self, reason: str | None, by_chance: bool) -> "Estimate":
        """The estimate where no drawn row says anything, for a reason or not yet."""
        return replace(self, why=_why_belief(reason, by_chance))

    def with_draws(self, drawn: Answer, bounds: "Bounds", *, numbers: bool) -> "Estimate":
        """The estimate with what drawn rows say: together with the belief's answer it leads.

        `numbers` tells labels that are numbers from classes.
        """
        from labelwise.evaluation.combined import combine

        why = (
            f"the interval rests on the belief and on {drawn.draws} rows drawn by chance, "
            "which put it right where it is wrong"
        )
        more = (self.initial + self.bought) / max(self.initial, 1)
        both = combine(self.credible, drawn, bounds, numbers=numbers, more=more)
        return replace(
            self, design=drawn, combined=both, headline=COMBINED, quantity=OVER_POOL, why=why
        )

    @property
    def line(self) -> str:
        """The answer in one line."""
        low, high = self.interval()
        line = (
            f"{self.title}: {plain(self.value)} ± {plain(self.std, 2)}, "
            f"{100 * LEVEL:.0f} % interval {plain(low)} to {plain(high)}{self.mark}"
        )
        if self.beats is None:
            return line
        return f"{line}; the first is better with chance {self.beats:.2f}, by the belief"

    @property
    def mark(self) -> str:
        """What stands behind an interval that rests on labels being missing at random."""
        return f" {AT_RANDOM}" if self.fates.missing else ""

    @property
    def basis(self) -> tuple[str, str]:
        """What the answer rests on, in two lines."""
        return (
            f"from {self.labels} labels ({self.initial} from the start, {self.bought} bought); "
            f"{self.quantity}",
            self.why,
        )

    def about_missing(self, level: Any = LEVEL) -> list[str]:
        """What became of drawn rows, and how far the missing ones could move the answer."""
        told, ends = [], self.widest(level)
        if ends is not None:
            low, high = map(plain, ends)
            told.append(
                f"whatever the missing labels are: {100 * level:g} % interval {low} to {high}"
            )
        return [*told, *([self.fates.line] if self.fates.drawn else [])]

    @property
    def ingredients(self) -> tuple[Answer, ...]:
        """The answers that do not lead, that of the belief first."""
        every = (self.credible, self.design, self.combined)
        return tuple(one for one in every if one is not None and one is not self.lead)

    def ingredients_at(self, level: Any = LEVEL) -> list[str]:
        """Each of them in one line."""
        return [_alone(answer, level) for answer in self.ingredients]

    @property
    def anytime(self) -> tuple[float, float] | None:
        """At the usual level: the interval that is right at every look."""
        return self.lead.anytime

    def plot(self) -> Any:
        """Every answer with its interval, as a matplotlib figure."""
        from labelwise.evaluation.plots import plot_estimate

        return plot_estimate(self)

    def _repr_html_(self) -> str:
        heads = ("", "estimate", f"{100 * LEVEL:.0f} % interval", "rests on")
        rows = []
        for one in (self, *self.parts):
            low, high = map(plain, one.interval())
            value = f"{plain(one.value)} ± {plain(one.std, 2)}"
            rows.append((one.title, value, f"{low} to {high}", RESTS_ON[one.headline]))
        notes = [self.why, *(f"⚠ {warning}" for warning in self.warnings)]
        return html_table(f"From {self.labels} labels", rows, notes, heads)

    def __str__(self) -> str:
        lines = [
            self.line,
            *(part.line for part in self.parts),
            *self.about_missing(),
            *self.basis,
        ]
        return "\n".join(lines + [f"warning: {warning}" for warning in self.warnings])


def _alone(answer: Answer, level: Any) -> str:
    low, high = answer.interval(level)
    return (
        f"by {RESTS_ON[answer.rests_on]} alone: {plain(answer.value)} ± "
        f"{plain(answer.std, 2)}, {100 * level:g} % interval {plain(low)} to {plain(high)}"
    )


def _why_belief(reason: str | None, by_chance: bool) -> str:
    if reason is not None:
        return f"{OWN}. {reason}"
    return f"{OWN}; no drawn label has come yet to check it" if by_chance else BELIEF_ALONE


def _fates(stored: Mapping[str, Any]) -> Fates:
    """As stored; early estimates know of none."""
    return Fates(**{key: count for key, count in stored.items() if key != "missing"})
