"""What `labelwise demo` does: a campaign as a person runs it, then many small ones, drawn.

All of it is played live on embedded patients. The campaigns of the picture have tables of the
same sizes as the first one, so that they run on programs that are compiled already.
"""

import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from labelwise.campaign.campaign import Campaign
from labelwise.campaign.store.folder import LOG
from labelwise.cli.runs import make_folder, progress_bar
from labelwise.datasets.support2 import (
    DIED,
    ID,
    LABEL,
    RISK,
    draw_support2,
    hide_labels,
    load_support2,
)
from labelwise.errors import InvalidInput
from labelwise.evaluation.answer import LEVEL
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.parts import complete_sampling
from labelwise.evaluation.prepare import Prepared, prepare
from labelwise.evaluation.spec import Limits, Sampling, Tables
from labelwise.figures import plot_comparison
from labelwise.simulation.play import play_evaluation
from labelwise.survey.intervals import mean_interval
from labelwise.tables.columns import Columns
from labelwise.tables.write import write_table

MARK = ".labelwise-demo"  # says that the campaign beside it may be made anew
POLICIES = {"planned": "lookahead", "random": "random"}  # ways, and their policies
CLASSICAL = "classical"  # the way without a belief
DEATHS, QUESTION = Columns(ID, DIED, prediction=RISK), "accuracy"
WARD = 260  # patients of whom a campaign is to tell how often the model is right
# Not every ward has patients without it, and each encoding has programs of its own.
LEFT_OUT = "creatinine"
FIRST = 70  # sepsis patients who are known; with 50 more, one padded size
BATCHES = 2  # that a campaign in the picture buys, in one round
CLEAR = 2.0  # standard errors from which on a difference is called one


def write_tables(out: Path, seed: int) -> list[Path]:
    """The demonstration's tables as files, to try the commands on.

    `answers` plays the labeller of the pool; `all` has every label, for `simulate`.
    """
    labelled, pool = draw_support2(seed)
    given = asdict(hide_labels(labelled, pool)).items()
    parts = {name: table for name, table in given if table is not None}
    tables = {**parts, "answers": pool[[ID, LABEL]], "all": load_support2()}
    make_folder(out)
    paths = [out / f"{name}.csv" for name in tables]
    for path, table in zip(paths, tables.values(), strict=True):
        write_table(table, path)
    return paths


