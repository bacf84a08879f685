"""A belief that a network holds: the functions of its indices, after learning from labels.

Conditioning learns anew from all labels seen (`Learning.restart`), so labels that come in turn
teach the same as labels that come at once; or goes on from where it stood. Either is
differentiable in the weights of the rows.

Moments are those of all functions where there are finitely many, as in an ensemble; else of a
fixed panel of them.
"""

from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.fields import check_choice
from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.neural.base import AbstractNetwork, Weights
from labelwise.beliefs.neural.bootstrap import check_bootstrap
from labelwise.beliefs.neural.gaussian_approximation import as_gaussian
from labelwise.beliefs.neural.gradients import trained_weights
from labelwise.beliefs.neural.learning import Learning, TrainingProblem, advance
from labelwise.beliefs.neural.model import Model
from labelwise.errors import InvalidInput, NumericalError
from labelwise.inputs import as_key, as_matrix, check_same_features, is_traced
from labelwise.likelihoods import AbstractLikelihood, CategoricalLikelihood, GaussianLikelihood

PANEL = 200  # functions that moments are computed from, where there is a continuum
CHUNKS = 20  # in which a long fit reports how far it is

Precision = Literal["single", "double"]
Report = Callable[[int, int], None]  # steps done, of all


class NeuralBelief(AbstractBelief):
    """What a network says of labels, given those it has learnt from."""

    model: Model
    learning: Learning
    start: Weights  # before any label
    weights: Weights  # at present
    labelled: Labelled | None
    key: PRNGKeyArray  # of every draw in learning

    def __init__(
        self,
        model: Model,
        learning: Learning,
        key: Any,
        *,
        precision: Precision = "single",
        start: Weights = None,
    ):
        """`start` are weights to begin from, if not drawn with `key`.

        Networks compute in 32 bits ("single"), twice as fast as in 64 and as good: their
        learning is not exact anyway.
        """
        check_choice("precision", precision, Precision)
        start_key, self.key = jax.random.split(as_key(key))
        check_bootstrap(learning.bootstrap, model.network)
        if learning.label_noise and not isinstance(model.likelihood, GaussianLikelihood):
            raise InvalidInput(
                "label_noise shifts labels that are numbers",
                "set it to 0 for classes",
                where="label_noise",
            )
        start = model.network.start(start_key) if start is None else start
        self.start = _with_precision(start, precision)
        network = _with_precision(model.network, precision)
        self.model = eqx.tree_at(lambda model: model.network, model, network)
        self.learning = learning
        self.weights = self.start
        self.labelled = None

    @property
    def likelihood(self) -> AbstractLikelihood:
        return self.model.likelihood

    @property
    def network(self) -> AbstractNetwork:
        return self.model.network

    @property
    def latent(self):
        return as_gaussian(self)

    @property
    def is_trained(self):
        return True

    @property
    def certain(self):
        """One network alone."""
        return self.network.size == 1

    def condition(self, x: Any, y: Any, weight: Any = None) -> "NeuralBelief":
        problem, begin, new = self._problem(x, y, weight)
        return self._after(problem, _trained(problem, begin, new))

    def learn(
        self, x: Any, y: Any, weight: Any = None, report: Report | None = None
    ) -> "NeuralBelief":
        """As `condition`, for long fits: reports how many steps are done."""
        problem, begin, _ = self._problem(x, y, weight)
        progress, steps, done = problem.begin(begin), self.learning.steps, 0
        while done < steps:
            count = min(max(steps // CHUNKS, 1), steps - done)
            progress = _advance(problem, progress, jnp.asarray(done), count)
            done += count
            if report is not None:
                report(done, steps)
        return self._after(problem, problem.end(progress))

    def sample(self, key, x, draws):
        x = self._rows(x)
        return self.model.functions(self.weights, x, self.network.draw(key, draws))

    def representatives(self, key, x, draws):
        """All functions where there are finitely many: no draw is needed, or would help."""
        if self.network.size is not None:
            return self.panel(x)
        return self.sample(key, x, draws)

    def panel(self, x: Any) -> Float[Array, "panel n ..."]:
        """The functions that moments are computed from."""
        return self.model.functions(self.weights, self._rows(x), self._panel)

    def mean(self, x: Any) -> Float[Array, "n ..."]:
        """Mean of the function at the rows of `x`."""
        return self.panel(x).mean(axis=0)

    def variance(self, x: Any) -> Float[Array, "n ..."]:
        """Variance of the function over all there are, label noise not included."""
        return self.panel(x).var(axis=0)

    def covariance(self, x: Any, other: Any = None) -> Float[Array, "n m"]:
        """Covariance of the function between rows of `x` and of `other` (or `x`)."""
        if isinstance(self.likelihood, CategoricalLikelihood):
            raise InvalidInput(
                "Of several classes there is no one covariance", "see `outcome`", where="labels"
            )
        away = self.panel(x) - self.mean(x)[None, :]
        if other is None:
            return away.T @ away / away.shape[0]
        there = self.panel(other) - self.mean(other)[None, :]
        return away.T @ there / away.shape[0]

    def outcome(self, x: Any) -> tuple[Float[Array, "n ..."], Float[Array, " n"]]:
        """Mean and variance of the expected label at the rows of `x`.

        Of several classes, of their chances: the variance is the sum over classes.
        """
        functions = self.panel(x)
        if isinstance(self.likelihood, CategoricalLikelihood):
            probabilities = self.likelihood.chances(functions)
            return probabilities.mean(axis=0), probabilities.var(axis=0).sum(axis=-1)
        expected = self.likelihood.mean(functions)
        return expected.mean(axis=0), expected.var(axis=0)

    @property
    def _panel(self) -> Any:
        if self.network.size is not None:
            return None
        panel_key = jax.random.fold_in(self.key, 2)  # splits of the key are its folds 0 and 1
        return self.network.draw(panel_key, PANEL)

    def _rows(self, x: Any) -> Float[Array, "n features"]:
        x = as_matrix("x", x)
        check_same_features("x", x, "the network", self.network.features)
        return x

    def _problem(self, x, y, weight) -> tuple[TrainingProblem, Weights, int]:
        """What is to be learnt, from which weights on, and how many rows are new."""
        new = Labelled.of(x, y, weight, self.likelihood)
        check_same_features("x", new.x, "the network", self.network.features)
        if new.y.shape[0] == 0:
            raise InvalidInput(
                "There are no labels to learn from", "give at least one row", where="y"
            )
        labelled = new.after(self.labelled)
        problem = TrainingProblem.of(self.model, self.learning, labelled, self.key)
        begin = self.start if self.learning.restart else self.weights
        return problem, begin, new.y.shape[0]

    def _after(self, problem: TrainingProblem, weights: Weights) -> "NeuralBelief":
        if not is_traced(weights) and not _finite(weights):
            raise NumericalError(
                "Learning diverged: weights are not finite",
                "lower the learning rate, or bring features and labels to ordinary scales",
                where="learning_rate",
            )
        return eqx.tree_at(
            lambda belief: (belief.weights, belief.labelled),
            self,
            (weights, problem.labelled),
            is_leaf=lambda leaf: leaf is None,
        )


def _with_precision(tree: Any, precision: Precision) -> Any:
    kind = jnp.float32 if precision == "single" else jnp.float64
    cast = lambda leaf: leaf.astype(kind) if eqx.is_inexact_array(leaf) else leaf
    return jax.tree.map(cast, tree)


def _finite(weights: Weights) -> bool:
    return all(bool(np.isfinite(leaf).all()) for leaf in jax.tree.leaves(weights))


# Called eagerly, the loops would be compiled anew at every call.
_trained = eqx.filter_jit(trained_weights)
_advance = eqx.filter_jit(advance)
