"""What an evaluation is, in a few frozen parts: columns, question, belief, sampling, limits.

The parts are what a user writes (in Python, as options, or in a file), what is stored, and what
the engine reads. Defaults and one line of help stand here and nowhere else.
"""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from typing import Any, TypeVar

from labelwise.errors import InvalidInput, StoreError
from labelwise.names import CHECKED, CLASSIFIER, check_belief, check_estimand, check_policy
from labelwise.tables.columns import Columns, told

Part = TypeVar("Part")
FLOOR = 0.3  # share of every draw in which all rows are equally likely


@dataclass(frozen=True)
class Tables:
    """Where the rows come from: one table, or labelled rows and pool; frames or files."""

    labelled: Any = told(
        "Rows with labels: CSV, Parquet, JSON or Excel; none if there are none yet.",
        default=None,
    )
    pool: Any = told(
        "Rows that may be labelled: a table as above, or a directory, glob or address (s3://, "
        "gs://) of Parquet files.",
        default=None,
    )
    target: Any = told(
        "Sample of the population, as the pool; default: the pool.", default=None
    )
    table: Any = told(
        "One table for all: rows with a label are the labelled ones, the others the pool.",
        default=None,
    )


@dataclass(frozen=True)
class Question:
    """What is to be known."""

    estimand: Any = told(
        "What to know, as `labelwise metrics` lists it: mse (the default; with a treatment, "
        "ate), mae, r2, ...; of 0/1 labels accuracy, recall, auc, ece, ... "
        "One, or several; or your own function of (y, prediction), as module:function.",
        default=None,
    )
    threshold: float | None = told(
        "Score from which the model says 1; default 0.5.", default=None
    )
    tolerance: float | None = told(
        "How far a label may be from the prediction, for within.", default=None
    )
    quantile: float | None = told(
        "Which quantile predictions are to be, for quantile-loss; default 0.5.", default=None
    )
    by: Any = told("Columns of the target whose groups are answered for too.", default=())
    compare: Any = told(
        "Columns with the outputs of two models, to compare them.", default=None
    )
    combine: str = told("How several are planned for: their sum, or the worst.", default="sum")
    scale: str = told(
        "Of intervals from drawn rows: linear, or log, for losses above 0 with a few large "
        "ones.",
        default="linear",
    )
    # By column of `by`, its values in the target: found when the tables are read.
    groups: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sampling:
    """How rows are chosen."""

    policy: Any = told(
        "How batches are planned: lookahead, random, uncertainty, uncertainty-sequential, "
        "integrated-variance, reinforce or smoothed-autodiff.",
        default="lookahead",
    )
    by: str | None = told(
        "What chance draws rows by, so that they check the belief: policy (its scores: what "
        "a label would teach), loss (how far a row's loss may be off), balance (both); or "
        "none: the policy chooses.",
        default="policy",
    )
    floor: float = told(
        "Share of every draw in which all rows are equally likely.", default=FLOOR
    )
    batch: int = told("Labels a round.", default=10)
    labelled_by: str | None = told(
        "How the labelled rows were chosen: none (nobody knows), or chance (uniformly, from "
        "the same rows as the pool). They are then the first round, and the answer is about "
        "them too.",
        default=None,
    )
    assign: Any = told(
        "How pool rows come by their treatment: given (in the pool), random, a probability "
        "such as 0.5, or planned. Default: given if the pool has it, else random.",
        default=None,
    )
    whole: int = told(
        "Rows up to which a pool in Parquet files is planned in whole; of a larger one a "
        "sample is drawn first.",
        default=200_000,
    )
    sample: int = told("Rows of that sample.", default=20_000)
    spend: float | None = told("Most that a round may cost; batch is most rows.", default=None)
    price: float | None = told(
        "What a unit of cost is worth in variance: buy while it pays.", default=None
    )


