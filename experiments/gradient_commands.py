"""Commands of the gradient study: how good estimators of the policy gradient are, and why."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.running import choose, command, one_sentence, report, run

Out = Annotated[Path, typer.Option(help="Folder for rows, summary and figure.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands to those of the other studies."""
    app.command("theory")(theory)
    app.command("gradient-quality")(gradient_quality)
    app.command("rollouts")(rollouts)


def theory(
    out: Out,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions of every simulation.")] = 1,
    problem: Annotated[
        list[str] | None, typer.Option(help="Only this problem; repeat for several.")
    ] = None,
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """The paper's two theorems on gradient estimators, held to simulation.

    Example: python -m experiments theory --out results/theory
    """
    from experiments import theory as study
    from experiments.theory_tables import draw, summarise, tabulate

    with one_sentence():
        names = choose(problem, study.NAMES, "problem")
        rows = run(out, study.config(), study.work, names, seeds, jobs)
    draw(rows, out)
    report(summarise(rows, command()), out, as_json, tabulate)


def gradient_quality(
    out: Out,
    states: Annotated[
        int, typer.Option(min=1, max=20, help="The first so many of ten states, at two logits.")
    ] = 20,
    estimator: Annotated[
        list[str] | None, typer.Option(help="Only this estimator; repeat for several.")
    ] = None,
    jobs: Jobs = 1,
    as_json: AsJson = False,
) -> None:
    """Cosine of gradient estimates with the true gradient (the paper's figure).

    Example: python -m experiments gradient-quality --states 10 --out results/gradient-quality
    """
    from experiments import gradient_quality as study
    from experiments.gradient_tables import draw, summarise, tabulate

    with one_sentence():
        names = choose(estimator, study.NAMES, "estimator")
        # State after state: the truth is found once in each.
        rows = run(out, study.config(), study.work, names, states, jobs, by_seed=True)
    draw(rows, out)
    report(summarise(rows, command()), out, as_json, tabulate)


def rollouts(
    out: Out,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1.")] = 10,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Only this one, as reinforce@10; repeat for several."),
    ] = None,
    jobs: Jobs = 1,
    as_json: AsJson = False,
) -> None:
    """What roll-outs buy: variance and error of the synthetic experiment by their number.

    Example: python -m experiments rollouts --seeds 10 --out results/rollouts
    """
    from experiments import rollouts as study

    with one_sentence():
        names = choose(policy, study.POLICIES)
        rows = run(out, study.config(), study.work, names, seeds, jobs, by_seed=True)
    study.draw(rows, out)
    report(study.summarise(rows, command()), out, as_json, study.tabulate)
