"""The default policy: the batch with the largest expected gain that search can find."""

from dataclasses import replace
from typing import Literal

import equinox as eqx
import jax.numpy as jnp

from labelwise.errors import InvalidInput
from labelwise.estimands.moments import as_latent, has_closed_form, has_exact_moments
from labelwise.inputs import as_count
from labelwise.lookahead.linearised_view import posterior_view
from labelwise.lookahead.pending import expect_pending, view_past_pending
from labelwise.lookahead.scorers.base import AbstractBatchScorer, ExactScorer
from labelwise.lookahead.scorers.mixture import MixtureScorer, mix, planned
from labelwise.lookahead.scorers.particles import DRAWS, WORLDS, ParticleScorer, make_particles
from labelwise.lookahead.scorers.random_treatment import RandomTreatmentScorer
from labelwise.numerics import largest
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.constraints import Candidates
from labelwise.policies.sampling import log_scores, take_places, take_top
from labelwise.policies.search import added, beam, greedy, pair_swap, swap
from labelwise.types import Pool

Effort = Literal["auto", "greedy", "swaps", "thorough", "scores"]
EFFORTS = ("auto", "greedy", "swaps", "thorough", "scores")

SMALL = 250_000  # pool · k² up to which "auto" is thorough
SHORTLIST = 5000  # swaps in a larger pool look at this many rows
SCREENED = 1000  # draws are made at this many rows of a larger pool
SCORED = 20_000_000  # covariances, over all components, that scores alone are computed from
MOST_DRAWN = 16  # larger batches leave too few draws with weight: they are linearised


class Lookahead(AbstractPolicy):
    """Minimise the variance of the estimand expected after the batch and all pending labels.

    The expectation, over the labels of both, is exact for estimands that are quadratic under a
    Gaussian belief. Else it is from draws, common to all batches compared; of a large pool, at
    the rows that are best by the estimand's average slope and curvature. Where chance decides
    on treatments, gains are their mean over it; under a mixture, over its components. A network
    is planned with as the Gaussian belief that has its moments; one of several classes, by its
    own functions.

    Effort: "greedy" adds the best row k times; "swaps" then replaces single rows until none
    helps; "thorough" starts from a beam of sets and ends with swaps of pairs; "auto" is
    thorough on small problems and "swaps" on large ones, and greedy where gains are from draws.
    "scores" takes the rows that gain most alone: what is needed where chance chooses by scores.
    """

    effort: Effort = eqx.field(default="auto", static=True)
    width: int = eqx.field(default=16, static=True)  # of the beam
    draws: int = eqx.field(default=DRAWS, static=True)  # of the function, where gains need them
    worlds: int = eqx.field(default=WORLDS, static=True)  # of imagined labels, there

    def __check_init__(self):
        if self.effort not in EFFORTS:
            *most, last = EFFORTS
            rule = f"be {', '.join(most)} or {last}"
            raise InvalidInput.must("effort", rule, f"it is {self.effort!r}")
        for name in ("width", "worlds"):
            as_count(name, getattr(self, name))
        as_count("draws", self.draws, least=2)

    def check(self, belief, estimand):
        pass

    def choose(self, key, belief, estimand, pool, k, spending):
        candidates = Candidates.of(pool, spending)
        if belief.latent is None:
            return self._search(self._particles(key, belief, estimand, pool), candidates, k)
        belief = belief.planned
        if self.effort == "scores":
            scores = _scores_alone(key, belief, estimand, pool)
            return take_top(log_scores(scores, pool.available), k, candidates, scores)
        if has_closed_form(belief, estimand):
            view = view_past_pending(belief, estimand, pool)
            return self._search(_on(key, view, pool, k), candidates, k)
        if has_exact_moments(belief, estimand):  # in each component of a mixture
            few = planned(belief, len(pool.arms), estimand.x.shape[0])
            of = lambda one: _on(key, view_past_pending(one, estimand, pool), pool, k)
            return self._search(mix(few, of), candidates, k)
        if k > MOST_DRAWN:
            expected = expect_pending(as_latent(belief), pool)
            view = posterior_view(key, expected, estimand, pool.arms)
            return self._search(_on(key, view, pool, k), candidates, k)
        if pool.size <= SCREENED:
            return self._search(self._particles(key, belief, estimand, pool), candidates, k)
        return self._screened(key, belief, estimand, pool, candidates, k)

    def _search(self, scorer: AbstractBatchScorer, candidates: Candidates, k: int):
        scores = added(scorer, scorer.start(1))
        if self.effort == "scores":
            return take_top(log_scores(scores, candidates.available), k, candidates, scores)
        state = self._best(scorer, candidates, scores, k)
        return take_places(state, scores, log_scores(scores, candidates.available))

    def _best(self, scorer: AbstractBatchScorer, candidates: Candidates, scores, k):
        effort = self._effort(scorer, candidates, scores.shape[0], k)
        if effort == "thorough" and isinstance(scorer, ExactScorer):
            view, available = scorer.view, candidates.available
            slots = swap(scorer, candidates, beam(view, available, k, self.width))
            return pair_swap(view, available, slots)
        state = greedy(scorer, candidates, k)
        if effort == "greedy":
            return state
        if scores.shape[0] > SHORTLIST and isinstance(scorer, ExactScorer):
            return _swap_in_shortlist(scorer, candidates, scores, state)
        return swap(scorer, candidates, state)

    def _particles(self, key, belief, estimand, pool: Pool) -> ParticleScorer:
        return make_particles(key, belief, estimand, pool, self.draws, self.worlds)

    def _effort(self, scorer, candidates: Candidates, size: int, k: int) -> str:
        exact = isinstance(scorer, ExactScorer)
        if self.effort == "auto":
            if isinstance(scorer, ParticleScorer) or (
                isinstance(scorer, MixtureScorer) and size > SHORTLIST
            ):
                return "greedy"
            small = size * k**2 <= SMALL
            return "thorough" if small and exact and candidates.plain else "swaps"
        whole = exact and candidates.plain  # beam and pairs know neither costs nor worlds
        return "swaps" if self.effort == "thorough" and not whole else self.effort

    def _screened(self, key, belief, estimand, pool: Pool, candidates: Candidates, k: int):
        """Draws at the rows that promise most, with the scores of the others linearised."""
        view = posterior_view(key, expect_pending(as_latent(belief), pool), estimand, pool.arms)
        first = _on(key, view, pool, 1)
        promise = added(first, first.start(1))
        rows = largest(jnp.where(pool.available, promise, -jnp.inf), SCREENED)
        some = pool.take(rows)
        few = self._particles(key, belief, estimand, some)
        state = self._best(few, Candidates.of(some, candidates.spending), promise[rows], k)
        state = eqx.tree_at(lambda state: state.rows, state, rows[state.rows])
        return take_places(state, promise, log_scores(promise, pool.available))


