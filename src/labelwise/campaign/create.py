"""What a campaign is made with, from tables that were read and checked."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from labelwise.campaign.status import WHOLE
from labelwise.campaign.store.appearing import check_free
from labelwise.campaign.store.contract import Contents, Item
from labelwise.campaign.store.sqlite import MemoryStore
from labelwise.errors import InvalidInput
from labelwise.evaluation.prepare import Prepared, prepare
from labelwise.inputs import as_count
from labelwise.pools.engine import make_engine
from labelwise.pools.passes import Passing
from labelwise.pools.places import is_remote


def contents_of(prepared: Prepared) -> Contents:
    """What is stored when it is made; a target that is the pool is stored once."""
    spec, tables = prepared.spec, prepared.tables
    labels = pd.to_numeric(tables["labelled"][spec.columns.label]).astype(float)
    documents = {
        "settings": spec.to_dict(),
        "encoder": prepared.encoder.to_dict(),
        "shift": prepared.shift,
        "population": prepared.population.to_dict(),
        "rows": {name: len(table) for name, table in tables.items()},
        # Between which numbers they lie, so that an odd one can be told later.
        "labels": {} if labels.empty else {"low": labels.min(), "high": labels.max()},
    }
    if prepared.phase is not None and prepared.sampled is not None:
        tally = prepared.sampled.tally
        documents["rows"][WHOLE] = prepared.phase.total
        documents["first_phase"] = prepared.phase.to_dict()
        documents["sample"] = prepared.phase.told
        documents["statistics"] = None if tally is None else tally.to_dict()
    kept = [name for name in tables if name != "target" or spec.target == "target"]
    return Contents(
        documents=documents,
        items=[Item(*item) for item in prepared.items],
        tables={name: _as_parquet(tables[name], name) for name in kept},
    )


def _as_parquet(table: pd.DataFrame, name: str) -> bytes:
    content = BytesIO()
    try:
        table.to_parquet(content, index=False)
    except (TypeError, ValueError, NotImplementedError) as error:  # what Arrow cannot hold
        reason = str(error).splitlines()[0].rstrip(".")
        raise InvalidInput(
            f"The {name} table cannot be stored ({reason})",
            "turn its columns into numbers, texts or dates",
            where=name,
        ) from None
    return content.getvalue()


def passing_for(
    path: str | Path,
    scheduler: str | None,
    workers: int,
    progress: Callable[[int, int], None],
) -> Passing:
    """How a pass for a campaign of this path runs; what it has done is kept beside it."""
    place = Path(path).resolve()
    keep = None if str(path) == MemoryStore.place else place.with_name(f".{place.name}.pass")
    return Passing(make_engine(scheduler, as_count("workers", workers)), keep, progress)


def prepare_at(path: str | Path, parts: tuple[Any, ...], passing: Passing) -> Prepared:
    """Read and check tables for a campaign of this path, if there can be one."""
    if str(path) != MemoryStore.place:
        check_free(Path(path).resolve())
    with refused_leaves_nothing(passing):
        return prepare(*parts, passing=passing)


@contextmanager
def refused_leaves_nothing(passing: Passing) -> Iterator[None]:
    """Tables that are refused leave nothing of a pass: once mended they are others.

    Of a bucket that was out of reach for a moment what was read is kept.
    """
    try:
        yield
    except InvalidInput as error:
        if not is_remote(error.where or ""):
            forget(passing)
        raise


def forget(passing: Passing) -> None:
    """Remove what a pass has kept, once the campaign is made."""
    if passing.keep is not None:
        shutil.rmtree(passing.keep, ignore_errors=True)
