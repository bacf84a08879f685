"""First labels that chance drew: they answer as drawn rows, by hand and to the last label."""

import numpy as np
import pandas as pd
import pytest

from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from labelwise.campaign.campaign import Campaign
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.spec import Limits, Sampling, Tables
from labelwise.tables.columns import Columns

SIZE, FIRST = 24, 6
COLUMNS = Columns("id", "y", prediction="guess")
BELIEF = GaussianProcess(RBF(1.0, 1.0), 0.1)
CHANCE = Sampling(labelled_by="chance", batch=2)


def whole():
    rng = np.random.default_rng(0)
    x = rng.normal(size=SIZE)
    ids = [f"row {index}" for index in range(SIZE)]
    y = np.sin(x) + 0.3 * rng.normal(size=SIZE)
    return pd.DataFrame({"id": ids, "x": x, "guess": 0.8 * x, "y": y})


def tables(seed=1, first=FIRST):
    table = whole().sample(frac=1.0, random_state=seed)
    return Tables(table[:first], table[first:].drop(columns="y"))


def start(given=None, **parts):
    parts = {"belief": BELIEF, "sampling": CHANCE, **parts}
    return Evaluation.of(given or tables(), COLUMNS, "mse", **parts)


def truth():
    table = whole()
    return float(np.mean((table["y"] - table["guess"]) ** 2))


def test_they_are_draws_from_all_rows_left():
    """The estimate after each draw: known losses, predictions of the others, one put right."""
    evaluation = start()
    (round_,) = evaluation.rounds
    predicted = round_.draws.predictions[0].astype(float)
    given = pd.concat([tables().pool, tables().labelled], ignore_index=True)
    losses = ((given["y"] - given["guess"]) ** 2).to_numpy()
    known, each = np.zeros(SIZE, bool), []
    for place, row in enumerate(round_.rows):
        assert round_.plan.probabilities[place] == pytest.approx(1.0 / (SIZE - place))
        total = losses[known].sum() + predicted[~known].sum()
        each.append((total + (losses[row] - predicted[row]) * (SIZE - place)) / SIZE)
        known[row] = True
    design = evaluation.estimate().design
    assert sorted(round_.rows) == list(range(SIZE - FIRST, SIZE))
    assert design.value == pytest.approx(np.mean(each), rel=1e-6)  # single precision is kept
    assert design.draws == FIRST


def test_on_average_over_chance_they_give_the_truth():
    found = [start(tables(seed)).estimate().design.value for seed in range(40)]
    assert abs(np.mean(found) - truth()) < 4.0 * np.std(found, ddof=1) / np.sqrt(40)


def test_labels_that_are_there_are_not_bought():
    evaluation = start(limits=Limits(budget=4))
    assert evaluation.budget_left == 4
    assert evaluation.ask(2).number == 2


def test_once_all_is_labelled_the_answer_is_the_truth():
    evaluation = start(tables(first=SIZE - 2))
    labels = dict(zip(whole()["id"], whole()["y"], strict=True))
    round_ = evaluation.ask(2)
    rows = tables(first=SIZE - 2).pool["id"].to_list()
    done = evaluation.tell(round_, {row: labels[rows[row]] for row in round_.rows})
    assert done.estimate().value == pytest.approx(truth(), rel=1e-6)


def test_a_folder_begins_with_them(tmp_path):
    parts = {"belief": BELIEF, "sampling": CHANCE, "limits": 4}
    campaign = Campaign.create(tmp_path / "audit", tables(), COLUMNS, "mse", **parts)
    again = Campaign.open(tmp_path / "audit")
    assert again.estimate().lead == campaign.estimate().lead
    assert again.estimate().design.draws == FIRST
    assert again.status().to_dict()["pool"]["labelled"] == FIRST
    assert again.verify().sound
    assert len(again.ask()) == 2


@pytest.mark.parametrize("given", ["target", "nothing", "columns", "way"])
def test_what_cannot_count_as_drawn_is_refused(given, refused):
    first, pool = tables().labelled, tables().pool
    chosen = {
        "target": (Tables(first, pool, pool.drop(columns="id")), CHANCE),
        "nothing": (Tables(None, pool), CHANCE),
        "columns": (Tables(first.drop(columns="x"), pool), CHANCE),
        "way": (Tables(first, pool), Sampling(labelled_by="luck")),
    }[given]
    with refused(where="labelled_by"):
        start(chosen[0], sampling=chosen[1])
