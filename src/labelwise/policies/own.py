"""A user's own policy: a function from what is known of each row to how much it is wanted."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from labelwise.errors import InvalidInput
from labelwise.own_code import find, on_host
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.baselines import row_uncertainty
from labelwise.policies.constraints import Candidates
from labelwise.policies.sampling import log_scores, take_top


class RowScores(NamedTuple):
    """What a policy may go by, a number a pool row; features are as the belief sees them."""

    expected: np.ndarray  # the label that the belief expects (of 0/1 labels, the chance of a 1)
    uncertainty: np.ndarray  # variance of that, once pending labels are back
    features: np.ndarray  # rows × features


class OwnPolicy(AbstractPolicy):
    """Rows by a function of their scores, at `path`: the larger, the sooner or likelier."""

    path: str = eqx.field(static=True)

    def __check_init__(self):
        find(self.path, "policy", "policy")

    def check(self, belief, estimand):
        pass

    def choose(self, key, belief, estimand, pool, k, spending):
        variance = row_uncertainty(key, belief, pool)
        expected = _expected(key, belief, pool.x)
        like = jax.ShapeDtypeStruct((pool.size,), float)
        call = lambda *given: _wanted(self.path, RowScores(*map(np.asarray, given)))
        given = expected, variance, pool.x
        told = on_host(call, f"policy {self.path!r}")
        scores = jax.pure_callback(told, like, *given, vmap_method="sequential")
        logits = log_scores(scores, pool.available)
        return take_top(logits, k, Candidates.of(pool, spending), scores)


def _expected(key, belief: Any, x):
    if hasattr(belief, "outcome"):
        return belief.outcome(x)[0]
    return belief.likelihood.mean(belief.sample(key, x, 200)).mean(axis=0)


def _wanted(path: str, scores: RowScores) -> np.ndarray:
    """What the function says, checked."""
    wanted = np.asarray(find(path, "policy", "policy")(scores), float)
    if wanted.shape != scores.expected.shape or not np.isfinite(wanted).all():
        raise InvalidInput.must(
            path,
            f"return a finite number for each of {len(scores.expected)} rows",
            f"it returns shape {wanted.shape}",
        )
    if (wanted < 0.0).any():
        raise InvalidInput.must(path, "return numbers that are not negative", "some are")
    return np.maximum(wanted, 0.0)
