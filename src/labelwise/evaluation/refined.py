"""Means of predictions over every row of a pool of which a campaign has a sample.

The answer about the sample is off for want of the other rows. Of the part of that error that
predictions tell, nothing need be guessed: their mean over the pool is a sum that one pass
takes, their mean over the sample is known, and the answer is moved by the difference. The
predictions are the belief's, as it was when the pass was made; any would serve.
"""

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from labelwise.errors import InvalidInput
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.plain_predictor import PlainPredictor
from labelwise.evaluation.question import Inquiry, Quantity
from labelwise.evaluation.reopened import checked_rows, reopen
from labelwise.evaluation.spec import Spec, is_binary
from labelwise.evaluation.two_phase import Mended, can_mend
from labelwise.pools.checkpoint import Checkpoint
from labelwise.pools.engine import in_order
from labelwise.pools.passes import Passing
from labelwise.pools.source import Piece, Source
from labelwise.pools.strata import groups_of
from labelwise.pools.tally import as_floats
from labelwise.tables.encoder import Encoder

SOME = 1 << 16  # rows that are encoded at once


@dataclass(frozen=True)
class Refining:
    """What the pass does with a piece."""

    source: Source
    spec: Spec
    encoder: Encoder
    predictor: PlainPredictor

    @cached_property
    def questions(self) -> tuple[Quantity, ...]:
        return tuple(one for one in Inquiry.of(self.spec).questions if can_mend(one))

    def __call__(self, piece: Piece) -> tuple[pa.Table, None]:
        """Of each question, what rows count for and the sums of their terms."""
        sums = np.zeros(sum(1 + one.averaged.count for one in self.questions))
        for rows in checked_rows(self.source, piece, self.spec):
            for start in range(0, len(rows), SOME):
                sums += self._sums(rows.slice(start, SOME))
        return pa.table({"sums": sums}), None

    def _sums(self, rows: pa.Table) -> np.ndarray:
        label = self.predictor(self.encoder.encode(rows.to_pandas()))
        found = []
        for question in self.questions:
            mass = self._mass(rows, question)
            models = [as_floats(rows[name]) for name in question.models]
            terms = expected_terms(question, label, models, is_binary(self.spec.belief))
            found += [mass.sum(), *(terms * mass).sum(axis=1)]
        return np.array(found)

    def _mass(self, rows: pa.Table, question: Quantity) -> np.ndarray:
        weight, mass = self.spec.columns.weight, np.ones(len(rows))
        mass = mass if weight is None else as_floats(rows[weight])
        if question.group is None:
            return mass
        column, value = question.group
        groups, codes = groups_of(rows, [column])
        return mass * np.array([group == (value,) for group in groups])[codes]


def expected_terms(
    question: Quantity, label: np.ndarray, models: list[np.ndarray], binary: bool
) -> np.ndarray:
    """Terms that rows are expected to have: of classes on average, of numbers at the mean."""
    metric, threshold = question.averaged, question.threshold
    prediction: Any = None if not models else models[0]
    prediction = prediction if question.versus is None else tuple(models)
    of = lambda y: np.asarray(metric.stack(y, prediction, threshold), float)
    if not binary:
        return of(label)
    zero, one = of(np.zeros(len(label))), of(np.ones(len(label)))
    return zero + (one - zero) * label


def refine(
    evaluation: Evaluation, encoder: Encoder, passing: Passing, pool: pa.Table
) -> dict[str, Mended]:
    """Take the pass; by title of the question, what mends its answer.

    `pool` is the sample at hand.
    """
    phase, spec = evaluation.phase, evaluation.spec
    if phase is None:
        raise InvalidInput(
            "The campaign has all rows of its pool, so there is nothing to refine",
            "use `labelwise estimate`",
            where="pool",
        )
    made = any(coding.column not in phase.columns for coding in encoder.codings)
    none = not any(can_mend(question) for question in evaluation.inquiry.questions)
    if made or none or spec.target != "pool":
        raise InvalidInput(
            "Means over every row mend means, ratios and the like, of numbers or two classes, "
            "about the pool itself, with features that are columns of it",
            "use `labelwise estimate`, whose interval holds without them",
            where="pool",
        )
    source = reopen(phase)
    predictor = PlainPredictor.of(evaluation.posterior.belief)
    refining = Refining(source, spec, encoder, predictor)
    sums = _run(refining, evaluation, passing)
    return _mended(refining, sums, pool)


def _run(refining: Refining, evaluation: Evaluation, passing: Passing) -> np.ndarray:
    pieces, total = refining.source.pieces, np.zeros(0)
    what = {
        "files": list(zip(refining.source.files, refining.source.stamps, strict=True)),
        "labels": evaluation.state.fingerprint(),
        "settings": refining.spec.to_dict(),
    }
    with tempfile.TemporaryDirectory() as spare:
        kept = Checkpoint(passing.keep or Path(spare) / "pass", what)
        results = kept.run(passing.engine, refining, pieces)
        for done, one in enumerate(in_order(results, [piece.number for piece in pieces])):
            sums = one["sums"].to_numpy()
            total = total + sums if len(total) else sums
            passing.progress(done + 1, len(pieces))
        kept.remove()
    pa.default_memory_pool().release_unused()
    return total


def _mended(refining: Refining, sums: np.ndarray, pool: pa.Table) -> dict[str, Mended]:
    label = refining.predictor(refining.encoder.encode(pool.to_pandas()))
    found, begin, binary = {}, 0, is_binary(refining.spec.belief)
    for question in refining.questions:
        end = begin + 1 + question.averaged.count
        models = [as_floats(pool[name]) for name in question.models]
        terms = expected_terms(question, label, models, binary)
        found[question.title] = Mended(terms, sums[begin + 1 : end] / sums[begin])
        begin = end
    return found
