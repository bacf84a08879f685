"""Records as plain values, to be stored as JSON, and made again without running anything.

A record is a frozen dataclass or an Equinox module whose class has a name here: it becomes
{"name": its name, field: value, ...}, fields that are records likewise. There are two ways:

- as a description, arrays as numbers and lists: its class builds it again, and checks it;
- whole, arrays kept beside the text: it is put together again field by field, as it was.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from labelwise.errors import InvalidInput
from labelwise.inputs import as_jax

Kinds = TypeVar("Kinds", bound=Mapping[str, type])
Arrays = dict[str, np.ndarray]

_KINDS: dict[str, type] = {}
_FAMILIES: dict[str, tuple[str, ...]] = {}


def register(family: str, kinds: Kinds) -> Kinds:
    """Give classes the names that they are stored by; their family is named in refusals."""
    taken = sorted(name for name, kind in kinds.items() if _KINDS.get(name, kind) is not kind)
    assert not taken, f"two classes are stored as {taken}"
    _KINDS.update(kinds)
    _FAMILIES[family] = tuple(kinds)
    return kinds


def encode(value: Any, where: str = "", arrays: Arrays | None = None) -> Any:
    """The value as JSON holds it; its arrays go to `arrays`, if there is such a place.

    `where` is the family that the value must belong to.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {key: encode(item, "", arrays) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item, "", arrays) for item in value]
    if is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        plain = {name: encode(part, "", arrays) for name, part in parts.items()}
        return {"name": _name_of(value, where), **plain}
    if not isinstance(value, jax.Array | np.ndarray | np.generic):
        _name_of(value, where)  # which refuses it
    if arrays is None:
        return np.asarray(value).tolist()
    number = f"array_{len(arrays)}"
    random = jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    arrays[number] = np.asarray(jax.random.key_data(value) if random else value)  # type: ignore[arg-type]
    return {"key" if random else "array": number}


def decode(stored: Any, where: str = "stored value", arrays: Arrays | None = None) -> Any:
    """What was encoded: described without `arrays`, whole with them; lists become tuples."""
    if isinstance(stored, list | tuple):
        return tuple(decode(item, where, arrays) for item in stored)
    if not isinstance(stored, Mapping):
        return stored
    if arrays is not None and len(stored) == 1 and next(iter(stored)) in ("array", "key"):
        return _array(*next(iter(stored.items())), where, arrays)
    parts = {name: decode(item, where, arrays) for name, item in stored.items()}
    if "name" not in parts:
        return parts
    kind = _kind_of(parts.pop("name"), where)
    return _build(kind, parts, where, whole=arrays is not None)


def save(path: str | Path, record: Any, version: int) -> None:
    """Write a record whole, to a NumPy archive: its arrays, and a text that joins them."""
    arrays: Arrays = {}
    header = {"format": version, "record": encode(record, arrays=arrays)}
    with Path(path).open("wb") as file:
        np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)  # type: ignore[arg-type]


def load(path: str | Path, what: str) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file that should hold `what`."""
    path = Path(path)
    if not path.is_file():
        raise InvalidInput(
            f"There is no file {path}", f"give the path of a saved {what}", where=str(path)
        )
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)  # a pickle runs code when it is read
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("header")))
        return dict(header), arrays
    except Exception:  # an archive can be damaged in more ways than zipfile has errors
        raise InvalidInput(
            f"{path} does not hold a {what}", f"save one with save_{what}", where=str(path)
        ) from None


def _kind_of(name: Any, where: str) -> type:
    if isinstance(name, str) and name in _KINDS:
        return _KINDS[name]
    known = _FAMILIES.get(where)
    raise InvalidInput(
        f"There is no {where if known else 'record'} {name!r}",
        f"choose from {', '.join(known)}" if known else "another version wrote it",
        where=where,
    )


def _name_of(record: Any, where: str) -> str:
    names = _FAMILIES.get(where, tuple(_KINDS))
    name = next((name for name in names if _KINDS[name] is type(record)), None)
    if name is None:
        choice = f"choose a {where} from {', '.join(names)}"
        raise InvalidInput(
            f"A {type(record).__name__} cannot be stored",
            choice if where in _FAMILIES else "use the package's own",
            where=where,
        )
    return name


def _array(kind: str, number: str, where: str, arrays: Arrays) -> jax.Array:
    if number not in arrays:
        raise _damaged(f"there is no {number}", where)
    array = as_jax(arrays[number])
    return array if kind == "array" else jax.random.wrap_key_data(array)


def _build(kind: type, parts: dict[str, Any], where: str, whole: bool) -> Any:
    """A record with these fields; those that have a default may miss.

    Whole, it is as it left: a constructor may make other fields of what it is given.
    """
    usual = {field.name: field.default for field in fields(kind)}
    if strange := sorted(set(parts) - set(usual)):
        raise _damaged(f"a {kind.__name__} has no {strange[0]!r}", where)
    if missing := [name for name in usual if usual[name] is MISSING and name not in parts]:
        raise _damaged(f"a {kind.__name__} lacks {missing[0]!r}", where)
    if not whole:
        return kind(**parts)
    record = object.__new__(kind)
    for name, part in (usual | parts).items():
        object.__setattr__(record, name, part)
    return record


def _damaged(what: str, where: str) -> InvalidInput:
    return InvalidInput(
        f"What is stored cannot be read: {what}",
        "it was damaged, or written by another version",
        where=where,
    )
