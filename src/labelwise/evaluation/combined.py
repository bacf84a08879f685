"""One answer from two: the belief's, and that of the rows that chance drew.

If the belief is right, nothing that labels say can tell its error: what drawn rows add is then
noise. If it is not, drawn rows tell by how much. So let θ be the truth, and

    θ = belief's answer + δ + error        the error as the belief has it, δ the belief's bias
    drawn rows' answer - belief's ~ δ + noise

A priori δ is of Student's law around 0, mostly small, now and then large. Its scale has two
parts: one is a multiple of the belief's own spread and shrinks with it, the other, a small part
of what a single draw's estimate is off by, stays however many labels there are: what a belief
supposes wrongly does not go away with labels. And one belief in fifty is altogether wrong: then
δ may be anything that a single draw's estimate may be. Given how far the answers are apart, δ
has a posterior by Bayes' rule, and θ is its sum with the error. Where the answers agree within
chance that is nearly the belief's; where they do not, and as draws grow whatever the belief, it
is the drawn rows'.
docs/mathematics.md derives it.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from labelwise.estimands.metrics import Bounds
from labelwise.evaluation.answer import COMBINED, GRID, LEVELS, Answer


class BiasScale(NamedTuple):
    """How far beliefs are off beyond their own spread."""

    own: float  # in units of that spread, which labels shrink
    lasting: float  # in units of a single draw's, however many labels there are

    def at(self, own: float, single: float) -> float:
        """Where these spreads are so large."""
        return math.hypot(self.own * own, self.lasting * single)


# Those of the smallest interval score in the corpus' campaigns (`python -m experiments
# calibration`).
BIAS_OF_CLASSES, BIAS_OF_NUMBERS = BiasScale(0.15, 0.015), BiasScale(0.45, 0.015)
TAILS = 3.0  # degrees of freedom of its law
BROKEN = 0.02  # share of beliefs that are altogether wrong
# The answers' difference has the variance of drawn rows less that of the belief, at least ...
LEAST = 0.25  # ... this share of the former
REACH = 12.0  # standard deviations that the posterior of the bias is looked at
NODES, VALUES = 101, 151  # of the bias, and of the sum
FAR = 3.5  # sinh of it: spreads of the sum that are looked at


def combine(
    belief: Answer, drawn: Answer, bounds: Bounds, *, numbers: bool, more: float
) -> Answer:
    """The combined answer, about labels that are numbers or classes.

    There are so many times `more` labels now than at the start. What is said of the draws is
    kept.
    """
    scale = scale_of(numbers)
    quantiles = combined_quantiles(belief, drawn, scale)
    always = {}
    for level in LEVELS:
        ends = drawn.anytime_at.get(f"{level:g}")
        if ends is not None and np.isfinite(ends).all():
            wider = _belief_at_every_look(belief, level, more)
            noisier = _draws_at_every_look(drawn, ends, level)
            both = quantiles, combined_quantiles(wider, noisier, scale)
            always[f"{level:g}"] = _widest(both, level, bounds)
    low, middle, high = np.interp([0.15866, 0.5, 0.84134], GRID, quantiles)
    cut = tuple(float(value) for value in np.clip(quantiles, *bounds))
    return replace(
        drawn,
        value=float(np.clip(middle, *bounds)),
        std=float(high - low) / 2.0,
        quantiles=cut,
        rests_on=COMBINED,
        beyond=0.0,
        anytime=always.get("0.9"),
        anytime_at={level: list(ends) for level, ends in always.items()},
    )


def scale_of(numbers: bool) -> BiasScale:
    """Of the belief's bias, about labels that are numbers or classes."""
    return BIAS_OF_NUMBERS if numbers else BIAS_OF_CLASSES


def _belief_at_every_look(belief: Answer, level: float, more: float) -> Answer:
    """The belief's answer as wide as whoever looks again and again must take it for.

    If the belief is right, its density at the truth, at first over now, is a martingale of
    mean 1: it exceeds 1 / α at some look in a share α of campaigns at most [1]. Of normal laws,
    (θ - b)² / s² is in all others at most log(1 / α²) + log(s₀² / s²) + (θ - b₀)² / s₀² at
    every look; s₀² / s² is taken for that of labels, and the last term for 1, its mean.

    [1] Waudby-Smith, Ramdas (2020), Confidence sequences for sampling without replacement.
    """
    squared = math.log(max(more, 1.0)) - 2.0 * math.log1p(-level) + 1.0
    factor = math.sqrt(squared) / scipy.special.ndtri(0.5 + level / 2.0)
    quantiles = np.asarray(belief.quantiles)
    middle = np.interp(0.5, GRID, quantiles)
    wide = middle + factor * (quantiles - middle)
    return replace(belief, std=factor * belief.std, quantiles=tuple(wide.tolist()))


def _draws_at_every_look(drawn: Answer, ends: Any, level: float) -> Answer:
    """The draws' answer with noise as large as its any-time interval allows for."""
    reach = scipy.special.ndtri(0.5 + level / 2.0)
    # The further end: the other may be cut by the estimand's range.
    far = max(ends[1] - drawn.value, drawn.value - ends[0])
    return replace(drawn, std=max(far / reach, drawn.std))


def _widest(each: Any, level: float, bounds: Bounds) -> tuple[float, float]:
    """Noisier draws move the answer less: the usual interval is a part of the any-time one."""
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = np.array([np.interp(tails, GRID, quantiles) for quantiles in each]).T
    return tuple(np.clip([low.min(), high.max()], *bounds).tolist())


def combined_quantiles(belief: Answer, drawn: Answer, scale: BiasScale) -> np.ndarray:
    """Of the sum of the bias, given the drawn rows, and the belief's error."""
    low, middle, high = np.interp([0.15866, 0.5, 0.84134], GRID, belief.quantiles)
    own, std = (high - low) / 2.0, drawn.std
    if own <= 0.0 or std <= 0.0:  # all labels are known, or none differ
        return np.full(len(GRID), drawn.value if std <= 0.0 else middle)
    noise = math.sqrt(max(std**2 - own**2, LEAST * std**2))
    single = std * math.sqrt(max(drawn.draws, 1))
    bias = _Bias(scale.at(own, single), single)
    apart = drawn.value + drawn.beyond - middle
    nodes, weight = bias.given(apart, noise, max(drawn.draws - 1.0, 1.0))
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
        reach = REACH * max(self.scale, noise) + abs(apart)
        around = lambda centre, scale: (
            centre + scale * np.sinh(np.linspace(-1.0, 1.0, NODES) * np.arcsinh(reach / scale))
        )
        nodes = np.union1d(around(0.0, self.scale), around(apart, noise))
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
    centre, width = quantiles[len(quantiles) // 2], quantiles[-1] - quantiles[0]
    mean = bias @ weight
    spread = math.sqrt(weight @ (bias - mean) ** 2 + (width / 5.0) ** 2)
    # Fine steps in the middle, and as far as either law reaches.
    values = mean + centre + spread * np.sinh(np.linspace(-FAR, FAR, VALUES))
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
