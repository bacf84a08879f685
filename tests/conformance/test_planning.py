"""Every policy plans for every kind of estimand under every kind of belief."""

from functools import cache

import jax
import numpy as np
import pytest

from labelwise.estimands.classes import MulticlassAccuracy
from labelwise.types import EXCLUDED
from tests.conformance.cases import (
    BELIEFS,
    CLASSES,
    ESTIMANDS,
    NEURAL,
    ONE_OF_EACH,
    SEVERAL,
    TARGET,
    K,
    labels_for,
    multiclass,
    pool,
    rows,
)

CLOSED = ("mean-squared-error", "treatment-effect", "several-sum")  # under a Gaussian belief
# Of those without a closed form plans know the values of draws only, however these come about;
# under a classifier that goes for all.
BY_DRAWS = ("recall", "several-worst")
AIMS = CLOSED + BY_DRAWS
# These look at an estimand's rows and masses only, so that one kind stands for all.
BLIND = ("random", "uncertainty", "uncertainty-sequential", "integrated-variance")
PLANNERS = tuple(name for name in ONE_OF_EACH if name not in BLIND)

CASES = [(policy, aim, "gp-rbf") for policy in PLANNERS for aim in AIMS]
CASES += [
    (policy, aim, "classifier-logit")
    for policy in PLANNERS
    for aim in ("mean-squared-error", *BY_DRAWS)
]
CASES += [
    (policy, aim, belief)
    for policy in BLIND
    for aim, belief in (("treatment-effect", "gp-rbf"), ("several-worst", "classifier-logit"))
]
# Under mixtures lookahead has ways of its own; others plan with the heaviest component, those
# of processes in `test_policies`.
CASES += [("lookahead", aim, "mixture-gp") for aim in AIMS]
CASES += [("lookahead", aim, "mixture-classifier") for aim in BY_DRAWS]
CASES += [
    (policy, "several-worst", "mixture-classifier")
    for policy in ONE_OF_EACH
    if policy != "lookahead"
]
# Networks learn from imagined labels in some policies, and are Gaussian to others.
CASES += [(policy, "several-sum", "ensemble-plus") for policy in ONE_OF_EACH]
CASES += [(policy, "recall", "ensemble-plus-binary") for policy in ONE_OF_EACH]
CASES += [
    (policy, "treatment-effect", "epinet") for policy in ("lookahead", "smoothed-autodiff")
]
# One row is labelled and one is out: neither may be chosen.
TAKEN, OUT = 5, 2


@cache
def known(name):
    belief = (BELIEFS | NEURAL)[name]
    return belief.condition(rows(0, 6), labels_for(belief, 1, 6))


@cache
def aim_of(name):
    return (ESTIMANDS | SEVERAL)[name](rows(3, TARGET))


@pytest.mark.parametrize(("policy", "aim", "belief"), CASES)
def test_the_batch_is_lawful(policy, aim, belief):
    check(propose(policy, known(belief), aim_of(aim)))


@pytest.mark.parametrize("policy", ONE_OF_EACH)
def test_every_policy_plans_for_several_classes(policy):
    labels = (np.arange(6.0) % CLASSES, np.arange(float(TARGET)) % CLASSES)
    classified = multiclass().condition(rows(0, 6), labels[0])
    check(propose(policy, classified, MulticlassAccuracy(rows(3, TARGET), labels[1], CLASSES)))


def propose(policy, belief, aim):
    within = pool(np.arange(len(pool().x)) != TAKEN, out=[OUT])
    return ONE_OF_EACH[policy].propose(jax.random.key(0), belief, aim, within, K)


def check(batch):
    chosen = set(np.asarray(batch.indices).tolist())
    assert len(chosen) == K
    assert chosen <= set(range(12)) - {TAKEN, OUT}
    assert np.isfinite(batch.scores).all()
    assert (np.asarray(batch.logits)[[TAKEN, OUT]] == EXCLUDED).all()
    probabilities = np.asarray(batch.probabilities)
    assert ((probabilities > 0) & (probabilities <= 1)).all()
