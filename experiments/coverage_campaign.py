"""One campaign of the coverage study: an `Evaluation`, as `labelwise new` makes it, played.

The pool is the target, and the truth is the estimand of the pool's own labels. Nothing is
fitted, drawn or estimated here: what is held to the truth are the engine's own answers. Beside
them stands the classical survey, as many labels drawn uniformly.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments.coverage_draws import Drawn
from labelwise.estimands.catalogue import ESTIMANDS as METRICS
from labelwise.evaluation.answer import LEVEL, Answer
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.spec import Limits, Question, Sampling, Tables
from labelwise.simulation.play import play_evaluation
from labelwise.survey.intervals import mean_interval, ratio_interval
from labelwise.tables.columns import Columns

ROUNDS, BATCH = 10, 5
ID, LABEL, PREDICTION = "row", "label", "prediction"
ESTIMANDS = {True: ("brier", "accuracy", "recall"), False: ("mse", "mae", "mean")}


@dataclass(frozen=True)
class Variant:
    """A way to run the campaign; what is not said is as shipped."""

    belief: Any = "auto"
    policy: str = Sampling.policy
    by: str | None = Sampling.by
    batch: int = BATCH


VARIANTS = {
    "mixture": Variant(),
    "plain": Variant(belief={"name": "auto", "components": 1}),
    "planned": Variant(by=None),
    "by-loss": Variant(by="loss"),
    "uniform": Variant(policy="random"),
}


class Interval(NamedTuple):
    """A number and its 90 % interval."""

    value: float
    low: float
    high: float

    @staticmethod
    def of(answer: Answer | None, anytime: bool = False) -> "Interval":
        """Of one answer of the engine's; not a number where there is none."""
        ends = None if answer is None else answer.anytime if anytime else answer.interval()
        if answer is None or ends is None:
            return Interval(np.nan, np.nan, np.nan)
        return Interval(answer.value, *ends)

    def misses(self, truth: float) -> bool:
        return not np.isnan(self.low) and not self.low <= truth <= self.high


def begin(problem: Drawn, binary: bool, variant: Variant, seed: int) -> Evaluation:
    """What `labelwise new` would make of the problem's tables."""
    labelled = as_table(problem.x, problem.initial_prediction, "first").assign(
        **{LABEL: problem.y}
    )
    pool = as_table(problem.pool_x, problem.pool_prediction, "pool")
    prepared = prepare(
        Tables(labelled, pool),
        Columns(ID, LABEL, prediction=PREDICTION),
        Question(ESTIMANDS[binary]),
        belief=variant.belief,
        sampling=Sampling(variant.policy, by=variant.by, batch=variant.batch),
        limits=Limits(budget=ROUNDS * variant.batch),
        seed=seed,
        telling_apart=False,  # a table for the eye; no answer depends on it
    )
    return prepared.evaluation()


def as_table(x: np.ndarray, prediction: np.ndarray, name: str) -> pd.DataFrame:
    features = pd.DataFrame(x, columns=[f"x{index}" for index in range(x.shape[1])])
    ids = [f"{name} {row}" for row in range(len(x))]
    return features.assign(**{ID: ids, PREDICTION: prediction})


def estimates(problem: Drawn, binary: bool, variant: Variant, seed: int) -> list[Estimate]:
    """What the campaign says before its first round and after each."""
    reveal = lambda round_: {row: float(problem.pool_y[row]) for row in round_.rows}
    start = begin(problem, binary, variant, seed)
    sizes = [variant.batch] * ROUNDS
    return [now.estimate() for now, _ in play_evaluation(start, reveal, sizes)]


def terms_of(problem: Drawn, name: str) -> np.ndarray:
    """The terms of every pool row, as its own label has them."""
    return np.asarray(METRICS[name].stack(problem.pool_y, problem.pool_prediction, None))


def truth_of(problem: Drawn, name: str) -> float:
    return float(METRICS[name].combine(terms_of(problem, name).mean(axis=1)))


def classical_answer(
    problem: Drawn, name: str, seed: int, count: int = ROUNDS * BATCH
) -> Interval:
    """As many labels drawn uniformly, their own mean and spread, finite pool allowed for."""
    terms, size = terms_of(problem, name), len(problem.pool_y)
    rows = np.random.default_rng([seed, 3]).choice(size, count, replace=False)
    values = terms[:, rows].T
    value = float(METRICS[name].combine(values.mean(axis=0))) if values.any() else 0.0
    shrunk = values.mean(axis=0) + (values - values.mean(axis=0)) * np.sqrt(1 - count / size)
    if METRICS[name].kind == "ratio":
        ends = ratio_interval(shrunk[:, 0], shrunk[:, 1], LEVEL)
    else:
        ends = mean_interval(shrunk[:, 0], LEVEL)
    least = None if name == "mean" else 0.0
    most = 1.0 if name in ESTIMANDS[True] else None
    low, high = np.clip(ends, least, most)
    return Interval(value, float(low), float(high))
