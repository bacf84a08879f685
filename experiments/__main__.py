"""`python -m experiments NAME`: run a study, resume it, print its table."""

import json
import sys
from collections.abc import Iterable
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from labelwise.cli import prepare_process
from labelwise.errors import LabelwiseError

prepare_process()  # before a study starts numpy and JAX; compiled programs are kept
app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


class Variant(StrEnum):
    paper = "paper"
    authors = "authors"


class Dataset(StrEnum):
    physionet2012 = "physionet2012"
    eicu_demo = "eicu-demo"


class Trial(StrEnum):
    acic2016 = "acic2016"
    actg175 = "actg175"


@app.callback()
def main() -> None:
    """Studies of Labelwise, one for each figure or table."""


@app.command("synthetic-gp")
def synthetic_gp(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figures.")],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 10,
    variant: Annotated[
        Variant, typer.Option(help="The paper's text, or the authors' data and protocol.")
    ] = Variant.paper,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the authors' files (variant authors).")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="Only this policy; repeat for several.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Seven policies on clustered data with a Gaussian-process belief (the paper's figures).

    Example: python -m experiments synthetic-gp --seeds 10 --out results/synthetic-gp
    """
    from experiments import synthetic_gp as study
    from experiments.reporting import tabulate

    with _one_sentence():
        names = _choose(policy, study.policies(variant))
        rows = _run(
            out, study.config(variant, data), study.work(variant, data), names, seeds, jobs
        )
    study.draw(rows, out, variant)
    _report(study.summarise(rows, variant, _command()), out, as_json, tabulate)


@app.command("real-gp")
def real_gp(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figures.")],
    data: Annotated[Path, typer.Option(help="Folder of the data set's files.")],
    dataset: Annotated[
        Dataset, typer.Option(help="eicu-demo reads the full database as well.")
    ] = Dataset.eicu_demo,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 10,
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit hyper-parameters each round, to known labels.")
    ] = False,
    policy: Annotated[
        list[str] | None, typer.Option(help="Only this policy; repeat for several.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Seven policies on intensive-care patients, labelled at first in one cluster.

    Example: python -m experiments real-gp --data FOLDER --out results/real-gp
    """
    from experiments import real_gp as study
    from experiments.reporting import tabulate

    with _one_sentence():
        names = _choose(policy, study.policies())
        work = study.work(dataset, data, refit)
        rows = _run(out, study.config(dataset, data, refit), work, names, seeds, jobs)
    study.draw(rows, out, dataset, refit)
    summary = {"command": _command(), **study.summarise(rows, dataset, data, refit)}
    _report(summary, out, as_json, partial(tabulate, style=".1e"))


