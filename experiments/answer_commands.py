"""Commands of the studies behind the answer: how often it holds, what it was learnt from."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from experiments.running import choose, command, one_sentence, report, run

Out = Annotated[Path, typer.Option(help="Folder for rows, summary and figures.")]
Cache = Annotated[
    Path | None, typer.Option(help="Folder for prepared tables, to start faster.")
]
Jobs = Annotated[int, typer.Option(min=1, help="Processes.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands to those of the other studies."""
    every = (coverage, settings, metrics, peers, calibration, interference, corpus, prior)
    for one in (*every, intake):
        app.command(one.__name__)(one)
    app.command("two-phase")(two_phase)


def coverage(
    out: Out,
    campaigns: Annotated[int, typer.Option(min=1, help="Campaigns a problem.")] = 500,
    data: Annotated[
        Path | None, typer.Option(help="Folder with a folder for each real data set.")
    ] = None,
    problem: Annotated[
        list[str] | None, typer.Option(help="Only this problem; repeat for several.")
    ] = None,
    cache: Cache = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            help="Also play plain (one best fit), planned (no draws), by-loss or uniform "
            "(other draws); repeat."
        ),
    ] = None,
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """How often intervals hold the truth, on real and made-up problems, belief right or wrong.

    Example: python -m experiments coverage --campaigns 500 --data ../shared/data --out results
    """
    from experiments import coverage as study
    from experiments.coverage_report import plot, tabulate

    with one_sentence():
        names = choose(problem, study.CELLS, "problem")
        also = choose(variant, study.ALSO, "variant") if variant else []
        work = study.work(data, cache, also)
        # Seed after seed, so that a run cut short has as many campaigns of every problem.
        rows = run(out, study.config(also), work, names, campaigns, jobs, by_seed=True)
    summary = study.summarise(rows, command())
    plot(summary, out)
    report(summary, out, as_json, tabulate)


