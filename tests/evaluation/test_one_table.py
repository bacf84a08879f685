"""One table for all: who has a label, who is named how, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from labelwise.campaign.campaign import Campaign
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.spec import Tables
from labelwise.tables.columns import Columns

QUICK = {"name": "auto", "components": 1}


def scored(size=60, known=20, seed=0):
    """Rows with scores; every third has a label until enough do."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size)
    chance = 1.0 / (1.0 + np.exp(-x))
    y = (rng.random(size) < chance).astype(float)
    table = pd.DataFrame({"age": rng.normal(40.0, 9.0, size), "score": chance, "income": y})
    table.loc[np.setdiff1d(np.arange(size), np.arange(0, 3 * known, 3)), "income"] = np.nan
    return table, y


def ready(tables, columns, question="accuracy", **options):
    return prepare(tables, columns, question, QUICK, telling_apart=False, **options)


COLUMNS = Columns(label="income", prediction="score")


def test_rows_with_a_label_are_the_labelled_ones_and_the_others_pool_and_target():
    table, y = scored()
    made = ready(table, COLUMNS)
    labelled, pool = made.tables["labelled"], made.tables["pool"]
    assert labelled["row"].tolist() == list(range(1, 61, 3))
    np.testing.assert_array_equal(labelled["income"], y[::3])
    assert set(pool["row"]) | set(labelled["row"]) == set(range(1, 61))
    assert made.spec.target == "pool"
    assert made.spec.columns.id == "row"
    assert ("pool", 0, "2") in made.items


def test_one_table_says_what_three_say():
    table, _ = scored()
    named = table.assign(id=[f"p{row}" for row in range(60)])
    columns = Columns("id", "income", prediction="score")
    empty = named["income"].isna()
    three = ready(Tables(named[~empty], named[empty].drop(columns="income")), columns)
    one = ready(named, columns)
    for part in ("pool", "labelled", "labels", "target"):
        np.testing.assert_array_equal(getattr(one.arrays, part), getattr(three.arrays, part))


def test_a_target_of_its_own_goes_with_one_table():
    table, _ = scored()
    made = ready(Tables(table=table, target=table.drop(columns="income")), COLUMNS)
    assert made.spec.target == "target"
    assert len(made.tables["target"]) == 60


def test_a_column_of_that_name_is_not_taken_for_the_number():
    table, _ = scored()
    made = ready(table.assign(row=np.arange(60.0) % 7), COLUMNS)
    assert made.spec.columns.id == "labelwise_row"
    assert made.spec.columns.features == ("age", "row")


@pytest.mark.parametrize("column", ["blank", "absent"])
def test_no_label_need_be_there(column):
    table, _ = scored(known=0)
    table = table if column == "blank" else table.drop(columns="income")
    made = ready(table, COLUMNS)
    assert len(made.arrays.labels) == 0
    said = any("no row has a label yet" in note for note in made.encoder.notes)
    assert said == (column == "absent")


def test_the_pool_alone_is_numbered_where_there_are_two():
    table, _ = scored()
    empty = table["income"].isna()
    made = ready(Tables(table[~empty], table[empty].drop(columns="income")), COLUMNS)
    assert made.tables["pool"]["row"].tolist() == list(range(1, 41))
    assert all(name == "pool" for name, _, _ in made.items)


def test_a_campaign_of_one_file_goes_by_its_row_numbers(tmp_path):
    table, y = scored(known=0)
    table.to_csv(tmp_path / "scored.csv", index=False)
    campaign = Campaign.create(
        tmp_path / "audit", tmp_path / "scored.csv", COLUMNS, "accuracy", QUICK
    )
    batch = campaign.ask(6)
    assert list(batch.columns) == ["batch_id", "row", "age", "income"]
    batch["income"] = [y[row - 1] for row in batch["row"]]
    assert campaign.tell(batch).new == 6
    opened = Campaign.open(tmp_path / "audit")
    assert opened.tables["pool"]["row"].tolist() == list(range(1, 61))


def test_a_slip_in_the_labels_name_is_no_start_from_nothing(refused):
    table, _ = scored()
    with refused(where="given.incom"):
        ready(table, Columns(label="incom", prediction="score"))


