"""Closed forms for the two toy problems in which the paper compares its gradient estimators.

Binary: A = -1 with probability θ, else 1; G(A) = A; the gradient of E[G] in θ is -2.
General: A = a_i with probability θ_i/Θ, Θ = Σ θ_j; the gradient is taken in θ_i alone.
Each estimator's mean and variance are those of a single sample: with N of them the mean squared
error is bias² + variance/N.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 7, app. C.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit


class Error(NamedTuple):
    """Of an estimator with one sample: how far its mean is off, and how it varies."""

    bias: float
    variance: float
    draws: np.ndarray | None = None  # errors that it was found from, if by drawing

    @staticmethod
    def of_draws(errors: np.ndarray) -> "Error":
        return Error(float(errors.mean()), float(errors.var()), errors)

    def mse(self, samples: int) -> float:
        return self.bias**2 + self.variance / samples

    def doubt(self, samples: int) -> float:
        """Standard error of that, to first order in the moments of the draws."""
        if self.draws is None:
            return 0.0
        away = self.draws - self.bias
        each = 2.0 * self.bias * away + (away**2 - self.variance) / samples
        return float(each.std() / np.sqrt(len(each)))


BINARY_GRADIENT = -2.0


def binary_score(theta: float) -> Error:
    """Of REINFORCE [1, eqn. mse-rf-bin]."""
    return Error(0.0, 1.0 / (theta * (1.0 - theta)) - 4.0)


def binary_score_with_mean(theta: float) -> Error:
    """Of REINFORCE less the mean cost, what a leave-one-out baseline tends to."""
    low, high = -2.0 * (1.0 - theta) / theta, -2.0 * theta / (1.0 - theta)
    return Error(0.0, theta * low**2 + (1.0 - theta) * high**2 - 4.0)


def binary_smooth(theta: float, tau: float) -> Error:
    """Of the smoothed gradient, by the integrals of sech² and sech⁴."""
    top, bottom = np.tanh((1.0 - theta) / (2.0 * tau)), np.tanh(-theta / (2.0 * tau))
    mean = bottom - top
    square = ((top - top**3 / 3.0) - (bottom - bottom**3 / 3.0)) / (2.0 * tau)
    return Error(mean - BINARY_GRADIENT, square - mean**2)


def printed_bias(theta: float, tau: float) -> float:
    """|Bias| as printed [1, eqn. mse-bias-bin]."""
    return 2.0 * (1.0 + expit(-(1.0 - theta) / tau) - expit(theta / tau))


def printed_bound(theta: float, tau: float, samples: int) -> float:
    """v_N(τ) as printed [1, appendix C]: bias² + second moment / N."""
    part = lambda rise: (3.0 * rise + 1.0) / (6.0 * (rise + 1.0) ** 3)
    ends = np.exp(np.minimum([-theta / tau, (1.0 - theta) / tau], 100.0))
    square = 4.0 / tau * (part(ends[0]) - part(ends[1]))
    return printed_bias(theta, tau) ** 2 + square / samples


class General(NamedTuple):
    """Actions, what each is worth, and the policy's parameters; the gradient is in one."""

    actions: np.ndarray
    theta: np.ndarray
    which: int
    curved: bool  # G(a) = (a + 2)², else G(a) = a

    def worth(self, a):
        return (a + 2.0) ** 2 if self.curved else a

    def slope(self, a):
        return 2.0 * (a + 2.0) if self.curved else np.ones_like(a)

    @property
    def law(self) -> np.ndarray:
        return self.theta / self.theta.sum()

    @property
    def gradient(self) -> float:
        worth = self.worth(self.actions)
        return float((worth[self.which] - self.law @ worth) / self.theta.sum())

    @property
    def scores(self) -> np.ndarray:
        """∂ log π(a_j) / ∂θ_i for each action j."""
        own = np.arange(len(self.theta)) == self.which
        return own / self.theta[self.which] - 1.0 / self.theta.sum()


def general_score(problem: General, less: float = 0.0) -> Error:
    """Of REINFORCE, less a constant."""
    each = (problem.worth(problem.actions) - less) * problem.scores
    return Error(0.0, float(problem.law @ each**2 - problem.gradient**2))


def printed_general_score(problem: General) -> float:
    """The mean squared error as printed [1, eqn. mse-reinforce], which has no N in it."""
    worth, total = problem.worth(problem.actions), problem.theta.sum()
    own, weight = worth[problem.which] ** 2, problem.theta[problem.which]
    first = problem.theta @ worth**2 / total**3
    return float(first + own / (weight * total) - 2.0 * own / total**2 - problem.gradient**2)


def printed_samples(problem: General, slack: float) -> float:
    """The most samples for which the smoothed gradient is said to be better, as printed."""
    return printed_general_score(problem) / (problem.gradient + slack) ** 2


def right_samples(problem: General, slack: float) -> float:
    """The most samples for which REINFORCE's error is at least gradient² + slack."""
    return general_score(problem).variance / (problem.gradient**2 + slack)


def general_smooth(problem: General, tau: float, gumbel: np.ndarray) -> np.ndarray:
    """Single-sample smoothed gradients, one a row of Gumbel noise."""
    keys = (np.log(problem.theta)[None, :] + gumbel) / tau
    weight = np.exp(keys - keys.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    mean = weight @ problem.actions
    apart = problem.actions[problem.which] - mean
    rate = weight[:, problem.which] / (tau * problem.theta[problem.which])
    return problem.slope(mean) * rate * apart


def first_order(problem: General) -> float:
    """c, where the smoothed gradient tends to c/τ as τ grows: its sign decides."""
    mean = problem.actions.mean()
    slope = float(problem.slope(np.array([mean]))[0])
    apart = problem.actions[problem.which] - mean
    return slope * apart / (len(problem.actions) * problem.theta[problem.which])
