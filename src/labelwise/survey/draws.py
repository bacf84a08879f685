"""What a design-based answer is computed from: who could be drawn, who was, and how likely.

A row's label gives one or more numbers, its terms (the loss; a hit and a positive). The
answer is about their mean over the rows that can be labelled, weighted by mass. It needs no
belief to be right: only the probabilities of the draws as they were, and predictions that were
written down before the labels came.
"""

from dataclasses import dataclass

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.tables.text import name_rows


@dataclass(frozen=True)
class RoundDraws:
    """Rows taken one after another in one round, and what was predicted of every row.

    Every open row must have had some probability at each draw, however small: rows that could
    not be drawn are not open. A row drawn in an earlier round is open again only if that draw
    failed or expired.
    """

    rows: np.ndarray  # int, in the order drawn
    probabilities: np.ndarray  # of each draw given those before; 0: chosen, not drawn
    open: np.ndarray  # bool N: rows that could be drawn when the round began
    predictions: np.ndarray  # terms × N, of the terms, from labels known before the round
    # Drawn in one go, in random order: probabilities are then of a draw that is alone.
    together: bool = False

    def __post_init__(self) -> None:
        _check_mask("open", self.open, len(self.open))
        _check_lines("predictions", self.predictions, self.size)
        _check_numbers("predictions", self.predictions, self.predictions.shape)
        if self.rows.ndim != 1 or not np.issubdtype(self.rows.dtype, np.integer):
            raise InvalidInput.must(
                "rows",
                "be a list of whole row numbers",
                f"it holds {self.rows.dtype} of shape {self.rows.shape}",
            )
        _check_numbers("probabilities", self.probabilities, self.rows.shape)
        self._check_draws()

    @property
    def size(self) -> int:
        """How many rows the pool has."""
        return len(self.open)

    @property
    def drawn(self) -> np.ndarray:
        """Which of its rows chance drew."""
        return self.probabilities > 0

    def _check_draws(self) -> None:
        outside = (self.rows < 0) | (self.rows >= self.size)
        if outside.any():
            raise InvalidInput(
                f"The pool has rows 0 to {self.size - 1}, but {name_rows(self.rows[outside])} "
                "of it was drawn",
                "count rows as in mass",
                where="rows",
            )
        if len(np.unique(self.rows)) < len(self.rows):
            raise InvalidInput(
                "A row was drawn twice in one round", "draw without replacement", where="rows"
            )
        shut = self.rows[~self.open[self.rows]]
        if shut.size:
            raise InvalidInput(
                f"A draw took {name_rows(shut)}, not open when the round began",
                "open must hold every row that could be drawn",
                where="open",
            )
        if ((self.probabilities < 0) | (self.probabilities > 1)).any():
            raise InvalidInput.must(
                "probabilities",
                "lie between 0 and 1, with 0 for a row that was not drawn but chosen",
                "some do not",
            )


@dataclass(frozen=True)
class DrawRecord:
    """The pool, what is known of its terms, and the rounds in the order they were asked."""

    mass: np.ndarray  # N
    terms: np.ndarray  # terms × N, NaN where the label is not known
    rounds: tuple[RoundDraws, ...]
    skipped: np.ndarray  # bool N: cannot be labelled at all
    dropped: np.ndarray  # bool N: draws that failed or expired; void once the label is known

    def __post_init__(self) -> None:
        size = len(self.mass)
        _check_numbers("mass", self.mass, (size,))
        _check_mask("skipped", self.skipped, size)
        _check_mask("dropped", self.dropped, size)
        _check_terms(self.terms, size)
        for number, round_ in enumerate(self.rounds):
            if round_.predictions.shape != self.terms.shape:
                raise InvalidInput(
                    f"Round {number} predicts {round_.predictions.shape} terms and rows, but "
                    f"terms has shape {self.terms.shape}",
                    "give each round both alike",
                    where="predictions",
                )
        if (self.mass < 0).any():
            raise InvalidInput.must(
                "mass", "not be negative", f"see {name_rows(np.flatnonzero(self.mass < 0))}"
            )
        if not self.labellable_mass.any():
            raise InvalidInput(
                "No row that can be labelled has any mass, so there is nothing to estimate",
                "give some row a mass above 0",
                where="mass",
            )

    @property
    def labellable_mass(self) -> np.ndarray:
        """Mass in the population of the answer: rows that cannot be labelled have none."""
        return np.where(self.skipped, 0.0, self.mass)

    @property
    def known(self) -> np.ndarray:
        """Which rows' labels have come; a label gives all terms or none."""
        return ~np.isnan(self.terms[0])


def _check_terms(terms: np.ndarray, size: int) -> None:
    _check_lines("terms", terms, size)
    missing = np.isnan(terms)
    partly = np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0))
    if partly.size:
        raise InvalidInput(
            f"Some terms of {name_rows(partly)} are NaN and some are not",
            "a label gives all terms or none",
            where="terms",
        )
    if np.isinf(terms).any():
        raise InvalidInput("terms must not be infinite", "bound the loss", where="terms")


def _check_lines(name: str, numbers: np.ndarray, size: int) -> None:
    rule = f"have a line for each term and a column for each of the {size} rows of the pool"
    if numbers.ndim != 2 or numbers.shape[1] != size or not len(numbers):
        raise InvalidInput.must(name, rule, f"it has shape {numbers.shape}")


def _check_mask(name: str, mask: np.ndarray, size: int) -> None:
    # Whole numbers would pass for row numbers in an index, and do something else.
    if mask.dtype != bool or mask.shape != (size,):
        it_holds = f"it holds {mask.dtype} of shape {mask.shape}"
        raise InvalidInput.must(name, f"hold True or False for each of {size} rows", it_holds)


def _check_numbers(name: str, numbers: np.ndarray, shape: tuple[int, ...]) -> None:
    finite = np.isfinite(numbers).all()
    if numbers.shape != shape or not finite:
        also = "" if finite else " and holds NaN or infinity"
        it_has = f"it has shape {numbers.shape}{also}"
        raise InvalidInput.must(name, f"be finite numbers of shape {shape}", it_has)