def test_a_table_that_is_all_labelled_has_no_pool(refused):
    table, y = scored()
    with refused(where="given.income"):
        ready(table.assign(income=y), COLUMNS)


def test_one_table_beside_a_pool_is_refused(refused):
    table, _ = scored()
    with refused(where="table"):
        ready(Tables(pool=table, table=table), COLUMNS)


def test_no_table_at_all_is_refused(refused):
    with refused(where="pool"):
        ready({}, COLUMNS)


def stratified(seed):
    table, y = scored(120, 0)
    evaluation = Evaluation.of(table, COLUMNS, "accuracy", belief=QUICK, seed=seed)
    return evaluation.ask(12), evaluation, y


def test_a_first_round_without_labels_is_spread_over_the_models_output():
    """Of twelve rows drawn evenly, each quarter of the law has three, give or take one."""
    round_, evaluation, _ = stratified(0)
    assert round_.draws.together
    score = evaluation.arrays.pool_predictions["score"]
    thirds = np.quantile(score[list(round_.rows)], [1 / 3, 2 / 3])
    low, high = np.quantile(score, [1 / 3, 2 / 3])
    assert thirds[0] == pytest.approx(low, abs=0.15)
    assert thirds[1] == pytest.approx(high, abs=0.15)
    after = evaluation.tell(round_, dict.fromkeys(round_.rows, 1.0))
    assert not after.ask(3).draws.together


def test_rows_drawn_together_answer_without_bias():
    """Over many places of the comb: the answers' mean is the truth, whatever is predicted."""
    from labelwise.policies.stratified import systematic
    from labelwise.survey.aipw import estimates
    from labelwise.survey.draws import DrawRecord, RoundDraws

    rng = np.random.default_rng(3)
    size, k = 9, 3
    law = rng.dirichlet(np.full(size, 4.0))
    law = np.minimum(law, 1.0 / k) / np.minimum(law, 1.0 / k).sum()
    terms, predicted, mass = rng.normal(size=(3, size))
    mass = np.exp(mass)
    none = np.zeros(size, bool)
    answers = []
    for _ in range(6000):
        rows = systematic(rng, law, terms, k)
        round_ = RoundDraws(rows, law[rows], ~none, predicted[None], together=True)
        known = np.where(np.isin(np.arange(size), rows), terms, np.nan)[None]
        record = DrawRecord(mass, known, (round_,), none, none)
        answers.append(estimates(record).values.mean())
    off = np.mean(answers) - terms @ mass / mass.sum()
    assert abs(off) < 4.0 * np.std(answers) / np.sqrt(len(answers))


@pytest.mark.parametrize(
    ("column", "row", "cell", "where"),
    [
        ("score", 40, np.nan, "target.score"),
        ("score", 30, np.inf, "labelled.score"),
        ("income", 33, 7.0, "labelled.income"),
        ("age", 50, np.inf, "pool.age"),
    ],
)
def test_a_cell_is_named_by_its_row_in_the_table_that_was_given(
    column, row, cell, where, refused
):
    table, _ = scored()
    table.loc[row, column] = cell
    columns = Columns(label="income", prediction="score", label_range=(0, 1))
    with refused(where=where):
        ready(table, columns, "mse")


def test_a_word_and_a_chance_are_named_so_too(refused):
    table, y = scored()
    words = pd.Series(np.where(y == 1.0, "yes", "no")).where(table["income"].notna())
    words[33] = "perhaps"
    with refused(where="labelled.income"):
        ready(
            table.assign(income=words), Columns(label="income", classes=["no", "yes"]), "mean"
        )
    chances = table.drop(columns="score").assign(
        p_no=1.0 - table["score"], p_yes=table["score"]
    )
    words[33] = "no"
    chances.loc[40, "p_no"] = 0.99
    with refused(where="pool.p_no"):
        ready(chances.assign(income=words), Columns(label="income", prediction="p_*"))


def test_a_file_without_rows_or_with_semicolons_is_told_apart(tmp_path, refused):
    path = tmp_path / "scored.csv"
    path.write_text("age,score,income\n")
    with refused(where="given"):
        ready(path, COLUMNS)
    path.write_text("age;score;income\n40;0.5;1\n41;0.6;\n")
    with refused(where="given"):
        ready(path, COLUMNS)
