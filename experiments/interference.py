"""Can an interval be made too good by ordinary means, without the tool saying so?

Someone who wants a better answer works a campaign off and treats the worst rows of every batch
in one of seven ways: corrects their labels to the prediction, skips them, skips them before
they can be drawn, lets them fail, lets them expire, withholds them, or adds good rows that
nobody asked for. Campaigns are the product's own, in memory, with a clock that the study moves.
What is written down: whether the headline's interval holds the truth, whether the wider
interval beside it does, and whether the answer is marked at all.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table

from labelwise import __version__
from labelwise.campaign.campaign import Campaign
from labelwise.campaign.create import contents_of
from labelwise.campaign.store.sqlite import MemoryStore
from labelwise.cli.runs import Task
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.spec import Limits, Sampling, Tables
from labelwise.tables.columns import Columns

FIRST, POOL, ROUNDS, BATCH, WORST = 40, 160, 4, 10, 4
LEVEL = 0.9
NOISE = 0.6
DAYS = 31  # between rounds, where rows are left to expire


class World:
    """A pool whose labels somebody knows, a campaign on it, and the clock."""

    def __init__(self, binary: bool, seed: int):
        self.now = datetime(2024, 1, 1, tzinfo=UTC)
        rng = np.random.default_rng([seed, binary])
        first = _rows(rng, FIRST, binary, -0.7, "first")
        pool = _rows(rng, POOL, binary, 0.0, "pool")
        self.labels = dict(zip(pool["row"], pool["label"], strict=True))
        self.guess = dict(zip(pool["row"], pool["guess"], strict=True))
        self.loss = {row: (self.labels[row] - self.guess[row]) ** 2 for row in self.labels}
        prepared = prepare(
            Tables(first, pool.drop(columns="label")),
            Columns("row", "label", prediction="guess"),
            "brier" if binary else "mse",
            sampling=Sampling(batch=BATCH),
            limits=Limits(budget=None),
            seed=seed,
        )
        self.campaign = Campaign(MemoryStore(contents_of(prepared), lambda: self.now))

    @property
    def truth(self) -> float:
        return float(np.mean(list(self.loss.values())))

    def worst(self, rows: list[str]) -> list[str]:
        return sorted(rows, key=lambda row: -self.loss[row])[:WORST]

    def ask(self) -> list[str]:
        return [str(row) for row in self.campaign.ask(BATCH)["row"]]

    def tell(self, rows: list[str], **more: Any) -> None:
        self.campaign.tell({row: self.labels[row] for row in rows}, **more)


def _rows(
    rng: np.random.Generator, size: int, binary: bool, shift: float, name: str
) -> pd.DataFrame:
    """Two features, a curved truth, and a model that saw a line; first rows from one side."""
    x = rng.normal(size=(size, 2)) + np.array([shift, 0.0])
    level = np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1]
    label, guess = level + NOISE * rng.normal(size=size), 0.7 * x[:, 0] + 0.4 * x[:, 1]
    if binary:
        chance = 1.0 / (1.0 + np.exp(-2.0 * level))
        label = (rng.uniform(size=size) < chance).astype(float)
        guess = 1.0 / (1.0 + np.exp(-2.0 * guess))
    rows = {"row": [f"{name} {row}" for row in range(size)], "x0": x[:, 0], "x1": x[:, 1]}
    return pd.DataFrame(rows | {"guess": guess, "label": label})


def _honest(world: World) -> None:
    world.tell(world.ask())


def _correct(world: World) -> None:
    rows = world.ask()
    world.tell(rows)
    to = lambda row: float(round(world.guess[row])) if _is_binary(world) else world.guess[row]
    world.campaign.correct({row: to(row) for row in world.worst(rows)}, "looked again")


def _is_binary(world: World) -> bool:
    return set(world.labels.values()) <= {0.0, 1.0}


def _without_worst(then: Callable[[World, list[str]], Any]) -> Callable[[World], None]:
    """A round whose worst rows are not told."""

    def play(world: World) -> None:
        rows = world.ask()
        worst = world.worst(rows)
        world.tell([row for row in rows if row not in worst])
        then(world, worst)

    return play


def _skip_before(world: World) -> None:
    planned = world.campaign.show(world.campaign.plan(BATCH))["row"]
    world.campaign.skip(world.worst([str(row) for row in planned]), "of no use")
    world.tell(world.ask())


def _wait(world: World, rows: list[str]) -> None:
    world.now += timedelta(days=DAYS)


def _add_good(world: World) -> None:
    world.tell(world.ask())
    state = world.campaign.state()
    free = [row for place, row in enumerate(world.labels) if place not in state.closed]
    world.tell(sorted(free, key=lambda row: world.loss[row])[:WORST], unasked="accept")


ARMS: dict[str, Callable[[World], None]] = {
    "honest": _honest,
    "correct": _correct,
    "skip": _without_worst(lambda world, rows: world.campaign.skip(rows)),
    "skip before": _skip_before,
    "fail": _without_worst(lambda world, rows: world.campaign.fail(rows)),
    "expire": _without_worst(_wait),
    "withhold": _without_worst(lambda world, rows: None),
    "add good rows": _add_good,
}
NAMES = [f"{arm}, {kind}" for kind in ("numbers", "0/1") for arm in ARMS]


def config() -> dict[str, Any]:
    """What the rows depend on besides arm and seed."""
    sizes = {"first": FIRST, "pool": POOL, "batches": ROUNDS, "batch": BATCH, "worst": WORST}
    return {"experiment": "interference", "version": __version__, "rounds": 0, **sizes}


def work(task: Task) -> list[dict[str, Any]]:
    """One campaign, and what it says at its end."""
    began = time.perf_counter()
    arm, _, kind = task.policy.partition(", ")
    world = World(kind == "0/1", task.seed)
    for _ in range(ROUNDS):
        ARMS[arm](world)
    row = {"policy": task.policy, "seed": task.seed, "round": 0}
    row |= _told(world.campaign.estimate(), world.truth)
    return [row | {"seconds": round(time.perf_counter() - began, 3)}]


def _told(estimate: Estimate, truth: float) -> dict[str, Any]:
    ends = [estimate.interval(LEVEL)]
    widest = estimate.widest(LEVEL)
    ends += [] if widest is None else [widest]
    ends += [] if estimate.uncorrected is None else [estimate.uncorrected.interval(LEVEL)]
    low, high = ends[0]
    least, most = min(one for one, _ in ends), max(one for _, one in ends)
    fates = estimate.fates
    return {
        "truth": float(f"{truth:.6g}"),
        "value": float(f"{estimate.value:.6g}"),
        "covered": int(low <= truth <= high),
        "width": float(f"{high - low:.6g}"),
        "covered_wide": int(least <= truth <= most),
        "wide": float(f"{most - least:.6g}"),
        "flagged": int(fates.interfered or fates.unasked > 0),
        "missing": fates.missing,
        "corrected": fates.corrected,
    }


def summarise(rows: pd.DataFrame, command: str) -> dict[str, Any]:
    """Of each arm: how often its intervals held, how wide they are, how often it is marked."""
    arms = {name: _arm(rows, name) for name in NAMES if name in set(rows["policy"])}
    distorted = [arm for name, arm in arms.items() if not name.startswith("honest")]
    return {
        "experiment": "interference",
        "command": command,
        "seconds": float(rows["seconds"].sum()),
        "arms": arms,
        "held_or_flagged": float(min(arm["held_or_flagged"] for arm in distorted)),
    }


def _arm(rows: pd.DataFrame, name: str) -> dict[str, Any]:
    mine = rows[rows["policy"] == name]
    honest = rows[rows["policy"] == f"honest, {name.partition(', ')[2]}"]
    usual = float(honest["width"].mean()) if len(honest) else float("nan")
    return {
        "campaigns": len(mine),
        "covered": float(mine["covered"].mean()),
        "width": float(mine["width"].mean()) / usual,
        "covered_wide": float(mine["covered_wide"].mean()),
        "wide": float(mine["wide"].mean()) / usual,
        "flagged": float(mine["flagged"].mean()),
        "held_or_flagged": float(((mine["covered_wide"] + mine["flagged"]) > 0).mean()),
    }


HEADINGS = ("arm", "headline holds", "its width", "wider interval holds", "its width", "marked")


def cells_of(name: str, arm: dict[str, Any]) -> list[str]:
    percent = lambda share: f"{100 * share:.0f} %"
    wide = (percent(arm["covered_wide"]), f"{arm['wide']:.2f}")
    held = (percent(arm["covered"]), f"{arm['width']:.2f}")
    return [name, *held, *wide, percent(arm["flagged"])]


def as_markdown(summary: dict[str, Any]) -> str:
    """The same for docs/trust.md."""
    rows = [cells_of(name, arm) for name, arm in summary["arms"].items()]
    lines = [HEADINGS, ["---"] * len(HEADINGS), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def tabulate(summary: dict[str, Any]) -> Table:
    title = "Intervals of campaigns that somebody interfered with (widths: honest is 1)"
    table = Table(title=title, box=SIMPLE)
    for heading in HEADINGS:
        table.add_column(heading)
    for name, arm in summary["arms"].items():
        table.add_row(*cells_of(name, arm))
    return table
