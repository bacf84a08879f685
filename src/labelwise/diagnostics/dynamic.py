"""Does a belief learn? Its loss before and after more labels, and on each batch as it comes.

A belief may be right where it has labels and wrong elsewhere, and more labels may fail to
sharpen it. An update is judged on the same test bundles before and after. The prequential score
of a batch is its joint loss under the belief that has not seen it: summed over batches, minus
the log-probability that the belief gave to everything that came. [1]

[1] Dawid (1984), Present position and potential developments: some personal views.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from labelwise.diagnostics.bundles import draw_dyads
from labelwise.diagnostics.log_loss import LogLoss
from labelwise.diagnostics.scores import DRAWS, score

Learn = Callable[[np.ndarray, np.ndarray], Any]  # a belief from rows and labels, from scratch


@dataclass(frozen=True)
class Labelling:
    """Rows with their labels."""

    x: np.ndarray
    y: np.ndarray

    def and_(self, more: "Labelling") -> "Labelling":
        """These rows, then those."""
        both = lambda first, second: np.concatenate([first, second])
        return Labelling(both(self.x, more.x), both(self.y, more.y))


@dataclass(frozen=True)
class Update:
    """Losses on one test set, of the belief given first labels and given more."""

    before: LogLoss
    after: LogLoss

    @property
    def improvement(self) -> float:
        """How far the loss has fallen; below 0 if the labels made it worse."""
        return self.before.mean - self.after.mean


def score_update(
    key: PRNGKeyArray,
    learn: Learn,
    first: Labelling,
    more: Labelling,
    tests: Mapping[str, Labelling],
    seed: int = 0,
    draws: int = DRAWS,
) -> dict[str, Update]:
    """Learn from the first labels, then from all of them anew; judge both on each test set."""
    both = first.and_(more)
    before, after = learn(first.x, first.y), learn(both.x, both.y)
    found = {}
    for name, test in tests.items():
        bundles = draw_dyads(np.random.default_rng(seed), len(test.y))
        losses = (
            score(key, belief, test.x, test.y, bundles, draws=draws)
            for belief in (before, after)
        )
        found[name] = Update(*losses)
    return found


def prequential_losses(
    key: PRNGKeyArray,
    learn: Learn,
    first: Labelling,
    batches: Sequence[Labelling],
    draws: int = DRAWS,
) -> list[LogLoss]:
    """The joint loss of every batch, under the belief given the labels before it."""
    losses, seen = [], first
    for number, batch in enumerate(batches):
        belief = learn(seen.x, seen.y)
        whole = np.arange(len(batch.y))[None, :]
        one = jax.random.fold_in(key, number)
        losses.append(score(one, belief, batch.x, batch.y, whole, draws=draws))
        seen = seen.and_(batch)
    return losses
