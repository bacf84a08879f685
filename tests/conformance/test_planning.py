"""Every policy plans for every kind of estimand under every kind of belief."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from labelwise.estimands.classes import MulticlassAccuracy
from labelwise.types import EXCLUDED, Pool
from tests.conformance.cases import (
    BELIEFS,
    CLASSES,
    ESTIMANDS,
    MULTICLASS,
    NEURAL,
    ONE_OF_EACH,
    SEVERAL,
    labels_for,
    rows,
)

TARGET = rows(3, 5)
AIMS = {
    name: (ESTIMANDS | SEVERAL)[name](TARGET)
    for name in (
        "mean-squared-error",
        "recall",
        "r-squared",
        "treatment-effect",
        "several-sum",
        "several-worst",
        "difference-of-recalls",
    )
}
KNOWN = {
    name: BELIEFS[name].condition(rows(0, 6), labels_for(BELIEFS[name], 1, 6))
    for name in ("gp-rbf", "classifier-logit", "mixture-gp", "mixture-classifier")
}
NETWORKS = {
    name: NEURAL[name].condition(rows(0, 6), labels_for(NEURAL[name], 1, 6))
    for name in ("ensemble-plus", "ensemble-plus-binary", "epinet")
}
CLASSIFIED = MULTICLASS.condition(rows(0, 6), jnp.arange(6.0) % CLASSES)
# One row is labelled and one is out: neither may be chosen.
POOL = Pool(rows(7, 8), np.arange(8) != 5, pending=[2])


# These look at an estimand's rows and masses only, so that two kinds stand for all.
BLIND = ("random", "uncertainty", "uncertainty-sequential", "integrated-variance")
PLANS = [
    (policy, aim)
    for policy in ONE_OF_EACH
    for aim in (("treatment-effect", "several-worst") if policy in BLIND else AIMS)
]


# Under mixtures lookahead has ways of its own; others plan with the heaviest component, those
# of processes in `test_policies`.
MIXED = [("lookahead", aim, "mixture-gp") for aim in AIMS]
MIXED += [("lookahead", aim, "mixture-classifier") for aim in ("recall", "several-worst")]
MIXED += [
    (policy, "several-worst", "mixture-classifier")
    for policy in ONE_OF_EACH
    if policy != "lookahead"
]
# Networks learn from imagined labels in some policies, and are Gaussian to others.
NETS = [(policy, "several-sum", "ensemble-plus") for policy in ONE_OF_EACH]
NETS += [(policy, "recall", "ensemble-plus-binary") for policy in ONE_OF_EACH]
NETS += [
    (policy, "treatment-effect", "epinet") for policy in ("lookahead", "smoothed-autodiff")
]
CASES = [(*plan, belief) for plan in PLANS for belief in ("gp-rbf", "classifier-logit")]


@pytest.mark.parametrize(("policy", "aim", "belief"), CASES + MIXED + NETS)
def test_the_batch_is_lawful(policy, aim, belief):
    known = (KNOWN | NETWORKS)[belief]
    check(ONE_OF_EACH[policy].propose(jax.random.key(0), known, AIMS[aim], POOL, 2))


@pytest.mark.parametrize("policy", ONE_OF_EACH)
def test_every_policy_plans_for_several_classes(policy):
    aim = MulticlassAccuracy(TARGET, jnp.arange(5.0) % CLASSES, CLASSES)
    check(ONE_OF_EACH[policy].propose(jax.random.key(0), CLASSIFIED, aim, POOL, 2))


def check(batch):
    chosen = set(np.asarray(batch.indices).tolist())
    assert len(chosen) == 2
    assert chosen <= {0, 1, 3, 4, 6, 7}
    assert np.isfinite(batch.scores).all()
    assert (np.asarray(batch.logits)[[2, 5]] == EXCLUDED).all()
    assert ((batch.probabilities > 0) & (batch.probabilities <= 1)).all()
