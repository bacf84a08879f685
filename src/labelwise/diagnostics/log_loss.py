"""Log-loss of bundles of labels, from functions that stand for a belief.

    loss = -log (1/S) Σ_s Π_t p(y_t | f_s(x_t))

With one label a bundle the loss is marginal, with more it is joint; it is the sum over the
labels of a bundle, not their mean. Everything is done with logarithms: a likelihood may be too
small for a number. With drawn functions the loss is too large on average (Jensen), by about
Var(likelihood) / (2 S mean²), which is reported; where the functions are all there are, or the
belief is Gaussian, it is exact.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from labelwise.errors import InvalidInput, NumericalError

CHUNK = 2_000_000  # numbers worked on at a time


@dataclass(frozen=True)
class LogLoss:
    """Mean loss of a bundle."""

    mean: float
    standard_error: float  # of the mean, over bundles
    bias: float  # expected from drawing functions; 0 if exact
    bundles: int

    @staticmethod
    def of(losses: np.ndarray, bias: np.ndarray | float = 0.0) -> "LogLoss":
        """From the losses of bundles, and what each is expected to be too large by."""
        if np.isnan(losses).any():
            raise NumericalError(
                "A log-loss is not a number", "see that the belief's functions are finite"
            )
        spread = np.std(losses, ddof=1) if len(losses) > 1 else 0.0
        error = float(spread / np.sqrt(len(losses)))
        return LogLoss(float(np.mean(losses)), error, float(np.mean(bias)), len(losses))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def log_mean_exp(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Average numbers that are given by their logarithms; all -inf stay -inf."""
    return np.asarray(logsumexp(values, axis=axis)) - np.log(values.shape[axis])


def sampled_losses(log_probs: np.ndarray, bundles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses of bundles, and the bias of each, from log p(y_i | f_s(x_i)).

    `log_probs` has a row for each function and a column for each test row; a test row has the
    same label wherever it stands.
    """
    _check(log_probs, bundles)
    size = log_probs.shape[0] * bundles.shape[1] + log_probs.shape[1]
    step = max(1, CHUNK // size)
    parts = [
        losses_of(_joint(log_probs, bundles[low : low + step]))
        for low in range(0, len(bundles), step)
    ]
    losses, bias = (np.concatenate(each) for each in zip(*parts, strict=True))
    return losses, bias


def _joint(log_probs: np.ndarray, bundles: np.ndarray) -> np.ndarray:
    """Sums over the rows of each bundle, as one product where no label is impossible."""
    if not np.isfinite(log_probs).all():
        return log_probs[:, bundles].sum(axis=2)
    counts = np.zeros((len(bundles), log_probs.shape[1]))
    np.add.at(counts, (np.arange(len(bundles))[:, None], bundles), 1.0)
    return log_probs @ counts.T


def losses_of(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses and their biases from the log-likelihood of each bundle under each function."""
    total = np.asarray(logsumexp(joint, axis=0))
    impossible = np.isneginf(total)
    weight = np.exp(joint - np.where(impossible, 0.0, total)[None, :])
    # Var(likelihood) / mean², over the functions, is S Σ weight² - 1.
    spread = len(joint) * (weight**2).sum(axis=0) - 1.0
    bias = np.where(impossible, 0.0, np.maximum(spread, 0.0) / (2.0 * len(joint)))
    return np.log(len(joint)) - total, bias


def dyad_losses(log_probs: np.ndarray, anchors: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Losses of bundles given by two anchors and how often each of them stands there."""
    first, second = log_probs[:, anchors[:, 0]], log_probs[:, anchors[:, 1]]
    return losses_of(_times(counts[:, 0], first) + _times(counts[:, 1], second))[0]


def expected_dyad_losses(
    log_probs: np.ndarray, anchors: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Losses of dyadic bundles, averaged over how often each anchor is drawn; and biases.

    One source of chance less than in drawn bundles: the counts are binomial.
    """
    first, second = log_probs[:, anchors[:, 0]], log_probs[:, anchors[:, 1]]
    losses, bias = np.zeros(len(anchors)), np.zeros(len(anchors))
    for count in range(size + 1):
        share = np.exp(gammaln(size + 1) - gammaln(count + 1) - gammaln(size - count + 1))
        joint = _times(count, first) + _times(size - count, second)
        one, off = losses_of(joint)
        losses, bias = losses + share * 0.5**size * one, bias + share * 0.5**size * off
    return losses, bias


def _times(count: Any, logs: np.ndarray) -> np.ndarray:
    """Powers by logarithms; of an impossible label, none at all is no contradiction."""
    with np.errstate(invalid="ignore"):
        return np.where(np.asarray(count) == 0, 0.0, count * logs)


def _check(log_probs: np.ndarray, bundles: np.ndarray) -> None:
    if log_probs.ndim != 2 or log_probs.shape[0] == 0:
        raise InvalidInput.must(
            "log_probs", "have a row a function", f"it has shape {log_probs.shape}"
        )
    if bundles.ndim != 2 or bundles.size == 0 or bundles.max() >= log_probs.shape[1]:
        raise InvalidInput(
            f"Bundles must name some of the {log_probs.shape[1]} test rows, a bundle a row",
            f"they have shape {bundles.shape}",
            where="bundles",
        )
