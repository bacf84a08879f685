"""What the campaign was created with."""

from typing import Any

from labelwise.campaign.report.facts import Facts
from labelwise.campaign.report.markup import Markup, clip
from labelwise.campaign.report.tables import pairs
from labelwise.campaign.report.words import count, moment, number, percent

ROLES = ("id", "label", "prediction", "versus", "treatment", "chance", "weight", "cost")
DRAWN_BY = {
    "loss": "by how far each row’s loss may be from its prediction (loss)",
    "policy": "by the policy’s scores (policy)",
    "balance": "by how far each row’s loss may be off and by the policy’s scores (balance)",
}
LONG = 1000  # characters of the list of features that are shown


def settings_table(facts: Facts) -> Markup:
    """Everything that decides what the campaign does."""
    settings = facts.settings
    days = settings.expiry_days
    found = [
        ("campaign", clip(settings.name)),
        ("created", [moment(settings.created), f" with Labelwise {settings.version}"]),
        ("estimand", f"{facts.estimate.title} ({settings.estimand['name']})"),
        ("belief", settings.belief["name"]),
        ("mixture components", _components(settings.belief)),
        *_assignment(settings.assignment),
        ("tables", _tables(facts)),
        *_columns(facts),
        ("policy", _policy(settings.policy)),
        *_draw(settings.draw, settings.policy["name"]),
        ("batch size", count(settings.batch)),
        ("budget", "none" if settings.budget is None else count(settings.budget)),
        *_money(settings.spend, settings.price),
        ("seed", str(settings.seed)),
        ("rows expire after", "never" if days is None else f"{days:g} days"),
        ("labels allowed", _range(settings.low, settings.high)),
    ]
    return pairs("Settings", found)


def _assignment(assignment: dict[str, Any] | None) -> list[tuple[str, str]]:
    if assignment is None:
        return []
    chance = assignment["chance"]
    return [("treatments", assignment["mode"] + (f", chance {chance:g}" if chance else ""))]


def _components(belief: dict[str, Any]) -> str:
    if "fixed" in belief:
        return "none: hyper-parameters were given"
    return count(belief.get("components", 1))


def _draw(draw: dict[str, Any] | None, policy: str) -> list[tuple[str, str]]:
    """How chance chooses rows, if it does."""
    if draw is None:
        alone = "no: the policy chooses"
        return [("rows drawn by chance", "all alike" if policy == "random" else alone)]
    return [
        ("rows drawn by chance", DRAWN_BY[draw["by"]]),
        ("floor", f"{percent(draw['floor'])} of every draw, in which all rows are alike"),
        ("scale of intervals", draw["scale"]),
    ]


def _money(spend: float | None, price: float | None) -> list[tuple[str, str]]:
    given = (("most that a round may cost", spend), ("price of a unit of cost", price))
    return [(name, number(amount, 4)) for name, amount in given if amount is not None]


def _tables(facts: Facts) -> str:
    rows = facts.rows
    same = facts.settings.target == "pool"
    target = "which is the target" if same else f"{count(rows['target'])} in the target"
    return f"{count(rows['labelled'])} labelled, {count(rows['pool'])} in the pool, {target}"


def _columns(facts: Facts) -> list[tuple[str, str]]:
    columns = facts.settings.columns.to_dict()
    features = columns["features"]
    roles = [
        (f"{role} column", clip(columns[role])) for role in ROLES if columns[role] is not None
    ]
    return [*roles, (f"features ({count(len(features))})", clip(", ".join(features), LONG))]


def _policy(policy: dict[str, object]) -> str:
    options = ", ".join(f"{key} {value}" for key, value in policy.items() if key != "name")
    return f"{policy['name']} ({options})" if options else str(policy["name"])


def _range(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "any number"
    ends = ["any" if end is None else number(end, 4) for end in (low, high)]
    return f"{ends[0]} to {ends[1]}"
