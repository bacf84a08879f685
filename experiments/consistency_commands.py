"""Commands of the posterior-consistency benchmark."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from experiments.running import choose, command, one_sentence, report

Out = Annotated[Path, typer.Option(help="Folder for rows, summary and figures.")]
Data = Annotated[Path | None, typer.Option(help="Folder with a folder for each real data set.")]
Sets = Annotated[
    list[str] | None, typer.Option("--set", help="Only this data set; repeat for several.")
]
Agents = Annotated[
    list[str] | None, typer.Option("--agent", help="Only this agent; repeat for several.")
]
Seeds = Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1, of splits and weights.")]
Steps = Annotated[
    int | None, typer.Option(min=1, help="Steps of training, for a trial; default: as usual.")
]
Members = Annotated[int, typer.Option(min=1, help="Of ensembles; fewer for a trial.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes, here or of a local cluster.")]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Address of a Dask cluster, or local; default: joblib's processes."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]
OPTIONS = ("usual", "decay", "prior_scale")


def register(app: typer.Typer) -> None:
    """Add the commands to those of the other studies."""
    for one in (ood, dynamic, tradeoff, sensitivity, hyperparameters):
        app.command(one.__name__)(one)
    app.command("belief-check")(belief_check)


def ood(
    out: Out,
    data: Data = None,
    set_: Sets = None,
    agent: Agents = None,
    bias: Annotated[
        list[str] | None,
        typer.Option(help="Only linear, linear-rank or clusters; repeat for several."),
    ] = None,
    seeds: Seeds = 1,
    steps: Steps = None,
    members: Members = 100,
    jobs: Jobs = 2,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Joint log-loss out of distribution against the strength of a selection bias.

    Example: python -m experiments ood --data ../shared/data --out results/ood
    """
    from experiments.consistency_cases import CLUSTERS, LINEAR, RANKED

    with one_sentence():
        wanted = (
            choose(bias, [CLUSTERS, LINEAR, RANKED], "bias") if bias else [CLUSTERS, LINEAR]
        )
        grid = _grid("ood", set_, agent, wanted, seeds)
        _run("ood", grid, out, _protocol(data, steps, members), (jobs, scheduler), as_json)


def dynamic(
    out: Out,
    data: Data = None,
    set_: Sets = None,
    agent: Agents = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="usual (the default), or sweep decay or prior_scale; repeat."),
    ] = None,
    seeds: Seeds = 1,
    steps: Steps = None,
    members: Members = 100,
    jobs: Jobs = 2,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Joint log-loss before and after labels from a far cluster: do beliefs sharpen?

    Example: python -m experiments dynamic --data ../shared/data --out results/dynamic
    """
    with one_sentence():
        wanted = choose(option, OPTIONS, "option") if option else ["usual"]
        grid = _grid("dynamic", set_, agent, wanted, seeds)
        _run("dynamic", grid, out, _protocol(data, steps, members), (jobs, scheduler), as_json)


def tradeoff(
    out: Out,
    data: Data = None,
    set_: Sets = None,
    agent: Agents = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Only prior_scale, decay or steps; repeat for several."),
    ] = None,
    seeds: Seeds = 1,
    steps: Steps = None,
    members: Members = 100,
    jobs: Jobs = 2,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Joint log-loss inside against outside, over prior scale, weight decay, stopping time.

    Example: python -m experiments tradeoff --set support2 --out results/tradeoff
    """
    with one_sentence():
        wanted = choose(option, ["prior_scale", "decay", "steps"], "option")
        grid = _grid("tradeoff", set_, agent, wanted, seeds)
        _run("tradeoff", grid, out, _protocol(data, steps, members), (jobs, scheduler), as_json)