def settings(
    out: Out,
    campaigns: Annotated[int, typer.Option(min=1, help="Of each arm.")] = 300,
    main: Annotated[
        int | None,
        typer.Option(
            min=1, help="Of arms on all tables (as usual, other models); default: as of others."
        ),
    ] = None,
    arm: Annotated[
        list[str] | None, typer.Option(help="Only this arm; repeat for several.")
    ] = None,
    cache: Cache = None,
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """How often intervals hold in other settings, on tables that nothing was tuned on.

    Example: python -m experiments settings --campaigns 300 --out results/settings
    """
    import pandas as pd

    from experiments import settings as study
    from experiments.settings_arms import arms, is_on_all_tables
    from experiments.settings_report import summarise, tabulate

    with one_sentence():
        names, config, work = choose(arm, arms(), "arm"), study.config(), study.work(cache)
        parts = {True: main or campaigns, False: campaigns}
        rows = [
            run(out, config, work, mine, count, jobs, by_seed=True)
            for everywhere, count in parts.items()
            if (mine := [name for name in names if is_on_all_tables(name) == everywhere])
        ]
    report(summarise(pd.concat(rows), command()), out, as_json, tabulate)


def metrics(
    out: Out,
    seeds: Annotated[int, typer.Option(min=1, help="Campaigns a table.")] = 300,
    data: Annotated[
        Path | None, typer.Option(help="Folder with a folder for each real data set.")
    ] = None,
    kind: Annotated[str, typer.Option(help="Metrics of classes (class) or of numbers.")] = (
        "class"
    ),
    table: Annotated[
        list[str] | None, typer.Option(help="Only this table; repeat for several.")
    ] = None,
    cache: Cache = None,
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """How often intervals of AUC, calibration, median error, ... hold, on real tables.

    Example: python -m experiments metrics --seeds 300 --data ../shared/data --out results
    """
    from experiments import metrics as study

    with one_sentence():
        (kind,) = choose([kind], study.ASKED, "kind")
        names = choose(table, study.tables(kind), "table")
        work = study.work(data, cache)
        rows = run(out, study.config(kind), work, names, seeds, jobs, by_seed=True)
    report(study.summarise(rows, command()), out, as_json, study.tabulate)


def peers(
    out: Out,
    data: Annotated[Path, typer.Option(help="Folder with the folder ppi/.")],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 300,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Only this set; repeat for several.")
    ] = None,
    glide: Annotated[
        str | None,
        typer.Option(
            help="A Python whose environment has glide-py: measures the same draws with it."
        ),
    ] = None,
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """Labels for the same width, beside prediction-powered and active inference.

    Example: python -m experiments peers --seeds 300 --data ../shared/data --out results/peers
    """
    from experiments import peers as study
    from experiments import peers_glide

    with one_sentence():
        names = choose(set_, study.SETS, "set")
        rows = run(out, study.config(), study.work(data), names, seeds, jobs, by_seed=True)
        if glide is not None:
            peers_glide.write(rows, glide, out, partial(study.load, folder=data), study.draw)
        rows = peers_glide.beside(rows, out)
    report(study.summarise(rows, command()), out, as_json, study.tabulate)


def calibration(
    out: Out,
    seeds: Annotated[
        int, typer.Option(min=1, help="Campaigns a table; large ones a third of it.")
    ] = 3,
    kind: Annotated[
        list[str] | None, typer.Option(help="Only tables of classes, or of numbers.")
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            help="Only usual (50 labels of 300 rows) or large campaigns (250 of 1,000)."
        ),
    ] = None,
    cache: Cache = None,
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """How far beliefs are off beyond their own spread, on the tables of the corpus.

    Example: python -m experiments calibration --out results/calibration
    """
    import pandas as pd

    from experiments import calibration as study

    with one_sentence():
        kinds, sizes = choose(kind, study.KINDS, "kind"), choose(size, study.SIZES, "size")
        config, work, rows = study.config(), study.work(cache), []
        for one in sizes:
            often = max(1, seeds // study.SIZES[one].share)
            names = study.arms(kinds, one)
            rows.append(run(out, config, work, names, often, jobs, by_seed=True))
    summary = study.summarise(pd.concat(rows, ignore_index=True), command())
    report(summary, out, as_json, study.tabulate)


def interference(
    out: Out,
    campaigns: Annotated[int, typer.Option(min=1, help="Of each arm.")] = 14,
    arm: Annotated[
        list[str] | None, typer.Option(help="Only this arm; repeat for several.")
    ] = None,
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """Intervals of campaigns whose worst rows somebody corrects, skips, withholds, ...

    Example: python -m experiments interference --campaigns 14 --out results/interference
    """
    from experiments import interference as study

    with one_sentence():
        names = choose(arm, study.NAMES, "arm")
        rows = run(out, study.config(), study.work, names, campaigns, jobs)
    report(study.summarise(rows, command()), out, as_json, study.tabulate)


def corpus(
    out: Out,
    cache: Cache = None,
    as_json: AsJson = False,
) -> None:
    """The tables from which priors are learnt, and how good two models on each are.

    Example: python -m experiments corpus --out results/corpus
    """
    from experiments import corpus as study

    with one_sentence():
        summary = study.summarise(command(), cache)
    out.mkdir(parents=True, exist_ok=True)
    report(summary, out, as_json, study.tabulate)


def prior(
    out: Out,
    cache: Cache = None,
    as_json: AsJson = False,
) -> None:
    """The prior that the corpus teaches of models' outputs, and how it does on other studies.

    Example: python -m experiments prior --out results/prior
    """
    from experiments import prior as study
    from labelwise.cli.runs import progress_bar

    with one_sentence(), progress_bar(Console(stderr=True)) as progress:
        bar = progress.add_task("prior", total=study.total())
        summary = study.summarise(command(), cache, lambda: progress.advance(bar))
    out.mkdir(parents=True, exist_ok=True)
    report(summary, out, as_json, study.tabulate)


def intake(
    out: Out,
    campaigns: Annotated[int, typer.Option(min=1, help="Campaigns a problem.")] = 300,
    problem: Annotated[
        list[str] | None, typer.Option(help="Only this problem; repeat for several.")
    ] = None,
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """Several classes on two real tables, and an evaluation matrix: starts without labels.

    Example: python -m experiments intake --campaigns 300 --out results/intake
    """
    from experiments import intake as study

    with one_sentence():
        names = choose(problem, study.PROBLEMS, "problem")
        rows = run(out, study.config(), study.work, names, campaigns, jobs, by_seed=True)
    report(study.summarise(rows, command()), out, as_json, study.tabulate)


def two_phase(
    out: Out,
    replicates: Annotated[int, typer.Option(min=1, help="Replicates a problem.")] = 2000,
    of_rarest: Annotated[
        int, typer.Option(min=1, help="Replicates of the rarest class, in either design.")
    ] = 200,
    jobs: Jobs = 1,
    as_json: AsJson = False,
) -> None:
    """Answers about a pool of which a campaign has a sample: unbiased, and intervals that hold.

    Example: python -m experiments two-phase --replicates 2000 --out results/two-phase
    """
    from experiments import two_phase as study
    from experiments.sweep import Engine, Sweep

    config = {"rows": study.ROWS, "sample": study.SAMPLE, "draws": study.DRAWS}
    config |= {"many": study.MANY, "large": study.LARGE, "seed": study.SEED}
    with one_sentence():
        sweep = Sweep(out, config)
        tasks = study.tasks(replicates, of_rarest)
        rows = sweep.run(tasks, study.work, Engine(jobs), Console(stderr=True))
    report(study.summarise(rows, command()), out, as_json, study.tabulate)
