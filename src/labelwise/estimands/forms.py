"""What a belief is asked for: the estimand that a metric's terms amount to, given the function.

Labels enter by their law given a draw of the function, so that no label noise is added. The
mean of a term is then

- of 0/1 labels linear in the chance p of a 1: Σ mass_i (t_i(0) + p_i (t_i(1) - t_i(0)));
- of terms that are polynomials of degree 2 in the label, a polynomial in its mean, plus its
  variance times the curvature; exact under a Gaussian belief;
- else in closed form where the metric has one, or an integral over the label.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Scalar

from labelwise.errors import InvalidInput
from labelwise.estimands.base import (
    AbstractEstimand,
    LinearEstimand,
    QuadraticEstimand,
)
from labelwise.estimands.effect import AverageTreatmentEffect
from labelwise.estimands.metrics import Metric
from labelwise.estimands.quadrature import normal_labels, possible_labels
from labelwise.estimands.target import as_prediction, as_probability, as_target
from labelwise.inputs import as_jax, as_scalar, is_traced

ROWS = 32  # that are integrated over at a time


def build_estimand(
    metric: Metric,
    x: Any,
    predictor: Any = None,
    threshold: Any = None,
    mass: Any = None,
    where: Any = None,
    treatment: Any = None,
) -> AbstractEstimand:
    """The estimand of a metric on target rows `x`; of an effect, of the `treatment` column."""
    if metric.is_effect:
        return AverageTreatmentEffect(x, treatment, mass, where)
    rows, shares = as_target(x, mass, where)
    prediction = cut = None
    if metric.needs == "prediction":
        read = as_probability if metric.probability else as_prediction
        prediction = read(predictor, x)
    if metric.option is not None:
        cut = as_scalar(metric.option, 0.5 if threshold is None else threshold)
    if metric.functional is not None:
        return FunctionalEstimand(rows, shares, jnp.asarray(prediction), metric)
    given = TermsEstimand(rows, shares, prediction, cut, metric)
    if metric.labels == "binary" and (metric.kind == "mean" or metric.known_whole):
        return _in_chances(given)
    if metric.kind == "mean" and metric.degree is not None:
        return _as_polynomial(given)
    return given


class TermsEstimand(AbstractEstimand):
    """A metric's own form: its terms' means given the function, combined.

    Metrics of 0/1 labels take a belief that is not about chances for one that is: what it says
    below 0 and above 1 is cut off. The share of nobody is 0.
    """

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]
    prediction: Float[Array, "target ..."] | None
    threshold: Scalar | None
    metric: Metric = eqx.field(static=True)

    def value(self, f, likelihood):
        means = self.expected_terms(f, likelihood) @ self.mass
        if self.metric.kind != "ratio":
            return self.metric.combine(means)
        none = means[1] < 1e-12
        return jnp.where(none, 0.0, means[0] / jnp.where(none, 1.0, means[1]))

    def expected_terms(self, f: Any, likelihood: Any) -> Float[Array, "terms target"]:
        """What each row's terms are expected to be, given the function."""
        metric, prediction = self.metric, self.prediction
        if metric.labels == "binary":
            chance = jnp.clip(likelihood.mean(f), 0.0, 1.0)
            at = lambda y: metric.stack(jnp.full_like(chance, y), prediction, self.threshold)
            return at(0.0) + chance[None, :] * (at(1.0) - at(0.0))
        if metric.expected is not None:
            return metric.expected(likelihood, f, prediction)[None, :]
        if metric.degree is not None:
            return self._by_polynomial(likelihood.mean(f), likelihood.variance(f))
        if likelihood.support is None and not isinstance(metric.labels, int):
            return self._integrated(likelihood.mean(f), jnp.sqrt(likelihood.variance(f)))
        chance = self._chances(f, likelihood)
        y = possible_labels(likelihood, chance)
        own = prediction
        if prediction is not None and prediction.ndim == 1:
            own = prediction[:, None]  # the same for all labels that a row may have
        return jnp.sum(metric.stack(y, own, self.threshold) * chance[None], axis=2)

    def _chances(self, f: Any, likelihood: Any) -> Float[Array, "target labels"]:
        chances, classes = chances_of(likelihood, f), self.metric.labels
        if isinstance(classes, int) and chances.shape[-1] != classes:
            raise InvalidInput(
                f"The belief is about {chances.shape[-1]} classes but the estimand about "
                f"{classes}",
                "give both the same",
                where="estimand",
            )
        return chances

    def _integrated(self, mean, spread):
        """Over normal labels, some rows at a time: all of all draws would fill gigabytes."""

        @jax.checkpoint
        def of_row(row):
            mean, spread, *prediction = row
            breaks = self.metric.breaks_of(prediction, self.threshold)
            y, chance = normal_labels(mean, spread, breaks)
            own = prediction[0] if prediction else None
            return jnp.sum(self.metric.stack(y, own, self.threshold) * chance[None], axis=1)

        rows = (mean, spread, *jax.tree.leaves(self.prediction))
        return jax.lax.map(of_row, rows, batch_size=ROWS).T

    def _by_polynomial(self, mean, variance):
        prediction = self.prediction
        if self.metric.invariance == "shift" and prediction is not None:
            # Around their mean, so that a small variance of large labels is not lost.
            pivot = jax.lax.stop_gradient(self.mass @ mean)
            mean, prediction = mean - pivot, prediction - pivot
        terms = polynomial(self.metric, jnp.zeros_like(mean), prediction, self.threshold)
        return terms.mean(mean, variance)


