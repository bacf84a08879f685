"""Campaigns for every kind of question: metrics, groups, two models, effects, costs."""

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labelwise.beliefs.classifier import GaussianProcessClassifier
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.campaign.campaign import Campaign
from labelwise.evaluation import data as arrays_module
from labelwise.evaluation.question import Quantity
from tests import flat
from tests.campaign.small import make_tables


@cache
def classifier():
    return GaussianProcessClassifier(RBF(1.0, 4.0))  # not fitted, which takes longest


@cache
def gaussian():
    return GaussianProcess(RBF(1.0, 1.0), 0.1)


def binary_tables() -> dict[str, pd.DataFrame]:
    """0/1 labels that rise with feature a, two scores, a sex and a cost."""
    tables = make_tables()
    rng = np.random.default_rng(1)
    for name, table in tables.items():
        chance = 1.0 / (1.0 + np.exp(-2.0 * table["a"]))
        table["psi"] = chance.clip(0.01, 0.99)
        table["psi2"] = rng.uniform(0.01, 0.99, len(table))
        table["sex"] = np.where(rng.uniform(size=len(table)) < 0.5, "f", "m")
        if name == "labelled":
            table["y"] = (rng.uniform(size=len(table)) < chance).astype(int)
        if name == "pool":
            table["minutes"] = rng.choice([1.0, 5.0], len(table))
    return tables


def trial_tables() -> dict[str, pd.DataFrame]:
    """An outcome that treatment raises by one."""
    tables = make_tables()
    labelled = tables["labelled"]
    labelled["z"] = np.arange(len(labelled)) % 2
    labelled["y"] = labelled["a"] + labelled["z"]
    return {name: table.drop(columns="psi") for name, table in tables.items()}


def create(path: Path, tables, **changes) -> Campaign:
    chosen = {"id": "id", "label": "y", "batch": 3, "seed": 3, "missing": "refuse"} | changes
    return flat.create(path, **tables, **chosen)


def unfitted(belief) -> dict:
    """Options under which nothing is fitted nor searched for, which takes longest."""
    two = {"features": ["a", "b"], "predictor_in_belief": False}
    return {"belief": belief, "policy": "random", **two}


def answer(batch: pd.DataFrame, label) -> pd.DataFrame:
    return batch.assign(y=[label(row) for _, row in batch.iterrows()])


@pytest.mark.slow
def test_zeros_and_ones_are_met_by_a_classifier(tmp_path):
    campaign = create(
        tmp_path / "c",
        binary_tables(),
        prediction="psi",
        estimand="recall",
        threshold=0.3,
        features=["a", "b"],
        predictor_in_belief=False,
        policy="random",
        belief={"name": "auto", "components": 1},
    )
    assert campaign.spec.belief["name"] == "gp-classifier"
    first = campaign.estimate()
    assert first.title == "recall at 0.3"
    assert 0.0 <= first.interval()[0] < first.value < first.interval()[1] <= 1.0
    campaign.tell(answer(campaign.ask(), lambda row: int(row["a"] > 0)))
    assert campaign.estimate().bought == 3
    assert len(campaign.checks()) == 1
    assert 0.0 < campaign.checks()[0].surprise <= 1.0


@pytest.mark.slow
def test_a_classifiers_campaign_is_planned_and_forecast(tmp_path):
    campaign = create(
        tmp_path / "c",
        binary_tables(),
        prediction="psi",
        estimand="recall",
        threshold=0.3,
        features=["a", "b"],
        predictor_in_belief=False,
        belief={"name": "auto", "components": 1},
    )
    campaign.tell(answer(campaign.ask(), lambda row: int(row["a"] > 0)))
    now, then = campaign.forecast(1).planned
    assert then < now


def test_a_campaign_of_zeros_and_ones_takes_no_other_label(tmp_path, refused):
    campaign = create(
        tmp_path / "c",
        binary_tables(),
        prediction="psi",
        estimand="brier",
        **unfitted(classifier()),
    )
    batch = campaign.ask()
    with refused(where="labels.y"):
        campaign.tell(batch.assign(y=[0, 0.5, 1]))
    assert campaign.status().pool["pending"] == 3


