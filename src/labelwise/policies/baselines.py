"""What one would do without looking ahead to the estimand: random, uncertainty, and
integrated variance, the criterion of Bayesian-optimisation libraries.

Variances do not depend on labels, so pending rows count exactly as if their labels were back.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 6.
[2] Seo, Wallat, Graepel, Obermayer (2000), Gaussian process regression: active data selection
    and test point rejection.
"""

from dataclasses import replace

import jax.numpy as jnp

from labelwise.estimands.classes import EveryChance
from labelwise.estimands.moments import as_latent
from labelwise.lookahead.linearised_view import outcome_view, pool_view, sensitivity
from labelwise.lookahead.pending import expect_pending
from labelwise.lookahead.posterior_view import PosteriorView
from labelwise.lookahead.scorers.base import (
    AbstractBatchScorer,
    ExactScorer,
    Measure,
    by_mean_variance,
    by_variance,
)
from labelwise.lookahead.scorers.particles import make_particles
from labelwise.lookahead.scorers.random_treatment import RandomTreatmentScorer
from labelwise.lookahead.scorers.refit import RefitScorer, over_arms
from labelwise.numerics import in_blocks, largest
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.constraints import Candidates
from labelwise.policies.sampling import (
    draw_batch,
    log_scores,
    mask_logits,
    take_places,
    take_top,
)
from labelwise.policies.search import added, greedy
from labelwise.types import EMPTY, Pool

LONGEST = 50_000  # rows of a pool of which one after another is the least certain


class Random(AbstractPolicy):
    """Every available row with the same chance."""

    def check(self, belief, estimand):
        pass

    def choose(self, key, belief, estimand, pool, k, spending):
        logits = mask_logits(jnp.zeros(pool.size), pool.available)
        return draw_batch(key, logits, k, Candidates.of(pool, spending))


class Uncertainty(AbstractPolicy):
    """The k rows whose expected label is least certain (the paper's "static" baseline). [1]"""

    def check(self, belief, estimand):
        pass

    def choose(self, key, belief, estimand, pool, k, spending):
        variance = row_uncertainty(key, belief, pool)
        logits = log_scores(variance, pool.available)
        return take_top(logits, k, Candidates.of(pool, spending), variance)


class SequentialUncertainty(AbstractPolicy):
    """The least certain row, again and again, each time given the ones before. [1]

    Under a Gaussian belief the variance does not depend on labels, so none are imagined; under
    others whose function is Gaussian, labels are taken to read it with the noise that tells as
    much. Networks learn from imagined labels. In a pool of more than 50,000 rows, only those
    that are least certain alone are looked at.
    """

    def check(self, belief, estimand):
        pass

    def choose(self, key, belief, estimand, pool, k, spending):
        if belief.is_trained or belief.latent is None:
            return _take(RefitScorer.of(key, belief, pool), pool, k, spending)
        # Prices differ: what is least certain may be too dear, so every row is looked at.
        if pool.size <= LONGEST or (spending is not None and spending.counts):
            return _least_certain(key, belief, estimand, pool, k, spending)
        alone = row_uncertainty(key, belief, pool)
        rows = largest(jnp.where(pool.available, alone, -jnp.inf), LONGEST)
        batch = _least_certain(key, belief, estimand, pool.take(rows), k, None)
        chosen = jnp.where(batch.indices == EMPTY, EMPTY, rows[batch.indices])
        logits = log_scores(alone, pool.available)
        return replace(batch, indices=chosen, scores=alone, logits=logits)


class IntegratedVariance(AbstractPolicy):
    """Greedy reduction of the mean variance of the expected label over the target. [2]

    Of several classes, of the chances of all, over the functions that stand for the belief.
    """

    def check(self, belief, estimand):
        pass

    def choose(self, key, belief, estimand, pool, k, spending):
        if belief.latent is None:
            every = EveryChance(estimand.x, estimand.mass)
            return _take(make_particles(key, belief, every, pool), pool, k, spending)
        known = expect_pending(as_latent(belief), pool)
        view = outcome_view(known, estimand, pool.arms)
        return _take_greedily(key, view, by_mean_variance, pool, k, spending)


def _least_certain(key, belief, estimand, pool: Pool, k: int, spending):
    view = pool_view(expect_pending(as_latent(belief), pool), estimand, pool.arms)
    weight = sensitivity(view.belief, view.pool)
    measure = lambda view, left: by_variance(view, left, weight)
    return _take_greedily(key, view, measure, pool, k, spending)


def row_uncertainty(key, belief, pool: Pool):
    """Variance of each row's expected label, once pending labels are back."""
    if belief.latent is None:
        return _first(RefitScorer.of(key, belief, pool))
    known = expect_pending(as_latent(belief), pool)
    return over_arms(in_blocks(lambda x: known.outcome(x)[1], pool.arms), pool)


def _take_greedily(key, view: PosteriorView, measure: Measure, pool: Pool, k, spending):
    scorer: AbstractBatchScorer = ExactScorer(view, measure)
    if pool.assignment is not None:
        scorer = RandomTreatmentScorer.of(key, view, pool.assignment.chance, k, measure)
    return _take(scorer, pool, k, spending)


def _take(scorer: AbstractBatchScorer, pool: Pool, k: int, spending):
    scores = _first(scorer)
    state = greedy(scorer, Candidates.of(pool, spending), k)
    return take_places(state, scores, log_scores(scores, pool.available))


def _first(scorer: AbstractBatchScorer):
    """What each row would add to an empty batch."""
    return added(scorer, scorer.start(1))
