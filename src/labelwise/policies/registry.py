"""Policies by name, for the command line, experiments and short scripts."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from labelwise.codec import encode, register
from labelwise.errors import InvalidInput
from labelwise.names import OWN, check_policy
from labelwise.own_code import absolute, is_path
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
from labelwise.policies.own import OwnPolicy
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
register("policy", {**POLICIES, OWN: OwnPolicy})
register("training", {"training": Training})


def make_policy(policy: str | Mapping | AbstractPolicy, **options: Any) -> AbstractPolicy:
    """A policy from its name and options, or its description; a policy passes through.

    Options of the gradient planners include those of `Training`: `make_policy("reinforce",
    rollouts=20, objective="exact")`.
    """
    if isinstance(policy, Mapping):
        options = {**policy, **options}
        policy = options.pop("name", None)
    if isinstance(policy, AbstractPolicy) and not options:
        return policy
    check_policy(policy)
    assert isinstance(policy, str)
    if policy == OWN or is_path(policy):
        return OwnPolicy(absolute(options.pop("path", policy)), **options)
    if "centred" in options:  # as campaigns of before have it
        options["relaxation"] = "centred" if options.pop("centred") else "letter"
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


def describe_policy(policy: str | AbstractPolicy) -> dict[str, Any]:
    """The policy's name and its options, those of its training among them."""
    described = encode(make_policy(policy), "policy")
    training = described.pop("training", {})
    return {**training, **described}
