"""What the columns of files hold: the same in all of them, though written in unlike ways.

Texts may be coded by a dictionary in one file and written out in another, and a column may be
empty in a whole file; such columns are read as they are in the others.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from labelwise.errors import InvalidInput

Pair = tuple[str, str | None]  # a column that a path names, and its value there
NOTHING = "nothing"
OWN = "labelwise "  # begins the names of columns that a pass adds to rows


def kinds_alike(
    schemas: Sequence[pa.Schema],
    partitions: Sequence[Sequence[Pair]],
    paths: Sequence[str],
    table: str,
) -> dict[str, str]:
    """What each column holds, in a word; a file that holds something else is refused."""
    first, known = _kinds(schemas[0], partitions[0]), {}
    for schema, inside, path in zip(schemas, partitions, paths, strict=True):
        _check_names(schema, path, table)
        kinds = _kinds(schema, inside)
        absent = [*(first.keys() - kinds.keys()), *(kinds.keys() - first.keys())]
        if absent:
            has = "has not" if sorted(absent)[0] in first else "alone has"
            what = f"{path} {has} the column {sorted(absent)[0]!r}, unlike {paths[0]}"
            raise _differ(table, what, path)
        for name, kind in kinds.items():
            held, where = known.get(name, (NOTHING, path))
            if NOTHING not in (kind, held) and kind != held:
                what = f"{path} holds {kind} in {name!r}, but {where} {held}"
                raise _differ(table, what, path)
            known[name] = (held, where) if held != NOTHING else (kind, path)
    return {name: kind for name, (kind, _) in known.items()}


def _differ(table: str, what: str, path: str) -> InvalidInput:
    return InvalidInput(
        f"The files of the {table} differ: {what}",
        "write all files with the same columns",
        where=path,
    )


def _check_names(schema: pa.Schema, path: str, table: str) -> None:
    twice = [name for name, many in Counter(schema.names).items() if many > 1]
    own = [name for name in schema.names if name.startswith(OWN)]
    if twice or own:
        name = (twice or own)[0]
        fault = "has several columns" if twice else "has a column of Labelwise's own,"
        raise InvalidInput(
            f"{path} of the {table} {fault} {name!r}", "give it another name", where=path
        )


def _kinds(schema: pa.Schema, inside: Sequence[Pair]) -> dict[str, str]:
    """What each column holds, in a word; a dictionary holds what its values are."""
    return {field.name: _kind(field.type) for field in schema} | {
        name: "a part of the path" for name, _ in inside
    }


def _kind(kind: pa.DataType) -> str:
    kind = decoded(kind)
    if pa.types.is_timestamp(kind):
        return f"times of {kind.tz}" if kind.tz else "times"
    tests = {
        "numbers": lambda: pa.types.is_integer(kind) or pa.types.is_floating(kind),
        "texts": lambda: pa.types.is_string(kind) or pa.types.is_large_string(kind),
        "dates": lambda: pa.types.is_date(kind),
        "times of day": lambda: pa.types.is_time(kind),
        "spans of time": lambda: pa.types.is_duration(kind),
        NOTHING: lambda: pa.types.is_null(kind),
    }
    return next((word for word, test in tests.items() if test()), str(kind))


def are_numbers(kind: str) -> bool:
    """Whether a column of this kind holds numbers, those with a fixed point among them."""
    return kind == "numbers" or kind.startswith("decimal")


def decoded(kind: pa.DataType) -> pa.DataType:
    """What the values of a column are, of a dictionary too."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def casts_of(schemas: Sequence[pa.Schema]) -> dict[str, pa.DataType]:
    """As what columns are read that files write in unlike ways: coded or not, or empty."""
    types: dict[str, list[pa.DataType]] = {}
    for schema in schemas:
        for field in schema:
            held = types.setdefault(field.name, [])
            if field.type not in held:
                held.append(field.type)
    unlike = {name: held for name, held in types.items() if any(map(_is_loose, held))}
    return {
        name: decoded(next(kind for kind in held if not pa.types.is_null(kind)))
        for name, held in unlike.items()
        if len(held) > 1
    }


def _is_loose(kind: pa.DataType) -> bool:
    return pa.types.is_dictionary(kind) or pa.types.is_null(kind)


def cast(rows: pa.Table, casts: Mapping[str, pa.DataType]) -> pa.Table:
    """Rows of a file whose loose columns are as in the others."""
    for name in casts:
        place = rows.schema.get_field_index(name)
        if place >= 0 and _is_loose(rows.schema.field(place).type):
            rows = rows.set_column(place, name, rows[name].cast(casts[name]))
    return rows
