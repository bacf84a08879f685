"""What `labelwise demo` does: two real campaigns on embedded data, one planned, one random."""

import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from labelwise.campaign.campaign import Campaign
from labelwise.campaign.store.folder import LOG
from labelwise.cli.runs import make_folder, progress_bar
from labelwise.datasets.support2 import (
    COLUMNS,
    ID,
    LABEL,
    draw_support2,
    hide_labels,
    load_support2,
    true_error,
)
from labelwise.errors import InvalidInput
from labelwise.evaluation.spec import Limits, Sampling
from labelwise.figures import plot_intervals
from labelwise.simulation.play import play
from labelwise.tables.write import write_table

MARK = ".labelwise-demo"  # says that the campaigns beside it may be made anew
POLICIES = {"planned": "lookahead", "random": "random"}  # folder and policy


def write_tables(out: Path, seed: int) -> list[Path]:
    """The demonstration's tables as files, to try the commands on.

    `answers` plays the labeller of the pool; `all` has every label, for `simulate`.
    """
    labelled, pool = draw_support2(seed)
    parts = asdict(hide_labels(labelled, pool))
    tables = {**parts, "answers": pool[[ID, LABEL]], "all": load_support2()}
    make_folder(out)
    paths = [out / f"{name}.csv" for name in tables]
    for path, table in zip(paths, tables.values(), strict=True):
        write_table(table, path)
    return paths


def run_demo(out: Path, rounds: int, batch: int, seed: int, console: Console) -> dict[str, Any]:
    """Play both campaigns, write rows, figure and report, and return what the table shows."""
    make_folder(out)
    for name in POLICIES:
        _clear(out / name)
    (out / MARK).touch()
    truth = true_error()
    rows: list[dict[str, Any]] = []
    with progress_bar(console) as progress:
        for name, policy in POLICIES.items():
            bar = progress.add_task(name, total=rounds + 1)
            for row in _play(out / name, Sampling(policy, batch=batch), rounds, seed):
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


def _play(path: Path, sampling: Sampling, rounds: int, seed: int) -> Iterator[dict[str, Any]]:
    """A campaign from sepsis patients about all patients: its answer after each round."""
    labelled, pool = draw_support2(seed)
    limits = Limits(budget=rounds * sampling.batch)
    campaign = Campaign.create(
        path,
        hide_labels(labelled, pool),
        COLUMNS,
        sampling=sampling,
        limits=limits,
        seed=seed,
    )
    records = pool.set_index(ID)[LABEL]
    reveal = lambda asked: asked.assign(**{LABEL: asked[ID].map(records)})
    for _ in play(_Played(campaign), reveal, [sampling.batch] * rounds):
        estimate = campaign.estimate()
        low, high = estimate.interval()
        yield {
            "labels": estimate.bought,
            "estimate": estimate.value,
            "std": estimate.std,
            "low": low,
            "high": high,
        }


@dataclass(frozen=True)
class _Played:
    """A campaign in its folder, as the loop plays it."""

    campaign: Campaign

    def ask(self, n: int) -> pd.DataFrame:
        return self.campaign.ask(n)

    def tell(self, round_: pd.DataFrame, labels: pd.DataFrame) -> "_Played":
        self.campaign.tell(labels)
        return self


def _answers(campaign: Campaign) -> list[str]:
    """Both answers of the planned campaign, and why one comes first; a line each."""
    estimate = campaign.estimate()
    other = [] if estimate.other is None else [estimate.other]
    return [f"The planned campaign: {estimate.line}", *other, estimate.why]


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


def tabulate(outcome: dict[str, Any]) -> Table:
    """A table for people."""
    table = Table(title=f"Mean squared error on all patients (truth {outcome['truth']:.4f})")
    table.add_column("labels", justify="right")
    for policy in POLICIES.values():
        table.add_column(policy, justify="right", no_wrap=True)
        table.add_column("90 % interval", justify="right", no_wrap=True)
    rows = pd.DataFrame(outcome["rows"])
    for labels, both in rows.groupby("labels"):
        cells = []
        for policy in POLICIES.values():
            mine = both[both["policy"] == policy].iloc[0]
            cells += [f"{mine['estimate']:.3f}", f"{mine['low']:.3f}–{mine['high']:.3f}"]
        table.add_row(str(labels), *cells)
    return table
