"""Noise of the terms themselves, charged to the draw that brought it.

The term of a unit in a trial is an estimate of its effect, with the noise of one outcome and
one treatment. A unit once drawn counts with that term in all later Ê_k, which share its noise,
so that their spread does not show it: half the variance is missed when most of the pool is
drawn. The sum of n estimates holds the noise of the unit of draw j once in Ê_j, divided by its
probability, and n − j times more. So the variance is read off

    X_j = Ê_j + (n − j) ω_j (z_j − m_j) / Ω.

z_j − m_j stands for the noise. It also holds what the prediction missed of the unit's own
effect, which errs on the safe side.
"""

import numpy as np

from labelwise.survey.draws import DrawRecord

Usable = list[np.ndarray]  # of each round: which of its rows give an estimate


def charge_noise(record: DrawRecord, usable: Usable, values: np.ndarray) -> np.ndarray:
    """Give numbers with the mean of `values`, n × terms, and a spread that counts all noise."""
    if not len(values):
        return values
    shared, owner = _share(record, usable)
    counted = np.flatnonzero(record.known & (shared > 0))
    undrawn = counted[owner[counted] < 0]
    # Rows known from the start, told unasked, or chosen have no draw of their own. Their
    # noise is independent of the draws, so any may bear it; dealt out, no draw bears it all.
    owner[undrawn] = np.arange(undrawn.size) % len(values)
    mass = record.labellable_mass
    error = record.terms - _predictions(record)
    noise = (mass * shared / mass.sum() * error)[:, counted]
    charged = values.copy()
    np.add.at(charged, owner[counted], noise.T)
    return charged - charged.mean(axis=0) + values.mean(axis=0)


def _share(record: DrawRecord, usable: Usable) -> tuple[np.ndarray, np.ndarray]:
    """Count the usable estimates that hold each row's term; find which draw was its own."""
    shared = np.zeros(len(record.mass))
    owner = np.full(len(record.mass), -1)
    draw = 0
    for round_, use in zip(record.rounds, usable, strict=True):
        outside = ~round_.open
        for row, usable_draw in zip(round_.rows, use, strict=True):
            if usable_draw:
                shared += outside
                owner[row] = draw
                draw += 1
            outside[row] = True
    return shared, owner


def _predictions(record: DrawRecord) -> np.ndarray:
    """Of every row the prediction from before its label: that of the round that took it.

    Rows that no round took are held to the first round's, the best there is.
    """
    predictions = record.rounds[0].predictions.copy()
    for round_ in record.rounds:
        predictions[:, round_.rows] = round_.predictions[:, round_.rows]
    return predictions
