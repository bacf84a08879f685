"""A policy as plain values, to be stored as JSON and made again."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from labelwise.errors import InvalidInput
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.registry import POLICIES, make_policy


def describe_policy(policy: str | AbstractPolicy) -> dict[str, Any]:
    """The policy's name and its options."""
    policy = make_policy(policy)
    name = next((name for name, kind in POLICIES.items() if type(policy) is kind), None)
    if name is None:
        raise InvalidInput(
            f"A {type(policy).__name__} cannot be stored",
            f"choose a policy from {', '.join(POLICIES)}",
            where="policy",
        )
    options = _values(policy)
    if "training" in options:
        options |= _values(options.pop("training"))
    return {"name": name, **options}


def build_policy(found: Mapping[str, Any]) -> AbstractPolicy:
    """The policy that was described."""
    options = dict(found)
    return make_policy(options.pop("name"), **options)


def _values(module: Any) -> dict[str, Any]:
    return {one.name: getattr(module, one.name) for one in fields(module)}
