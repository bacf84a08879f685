"""The paper's toy setting for networks, as its text has it and as its authors' code does.

Four clusters on a line; the labels at hand come from one of them, and nearly all of the target
lies in the next. The text gives the counts (20 labelled, 10 pool and 252 target rows) but not
their shares: both variants take those of the authors' data.

    text  labels are one draw from the stated Gaussian process; the loss is a mean of squares
          plus 0.1 times the squared length of the weights; each seed has data and networks of
          its own
    code  the authors' rows and labels, which lie near zero; the loss is a sum of squares plus
          100 times the squared length of a member's weights; the networks begin where theirs
          did, and a seed is the planner's alone
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from experiments.readers.authors import read_authors
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.beliefs.neural.belief import NeuralBelief
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.layers import Layers, draw_layers
from labelwise.beliefs.neural.learning import Learning
from labelwise.beliefs.neural.model import Model
from labelwise.estimands.base import QuadraticEstimand
from labelwise.estimands.named import MeanSquaredError
from labelwise.likelihoods import GaussianLikelihood
from labelwise.types import Pool

Variant = Literal["text", "code"]
ANCHORS = np.array([0.0, 1.0, -2.0, 2.0])
COUNTS = {"train": (20, 0, 0, 0), "pool": (2, 4, 2, 2), "target": (50, 200, 1, 1)}
SPREADS = {"train": 0.01, "pool": 0.002, "target": 0.01}
VARIANCE, NOISE, LENGTH_SCALE = 0.69, 0.01, 1.0
MEMBERS, HIDDEN, PRIOR_SCALE = 10, (50, 50), 100.0
STEPS, LEARNING_RATE = 50, 0.1
TEXT = {"decay": 0.1, "decay_rule": "fixed"}
CODE = {"decay": 100.0}  # 10 a member and member: each adds the length of all ten
# The authors' evaluation of planners bounds the length of the gradient. The bound is reached at
# every step, so that the scale of the loss, in which theirs differs from ours, does not matter.
CLIP = 2.0
START = Path(__file__).parent / "data" / "ensemble_plus_start.npz"
AUTHORS_FILE = "ens5_seed0.npz"


@dataclass(frozen=True)
class Toy:
    """One problem: a belief that has seen the labels at hand, and what may be bought."""

    belief: NeuralBelief
    pool: Pool
    labels: jax.Array  # of the pool
    estimand: QuadraticEstimand
    truth: float


def make_toy(variant: Variant, seed: int, data: Path | None) -> Toy:
    if variant == "text":
        return _from_text(seed)
    assert data is not None
    return _from_code(data)


def _from_text(seed: int) -> Toy:
    rng = np.random.default_rng(seed)
    x = {name: _draw_rows(rng, name) for name in COUNTS}
    prior = GaussianProcess(RBF(LENGTH_SCALE, VARIANCE), NOISE)
    everywhere = jnp.asarray(np.concatenate(list(x.values())))
    function = prior.sample(jax.random.key(seed), everywhere, 1)[0]
    labels = function + np.sqrt(NOISE) * rng.normal(size=len(function))
    train, pool = np.cumsum([len(rows) for rows in x.values()])[:2]
    estimand = MeanSquaredError(x["target"])
    truth = estimand.value(function[pool:], GaussianLikelihood(jnp.asarray(NOISE)))
    belief = make_belief(seed, TEXT).condition(x["train"], labels[:train])
    return Toy(belief, Pool(x["pool"]), labels[train:pool], estimand, float(truth))


def _from_code(data: Path) -> Toy:
    found = read_authors(data / AUTHORS_FILE)
    start, prior = (_stored_layers(name) for name in ("net", "prior"))
    belief = make_belief(0, CODE, start, prior).condition(found["train_x"], found["train_y"])
    return Toy(
        belief,
        Pool(found["pool_x"]),
        jnp.asarray(found["pool_y"]),
        MeanSquaredError(found["eval_x"]),
        float(np.mean(found["eval_y"] ** 2)),
    )


def make_belief(seed: int, decay: dict[str, Any], start=None, prior=None) -> NeuralBelief:
    """Ensemble+ as PyTorch would begin it: uniform weights, priors of Xavier's."""
    prior_key, key = jax.random.split(jax.random.key(seed))
    if prior is None:
        draw = lambda key: draw_layers(key, (1, *HIDDEN, 1), law="xavier")
        prior = jax.vmap(draw)(jax.random.split(prior_key, MEMBERS))
    network = Ensemble(
        1,
        members=MEMBERS,
        hidden=HIDDEN,
        law="uniform",
        first_bias=True,
        prior=prior,
        prior_scale=PRIOR_SCALE,
    )
    learning = Learning(steps=STEPS, learning_rate=LEARNING_RATE, **decay)
    return NeuralBelief(
        Model(network, GaussianLikelihood(jnp.asarray(NOISE))), learning, key, start=start
    )


def with_learning(belief: NeuralBelief, **changes: Any) -> NeuralBelief:
    """The same belief, learning in another way from here on."""
    learning = replace(belief.learning, **changes)
    return eqx.tree_at(lambda belief: belief.learning, belief, learning)


def _draw_rows(rng: np.random.Generator, name: str) -> np.ndarray:
    centres = np.repeat(ANCHORS, COUNTS[name])
    return (centres + SPREADS[name] * rng.normal(size=len(centres)))[:, None]


def _stored_layers(name: str) -> Layers:
    """Weights as PyTorch 2 draws them from seed 0, ten networks one after another."""
    with np.load(START) as file:
        arrays = {key: jnp.asarray(file[key], float) for key in file}
    layers = range(len(HIDDEN) + 1)
    return Layers(
        tuple(arrays[f"{name}_w{number}"] for number in layers),
        tuple(arrays[f"{name}_b{number}"] for number in layers),
    )
