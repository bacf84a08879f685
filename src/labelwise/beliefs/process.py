"""What Gaussian-process beliefs share: a function known through plain noisy readings.

Rows seen are kept with the Cholesky factor L of the covariance of their readings and the
whitened residuals z = L⁻¹ residual; means, covariances and draws follow from these alone.
How labels become readings is each belief's own matter.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

from labelwise.beliefs.base import AbstractEmbedding, AbstractLatentBelief
from labelwise.beliefs.kernels import AbstractKernel
from labelwise.beliefs.labelled import Labelled
from labelwise.beliefs.means import AbstractMean, PredictorMean
from labelwise.errors import InvalidInput
from labelwise.inputs import as_matrix, check_same_features
from labelwise.numerics import add_diagonal, cholesky, solve_lower, symmetrise

NUGGET = 1e-12  # share of the prior variance added before a root is taken for draws


class Seen(eqx.Module):
    """Labelled rows, in the form that predictions and further labels need."""

    features: Float[Array, "labelled features"]
    gain: Float[Array, " labelled"]
    factor: Float[Array, "labelled labelled"]  # L, lower Cholesky factor of the readings
    residual: Float[Array, " labelled"]  # L⁻¹ (readings - their prior mean)


class Embedding(AbstractEmbedding):
    """Rows with their whitened covariances to the labelled rows."""

    features: Float[Array, "n features"]  # by which the kernel compares rows
    prior_mean: Float[Array, " n"]
    whitened: Float[Array, "n labelled"]  # row i is L⁻¹ (gain ⊙ k(seen, x_i))

    @property
    def size(self) -> int:
        return self.prior_mean.shape[0]

    def take(self, indices) -> "Embedding":
        return jax.tree.map(lambda leaf: leaf[indices], self)


class AbstractProcess(AbstractLatentBelief[Embedding]):
    """f ~ GP(prior_mean, kernel), given the readings seen."""

    kernel: eqx.AbstractVar[AbstractKernel]
    prior_mean: eqx.AbstractVar[AbstractMean]
    seen: eqx.AbstractVar[Seen | None]
    # log p(labels seen), each label in the share of its weight; 0 before any.
    log_evidence: eqx.AbstractVar[Scalar]

    def sample(self, key, x, draws):
        embedded = self.embed(x)
        covariance = symmetrise(self.covariance_at(embedded, embedded))
        # Rows that labels have pinned down have no variance left but rounding, of either sign.
        nugget = NUGGET * self.prior_variance_at(embedded)
        root = cholesky(add_diagonal(covariance, nugget))
        normal = jax.random.normal(key, (draws, embedded.size))
        return self.mean_at(embedded)[None, :] + normal @ root.T

    def embed(self, x: Any) -> Embedding:
        x = as_matrix("x", x)
        self.check_features("x", x)
        features, mean = self.kernel.features(x), self.prior_mean(x)
        if self.seen is None:
            return Embedding(features, mean, jnp.zeros((x.shape[0], 0)))
        labelled = self.seen.features.shape[1]
        check_same_features("x", features, "the belief's labelled set", labelled)
        to_seen = self.seen.gain[:, None] * self.kernel(self.seen.features, features)
        return Embedding(features, mean, solve_lower(self.seen.factor, to_seen).T)

    def mean_at(self, rows):
        return rows.prior_mean + self.shift_at(rows)

    def shift_at(self, rows):
        """How far labels have moved the mean: posterior minus prior mean."""
        if self.seen is None:
            return jnp.zeros(rows.size)
        return rows.whitened @ self.seen.residual

    def variance_at(self, rows):
        left = self.kernel.diagonal(rows.features) - jnp.sum(rows.whitened**2, axis=1)
        return jnp.maximum(left, 0.0)  # rounding can leave it just below

    def prior_variance_at(self, rows):
        return self.kernel.diagonal(rows.features)

    def covariance_at(self, rows, other):
        prior = self.kernel(rows.features, other.features)
        return prior - rows.whitened @ other.whitened.T

    def as_labelled(self, x: Any, y: Any, weight: Any) -> Labelled:
        """Rows, labels and weights as arrays, if the belief can learn from them."""
        labelled = Labelled.of(x, y, weight, self.likelihood)
        self.check_features("x", labelled.x)
        return labelled

    def check_features(self, name: str, x: Float[Array, "n dim"]) -> None:
        """Refuse rows with other columns than the kernel or the mean have."""
        self.kernel.check(name, x)
        mean, features = self.prior_mean, x.shape[1]
        if isinstance(mean, PredictorMean) and not -features <= mean.column < features:
            raise InvalidInput(
                f"The mean reads the predictor from column {mean.column} but {name} has "
                f"{features} features",
                "columns are numbered from 0",
                where="mean column",
            )
