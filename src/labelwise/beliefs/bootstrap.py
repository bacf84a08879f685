"""A belief of any scikit-learn model: many of it, each fitted to a resample of the labels.

Its functions are what the models predict (of 0/1 labels, in log-odds), and how far they differ
is how uncertain they are. [1] Fitting happens on the host; compiled programs wait for it. The
first labels are learnt by fitting; further ones, which plans imagine, by the Gaussian belief
with the same mean and covariance, so that all policies plan with it, those with gradients too.

[1] Efron (1979), Bootstrap methods: another look at the jackknife.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Scalar

from labelwise.beliefs.base import AbstractBelief
from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.neural.gaussian_approximation import as_gaussian
from labelwise.errors import InvalidInput
from labelwise.inputs import as_count, as_matrix
from labelwise.likelihoods import BernoulliLikelihood, GaussianLikelihood
from labelwise.own_code import find, on_host

MEMBERS = 30  # models; their spread is known to an eighth
EDGE = 0.01  # chances keep this far from 0 and 1, as a tree's leaves do not
LEAST_NOISE = 0.01  # share of the labels' variance


@dataclass(frozen=True)
class Recipe:
    """How a model is made: hashable, so that programs are compiled once."""

    path: str  # "module:class", or "file.py:function"
    options: str  # as JSON
    members: int
    seed: int
    binary: bool

    def make(self, seed: int) -> Any:
        """A model that nothing was shown yet."""
        model = find(self.path, "belief", "belief")(**json.loads(self.options))
        if "random_state" in getattr(model, "get_params", dict)():
            model.set_params(random_state=seed)
        return model


class BootstrapBelief(AbstractBelief):
    """Models that were fitted to resamples of the labels."""

    recipe: Recipe = eqx.field(static=True)
    noise: Scalar
    labelled: Labelled | None

    @property
    def likelihood(self):
        return BernoulliLikelihood() if self.recipe.binary else GaussianLikelihood(self.noise)

    @property
    def latent(self):
        return as_gaussian(self)

    def condition(self, x: Any, y: Any, weight: Any = None) -> Any:
        if self.labelled is not None:
            return as_gaussian(self).condition(x, y, weight)  # type: ignore[union-attr]
        seen = Labelled.of(x, y, weight, self.likelihood)
        return BootstrapBelief(self.recipe, self.noise, seen)

    def sample(self, key, x, draws):
        chosen = jax.random.randint(key, (draws,), 0, self.recipe.members)
        return self.panel(x)[chosen]

    def representatives(self, key, x, draws):
        return self.panel(x)

    def panel(self, x: Any) -> Float[Array, "members n"]:
        """What every model says."""
        x = as_matrix("x", x)
        if self.labelled is None:
            raise InvalidInput(
                "A bootstrap has nothing to resample", "condition it on labels", where="belief"
            )
        like = jax.ShapeDtypeStruct((self.recipe.members, x.shape[0]), float)
        seen = self.labelled
        predict = lambda *given: _predict(self.recipe, *given)
        call = on_host(predict, f"belief {self.recipe.path!r}")
        return jax.pure_callback(
            call, like, seen.x, seen.y, seen.weight, x, vmap_method="sequential"
        )

    def mean(self, x: Any) -> Float[Array, " n"]:
        """Mean of the function at the rows of `x`."""
        return self.panel(x).mean(axis=0)

    def covariance(self, x: Any, other: Any = None) -> Float[Array, "n m"]:
        """Covariance of the function between rows of `x` and of `other` (or `x`)."""
        here = self.panel(x)
        there = here if other is None else self.panel(other)
        away = lambda functions: functions - functions.mean(axis=0)[None, :]
        return away(here).T @ away(there) / self.recipe.members

    def outcome(self, x: Any) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Mean and variance of the expected label at the rows of `x`."""
        expected = self.likelihood.mean(self.panel(x))
        return expected.mean(axis=0), expected.var(axis=0)


def _predict(recipe: Recipe, x, y, weight, rows) -> np.ndarray:
    """From labelled rows to what each model says of others."""
    x, y, weight = (np.asarray(one) for one in (x, y, weight))
    used = weight >= 0.5  # padding has no weight
    shape = x.shape[1]
    models = _fitted(recipe, np.ascontiguousarray(x[used]).tobytes(), y[used].tobytes(), shape)
    each = [_says(recipe, model, np.asarray(rows)) for model in models]
    return np.array(each, float)


