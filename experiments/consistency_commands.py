"""Commands of the posterior-consistency benchmark."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from experiments.running import choose, command, one_sentence, report
from labelwise.cli.records import with_records

Sets = Annotated[
    list[str] | None, typer.Option("--set", help="Only this data set; repeat for several.")
]
OPTIONS = ("usual", "decay", "prior_scale")


@dataclass(frozen=True)
class Run:
    """Where tasks run, and what becomes of their results."""

    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figures.")]
    data: Annotated[
        Path | None, typer.Option(help="Folder with a folder for each real data set.")
    ] = None
    jobs: Annotated[int, typer.Option(min=1, help="Processes, here or of a local cluster.")] = 2
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask cluster, or local; default: joblib's processes."),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False


@dataclass(frozen=True)
class Scope:
    """Which data sets and agents, how often, and how long they learn."""

    set_: Sets = None
    agent: Annotated[
        list[str] | None, typer.Option(help="Only this agent; repeat for several.")
    ] = None
    seeds: Annotated[
        int, typer.Option(min=1, help="Seeds 0 to N-1, of splits and weights.")
    ] = 1
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Steps of training, for a trial; default: as usual."),
    ] = None
    members: Annotated[int, typer.Option(min=1, help="Of ensembles; fewer for a trial.")] = 100


def register(app: typer.Typer) -> None:
    """Add the commands to those of the other studies."""
    for one in (ood, dynamic, tradeoff, sensitivity, hyperparameters):
        app.command(one.__name__)(with_records(one))
    app.command("belief-check")(with_records(belief_check))


def ood(
    run: Run,
    scope: Scope,
    bias: Annotated[
        list[str] | None,
        typer.Option(help="Only linear, linear-rank or clusters; repeat for several."),
    ] = None,
) -> None:
    """Joint log-loss out of distribution against the strength of a selection bias.

    Example: python -m experiments ood --data ../shared/data --out results/ood
    """
    from experiments.consistency_cases import CLUSTERS, LINEAR, RANKED

    with one_sentence():
        known = [CLUSTERS, LINEAR, RANKED]
        wanted = choose(bias, known, "bias") if bias else [CLUSTERS, LINEAR]
        _run("ood", run, scope, wanted)


def dynamic(
    run: Run,
    scope: Scope,
    option: Annotated[
        list[str] | None,
        typer.Option(help="usual (the default), or sweep decay or prior_scale; repeat."),
    ] = None,
) -> None:
    """Joint log-loss before and after labels from a far cluster: do beliefs sharpen?

    Example: python -m experiments dynamic --data ../shared/data --out results/dynamic
    """
    with one_sentence():
        wanted = choose(option, OPTIONS, "option") if option else ["usual"]
        _run("dynamic", run, scope, wanted)


def tradeoff(
    run: Run,
    scope: Scope,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Only prior_scale, decay or steps; repeat for several."),
    ] = None,
) -> None:
    """Joint log-loss inside against outside, over prior scale, weight decay, stopping time.

    Example: python -m experiments tradeoff --set support2 --out results/tradeoff
    """
    with one_sentence():
        wanted = choose(option, ["prior_scale", "decay", "steps"], "option")
        _run("tradeoff", run, scope, wanted)


def sensitivity(run: Run, scope: Scope) -> None:
    """Joint log-loss and its scatter over inference seeds, when training stops early.

    Example: python -m experiments sensitivity --set support2 --out results/sensitivity
    """
    with one_sentence():
        _run("sensitivity", run, scope, ["steps"])


def hyperparameters(
    run: Run,
    scope: Scope,
    option: Annotated[
        list[str] | None, typer.Option(help="Only grid or learning_rate; repeat for both.")
    ] = None,
) -> None:
    """Joint log-loss over the paper's grids of hyper-parameters, and the best of each agent.

    Example: python -m experiments hyperparameters --set support2 --out results/hyper
    """
    with one_sentence():
        wanted = choose(option, ["grid", "learning_rate"], "option")
        _run("hyperparameters", run, scope, wanted)


def belief_check(
    run: Run,
    set_: Sets = None,
    made_up: Annotated[int, typer.Option(min=0, help="Made-up campaigns.")] = 10,
    seeds: Annotated[int, typer.Option(min=0, help="Campaigns a real table.")] = 1,
) -> None:
    """Does the check of beliefs choose well? On made-up campaigns and on real tables.

    Example: python -m experiments belief-check --data ../shared/data --out results/check
    """
    from experiments import belief_check as study
    from experiments.sweep import Engine, Sweep

    with one_sentence():
        names = choose(set_, study.REAL, "set")
        work = partial(study.work, data=None if run.data is None else str(run.data))
        grid = study.tasks(made_up, seeds, tuple(names))
        sweep, engine = (
            Sweep(run.out, {"study": "belief-check"}),
            Engine(run.jobs, run.scheduler),
        )
        rows = sweep.run(grid, work, engine, Console(stderr=True))
    report(study.summarise(rows, command()), run.out, run.as_json, study.tabulate)


def _run(study: str, run: Run, scope: Scope, abouts: list[str]) -> None:
    from experiments import consistency as studies
    from experiments import consistency_report as told
    from experiments.sweep import Engine, Sweep

    protocol = _protocol(study, run, scope)
    config = {"study": study, **protocol.to_dict()}
    work = partial(studies.STUDIES[study], protocol=protocol)
    engine = Engine(run.jobs, run.scheduler)
    grid = _grid(study, scope, abouts)
    rows = Sweep(run.out, config).run(grid, work, engine, Console(stderr=True))
    summary = told.summarise(study, rows, command())
    told.draw(study, rows, run.out)
    report(summary, run.out, run.as_json, told.tabulate)


def _protocol(study: str, run: Run, scope: Scope) -> Any:
    """As in the paper: ten inference seeds out of distribution, one elsewhere."""
    from experiments.consistency_agents import Training
    from experiments.consistency_cases import Protocol

    training = Training(members=scope.members, steps=scope.steps)
    protocol = Protocol(None if run.data is None else str(run.data), training=training)
    return protocol if study == "ood" else replace(protocol, inference=1)


def _grid(study: str, scope: Scope, abouts: list[str]) -> list[Any]:
    """Every task, seed after seed, so that a run cut short has as many of every agent."""
    from experiments import consistency as studies
    from experiments.consistency_cases import SYNTHETIC
    from experiments.consistency_data import MAIN, SOURCES

    usual = [*MAIN, *([SYNTHETIC] if study == "ood" else [])]
    names = choose(scope.set_, [*SOURCES, SYNTHETIC], "set") if scope.set_ else usual
    return [
        studies.make_task(study, name, about, agent, seed)
        for seed in range(scope.seeds)
        for about in abouts
        for name in names
        if studies.is_on(study, name, about)
        for agent in studies.agents_of(study, name, about, scope.agent)
    ]
