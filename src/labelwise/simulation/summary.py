"""Many campaigns on one table summed up: errors, widths and coverage, and labels saved."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

from labelwise.evaluation.answer import BELIEF
from labelwise.simulation.rehearsal import FIGURES


def summarise(rows: pd.DataFrame, truth: float) -> dict[str, Any]:
    """By policy: where it ends, and the labels it needs for what random sampling ends with."""
    policies = {}
    for policy in rows["policy"].unique():
        mine = rows[rows["policy"] == policy]
        policies[policy] = _summary(mine) | {"belief": _believed(mine)}
    others = [policy for policy in policies if policy != "random" and "random" in policies]
    return {
        "truth": truth,
        "seeds": int(rows["seed"].nunique()),
        "policies": policies,
        "labels_needed": labels_needed(policies),
        "advantage": {policy: advantage(rows, policy) for policy in others},
    }


def _believed(rows: pd.DataFrame) -> dict[str, Any] | None:
    """The same of the belief's own answer; of plain averages there is none."""
    own = [f"{BELIEF}_{name}" for name in FIGURES]
    if not set(own) <= set(rows.columns) or rows[own].isna().all(axis=None):
        return None
    renamed = dict(zip(own, FIGURES, strict=True))
    return _summary(rows[["labels", *own]].rename(columns=renamed))


def _summary(rows: pd.DataFrame) -> dict[str, Any]:
    """Means over campaigns, by labels bought."""
    by_labels = rows.assign(width=rows["high"] - rows["low"]).groupby("labels")
    mean = by_labels[["std", "width", "covered"]].mean()
    rmse = by_labels["error"].apply(lambda error: float(np.sqrt(np.mean(error**2))))
    return {
        "labels": mean.index.astype(int).tolist(),
        "std": mean["std"].tolist(),
        "width": mean["width"].tolist(),
        "rmse": rmse.tolist(),
        "coverage": mean["covered"].tolist(),
    }


def advantage(rows: pd.DataFrame, policy: str) -> dict[str, float]:
    """How much smaller than random's the squared errors are, campaign by campaign.

    Both policies of a seed start alike, so their difference is taken within the seed, averaged
    over all counts of labels; its spread over seeds says how sure one can be.
    """
    later = rows[rows["labels"] > 0].assign(square=lambda rows: rows["error"] ** 2)
    means = later.pivot_table("square", index="seed", columns="policy", aggfunc="mean")
    gaps = (means["random"] - means[policy]).dropna()
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("inf")
    share = float(gaps.mean() / means["random"].mean())
    return {"share": share, "standard_errors": float(gaps.mean() / error) if error else 0.0}


def labels_needed(policies: dict[str, Any]) -> dict[str, dict[str, int | None]]:
    """Labels that each policy needs for what random sampling ends with.

    Curves are first made to fall, block by block (isotonic regression), so that a chance dip or
    rise of either does not decide. None: never, or random's own curve does not fall.
    """
    if "random" not in policies:
        return {}
    needed: dict[str, dict[str, int | None]] = {policy: {} for policy in policies}
    for figure in ("std", "rmse"):
        curves = {policy: falling(outcome[figure]) for policy, outcome in policies.items()}
        start, *_, goal = curves["random"]
        for policy, curve in curves.items():
            steps = zip(policies[policy]["labels"], curve, strict=True)
            reached = [labels for labels, value in steps if value <= goal < start]
            needed[policy][figure] = reached[0] if reached else None
    return needed


def falling(values: list[float]) -> list[float]:
    """The nearest curve that never rises."""
    steps = np.arange(len(values))
    bounded = np.nan_to_num(values, posinf=1e300)
    fitted = IsotonicRegression(increasing=False).fit_transform(steps, bounded)
    return [float(value) for value in fitted]