def for_draws(policy: AbstractPolicy) -> AbstractPolicy:
    """The policy for scores alone: no search; linearised where a gain has no closed form."""
    if isinstance(policy, Lookahead) and policy.effort == "auto":
        return replace(policy, effort="scores")
    return policy


def _scores_alone(key, belief, estimand, pool: Pool):
    """What each row alone would gain; no covariance with the target is kept."""

    def of(view):
        scorer = _on(key, view, pool, 1)
        return added(scorer, scorer.start(1))

    if not has_exact_moments(belief, estimand):
        expected = expect_pending(as_latent(belief), pool)
        return of(posterior_view(key, expected, estimand, pool.arms))
    few = planned(belief, len(pool.arms), estimand.x.shape[0], SCORED)
    return few.average(lambda one: of(view_past_pending(one, estimand, pool)))


def _on(key, view, pool: Pool, k: int) -> AbstractBatchScorer:
    if pool.assignment is None:
        return ExactScorer(view)
    return RandomTreatmentScorer.of(key, view, pool.assignment.chance, k)


def _swap_in_shortlist(scorer: ExactScorer, candidates: Candidates, scores, state):
    """Swaps among the rows that gain most alone; the greedy batch keeps its places first."""
    taken = candidates.taken(state.rows, state.filled)
    ranked = jnp.where(candidates.available & ~taken, scores, -jnp.inf)
    few, narrow, rows = scorer.narrowed(state, largest(ranked, SHORTLIST))
    swapped = swap(few, candidates.take(rows), narrow)
    return eqx.tree_at(lambda slots: slots.rows, swapped, rows[swapped.rows])
