"""Two phases by simulation: a sample of a pool, then draws from the sample.

Each problem is a pool whose labels are known. A replicate draws a first-phase sample by keys of
another seed, 300 labels from it with probabilities by what the model says, and answers as a
campaign would from drawn rows. Kept of it: the answer, whether its 90 % interval holds the
truth, its width, and how much of its variance the first phase is said to be.
"""

from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table

from experiments.sweep import Task
from labelwise.evaluation.influence import LEAST, spread_of_cells
from labelwise.evaluation.question import Quantity, make_inquiry
from labelwise.evaluation.survey_answer import About, History, answer_by_draws
from labelwise.pools.first_phase import FirstPhase, allocate
from labelwise.pools.keys import keys, mix
from labelwise.pools.sketch import bins_of, middle_of
from labelwise.pools.strata import cut
from labelwise.survey.variance_floor import predicted_spread

ROWS, SAMPLE, DRAWS, BATCH, PARTS = 20_000, 2_000, 300, 30, 24
MANY, LARGE = 1_000_000, 20_000  # rows and sample, where a class of 0.2 % is asked about
FLOOR = 0.3
SEED = 20
CHUNK = 50  # replicates of one task
RAREST = "recall, 0.2 %"


@dataclass(frozen=True)
class Problem:
    """A pool with known labels, and what is asked of it."""

    name: str
    score: np.ndarray  # the model's output
    label: np.ndarray
    question: Quantity
    uniform: bool = False  # whether the first phase has all rows alike

    @property
    def terms(self) -> np.ndarray:
        metric, threshold = self.question.averaged, self.question.threshold
        return np.asarray(metric.stack(self.label, self.score, threshold))

    @property
    def truth(self) -> float:
        return float(self.question.averaged.combine(self.terms.mean(axis=1)))


def ask(estimand: str, **options: Any) -> Quantity:
    asked: Any = {"threshold": None, "tolerance": None, "quantile": None} | options
    return make_inquiry(estimand, prediction="score", options=asked).questions[0]


@lru_cache(maxsize=1)
def problems() -> dict[str, Problem]:
    """Common and rare outcomes, classes and numbers; the model is not calibrated."""
    rng = np.random.default_rng(SEED)
    odds = rng.normal(0.0, 1.5, ROWS)
    chance = lambda shift, slope: _sigmoid(shift + slope * odds)
    common = (rng.random(ROWS) < chance(0.3, 0.7)).astype(float)
    suspect = _suspects(rng, ROWS, 0.05)
    rare = (rng.random(ROWS) < _sigmoid(suspect - 0.3)).astype(float)
    number = odds + rng.normal(size=ROWS) * (0.5 + 0.5 * np.abs(odds))
    each = [
        Problem("accuracy, common", chance(0.0, 1.0), common, ask("accuracy", threshold=0.5)),
        Problem("recall, common", chance(0.0, 1.0), common, ask("recall", threshold=0.6)),
        Problem("recall, 2 %", _sigmoid(suspect), rare, ask("recall", threshold=0.5)),
        Problem("absolute error", odds, number, ask("mae")),
    ]
    return {one.name: one for one in each}


@lru_cache(maxsize=2)
def rarest(uniform: bool) -> Problem:
    """Recall of a class of 0.2 %, with a first phase by influence, or uniform."""
    rng = np.random.default_rng(SEED)
    score = _sigmoid(_suspects(rng, MANY, 0.005, -12.0))
    label = (rng.random(MANY) < score).astype(float)
    name = f"{RAREST}, {'uniform' if uniform else 'by influence'}"
    return Problem(name, score, label, ask("recall", threshold=0.5), uniform)


def _suspects(
    rng: np.random.Generator, rows: int, share: float, sure: float = -9.0
) -> np.ndarray:
    """Log-odds of a rare class: of a few rows the model is in doubt, of the others sure."""
    doubt = rng.random(rows) < share
    return np.where(doubt, rng.normal(-0.5, 1.2, rows), rng.normal(sure, 1.0, rows))


def _sigmoid(odds: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-odds))


def first_phase(problem: Problem, size: int, seed: int) -> tuple[np.ndarray, FirstPhase]:
    """Rows of a sample, and how they came into it: as a campaign's pass does."""
    bins, which, counts = np.unique(
        bins_of(problem.score), return_inverse=True, return_counts=True
    )
    counts = counts[None, :]
    spread = np.ones(counts.shape)
    if not problem.uniform:
        values = middle_of(bins)
        spread = spread_of_cells([problem.question], (), [()], values, counts)
    stake = counts / counts.sum() + counts * spread / (counts * spread).sum()
    part = np.searchsorted(cut(bins, stake[0], PARTS), bins, side="right")
    stratum = part[which]
    rows = np.bincount(stratum)
    squares = np.bincount(part, (counts * spread**2)[0]) / rows
    sizes = allocate(rows, np.sqrt(squares), size)
    key = keys(mix(np.arange(len(stratum), dtype=np.uint64)), seed)
    order = np.lexsort([key, stratum])
    rank = np.arange(len(order)) - (np.cumsum(rows) - rows)[stratum[order]]
    chosen = np.sort(order[rank < sizes[stratum[order]]])
    return chosen, FirstPhase(rows, sizes, stratum[chosen], "by a study")


