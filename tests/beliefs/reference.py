"""Independent truths in plain numpy: no JAX, no factor that grows, all rows at once."""

from typing import NamedTuple

import numpy as np


class Moments(NamedTuple):
    mean: np.ndarray
    covariance: np.ndarray


class Data(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    test: np.ndarray


def make_data(seed: int, count: int, dim: int, tests: int = 5) -> Data:
    """Rows spread so that, at length scales of √dim, neighbours are well correlated."""
    rng = np.random.default_rng(seed)
    x, test = rng.normal(size=(count, dim)), rng.normal(size=(tests, dim))
    return Data(x, rng.normal(size=count), test)


def covariance(name: str, x, other, length_scale=1.0, variance=1.0) -> np.ndarray:
    """Textbook kernels from the full (n, m, dim) array of differences."""
    differences = (x[:, None, :] - other[None, :, :]) / length_scale
    r = np.sqrt((differences**2).sum(axis=-1))
    if name == "rbf":
        return variance * np.exp(-0.5 * r**2)
    if name == "matern32":
        return variance * (1.0 + np.sqrt(3.0) * r) * np.exp(-np.sqrt(3.0) * r)
    return variance * (1.0 + np.sqrt(5.0) * r + 5.0 * r**2 / 3.0) * np.exp(-np.sqrt(5.0) * r)


def algorithm3(own, cross, test, residual, noise, weight) -> Moments:
    """The paper's Algorithm 3, line by line; `weight` may be complex."""
    identity = np.eye(len(weight))
    weighted = own * ((1.0 - identity) * np.outer(weight, weight) + identity)
    matrix = weighted + noise * identity
    scaled = weight[:, None] * cross
    return Moments(
        scaled.T @ np.linalg.solve(matrix, residual),
        test - scaled.T @ np.linalg.solve(matrix, scaled),
    )


def precision_weighting(own, cross, test, residual, noise, weight) -> Moments:
    """Noise σ²/a_i on label i, written (A K + σ² I)⁻¹ A so that a = 0 needs no limit."""
    solved = np.linalg.solve(
        weight[:, None] * own + noise * np.eye(len(weight)), np.diag(weight)
    )
    return Moments(cross.T @ solved @ residual, test - cross.T @ solved @ cross)


WEIGHTINGS = {"paper": algorithm3, "precision": precision_weighting}


def weighted_posterior(
    weighting, name, data: Data, weight, *, noise, length_scale=1.0, variance=1.0
) -> Moments:
    """Zero-mean posterior at `data.test` given all rows of `data` at once."""
    kernel = lambda a, b: covariance(name, a, b, length_scale, variance)
    return WEIGHTINGS[weighting](
        kernel(data.x, data.x),
        kernel(data.x, data.test),
        kernel(data.test, data.test),
        data.y,
        noise,
        np.asarray(weight),
    )


def complex_step(function, point: np.ndarray) -> np.ndarray:
    """Jacobian of an analytic numpy function, exact to rounding and two-sided anywhere."""
    step = 1e-30
    columns = [np.imag(function(point + 1j * step * unit)) for unit in np.eye(len(point))]
    return np.stack(columns, axis=-1) / step
