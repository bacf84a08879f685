"""Rows that turn out, once drawn, not to be labellable.

How many such rows are left among those never drawn is not known, so neither is the mass of
the population. Two terms settle it: the term itself, 0 for such rows, and whether the row can
be labelled, 1 or 0. Means of both are estimated without bias; the answer is their ratio.
"""

from dataclasses import replace

import numpy as np

from labelwise.survey.draws import DrawRecord, RoundDraws


def among_labellable(record: DrawRecord) -> DrawRecord:
    """The record with skipped rows as known zeros, and one more term: can be labelled.

    Divide by the last term: `ratio_interval(values[:, 0], values[:, -1], level)`. A row not
    drawn yet is predicted to be labellable; a wrong prediction costs width, not truth.
    """
    can = np.where(record.skipped, 0.0, np.where(record.known, 1.0, np.nan))
    terms = np.vstack([np.where(record.skipped, 0.0, record.terms), can])
    return replace(
        record,
        terms=terms,
        rounds=tuple(_with_one_more(round_) for round_ in record.rounds),
        skipped=np.zeros_like(record.skipped),
    )


def _with_one_more(round_: RoundDraws) -> RoundDraws:
    predictions = np.vstack([round_.predictions, np.ones(round_.size)])
    return replace(round_, predictions=predictions)
