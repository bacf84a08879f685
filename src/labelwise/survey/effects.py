"""Average effects of a treatment that units get with known probabilities.

A unit's effect, its outcome if treated minus that if not, is never seen. With Z the treatment
it got, p the probability of getting it, and m1, m0 predictions made before its outcome Y,

    τ̂ = m1 − m0 + Z (Y − m1) / p − (1 − Z) (Y − m0) / (1 − p)

has the unit's effect as its mean, whatever m1 and m0 are. So it serves as the unit's term. Its
noise is shared by later estimates: call `estimates(record, noisy=True)`.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.tables.text import name_rows


def effect_terms(
    outcomes: np.ndarray, treatments: np.ndarray, probabilities: np.ndarray, arms: np.ndarray
) -> np.ndarray:
    """τ̂ of every unit; NaN where its outcome is. `arms` is 2 × N: m0, then m1."""
    untreated, treated = arms
    gap = np.where(
        treatments == 1,
        (outcomes - treated) / probabilities,
        -(outcomes - untreated) / (1.0 - probabilities),
    )
    return treated - untreated + gap


def effect_record(
    mass: np.ndarray,
    outcomes: np.ndarray,
    treatments: np.ndarray,
    probabilities: np.ndarray,
    rounds: tuple[RoundDraws, ...],
    skipped: np.ndarray,
    dropped: np.ndarray,
    before: np.ndarray | None = None,
) -> DrawRecord:
    """The record whose one term is τ̂, from rounds that predict both outcomes (m0, then m1).

    `outcomes` are NaN and `treatments` anything where not known; `probabilities` are those of
    being treated. A unit's predictions are those of the round that took it. `before`, 2 × N,
    holds those of units that no round took but whose outcome is known: they must have been
    made without that outcome, or τ̂ is biased.
    """
    arms = np.full((2, len(mass)), np.nan) if before is None else before.astype(float)
    vectors = {"outcomes": outcomes, "treatments": treatments, "probabilities": probabilities}
    _check_shapes(len(mass), vectors, arms)
    _check_trial(outcomes, treatments, probabilities)
    _check_rounds(rounds)
    for round_ in rounds:
        arms[:, round_.rows] = round_.predictions[:, round_.rows]
    bare = np.flatnonzero(~np.isnan(outcomes) & np.isnan(arms).any(axis=0))
    if bare.size:
        raise InvalidInput(
            f"The outcome of {name_rows(bare)} is known though no round took it",
            "give predictions made without that outcome as before",
            where="before",
        )
    terms = effect_terms(outcomes, treatments, probabilities, arms)[None, :]
    return DrawRecord(mass, terms, tuple(map(_contrast, rounds)), skipped, dropped)


def _contrast(round_: RoundDraws) -> RoundDraws:
    """Put the predicted effect in place of the two predicted outcomes."""
    return replace(round_, predictions=np.diff(round_.predictions, axis=0))


def _check_shapes(size: int, vectors: Mapping[str, np.ndarray], arms: np.ndarray) -> None:
    for name, values in vectors.items():
        if values.shape != (size,):
            raise InvalidInput(
                f"{name} has shape {values.shape} but mass has {size} rows",
                "give one value a unit",
                where=name,
            )
    if arms.shape != (2, size):
        raise InvalidInput.must(
            "before",
            f"have shape (2, {size}), the outcomes predicted if untreated and if treated",
            f"it has shape {arms.shape}",
        )


def _check_trial(
    outcomes: np.ndarray, treatments: np.ndarray, probabilities: np.ndarray
) -> None:
    outside = np.flatnonzero(~((probabilities > 0) & (probabilities < 1)))
    if outside.size:
        raise InvalidInput.must(
            "probabilities",
            "lie strictly between 0 and 1",
            f"see {name_rows(outside)}: leave out units whose treatment is certain",
            name="The probability of treatment",
        )
    strange = np.flatnonzero(~np.isnan(outcomes) & ~np.isin(treatments, (0, 1)))
    if strange.size:
        raise InvalidInput.must(
            "treatments", "be 0 or 1 where the outcome is known", f"see {name_rows(strange)}"
        )


def _check_rounds(rounds: tuple[RoundDraws, ...]) -> None:
    for number, round_ in enumerate(rounds):
        if len(round_.predictions) != 2:
            raise InvalidInput(
                f"Round {number} predicts {len(round_.predictions)} terms",
                "an effect needs two, the outcome if untreated and if treated",
                where="rounds",
            )