def replicate(problem: Problem, seed: int, size: int = SAMPLE) -> dict[str, Any]:
    """One sample, its draws, and what they say."""
    rows, phase = first_phase(problem, size, seed)
    mass = 1.0 / phase.probability
    predicted, spread = _expected(problem, rows, mass)
    rounds, state = _drawn(np.random.default_rng([SEED, seed]), mass, predicted, spread)
    state.labels = {row: problem.label[rows[row]] for row in state.labels}
    arrays: Any = SimpleNamespace(pool_predictions={"score": problem.score[rows]})
    history = History(rounds, state, "linear", DRAWS)  # type: ignore[arg-type]
    bounds = (0.0, 1.0) if problem.question.metric.labels == "binary" else (0.0, None)
    answer = answer_by_draws(arrays, About(problem.question, mass, bounds, phase), history)
    assert answer is not None
    low, high = answer.interval(0.9)
    return {
        "problem": problem.name,
        "seed": seed,
        "value": answer.value,
        "truth": problem.truth,
        "holds": int(low <= problem.truth <= high),
        "width": high - low,
        "first_phase": answer.first_phase**2 / answer.std**2,
    }


def _expected(problem: Problem, rows: np.ndarray, mass: np.ndarray):
    """Terms as the model has it, and how far off they may be along the answer's slope."""
    score, metric = problem.score[rows], problem.question.averaged
    if metric.labels != "binary":
        guess = np.ones((1, len(rows)))
        return guess, np.ones(len(rows))
    of = lambda label: np.asarray(
        metric.stack(np.full(len(rows), label), score, problem.question.threshold)
    )
    chance = np.clip(score, LEAST, 1.0 - LEAST)
    terms = (1.0 - chance) * of(0.0) + chance * of(1.0)
    slope = metric.slope(terms @ mass / mass.sum())
    return terms, np.sqrt(chance * (1.0 - chance)) * np.abs(slope @ (of(1.0) - of(0.0)))


def _drawn(rng: np.random.Generator, mass: np.ndarray, terms: np.ndarray, spread: np.ndarray):
    """Rounds of draws without replacement, one after another, as they are recorded."""
    size, closed, rounds = len(mass), np.zeros(len(mass), bool), []
    score = mass * spread
    for number in range(1, DRAWS // BATCH + 1):
        before = np.flatnonzero(closed)
        share = FLOOR * ~closed / (~closed).sum()
        share = share + (1.0 - FLOOR) * score * ~closed / score[~closed].sum()
        foreseen = predicted_spread(spread, share, mass, ~closed)
        taken, chances = [], []
        for _ in range(BATCH):
            row = int(rng.choice(size, p=share / share.sum()))
            taken.append(row)
            chances.append(share[row] / share.sum())
            share[row], closed[row] = 0.0, True
        draws = SimpleNamespace(
            closed=tuple(before.tolist()),
            questions=_Any([0, 0]),
            drawn=(True,) * BATCH,
            foreseen=(foreseen,),
            predictions=terms.astype(np.float32),
            together=False,
        )
        rounds.append(
            SimpleNamespace(number=number, rows=taken, probabilities=chances, draws=draws)
        )
    labels = dict.fromkeys(np.flatnonzero(closed).tolist(), 0.0)
    return rounds, SimpleNamespace(
        labels=labels, skipped=(), failed=(), expired=(), batches={}, treated={}
    )


class _Any(dict):
    """A place for a question of whatever title."""

    def __init__(self, place: list[int]):
        super().__init__()
        self.place = place

    def __contains__(self, title: object) -> bool:
        return True

    def __getitem__(self, title: object) -> list[int]:
        return self.place


def tasks(replicates: int, of_rarest: int) -> list[Task]:
    """Chunks of replicates of every problem."""
    counts = dict.fromkeys(problems(), replicates)
    counts |= {f"{RAREST}, {how}": of_rarest for how in ("uniform", "by influence")}
    return [
        Task(f"{name}: {start}-{min(start + CHUNK, count)}", 10.0)
        for start in range(0, max(counts.values()), CHUNK)
        for name, count in counts.items()
        if start < count
    ]


def work(name: str) -> list[dict[str, Any]]:
    """The rows of one chunk."""
    which, _, span = name.rpartition(": ")
    start, end = map(int, span.split("-"))
    if which.startswith(RAREST):
        problem, size = rarest(which.endswith("uniform")), LARGE
    else:
        problem, size = problems()[which], SAMPLE
    return [replicate(problem, seed, size) for seed in range(start, end)]


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Bias in standard errors, how often intervals hold, and widths, by problem."""
    found = {}
    for name, each in rows.groupby("problem", sort=False):
        error = each["value"] - each["truth"]
        std_error = float(error.std(ddof=1) / np.sqrt(len(each)))
        found[str(name)] = {
            "replicates": len(each),
            "truth": float(each["truth"].iloc[0]),
            "bias": float(error.mean()),
            "bias_in_standard_errors": float(error.mean()) / std_error,
            "holds": float(each["holds"].mean()),
            "mean_width": float(each["width"].mean()),
            "first_phase_share_of_variance": float(each["first_phase"].mean()),
        }
    return {"command": command, "problems": found}


def tabulate(summary: dict[str, Any]) -> Table:
    table = Table("problem", "replicates", "bias / s.e.", "90 % holds", "width", "first phase")
    for name, one in summary["problems"].items():
        table.add_row(
            name,
            str(one["replicates"]),
            f"{one['bias_in_standard_errors']:+.2f}",
            f"{100 * one['holds']:.1f} %",
            f"{one['mean_width']:.4f}",
            f"{100 * one['first_phase_share_of_variance']:.0f} %",
        )
    return table
