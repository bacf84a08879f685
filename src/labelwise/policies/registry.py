"""Policies by name, for the command line, experiments and short scripts."""

from dataclasses import fields
from typing import Any

from labelwise.errors import InvalidInput
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.baselines import (
    IntegratedVariance,
    Random,
    SequentialUncertainty,
    Uncertainty,
)
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.optimise import Training
from labelwise.policies.reinforce import Reinforce

POLICIES: dict[str, type[AbstractPolicy]] = {
    "random": Random,
    "uncertainty": Uncertainty,
    "uncertainty-sequential": SequentialUncertainty,
    "integrated-variance": IntegratedVariance,
    "reinforce": Reinforce,
    "smoothed-autodiff": SmoothedAutodiff,
    "lookahead": Lookahead,
}


def make_policy(policy: str | AbstractPolicy, **options: Any) -> AbstractPolicy:
    """A policy from its name and options; a policy passes through.

    Options of the gradient planners include those of `Training`: `make_policy("reinforce",
    rollouts=20, objective="exact")`.
    """
    if isinstance(policy, AbstractPolicy) and not options:
        return policy
    if not isinstance(policy, str) or policy not in POLICIES:
        raise InvalidInput(
            f"There is no policy {policy!r}",
            f"choose from {', '.join(POLICIES)}",
            where="policy",
        )
    own = {field.name for field in fields(POLICIES[policy])}
    trained = {field.name for field in fields(Training)} if "training" in own else set()
    unknown = set(options) - own - trained
    if unknown:
        known = ", ".join(sorted(own | trained)) or "none"
        raise InvalidInput(
            f"{policy} has no option {min(unknown)!r}", f"it has {known}", where=min(unknown)
        )
    training = {name: options.pop(name) for name in set(options) & trained}
    if training:
        options["training"] = Training(**training)
    return POLICIES[policy](**options)
