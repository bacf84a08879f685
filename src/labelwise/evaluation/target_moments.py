"""What a belief says of every question in closed form, from one pass over the target.

Variances look at the target rows that stand for all, means at all of them: `shift` is the way
from the one to the other, at what is expected of each row alone.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.combine import Several
from labelwise.estimands.moments import exact_moments, has_exact_moments
from labelwise.likelihoods import BernoulliLikelihood
from labelwise.numerics import in_blocks


class TargetMoments(NamedTuple):
    """Of one question, on the rows that stand for the target; None: not in closed form."""

    mean: float | None
    variance: float | None
    shift: float  # to all rows


def target_moments(
    belief: Any, parts: Sequence[AbstractEstimand], wholes: Sequence[AbstractEstimand]
) -> list[TargetMoments]:
    """Of each part; `wholes` are the same over all rows, where few stand for them."""
    exact = [place for place, part in enumerate(parts) if has_exact_moments(belief, part)]
    others = [place for place in range(len(parts)) if place not in exact]
    found = dict.fromkeys(others, TargetMoments(None, None, 0.0))
    found |= dict(zip(exact, _exactly(belief, [parts[place] for place in exact]), strict=True))
    if wholes and exact:
        means = _means_over(belief, [wholes[place] for place in exact])
        for place, mean in zip(exact, np.asarray(means), strict=True):
            found[place] = found[place]._replace(shift=float(mean) - found[place].mean)  # type: ignore[operator]
    if wholes and others:
        some = lambda estimands: [estimands[place] for place in others]
        shifts = np.asarray(_plugged_in(belief, some(wholes), some(parts)))
        for place, shift in zip(others, shifts, strict=True):
            found[place] = found[place]._replace(shift=float(shift))
    return [found[place] for place in range(len(parts))]


def _exactly(belief: Any, parts: Sequence[AbstractEstimand]) -> list[TargetMoments]:
    if not parts:
        return []
    estimand = parts[0] if len(parts) == 1 else Several(parts)
    mean, variance = map(np.atleast_1d, map(np.asarray, exact_moments(belief, estimand)))
    pairs = zip(mean, variance, strict=True)
    return [TargetMoments(float(mean), float(variance), 0.0) for mean, variance in pairs]


@eqx.filter_jit
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


@eqx.filter_jit
def _plugged_in(belief, estimands, less):
    """Each estimand at the expected label of each target row, less another one's so."""
    return _plug_in(belief, estimands) - _plug_in(belief, less)


def _plug_in(belief, estimands):
    f = in_blocks(lambda x: belief.outcome(x)[0], estimands[0].x)
    likelihood = belief.likelihood
    if isinstance(likelihood, BernoulliLikelihood):
        f = likelihood.inverse(f)
    return jnp.stack([estimand.value(f, likelihood) for estimand in estimands])
