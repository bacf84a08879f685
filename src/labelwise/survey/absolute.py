"""A sum of absolute values of several means, each known up to noise.

|x| of a noisy x is too large on average, the more so the more noise: the calibration error of
a perfect model would never look small. So the means are taken for what they may be. With shares
a_b of the rows, gaps x_b / a_b ~ N(0, τ²), estimates of x_b off by N(0, s_b²), and any τ as
likely as another, x_b given its estimate has a mixture over τ of normal laws, and Σ |x_b|
the mean and spread of that. As draws grow, s_b falls, and the sum is that of the estimates. [1]

A mean of which few draws told may look too certain: its variance counts together with what its
share of the total would be.

[1] Morris (1983), Parametric empirical Bayes inference: theory and applications.
"""

import numpy as np
import scipy.special

SCALES = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 40)])  # τ
WORTH = 10.0  # draws that the common variance counts for in each mean


def settle_absolute(values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """One number a draw, whose mean is that of Σ |x_b|, and whose spread its uncertainty."""
    count, means = len(values), values.mean(axis=0)
    along = values @ np.sign(means)
    noise = _noise(values, shares)
    value, std = absolute_sum(means, noise, shares)
    spread = float(along.std(ddof=1)) if count > 1 else 0.0
    if spread == 0.0:
        return np.full(count, value)
    return value + (along - along.mean()) * (std * np.sqrt(count) / spread)


def absolute_sum(
    means: np.ndarray, noise: np.ndarray, shares: np.ndarray
) -> tuple[float, float]:
    """Mean and standard deviation of Σ |x_b|, given means with this variance of noise."""
    used = (shares > 0.0) & (noise > 0.0)
    sure = float(np.abs(means[~used]).sum())
    means, noise, shares = means[used], noise[used], shares[used]
    if not used.any():
        return sure, 0.0
    prior = SCALES[:, None] ** 2 * shares**2
    total = prior + noise
    log = -0.5 * np.sum(np.log(total) + means**2 / total, axis=1)
    weight = np.exp(log - log.max()) * np.gradient(SCALES)
    weight = weight / weight.sum()
    centre, spread = prior / total * means, np.sqrt(prior * noise / total)
    first, second = _folded(centre, spread)
    each, variance = first.sum(axis=1), (second - first**2).sum(axis=1)
    mean = weight @ each
    return sure + float(mean), float(np.sqrt(weight @ (variance + (each - mean) ** 2)))


def _folded(centre: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E|x| and E x² of normal x."""
    some = spread > 0.0
    ratio = np.where(some, centre / np.where(some, spread, 1.0), 0.0)
    density = np.exp(-0.5 * ratio**2) / np.sqrt(2.0 * np.pi)
    mean = centre * (2.0 * scipy.special.ndtr(ratio) - 1.0) + 2.0 * spread * density
    return np.where(some, mean, np.abs(centre)), centre**2 + spread**2


def _noise(values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Variance of each mean, held to its share of the total where few draws told of it."""
    if len(values) < 2:
        return np.zeros(values.shape[1])
    seen = values.var(axis=0, ddof=1) / len(values)
    common = shares * seen.sum()
    trust = WORTH / (WORTH + len(values) * shares)
    return np.where(shares > 0.0, (1.0 - trust) * seen + trust * common, 0.0)
