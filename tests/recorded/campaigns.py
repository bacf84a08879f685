"""Five campaigns of different kinds, played for three rounds: what they ask and answer.

What they did in version 0.1.0 is kept in `campaigns.json`, so that a change of structure can
be told from a change of behaviour; what a folder of that version answers is kept beside it.
`python -m tests.recorded.campaigns` writes both files anew, but for numbers that are the same
to rounding; that is right only where behaviour is meant to change.

Campaigns say what was usual in 0.1.0: the weak prior, draws by loss, and scores by draws where
chance goes by the policy's. Rows, probabilities and the drawn rows' answers are those of then.
Recorded since are the belief's answers (with `beats`), which are now about the pool's own
labels where the pool is the target, and have the noise that labels show where it is not; and
the answer that leads, which is the combined one.
"""

import json
import math
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from labelwise.campaign.campaign import Campaign
from labelwise.evaluation.answer import Answer
from tests.flat import create

FILE = Path(__file__).with_name("campaigns.json")
# Three rounds of version 0.1.0, with labels, a failure, a skip, corrections and rows still out.
FOLDER = FILE.with_name("made-by-0.1.0")
EXPECTED = FILE.with_name("made-by-0.1.0.json")
# Compilers may order sums differently: of numbers about 1, after fits that stop at 1e-12.
ROUNDING = 1e-9
ROUNDS, BATCH = 3, 6


