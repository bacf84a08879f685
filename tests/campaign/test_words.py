"""Campaigns whose labels are words: in, out, and back."""

import numpy as np
import pandas as pd
import pytest

from labelwise.campaign.campaign import Campaign
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.spec import Question
from labelwise.tables.columns import Columns
from labelwise.tables.write import write_table

QUICK = {"name": "auto", "components": 1}
WORDS = np.array(["<=50K", ">50K"])


def scored(size=60, known=20, words=WORDS):
    rng = np.random.default_rng(1)
    x = rng.normal(size=size)
    chance = 1.0 / (1.0 + np.exp(-x))
    y = (rng.random(size) < chance).astype(int)
    income = np.asarray(words, object)[y]
    income[known:] = None
    table = pd.DataFrame({"age": x + rng.normal(size=size), "score": chance, "income": income})
    return table, y


def columns(**more):
    return Columns(label="income", prediction="score", **more)


def ready(table, named, question=None):
    return prepare(table, named, question, QUICK, telling_apart=False)


def test_words_are_the_numbers_of_their_classes():
    table, y = scored()
    made = ready(table, columns(positive=">50K"))
    assert made.spec.columns.classes == ("<=50K", ">50K")
    np.testing.assert_array_equal(made.arrays.labels, y[:20])
    assert made.spec.question.estimand == ("accuracy",)
    other = ready(table, columns(positive="<=50K"))
    np.testing.assert_array_equal(other.arrays.labels, 1 - y[:20])


@pytest.mark.parametrize("words", [[False, True], ["no", "yes"], ["N", "Y"]])
def test_truths_need_no_explanation(words):
    table, y = scored(words=words)
    np.testing.assert_array_equal(ready(table, columns()).arrays.labels, y[:20])


def test_two_numbers_may_name_classes():
    table, y = scored(words=[1, 2])
    made = ready(table, columns(positive="2"), "recall")
    np.testing.assert_array_equal(made.arrays.labels, y[:20])
    assert made.spec.columns.classes == ("1", "2")


def test_a_model_may_answer_in_words_too():
    table, _ = scored()
    said = np.where(table["score"] > 0.5, ">50K", "<=50K")
    made = ready(table.assign(score=said), columns(positive=">50K"))
    expected = (table["score"] > 0.5).to_numpy(float)[20:]
    np.testing.assert_array_equal(made.arrays.predictions["score"], expected)


def test_without_labels_the_classes_are_named_or_the_models_words():
    table, _ = scored(known=0)
    named = ready(table, columns(classes=["<=50K", ">50K"]))
    assert named.spec.columns.positive == ">50K"
    assert ready(table, columns(positive="yes")).spec.columns.classes == ("no", "yes")
    said = np.where(table["score"] > 0.5, ">50K", "<=50K")
    made = ready(table.assign(score=said), columns(positive=">50K"))
    assert made.spec.columns.classes == ("<=50K", ">50K")


def test_titles_name_the_positive_class():
    table, _ = scored()
    made = ready(table, columns(positive=">50K"), ["recall", "accuracy", "positive-rate"])
    titles = [one.title for one in made.evaluation().inquiry.questions]
    assert titles == ["recall of >50K at 0.5", "accuracy at 0.5", "share of >50K"]


def test_which_class_is_positive_is_asked_for(refused):
    with refused(where="positive"):
        ready(scored()[0], columns())


def test_a_positive_class_that_no_label_has_is_a_slip(refused):
    with refused(where="positive"):
        ready(scored()[0], columns(positive="50K"))


def test_a_class_is_called_what_most_call_it():
    table, y = scored(words=["no", "Yes"])
    first = int(np.argmax(y[:20]))
    table.loc[first, "income"] = "YES "
    assert ready(table, columns()).spec.columns.classes == ("no", "Yes")


def test_scores_that_are_no_probabilities_are_not_cut_at_a_half_unsaid():
    table, _ = scored(words=["no", "yes"])
    percent = table.assign(score=100 * table["score"])
    cut = lambda made: [note for note in made.encoder.notes if "from 0.5 on" in note]
    assert len(cut(ready(percent, columns()))) == 1
    assert not cut(ready(percent, columns(), Question("accuracy", threshold=50)))
    assert not cut(ready(percent, columns(), "auc"))
    assert not cut(ready(table, columns()))


def test_a_model_in_other_words_is_refused(refused):
    table, _ = scored(words=["no", "yes"])
    said = np.where(table["score"] > 0.5, "ja", "nein")
    with refused(where="prediction"):
        ready(table.assign(score=said), columns())