class FunctionalEstimand(AbstractEstimand):
    """A number of all labels together, given the function; see `functional`."""

    x: Float[Array, "target dim"]
    mass: Float[Array, " target"]
    prediction: Float[Array, " target"]
    metric: Metric = eqx.field(static=True)

    def value(self, f, likelihood):
        functional = self.metric.functional
        assert functional is not None
        return functional.expected(f, likelihood, self.mass, self.prediction)


def chances_of(
    likelihood: Any, f: Float[Array, "target ..."]
) -> Float[Array, "target classes"]:
    """The chance of each class at each row."""
    if likelihood.support is None:
        raise InvalidInput(
            "Metrics of classes need a belief about classes",
            "give it labels='binary', or how many classes there are",
            where="belief",
        )
    return likelihood.chances(f)


class Polynomial(NamedTuple):
    """Terms as constant + slope·d + curvature·d², d the label minus a centre."""

    centre: Any  # n
    constant: Any  # terms × n
    slope: Any
    curvature: Any

    def mean(self, mean: Any, variance: Any) -> Any:
        """The expected terms of labels with this mean and variance."""
        away = (mean - self.centre)[None, :]
        squares = away**2 + variance[None, :]
        return self.constant + self.slope * away + self.curvature * squares


def polynomial(metric: Metric, centre: Any, prediction: Any, threshold: Any) -> Polynomial:
    """The coefficients, from the terms at three labels around the centre."""
    xp = centre.__array_namespace__()
    # As large as the centre, so that the three differ in digits that numbers have.
    step = xp.exp2(xp.round(xp.log2(xp.maximum(abs(centre), 1.0))))
    at = lambda y: metric.stack(y, prediction, threshold)
    below, middle, above = at(centre - step), at(centre), at(centre + step)
    slope = (above - below) / (2.0 * step[None, :])
    curvature = ((above - middle) + (below - middle)) / (2.0 * step[None, :] ** 2)
    return Polynomial(centre, middle, slope, curvature)


def around_prediction(metric: Metric, like: Any, prediction: Any, threshold: Any) -> Polynomial:
    """The coefficients around the prediction (of two, around the first), or around 0.

    Where only label minus prediction counts, they are computed at a prediction of 0, and exact.
    """
    pair = isinstance(prediction, tuple)
    first = prediction[0] if pair else prediction
    if first is None:
        return polynomial(metric, 0.0 * like, None, threshold)
    if metric.invariance != "row":
        return polynomial(metric, 1.0 * first, prediction, threshold)
    moved = tuple(model - first for model in prediction) if pair else 0.0 * first
    return polynomial(metric, 0.0 * first, moved, threshold)._replace(centre=first)


def _plain(given: TermsEstimand) -> tuple[Any, Any, Any]:
    """Mass, predictions and threshold as numpy's, which compiles nothing, unless traced."""
    parts = given.mass, given.prediction, given.threshold
    if is_traced(*parts):
        return parts
    mass, prediction, threshold = (None if p is None else np.asarray(p) for p in parts)
    return mass, prediction, threshold


def _jax(*values: Any) -> list[Any]:
    return [v if is_traced(v) else as_jax(np.asarray(v, float)) for v in values]


def _in_chances(given: TermsEstimand) -> AbstractEstimand:
    """A metric that is linear in the chances of a 1: a mean, or a ratio to what is known."""
    mass, prediction, threshold = _plain(given)
    at = lambda label: given.metric.stack(0.0 * mass + label, prediction, threshold)
    zero, one = at(0.0), at(1.0)
    offset, slope = zero @ mass, (one - zero) * mass[None, :]
    if given.metric.kind == "mean":
        return LinearEstimand(given.x, given.mass, *_jax(slope[0], offset[0]))
    if not is_traced(offset) and not offset[1] > 0.0:
        raise InvalidInput(
            f"No target row reaches the threshold {float(threshold):g}, so "
            f"{given.metric.title} is not defined",
            "lower the threshold",
            where="threshold",
        )
    return LinearEstimand(
        given.x, given.mass, *_jax(slope[0] / offset[1], offset[0] / offset[1])
    )


def _as_polynomial(given: TermsEstimand) -> AbstractEstimand:
    """A mean whose terms are polynomials of the label."""
    mass, prediction, threshold = _plain(given)
    terms = around_prediction(given.metric, mass, prediction, threshold)
    constant, slope = terms.constant[0] @ mass, terms.slope[0] * mass
    if given.metric.degree == 1:
        offset = constant - slope @ terms.centre
        return LinearEstimand(given.x, given.mass, *_jax(slope, offset))
    curvature = terms.curvature[0] * mass
    return QuadraticEstimand(
        given.x, given.mass, *_jax(terms.centre, constant, slope, curvature)
    )
