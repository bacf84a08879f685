"""`labelwise new`: a campaign from tables."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from labelwise.cli.common import AsJson, command, print_json, working


def _options(given: list[str]) -> dict[str, Any]:
    """Options of the belief from NAME=VALUE; a value is JSON, or else a word."""
    found = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not (name and sign and value):
            raise typer.BadParameter(f"{one!r} is not NAME=VALUE, such as members=50.")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found


def _rule(width: float | None, gain: float | None):
    """The rule to stop by that options amount to: whichever is met first."""
    from labelwise.campaign import stop

    rules = [] if width is None else [stop.width(width)]
    rules += [] if gain is None else [stop.gain(gain)]
    if len(rules) < 2:
        return rules[0] if rules else None
    return rules[0] | rules[1]


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
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Columns with the outputs of two models, to compare them."),
    ] = None,
    treatment: Annotated[
        str | None, typer.Option(help="Column with the treatment, 0 or 1 (for ate, att).")
    ] = None,
    assign: Annotated[
        str | None,
        typer.Option(
            help="How pool rows come by their treatment: given (in the pool), random, a chance "
            "such as 0.5, or planned. Default: given if the pool has it, else random."
        ),
    ] = None,
    chance: Annotated[
        str | None, typer.Option(help="Column of the pool with each row's chance of treatment.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="A column of the target whose groups are answered for too; repeat."),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="Column with the weight of a target row.")
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(help="Column with the cost of labelling a row; see --spend and --price."),
    ] = None,
    spend: Annotated[
        float | None, typer.Option(help="Most that a round may cost; --batch is most rows.")
    ] = None,
    price: Annotated[
        float | None,
        typer.Option(help="What a unit of cost is worth in variance: buy while it pays."),
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
    estimand: Annotated[
        list[str] | None,
        typer.Option(
            help="What to know: mse (the default; with --treatment, ate), mae, bias, r2, mean; "
            "of 0/1 labels accuracy, error-rate, recall, precision, f1, specificity, "
            "false-positive-rate, brier, log-loss, positive-rate; of treatments ate, att. "
            "Repeat for several."
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Score from which the model says 1; default 0.5.")
    ] = None,
    combine: Annotated[
        str, typer.Option(help="How several are planned for: their sum, or the worst.")
    ] = "sum",
    belief: Annotated[
        str,
        typer.Option(
            help="gp, gp-classifier, or auto: a classifier for 0/1 labels; of networks mlp, "
            "dropout, ensemble, ensemble-plus, hypermodel, epinet; or last-layer, a Bayesian "
            "layer on a network."
        ),
    ] = "auto",
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Of the Gaussian process: rbf, matern32, matern52 or linear; default matern52."
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="An option of the belief, as NAME=VALUE: members=50, prior_scale=10, "
            "hidden=[100,100], steps=2000. Repeat for several."
        ),
    ] = None,
    components: Annotated[
        int | None,
        typer.Option(
            help="Fits that the belief is a mixture of, for what labels leave open about its "
            "hyper-parameters; 1: the best fit alone. Default 8."
        ),
    ] = None,
    predictor_in_belief: Annotated[
        bool,
        typer.Option(
            "--predictor/--no-predictor",
            help="Whether the belief knows what the model says of a row, as a feature and in "
            "its mean (of chances, by their log-odds).",
        ),
    ] = True,
    policy: Annotated[
        str,
        typer.Option(
            help="How batches are chosen: lookahead, random, uncertainty, "
            "uncertainty-sequential, integrated-variance, reinforce or smoothed-autodiff."
        ),
    ] = "lookahead",
    draw: Annotated[
        str,
        typer.Option(
            help="What chance draws rows by, for an answer that holds whatever the belief: "
            "loss (how far a row's loss may be off), policy (its scores), balance (both); or "
            "none: the policy chooses."
        ),
    ] = "loss",
    floor: Annotated[
        float, typer.Option(help="Share of every draw in which all rows are equally likely.")
    ] = 0.3,
    scale: Annotated[
        str,
        typer.Option(
            help="Of intervals from drawn rows: linear, or log, for losses above 0 with a few "
            "large ones."
        ),
    ] = "linear",
    batch: Annotated[int, typer.Option(help="Labels a round.")] = 10,
    budget: Annotated[int | None, typer.Option(help="Labels to buy in all.")] = None,
    stop_width: Annotated[
        float | None,
        typer.Option(help="Stop once the 90 % interval is no wider than this, at any look."),
    ] = None,
    stop_gain: Annotated[
        float | None,
        typer.Option(
            help="Stop once a batch should lower the standard deviation by less than this "
            "share, such as 0.01."
        ),
    ] = None,
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

    More: --estimand recall --threshold 0.3 --by sex; --compare model_a model_b; --estimand ate
    --treatment z; --cost minutes --spend 120
    """
    kernels = {} if kernel is None else {"kernel": kernel}
    mixed = {} if components is None else {"components": components}
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
            compare=compare,
            treatment=treatment,
            chance=chance,
            assign=assign,
            by=by or (),
            features=feature,
            categorical=categorical or (),
            missing=missing,
            estimand=estimand or ["ate" if treatment else "mse"],
            threshold=threshold,
            combine=combine,
            belief={"name": belief, **kernels, **mixed, **_options(option or [])},
            policy=policy,
            draw=draw,
            floor=floor,
            scale=scale,
            batch=batch,
            budget=budget,
            spend=spend,
            price=price,
            seed=seed,
            expiry_days=expiry,
            label_range=(label_min, label_max),
            stop=_rule(stop_width, stop_gain),
            predictor_in_belief=predictor_in_belief,
        )
    status = campaign.status()
    print_json(status.to_dict()) if as_json else print_status(status)
