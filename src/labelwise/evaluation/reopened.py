"""The files of a pool that was sampled, once more: they must be those the sample is of."""

from labelwise.errors import InvalidInput
from labelwise.pools.first_phase import FirstPhase
from labelwise.pools.source import Source, open_source


def reopen(phase: FirstPhase) -> Source:
    """The pool's files with the columns that were read; refused where they have changed."""
    source, changed = open_source(phase.address, "pool"), ""
    absent = [name for name in phase.columns if name not in source.columns]
    if source.rows != phase.total:
        changed = f"holds {source.rows} rows, but {phase.total}"
    elif absent:
        changed = f"has no column {absent[0]!r}, but had one"
    if changed:
        raise InvalidInput(
            f"{phase.address} {changed} when the campaign was made",
            "bring back the files, or make a new campaign",
            where=phase.address,
        )
    return source.only(phase.columns)
