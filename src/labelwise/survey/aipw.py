"""One estimate a draw, each of them unbiased whatever the predictions are.

Draw k takes row i out of the open rows R with probability q. With masses ω that sum to Ω,

    Ê_k = (Σ_{j ∉ R} ω_j z_j + Σ_{j ∈ R} ω_j m_j + ω_i (z_i − m_i) / q) / Ω:

rows no longer open count with their terms z, open ones with their predictions m, and the row
drawn mends the predictions for all open rows. Given all draws before, its mean is Σ ω z / Ω
exactly. So is the mean of the plain average of the Ê_k; their differences from it are
uncorrelated, so their spread gives its variance, and good predictions make it small. [1]

Weights that depend on the draws, divided by their sum, would make the average biased.

Rows of a round that were drawn together (`policies.stratified`) were all open to each other.
Every Ê_k has the mean above before any row of the round is known, and so has their average. Its
variance is read off the spread of the Ê_k all the same, which is too much where rows that are
near to each other in the order are alike.

[1] Farquhar, Gal, Rainforth (2021), On Statistical Bias in Active Learning; without m.
"""

from dataclasses import dataclass

import numpy as np

from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.survey.noise import Usable, charge_noise


@dataclass(frozen=True)
class DrawEstimates:
    """The estimates of all draws whose labels allow it, in the order drawn."""

    values: np.ndarray  # n × terms: the Ê_k
    charged: np.ndarray  # n × terms: same mean, and a spread that counts noise of the terms
    rows: np.ndarray  # n: the row drawn
    skipped: int  # rows that cannot be labelled
    dropped: int  # draws that failed or expired
    waiting: int  # draws that wait for their own label, or for that of an earlier row


def estimates(record: DrawRecord, *, noisy: bool = False) -> DrawEstimates:
    """The estimates Ê_k, each computed from the record as it stands now.

    - A row that was chosen, not drawn, gives none; its label counts in later ones.
    - A row that cannot be labelled has no mass. A draw of it counts, and mends nothing: the
      other rows' probabilities were what they were. This is exact if such rows are known
      whoever is drawn; where only a draw reveals them, `among_labellable` is.
    - A draw waits while its own label, or that of any row no longer open, is not known, and
      all draws after it wait with it: to use those that are ready would prefer rows whose
      labels come fast.
    - A draw that failed or expired gives none. Where its row is no longer open, its
      prediction stands in for its terms: a bias that a caveat must name.
    - Labels count whenever they came, asked for or not.

    `noisy` says that terms are themselves unbiased estimates (see `noise`).
    """
    usable, dropped, waiting = _sort_draws(record)
    pairs = list(zip(record.rounds, usable, strict=True))
    values = [_estimate_round(record, round_)[use] for round_, use in pairs]
    rows = [round_.rows[use] for round_, use in pairs]
    joined = np.concatenate([np.zeros((0, len(record.terms))), *values])
    return DrawEstimates(
        values=joined,
        charged=charge_noise(record, usable, joined) if noisy else joined,
        rows=np.concatenate([np.zeros(0, int), *rows]),
        skipped=int(record.skipped.sum()),
        dropped=dropped,
        waiting=waiting,
    )


def usable_draws(record: DrawRecord) -> Usable:
    """Find which rows of each round give an estimate."""
    return _sort_draws(record)[0]


def _sort_draws(record: DrawRecord) -> tuple[Usable, int, int]:
    """Find which draws of each round can be used, how many were dropped, and how many wait."""
    unknown = (record.labellable_mass > 0) & ~record.known  # without mass no label is needed
    lost, awaited = unknown & record.dropped, unknown & ~record.dropped
    usable, dropped, waiting, blocked = [], 0, 0, False
    for round_ in record.rounds:
        blocked = blocked or bool(awaited[~round_.open].any())
        waits = blocked | np.logical_or.accumulate(awaited[round_.rows])
        blocked = blocked or bool(waits.any())
        gone = lost[round_.rows]
        usable.append(round_.drawn & ~gone & ~waits)
        waiting += int((round_.drawn & ~gone & waits).sum())
        dropped += int((round_.drawn & gone).sum())
    return usable, dropped, waiting


def _estimate_round(record: DrawRecord, round_: RoundDraws) -> np.ndarray:
    """Ê_k of every row of a round, place × terms; of no use where a draw cannot be used."""
    mass = record.labellable_mass
    surprise = mass * np.where(record.known, record.terms - round_.predictions, 0.0)
    start = round_.predictions @ mass + surprise[:, ~round_.open].sum(axis=1)
    own = surprise[:, round_.rows]
    earlier = np.cumsum(own, axis=1) - own  # rows of this round that were no longer open
    if round_.together:
        earlier = np.zeros_like(own)  # all were
    mended = own / np.where(round_.drawn, round_.probabilities, 1.0)
    return (start[:, None] + earlier + mended).T / mass.sum()
