"""Does the check of beliefs choose well? On made-up campaigns, and on unseen labels of tables.

A made-up campaign has 60 labels of a smooth function, a draw of a Gaussian process, or of a
straight one: the check should choose the belief that labels come from. Of a real table, 120
labels come from three clusters of its rows. What the check chooses is held to the joint
log-loss of ten different rows among 500 that it has not seen, drawn from the whole table; the
regret is how much more than the best candidate's that is.
"""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from experiments.consistency_data import load_rows
from experiments.sweep import Task
from labelwise.diagnostics import draw_distinct, score
from labelwise.diagnostics.clusters import label_clusters
from labelwise.evaluation.checked import (
    check_beliefs,
    complete,
    labels_in_order,
    learner,
    name_of,
    usual_candidates,
)
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.spec import Tables
from labelwise.tables.columns import Columns

SMOOTH, STRAIGHT = "smooth", "straight"
RIGHT = {SMOOTH: "gp", STRAIGHT: "gp (linear)"}
REAL = ("support2", "credit", "acs-income", "acs-employment", "physionet2012", "card-fraud")
LABELLED, UNSEEN, DIM, NOISE = 60, 500, 3, 0.1
FROM_CLUSTERS, CLUSTERS, HOMES = 120, 10, 3
DRAWS = 2000
Row = dict[str, Any]


def work(task: str, data: str | None = None) -> list[Row]:
    """One campaign: who was chosen, and how every candidate does on unseen labels."""
    name, seed = task.split("/")
    made = _make_up(name, int(seed)) if name in RIGHT else _from_table(name, data, int(seed))
    evaluation, unseen = _evaluation(*made)
    binary = name not in RIGHT
    features = evaluation.arrays.features
    candidates = [complete(one, features, binary) for one in usual_candidates(binary)]
    contest = check_beliefs(evaluation, candidates)
    losses = {name_of(one): _loss(evaluation, one, unseen) for one in candidates}
    chosen = contest.best.name
    return [
        {
            "data": name,
            "seed": int(seed),
            "chosen": chosen,
            "margin": round(contest.margin or 0.0, 4),
            "standard_error": round(contest.standard_error or 0.0, 4),
            "right": chosen == RIGHT[name] if name in RIGHT else None,  # of tables nobody knows
            "regret": round(losses[chosen] - min(losses.values()), 4),
            **{f"loss {one}": round(loss, 4) for one, loss in losses.items()},
        }
    ]


def _make_up(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows, labels, and how many of them are known."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(LABELLED + UNSEEN, DIM))
    function = x @ rng.normal(size=DIM)
    if kind == SMOOTH:
        squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)
        values, vectors = np.linalg.eigh(np.exp(-0.5 * squared / DIM))
        function = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=len(x)))
    noise = np.sqrt(NOISE * function.var()) * rng.normal(size=len(x))
    return x, function + noise, LABELLED


def _from_table(name: str, data: str | None, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    rows = load_rows(name, None if data is None else Path(data), 0)
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(rows.y))[:6000]
    clusters = label_clusters(rows.x[some], CLUSTERS, seed, 1)
    large = np.flatnonzero(np.bincount(clusters, minlength=CLUSTERS) >= FROM_CLUSTERS)
    homes = some[np.isin(clusters, rng.permutation(large)[:HOMES])]
    known = rng.choice(homes, FROM_CLUSTERS, replace=False)
    others = rng.choice(np.setdiff1d(some, known), UNSEEN, replace=False)
    order = np.concatenate([known, others])
    return rows.x[order], rows.y[order], FROM_CLUSTERS


def _evaluation(x: np.ndarray, y: np.ndarray, known: int):
    """The rows as tables of a campaign, and which of its pool's labels nobody has seen."""
    frame = pd.DataFrame(x, columns=[f"f{place}" for place in range(x.shape[1])])
    frame = frame.assign(id=[f"r{row}" for row in range(len(y))])
    labelled = frame[:known].assign(y=y[:known])
    columns = Columns("id", "y")
    evaluation = Evaluation.of(Tables(labelled, frame[known:]), columns, "mean")
    return evaluation, y[known:]


def _loss(evaluation: Evaluation, candidate: Row, unseen: np.ndarray) -> float:
    known, _ = labels_in_order(evaluation)
    belief = learner(evaluation.arrays, candidate, 0)(known.x, known.y)
    bundles = draw_distinct(np.random.default_rng(0), len(unseen), 1000)
    pool = evaluation.arrays.pool
    return score(jax.random.key(0), belief, pool, unseen, bundles, draws=DRAWS).mean


def tasks(made_up: int, seeds: int, real: tuple[str, ...]) -> list[Task]:
    """Half of the made-up campaigns are smooth, half straight; then tables, seed by seed."""
    kinds = [(SMOOTH, STRAIGHT)[number % 2] for number in range(made_up)]
    names = [f"{kind}/{number}" for number, kind in enumerate(kinds)]
    names += [f"{name}/{seed}" for seed in range(seeds) for name in real]
    return [Task(name, 60.0) for name in names]


def summarise(rows: pd.DataFrame, command: str) -> Row:
    synthetic, real = (
        rows[rows["data"].isin(list(RIGHT))],
        rows[~rows["data"].isin(list(RIGHT))],
    )
    by_table = {
        str(name): {
            "chosen": " ".join(sorted(set(mine["chosen"]))),
            "regret": round(float(mine["regret"].mean()), 4),
        }
        for name, mine in real.groupby("data", sort=False)
    }
    return {
        "command": command,
        "made_up": len(synthetic),
        "right": int(synthetic["right"].sum()),
        "tables": by_table,
        "regret": round(float(real["regret"].mean()), 4) if len(real) else None,
        "campaigns": len(real),
    }


def tabulate(summary: Row) -> Table:
    title = f"The right belief on {summary['right']} of {summary['made_up']} made-up campaigns"
    table = Table(title=title, box=SIMPLE)
    for heading in ("table", "chosen", "regret"):
        table.add_column(heading, justify="right" if heading == "regret" else "left")
    for name, found in summary["tables"].items():
        table.add_row(name, found["chosen"], f"{found['regret']:.3f}")
    return table
