"""What a belief says of every question in closed form, from one pass over the target.

Variances look at the target rows that stand for all, means at all of them: shifts are the way
from the one to the other, at what is expected of each row alone.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.combine import Several
from labelwise.estimands.moments import exact_moments, has_exact_moments
from labelwise.likelihoods import BernoulliLikelihood
from labelwise.numerics import in_blocks
from labelwise.programs import program


class TargetMoments(NamedTuple):
    """Of one question, on the rows that stand for the target; None: not in closed form."""

    mean: float | None
    variance: float | None


def target_moments(belief: Any, parts: Sequence[AbstractEstimand]) -> list[TargetMoments]:
    """Of each part, on the rows that stand for the target."""
    exact = [place for place, part in enumerate(parts) if has_exact_moments(belief, part)]
    found = dict(zip(exact, _exactly(belief, [parts[place] for place in exact]), strict=True))
    nothing = TargetMoments(None, None)
    return [found.get(place, nothing) for place in range(len(parts))]


def target_shifts(
    belief: Any, parts: Sequence[AbstractEstimand], wholes: Sequence[AbstractEstimand]
) -> np.ndarray:
    """From each part to the same over all rows (`wholes`), where few stand for them."""
    shifts = np.zeros(len(parts))
    exact = np.array([has_exact_moments(belief, part) for part in parts])
    for places, mean in (
        (np.flatnonzero(exact), _means_over),
        (np.flatnonzero(~exact), _plug_in),
    ):
        if wholes and places.size:
            some = lambda estimands, places=places: [estimands[place] for place in places]
            shifts[places] = np.asarray(_apart(mean, belief, some(wholes), some(parts)))
    return shifts


def _exactly(belief: Any, parts: Sequence[AbstractEstimand]) -> list[TargetMoments]:
    if not parts:
        return []
    estimand = parts[0] if len(parts) == 1 else Several(parts)
    mean, variance = map(np.atleast_1d, map(np.asarray, exact_moments(belief, estimand)))
    pairs = zip(mean, variance, strict=True)
    return [TargetMoments(float(mean), float(variance)) for mean, variance in pairs]


@program
def _apart(mean, belief, estimands, less):
    """Each estimand on average, less another one so."""
    return mean(belief, estimands) - mean(belief, less)


def _means_over(belief, estimands):
    """The mean of each estimand from the mean and variance of each target row alone."""
    return belief.average(lambda component: _means_of_single(component, estimands))


def _means_of_single(belief, estimands):
    def of_block(x):
        rows = belief.embed(x)
        return belief.mean_at(rows), belief.variance_at(rows)

    mean, variance = in_blocks(of_block, estimands[0].x)
    each = (estimand.expand(mean, belief.likelihood) for estimand in estimands)
    return jnp.stack([one.value + one.curvature @ variance for one in each])


def _plug_in(belief, estimands):
    """Each estimand at the expected label of each target row."""
    f = in_blocks(lambda x: belief.outcome(x)[0], estimands[0].x)
    likelihood = belief.likelihood
    if isinstance(likelihood, BernoulliLikelihood):
        f = likelihood.inverse(f)
    return jnp.stack([estimand.value(f, likelihood) for estimand in estimands])
