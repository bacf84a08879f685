"""The paper's two planners, as they join studies that the project made its own.

A name says whether the objective is sampled, as the paper's, or exact, in closed form.
"""

from collections.abc import Iterable
from dataclasses import replace

from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.optimise import Training
from labelwise.policies.registry import describe_policy, make_policy
from labelwise.policies.reinforce import Reinforce

PAPERS = ("reinforce-baseline", "smoothed-autodiff")  # sampled, as the paper has them
EXACT = tuple(f"{name}-exact" for name in PAPERS)  # where there is a closed form


def planner(name: str, training: Training | None = None) -> AbstractPolicy:
    """A policy by the name that studies know it by."""
    if name not in (*PAPERS, *EXACT):
        return make_policy(name)
    objective = "exact" if name in EXACT else "sampled"
    training = replace(Training() if training is None else training, objective=objective)
    kind = Reinforce if name.startswith("reinforce") else SmoothedAutodiff
    return kind(training)


def describe(names: Iterable[str], training: Training | None = None) -> dict[str, dict]:
    """Every policy's settings, for a study's configuration."""
    return {name: describe_policy(planner(name, training)) for name in names}
