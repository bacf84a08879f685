"""Letting chance choose: an answer from drawn rows holds whatever the belief.

Rows are drawn one at a time, the better a row's score the likelier, and no row without a
chance. What is lost against the best batch is small where scores are nearly flat, as they are
when labels are noisy; what is won is an interval that does not rest on the belief.
"""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from labelwise.errors import InvalidInput
from labelwise.inputs import as_array, as_scalar, as_vector
from labelwise.policies.constraints import Candidates, Spending
from labelwise.policies.sampling import draw_batch, log_scores
from labelwise.programs import program
from labelwise.types import EXCLUDED, Batch, Pool

FLOOR = 0.3  # of every draw, the share that is uniform
By = Literal["scores", "policy", "balance"]


class Draw(eqx.Module):
    """How chance chooses: by the policy's scores, by scores given here, or by both.

    Best for the answer from drawn rows are scores in proportion to how far the belief's
    prediction of a row's loss may be off. A balance is the geometric mean of the two.
    `besides` is what any label teaches whatever its row, and is added to the policy's scores.
    """

    floor: Float[Array, ""]
    scores: Float[Array, " pool"] | None
    besides: Float[Array, ""]
    by: By = eqx.field(static=True)

    def __init__(
        self, scores: Any = None, floor: Any = FLOOR, by: By | None = None, besides: Any = 0.0
    ):
        self.besides = as_scalar("besides", besides, low=0.0)
        self.floor = as_scalar("floor", floor, low=0.0)
        if float(self.floor) > 1.0:
            raise InvalidInput.must(
                "floor", "be a share from 0 to 1", f"it is {float(floor):g}"
            )
        self.by = by or ("policy" if scores is None else "scores")
        if self.by not in ("scores", "policy", "balance"):
            raise InvalidInput.must("by", "be scores, policy or balance", f"it is {by!r}")
        if self.by != "policy" and scores is None:
            raise InvalidInput(
                f"Drawing by {self.by} needs scores", "give one a pool row", where="draw scores"
            )
        self.scores = None if scores is None else as_array("draw scores", scores, 1)

    def check(self, pool: Pool) -> None:
        """Refuse scores that do not fit the pool."""
        if self.scores is not None:
            scores = as_vector("draw scores", self.scores, pool.size, "pool x")
            if (np.asarray(scores) < 0.0).any():
                raise InvalidInput.must("draw scores", "not be negative", "some are")


@program
def draw(
    key: PRNGKeyArray, how: Draw, own: Batch | None, pool: Pool, k: int, spending: Spending
) -> Batch:
    """Draw a batch; `own` is what the policy would choose, if that matters."""
    logits = _logits(how, own, pool)
    scores = how.scores if own is None else own.scores
    # Another key than the policy's own: its choice must not be tied to the draw.
    draw_key = jax.random.fold_in(key, 2)
    return draw_batch(draw_key, logits, k, Candidates.of(pool, spending), how.floor, scores)


def _logits(how: Draw, own: Batch | None, pool: Pool) -> Float[Array, " pool"]:
    if how.by == "policy" or how.scores is None:
        assert own is not None
        return jnp.where(pool.available, _with_besides(how, own), EXCLUDED)
    given = _flat_if_none(how.scores, pool)
    if how.by == "scores" or own is None:
        return given
    return jnp.where(pool.available, _balanced(given, _with_besides(how, own), pool), EXCLUDED)


def _with_besides(how: Draw, own: Batch) -> Float[Array, " pool"]:
    """The policy's logits, where nothing is taught besides as they are."""
    more = jnp.log(jnp.maximum(own.scores + how.besides, 1e-300))
    return jnp.where(how.besides > 0.0, more, own.logits)


def _flat_if_none(scores, pool: Pool):
    """Logits of scores; equal if all are zero."""
    some = jnp.max(jnp.where(pool.available, scores, 0.0)) > 0.0
    return log_scores(jnp.where(some, scores, 1.0), pool.available)


def _balanced(first, second, pool: Pool):
    """The mean of two logits, each less its largest, so that neither scale matters."""
    top = lambda logits: jnp.max(jnp.where(pool.available, logits, -jnp.inf))
    return 0.5 * (first - top(first)) + 0.5 * (second - top(second))
