"""Names that settings use, where nothing heavy need be loaded to know them.

A misspelt name is refused before tables are read and JAX is there, with the nearest right one.
The registries of estimands, policies and beliefs hold the same names; a test sees to that.
"""

import difflib
from collections.abc import Sequence
from typing import Any

from labelwise.errors import InvalidInput
from labelwise.metric_words import METRICS, MORE, SYNONYMS
from labelwise.own_code import is_path

OWN = "own"  # a policy of a user's, by its path
CLASSIFIER = "gp-classifier"  # the belief about 0/1 labels, unless another is named
LAST_LAYER = "last-layer"
NEURAL = ("mlp", "dropout", "ensemble", "ensemble-plus", "hypermodel", "epinet")
DRAWS = "draws"  # that the user brings, a column each
BELIEFS = ("gp", CLASSIFIER, *NEURAL, LAST_LAYER, DRAWS)
CHECKED = "checked"  # one of several, as the labels choose
ESTIMANDS = tuple(METRICS)
VERDICTS = ("win-rate", "tie-rate", "difference")  # of two verdicts a row
# Numbers of which one of these is asked name classes, unless they are 0 and 1.
OF_CLASSES = ("macro-recall", "macro-precision", "macro-f1", "kappa", "confusion")
POLICIES = (
    *("random", "uncertainty", "uncertainty-sequential", "integrated-variance"),
    *("reinforce", "smoothed-autodiff", "lookahead"),
)


def no_such(
    what: str, name: Any, names: Sequence[str], remedy: str, where: str
) -> InvalidInput:
    """Make the refusal of a name that there is not, with the nearest that there is."""
    near = difflib.get_close_matches(str(name), names, 1) if isinstance(name, str) else []
    hint = f"did you mean {near[0]!r}? Else {remedy}" if near else remedy
    return InvalidInput(f"There is no {what} {name!r}", hint, where=where)


def check_estimand(name: Any) -> None:
    """Refuse an estimand that there is not; a user's own is "module:function"."""
    names = (*ESTIMANDS, *MORE)
    if is_path(name) or callable(name) or name in names:
        return
    spelt = str(name).lower().replace("_", "-").replace(" ", "-")
    near = SYNONYMS.get(spelt, spelt if spelt in names else None)
    remedy = "see `labelwise metrics`, or give your own as module:function"
    if near is not None:
        remedy = f"did you mean {near!r}? Else {remedy}"
        raise InvalidInput(f"There is no estimand {name!r}", remedy, where="estimand")
    raise no_such("estimand", name, names, remedy, "estimand")


def check_policy(name: Any, also: Sequence[str] = ()) -> None:
    """Refuse a policy that there is not, nor `also` stands for one."""
    names = (*also, *POLICIES)
    if is_path(name) or name == OWN:
        return
    if not isinstance(name, str) or name not in names:
        raise no_such("policy", name, names, f"choose from {', '.join(names)}", "policy")


def check_belief(name: Any, also: Sequence[str] = ()) -> None:
    """Refuse a belief that there is not, nor `also` stands for one; one's own is a path."""
    if is_path(name):
        return
    if not isinstance(name, str) or name not in (*BELIEFS, "auto", *also):
        listed = ", ".join(f"'{each}'" for each in (*also, *BELIEFS))
        remedy = f"use 'auto', {listed}, its options, your own as module:class, or a "
        remedy += "GaussianProcess"
        raise no_such("belief", name, BELIEFS, remedy, "belief")
