"""What one would do without looking ahead to the estimand: random, uncertainty, and
integrated variance, the criterion of Bayesian-optimisation libraries.

Variances do not depend on labels, so pending rows count exactly as if their labels were back.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 6.
[2] Seo, Wallat, Graepel, Obermayer (2000), Gaussian process regression: active data selection
    and test point rejection.
"""

import jax.numpy as jnp

from labelwise.estimands.moments import check_gaussian
from labelwise.lookahead.outlook import look_at_variance
from labelwise.lookahead.pending import expect_pending
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.search import greedy
from labelwise.policies.selection import (
    draw_batch,
    log_scores,
    mask_logits,
    take_rows,
    take_top,
)


class Random(AbstractPolicy):
    """Every available row with the same chance."""

    def check(self, belief, estimand):
        pass

    def choose(self, key, belief, estimand, pool, k):
        return draw_batch(key, mask_logits(jnp.zeros(pool.size), pool.available), k)


class Uncertainty(AbstractPolicy):
    """The k rows whose function value is least certain (the paper's "static" baseline). [1]"""

    def check(self, belief, estimand):
        check_gaussian(belief)

    def choose(self, key, belief, estimand, pool, k):
        variance = expect_pending(belief, pool).variance(pool.x)
        return take_top(log_scores(variance, pool.available), k, variance)


class SequentialUncertainty(AbstractPolicy):
    """The least certain row, again and again, each time given the ones before. [1]

    Under a Gaussian belief the variance does not depend on labels, so none are imagined.
    """

    def check(self, belief, estimand):
        check_gaussian(belief)

    def choose(self, key, belief, estimand, pool, k):
        outlook = look_at_variance(expect_pending(belief, pool), estimand, pool.x)
        slots = greedy(outlook, pool.available, k, lambda left: left.variance)
        return take_rows(
            slots.rows, outlook.variance, log_scores(outlook.variance, pool.available)
        )


class IntegratedVariance(AbstractPolicy):
    """Greedy reduction of the function's mean variance over the target. [2]"""

    def check(self, belief, estimand):
        check_gaussian(belief)

    def choose(self, key, belief, estimand, pool, k):
        outlook = look_at_variance(expect_pending(belief, pool), estimand, pool.x)
        slots = greedy(outlook, pool.available, k, lambda left: left.spread / left.variance)
        alone = outlook.spread / (outlook.variance + outlook.noise)
        return take_rows(slots.rows, alone, log_scores(alone, pool.available))
