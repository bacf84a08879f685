"""What an evaluation is, in a few frozen parts: columns, question, belief, sampling, limits.

The parts are what a user writes (in Python, as options, or in a file), what is stored, and what
the engine reads. Defaults and one line of help stand here and nowhere else.
"""

import difflib
import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from typing import Any, TypeVar

from labelwise.errors import InvalidInput, StoreError
from labelwise.tables.columns import Columns, told

Part = TypeVar("Part")
CLASSIFIER = "gp-classifier"  # the belief about 0/1 labels, unless another is named
FLOOR = 0.3  # share of every draw in which all rows are equally likely


@dataclass(frozen=True)
class Tables:
    """Where the rows come from: frames, or CSV, Parquet or JSON files."""

    labelled: Any = field(metadata=told("Rows with labels: CSV, Parquet or JSON."))
    pool: Any = field(metadata=told("Rows that may be labelled."))
    target: Any = field(
        default=None, metadata=told("Sample of the population; default: the pool.")
    )


@dataclass(frozen=True)
class Question:
    """What is to be known."""

    estimand: Any = field(
        default=None,
        metadata=told(
            "What to know: mse (the default; with a treatment, ate), mae, bias, r2, mean; of "
            "0/1 labels accuracy, error-rate, recall, precision, f1, specificity, "
            "false-positive-rate, brier, log-loss, positive-rate; of treatments ate, att. "
            "One, or several."
        ),
    )
    threshold: float | None = field(
        default=None, metadata=told("Score from which the model says 1; default 0.5.")
    )
    by: Any = field(
        default=(), metadata=told("Columns of the target whose groups are answered for too.")
    )
    compare: Any = field(
        default=None, metadata=told("Columns with the outputs of two models, to compare them.")
    )
    combine: str = field(
        default="sum", metadata=told("How several are planned for: their sum, or the worst.")
    )
    scale: str = field(
        default="linear",
        metadata=told(
            "Of intervals from drawn rows: linear, or log, for losses above 0 with a few large "
            "ones."
        ),
    )
    # By column of `by`, its values in the target: found when the tables are read.
    groups: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sampling:
    """How rows are chosen."""

    policy: Any = field(
        default="lookahead",
        metadata=told(
            "How batches are planned: lookahead, random, uncertainty, uncertainty-sequential, "
            "integrated-variance, reinforce or smoothed-autodiff."
        ),
    )
    by: str | None = field(
        default="loss",
        metadata=told(
            "What chance draws rows by, for an answer that holds whatever the belief: loss "
            "(how far a row's loss may be off), policy (its scores), balance (both); or "
            "none: the policy chooses."
        ),
    )
    floor: float = field(
        default=FLOOR,
        metadata=told("Share of every draw in which all rows are equally likely."),
    )
    batch: int = field(default=10, metadata=told("Labels a round."))
    assign: Any = field(
        default=None,
        metadata=told(
            "How pool rows come by their treatment: given (in the pool), random, a probability "
            "such as 0.5, or planned. Default: given if the pool has it, else random."
        ),
    )
    spend: float | None = field(
        default=None, metadata=told("Most that a round may cost; batch is most rows.")
    )
    price: float | None = field(
        default=None,
        metadata=told("What a unit of cost is worth in variance: buy while it pays."),
    )


@dataclass(frozen=True)
class Limits:
    """When it ends."""

    budget: int | None = field(default=None, metadata=told("Labels to buy in all."))
    stop: Any = field(
        default=None,
        metadata=told(
            "When enough is known: width (of the 90 % interval, at any look) and gain "
            "(share of the standard deviation that a batch should take away), whichever "
            "comes first."
        ),
    )
    expiry_days: float | None = field(
        default=30.0,
        metadata=told("Days after which a row that is out may be asked again; none: never."),
    )


PARTS: dict[str, type] = {
    "tables": Tables,
    "columns": Columns,
    "question": Question,
    "sampling": Sampling,
    "limits": Limits,
}


