"""What `labelwise demo` does: two real campaigns on embedded data, one planned, one random."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from labelwise.campaign.campaign import Campaign
from labelwise.campaign.store.folder import LOG
from labelwise.datasets.support2 import ID, LABEL, PREDICTION, draw_support2, load_support2
from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Limits, Sampling, Tables
from labelwise.figures import plot_intervals
from labelwise.simulation.play import play
from labelwise.tables.columns import Columns
from labelwise.tables.write import write_table

MARK = ".labelwise-demo"  # says that the campaigns beside it may be made anew
POLICIES = {"planned": "lookahead", "random": "random"}  # folder and policy


def write_tables(out: Path, seed: int) -> list[Path]:
    """The demonstration's tables as files, to try the commands on.

    `answers` plays the labeller of the pool; `all` has every label, for `simulate`.
    """
    labelled, pool = draw_support2(seed)
    tables = {
        "labelled": labelled,
        "pool": pool.drop(columns=LABEL),
        "target": load_support2().drop(columns=LABEL),
        "answers": pool[[ID, LABEL]],
        "all": load_support2(),
    }
    _make_folder(out)
    paths = [out / f"{name}.csv" for name in tables]
    for path, table in zip(paths, tables.values(), strict=True):
        write_table(table, path)
    return paths


def run_demo(out: Path, rounds: int, batch: int, seed: int, console: Console) -> dict[str, Any]:
    """Play both campaigns, write rows, figure and report, and return what the table shows."""
    _make_folder(out)
    for name in POLICIES:
        _clear(out / name)
    (out / MARK).touch()
    truth = true_error(load_support2())
    rows: list[dict[str, Any]] = []
    with Progress(
        TextColumn("{task.description:10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    ) as progress:
        for name, policy in POLICIES.items():
            bar = progress.add_task(f"{name}", total=rounds + 1)
            sampling = Sampling(policy, batch=batch)
            campaign = create_campaign(out / name, sampling, rounds * batch, seed)
            for row in play_campaign(campaign, rounds, seed):
                rows.append({"policy": policy, "seed": seed, **row})
                progress.advance(bar)
    frame = pd.DataFrame(rows)
    frame.to_csv(out / "demo.csv", index=False)
    figure = out / "demo.png"
    plot_intervals(frame, truth, figure, title="Error of a cost model on all patients")
    planned = Campaign.open(out / "planned")
    report = planned.report(out / "report.html")
    return {
        "truth": truth,
        "truth_is": "mean squared error over all patients",
        "rows": rows,
        "answers": _answers(planned),
        "verdict": _verdict(frame, truth),
        "figure": str(figure),
        "report": str(report),
    }


def create_campaign(
    path: Path, sampling: Sampling, budget: int, seed: int, belief: Any = "auto"
) -> Campaign:
    """A campaign that starts from sepsis patients and is about all patients."""
    labelled, pool = draw_support2(seed)
    hidden = lambda table: table.drop(columns=LABEL)
    return Campaign.create(
        path,
        Tables(labelled, hidden(pool), hidden(load_support2())),
        Columns(id=ID, label=LABEL, prediction=PREDICTION),
        belief=belief,
        sampling=sampling,
        limits=Limits(budget=budget),
        seed=seed,
    )


def _clear(path: Path) -> None:
    """Remove the campaign of an earlier demonstration, and never one of the user's."""
    if not path.exists():
        return
    if not (path.parent / MARK).exists() or not (path / LOG).exists():
        raise InvalidInput(
            f"{path} exists and was not made by the demonstration",
            "choose another --out",
            where=str(path),
        )
    shutil.rmtree(path)


def play_campaign(
    campaign: Campaign, rounds: int, seed: int, believed: bool = False
) -> Iterator[dict[str, Any]]:
    """Ask, look the answers up, tell; the estimate after each round, or the belief's alone."""
    answers = draw_support2(seed)[1].set_index(ID)[LABEL]
    reveal = lambda asked: asked.assign(**{LABEL: asked[ID].map(answers)})
    sizes = [campaign.spec.sampling.batch] * rounds
    for played, _ in play(_Played(campaign), reveal, sizes):
        yield _row(played.campaign, played.campaign.status().pool["labelled"], believed)


@dataclass(frozen=True)
class _Played:
    """A campaign in its folder, as the loop plays it."""

    campaign: Campaign

    def ask(self, n: int) -> pd.DataFrame:
        return self.campaign.ask(n)

    def tell(self, round_: pd.DataFrame, labels: pd.DataFrame) -> "_Played":
        self.campaign.tell(labels)
        return self


def _row(campaign: Campaign, labels: int, believed: bool) -> dict[str, Any]:
    found = campaign.estimate()
    shown = found.credible if believed else found.lead
    low, high = shown.interval()
    return {
        "labels": labels,
        "estimate": shown.value,
        "std": shown.std,
        "low": low,
        "high": high,
    }


def _answers(campaign: Campaign) -> list[str]:
    """Both answers of the planned campaign, and why one comes first; a line each."""
    found = campaign.estimate()
    other = [] if found.other is None else [found.other]
    return [f"The planned campaign: {found.line}", *other, found.why]


def true_error(patients: pd.DataFrame) -> float:
    """The mean squared error over all patients, which the campaigns try to find out."""
    return float(np.mean((patients[LABEL] - patients[PREDICTION]) ** 2))


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"Cannot write to {out}: {error.strerror}", "choose another --out", where=str(out)
        ) from None


def _verdict(frame: pd.DataFrame, truth: float) -> str:
    """What this campaign shows, and how little one campaign proves."""
    last = frame[frame["labels"] == frame["labels"].max()].set_index("policy")
    planned, chance = (last.loc[policy] for policy in POLICIES.values())
    off = lambda row: f"{abs(row['estimate'] - truth):.3f} off (claiming ± {row['std']:.3f})"
    return (
        f"The model's builders would have said {frame['estimate'].iloc[0]:.3f}. After "
        f"{frame['labels'].max()} labels the planned campaign is {off(planned)}, the random "
        f"one {off(chance)}. One campaign proves little: the README has the averages of many, "
        "or `labelwise simulate` on your own table."
    )


def tabulate(found: dict[str, Any]) -> Table:
    """A table for people."""
    table = Table(title=f"Mean squared error on all patients (truth {found['truth']:.4f})")
    table.add_column("labels", justify="right")
    for policy in POLICIES.values():
        table.add_column(policy, justify="right", no_wrap=True)
        table.add_column("90 % interval", justify="right", no_wrap=True)
    rows = pd.DataFrame(found["rows"])
    for labels, both in rows.groupby("labels"):
        cells = []
        for policy in POLICIES.values():
            mine = both[both["policy"] == policy].iloc[0]
            cells += [f"{mine['estimate']:.3f}", f"{mine['low']:.3f}–{mine['high']:.3f}"]
        table.add_row(str(labels), *cells)
    return table
