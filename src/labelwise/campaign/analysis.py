"""All that is known at one instant, ready to be reasoned with: belief, estimand and pool.

The same code serves a live campaign and a back-test on known labels. Rows are padded to
fixed multiples with labels of weight 0 (absent), so that a round rarely compiles anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from labelwise.beliefs.description import build_prior, describe_prior
from labelwise.beliefs.fitting import fit_gaussian_process
from labelwise.beliefs.gp import GaussianProcess
from labelwise.beliefs.kernels import KERNELS
from labelwise.campaign.arrays import Arrays, shuffled
from labelwise.errors import InvalidInput, NumericalError
from labelwise.estimands.base import AbstractQuadraticEstimand
from labelwise.estimands.moments import Moments, exact_moments, sampled_values
from labelwise.estimands.registry import Entry, find_estimand
from labelwise.inputs import as_count
from labelwise.lookahead.outlook import in_blocks
from labelwise.policies.base import AbstractPolicy
from labelwise.types import Batch, Pool

PAD = 128  # labelled rows come in multiples of this
PAD_PENDING = 16
FIT_ROWS = 600  # hyper-parameters are fitted to at most this many labels
MANY_LABELS = 200  # with more than this, one start of the fit is enough
KNOWN_ROWS = 4000  # the belief is conditioned on at most this many initial labels
FEW_FEATURES = 60  # up to here every feature has its own length scale
DRAWS = 5000  # of the estimand, for quantiles


@dataclass(frozen=True)
class Known:
    """Labels at hand, and rows that are out; rows are positions in the pool."""

    rows: tuple[int, ...]  # sorted: the order in which labels came does not matter
    labels: tuple[float, ...]
    pending: tuple[int, ...]  # in the order asked
    closed: tuple[int, ...]  # rows that must not be asked: labelled, pending, skipped


@dataclass(frozen=True)
class Analysis:
    """A belief given all labels, and what it says."""

    arrays: Arrays
    known: Known
    prior: dict[str, Any]  # as fitted, with what tells whether to trust it
    belief: GaussianProcess
    entry: Entry

    @staticmethod
    def of(
        arrays: Arrays,
        known: Known,
        estimand: str,
        belief: Mapping[str, Any],
        seed: int,
        fitted: Mapping[str, Any] | None = None,
    ) -> "Analysis":
        """Fit (unless `fitted` is a fit of the same labels) and condition."""
        prior = dict(fitted) if fitted else fit_prior(arrays, known, belief, seed)
        posterior = _condition(build_prior(prior), *_padded(*_known_rows(arrays, known, seed)))
        if not np.isfinite(np.asarray(posterior.seen.factor)).all():
            raise NumericalError(
                "The belief broke down: labels contradict it to rounding; drop repeated rows "
                "or choose another kernel."
            )
        return Analysis(arrays, known, prior, posterior, find_estimand(estimand))

    @cached_property
    def estimand(self) -> AbstractQuadraticEstimand:
        """On the target rows that stand for all."""
        some = lambda values: None if values is None else values[self._thin]
        mass = None if self.arrays.thin is not None else self.arrays.mass
        return self.entry.build(
            self.arrays.target[self._thin], some(self.arrays.prediction), mass
        )

    @property
    def _thin(self) -> Any:
        return slice(None) if self.arrays.thin is None else self.arrays.thin

    @cached_property
    def pool(self) -> Pool:
        return self.pool_with(self.known.pending, PAD_PENDING)

    def pool_with(self, pending: Sequence[int], multiple: int) -> Pool:
        """The pool with these rows out; places for them come in multiples."""
        available = np.ones(len(self.arrays.pool), bool)
        available[[*self.known.closed, *pending]] = False
        places = np.full(-(-len(pending) // multiple) * multiple, -1)
        places[: len(pending)] = pending
        return Pool(self._pool_x, available, places)

    @cached_property
    def _pool_x(self) -> jax.Array:
        return jnp.asarray(self.arrays.pool)

    @cached_property
    def moments(self) -> Moments:
        """Mean over the whole target, variance from the rows that stand for it."""
        thin = self._thin_moments
        if not np.isfinite(float(thin.variance)):
            raise NumericalError(
                "The belief broke down: the estimate is not finite; bring labels and features "
                "to ordinary scales."
            )
        if self.arrays.thin is None:
            return thin
        whole = self.entry.build(self.arrays.target, self.arrays.prediction, self.arrays.mass)
        return Moments(_mean_over(self.belief, whole), thin.variance)

    @cached_property
    def _thin_moments(self) -> Moments:
        return exact_moments(self.belief, self.estimand)

    @cached_property
    def draws(self) -> np.ndarray:
        """Draws of the estimand, moved to the mean over the whole target."""
        values = np.asarray(
            sampled_values(jax.random.key(0), self.belief, self.estimand, DRAWS)
        )
        return values + (float(self.moments.mean) - float(self._thin_moments.mean))

    def propose(self, policy: AbstractPolicy, seed: int, round_: int, k: int) -> Batch:
        """The next batch; every random choice comes from (seed, round)."""
        return policy.propose(round_key(seed, round_), self.belief, self.estimand, self.pool, k)

    def predict(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the labels of some pool rows."""
        x = self._pool_x[np.asarray(rows)]
        mean, covariance = _label_moments(self.belief, x)
        return np.asarray(mean), np.asarray(covariance)