@dataclass(frozen=True)
class Spec:
    """Everything that decides what an evaluation does, apart from its tables and labels."""

    name: str
    columns: Columns
    question: Question
    belief: dict[str, Any]  # its name and options
    sampling: Sampling
    limits: Limits
    seed: int
    target: str  # "target", or "pool" if the pool is the target
    created: str
    version: str  # of Labelwise

    def to_dict(self) -> dict[str, Any]:
        return json.loads(json.dumps(asdict(self)))

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> "Spec":
        """As stored; version 0.1.0 stored it flat."""
        try:
            found = found if "sampling" in found else _from_flat(found)
            parts = {
                name: read_part(PARTS[name], found[name], f"settings.{name}")
                for name in ("columns", "question", "sampling", "limits")
            }
            spec = read_part(Spec, {**found, **parts}, "settings")
        except KeyError as error:
            raise _unsuited(f"settings.{error.args[0]}") from None
        except InvalidInput as error:
            raise _unsuited(error.where) from None
        if spec.target not in ("pool", "target"):
            raise _unsuited("settings.target")
        return spec


def is_binary(belief: Mapping[str, Any]) -> bool:
    """Whether a belief is about labels that are 0 or 1."""
    return belief["name"] == CLASSIFIER or belief.get("labels") == "binary"


def _unsuited(where: str) -> StoreError:
    return StoreError(
        f"The campaign's settings do not suit this Labelwise (see {where})",
        "restore the folder from a copy, or upgrade Labelwise",
        where=where,
    )


def read_part(kind: type[Part], given: Any, where: str) -> Part:
    """A part from a mapping; an unknown key is refused with the nearest that exists."""
    if isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput.must(
            where, f"be {kind.__name__}(...) or a table", f"it is {given!r}"
        )
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    strange = sorted(str(key) for key in given if key not in names)
    if strange:
        near = difflib.get_close_matches(strange[0], names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names)}"
        raise InvalidInput(
            f"{where} has no key {strange[0]!r}", hint, where=f"{where}.{strange[0]}"
        )
    needed = [one.name for one in fields(kind) if is_needed(one)]  # type: ignore[arg-type]
    lost = [name for name in needed if name not in given]
    if lost:
        raise InvalidInput(
            f"{where} needs {lost[0]!r}",
            f"give it, as --{lost[0]} or in a file",
            where=f"{where}.{lost[0]}",
        )
    return kind(**{key: _frozen(value) for key, value in given.items()})


def is_needed(one: Field) -> bool:
    """Whether a field has no default."""
    return one.default is MISSING and one.default_factory is MISSING


def help_of(kind: type, name: str) -> str:
    """The line of help of a field."""
    return next(one.metadata["help"] for one in fields(kind) if one.name == name)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _from_flat(found: Mapping[str, Any]) -> dict[str, Any]:
    """What version 0.1.0 wrote, in parts."""
    draw = found.get("draw")
    columns = dict(found["columns"])
    columns["probability"] = columns.pop("chance", None)
    versus = columns.pop("versus", None)
    low, high = found["low"], found["high"]
    columns |= {
        "features": columns["features"],
        "label_range": None if low is None and high is None else [low, high],
        "predictor_in_belief": found["predictor_in_belief"],
    }
    return {
        "name": found["name"],
        "columns": columns,
        "question": _question_from_flat(found["estimand"], columns["prediction"], versus)
        | {"scale": (draw or {}).get("scale", "linear")},
        "belief": found["belief"],
        "sampling": {
            "policy": found["policy"],
            "by": None if draw is None else draw["by"],
            "floor": FLOOR if draw is None else draw["floor"],
            "batch": found["batch"],
            "assign": found.get("assignment"),
            "spend": found.get("spend"),
            "price": found.get("price"),
        },
        "limits": {
            "budget": found["budget"],
            "stop": found.get("stop"),
            "expiry_days": found["expiry_days"],
        },
        "seed": found["seed"],
        "target": found["target"],
        "created": found["created"],
        "version": found["version"],
    }


def _question_from_flat(
    estimand: Mapping[str, Any], prediction: str | None, versus: str | None
) -> dict[str, Any]:
    """The earliest campaigns have a name alone."""
    if "questions" not in estimand:
        return {"estimand": [estimand["name"]]}
    questions = estimand["questions"]
    groups: dict[str, list[str]] = {}
    for one in questions:
        if one["group"] is not None:
            column, value = one["group"]
            known = groups.setdefault(column, [])
            known += [] if value in known else [value]
    cuts = [one["threshold"] for one in questions if one["threshold"] is not None]
    return {
        "estimand": [one["name"] for one in questions if one["group"] is None],
        "threshold": cuts[0] if cuts else None,
        "by": list(groups),
        "compare": None if versus is None else [prediction, versus],
        "combine": estimand["combine"],
        "groups": groups,
    }