@pytest.mark.slow
def test_every_group_has_its_answer_beside_the_whole(tmp_path):
    campaign = create(
        tmp_path / "c",
        binary_tables(),
        prediction="psi",
        estimand=["accuracy", "recall"],
        by="sex",
        belief=classifier(),
        features=["a", "b"],
        predictor_in_belief=False,
        policy="random",
    )
    found = campaign.estimate()
    titles = [found.title, *(part.title for part in found.parts)]
    assert titles == [
        "accuracy at 0.5",
        "recall at 0.5",
        "accuracy at 0.5, sex = f",
        "accuracy at 0.5, sex = m",
        "recall at 0.5, sex = f",
        "recall at 0.5, sex = m",
    ]
    share = (binary_tables()["target"]["sex"] == "f").mean()
    by_belief = campaign.evaluation().by_belief.by_question
    whole, _, women, men, *_ = (answer.draws for answer in by_belief.values())
    # Function by function, the whole is the mean of its groups.
    np.testing.assert_allclose(whole, share * women + (1 - share) * men, rtol=1e-9)
    assert len(campaign.ask()) == 3
    page = campaign.report().read_text()
    assert all(title in page for title in titles[1:])
    assert type(found).from_dict(found.to_dict()) == found


def test_two_models_are_compared_with_the_chance_that_the_first_is_better(tmp_path):
    tables = binary_tables()
    tables["labelled"]["y"] = (tables["labelled"]["psi"] > 0.5).astype(int)
    campaign = create(
        tmp_path / "c",
        tables,
        compare=("psi", "psi2"),
        estimand="brier",
        **unfitted(classifier()),
    )
    found = campaign.estimate()
    assert found.title == "Brier score of psi minus that of psi2"
    assert found.value < 0.0  # psi is right of every label, psi2 is noise
    assert found.beats is not None
    assert 0.5 < found.beats < 1.0  # twelve labels cannot be sure of it
    assert not {"psi", "psi2"} & set(campaign.ask().columns)


def test_squared_errors_of_two_models_are_compared_in_closed_form(tmp_path):
    tables = make_tables()
    for table in tables.values():
        table["other"] = 0.5
    campaign = create(
        tmp_path / "c", tables, compare=("psi", "other"), estimand="mse", **unfitted(gaussian())
    )
    found = campaign.estimate()
    assert found.beats == pytest.approx(np.mean(np.asarray(found.quantiles) < 0.0), abs=0.03)


@pytest.mark.parametrize(
    "assign", [0.7, *(pytest.param(one, marks=pytest.mark.slow) for one in (None, "planned"))]
)
def test_an_effect_is_measured_on_rows_that_come_with_their_treatment(tmp_path, assign):
    belief = {} if assign is None else {"belief": gaussian()}  # one is fitted, as by default
    campaign = create(
        tmp_path / "c", trial_tables(), estimand="ate", treatment="z", assign=assign, **belief
    )
    plan = campaign.plan()
    assert plan.treated is not None
    assert set(plan.treated) <= {0.0, 1.0}
    before = campaign.estimate()
    for _ in range(2):
        batch = campaign.ask()
        assert set(batch["z"]) <= {0, 1}
        again = campaign.pending()
        assert again["z"].tolist() == batch["z"].tolist()
        campaign.tell(answer(batch, lambda row: row["a"] + row["z"]))
    after = Campaign.open(campaign.path).estimate()
    assert after.credible.std < before.credible.std
    for found in (after, after.credible):
        assert abs(found.value - 1.0) < 4 * found.std + 0.05
    assert len(set(campaign.ask()["id"])) == 3
    campaign.forecast(1)


def test_treatments_that_are_given_are_taken_as_they_are(tmp_path):
    tables = trial_tables()
    tables["pool"]["z"] = np.arange(len(tables["pool"])) % 2
    given = {"treatment": "z", "belief": gaussian(), "policy": "random"}
    campaign = create(tmp_path / "c", tables, estimand="ate", **given)
    assert campaign.spec.sampling.assign == {"mode": "given", "chance": None}
    batch = campaign.ask()
    known = tables["pool"].set_index("id")["z"]
    assert batch["z"].tolist() == known[batch["id"]].tolist()