def round_key(seed: int, round_: int) -> jax.Array:
    """The key of one round."""
    return jax.random.fold_in(jax.random.key(seed), round_)


def check_belief(belief: Any, features: int) -> dict[str, Any]:
    """A belief's settings from a name, options, or a Gaussian process whose numbers stay."""
    if isinstance(belief, GaussianProcess):
        return {"name": "gp", "fixed": _check_fixed(belief, features)}
    options = {"name": belief} if isinstance(belief, str) else belief
    if not isinstance(options, Mapping) or options.get("name", "gp") != "gp":
        raise InvalidInput(
            f"There is no belief {belief!r}; use 'gp', its options, or a GaussianProcess."
        )
    found = {"name": "gp", "kernel": "matern52", "starts": 2, **options}
    strange = sorted(set(found) - {"name", "kernel", "starts"})
    if strange:
        raise InvalidInput(f"The belief has no option {strange[0]!r}; it has kernel, starts.")
    if found["kernel"] not in KERNELS:
        raise InvalidInput(
            f"kernel must be one of {', '.join(KERNELS)}; it is {found['kernel']!r}."
        )
    return found | {"starts": as_count("starts", found["starts"])}


def _check_fixed(belief: GaussianProcess, features: int) -> dict[str, Any]:
    scales = np.size(np.asarray(belief.kernel.length_scale))
    if belief.seen is not None:
        raise InvalidInput(
            "The belief has seen labels already; give the prior, and the labels as tables."
        )
    if scales not in (1, features):
        raise InvalidInput(
            f"The belief has {scales} length scales but the tables give {features} features; "
            "give one, or one a feature."
        )
    return describe_prior(belief)


def fit_prior(
    arrays: Arrays, known: Known, belief: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Hyper-parameters as the belief's settings say: given, or fitted to the labels."""
    if "fixed" in belief:
        return {**belief["fixed"], "fitted": False, "at_bound": [], "fit_rows": 0}
    x, y = _known_rows(arrays, known, seed, FIT_ROWS)
    if len(y) < 2:
        raise InvalidInput(
            f"Fitting needs at least 2 labelled rows; there are {len(y)}: give more, or a "
            "belief with fixed hyper-parameters."
        )
    column = arrays.predictor_column
    fit = fit_gaussian_process(
        x,
        y,
        kernel=belief["kernel"],
        mean="constant" if column is None else "predictor",
        predictor_column=column,
        per_feature=arrays.features <= FEW_FEATURES,
        spread=arrays.spread,
        starts=belief["starts"] if len(y) <= MANY_LABELS else 1,
        seed=seed,
    )
    return {
        **describe_prior(fit.belief),
        "fitted": True,
        "at_bound": list(fit.at_bound),
        "fit_rows": len(y),
        "log_evidence": fit.log_evidence,
    }


def _known_rows(arrays: Arrays, known: Known, seed: int, most: int | None = None):
    """Initial labels, then bought ones by row; of too many initial ones, a fixed sample."""
    bought = len(known.rows)
    room = KNOWN_ROWS if most is None else max(most - bought, most // 2)
    x, y = arrays.labelled, arrays.labels
    if len(y) > room:
        kept = np.sort(shuffled(np.column_stack([x, y]), seed)[:room])
        x, y = x[kept], y[kept]
    rows, labels = np.asarray(known.rows, int), np.asarray(known.labels, float)
    if most is not None and bought > most - len(y):
        kept = np.sort(shuffled(arrays.pool[rows], seed)[: most - len(y)])
        rows, labels = rows[kept], labels[kept]
    return np.concatenate([x, arrays.pool[rows]]), np.concatenate([y, labels])


def _padded(x: np.ndarray, y: np.ndarray):
    extra = -len(y) % PAD
    weight = np.arange(len(y) + extra) < len(y)
    x = np.pad(x, ((0, extra), (0, 0)), mode="edge")
    return jnp.asarray(x), jnp.asarray(np.pad(y, (0, extra))), jnp.asarray(weight, float)


@eqx.filter_jit
def _condition(prior, x, y, weight):
    return prior.condition(x, y, weight)


@eqx.filter_jit
def _label_moments(belief, x):
    rows = belief.embed(x)
    covariance = belief.covariance_at(rows, rows)
    return belief.mean_at(rows), covariance + belief.noise * jnp.eye(x.shape[0])


@eqx.filter_jit
def _mean_over(belief, estimand):
    """The estimand's mean from the mean and variance of each target row alone."""

    def of_block(x):
        rows = belief.embed(x)
        return belief.mean_at(rows), belief.variance_at(rows)

    mean, variance = in_blocks(of_block, estimand.x)
    expansion = estimand.expand(mean, belief.labels)
    return expansion.value + expansion.curvature @ variance
