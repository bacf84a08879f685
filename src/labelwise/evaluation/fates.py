"""What became of every row that chance drew.

An answer from draws is right by how chance chose. Whoever decides afterwards which of the
labels count decides on the answer too: so each drawn row is accounted for, as surveys account
for everyone who was drawn and did not reply.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labelwise.evaluation.state import State

if TYPE_CHECKING:
    from labelwise.evaluation.round import Round

AT_RANDOM = "if missing at random"


@dataclass(frozen=True)
class Fates:
    """Drawn rows by what became of them, and what else was done to the answer's rows."""

    drawn: int = 0
    labelled: int = 0  # corrected ones among them
    corrected: int = 0  # their label was changed after it came
    skipped: int = 0  # after they were drawn
    failed: int = 0
    expired: int = 0
    out: int = 0  # their label may still come ...
    withheld: int = 0  # ... though others of the same batch, or of a later one, have
    skipped_undrawn: int = 0  # rows that chance had not drawn, and cannot draw any more
    unasked: int = 0  # labels of rows that nobody asked for
    corrected_undrawn: int = 0  # labels from the start, or of rows that chance did not draw

    @property
    def missing(self) -> int:
        """Rows that the answer is about and whose labels are not there."""
        lost = self.skipped + self.failed + self.expired
        return lost + self.withheld + self.skipped_undrawn

    @property
    def interfered(self) -> bool:
        """Whether more than chance decided which labels count."""
        return bool(self.missing or self.corrected)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"missing": self.missing}

    @property
    def line(self) -> str:
        """In one line; empty if nothing was drawn."""
        if not self.drawn:
            return ""
        marked = f" ({self.corrected} corrected)" if self.corrected else ""
        parts = [f"{self.labelled} labelled{marked}"]
        for name, words in NAMED.items():
            count = getattr(self, name)
            parts += [f"{count} {words}"] if count else []
        return f"{self.drawn} drawn: {', '.join(parts)}"


NONE = Fates()
# In the order they are told.
NAMED = {
    "skipped": "skipped",
    "failed": "failed",
    "expired": "expired",
    "out": "still out",
}


def drawn_rows(rounds: Iterable["Round"]) -> dict[int, int]:
    """Pool rows that chance drew, and the last round that drew each."""
    drawn: dict[int, int] = {}
    for one in rounds:
        if one.draws is not None:
            marks = zip(one.rows, one.draws.drawn, strict=True)
            drawn |= {row: one.number for row, by_chance in marks if by_chance}
    return drawn


def withheld_rows(drawn: dict[int, int], state: State) -> list[int]:
    """Drawn rows that are out though labels of their batch, or of a later one, have come."""
    came = max((number or 0 for number in state.batches.values()), default=0)
    return sorted(row for row in drawn if row in state.pending and drawn[row] <= came)


def fates_of(rounds: Sequence["Round"], state: State) -> Fates:
    """Count them."""
    drawn = drawn_rows(rounds)
    among = lambda rows: sum(row in rows for row in drawn)
    undrawn = len(state.skipped - drawn.keys()) if drawn else 0
    others = state.first_labels.keys() - drawn.keys()
    return Fates(
        drawn=len(drawn),
        labelled=among(state.labels),
        corrected=len(corrected_rows(drawn, state)),
        skipped=among(state.skipped),
        failed=among(state.failed),
        expired=among(state.expired),
        out=among(state.pending),
        withheld=len(withheld_rows(drawn, state)),
        skipped_undrawn=undrawn,
        unasked=sum(number is None for number in state.batches.values()),
        corrected_undrawn=len(state.corrections) + len(corrected_rows(others, state)),
    )


def corrected_rows(rows: Iterable[int], state: State) -> dict[int, float]:
    """Of these rows, those whose label is not the one that came first, with that one."""
    first = {row: state.first_labels[row] for row in rows if row in state.first_labels}
    return {row: label for row, label in first.items() if state.labels[row] != label}


def fates_in_words(fates: Fates) -> list[str]:
    """What a reader must know of them before trusting the answer."""
    told = []
    if fates.missing:
        told.append(f"{_missing(fates)}: the answer holds {AT_RANDOM}.")
    if fates.corrected:
        told.append(
            f"{_rows(fates.corrected, 'label')} of drawn rows {_were(fates.corrected)} "
            "corrected after coming."
        )
    if fates.corrected_undrawn:
        told.append(
            f"{_rows(fates.corrected_undrawn, 'label')} that chance did not draw "
            f"{_were(fates.corrected_undrawn)} corrected, and the belief learns from them."
        )
    if fates.out:
        told.append(f"{_rows(fates.out, 'drawn row')} {_are(fates.out)} still out.")
    if fates.unasked:
        told.append(
            f"{_rows(fates.unasked, 'label')} {_are(fates.unasked)} of rows that nobody asked "
            "for; rows one picks oneself can bias the belief."
        )
    return told


def _missing(fates: Fates) -> str:
    parts = [
        (fates.skipped, "skipped"),
        (fates.failed, "failed"),
        (fates.expired, "expired"),
        (fates.withheld, "still out though later labels came"),
        (fates.skipped_undrawn, "skipped before chance could draw them"),
    ]
    listed = ", ".join(f"{count} {words}" for count, words in parts if count)
    return f"The labels of {_rows(fates.missing, 'row')} are missing ({listed})"


def _rows(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