def test_the_effect_on_the_treated_needs_to_know_them(tmp_path, refused):
    tables = trial_tables()
    with refused(where="target.z"):
        create(tmp_path / "c", tables, estimand="att", treatment="z")
    tables["target"]["z"] = [1.0, 0.0, *[None] * 18]
    with refused(where="target.z"):
        create(tmp_path / "c", tables, estimand="att", treatment="z")
    tables["target"]["z"] = 0
    with refused(where="target"):
        create(tmp_path / "c", tables, estimand="att", treatment="z")
    tables["target"]["z"] = np.arange(len(tables["target"])) % 2
    with refused(where="estimand", remedy="make one for each"):
        create(tmp_path / "c", tables, estimand=["ate", "mean"], treatment="z")
    assert not (tmp_path / "c").exists()
    campaign = create(
        tmp_path / "c", tables, estimand=["ate", "att"], treatment="z", belief=gaussian()
    )
    assert [part.estimand for part in campaign.estimate().parts] == ["att"]


def test_a_label_without_a_treatment_is_refused(tmp_path, refused):
    campaign = create(tmp_path / "c", trial_tables(), estimand="ate", treatment="z")
    with refused(where="labels", remedy="leave them out"):
        campaign.tell({"r5": 1.0}, unasked="accept")


def test_a_round_stays_within_what_it_may_cost(tmp_path):
    tables = binary_tables()
    minutes = tables["pool"].set_index("id")["minutes"]
    campaign = create(
        tmp_path / "c",
        tables,
        prediction="psi",
        cost="minutes",
        predictor_in_belief=False,
        spend=6.0,
        batch=10,
        belief=classifier(),
        features=["a", "b"],
    )
    plan = campaign.plan()
    batch = campaign.ask()
    assert plan.cost == minutes[batch["id"]].sum() <= 6.0
    assert "minutes" not in batch
    assert 1 <= len(batch) <= 6


def test_rows_that_are_not_worth_their_price_are_not_bought(tmp_path, refused):
    tables = binary_tables()
    campaign = create(
        tmp_path / "c",
        tables,
        prediction="psi",
        cost="minutes",
        price=1e3,
        belief=gaussian(),
        features=["a", "b"],
        predictor_in_belief=False,
    )
    with refused(where="price", what="No row is worth its price"):
        campaign.ask()


