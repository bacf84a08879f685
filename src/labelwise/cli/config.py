"""A campaign as a file: its template, made from the parts, and how options join it."""

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import PARTS, is_needed, read_part

BELIEF = "belief"  # a table of options that depend on its name
SEED = "seed"
KEYS = (*PARTS, BELIEF, SEED)
WIDTH = 88  # of a line of help
HEAD = (
    "A campaign for `labelwise new FOLDER --config FILE`. What stands behind # is the\n"
    "# default, or an example where the default is nothing."
)
BELIEF_HELP = (
    "auto: a Gaussian process, or a classifier for 0/1 labels; gp, gp-classifier; of networks "
    "mlp, dropout, ensemble, ensemble-plus, hypermodel, epinet; or last-layer, a Bayesian "
    "layer on a network. Further keys are its options: kernel, components (8 fits that the "
    "process is a mixture of; 1: the best alone), members, hidden, steps, ..."
)
# What a file may say where the default is nothing.
SUCH_AS = {
    "target": "target.csv",
    "prediction": "score",
    "weight": "weight",
    "cost": "minutes",
    "treatment": "treated",
    "probability": "propensity",
    "features": ["age", "sex"],
    "categorical": ["ward"],
    "label_range": [0, 1],
    "estimand": ["recall", "precision"],
    "threshold": 0.5,
    "by": ["sex"],
    "compare": ["score_a", "score_b"],
    "assign": 0.5,
    "spend": 120,
    "price": 0.001,
    "budget": 200,
    "stop": {"width": 0.05, "gain": 0.01},
    "labelled": "labelled.csv",
    "pool": "pool.csv",
    "id": "id",
    "label": "label",
}


def make_template() -> str:
    """A commented file with every key, its help and its default."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f"# {HEAD}"
    yield f"# {SEED} = 0  # of every random choice"
    for name, kind in PARTS.items():
        yield from ("", f"# {kind.__doc__.splitlines()[0]}", f"[{name}]")  # type: ignore[union-attr]
        for one in fields(kind):
            if "help" in one.metadata:
                yield from _wrapped(one.metadata["help"])
                empty = one.default is MISSING or one.default in (None, ())
                value = SUCH_AS[one.name] if empty else one.default
                mark = "" if is_needed(one) else "# "
                yield f"{mark}{one.name} = {_as_toml(value)}"
    yield from ("", "# What is believed of labels, given features.", f"[{BELIEF}]")
    yield from (*_wrapped(BELIEF_HELP), '# name = "auto"')


def _wrapped(text: str) -> Iterator[str]:
    line = "#"
    for word in text.split():
        if len(line) + len(word) > WIDTH:
            yield line
            line = "#"
        line += f" {word}"
    yield line


def _as_toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {_as_toml(one)}" for key, one in value.items())
        return f"{{ {inside} }}"
    return json.dumps(value)


def gather(
    config: Path | None, flags: Mapping[str, Any], changes: Sequence[str]
) -> dict[str, Any]:
    """The parts from a file, options over it, and single settings over both."""
    found: dict[str, Any] = {} if config is None else _read(config)
    for part, given in flags.items():
        if isinstance(given, Mapping):
            known = {key: value for key, value in given.items() if value is not None}
            found[part] = found.get(part, {}) | known
        elif given is not None:
            found[part] = given
    for change in changes:
        _apply(found, change)
    for name in PARTS:
        found[name] = read_part(PARTS[name], found.get(name, {}), name)
    found[BELIEF] = {"name": "auto", **found.get(BELIEF, {})}
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(
            f"{path} cannot be read as TOML ({error})",
            "see `labelwise new --template` for what it looks like",
            where=str(path),
        ) from None
    for key in found:
        _check_key(key, KEYS, str(path))
    here = path.parent
    tables = found.get("tables", {})
    found["tables"] = {
        name: str(here / one) if isinstance(one, str) else one for name, one in tables.items()
    }
    return found


def _apply(found: dict[str, Any], change: str) -> None:
    """One PART.KEY=VALUE; a value is JSON, or else a word."""
    name, sign, text = change.partition("=")
    part, dot, key = name.strip().partition(".")
    if not sign or (not dot and part != SEED) or (dot and not key):
        raise InvalidInput(
            f"{change!r} is not PART.KEY=VALUE",
            "write it like sampling.floor=0.2",
            where="--set",
        )
    _check_key(part, KEYS, "--set")
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = text
    if not dot:
        found[part] = value
        return
    *inner, last = key.split(".")
    if part in PARTS:
        _check_key([*inner, last][0], [one.name for one in fields(PARTS[part])], part)
    table = found.setdefault(part, {})
    for step in inner:
        table = table.setdefault(step, {})
    table[last] = None if value == "none" and part != "sampling" else value


def _check_key(key: str, known: Sequence[str], where: str) -> None:
    if key not in known:
        near = difflib.get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
        raise InvalidInput(f"There is no {key!r} in {where}", hint, where=f"{where}.{key}")
