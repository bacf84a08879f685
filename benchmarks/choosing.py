"""What choosing among every row by landmarks is worth, and what it costs.

`gain_share` is the gain of a batch that is searched for among the best rows by landmarks, over
that of exact lookahead in the whole pool of 20,000 rows; both as exact lookahead judges them.
Time is that of the scoring pass over a million rows in files, beside a bare read of them.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROWS, LABELLED, BATCHES, MIDDLE, SEEDS = 20_000, 200, (1, 10, 50), 10, (0,)
MILLION = 1_000_000
SYNTHETIC = ("clusters", "smooth", "classes")
TABLES = ("credit",)  # read from a folder of tables
PLAIN = " by score alone"
BELIEF = {"name": "auto", "components": 2}
TOTAL = len(SYNTHETIC) * len(SEEDS) + 1


def run(
    advance: Callable[[], None] = lambda: None,
    folder: Path | None = None,
    rows_file: Path | None = None,
) -> dict[str, Any]:
    """Shares by problem, mean and worst; seconds of the pass."""
    names = (*SYNTHETIC, *(TABLES if folder is not None else ()))
    found: dict[str, dict[str, float]] = {}
    for name in names:
        for seed in SEEDS:
            found[f"{name} {seed}"] = _kept(rows_file, name, seed, folder)
            advance()
    of = lambda name: [found[f"{name} {seed}"] for seed in SEEDS]
    counted = [str(k) for k in BATCHES]
    shares = {name: [some[k] for some in of(name) for k in counted] for name in names}
    plain = min(some[f"{MIDDLE}{PLAIN}"] for some in found.values())
    every = [share for some in shares.values() for share in some]
    time = _kept(rows_file, "pass", 0, None)
    advance()
    summed = lambda some: {"mean": float(np.mean(some)), "worst": min(some)}
    return {
        "rows": ROWS,
        "gain_share": {**summed(every), **{name: summed(shares[name]) for name in names}},
        "worst_by_score_alone": plain,
        "each": found,
        **time,
    }


def _kept(rows_file: Path | None, name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Figures of one problem; those that are in the file are not computed again."""
    known = {}
    if rows_file is not None and rows_file.is_file():
        lines = [json.loads(line) for line in rows_file.read_text().splitlines()]
        known = {(line["name"], line["seed"]): line["figures"] for line in lines}
    if (name, seed) in known:
        return known[name, seed]
    figures = take_time() if name == "pass" else shares_of(*problem(name, seed, folder))
    if rows_file is not None:
        with rows_file.open("a") as file:
            file.write(json.dumps({"name": name, "seed": seed, "figures": figures}) + "\n")
    return figures


def problem(name: str, seed: int, folder: Path | None) -> tuple[Any, ...]:
    """Labelled rows, a pool, and what is asked."""
    if name in TABLES:
        assert folder is not None
        return _real(seed, folder)
    rng = np.random.default_rng([seed, len(name)])
    total, dim = ROWS + LABELLED, 8 if name == "clusters" else 16
    x = rng.normal(size=(total, dim))
    if name == "clusters":
        share = rng.dirichlet(np.full(30, 0.3))
        x = 3.0 * rng.normal(size=(30, dim))[rng.choice(30, total, p=share)] + 0.3 * x
    truth = np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.3 * x[:, 2] * x[:, 3]
    score = 0.7 * np.sin(x[:, 0]) + 0.5 * x[:, 1]
    label = truth + 0.3 * rng.normal(size=total)
    if name == "classes":
        score, chance = (1.0 / (1.0 + np.exp(1.0 - 2.0 * one)) for one in (score, truth))
        label = (rng.random(total) < chance).astype(float)
    frame = pd.DataFrame(x).add_prefix("x").assign(score=score, y=label)
    corner = np.argsort(x[:, 0] + rng.normal(size=total))  # labels are of one corner
    return frame.iloc[corner], "accuracy" if name == "classes" else "mse"