def sensitivity(
    out: Out,
    data: Data = None,
    set_: Sets = None,
    agent: Agents = None,
    seeds: Seeds = 1,
    steps: Steps = None,
    members: Members = 100,
    jobs: Jobs = 2,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Joint log-loss and its scatter over inference seeds, when training stops early.

    Example: python -m experiments sensitivity --set support2 --out results/sensitivity
    """
    with one_sentence():
        grid = _grid("sensitivity", set_, agent, ["steps"], seeds)
        engine = (jobs, scheduler)
        _run("sensitivity", grid, out, _protocol(data, steps, members), engine, as_json)


def hyperparameters(
    out: Out,
    data: Data = None,
    set_: Sets = None,
    agent: Agents = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Only grid or learning_rate; repeat for both.")
    ] = None,
    seeds: Seeds = 1,
    steps: Steps = None,
    members: Members = 100,
    jobs: Jobs = 2,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Joint log-loss over the paper's grids of hyper-parameters, and the best of each agent.

    Example: python -m experiments hyperparameters --set support2 --out results/hyper
    """
    with one_sentence():
        wanted = choose(option, ["grid", "learning_rate"], "option")
        grid = _grid("hyperparameters", set_, agent, wanted, seeds)
        engine = (jobs, scheduler)
        _run("hyperparameters", grid, out, _protocol(data, steps, members), engine, as_json)


def belief_check(
    out: Out,
    data: Data = None,
    set_: Sets = None,
    made_up: Annotated[int, typer.Option(min=0, help="Made-up campaigns.")] = 10,
    seeds: Annotated[int, typer.Option(min=0, help="Campaigns a real table.")] = 1,
    jobs: Jobs = 2,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Does the check of beliefs choose well? On made-up campaigns and on real tables.

    Example: python -m experiments belief-check --data ../shared/data --out results/check
    """
    from experiments import belief_check as study
    from experiments.sweep import Engine, Sweep

    with one_sentence():
        names = choose(set_, study.REAL, "set")
        work = partial(study.work, data=None if data is None else str(data))
        grid = study.tasks(made_up, seeds, tuple(names))
        sweep, engine = Sweep(out, {"study": "belief-check"}), Engine(jobs, scheduler)
        rows = sweep.run(grid, work, engine, Console(stderr=True))
    report(study.summarise(rows, command()), out, as_json, study.tabulate)


def _protocol(data: Path | None, steps: int | None, members: int) -> Any:
    from experiments.consistency_agents import Training
    from experiments.consistency_cases import Protocol

    training = Training(members=members, steps=steps)
    return Protocol(None if data is None else str(data), training=training)


def _as_in_the_paper(study: str, protocol: Any) -> Any:
    """Ten inference seeds out of distribution, one elsewhere."""
    return protocol if study == "ood" else replace(protocol, inference=1)


def _grid(study: str, sets, agents, abouts: list[str], seeds: int) -> list[Any]:
    """Every task, seed after seed, so that a run cut short has as many of every agent."""
    from experiments import consistency as studies
    from experiments.consistency_cases import SYNTHETIC
    from experiments.consistency_data import MAIN, SOURCES

    usual = [*MAIN, *([SYNTHETIC] if study == "ood" else [])]
    names = choose(sets, [*SOURCES, SYNTHETIC], "set") if sets else usual
    return [
        studies.make_task(study, name, about, agent, seed)
        for seed in range(seeds)
        for about in abouts
        for name in names
        if studies.is_on(study, name, about)
        for agent in studies.agents_of(study, name, about, agents)
    ]


def _run(study: str, grid, out: Path, protocol, engine: tuple, as_json: bool) -> None:
    from experiments import consistency as studies
    from experiments import consistency_report as told
    from experiments.sweep import Engine, Sweep

    protocol = _as_in_the_paper(study, protocol)
    config = {"study": study, **protocol.to_dict()}
    work = partial(studies.STUDIES[study], protocol=protocol)
    rows = Sweep(out, config).run(grid, work, Engine(*engine), Console(stderr=True))
    summary = told.summarise(study, rows, command())
    told.draw(study, rows, out)
    report(summary, out, as_json, told.tabulate)
