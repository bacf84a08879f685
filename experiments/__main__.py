"""`python -m experiments NAME`: run a study, resume it, print its table."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from experiments import answer_commands, consistency_commands, gradient_commands
from experiments.running import choose, command, one_sentence, report, run
from labelwise.cli import prepare_process

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

    with one_sentence():
        names = choose(policy, study.policies(variant))
        rows = run(
            out, study.config(variant, data), study.work(variant, data), names, seeds, jobs
        )
    study.draw(rows, out, variant)
    report(study.summarise(rows, variant, command()), out, as_json, tabulate)


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
    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's hyper-parameters, and predictor 0.")
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

    with one_sentence():
        known = "nothing" if refit else "paper" if paper else "scales"
        names = choose(policy, study.policies())
        work = study.work(dataset, data, known)
        rows = run(out, study.config(dataset, data, known), work, names, seeds, jobs)
    study.draw(rows, out, dataset, known)
    summary = {"command": command(), **study.summarise(rows, dataset, data, known)}
    report(summary, out, as_json, partial(tabulate, style=".1e"))


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

    with one_sentence():
        rows = run(out, study.config(), study.work, study.NAMES, seeds, jobs)
    study.draw(rows, out)
    report(study.sum_up(rows, command()), out, as_json, tabulate)


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

    with one_sentence():
        names = choose(policy, study.POLICIES[dataset])
        rows = run(out, study.config(dataset), study.work(dataset), names, seeds, jobs)
    study.draw(rows, out, dataset, study.POLICIES[dataset])
    report(study.summarise(rows, dataset, command()), out, as_json, tabulate_labels)


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

    with one_sentence():
        names = choose(policy, study.POLICIES)
        rows = run(out, study.config(), study.work, names, seeds, jobs)
    study.draw(rows, out)
    report(study.summarise(rows, command()), out, as_json, tabulate_labels)


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

    with one_sentence():
        names = choose(family, study.FAMILIES, "family")
        rows = run(out, study.config(), study.work, names, seeds, jobs)
    summary = study.summarise(rows, command())
    study.draw(summary, out)
    report(summary, out, as_json, study.tabulate)


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
        typer.Option(help="Only this one, as text/reinforce-baseline; repeat for several."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Which two of ten rows? Planning with an ensemble of networks (the paper's table).

    Example: python -m experiments ensemble-plus --seeds 10 --out results/ensemble-plus
    """
    from experiments import ensemble_plus as study

    with one_sentence():
        names = choose(policy, study.names(data))
        rows = run(out, study.config(data), study.work(data), names, seeds, jobs, by_seed=True)
    study.draw(rows, out)
    report(study.summarise(rows, data, command()), out, as_json, study.tabulate)


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

    with one_sentence():
        names = choose(policy, study.names())
        rows = run(out, study.config(rough), study.work(rough), names, seeds, jobs)
    study.draw(rows, out)
    report(study.summarise(rows, command()), out, as_json, study.tabulate)


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

    with one_sentence():
        names = choose(setting, (*study.SETTINGS, study.FEW), "setting")
        # One process: what is timed side by side must not disturb itself.
        rows = run(out, study.config(), study.work, names, seeds, jobs=1)
    draw(rows, out)
    report(summarise(rows, command()), out, as_json, tabulate)


gradient_commands.register(app)
answer_commands.register(app)
consistency_commands.register(app)


if __name__ == "__main__":
    app()
