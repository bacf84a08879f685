"""One answer from two: the belief's, and that of the rows that chance drew.

If the belief is right, nothing that labels say can tell its error: what drawn rows add is then
noise. If it is not, drawn rows tell by how much. So let θ be the truth, and

    θ = belief's answer + δ + error        the error as the belief has it, δ the belief's bias
    drawn rows' answer - belief's ~ δ + noise

A priori δ is of Student's law around 0, on the scale `BIAS` times the belief's own spread:
mostly small, now and then large. And one belief in fifty is altogether wrong: then δ may be
anything that a single draw's estimate may be. Given how far the answers are apart, δ has a
posterior by Bayes' rule, and θ is its sum with the error. Where the answers agree within
chance that is nearly the belief's; where they do not, and as draws grow whatever the belief,
it is the drawn rows'. docs/mathematics.md derives it.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.special

from labelwise.estimands.metrics import Bounds
from labelwise.evaluation.answer import COMBINED, GRID, LEVELS, Answer

BIAS = 0.25  # scale of the belief's bias, in units of its spread
TAILS = 3.0  # degrees of freedom of its law
BROKEN = 0.02  # share of beliefs that are altogether wrong
# The answers' difference has the variance of drawn rows less that of the belief, at least ...
LEAST = 0.25  # ... this share of the former
REACH = 12.0  # standard deviations that the posterior of the bias is looked at
NODES, VALUES = 201, 401  # of the bias, and of the sum


def combine(belief: Answer, drawn: Answer, bounds: Bounds) -> Answer:
    """The combined answer; what is said of the draws is kept."""
    quantiles = _combined(belief, drawn.value, drawn.std, drawn.draws)
    always = {}
    for level in LEVELS:
        ends = drawn.anytime_at.get(f"{level:g}")
        if ends is not None and np.isfinite(ends).all():
            always[f"{level:g}"] = _anytime(belief, drawn, ends, level, quantiles, bounds)
    low, middle, high = np.interp([0.15866, 0.5, 0.84134], GRID, quantiles)
    cut = tuple(float(value) for value in np.clip(quantiles, *bounds))
    return replace(
        drawn,
        value=float(np.clip(middle, *bounds)),
        std=float(high - low) / 2.0,
        quantiles=cut,
        rests_on=COMBINED,
        anytime=always.get("0.9"),
        anytime_at={level: list(ends) for level, ends in always.items()},
    )


def _anytime(
    belief: Answer, drawn: Answer, ends, level: float, usual: np.ndarray, bounds: Bounds
):
    """With the draws' noise as large as their any-time interval allows for.

    The belief's own answer does not depend on when one looks.
    """
    reach = scipy.special.ndtri(0.5 + level / 2.0)
    spread = (ends[1] - ends[0]) / (2.0 * reach)
    quantiles = _combined(belief, drawn.value, max(spread, drawn.std), drawn.draws)
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    # Noisier draws move the answer less: the usual interval is a part of this one.
    low, high = np.array([np.interp(tails, GRID, each) for each in (quantiles, usual)]).T
    return tuple(np.clip([low.min(), high.max()], *bounds).tolist())


def _combined(belief: Answer, value: float, std: float, draws: int) -> np.ndarray:
    """Quantiles of the sum of the bias, given the drawn rows, and the belief's error."""
    low, middle, high = np.interp([0.15866, 0.5, 0.84134], GRID, belief.quantiles)
    own = (high - low) / 2.0
    if own <= 0.0 or std <= 0.0:  # all labels are known, or none differ
        return np.full(len(GRID), value if std <= 0.0 else middle)
    noise = math.sqrt(max(std**2 - own**2, LEAST * std**2))
    bias = _Bias(BIAS * own, std * math.sqrt(max(draws, 1)))
    nodes, weight = bias.given(value - middle, noise, max(draws - 1.0, 1.0))
    return _quantiles_of_sum(np.asarray(belief.quantiles), nodes, weight)


class _Bias(NamedTuple):
    """The law of the belief's bias."""

    scale: float  # where the belief is roughly right
    wide: float  # and where it is altogether wrong

    def density(self, bias: np.ndarray) -> np.ndarray:
        usual = _student(bias / self.scale, TAILS) / self.scale
        normal = np.exp(-0.5 * (bias / self.wide) ** 2) / (self.wide * math.sqrt(2.0 * math.pi))
        return (1.0 - BROKEN) * usual + BROKEN * normal

    def given(
        self, apart: float, noise: float, degrees: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights of the bias, where the answers are so far apart."""
        # Fine steps around 0 and around the distance, where the law has its peaks.
        steps = np.linspace(-1.0, 1.0, NODES)
        reach = REACH * max(self.scale, noise) + abs(apart)
        near = self.scale * np.sinh(steps * np.arcsinh(reach / self.scale))
        nodes = np.union1d(near, apart + REACH * noise * steps)
        seen = _student((apart - nodes) / noise, degrees)
        weight = self.density(nodes) * seen * np.gradient(nodes)
        return nodes, weight / weight.sum()


def _student(values: np.ndarray, degrees: float) -> np.ndarray:
    """The density of Student's law."""
    log = scipy.special.gammaln((degrees + 1.0) / 2.0) - scipy.special.gammaln(degrees / 2.0)
    log = log - (degrees + 1.0) / 2.0 * np.log1p(values**2 / degrees)
    return np.exp(log) / math.sqrt(degrees * math.pi)


def _quantiles_of_sum(
    quantiles: np.ndarray, bias: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Of a number with these quantiles at GRID plus an independent bias."""
    width = quantiles[-1] - quantiles[0]
    low, high = bias @ weight + np.array([quantiles[0], quantiles[-1]])
    spread = math.sqrt(weight @ (bias - bias @ weight) ** 2)
    values = np.linspace(low - width - 8.0 * spread, high + width + 8.0 * spread, VALUES)
    chances = _distribution(values[:, None] - bias[None, :], quantiles) @ weight
    return np.interp(GRID, chances, values)


def _distribution(values: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """P(X ≤ value) from quantiles at GRID; beyond them it falls off as a normal law does."""
    inside = np.interp(values, quantiles, GRID)
    centre = quantiles[len(quantiles) // 2]
    reach = -scipy.special.ndtri(GRID[0])
    below = reach * (values - centre) / max(centre - quantiles[0], 1e-300)
    above = reach * (values - centre) / max(quantiles[-1] - centre, 1e-300)
    outside = scipy.special.ndtr(np.where(values < centre, below, above))
    return np.where((values < quantiles[0]) | (values > quantiles[-1]), outside, inside)
