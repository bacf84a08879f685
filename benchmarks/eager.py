"""One roll-out in eager PyTorch, written plainly: a module for each member, Adam by hand.

A yardstick for speed and a second opinion on the gradient; nothing else needs PyTorch.
The graph of all steps is kept, and the objective is differentiated back through it.
"""

from typing import Any, NamedTuple

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.func import functional_call  # pyright: ignore[reportMissingImports]

from benchmarks.toy import TEMPERATURE, K, Toy
from labelwise.beliefs.neural.belief import NeuralBelief, Precision
from labelwise.beliefs.neural.ensemble import Ensemble
from labelwise.beliefs.neural.learning import EPS_ROOT

DECAYS, EPS = (0.9, 0.999), 1e-8  # of Adam


class Draws(NamedTuple):
    """What chance decides in one roll-out."""

    noise: Any  # of the soft batch, one a pool row
    labels: Any  # imagined, one a pool row
    members: Any  # whose values the variance is taken over


class Eager:
    """The roll-outs of one belief."""

    def __init__(self, toy: Toy, belief: NeuralBelief, precision: Precision):
        kind = torch.float32 if precision == "single" else torch.float64
        network = belief.network
        assert isinstance(network, Ensemble)
        assert network.prior is not None
        self.tensor = lambda values: torch.tensor(np.asarray(values, float), dtype=kind)
        self.x = self.tensor(np.concatenate([toy.x, toy.pool.x]))
        self.target = self.tensor(toy.estimand.x)
        self.y, self.learning = self.tensor(toy.y), belief.learning
        self.members = self._modules(belief.start, network.members)
        # Prior functions never learn: their values are computed once.
        priors, scale = self._modules(network.prior, network.members), network.prior_scale
        with torch.no_grad():
            self.known = [float(scale) * prior(self.x)[:, 0] for prior in priors]
            self.far = [float(scale) * prior(self.target)[:, 0] for prior in priors]

    def gradient(self, logits: Any, draws: Draws) -> Any:
        """Of the variance after a soft batch, in the logits."""
        logits = self.tensor(logits).requires_grad_()
        weight = _soft_batch(logits + self.tensor(draws.noise)).clamp(max=1.0)
        known = torch.ones(len(self.y), dtype=logits.dtype)
        y = torch.cat([self.y, self.tensor(draws.labels)])
        learnt = self._learn(torch.cat([known, weight]), y)
        values = torch.stack(
            [(self._outputs(learnt, at, self.target, self.far) ** 2).mean() for at in self._all]
        )
        chosen = values[torch.tensor(np.asarray(draws.members))]
        return torch.autograd.grad(chosen.var(unbiased=True), logits)[0]

    @property
    def _all(self) -> range:
        return range(len(self.members))

    def _learn(self, weight, y) -> list[dict[str, Any]]:
        """Adam from the initial weights, every step part of the graph."""
        own = [dict(module.named_parameters()) for module in self.members]
        zeros = lambda: [{name: 0.0 for name in member} for member in own]
        first, second = zeros(), zeros()
        for step in range(1, self.learning.steps + 1):
            leaves = [leaf for member in own for leaf in member.values()]
            loss = self._loss(own, weight, y)
            slopes = iter(torch.autograd.grad(loss, leaves, create_graph=True))
            for at, member in enumerate(own):
                own[at] = {
                    name: self._adam(leaf, next(slopes), first[at], second[at], name, step)
                    for name, leaf in member.items()
                }
        return own

    def _adam(self, leaf, slope, first, second, name: str, step: int):
        rates = DECAYS
        first[name] = rates[0] * first[name] + (1.0 - rates[0]) * slope
        second[name] = rates[1] * second[name] + (1.0 - rates[1]) * slope**2
        mean = first[name] / (1.0 - rates[0] ** step)
        square = second[name] / (1.0 - rates[1] ** step)
        rate = float(self.learning.descent.learning_rate)
        return leaf - rate * mean / (torch.sqrt(square + EPS_ROOT) + EPS)

    def _loss(self, own, weight, y):
        misfit = sum(
            (weight * (self._outputs(own, at, self.x, self.known) - y) ** 2).sum()
            for at in self._all
        )
        penalty = sum((leaf**2).sum() for member in own for leaf in member.values())
        return (misfit + float(self.learning.decay) * penalty) / weight.sum().clamp(min=1.0)

    def _outputs(self, own, at: int, x, prior):
        return functional_call(self.members[at], own[at], (x,))[:, 0] + prior[at]

    def _modules(self, layers, members: int) -> list[Any]:
        return [self._module(layers, at) for at in range(members)]

    def _module(self, layers, at: int) -> Any:
        parts = []
        for weight, bias in zip(layers.weights, layers.biases, strict=True):
            linear = nn.Linear(weight.shape[1], weight.shape[2])
            linear.weight = nn.Parameter(self.tensor(weight[at]).T.contiguous())
            linear.bias = nn.Parameter(self.tensor(bias[at]))
            parts += [linear, nn.ReLU()]
        return nn.Sequential(*parts[:-1])


def use_one_thread() -> int:
    torch.set_num_threads(1)
    return torch.get_num_threads()


def _soft_batch(scores):
    """Weights that sum to K; log(1 - w) from the others' weights, as 1 - w may round to 0."""
    weight = torch.zeros_like(scores)
    own = torch.eye(len(scores), dtype=torch.bool)
    for _ in range(K):
        logs = torch.log_softmax(scores / TEMPERATURE, dim=0)
        weight = weight + logs.exp()
        others = logs.expand(len(scores), -1).masked_fill(own, -torch.inf)
        scores = scores + torch.logsumexp(others, dim=1)
    return weight