def _says(recipe: Recipe, model: Any, rows: np.ndarray) -> np.ndarray:
    if not recipe.binary:
        return np.asarray(model.predict(rows), float)
    chance = model.predict_proba(rows)[:, list(model.classes_).index(1.0)]
    chance = np.clip(chance, EDGE, 1.0 - EDGE)
    return np.log(chance) - np.log1p(-chance)


@lru_cache(8)
def _fitted(recipe: Recipe, x: bytes, y: bytes, features: int) -> list[Any]:
    """All models, each given its own resample."""
    rows, labels = np.frombuffer(x).reshape(-1, features), np.frombuffer(y)
    rng = np.random.default_rng(recipe.seed)
    models = []
    for member in range(recipe.members):
        chosen = _resample(rng, labels, recipe.binary)
        models.append(recipe.make(member).fit(rows[chosen], labels[chosen]))
    return models


def _resample(rng: np.random.Generator, labels: np.ndarray, binary: bool) -> np.ndarray:
    """As many rows, with replacement; of classes, of each as many as there are."""
    groups = [np.arange(len(labels))]
    if binary:
        groups = [np.flatnonzero(labels == label) for label in (0.0, 1.0)]
    if not all(len(group) for group in groups):
        raise InvalidInput(
            "A classifier cannot be fitted to labels that are all alike",
            "label both classes first, or use the usual belief",
            where="belief",
        )
    return np.concatenate([rng.choice(group, len(group)) for group in groups])


@dataclass(frozen=True)
class BootstrapPrior:
    """Such a belief before any label, as plain values."""

    recipe: Recipe
    noise: float

    def describe(self) -> dict[str, Any]:
        own = self.recipe
        options = {"options": json.loads(own.options), "members": own.members}
        kind = {"labels": "binary" if own.binary else "regression"}
        return {"own": own.path, **options, **kind, "seed": own.seed, "noise": self.noise}

    @staticmethod
    def build(stored: Mapping[str, Any]) -> BootstrapBelief:
        options = json.dumps(stored["options"], sort_keys=True)
        binary = stored["labels"] == "binary"
        recipe = Recipe(stored["own"], options, stored["members"], stored["seed"], binary)
        return BootstrapBelief(recipe, jnp.asarray(float(stored["noise"])), None)


def fit_bootstrap(
    path: str, options: Mapping[str, Any], x: Any, y: Any, seed: int
) -> BootstrapPrior:
    """The prior that suits these labels: noise is what held-out labels are missed by."""
    own = {key: value for key, value in options.items() if key not in ("members", "labels")}
    binary = options["labels"] == "binary"
    text = json.dumps(own, sort_keys=True)
    recipe = Recipe(path, text, options["members"], seed, binary)
    noise = 0.0 if binary else _noise(recipe, np.asarray(x), np.asarray(y))
    return BootstrapPrior(recipe, noise)


def _noise(recipe: Recipe, x: np.ndarray, y: np.ndarray) -> float:
    """By five parts, each predicted from the others."""
    variance = float(y.var()) or 1.0
    if len(y) < 10:
        return 0.1 * variance
    part = np.random.default_rng(recipe.seed).permutation(len(y)) % 5
    missed = []
    for one in range(5):
        out = part == one
        guess = recipe.make(0).fit(x[~out], y[~out]).predict(x[out])
        missed.append((guess - y[out]) ** 2)
    return float(np.clip(np.concatenate(missed).mean(), LEAST_NOISE * variance, variance))


def check_model(path: str, given: Mapping[str, Any], binary: bool) -> dict[str, Any]:
    """Options of such a belief, complete; a model that cannot be fitted is refused."""
    own = {key: value for key, value in given.items() if key not in ("members", "labels")}
    members = as_count("members", given.get("members", MEMBERS), least=2)
    recipe = Recipe(path, json.dumps(own, sort_keys=True), members, 0, binary)
    try:
        model = recipe.make(0)
    except InvalidInput:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The belief {path!r} cannot be made of {own} ({error})",
            "give options that it takes",
            where="belief",
        ) from None
    wanted = ("fit", "predict_proba") if binary else ("fit", "predict")
    lacks = [name for name in wanted if not hasattr(model, name)]
    if lacks:
        raise InvalidInput(
            f"The belief {path!r} has no {lacks[0]}",
            f"name a scikit-learn {'classifier' if binary else 'regressor'}",
            where="belief",
        )
    return {**own, "members": members, "labels": "binary" if binary else "regression"}
