"""Every implementation of an interface. A new class joins its suite by one line here.

Nothing is computed when this file is imported: each case is made when a test first asks for it.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF, Linear, Matern32, Matern52, OnFeatures
from labelwise.beliefs.means import ConstantMean, PredictorMean
from labelwise.beliefs.mixture import Mixture
from labelwise.beliefs.neural.last_layer import LastLayer
from labelwise.beliefs.neural.layers import draw_layers
from labelwise.beliefs.neural.registry import neural_belief
from labelwise.estimands.combine import Several
from labelwise.estimands.comparison import difference
from labelwise.estimands.custom import FunctionEstimand
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.estimands.named import (
    Accuracy,
    AreaUnderCurve,
    BrierScore,
    ErrorRate,
    F1Score,
    FalsePositiveRate,
    LogLoss,
    MeanAbsoluteError,
    MeanError,
    MeanOutcome,
    MeanSquaredError,
    Precision,
    Recall,
    RSquared,
    Specificity,
)
from labelwise.estimands.smoothing import SmoothedRecall
from labelwise.policies.autodiff import SmoothedAutodiff
from labelwise.policies.baselines import (
    IntegratedVariance,
    Random,
    SequentialUncertainty,
    Uncertainty,
)
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.optimise import Training
from labelwise.policies.reinforce import Reinforce
from labelwise.types import Pool


class Cases(Mapping[str, Any]):
    """Named cases, each made once, at its first use."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]):
        self._makers, self._made = dict(makers), {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __or__(self, other: "Cases") -> "Cases":
        either = lambda name: self[name] if name in self._makers else other[name]
        return Cases({name: lambda name=name: either(name) for name in [*self, *other]})


def _processes() -> list[GaussianProcess]:
    settings = ((0.6, 0.05, 0.4), (1.0, 0.3, 0.0), (1.8, 1.2, -0.3))
    return [GaussianProcess(RBF(a, 1.3), noise, ConstantMean(m)) for a, noise, m in settings]


def _classifiers() -> list[GaussianProcessClassifier]:
    settings = ((0.7, 2.0, 0.4), (1.6, 0.8, -0.2))
    return [GaussianProcessClassifier(RBF(a, v), ConstantMean(m)) for a, v, m in settings]


BELIEFS = Cases(
    {
        "gp-rbf": lambda: GaussianProcess(RBF(0.8, 1.3), 0.1),
        "gp-matern32": lambda: GaussianProcess(
            Matern32([0.8, 1.5], 0.7), 0.05, ConstantMean(0.4)
        ),
        "gp-matern52": lambda: GaussianProcess(
            Matern52(1.2, 0.9), 0.2, PredictorMean(1, 0.3, 0.5)
        ),
        "gp-precision": lambda: GaussianProcess(RBF(0.8, 1.3), 0.1, weighting="precision"),
        "classifier-logit": lambda: GaussianProcessClassifier(RBF(0.8, 1.3), ConstantMean(0.4)),
        "classifier-probit": lambda: GaussianProcessClassifier(
            Matern52([0.8, 1.5]), link="probit"
        ),
        "mixture-gp": lambda: Mixture.of(_processes(), [-0.5, 0.0, 0.2]),
        "mixture-classifier": lambda: Mixture.of(_classifiers()),
    }
)

# Small, smooth and quick; every one learns anew at each conditioning.
_SMALL: dict[str, Any] = {
    "hidden": (4,),
    "activation": "tanh",
    "steps": 6,
    "learning_rate": 0.05,
    "precision": "double",
}


def _last_layer():
    layers = draw_layers(jax.random.key(0), (2, 4, 1), first_bias=True)
    return LastLayer.of(layers, "tanh")


def _neural(agent: str, **options: Any) -> Callable[[], AbstractBelief]:
    """How such a network is made; an option may be one too."""
    made = lambda option: option() if callable(option) else option
    return lambda: neural_belief(
        agent, 2, **_SMALL | {name: made(option) for name, option in options.items()}
    )


NEURAL = Cases(
    {
        "ensemble": _neural("ensemble", noise=0.1, members=3),
        "ensemble-plus": _neural("ensemble-plus", noise=0.1, members=3, prior_hidden=(3,)),
        "ensemble-plus-binary": _neural(
            "ensemble-plus",
            labels="binary",
            members=3,
            prior_hidden=(3,),
            bootstrap="bernoulli",
            mean=lambda: ConstantMean(0.3),
        ),
        "dropout": _neural("dropout", noise=0.1, rate=0.3),
        "hypermodel": _neural("hypermodel", noise=0.1, indices=2),
        "epinet": _neural("epinet", labels="binary", epinet_hidden=(3,), indices=2),
        "last-layer": lambda: GaussianProcess(
            OnFeatures(
                Linear(1.5, 0.8),
                LastLayer.of(
                    draw_layers(jax.random.key(0), (2, 4, 1), first_bias=True), "tanh"
                ),
            ),
            0.1,
        ),
    }
)
# About more than two classes: its function has a number for each.
CLASSES = 3


@cache
def multiclass() -> AbstractBelief:
    return _neural("ensemble-plus", labels=CLASSES, members=4, prior_hidden=(3,))()


score = lambda x: 1.0 / (1.0 + jnp.exp(-2.0 * x[:, 0]))  # a predictor of chances
other_score = lambda x: 1.0 / (1.0 + jnp.exp(-x[:, 1]))

# Quadratic in the function: exact under a Gaussian belief.
QUADRATIC = {
    "mean-squared-error": lambda x: MeanSquaredError(x, lambda x: x[:, 0]),
    "mean-squared-error-weighted": lambda x: MeanSquaredError(x, 0.2, 1.0 + jnp.arange(len(x))),
    "mean-outcome": lambda x: MeanOutcome(x),
    "mean-outcome-weighted": lambda x: MeanOutcome(x, 1.0 + jnp.arange(len(x))),
    "mean-error": lambda x: MeanError(x, lambda x: x[:, 0]),
    "accuracy": lambda x: Accuracy(x, score),
    "error-rate": lambda x: ErrorRate(x, score, 0.3),
    "precision": lambda x: Precision(x, score, 0.3),
    "brier-score": lambda x: BrierScore(x, score),
    "log-loss": lambda x: LogLoss(x, score),
    "treatment-effect": lambda x: AverageTreatmentEffect(x, 1),
    "difference-of-squared-errors": lambda x: difference(
        MeanSquaredError(x, score), MeanSquaredError(x, 0.2)
    ),
}

# Not so: values and slopes from draws.
GENERAL = {
    "mean-absolute-error": lambda x: MeanAbsoluteError(x, lambda x: x[:, 0]),
    "r-squared": lambda x: RSquared(x, lambda x: x[:, 0]),
    "recall": lambda x: Recall(x, score),
    "specificity": lambda x: Specificity(x, score),
    "false-positive-rate": lambda x: FalsePositiveRate(x, score),
    "f1-score": lambda x: F1Score(x, score),
    "area-under-curve": lambda x: AreaUnderCurve(x, score),
    "smoothed-recall": lambda x: SmoothedRecall(x, score, temperature=0.5, replicates=3),
    "difference-of-recalls": lambda x: difference(Recall(x, score), Recall(x, other_score)),
    "function": lambda x: FunctionEstimand(
        x, lambda outcome, mass: jnp.log(mass @ jnp.exp(outcome))
    ),
}

ESTIMANDS = QUADRATIC | GENERAL

# Several at once: their values are vectors.
SEVERAL = {
    "several-sum": lambda x: Several([MeanSquaredError(x, score), Accuracy(x, score)]),
    "several-worst": lambda x: Several([Recall(x, score), Accuracy(x, score)], combine="worst"),
}

# In closed form where there is one, else from draws, so that it takes any belief and estimand.
SHORT = Training(rollouts=2, steps=2, draws=8)
SHORT_EXACT = Training(objective="exact", rollouts=2, steps=3)

# One policy of each kind, with options under which it takes any belief and estimand.
ONE_OF_EACH = {
    "random": Random(),
    "uncertainty": Uncertainty(),
    "uncertainty-sequential": SequentialUncertainty(),
    "integrated-variance": IntegratedVariance(),
    "lookahead-greedy": Lookahead(effort="greedy"),
    "reinforce": Reinforce(SHORT),
    "smoothed-autodiff": SmoothedAutodiff(SHORT),
}
# The same under other options.
OPTIONS = {
    "lookahead": Lookahead(),
    "lookahead-swaps": Lookahead(effort="swaps"),
    "reinforce-exact": Reinforce(SHORT_EXACT, baseline=False, log_prob="sequence"),
    "reinforce-drawn": Reinforce(
        Training(objective="sampled", rollouts=2, steps=1, draws=8, floor=0.3)
    ),
    "smoothed-autodiff-exact": SmoothedAutodiff(SHORT_EXACT, sparse=False),
    "smoothed-autodiff-letter": SmoothedAutodiff(SHORT_EXACT, relaxation="letter"),
}
POLICIES = ONE_OF_EACH | OPTIONS


# One shape for every plan, so that a policy, a belief and an estimand compile once: as many
# rows, and as many places for rows that are out, filled or empty.
POOL, TARGET, OUT, K = 12, 8, 10, 3


def pool(available: Any = None, out: Any = ()) -> Pool:
    """Rows to choose from, of which some may be taken and some be out."""
    places = [*out, *[-1] * (OUT - len(out))]
    return Pool(rows(7, POOL), available, pending=places)


def rows(seed: int, count: int, dim: int = 2):
    """Some rows of features, the same ones for the same seed."""
    return jax.device_put(np.random.default_rng(seed).normal(size=(count, dim)))


def numbers(seed: int, count: int):
    """Some labels that may be any number."""
    return jax.device_put(np.random.default_rng(seed).normal(size=count))


def labels_for(belief: AbstractBelief, seed: int, count: int):
    """Some labels of the kind that the belief is about."""
    some = numbers(seed, count)
    return some if belief.likelihood.support is None else (some > 0.0).astype(float)


def absurd_labels_for(belief: AbstractBelief, seed: int, count: int):
    """Labels that would mislead the belief, were they not absent."""
    some = labels_for(belief, seed, count)
    return some + 1e3 if belief.likelihood.support is None else 1.0 - some
