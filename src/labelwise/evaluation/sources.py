"""The code of users' own that a campaign rests on, and whether it is what it was."""

from labelwise.evaluation.spec import Spec
from labelwise.own_code import is_path, source_hash


def own_paths(spec: Spec) -> list[str]:
    """Of metrics, belief and policy."""
    policy = spec.sampling.policy
    names = [*spec.question.estimand, spec.belief["name"], policy.get("path", "")]
    return [name for name in names if is_path(name)]


def sources_of(spec: Spec) -> dict[str, str]:
    """A hash of the file of each, where there is one."""
    hashes = {path: source_hash(path) for path in own_paths(spec)}
    return {path: found for path, found in hashes.items() if found is not None}


def changed_sources(spec: Spec) -> list[str]:
    """A warning of each file that is not what it was when the campaign was made."""
    now = sources_of(spec) if spec.sources else {}
    return [
        f"The file of {path!r} has changed since the campaign was made: earlier answers and "
        "batches came from another text; restore it, or start a campaign with this one."
        for path, known in spec.sources.items()
        if now.get(path) != known
    ]