def test_one_class_alone_is_not_enough(refused):
    table, _ = scored(known=0)
    with refused(where="labelled.income"):
        ready(table, columns(positive=">50K"))


def test_a_slip_among_numbers_is_no_class(refused):
    table, _ = scored(words=[0.0, 1.0])
    table["income"] = table["income"].astype(object)
    table.loc[3, "income"] = "oops"
    with refused(where="labelled.income"):
        ready(table, columns())


def test_a_class_that_was_not_named_is_refused(refused):
    table, _ = scored()
    with refused(where="labelled.income"):
        ready(table, columns(classes=["low", "high"]))


def test_the_positive_class_is_one_of_those_named(refused):
    with refused(where="positive"):
        ready(scored()[0], columns(classes=["<=50K", ">50K"], positive="high"))


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A campaign with two rows out, told in words."""
    folder = tmp_path_factory.mktemp("words")
    table, y = scored()
    campaign = Campaign.create(
        folder / "audit", table, columns(positive=">50K"), "recall", QUICK
    )
    batch = campaign.ask(4)
    assert batch["income"].isna().all()
    batch["income"] = [WORDS[y[row - 1]] for row in batch["row"]]
    write_table(batch, folder / "batch.csv")
    assert campaign.tell(folder / "batch.csv").new == 4
    assert campaign.tell(batch).known == 4
    return campaign, batch, y


def test_labels_come_back_in_the_same_words(asked, tmp_path):
    campaign, batch, _ = asked
    campaign.export(tmp_path / "rows.csv")
    rows = pd.read_csv(tmp_path / "rows.csv").dropna(subset="income")
    assert dict(zip(rows["row"], rows["income"], strict=True)) == dict(
        zip(batch["row"], batch["income"], strict=True)
    )
    campaign.export(tmp_path / "events.csv", history=True)
    events = pd.read_csv(tmp_path / "events.csv")
    assert set(events["label"].dropna()) == set(batch["income"])
    campaign.estimate()
    page = campaign.report(tmp_path / "report.html").read_text()
    assert "recall of &gt;50K" in page
    assert "&lt;=50K, &gt;50K" in page


def test_labels_are_corrected_in_words(asked, refused):
    campaign, batch, _ = asked
    row, word = int(batch["row"][0]), batch["income"][0]
    other = WORDS[0] if word == WORDS[1] else WORDS[1]
    places = {"row": str(row), "word": word, "other": str(other)}
    with refused(where="labels", places=places):
        campaign.tell({row: other})
    with refused(where="labels.income", places={"row": str(row)}):
        campaign.tell({row: "50K"})
    assert campaign.correct({row: other}) == 1
    assert campaign.correct({row: word}) == 1


def test_label_studio_brings_choices(asked):
    campaign = asked[0]
    number = int(campaign.ask(1)["row"][0])
    result = {"from_name": "income", "value": {"choices": [">50K"]}}
    task = {"data": {"row": number}, "annotations": [{"result": [result]}]}
    assert campaign.tell([task]).new == 1
    assert campaign.state().labels[number - 21] == 1.0


def test_an_evaluation_is_told_words():
    table, y = scored()
    evaluation = Evaluation.of(table, columns(positive=">50K"), "accuracy", belief=QUICK)
    round_ = evaluation.ask(3)
    words = [WORDS[y[row + 20]] for row in round_.rows]
    after = evaluation.tell(round_, words)
    assert after.state.labels == {row: float(y[row + 20]) for row in round_.rows}


def test_a_simulation_takes_words():
    from labelwise.simulation.rehearsal import Table

    table, y = scored(known=60)
    known = Table.of(
        table, Columns("(row)", "income", "score", positive=">50K"), Question("recall")
    )
    called = table["score"] >= 0.5
    assert known.truth == pytest.approx(called[y == 1].mean())


def test_a_campaign_that_knows_no_words_takes_yes_and_no_and_refuses_others(tmp_path, refused):
    table, _ = scored(known=0)
    named = Columns(label="income", prediction="score")
    campaign = Campaign.create(
        tmp_path / "c", table, named, "accuracy", QUICK, sampling={"policy": "random"}
    )
    first, second, third = campaign.ask(3)["row"]
    assert campaign.tell({first: "Yes", second: "no"}).new == 2
    assert sorted(campaign.state().labels.values()) == [0.0, 1.0]
    with refused(where="labels.income", places={"row": str(third)}):
        campaign.tell({third: ">50K"})
    assert len(campaign.state().labels) == 2
