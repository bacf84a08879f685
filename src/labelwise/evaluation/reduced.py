"""Which columns are texts or embeddings, and tables with components in their place."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.evaluation.history import with_history
from labelwise.tables.cells import require
from labelwise.tables.columns import Columns
from labelwise.tables.reduce import (
    Reduced,
    looks_like_text,
    looks_like_vectors,
    matching,
    reduce_embedding,
    reduce_texts,
)

Frames = Mapping[str, pd.DataFrame]


def reduce_columns(
    columns: Columns, tables: Frames
) -> tuple[Columns, dict[str, pd.DataFrame], list[str]]:
    """Components for texts and embeddings among the features, and what was decided, in words.

    A text stays in its table, for labellers to read; the numbers of an embedding do not.
    """
    columns, tables, notes = with_history(columns, tables, _shared(columns, tables))
    names = _shared(columns, tables)
    found = [*_embeddings(columns, tables, names), *_texts(columns, tables, names)]
    if not found:
        return columns, dict(tables), notes
    made = [name for one in found for name in one.made]
    gone = [name for one in found if not one.is_text for name in one.columns]
    changed = {
        place: pd.concat(
            [
                table.drop(columns=[name for name in gone if name in table]),
                *_frames(found, place),
            ],
            axis=1,
        )
        for place, table in tables.items()
    }
    columns = replace(
        columns,
        features=_with_components(columns.features, found),
        derived=(*columns.derived, *made),
        reduced=tuple(one.name for one in found if one.is_text),
    )
    return columns, changed, [*notes, *(one.note for one in found)]


def _frames(found: Sequence[Reduced], place: str) -> list[pd.DataFrame]:
    return [pd.DataFrame(one.values[place], columns=one.made) for one in found]


def _shared(columns: Columns, tables: Frames) -> list[str]:
    """Columns that may be features."""
    taken, first = {*columns.taken, *columns.derived}, next(iter(tables.values()))
    return [
        str(name)
        for name in first
        if name not in taken and all(name in table for table in tables.values())
    ]


def _embeddings(columns: Columns, tables: Frames, names: Sequence[str]) -> list[Reduced]:
    """Those that are named, and columns of lists."""
    sets = {pattern: matching(pattern, names) for pattern in columns.embedding}
    known = {name for one in sets.values() for name in one}
    wanted = [name for name in columns.features or names if name in names]
    lists = [name for name in wanted if name not in known and looks_like_vectors(tables, name)]
    sets |= {name: [name] for name in lists}
    return [reduce_embedding(tables, name, each) for name, each in sets.items()]


def _texts(columns: Columns, tables: Frames, names: Sequence[str]) -> list[Reduced]:
    headers = {place: [str(name) for name in table] for place, table in tables.items()}
    for name in columns.text:
        require(headers, name, "text", list(tables))
        if name not in names:
            raise InvalidInput(
                f"Column {name!r} cannot be a text: it already has another part",
                "take it out of the texts",
                where="text",
            )
    wanted = [name for name in columns.features or names if name in names]
    said = {*columns.text, *columns.categorical}
    seen = [name for name in wanted if name not in said and looks_like_text(tables, name)]
    return reduce_texts(tables, [*columns.text, *seen])


def _with_components(features: Sequence[str], found: Sequence[Reduced]) -> tuple[str, ...]:
    """Features that were named, with components in the place of what they stand for."""
    if not features:
        return ()
    gone = {name for one in found for name in one.columns}
    return (
        *(name for name in features if name not in gone),
        *(m for one in found for m in one.made),
    )
