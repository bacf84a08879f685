"""How many rows may be asked for: by the budget, the pool, and what was said."""

from dataclasses import dataclass

from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Spec
from labelwise.evaluation.state import State
from labelwise.inputs import as_count

ROUNDS_AHEAD = 5  # that a forecast looks at, if there is no budget


@dataclass(frozen=True)
class Sizes:
    """What is left to buy, in rounds."""

    spec: Spec
    state: State

    @property
    def budget_left(self) -> int | None:
        budget = self.spec.limits.budget
        return None if budget is None else max(budget - self.state.spent, 0)

    def of(self, n: int | None, over_budget: bool = False) -> int:
        """Of the next round: what was said, or the batch size and what is left for it."""
        left, available = None if over_budget else self.budget_left, self.state.available
        self._check_any(left, available)
        if n is None:
            return min(self.spec.sampling.batch, available, left or available)
        n = as_count("n", n)
        if left is not None and n > left:
            raise InvalidInput(
                f"The budget has {left} labels left",
                "ask for at most that many, or with over_budget=True (--over-budget)",
                where="n",
            )
        if n > available:
            raise InvalidInput(
                f"The pool has {available} rows left", "ask for at most that many", where="n"
            )
        return n

    def _check_any(self, left: int | None, available: int) -> None:
        if left == 0:
            raise InvalidInput(
                f"The budget of {self.spec.limits.budget} labels is spent",
                "to buy more, ask with over_budget=True (--over-budget)",
                where="budget",
            )
        if available == 0:
            raise InvalidInput(
                "Every row of the pool is labelled, pending or skipped",
                "wait for labels that are out, or start a campaign with more rows",
                where="pool",
            )

    def ahead(self, rounds: int | None = None) -> list[int]:
        """Of the rounds that a forecast would look at."""
        self.of(None)  # there must be something to look ahead to
        left, available = self.budget_left, self.state.available
        batch = self.spec.sampling.batch
        if rounds is None:
            rounds = ROUNDS_AHEAD if left is None else -(-left // batch)
        rounds = as_count("rounds", rounds)
        total = min(rounds * batch, available if left is None else min(left, available))
        return [min(batch, total - start) for start in range(0, total, batch)]
