"""Policies by name, for the command line, experiments and short scripts."""

from typing import Any

from labelwise.errors import InvalidInput
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.heuristics import (
    IntegratedVariance,
    Random,
    SequentialUncertainty,
    Uncertainty,
)
from labelwise.policies.lookahead import Lookahead
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
    """A policy from its name and options; a policy passes through."""
    if isinstance(policy, AbstractPolicy):
        return policy
    if policy not in POLICIES:
        raise InvalidInput(f"There is no policy {policy!r}; choose from {', '.join(POLICIES)}.")
    return POLICIES[policy](**options)
