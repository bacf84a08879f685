"""Do intervals hold in other settings? Seven tables that nothing was tuned on.

They are of the corpus' part to test on, with a model that was trained on some clusters of the
table. Arms differ from the usual campaign (60 labels of one cluster, then 50 in ten rounds, the
pool is the target) in one thing each: how many labels there are at first or are bought, a
target of its own, one question instead of three, a model that is useless or reversed, rows
drawn by loss or uniformly. Every campaign is the engine's own at its default settings. A seed
is a campaign.
"""

import time
import zlib
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments import coverage_campaign as campaign
from experiments.corpus import entries, predictions, starts
from experiments.corpus_tables import load
from experiments.coverage_campaign import ID, LABEL, PREDICTION, Interval
from experiments.coverage_draws import POOL, Drawn
from experiments.settings_arms import EARLY, Arm, arms
from experiments.settings_report import KINDS
from labelwise import __version__
from labelwise.cli.runs import Task
from labelwise.errors import LabelwiseError
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.spec import Limits, Question, Sampling, Tables
from labelwise.simulation.play import play_evaluation
from labelwise.tables.columns import Columns

ROUNDS = 10
# Of a usual campaign, early on: the width at its end, and the labels for the width that came.
FORETOLD = ("forecast", "needed")


class Setting(NamedTuple):
    """What a campaign starts from: its tables, labels to come, and whom its answer is about."""

    tables: Tables
    labels: np.ndarray  # of the pool
    about: Drawn


def config() -> dict[str, Any]:
    """What the rows depend on besides arm and seed."""
    return {
        "experiment": "settings",
        "version": __version__,
        "rounds": 2 * 3 - 1,  # rows of a campaign, less one: a look and an estimand
        "pool": POOL,
        "batches": ROUNDS,
        "early": EARLY,
    }


def work(cache: Path | None):
    return partial(_work, cache)


def _work(cache: Path | None, task: Task) -> list[dict[str, Any]]:
    """One campaign: a row a look and an estimand, empty where the arm has no such."""
    began, arm = time.perf_counter(), arms()[task.policy]
    found = _answers(arm, _draw(arm, task.seed, cache), task.seed)
    heading = {"policy": task.policy, "seed": task.seed}
    empty = dict.fromkeys(f"{kind}_{end}" for kind in KINDS for end in Interval._fields)
    empty |= dict.fromkeys(("labels", "estimand", "truth", "ever_missed", "failed", *FORETOLD))
    rows = []
    for index in range(config()["rounds"] + 1):
        figures = found[index] if index < len(found) else {}
        rows.append(heading | {"round": index} | empty | figures)
    seconds = round((time.perf_counter() - began) / len(rows), 3)
    return [row | {"seconds": seconds} for row in rows]


def _draw(arm: Arm, seed: int, cache: Path | None) -> Setting:
    table = load(entries()[arm.table], cache)
    rng = np.random.default_rng([seed, 78, zlib.crc32(table.name.encode())])
    model = predictions(table, arm.quality, seed, cache)
    start = starts(table, model.held_out, max(arm.first, 20), seed)
    others = rng.permutation(np.setdiff1d(np.flatnonzero(model.held_out), start.initial))
    first, pool = start.initial[: arm.first], others[:POOL]
    about = others[POOL:] if arm.own_target else pool
    frame = lambda rows, name: campaign.as_table(table.x[rows], model.scores[rows], name)
    labelled = None if not arm.first else frame(first, "first").assign(label=table.y[first])
    target = frame(about, "target").drop(columns=ID) if arm.own_target else None
    parts = (table.x[first], table.y[first], table.x[about], table.y[about])
    drawn = Drawn(*parts, model.scores[first], model.scores[about])
    return Setting(Tables(labelled, frame(pool, "pool"), target), table.y[pool], drawn)


def _begin(arm: Arm, tables: Tables, seed: int) -> Evaluation:
    policy, by = arm.sampling
    # Without labels nothing else says that they will be 0 or 1.
    belief = "gp-classifier" if arm.binary and not arm.first else "auto"
    return prepare(
        tables,
        Columns(ID, LABEL, prediction=PREDICTION),
        Question(arm.questions),
        belief=belief,
        sampling=Sampling(policy, by=by, batch=arm.bought // ROUNDS),
        limits=Limits(budget=arm.bought),
        seed=seed,
        telling_apart=False,
    ).evaluation()


def _answers(arm: Arm, setting: Setting, seed: int) -> list[dict[str, Any]]:
    """At each look and of each estimand; a campaign that breaks down is counted."""
    reveal = lambda round_: {row: float(setting.labels[row]) for row in round_.rows}
    batch, about = arm.bought // ROUNDS, setting.about
    try:
        start = _begin(arm, setting.tables, seed)
        played = list(play_evaluation(start, reveal, [batch] * ROUNDS))
        looks = [now.estimate() for now, _ in played]
        usual = arm == Arm(arm.table)
        foretold = _foretold(played[EARLY // batch][0], looks[-1]) if usual else {}
    except LabelwiseError:
        return [{"labels": look, "failed": 1} for look in arm.looks]
    rows = []
    for bought, (place, name) in product(arm.looks, enumerate(arm.questions)):
        said = [(look, *look.parts)[place] for look in looks[: bought // batch + 1]]
        classical = campaign.classical_answer(about, name, seed, bought)
        figures = _figures(said, campaign.truth_of(about, name), classical)
        told = foretold if (bought, place) == (arm.bought, 0) else {}
        heading = {"labels": bought, "estimand": name, "failed": 0}
        rows.append(heading | dict.fromkeys(FORETOLD) | told | figures)
    return rows


def _foretold(early: Evaluation, end: Estimate) -> dict[str, Any]:
    """What an early look says of the first question's interval when the budget is spent."""
    widths = early.forecast().draws
    if widths is None:
        return {}
    low, high = end.interval()
    needed = widths.labels_for(high - low) if high > low else None
    return {
        "forecast": _short(widths.planned[-1]),
        "needed": None if needed is None else needed.labels,
    }


def _figures(said: list[Estimate], truth: float, classical: Interval) -> dict[str, Any]:
    """The last look's answers, and whether any look's any-time interval missed."""
    now = said[-1]
    always = [Interval.of(look.combined, anytime=True) for look in said]
    row = {"truth": truth, "ever_missed": int(any(one.misses(truth) for one in always))}
    answers = {"combined": now.lead, "belief": now.credible, "design": now.design}
    each = {kind: Interval.of(answer) for kind, answer in answers.items()}
    for kind, interval in {**each, "classical": classical}.items():
        row |= {f"{kind}_{end}": value for end, value in interval._asdict().items()}
    return {key: _short(value) for key, value in row.items()}


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value
