"""Choosing among every row of a pool of which an evaluation has a sample.

One pass scores all rows, by landmarks and in single precision (`lookahead.landmarks`), and
keeps the best few thousand: of those near each landmark some, the rest by score alone. Among
these the policy searches as it does in a pool that is there whole, with exact gains.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow as pa

from labelwise.beliefs.process import AbstractProcess
from labelwise.evaluation.data import shuffled
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.posterior import Posterior, round_key
from labelwise.evaluation.reopened import checked_rows, reopen
from labelwise.evaluation.spec import Spec
from labelwise.inputs import as_jax
from labelwise.lookahead.landmarks import LANDMARKS, Screen, in_single, make_screen, pick, score
from labelwise.policies.lookahead import SHORTLIST, Lookahead
from labelwise.pools.best import HASH, KIND, SCORE, Best
from labelwise.pools.checkpoint import Checkpoint
from labelwise.pools.engine import in_order
from labelwise.pools.first_phase import STRATUM
from labelwise.pools.keys import hash_ids, hash_texts
from labelwise.pools.passes import Passing
from labelwise.pools.source import Piece, Source
from labelwise.pools.strata import Strata
from labelwise.programs import program
from labelwise.runtime import single_threaded
from labelwise.tables.encoder import Encoder
from labelwise.types import Batch, Pool

SOME = 1 << 16  # rows that are encoded at once
BESIDE = 1000  # rows of the sample among which landmarks are, beside those of the target
KEPT = Best(SHORTLIST, each=4)


@dataclass(frozen=True)
class Scoring:
    """What the pass does with a piece."""

    source: Source
    encoder: Encoder
    screen: Screen  # in single precision
    spec: Spec
    closed: np.ndarray  # hashes of ids that must not be asked
    strata: Strata

    def __call__(self, piece: Piece) -> tuple[pa.Table, None]:
        """The rows that may be among the best of all."""
        parts = [
            self._best(rows.slice(start, SOME))
            for rows in checked_rows(self.source, piece, self.spec)
            for start in range(0, len(rows), SOME)
        ]
        return KEPT.joined(parts), None

    def _best(self, rows: pa.Table) -> pa.Table:
        hashes = hash_ids(rows[str(self.spec.columns.id)])
        gain, near = score(self.screen, self.encoder.encode(rows.to_pandas()))
        gain = np.where(np.isin(hashes, self.closed), np.nan, gain)
        best = KEPT.places(gain, near, hashes)
        some = rows.take(pa.array(best))
        some = some.append_column(SCORE, pa.array(gain[best], pa.float32()))
        some = some.append_column(KIND, pa.array(near[best], pa.int32()))
        some = some.append_column(HASH, pa.array(hashes[best], pa.uint64()))
        return some.append_column(STRATUM, pa.array(self.strata.of(some), pa.int64()))


def looks_at_all(evaluation: Evaluation, columns: Sequence[str]) -> bool:
    """Whether every row of the larger pool is looked at, and not the sample alone.

    So it is where lookahead chooses by itself, by a belief that is a Gaussian process or some
    of them, among rows that cost alike, and the `columns` of the sample are those of the files.
    """
    phase, spec = evaluation.phase, evaluation.spec
    if phase is None or phase.strata is None or evaluation.survey.by_chance:
        return False
    words = isinstance(spec.columns.prediction, str) and phase.strata.column is None
    made = words or not set(columns) <= set(phase.columns)  # of what is in the files
    arrays, belief = evaluation.arrays, evaluation.posterior.belief
    plain = arrays.cost is None and arrays.treatment_column is None and not spec.columns.several
    process = isinstance(belief.latent, AbstractProcess)
    return plain and process and not made and isinstance(evaluation.policy, Lookahead)


@single_threaded
def find_best(
    evaluation: Evaluation, encoder: Encoder, closed: list[str], passing: Passing
) -> pa.Table:
    """The rows of the larger pool that are worth an exact look; not those of `closed` ids."""
    phase, spec = evaluation.phase, evaluation.spec
    assert phase is not None
    assert phase.strata is not None
    source = reopen(phase)
    hashes = np.sort(hash_texts(closed)) if closed else np.zeros(0, np.uint64)
    screen = make_screen_for(evaluation)
    scoring = Scoring(source, encoder, screen, spec, hashes, phase.strata)
    return KEPT.chosen(_run(scoring, evaluation, passing))


def make_screen_for(evaluation: Evaluation) -> Screen:
    """By which rows are scored, in single precision."""
    posterior, seed = evaluation.posterior, evaluation.spec.seed
    pool, target = posterior.arrays.pool, np.asarray(posterior.estimand.x)
    beside = pool[np.sort(shuffled(pool, seed)[:BESIDE])]
    near = np.concatenate([target, beside])
    landmarks = near[pick(np.asarray(_covariance(posterior.belief, as_jax(near))), LANDMARKS)]
    out, known = _pool_of(posterior, near[:1]), (posterior.belief, posterior.estimand)
    return in_single(_made(_key(evaluation), *known, out, as_jax(landmarks)))


@program
def _covariance(belief, x):
    return belief.latent.covariance(x)


@program
def _made(key, belief, estimand, pool, landmarks):
    return make_screen(key, belief, estimand, pool, landmarks)


def _key(evaluation: Evaluation) -> jax.Array:
    return round_key(evaluation.spec.seed, evaluation.state.round + 1)


def _pool_of(posterior: Posterior, x: np.ndarray) -> Pool:
    """These rows as a pool, and those that are out."""
    out = np.asarray(posterior.pool.pending)
    pending = np.asarray(posterior.arrays.pool)[np.maximum(out, 0)]
    free = np.arange(len(x) + len(out)) < len(x)
    places = np.where(out >= 0, len(x) + np.arange(len(out)), -1)
    return Pool(np.concatenate([x, pending]), free, places)


def _run(scoring: Scoring, evaluation: Evaluation, passing: Passing) -> pa.Table:
    source, best = scoring.source, None
    what = {
        "files": list(zip(source.files, source.stamps, strict=True)),
        "labels": evaluation.state.fingerprint(),
        "closed": [str(one) for one in scoring.closed],
        "pending": evaluation.state.pending_in_order(),
        "round": evaluation.state.round,
        "settings": evaluation.spec.to_dict(),
        "belief": repr(evaluation.posterior.prior),
    }
    with tempfile.TemporaryDirectory() as spare:
        kept = Checkpoint(passing.keep or Path(spare) / "pass", what)
        results = kept.run(passing.engine, scoring, source.pieces)
        numbers = [piece.number for piece in source.pieces]
        for done, one in enumerate(in_order(results, numbers)):
            best = one if best is None else KEPT.joined([best, one])
            passing.progress(done + 1, len(numbers))
    pa.default_memory_pool().release_unused()
    assert best is not None
    return best


@single_threaded
def choose_among(evaluation: Evaluation, x: np.ndarray, k: int) -> Batch:
    """The policy's batch of the next round from these rows alone, encoded."""
    posterior = evaluation.posterior
    given: tuple[Any, ...] = (posterior.belief, posterior.estimand, _pool_of(posterior, x), k)
    return evaluation.policy.propose(_key(evaluation), *given)
