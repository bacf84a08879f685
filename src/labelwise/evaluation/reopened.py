"""The files of a pool that was sampled, once more: they must be those the sample is of."""

from collections.abc import Iterator

import pyarrow as pa

from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Spec
from labelwise.pools.checks import Checks, check_cells
from labelwise.pools.first_phase import FirstPhase
from labelwise.pools.kinds import are_numbers
from labelwise.pools.source import Piece, Source, open_source


def reopen(phase: FirstPhase) -> Source:
    """The pool's files with the columns that were read; refused where they have changed."""
    source, changed = open_source(phase.address, "pool"), ""
    kinds = dict(zip(phase.columns, phase.kinds, strict=False))
    other = [name for name, kind in kinds.items() if source.kinds.get(name) != kind]
    absent = [name for name in phase.columns if name not in source.columns]
    if source.rows != phase.total:
        changed = f"holds {source.rows} rows, but {phase.total}"
    elif absent:
        changed = f"has no column {absent[0]!r}, but had one"
    elif other:
        name = other[0]
        changed = f"holds {source.kinds[name]} in {name!r}, but {kinds[name]}"
    if changed:
        raise InvalidInput(
            f"{phase.address} {changed} when the campaign was made",
            "bring back the files, or make a new campaign",
            where=phase.address,
        )
    return source.only(phase.columns)


def checked_rows(source: Source, piece: Piece, spec: Spec) -> Iterator[pa.Table]:
    """The rows of a piece, some at a time; a model's output that is no number is refused."""
    models = [spec.columns.prediction, spec.columns.versus]
    numbers = tuple(
        name
        for name in models
        if isinstance(name, str) and are_numbers(source.kinds.get(name, ""))
    )
    checks = Checks(numbers=numbers, full=(str(spec.columns.id),))
    for rows in source.batches(piece):
        check_cells(rows, checks, source.files[piece.file])
        yield rows