@app.command()
def support2(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figure.")],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 20,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """The demonstration's campaigns on real patients, many times over.

    Example: python -m experiments support2 --seeds 20 --out results/support2
    """
    from experiments import support2 as study
    from labelwise.cli.simulation import tabulate

    with _one_sentence():
        rows = _run(out, study.config(), study.work, study.NAMES, seeds, jobs)
    study.draw(rows, out)
    _report(study.sum_up(rows, _command()), out, as_json, tabulate)


@app.command()
def ate(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figure.")],
    dataset: Annotated[
        Trial, typer.Option(help="Simulated outcomes, or a real randomised trial.")
    ] = Trial.acic2016,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 20,
    policy: Annotated[
        list[str] | None, typer.Option(help="Only this policy; repeat for several.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """The average effect of a treatment on everyone, labelled at first in one region.

    Example: python -m experiments ate --dataset actg175 --seeds 10 --out results/ate-actg175
    """
    from experiments import ate as study
    from experiments.reporting import tabulate_labels

    with _one_sentence():
        names = _choose(policy, study.POLICIES[dataset])
        rows = _run(out, study.config(dataset), study.work(dataset), names, seeds, jobs)
    study.draw(rows, out, dataset, study.POLICIES[dataset])
    _report(study.summarise(rows, dataset, _command()), out, as_json, tabulate_labels)


@app.command()
def recall(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figures.")],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 10,
    policy: Annotated[
        list[str] | None, typer.Option(help="Only this policy; repeat for several.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """A risk model's recall on patients of every kind, labelled at first in one cluster.

    Example: python -m experiments recall --seeds 10 --out results/recall
    """
    from experiments import recall as study
    from experiments.reporting import tabulate_labels

    with _one_sentence():
        names = _choose(policy, study.POLICIES)
        rows = _run(out, study.config(), study.work, names, seeds, jobs)
    study.draw(rows, out)
    _report(study.summarise(rows, _command()), out, as_json, tabulate_labels)


@app.command("well-specified")
def well_specified(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figure.")],
    seeds: Annotated[
        int, typer.Option(min=1, help="Seeds 0 to N-1, of 50 campaigns a family each.")
    ] = 10,
    family: Annotated[
        list[str] | None, typer.Option(help="Only this family; repeat for several.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Coverage of 90 % intervals where the model is right, for every kind of estimand.

    Example: python -m experiments well-specified --seeds 10 --out results/well-specified
    """
    from experiments import well_specified as study

    with _one_sentence():
        names = _choose(family, study.FAMILIES, "family")
        rows = _run(out, study.config(), study.work, names, seeds, jobs)
    summary = study.summarise(rows, _command())
    study.draw(summary, out)
    _report(summary, out, as_json, study.tabulate)


@app.command("ensemble-plus")
def ensemble_plus(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figure.")],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 10,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the authors' files; without, the text's variant alone."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Only this one, as text/reinforce; repeat for several."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Which two of ten rows? Planning with an ensemble of networks (the paper's table).

    Example: python -m experiments ensemble-plus --seeds 10 --out results/ensemble-plus
    """
    from experiments import ensemble_plus as study

    with _one_sentence():
        names = _choose(policy, study.names(data))
        rows = _run(out, study.config(data), study.work(data), names, seeds, jobs, by_seed=True)
    study.draw(rows, out)
    _report(study.summarise(rows, data, _command()), out, as_json, study.tabulate)


@app.command("high-dim")
def high_dim(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figures.")],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 10,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Only this one, as ensemble-plus/lookahead; repeat for several."),
    ] = None,
    rough: Annotated[
        bool, typer.Option("--rough", help="A truth rougher than the ensemble expects.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Planning with networks in twenty dimensions, beside random and uncertain rows.

    Example: python -m experiments high-dim --seeds 10 --out results/high-dim
    """
    from experiments import high_dim as study

    with _one_sentence():
        names = _choose(policy, study.names())
        rows = _run(out, study.config(rough), study.work(rough), names, seeds, jobs)
    study.draw(rows, out)
    _report(study.summarise(rows, _command()), out, as_json, study.tabulate)


@app.command("coverage")
def coverage(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figure.")],
    campaigns: Annotated[int, typer.Option(min=1, help="Campaigns a problem.")] = 500,
    data: Annotated[
        Path | None, typer.Option(help="Folder with a folder for each real data set.")
    ] = None,
    problem: Annotated[
        list[str] | None, typer.Option(help="Only this problem; repeat for several.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for prepared tables, to start faster.")
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(help="Also play plain (one best fit) or planned (no draws); repeat."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """How often intervals hold the truth, on real and made-up problems, belief right or wrong.

    Example: python -m experiments coverage --campaigns 500 --data ../shared/data --out results
    """
    from experiments import coverage as study
    from experiments.coverage_report import plot, tabulate

    with _one_sentence():
        names = _choose(problem, study.CELLS, "problem")
        also = _choose(variant, study.ALSO, "variant") if variant else []
        work = study.work(data, cache, also)
        # Seed after seed, so that a run cut short has as many campaigns of every problem.
        rows = _run(out, study.config(also), work, names, campaigns, jobs, by_seed=True)
    summary = study.summarise(rows, _command())
    plot(summary, out)
    _report(summary, out, as_json, tabulate)


@app.command("unroll")
def unroll(
    out: Annotated[Path, typer.Option(help="Folder for rows, summary and figure.")],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 3,
    setting: Annotated[
        list[str] | None, typer.Option(help="Only this setting; repeat for several.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Differentiating through a network's learning: how good, how fast, how much memory.

    Example: python -m experiments unroll --seeds 3 --out results/unroll
    """
    from experiments import unroll as study
    from experiments.unroll_tables import draw, summarise, tabulate

    with _one_sentence():
        names = _choose(setting, (*study.SETTINGS, study.FEW), "setting")
        # One process: what is timed side by side must not disturb itself.
        rows = _run(out, study.config(), study.work, names, seeds, jobs=1)
    draw(rows, out)
    _report(summarise(rows, _command()), out, as_json, tabulate)


@app.command("corpus")
def corpus(
    out: Annotated[Path, typer.Option(help="Folder for the summary.")],
    cache: Annotated[
        Path | None, typer.Option(help="Folder for prepared tables, to start faster.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """The tables from which priors are learnt, and how good two models on each are.

    Example: python -m experiments corpus --out results/corpus
    """
    from experiments import corpus as study

    with _one_sentence():
        summary = study.summarise(_command(), cache)
    out.mkdir(parents=True, exist_ok=True)
    _report(summary, out, as_json, study.tabulate)


@app.command("prior")
def prior(
    out: Annotated[Path, typer.Option(help="Folder for the summary.")],
    cache: Annotated[
        Path | None, typer.Option(help="Folder for prepared tables, to start faster.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """The prior that the corpus teaches of models' outputs, and how it does on other studies.

    Example: python -m experiments prior --out results/prior
    """
    from experiments import prior as study
    from labelwise.cli.runs import progress_bar

    with _one_sentence(), progress_bar(Console(stderr=True)) as progress:
        bar = progress.add_task("prior", total=study.total())
        summary = study.summarise(_command(), cache, lambda: progress.advance(bar))
    out.mkdir(parents=True, exist_ok=True)
    _report(summary, out, as_json, study.tabulate)


@app.command("interference")
def interference(
    out: Annotated[Path, typer.Option(help="Folder for rows and summary.")],
    campaigns: Annotated[int, typer.Option(min=1, help="Of each arm.")] = 14,
    arm: Annotated[
        list[str] | None, typer.Option(help="Only this arm; repeat for several.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Intervals of campaigns whose worst rows somebody corrects, skips, withholds, ...

    Example: python -m experiments interference --campaigns 14 --out results/interference
    """
    from experiments import interference as study

    with _one_sentence():
        names = _choose(arm, study.NAMES, "arm")
        rows = _run(out, study.config(), study.work, names, campaigns, jobs)
    _report(study.summarise(rows, _command()), out, as_json, study.tabulate)


@contextmanager
def _one_sentence():
    """What goes wrong is said in one sentence, in red."""
    try:
        yield
    except LabelwiseError as error:
        Console(stderr=True).print(str(error), style="red", highlight=False)
        raise typer.Exit(2) from None


def _choose(wanted: list[str] | None, known: Iterable[str], what: str = "policy") -> list[str]:
    known = list(known)
    unknown = [name for name in wanted or () if name not in known]
    if unknown:
        raise LabelwiseError(
            f"There is no {what} {unknown[0]!r}", f"there are {', '.join(known)}", where=what
        )
    return wanted or known


def _run(
    out: Path, config, work, names: list[str], seeds: int, jobs: int, by_seed: bool = False
):
    """All policies on all seeds; what the folder already holds is not run again."""
    from labelwise.cli.runs import Study, Task

    tasks = [Task(name, seed) for name in names for seed in range(seeds)]
    if by_seed:
        tasks.sort(key=lambda task: task.seed)
    return Study(out, config).run(tasks, work, jobs, Console(stderr=True))


def _report(summary, out: Path, as_json: bool, tabulate) -> None:
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    if as_json:
        json.dump(summary, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        Console().print(tabulate(summary))


def _command() -> str:
    return " ".join(["python -m experiments", *sys.argv[1:]])


if __name__ == "__main__":
    app()
