"""How many labels an interval of some width takes, read off what a forecast expects of widths.

Between the rounds that were looked at, the logarithm of the width is taken for a straight line
in that of the number of labels; beyond the last of them the line goes on as it went over the
last half.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from labelwise.inputs import as_positive
from labelwise.tables.text import plain

# Drawn labels in all that a width took, over those foretold after twenty, in eight of ten
# campaigns: quantiles at 10 % and 90 % of `python -m experiments settings`.
MEASURED = (0.4, 2.4)
# Slopes of the line beyond the last round: independent draws have ½, a belief may do better or
# worse for a while.
FLATTEST, STEEPEST = 0.25, 1.0


class Course(NamedTuple):
    """Widths to expect with so many labels in all."""

    labels: Sequence[float]
    widths: Sequence[float]

    def reach(self, width: float) -> tuple[float, bool]:
        """The number of labels for a width, and whether it lies beyond the course."""
        labels = np.log(np.asarray(self.labels, float))
        widths = np.log(np.minimum.accumulate(np.maximum(self.widths, 1e-300)))
        wanted = float(np.log(width))
        if wanted >= widths[-1]:
            # Where widths stay as they are, the first of such rounds is meant.
            falling = np.concatenate([[True], np.diff(widths) < 0.0])
            at = np.interp(-wanted, -widths[falling], labels[falling])
            return float(np.exp(at)), False
        half = (len(labels) - 1) // 2
        run, fall = labels[-1] - labels[half], widths[half] - widths[-1]
        slope = np.clip(fall / run, FLATTEST, STEEPEST) if run > 0.0 else 0.5
        return float(np.exp(labels[-1] + (widths[-1] - wanted) / slope)), True


@dataclass(frozen=True)
class Needed:
    """Further labels for a 90 % interval of some width."""

    width: float
    labels: int
    least: int | None  # in eight of ten campaigns it took so many ...
    most: int | None  # ... to so many; None where that is not known
    beyond: bool  # more than the rounds that were looked at
    everything: bool  # every row that is left, and that may not be enough
    random: int | None = None  # rows drawn uniformly, or by no plan, for the same

    @staticmethod
    def of(
        width: Any, ours: Course, theirs: Course, known: int, left: int, *, measured: bool
    ) -> "Needed":
        """Where so many labels are `known`, and so many rows `left` to label.

        How far such forecasts are off was measured where rows are drawn.
        """
        width = as_positive("width", width)
        total, beyond = ours.reach(width)
        further = lambda total: int(np.ceil(max(total - known, 0.0) - 1e-9))
        few, many = (min(further(part * total), left) for part in MEASURED)
        labels, random = further(total), further(theirs.reach(width)[0])
        return Needed(
            width=width,
            labels=min(labels, left),
            least=few if measured else None,
            most=many if measured else None,
            beyond=beyond,
            everything=labels >= left,
            random=None if random >= left else random,
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"line": self.line}

    @property
    def line(self) -> str:
        """The answer in words."""
        goal = f"A 90 % interval {plain(self.width, 2)} wide"
        if not self.labels:
            return f"{goal} is there already, or should be with the next labels."
        if self.everything:
            return f"{goal} should take every row that is left, {self.labels}, or more."
        told = f"{goal} should take about {self.labels} further labels"
        if self.most is not None:
            told += f" (in eight of ten campaigns it took {self.least} to {self.most})"
        if self.random is not None:
            told += f", where rows at random would take about {self.random}"
        return f"{told}.{' That is farther than was looked at.' if self.beyond else ''}"

    def __str__(self) -> str:
        return self.line