def tables(
    seed: int, binary: bool, labelled: int = 24, pool: int = 60, target: int = 70
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Labelled rows from a corner of the population, a pool and a target from all of it."""
    rng = np.random.default_rng(seed)

    def rows(count: int, start: int, shift: float) -> pd.DataFrame:
        x0, x1 = rng.normal(shift, 1.0, count), rng.normal(size=count)
        treated = rng.integers(0, 2, count).astype(float)
        level = 0.8 * x0 + np.sin(1.5 * x1) + 0.6 * treated * (x1 > 0)
        label = level + 0.3 * rng.normal(size=count)
        if binary:
            label = (rng.uniform(size=count) < 1.0 / (1.0 + np.exp(-2.0 * level))).astype(float)
        score = 1.0 / (1.0 + np.exp(-1.2 * x0))
        return pd.DataFrame(
            {
                "id": [f"r{start + place}" for place in range(count)],
                "x0": x0,
                "x1": x1,
                "site": rng.choice(["north", "south"], count),
                "treated": treated,
                "score": score if binary else 0.7 * x0,
                "other": np.clip(score + 0.1 * np.sin(x1), 0.01, 0.99),
                "cost": rng.uniform(0.5, 2.0, count),
                "y": label,
            }
        )

    return rows(labelled, 0, 1.0), rows(pool, 1000, 0.0), rows(target, 5000, 0.0)


def mean_squared_error(folder: Path) -> tuple[Campaign, pd.DataFrame]:
    """Numbers, with a target so large that a sample of it is planned on."""
    labelled, pool, target = tables(1, False, target=1100)
    drop = ["treated", "other", "cost"]
    return _make(folder, labelled, pool, target, drop, prediction="score"), pool


def recall_by_group(folder: Path) -> tuple[Campaign, pd.DataFrame]:
    labelled, pool, _ = tables(2, True)
    drop = ["treated", "other", "cost"]
    ask = {"estimand": "recall", "threshold": 0.5, "by": "site", "prediction": "score"}
    return _make(folder, labelled, pool, None, drop, **ask), pool


def comparison(folder: Path) -> tuple[Campaign, pd.DataFrame]:
    """Two classifiers, by their Brier scores; rows as the plan scores them."""
    labelled, pool, _ = tables(3, True)
    drop = ["treated", "cost", "site"]
    search = {"name": "lookahead", "effort": "greedy"}  # "auto" scores by a line where it draws
    ask = {"estimand": "brier", "compare": ("score", "other"), "draw": "policy"}
    ask |= {"policy": search}
    return _make(folder, labelled, pool, None, drop, **ask), pool


def effect_by_coin(folder: Path) -> tuple[Campaign, pd.DataFrame]:
    """The average effect of a treatment that a coin gives, on the pool's own units."""
    labelled, pool, _ = tables(4, False)
    drop = ["other", "cost", "score", "site"]
    units = pool.drop(columns="treated")
    ask = {"estimand": "ate", "treatment": "treated", "assign": 0.4}
    return _make(folder, labelled, units, None, drop, **ask), pool


def costs_with_spend(folder: Path) -> tuple[Campaign, pd.DataFrame]:
    """The mean, of rows that cost differently, where the policy chooses alone."""
    labelled, pool, target = tables(5, False)
    drop = ["treated", "other", "score"]
    ask = {"estimand": "mean", "cost": "cost", "spend": 5.0, "draw": None}
    return _make(folder, labelled, pool, target, drop, **ask), pool


KINDS: dict[str, Callable[[Path], tuple[Campaign, pd.DataFrame]]] = {
    "mse": mean_squared_error,
    "recall by group": recall_by_group,
    "comparison": comparison,
    "ate by a coin": effect_by_coin,
    "costs with spend": costs_with_spend,
}


def _make(folder, labelled, pool, target, drop, **options) -> Campaign:
    """With what was usual then: the weak prior, and draws by loss."""
    bare = lambda table: table.drop(columns=drop, errors="ignore")
    usual = {"belief": {"name": "auto", "prior": "weak"}, "draw": "loss"}
    return create(
        folder,
        labelled=bare(labelled),
        pool=bare(pool).drop(columns="y"),
        target=None if target is None else bare(target).drop(columns="y"),
        id="id",
        label="y",
        batch=BATCH,
        seed=7,
        **(usual | options),
    )


def play(kind: str, folder: Path) -> dict[str, Any]:
    """Three rounds of ask and tell: what was asked, and all answers before and after."""
    campaign, pool = KINDS[kind](folder)
    truth = dict(zip(pool["id"], pool["y"], strict=True))
    answers = [answers_of(campaign)]
    for _ in range(ROUNDS):
        batch = campaign.ask()
        campaign.tell(batch.assign(y=[truth[row] for row in batch["id"]]))
    answers.append(answers_of(campaign))
    return {"rounds": rounds_of(campaign, pool), "answers": answers}


def rounds_of(campaign: Campaign, pool: pd.DataFrame) -> list[dict[str, Any]]:
    """Ids as they were asked, with the probability of each draw and the treatments."""
    return [
        {
            "rows": [str(pool["id"][row]) for row in one.rows],
            "probabilities": list(one.probabilities),
            "treated": None if one.treated is None else list(one.treated),
        }
        for one in campaign.rounds()
    ]


def answers_of(campaign: Campaign) -> list[dict[str, Any]]:
    """All answers to every question; value, std and interval are of the one that leads."""
    estimate = campaign.estimate()
    return [
        {
            "title": one.title,
            "value": one.value,
            "std": one.std,
            "interval": list(one.interval()),
            "belief": _answer(one.credible),
            "design": _answer(one.design),
            "combined": _answer(one.combined),
            "beats": one.beats,
        }
        for one in (estimate, *estimate.parts)
    ]


def _answer(found: Answer | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "value": found.value,
        "std": found.std,
        "quantiles": [float(at) for at in np.asarray(found.quantiles)[::10]],
        "anytime": None if found.anytime is None else list(found.anytime),
    }


def kept(found: Any, before: Any) -> Any:
    """What was found, with numbers as they were before where they are the same to rounding."""
    if isinstance(found, dict):
        return {key: kept(found[key], (before or {}).get(key)) for key in found}
    if isinstance(found, list):
        olds = before if len(before or ()) == len(found) else [None] * len(found)
        return [kept(one, old) for one, old in zip(found, olds, strict=True)]
    both = isinstance(found, float) and isinstance(before, float)
    same = both and math.isclose(found, before, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return before if same else found


def main() -> None:
    stored, expected = json.loads(FILE.read_text()), json.loads(EXPECTED.read_text())
    with tempfile.TemporaryDirectory() as folder:
        found = {kind: play(kind, Path(folder) / kind.replace(" ", "-")) for kind in KINDS}
        old = shutil.copytree(FOLDER, Path(folder) / "old")
        expected["answers"] = kept(answers_of(Campaign.open(old)), expected["answers"])
    FILE.write_text(json.dumps(kept(found, stored), indent=1) + "\n")
    EXPECTED.write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
