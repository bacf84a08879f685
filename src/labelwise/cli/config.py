"""A campaign as a file: its template, made from the parts, and how options join it."""

import json
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import PARTS, check_keys, is_needed, read_part
from labelwise.tables.bytes import bytes_of, text_in
from labelwise.tables.json_rows import read_value

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
    "second_label": "verdict_b",
    "history": ["model_*"],
    "draws": ["draw_*"],
    "text": ["review"],
    "embedding": ["emb_*"],
    "positive": "yes",
    "classes": ["no", "yes"],
    "label_range": [0, 1],
    "show": ["text"],
    "estimand": ["recall", "precision"],
    "threshold": 0.5,
    "tolerance": 0.5,
    "quantile": 0.9,
    "by": ["sex"],
    "compare": ["score_a", "score_b"],
    "labelled_by": "chance",
    "assign": 0.5,
    "spend": 120,
    "price": 0.001,
    "budget": 200,
    "stop": {"width": 0.05, "gain": 0.01},
    "table": "scored.csv",
    "labelled": "labelled.csv",
    "pool": "pool.csv",
    "id": "id",
    "label": "label",
}


def make_template() -> str:
    """Make a commented file with every key, its help and its default."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f"# {HEAD}"
    yield f"# {SEED} = 0  # of every random choice"
    for name, kind in PARTS.items():
        yield from ("", f"# {kind.__doc__.splitlines()[0]}", f"[{name}]")  # type: ignore[union-attr]
        for field in fields(kind):
            if "help" in field.metadata:
                yield from _comment(field.metadata["help"])
                empty = field.default is MISSING or field.default in (None, (), "")
                value = SUCH_AS[field.name] if empty else field.default
                mark = "" if is_needed(field) else "# "
                yield f"{mark}{field.name} = {_as_toml(value)}"
    yield from ("", "# What is believed of labels, given features.", f"[{BELIEF}]")
    yield from (*_comment(BELIEF_HELP), '# name = "auto"')


def _comment(text: str) -> list[str]:
    indents = {"initial_indent": "# ", "subsequent_indent": "# "}
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False, **indents)  # type: ignore[arg-type]


def _as_toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {_as_toml(inner)}" for key, inner in value.items())
        return f"{{ {inside} }}"
    return json.dumps(value)


def gather(
    config: Path | None, flags: Mapping[str, Any], changes: Sequence[str]
) -> dict[str, Any]:
    """Join the parts of a file, options over it, and single settings over both."""
    parts: dict[str, Any] = {} if config is None else _read(config)
    for part, given in flags.items():
        if isinstance(given, Mapping):
            known = {key: value for key, value in given.items() if value is not None}
            parts[part] = _as_table(parts.get(part, {}), part) | known
        elif given is not None:
            parts[part] = given
    apply(parts, changes, PARTS, (BELIEF, SEED))
    for name, kind in PARTS.items():
        parts[name] = read_part(kind, parts.get(name, {}), name)
    belief = parts.get(BELIEF, {})
    belief = {"name": belief} if isinstance(belief, str) else _as_table(belief, BELIEF)
    parts[BELIEF] = {"name": "auto", **belief}
    return parts


def _as_table(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidInput.must(
            where,
            "hold keys and values, as `labelwise new --template` shows",
            f"it is {given!r}",
        )
    return given


def _read(path: Path) -> dict[str, Any]:
    try:
        parts = tomllib.loads(text_in(bytes_of(path), str(path)))
    except InvalidInput:
        raise
    except (OSError, ValueError, RecursionError) as error:  # numbers without end, too
        raise InvalidInput(
            f"{path} cannot be read as TOML ({error})",
            "see `labelwise new --template` for what it looks like",
            where=str(path),
        ) from None
    check_keys(parts, KEYS, str(path))
    parts["tables"] = {
        name: str(path.parent / source) if _is_path(source) else source
        for name, source in _as_table(parts.get("tables", {}), "tables").items()
    }
    return parts


def _is_path(source: Any) -> bool:
    """Whether it is where a file is, from where the other file is; an address is not."""
    return isinstance(source, str) and "://" not in source


def apply(
    parts: dict[str, Any],
    changes: Sequence[str],
    kinds: Mapping[str, type],
    others: Sequence[str] = (),
) -> None:
    """Apply settings, each PART.KEY=VALUE: `kinds` are parts with known keys."""
    for change in changes:
        part, keys, value = _read_change(change)
        check_keys([part], [*kinds, *others], "--set")
        if not keys:
            parts[part] = value
            continue
        if part in kinds:
            check_keys(keys[:1], _shown(kinds[part]), part)
        table = _as_table(parts.setdefault(part, {}), part)
        for step in keys[:-1]:
            table = _as_table(table.setdefault(step, {}), f"{part}.{step}")
        table[keys[-1]] = None if value == "none" and part != "sampling" else value


def _shown(kind: type) -> list[str]:
    """The keys that are a user's to set; others are found when tables are read."""
    told = [field.name for field in fields(kind) if "help" in field.metadata]
    return told or [field.name for field in fields(kind)]


def _read_change(change: str) -> tuple[str, list[str], Any]:
    """Read the part, the keys and the value, which is JSON, or else a word."""
    name, sign, text = change.partition("=")
    part, dot, key = name.strip().partition(".")
    if not sign or (not dot and part != SEED) or (dot and not key):
        raise InvalidInput(
            f"{change!r} is not PART.KEY=VALUE",
            "write it like sampling.floor=0.2",
            where="--set",
        )
    try:
        value = read_value(text, f"--set {name.strip()}")
    except (json.JSONDecodeError, RecursionError):
        value = text
    return part, key.split(".") if dot else [], value