@dataclass(frozen=True)
class Limits:
    """When it ends."""

    budget: int | None = told("Labels to buy in all.", default=None)
    stop: Any = told(
        "When enough is known: width (of the 90 % interval, at any look) and gain "
        "(share of the standard deviation that a batch should take away), whichever "
        "comes first.",
        default=None,
    )
    expiry_days: float | None = told(
        "Days after which a row that is out may be asked again; none: never.", default=30.0
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
    # Of users' own metrics, beliefs and policies: by path, a hash of the source.
    sources: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return json.loads(json.dumps(asdict(self)))

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Spec":
        """Read what was stored; version 0.1.0 stored it flat."""
        try:
            stored = stored if "sampling" in stored else _from_flat(stored)
            parts = {
                name: read_part(kind, stored[name], f"settings.{name}")
                for name, kind in PARTS.items()
                if name != "tables"
            }
            spec = read_part(Spec, {**stored, **parts}, "settings")
        except KeyError as error:
            raise _unsuited(f"settings.{error.args[0]}") from None
        except InvalidInput as error:
            raise _unsuited(error.where) from None
        if spec.target not in ("pool", "target"):
            raise _unsuited("settings.target")
        return spec


def check_names(question: Any, belief: Any, sampling: Any) -> None:
    """Refuse names that there are not, before anything heavy is loaded or read."""
    estimand = getattr(question, "estimand", question)
    estimand = estimand.get("estimand") if isinstance(estimand, Mapping) else estimand
    for name in estimand if isinstance(estimand, list | tuple) else [estimand]:
        if name is not None:
            check_estimand(name)
    name = belief.get("name", "auto") if isinstance(belief, Mapping) else belief
    if isinstance(name, str):  # or a process, whose numbers stay
        check_belief(name, [CHECKED])
    policy = getattr(sampling, "policy", sampling)
    policy = policy.get("policy", policy) if isinstance(policy, Mapping) else policy
    if isinstance(policy, str):  # or a policy itself
        check_policy(policy)


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
    """Read a part from a mapping; an unknown key is refused with the nearest that exists."""
    if isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput.must(
            where, f"be {kind.__name__}(...) or a table", f"it is {given!r}"
        )
    known = fields(kind)  # type: ignore[arg-type]
    check_keys(given, [field.name for field in known], where)
    for field_ in known:
        if is_needed(field_) and field_.name not in given:
            raise InvalidInput(
                f"{where} needs {field_.name!r}",
                f"give it, as --{field_.name} or in a file",
                where=f"{where}.{field_.name}",
            )
    frozen = lambda value: tuple(value) if isinstance(value, list) else value
    return kind(**{key: frozen(value) for key, value in given.items()})


def check_keys(given: Iterable[Any], names: Sequence[str], where: str) -> None:
    """Refuse a key that there is not, with the nearest that there is."""
    for key in sorted(str(key) for key in given if key not in names):
        near = difflib.get_close_matches(key, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names)}"
        raise InvalidInput(f"{where} has no key {key!r}", hint, where=f"{where}.{key}")


def is_needed(field: Field) -> bool:
    """Whether a field must be given: it says so, or has no default."""
    given = field.default is not MISSING or field.default_factory is not MISSING
    return not given or field.metadata.get("needed", False)


def help_of(kind: type, name: str) -> str:
    """Look up the line of help of a field."""
    return kind.__dataclass_fields__[name].metadata["help"]


def _from_flat(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Sort what version 0.1.0 wrote into parts."""
    draw = flat.get("draw") or {"by": None, "floor": FLOOR}
    columns = dict(flat["columns"])
    columns["probability"] = columns.pop("chance", None)
    versus = columns.pop("versus", None)
    ends = [flat["low"], flat["high"]]
    columns["label_range"] = None if ends == [None, None] else ends
    columns["predictor_in_belief"] = flat["predictor_in_belief"]
    question = _question_from_flat(flat["estimand"], columns["prediction"], versus)
    kept = ("name", "belief", "seed", "target", "created", "version")
    return {
        "columns": columns,
        "question": question | {"scale": draw.get("scale", "linear")},
        "sampling": {
            **{name: flat[name] for name in ("policy", "batch")},
            **{name: draw[name] for name in ("by", "floor")},
            **{name: flat.get(name) for name in ("spend", "price")},
            "assign": flat.get("assignment"),
        },
        "limits": {
            **{name: flat[name] for name in ("budget", "expiry_days")},
            "stop": flat.get("stop"),
        },
        **{name: flat[name] for name in kept},
    }


def _question_from_flat(
    estimand: Mapping[str, Any], prediction: str | None, versus: str | None
) -> dict[str, Any]:
    """Read a question of version 0.1.0; the earliest campaigns have a name alone."""
    if "questions" not in estimand:
        return {"estimand": [estimand["name"]]}
    questions = estimand["questions"]
    groups: dict[str, list[str]] = {}
    for column, value in (asked["group"] for asked in questions if asked["group"] is not None):
        values = groups.setdefault(column, [])
        values += [] if value in values else [value]
    cuts = [asked["threshold"] for asked in questions if asked["threshold"] is not None]
    return {
        "estimand": [asked["name"] for asked in questions if asked["group"] is None],
        "threshold": cuts[0] if cuts else None,
        "by": list(groups),
        "compare": None if versus is None else [prediction, versus],
        "combine": estimand["combine"],
        "groups": groups,
    }
