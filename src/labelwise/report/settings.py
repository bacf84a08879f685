"""What the campaign was created with."""

from collections.abc import Mapping
from typing import Any

from labelwise.evaluation.checked import name_of
from labelwise.evaluation.spec import Sampling
from labelwise.names import CHECKED
from labelwise.report.markup import Markup, clip
from labelwise.report.numbers import count, moment, number, percent
from labelwise.report.snapshot import Facts
from labelwise.report.tables import pairs

DRAWN_BY = {
    "loss": "by how far each row’s loss may be from its prediction (loss)",
    "policy": "by the policy’s scores (policy)",
    "balance": "by how far each row’s loss may be off and by the policy’s scores (balance)",
}
LONG = 1000  # characters of the list of features that are shown


def settings_table(facts: Facts) -> Markup:
    """List everything that decides what the campaign does."""
    spec, sampling, limits = facts.spec, facts.spec.sampling, facts.spec.limits
    given = "fixed" in spec.belief
    components = count(spec.belief.get("components", 1))
    components = "none: hyper-parameters were given" if given else components
    days = limits.expiry_days
    rows = [
        ("campaign", clip(spec.name)),
        ("created", [moment(spec.created), f" with Labelwise {spec.version}"]),
        ("estimand", f"{facts.estimate.title} ({spec.question.estimand[0]})"),
        ("belief", _belief(spec.belief)),
        ("mixture components", None if spec.belief["name"] == CHECKED else components),
        ("treatments", _assignment(sampling.assign)),
        ("tables", _tables(facts)),
        *((f"{role} column", clip(name)) for role, name in spec.columns.roles().items()),
        (
            f"features ({count(len(spec.columns.features))})",
            clip(", ".join(spec.columns.features), LONG),
        ),
        ("policy", _policy(sampling.policy)),
        *_draw(sampling, spec.question.scale),
        ("batch size", count(sampling.batch)),
        ("budget", "none" if limits.budget is None else count(limits.budget)),
        ("most that a round may cost", sampling.spend and number(sampling.spend, 4)),
        ("price of a unit of cost", sampling.price and number(sampling.price, 4)),
        ("seed", str(spec.seed)),
        ("rows expire after", "never" if days is None else f"{days:g} days"),
        (
            "labels allowed",
            clip(", ".join(spec.columns.classes)) or _range(*spec.columns.bounds),
        ),
    ]
    return pairs("Settings", [(name, value) for name, value in rows if value is not None])


def _belief(belief: Mapping[str, Any]) -> str:
    """Name the belief; of one that is checked, its candidates."""
    if belief["name"] != CHECKED:
        return belief["name"]
    names = ", ".join(name_of(one) for one in belief["candidates"])
    often = "batch" if belief["every"] == 1 else f"{count(belief['every'])} batches"
    return f"checked before the first batch and then every {often}, among {names}"


def _assignment(assignment: dict[str, Any] | None) -> str | None:
    if assignment is None:
        return None
    probability = assignment["chance"]
    return assignment["mode"] + (f", probability {probability:g}" if probability else "")


def _draw(sampling: Sampling, scale: str) -> list[tuple[str, str]]:
    """Say how chance chooses rows, if it does."""
    if sampling.by is None:
        alike = sampling.policy["name"] == "random"
        return [("rows drawn by chance", "all alike" if alike else "no: the policy chooses")]
    return [
        ("rows drawn by chance", DRAWN_BY[sampling.by]),
        ("floor", f"{percent(sampling.floor)} of every draw, in which all rows are alike"),
        ("scale of intervals", scale),
    ]


def _tables(facts: Facts) -> str:
    rows = facts.rows
    same = facts.spec.target == "pool"
    target = "which is the target" if same else f"{count(rows['target'])} in the target"
    pool = f"{count(rows['pool'])} in the pool"
    phase = facts.evaluation.phase
    if phase is not None:
        pool += f" (drawn from {count(phase.total)}: {phase.how})"
        pool += f" and {count(phase.joined)} chosen besides" if phase.joined else ""
    return f"{count(rows['labelled'])} labelled, {pool}, {target}"


def _policy(policy: dict[str, object]) -> str:
    options = ", ".join(f"{key} {value}" for key, value in policy.items() if key != "name")
    return f"{policy['name']} ({options})" if options else str(policy["name"])


def _range(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "any number"
    ends = ["any" if end is None else number(end, 4) for end in (low, high)]
    return f"{ends[0]} to {ends[1]}"
