"""`labelwise new`: a campaign from tables."""

from pathlib import Path
from typing import Annotated

import typer

from labelwise.cli.common import AsJson, command, print_json, working


@command
def new(
    path: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="Folder to make.")],
    labelled: Annotated[Path, typer.Option(help="Rows with labels: CSV, Parquet or JSON.")],
    pool: Annotated[Path, typer.Option(help="Rows that may be labelled.")],
    id: Annotated[str, typer.Option(help="Column that names a row.")],
    label: Annotated[str, typer.Option(help="Column with the label, a number.")],
    target: Annotated[
        Path | None, typer.Option(help="Sample of the population; default: the pool.")
    ] = None,
    prediction: Annotated[
        str | None, typer.Option(help="Column with the output of the model under evaluation.")
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="Column with the weight of a target row.")
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(help="Column with the cost of labelling a row; kept, not planned with."),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(help="A feature column; repeat. Default: all others the tables share."),
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="A feature of numbers that name kinds; repeat.")
    ] = None,
    missing: Annotated[
        str, typer.Option(help="Missing features: impute (with an indicator) or refuse.")
    ] = "impute",
    estimand: Annotated[str, typer.Option(help="What to know: mse or mean.")] = "mse",
    kernel: Annotated[
        str, typer.Option(help="Of the Gaussian process: rbf, matern32 or matern52.")
    ] = "matern52",
    policy: Annotated[
        str,
        typer.Option(
            help="How batches are chosen: lookahead, random, uncertainty, "
            "uncertainty-sequential, integrated-variance, reinforce or smoothed-autodiff."
        ),
    ] = "lookahead",
    batch: Annotated[int, typer.Option(help="Labels a round.")] = 10,
    budget: Annotated[int | None, typer.Option(help="Labels to buy in all.")] = None,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    expiry: Annotated[
        float, typer.Option(help="Days after which a row that is out may be asked again.")
    ] = 30.0,
    label_min: Annotated[float | None, typer.Option(help="Smallest label allowed.")] = None,
    label_max: Annotated[float | None, typer.Option(help="Largest label allowed.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a campaign from tables, and take a first look at how they differ.

    Example: labelwise new audit --labelled tables/labelled.csv --pool tables/pool.csv
    --target tables/target.csv --id patient --label log_cost --prediction predicted_log_cost
    """
    with working("reading tables"):
        from labelwise.campaign.campaign import Campaign
        from labelwise.cli.answers import print_status

        campaign = Campaign.create(
            path,
            labelled=labelled,
            pool=pool,
            target=target,
            id=id,
            label=label,
            prediction=prediction,
            weight=weight,
            cost=cost,
            features=feature,
            categorical=categorical or (),
            missing=missing,
            estimand=estimand,
            belief={"name": "gp", "kernel": kernel},
            policy=policy,
            batch=batch,
            budget=budget,
            seed=seed,
            expiry_days=expiry,
            label_range=(label_min, label_max),
        )
    status = campaign.status()
    print_json(status.to_dict()) if as_json else print_status(status)
