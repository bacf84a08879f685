"""The paper's two planners, as they join studies that the project made its own.

The objective is in closed form where there is one, else by the paper's roll-outs.
"""

from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.optimise import Training
from labelwise.policies.registry import describe_policy, make_policy
from labelwise.policies.reinforce import Reinforce

PAPERS = ("reinforce-baseline", "smoothed-autodiff")


def planner(name: str, training: Training | None = None) -> AbstractPolicy:
    """A policy by the name that studies know it by."""
    training = Training() if training is None else training
    if name == "reinforce-baseline":
        return Reinforce(training)
    return SmoothedAutodiff(training) if name == "smoothed-autodiff" else make_policy(name)


def describe(names: tuple[str, ...], training: Training | None = None) -> dict[str, dict]:
    """Every policy's settings, for a study's configuration."""
    return {name: describe_policy(planner(name, training)) for name in names}