def run_demo(
    out: Path, rounds: int, batch: int, seed: int, campaigns: int, console: Console
) -> dict[str, Any]:
    """Play everything, write campaign, rows, picture and report; return what is shown."""
    make_folder(out)
    _clear(out / "campaign")
    (out / MARK).touch()
    with progress_bar(console) as progress:
        bar = progress.add_task("one", total=rounds + 1)
        campaign, ward = _begin(out / "campaign", rounds, batch, seed)
        steps = []
        for step in _person(campaign, ward, rounds):
            steps.append(step)
            progress.advance(bar)
        bar = progress.add_task("many", total=campaigns * (len(POLICIES) + 1))
        rows = []
        for played in _many(campaigns, batch):
            rows += played
            progress.advance(bar)
    frame = pd.DataFrame(rows)
    frame.to_csv(out / "demo.csv", index=False)
    figure = out / "demo.png"
    plot_comparison(
        frame, figure, title=f"{campaigns} campaigns each way, {WARD} patients each"
    )
    return {
        "steps": steps,
        "rows": rows,
        "answers": _answers(steps, campaign.estimate()),
        "verdict": _verdict(frame),
        "figure": str(figure),
        "report": str(campaign.report(out / "report.html")),
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


class Ward(NamedTuple):
    """Patients of a campaign, and what is not known of them yet."""

    tables: Tables
    deaths: pd.Series  # of the pool's patients
    right: np.ndarray  # whether the model is right about each of them: 1 or 0

    @property
    def truth(self) -> float:
        return float(self.right.mean())


def _ward(seed: int) -> Ward:
    """Patients whose deaths are known, and others whose are to come."""
    drawn = draw_support2(seed, FIRST, WARD, death=True)
    labelled, ward = (table.drop(columns=LEFT_OUT) for table in drawn)
    right = (ward[RISK] >= 0.5) == (ward[DIED] == 1)
    return Ward(
        Tables(labelled, ward.drop(columns=DIED)), ward[DIED], right.to_numpy(dtype=float)
    )


def _begin(path: Path, rounds: int, batch: int, seed: int) -> tuple[Campaign, Ward]:
    """A campaign in a folder, and whom it is about."""
    ward, limits = _ward(seed), Limits(budget=rounds * batch)
    sampling = Sampling(batch=batch)
    parts: Any = {"sampling": sampling, "limits": limits, "seed": seed}
    return Campaign.create(path, ward.tables, DEATHS, QUESTION, **parts), ward


def _person(campaign: Campaign, ward: Ward, rounds: int) -> Iterator[dict[str, Any]]:
    """The campaign's answer before the first round and after each."""
    yield _figures(campaign.estimate(), ward.truth)
    by_id = dict(zip(ward.tables.pool[ID], ward.deaths, strict=True))
    for _ in range(rounds):
        asked = campaign.ask()
        campaign.tell(asked.assign(**{DIED: asked[ID].map(by_id)}))
        yield _figures(campaign.estimate(), ward.truth)


def _many(campaigns: int, batch: int) -> Iterator[list[dict[str, Any]]]:
    """Small campaigns, each way on the same patients, and a classical survey of them."""
    bought = BATCHES * batch
    for seed in range(campaigns):
        ward = _ward(seed)
        told = ward.deaths.astype(float)
        reveal = lambda round_, told=told: [told[row] for row in round_.rows]
        ready = prepare(ward.tables, DEATHS, QUESTION, seed=seed, telling_apart=False)
        fitted, rows = None, []  # to what is known at first, which both ways share
        for way, policy in POLICIES.items():
            start = replace(_choosing(ready, Sampling(policy, batch=bought)), fitted=fitted)
            played = list(play_evaluation(start, reveal, [bought]))
            later = played[1:] if rows else played
            rows = [*rows[:1], *(_figures(now.estimate(), ward.truth) for now, _ in later)]
            fitted = start.posterior.prior
            yield [{"way": way, "seed": seed, **row} for row in rows]
        survey = _survey(ward.right, batch, seed)
        yield [{"way": CLASSICAL, "seed": seed, **row} for row in survey]


def _survey(right: np.ndarray, batch: int, seed: int) -> Iterator[dict[str, Any]]:
    """What one would do without a belief: patients drawn uniformly, their own mean and spread.

    Of patients that can be drawn once only, the more are drawn the surer the mean.
    """
    order = np.random.default_rng([seed, 2]).permutation(len(right))
    for count in range(batch, BATCHES * batch + 1, batch):
        some = right[order[:count]]
        shrunk = some.mean() + (some - some.mean()) * np.sqrt(1.0 - count / len(right))
        low, high = mean_interval(shrunk, LEVEL)
        yield _beside_truth(
            count, float(right.mean()), some.mean(), *np.clip([low, high], 0.0, 1.0)
        )


def _choosing(ready: Prepared, sampling: Sampling) -> Evaluation:
    """The same tables, with rows chosen another way."""
    chosen = complete_sampling(sampling, ready.spec.columns, ready.tables["pool"])
    return replace(ready, spec=replace(ready.spec, sampling=chosen)).evaluation()


def _figures(estimate: Estimate, truth: float) -> dict[str, Any]:
    """The answer that leads, beside the truth."""
    return _beside_truth(estimate.bought, truth, estimate.value, *estimate.interval())


def _beside_truth(labels: int, truth: float, value: float, low: float, high: float):
    return {
        "labels": labels,
        "truth": truth,
        "estimate": float(value),
        "low": float(low),
        "high": float(high),
        "error": abs(float(value) - truth),
        "width": float(high - low),
        "held": bool(low <= truth <= high),
    }


def _answers(steps: list[dict[str, Any]], estimate: Estimate) -> list[str]:
    """What one campaign shows, a line each."""
    first, last = steps[0], steps[-1]
    off = lambda step: f"{step['estimate']:.3f}, {step['error']:.3f} off"
    return [
        f"Before any label was bought the answer was {off(first)}; after {last['labels']} "
        f"labels it is {off(last)}, and its interval {'holds' if last['held'] else 'misses'} "
        f"the truth, {last['truth']:.3f}.",
        estimate.line,
        estimate.why,
    ]


def _verdict(rows: pd.DataFrame) -> list[str]:
    """What many campaigns show, a line each: error, width and how often intervals held."""
    ends = rows[rows["labels"] == rows["labels"].max()].set_index("seed")
    ways = {way: ends[ends["way"] == way] for way in (*POLICIES, CLASSICAL)}
    said = [
        f"{way}: root mean squared error {np.sqrt(np.mean(own['error'] ** 2)):.3f}, 90 % "
        f"intervals {own['width'].mean():.3f} wide on average, held in {own['held'].sum()} of "
        f"{len(own)}"
        for way, own in ways.items()
    ]
    count = rows["labels"].max()
    planned, random, classical = ways.values()
    return [
        f"After {count} labels, {'; '.join(said)}.",
        _saved(planned, classical),
        _compared(planned, random),
    ]


def _saved(planned: pd.DataFrame, classical: pd.DataFrame) -> str:
    """Labels that a classical survey needs for an interval as narrow: by the square of it."""
    times = float((classical["width"].mean() / planned["width"].mean()) ** 2)
    return (
        "A classical survey (patients drawn uniformly, the share that the model was right "
        f"about) needs about {times:.1f} times as many labels for intervals as narrow as the "
        "planned ones."
    )


def _compared(planned: pd.DataFrame, random: pd.DataFrame) -> str:
    """Whether planning paid, by the squared errors on the same patients."""
    saved = random["error"] ** 2 - planned["error"] ** 2
    spread = float(saved.std(ddof=1)) / np.sqrt(len(saved)) if len(saved) > 1 else np.inf
    sure = float(saved.mean()) / max(spread, 1e-300)
    share = 100.0 * abs(saved.mean()) / np.mean(random["error"] ** 2)
    way = "lower" if saved.mean() > 0 else "higher"
    told = f"the planned campaigns' squared error is {share:.0f} % {way} than the random ones'"
    narrower = 100.0 * (1.0 - planned["width"].mean() / random["width"].mean())
    width = (
        f"their intervals are {abs(narrower):.0f} % {'narrower' if narrower > 0 else 'wider'}"
    )
    if abs(sure) < CLEAR:
        return (
            f"No clear difference in error: {told}, {abs(sure):.1f} standard errors from none; "
            f"{width}. Your own table may differ: see `labelwise simulate`."
        )
    return f"A clear difference: {told} ({abs(sure):.1f} standard errors); {width}."


def tabulate(outcome: dict[str, Any]) -> Table:
    """One campaign for people: its answer after each round."""
    truth = outcome["steps"][0]["truth"]
    table = Table(
        title=f"One campaign: accuracy of a risk of death, {WARD} patients ({truth:.3f})"
    )
    for heading in ("labels", "estimate", "90 % interval", "off"):
        table.add_column(heading, justify="right", no_wrap=True)
    for step in outcome["steps"]:
        interval = f"{step['low']:.3f}–{step['high']:.3f}"
        cells = f"{step['estimate']:.3f}", interval, f"{step['error']:.3f}"
        table.add_row(str(step["labels"]), *cells)
    return table
