"""What a campaign was created with; it never changes afterwards."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from labelwise.errors import StoreError
from labelwise.tables.roles import Columns


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a campaign does, apart from its tables and labels."""

    name: str
    columns: Columns
    target: str  # "target", or "pool" if the pool is the target
    estimand: dict[str, Any]  # name and options
    belief: dict[str, Any]
    policy: dict[str, Any]
    batch: int
    budget: int | None  # labels to buy in all
    seed: int
    expiry_days: float | None  # after which an asked row may be asked again
    low: float | None  # bounds of a label
    high: float | None
    predictor_in_belief: bool  # the prediction is also a feature
    created: str
    version: str  # of Labelwise
    # Campaigns made before these existed do without them.
    spend: float | None = None  # most that a round may cost
    price: float | None = None  # of a unit of cost, in units of the variance
    assignment: dict[str, Any] | None = None  # of treatments: mode and chance
    draw: dict[str, Any] | None = None  # how chance chooses rows; None: the policy does
    stop: dict[str, Any] | None = None  # when enough is known

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"columns": self.columns.to_dict()}

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> "Settings":
        names = {one.name: one.default is MISSING for one in fields(Settings)}
        odd = sorted(set(found) - set(names))
        odd += sorted(name for name, needed in names.items() if needed and name not in found)
        odd += ["target"] if found.get("target") not in ("pool", "target") else []
        if odd:
            raise StoreError(
                f"The campaign's settings do not suit this Labelwise (see {odd[0]!r})",
                "restore the folder from a copy, or upgrade Labelwise",
                where=f"settings.{odd[0]}",
            )
        return Settings(**{**found, "columns": Columns.from_dict(found["columns"])})
