"""Options that make no campaign: one sentence that says what, where and what to do."""

from typing import Any

import numpy as np

from tests.campaign import small
from tests.campaign.refusals.cases import Case, by_id, check_not_made


def in_every_table(column: str, value: Any) -> dict[str, Any]:
    """Tables with one more column."""
    tables = small.make_tables()
    return {name: table.assign(**{column: value}) for name, table in tables.items()}


def target_with_other_names() -> dict[str, Any]:
    target = small.make_tables()["target"]
    return {"target": target.rename(columns={"a": "A", "b": "B"})}


def three_scales():
    from labelwise import RBF, GaussianProcess

    return GaussianProcess(RBF(np.ones(3), 1.0), 0.1)


OPTIONS = [
    Case("label called batch_id", "label", lambda _: {"label": "batch_id"}),
    Case("missing nonsense", "missing", lambda _: {"missing": "ignore"}),
    Case(
        "no feature left", "features", lambda _: {"features": ["k"], **in_every_table("k", 1.0)}
    ),
    Case("no shared feature", "features", lambda _: target_with_other_names()),
    Case("no id column", "pool.key", lambda _: {"id": "key"}),
    Case("no label column", "labelled.truth", lambda _: {"label": "truth"}),
    Case("no prediction column", "target.model", lambda _: {"prediction": "model"}),
    Case("no weight column", "target.w", lambda _: {"weight": "w"}),
    Case("no cost column", "pool.c", lambda _: {"cost": "c"}),
    Case("no such feature", "labelled.c", lambda _: {"features": ["a", "c"]}),
    Case("features as one text", "features", lambda _: {"features": "ab"}),
    Case("features not a list", "features", lambda _: {"features": 3}),
    Case("feature named twice", "features", lambda _: {"features": ["a", "a"]}),
    Case("feature with another part", "features", lambda _: {"features": ["a", "psi"]}),
    Case("one column with two parts", "y", lambda _: {"prediction": "y"}),
    Case("label not named", "label", lambda _: {"label": None}),
    Case("column named by a number", "label", lambda _: {"label": 3}),
    Case("categorical but no feature", "categorical", lambda _: {"categorical": ["id"]}),
    Case("batch zero", "batch", lambda _: {"batch": 0}),
    Case("batch not whole", "batch", lambda _: {"batch": 2.5}),
    Case("budget zero", "budget", lambda _: {"budget": 0}),
    Case("seed negative", "seed", lambda _: {"seed": -1}),
    Case("seed too large", "seed", lambda _: {"seed": 2**70}),
    Case("expiry zero", "expiry_days", lambda _: {"expiry_days": 0}),
    Case("expiry NaN", "expiry_days", lambda _: {"expiry_days": np.nan}),
    Case("expiry as text", "expiry_days", lambda _: {"expiry_days": "a week"}),
    Case("expiry True", "expiry_days", lambda _: {"expiry_days": True}),
    Case("range upside down", "label_range", lambda _: {"label_range": (1, 0)}),
    Case("range of one", "label_range", lambda _: {"label_range": (1,)}),
    Case("range as text", "label_range", lambda _: {"label_range": "01"}),
    Case("range with NaN", "label_range", lambda _: {"label_range": (np.nan, None)}),
    Case("unknown estimand", "estimand", lambda _: {"estimand": "median"}),
    Case("estimand not a name", "estimand", lambda _: {"estimand": [3]}),
    Case("error without prediction", "prediction", lambda _: {"prediction": None}),
    Case("unknown policy", "policy", lambda _: {"policy": "oracle"}),
    Case("policy not a name", "policy", lambda _: {"policy": None}),
    Case("loss without the policy", "sampling.by", lambda _: {"draw": "loss"}),
    Case("unknown belief", "belief", lambda _: {"belief": "forest"}),
    Case(
        "unknown option of a belief", "depth", lambda _: {"belief": {"name": "gp", "depth": 3}}
    ),
    Case("unknown kernel", "kernel", lambda _: {"belief": {"kernel": "cubic"}}),
    Case("unknown prior", "prior", lambda _: {"belief": {"prior": "strong"}}),
    Case(
        "learnt prior with probit",
        "prior",
        lambda _: {"belief": {"name": "gp-classifier", "link": "probit", "prior": "learnt"}},
    ),
    Case("belief not a belief", "belief", lambda _: {"belief": 3}),
    Case("length scales for other features", "belief", lambda _: {"belief": three_scales()}),
]


@by_id(OPTIONS)
def test_a_campaign_is_not_made_with_bad_options(case, refused, tmp_path):
    check_not_made(case, refused, tmp_path)