BAD = {
    "recall of numbers": ("labelled.y", {"estimand": "recall"}),
    "a classifier of numbers": ("labelled.y", {"belief": "gp-classifier"}),
    "a threshold for nothing": ("threshold", {"estimand": "mse", "threshold": 0.3}),
    "one estimand twice": ("estimand", {"estimand": ["mse", "mse"]}),
    "no estimand": ("estimand", {"estimand": []}),
    "an effect of no treatment": ("treatment", {"estimand": "ate"}),
    "a treatment in between": ("labelled.b", {"estimand": "ate", "treatment": "b"}),
    "an assignment of nothing": ("treatment", {"assign": 0.5}),
    "groups by no column": ("by", {"by": "nowhere"}),
    "too many groups": ("target.a", {"by": "a", "estimand": "mse"}),
    "money without costs": ("spend", {"spend": 5.0}),
    "one column twice": ("psi", {"price": -1.0, "cost": "psi"}),
    "one model and two": ("compare", {"compare": ("psi", "psi2")}),
    "a price that nobody weighs": ("price", {"price": 1.0, "policy": "random"}),
    "another sum": ("combine", {"combine": "best"}),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_requests_are_refused(name, tmp_path, refused):
    where, changes = BAD[name]
    tables = make_tables()
    if changes.get("by") == "a":
        tables["target"] = pd.concat([tables["target"], tables["target"].assign(a=0.0)])
    with refused(where=where):
        create(tmp_path / "c", tables, **({"prediction": "psi"} | changes))
    assert not (tmp_path / "c").exists()


def test_the_bounds_of_a_group_are_its_own(tmp_path):
    tables = make_tables()
    tables["target"]["sex"] = ["x"] * 5 + ["f"] * 15
    tables["target"].loc[:4, "psi"] = 5.0
    campaign = create(
        tmp_path / "c",
        tables,
        prediction="psi",
        estimand="bias",
        by="sex",
        label_range=(0.0, 1.0),
        belief=gaussian(),
        features=["a", "b"],
        predictor_in_belief=False,
        policy="random",
    )
    for part in campaign.estimate().parts:
        low, high = part.interval()
        assert low < part.value < high


LOSSES = {
    "mse": lambda prediction, label: (prediction - label) ** 2,
    "mae": lambda prediction, label: np.abs(prediction - label),
    "accuracy": lambda prediction, label: 1.0 * ((prediction > 0.5) == (label > 0.5)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_two_models_differ_by_at_most_the_best_of_one_and_the_worst_of_the_other(name):
    first, second = np.array([0.9, 0.2, 0.6]), np.array([0.3, 0.8, 0.1])
    mass, rows = np.array([1.0, 3.0, 2.0]), np.zeros((3, 1))
    arrays = arrays_module.Arrays(
        pool=rows,
        target=rows,
        labelled=rows,
        labels=np.zeros(3),
        mass=mass,
        predictions={"psi": first, "psi2": second},
        predictor_column=None,
        thin=None,
    )
    low, high = Quantity(name, "psi", versus="psi2").bounds(0.0, 1.0, arrays)
    # A model is at its worst with labels at an end, and at its best with those it predicts.
    values = np.column_stack([np.zeros(3), np.ones(3), first, second])
    labels = np.array(list(product(*values[:, : 2 if name == "accuracy" else 4])))
    of = lambda prediction: np.average(LOSSES[name](prediction, labels), axis=1, weights=mass)
    one, other = of(first), of(second)
    assert low == pytest.approx(one.min() - other.max(), rel=1e-12)
    assert high == pytest.approx(one.max() - other.min(), rel=1e-12)
    differences = one - other
    assert low - 1e-12 <= differences.min() < 0.0 < differences.max() <= high + 1e-12


@pytest.mark.slow
def test_a_late_label_counts_for_the_treatment_of_its_own_batch(tmp_path):
    campaign = create(
        tmp_path / "c",
        trial_tables(),
        estimand="ate",
        treatment="z",
        belief=gaussian(),
        policy="random",
        batch=30,
    )
    first = campaign.ask()
    campaign.fail(list(first["id"]))
    both = first.merge(campaign.ask(), on="id")
    one = both[both["z_x"] != both["z_y"]].iloc[0]
    campaign.tell(pd.DataFrame({"id": [one["id"]], "batch_id": [1], "y": [1.0]}))
    campaign.export(tmp_path / "rows.csv")
    rows = pd.read_csv(tmp_path / "rows.csv").set_index("id")
    assert rows["assigned"][one["id"]] == one["z_x"]
    campaign.estimate()


def test_the_report_of_an_effect_names_the_treatment_among_the_features(tmp_path):
    campaign = create(
        tmp_path / "c",
        trial_tables(),
        estimand="ate",
        treatment="z",
        belief=GaussianProcess(RBF([1.0, 2.0, 3.0], 1.0), 0.1),
        policy="random",
    )
    campaign.ask()
    assert ">z</th>" in campaign.report().read_text()


def test_the_report_of_a_classifier_tells_of_its_link(tmp_path):
    campaign = create(
        tmp_path / "c",
        binary_tables(),
        prediction="psi",
        estimand="brier",
        belief=classifier(),
        features=["a", "b"],
        predictor_in_belief=False,
        policy="random",
    )
    campaign.ask()
    assert "with the logit of the probability of a 1" in campaign.report().read_text()


@pytest.mark.slow
def test_a_group_that_few_target_rows_are_in_has_its_answer(tmp_path):
    tables, rng = make_tables(), np.random.default_rng(0)
    rows = 3000
    tables["target"] = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["a", "b"]).assign(
        psi=rng.uniform(size=rows), sex=["x"] * 2 + ["f"] * (rows - 2)
    )
    campaign = create(
        tmp_path / "c",
        tables,
        prediction="psi",
        estimand="mean",
        by="sex",
        belief=gaussian(),
        features=["a", "b"],
        policy="random",
    )
    found = campaign.estimate()
    women, few = found.parts
    assert few.std > women.std
    assert found.value == pytest.approx((2998 * women.value + 2 * few.value) / rows, rel=1e-9)
    assert found.std == pytest.approx(women.std, rel=0.02)  # the few weigh little in the whole


def test_a_group_without_weight_is_refused_before_anything_is_written(tmp_path, refused):
    tables = make_tables()
    tables["target"]["sex"] = ["x"] * 5 + ["f"] * 15
    tables["target"]["w"] = [0.0] * 5 + [1.0] * 15
    with refused(where="target"):
        create(tmp_path / "c", tables, prediction="psi", by="sex", weight="w")
    assert not (tmp_path / "c").exists()


def test_precision_finds_its_few_rows_in_a_large_target(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays_module, "TARGET_ROWS", 10)
    tables = binary_tables()
    tables["target"]["psi"] = [0.99] + [0.1] * (len(tables["target"]) - 1)
    campaign = create(
        tmp_path / "c",
        tables,
        prediction="psi",
        estimand="precision",
        belief=classifier(),
        features=["a", "b"],
        predictor_in_belief=False,
    )
    assert 0.0 < campaign.estimate().value < 1.0


def test_metrics_that_the_scores_cannot_have_are_refused_at_once(tmp_path, refused):
    tables = binary_tables()
    with refused(where="threshold", remedy="lower the threshold"):
        create(tmp_path / "c", tables, prediction="psi", estimand="precision", threshold=2.0)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("assign", ["planned", "given"])
def test_chances_are_refused_where_they_do_not_matter(tmp_path, assign, refused):
    tables = trial_tables()
    tables["pool"] = tables["pool"].assign(p=0.9, z=1)
    with refused(where="assign"):
        create(tmp_path / "c", tables, estimand="ate", treatment="z", chance="p", assign=assign)


def test_a_label_of_another_treatment_than_was_said_is_refused(tmp_path, refused):
    campaign = create(
        tmp_path / "c",
        trial_tables(),
        estimand="ate",
        treatment="z",
        belief=gaussian(),
        policy="random",
    )
    batch = campaign.ask()
    with refused(where="labels"):
        campaign.tell(batch.assign(z=1 - batch["z"], y=1.0))
    assert campaign.tell(batch.assign(y=1.0)).new == 3


@pytest.mark.slow
def test_a_forecast_ends_where_rows_are_no_longer_worth_their_price(tmp_path):
    campaign = create(
        tmp_path / "c",
        binary_tables(),
        prediction="psi",
        estimand="brier",
        cost="minutes",
        price=2e-4,
        belief=gaussian(),
        features=["a", "b"],
        predictor_in_belief=False,
    )
    found = campaign.forecast(8)
    assert 2 < len(found.labels) < 9
    assert found.labels[-1] <= 24


@pytest.mark.slow
def test_rivals_of_a_plan_cost_no_more_than_the_round_may(tmp_path):
    tables = binary_tables()
    tables["pool"]["minutes"] = np.where(np.arange(30) < 25, 50.0, 1.0)
    campaign = create(
        tmp_path / "c",
        tables,
        prediction="psi",
        estimand="brier",
        cost="minutes",
        spend=5.0,
        belief=gaussian(),
        features=["a", "b"],
        predictor_in_belief=False,
        batch=5,
    )
    plan = campaign.plan()  # five rows can be paid for, so all batches are these
    assert plan.random == pytest.approx(plan.expected, rel=1e-9)
    assert plan.uncertainty == pytest.approx(plan.expected, rel=1e-9)
