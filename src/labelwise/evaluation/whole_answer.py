"""The estimate about a pool of which the evaluation has a sample.

Belief and drawn rows are put together within the sample, whose rows both are about. Then each
of the three answers is made one about the pool: with the first phase's variance, and where
means over every row are known, mended by them.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.question import Quantity
from labelwise.evaluation.survey_answer import Within
from labelwise.evaluation.two_phase import (
    Influence,
    can_mend,
    foreseen_variance,
    with_foreseen,
)

MUCH = 0.05  # share of the variance from which another pass is worth its while


def answer_about_whole(
    evaluation: Any, question: Quantity, estimate: Estimate, reason: str | None
) -> Estimate:
    """To one question; `estimate` is the belief's about the sample."""
    survey, within = evaluation.survey, evaluation.within.get(question)
    bounds = evaluation.by_belief.bounds(question)
    believed = _by_belief(evaluation, question, estimate)
    if within is None:
        credible = believed.whole(bounds)
        found = replace(estimate, credible=credible).without_draws(reason, survey.by_chance)
        return _told(found, evaluation, question)
    draws = within.answer.draws
    variance = with_foreseen(within.variance, believed.variance, draws)
    within = within._replace(variance=variance)
    numbers = evaluation.posterior.belief.has_number_labels
    both = estimate.with_draws(within.answer, bounds, numbers=numbers)
    assert both.combined is not None
    found = replace(
        both,
        credible=believed.whole(bounds),
        design=within.whole(bounds),
        combined=within._replace(answer=both.combined).whole(bounds),
    )
    return _told(found, evaluation, question)


def _told(estimate: Estimate, evaluation: Any, question: Quantity) -> Estimate:
    """The estimate with what it owes to the first phase, as a fact and in words."""
    lead, phase = estimate.lead, evaluation.phase
    share = lead.first_phase**2 / lead.std**2 if lead.std > 0.0 else 0.0
    refined = question.title in evaluation.survey.mended
    mended = ", mended by predictions of every row" if refined else ""
    much = share > MUCH and not refined and can_mend(question)
    advice = ", of which `labelwise refine` takes a part away" if much else ""
    sample, joined = len(phase.stratum) - phase.joined, phase.joined
    besides = f" but {joined} that were chosen besides" if joined else ""
    quantity = (
        f"over the {phase.total} rows of the pool, of which {sample} drawn by chance stand for "
        f"all{besides}{mended}; that is {100 * share:.2g} % of the interval's variance{advice}"
    )
    told = phase.told | {"share_of_variance": share, "refined": refined}
    return replace(estimate, quantity=quantity, first_phase=told)


def _by_belief(evaluation: Any, question: Quantity, estimate: Estimate) -> Within:
    """The belief's answer, with the first phase's variance as the belief expects it."""
    survey, metric = evaluation.survey, question.averaged
    plain = metric.functional is None and metric.combination.settle is None
    if question not in survey.answerable or metric.is_effect:
        return Within(estimate.credible)
    foreseen = evaluation.by_belief.foreseen
    place = survey.answerable.index(question)
    mass, spread = survey.masses[place], foreseen.each[place]
    if not plain:  # its influence stands for its terms
        along = foreseen.along[place][None, :]
        means = along @ mass / mass.sum()
        influence = Influence(survey.phase, mass, np.ones(1), means)
        return Within(estimate.credible, foreseen_variance(influence, along, spread))
    terms = survey.terms_of(foreseen, question)
    means = terms @ mass / mass.sum()
    slope = np.nan_to_num(metric.slope(means), posinf=0.0, neginf=0.0)
    mended = survey.mended.get(question.title)
    influence = Influence(survey.phase, mass, slope, means, mended)
    variance = foreseen_variance(influence, terms, spread)
    return Within(estimate.credible, variance, influence.shift)