def _real(seed: int, folder: Path) -> tuple[Any, ...]:
    """Card holders in random order, with the chances of a linear model of some others."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    from experiments.readers import credit

    table = credit.load_credit(folder / "credit_default_uci")
    table = table.sample(frac=1.0, random_state=seed).reset_index(drop=True)
    label, features = table[credit.OUTCOME].astype(float), table.drop(columns=credit.OUTCOME)
    numbers = StandardScaler().fit_transform(features.select_dtypes("number"))
    model = LogisticRegression(max_iter=200).fit(numbers[-2000:], label[-2000:])
    frame = features.assign(score=model.predict_proba(numbers)[:, 1], y=label)
    return frame.iloc[: len(frame) - 2000], "recall"


def shares_of(frame: pd.DataFrame, estimand: str) -> dict[str, float]:
    """The share of exact lookahead's gain, by the size of the batch."""
    from labelwise.evaluation.evaluation import Evaluation
    from labelwise.evaluation.spec import Sampling, Tables
    from labelwise.runtime import one_thread
    from labelwise.tables.columns import Columns

    frame = frame.iloc[: LABELLED + ROWS].assign(id=np.arange(min(len(frame), LABELLED + ROWS)))
    tables = Tables(frame.iloc[:LABELLED], frame.iloc[LABELLED:].drop(columns="y"))
    columns = Columns(id="id", label="y", prediction="score")
    evaluation = Evaluation.of(
        tables, columns, estimand, belief=BELIEF, sampling=Sampling(by="none")
    )
    with one_thread():
        return dict(_shares(evaluation))


def _shares(evaluation: Any) -> Iterator[tuple[str, float]]:
    from labelwise.evaluation.everything import KEPT, choose_among, make_screen_for
    from labelwise.lookahead.landmarks import score

    x = np.asarray(evaluation.posterior.arrays.pool)
    gain, near = score(make_screen_for(evaluation), x)
    best = lambda kept: np.sort(kept.rows(gain, near, np.arange(len(x), dtype=np.uint64)))
    for k in BATCHES:
        exact = np.asarray(evaluation.planner.propose(k).indices)
        others = [(best(replace(KEPT, each=0)), PLAIN)] if k == MIDDLE else []
        for rows, word in [(best(KEPT), ""), *others]:
            ours = rows[np.asarray(choose_among(evaluation, x[rows], k).indices)]
            gains = _gains(evaluation.posterior, [exact, ours])
            yield f"{k}{word}", float(gains[1] / gains[0])


def _gains(posterior: Any, batches: list[np.ndarray]) -> np.ndarray:
    import jax

    from labelwise.inputs import as_jax
    from labelwise.lookahead.path import variance_along

    orders = np.full((len(batches), -(-len(batches[0]) // 16) * 16), -1)
    for line, rows in zip(orders, batches, strict=True):
        line[: len(rows)] = rows
    given = (posterior.belief, posterior.estimand, posterior.arms, as_jax(orders))
    along = np.asarray(variance_along(jax.random.key(0), *given))[:, 0]
    return along[:, 0] - along[:, -1]


def take_time() -> dict[str, Any]:
    """The pass over a million rows of 16 features in files, with 200 labels."""
    from benchmarks import scale
    from labelwise.campaign.campaign import Campaign
    from labelwise.evaluation.everything import find_best
    from labelwise.pools.engine import Threads
    from labelwise.pools.passes import Passing

    folder = Path(tempfile.mkdtemp(prefix="labelwise-choosing-"))
    try:
        scale.generate(folder / "pool", MILLION)
        scale.create(folder / "campaign", folder / "pool", by="none")
        campaign = Campaign.open(folder / "campaign")
        evaluation, passing = campaign.evaluation(), Passing(Threads(scale.WORKERS))
        step = lambda: find_best(evaluation, campaign.encoder, [], passing)
        step()  # which compiles
        return {"pass_of_a_million": scale.beside_read(folder / "pool", step)}
    finally:
        shutil.rmtree(folder)
