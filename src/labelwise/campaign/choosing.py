"""Asking among every row of a pool of which a campaign has a sample."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from labelwise.campaign.create import forget, refused_leaves_nothing
from labelwise.campaign.export import as_in
from labelwise.campaign.store.turns import owned
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.everything import choose_among, find_best, looks_at_all
from labelwise.evaluation.joined import Joined
from labelwise.evaluation.question import Inquiry
from labelwise.evaluation.survey_weights import Population
from labelwise.inputs import as_count, as_jax
from labelwise.pools.engine import make_engine
from labelwise.pools.first_phase import STRATUM
from labelwise.pools.passes import Passing
from labelwise.tables.ids import as_ids
from labelwise.types import Batch

if TYPE_CHECKING:
    from labelwise.campaign.stored import StoredCampaign


@dataclass(frozen=True)
class Workers:
    """Who passes over a pool in files, and whom they tell of pieces done."""

    scheduler: str | None = None
    count: int = 2
    progress: Callable[[int, int], None] = lambda done, total: None


@dataclass(frozen=True)
class Widened:
    """An evaluation with the rows of its next batch in the pool, and what came with them."""

    evaluation: Evaluation
    pool: pd.DataFrame
    joined: Joined | None = None


def widen(
    campaign: "StoredCampaign", evaluation: Evaluation, k: int, workers: Workers
) -> Widened | None:
    """Find the next batch among every row; None where the sample is all that is looked at."""
    columns = [str(column) for column in campaign.tables["pool"]]
    if not looks_at_all(evaluation, columns):
        return None
    with passing_beside(campaign.store.folder, workers) as passing:
        best = find_best(
            evaluation, campaign.encoder, _closed_ids(campaign, evaluation), passing
        )
        pool = campaign.tables["pool"]
        rows = best.select(list(pool.columns)).to_pandas()
        batch = choose_among(evaluation, campaign.encoder.encode(rows), k)
        taken = np.asarray(batch.indices)
        found = _widened(campaign, evaluation, best.take(pa.array(taken)))
        forget(passing)
    return found


@contextmanager
def passing_beside(folder: Path | None, workers: Workers) -> Iterator[Passing]:
    """What was done is kept beside the campaign, unless another process is at it."""
    engine = make_engine(workers.scheduler, as_count("workers", workers.count))
    passing = Passing(engine, None, workers.progress)
    if folder is None:
        yield passing
        return
    keep = folder.with_name(f".{folder.name}.ask")
    with suppress(OSError):  # where nothing can be kept the pass begins anew
        keep.mkdir(exist_ok=True)
    with owned(keep) as alone:
        alone = alone and os.access(keep, os.W_OK)
        kept = replace(passing, keep=keep) if alone else passing
        with refused_leaves_nothing(kept):
            yield replace(passing, keep=keep / "pass") if alone else passing
        forget(kept)


def _closed_ids(campaign: "StoredCampaign", evaluation: Evaluation) -> list[str]:
    """Of rows that must not be asked now."""
    ids = campaign.tables["pool"][campaign.spec.columns.id]
    return as_ids(ids.iloc[sorted(evaluation.state.closed)], "The pool table", "pool")


def _widened(campaign: "StoredCampaign", evaluation: Evaluation, rows: pa.Table) -> Widened:
    """The evaluation with these rows, in their order, as its next batch."""
    pool, column = campaign.tables["pool"], campaign.spec.columns.id
    ids = as_ids(rows[column].to_pylist(), "The pool table", "pool")
    known = {id_: row for row, id_ in enumerate(as_ids(pool[column], "The pool table", "pool"))}
    new = [place for place, id_ in enumerate(ids) if id_ not in known]
    known |= {ids[place]: len(pool) + number for number, place in enumerate(new)}
    batch = _batch([known[id_] for id_ in ids], len(pool) + len(new))
    if not new:
        return Widened(replace(evaluation, given=batch), pool)
    strata = tuple(rows[STRATUM].to_numpy()[new].tolist())
    frame = as_in(pool, rows.take(pa.array(new)).to_pandas())
    table = BytesIO()
    frame.to_parquet(table, index=False)
    joined = Joined(tuple(ids[place] for place in new), strata, table.getvalue())
    whole = pd.concat([pool, frame], ignore_index=True)
    return Widened(_with_rows(campaign, evaluation, whole, strata, batch), whole, joined)


def _batch(rows: list[int], size: int) -> Batch:
    """Rows that were chosen, and not by chance."""
    count, nothing = len(rows), as_jax(np.zeros(size))
    return Batch(
        indices=as_jax(np.array(rows)),
        probabilities=as_jax(np.ones(count)),
        scores=nothing,
        logits=nothing,
        drawn=as_jax(np.zeros(count, bool)),
    )


def _with_rows(
    campaign: "StoredCampaign",
    evaluation: Evaluation,
    pool: pd.DataFrame,
    strata: tuple[int, ...],
    batch: Batch,
) -> Evaluation:
    spec, phase = campaign.spec, evaluation.phase
    assert phase is not None
    phase = phase.with_joined(strata)
    target = pool if spec.target == "pool" else campaign.tables["target"]
    tables = {**campaign.tables, "pool": pool, "target": target}
    return replace(
        evaluation,
        arrays=Inquiry.of(spec).arrays(tables, spec, campaign.encoder, phase=phase),
        phase=phase,
        known_population=widened(evaluation.known_population, spec.target, len(strata)),
        state=replace(evaluation.state, size=len(pool)),
        fitted=evaluation.posterior.prior,
        mended={},  # means over every row know nothing of the new ones
        given=batch,
    )


def widened(population: Population | None, target: str, rows: int) -> Population | None:
    """What pool rows stand for once others have joined, which stand for themselves.

    Where the pool is the target its masses say so; of another target they are no part.
    """
    if not rows or population is None or population.weight is None:
        return population
    if target == "pool":
        return None
    return replace(population, weight=np.append(population.weight, np.zeros(rows)))


def pool_table(campaign: "StoredCampaign") -> pa.Table:
    """The pool as it was read: the sample, then rows that joined."""
    parts = [campaign.store.table("pool"), *(one.table for one in campaign.joined)]
    tables: list[Any] = [pq.read_table(BytesIO(part)) for part in parts]
    return pa.concat_tables(tables, promote_options="permissive")
