"""Campaigns on labels of several classes, from the table to the answer."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as reference

from labelwise.campaign.campaign import Campaign
from labelwise.evaluation.checked import labels_in_order
from labelwise.evaluation.class_predictions import named_after
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.prepare import prepare
from labelwise.evaluation.spec import Question, is_binary
from labelwise.evaluation.wrong_classes import WrongClasses, others, weighed
from labelwise.tables.columns import Columns

QUICK = {"name": "auto", "components": 1}
WORDS = np.array(["angry", "calm", "glad"])
ASKED = ["macro-f1", "accuracy", "kappa", "recall", "log-loss"]


def table(size=80, known=25, seed=2):
    """Chances of three classes, labels by nearly these chances."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet([0.8, 1.2, 0.8], size)
    codes = np.array([rng.choice(3, p=0.8 * p + 0.2 / 3) for p in chances])
    words = WORDS[codes].astype(object)
    words[known:] = None
    columns = {f"p_{word}": chances[:, place] for place, word in enumerate(WORDS)}
    return pd.DataFrame({"length": rng.normal(size=size), **columns, "mood": words}), codes


COLUMNS = Columns(label="mood", prediction="p_*")


def ready(frame, columns=COLUMNS, question="accuracy"):
    return prepare(frame, columns, question, QUICK, telling_apart=False)


def test_one_column_a_class():
    frame, codes = table()
    made = ready(frame)
    assert made.spec.columns.classes == tuple(WORDS)
    assert made.spec.columns.chances == ("p_angry", "p_calm", "p_glad")
    np.testing.assert_array_equal(made.arrays.labels, codes[:25])
    chances = frame.iloc[25:][["p_angry", "p_calm", "p_glad"]].to_numpy()
    np.testing.assert_allclose(made.arrays.pool_predictions["confidence"], chances)
    assert made.feature_names == (
        "length",
        "called = angry",
        "called = calm",
        "called = glad",
        "confidence",
    )


def test_the_class_in_one_column():
    frame, _ = table()
    chances = frame[["p_angry", "p_calm", "p_glad"]].to_numpy()
    said = WORDS[chances.argmax(axis=1)]
    named = frame[["length", "mood"]].assign(said=said)
    made = ready(named, Columns(label="mood", prediction="said"))
    expected = np.eye(3)[chances.argmax(axis=1)][25:]
    np.testing.assert_array_equal(made.arrays.pool_predictions["said"], expected)
    assert made.arrays.predictor_column is None


def test_stars_are_numbers_or_classes_by_what_is_asked():
    rng = np.random.default_rng(0)
    stars = rng.integers(1, 6, 60).astype(float)
    frame = pd.DataFrame(
        {"x": rng.normal(size=60), "said": rng.integers(1, 6, 60), "stars": stars}
    )
    frame.loc[30:, "stars"] = np.nan
    columns = Columns(label="stars", prediction="said")
    assert ready(frame, columns, "mse").spec.columns.classes == ()
    made = ready(frame, columns, "kappa")
    assert made.spec.columns.classes == ("1", "2", "3", "4", "5")
    np.testing.assert_array_equal(made.arrays.labels, stars[:30] - 1)


def test_stars_of_which_two_were_seen_so_far_are_as_many_as_the_model_says():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "said": rng.integers(1, 6, 60)})
    frame["stars"] = [4.0, 5.0] * 10 + [np.nan] * 40
    made = ready(frame, Columns(label="stars", prediction="said"), "kappa")
    assert made.spec.columns.classes == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("columns", "known", "classes"),
    [
        (["p_1", "p_2", "p_11"], ["1", "2"], ["1", "2", "11"]),
        (["p_good", "p_very_good", "p_bad"], ["good", "bad"], ["good", "very_good", "bad"]),
        (["p_not_ok", "p_not_fine"], ["not_ok", "not_fine"], ["not_ok", "not_fine"]),
        (["pa", "pb"], ["a"], ["a", "pb"]),
        (["first a", "then b"], ["a", "b"], ["a", "b"]),
    ],
)
def test_columns_are_named_after_classes_of_which_some_were_never_seen(columns, known, classes):
    assert [word for word, _ in named_after(columns, known)] == classes


def test_a_model_that_writes_classes_otherwise_is_refused(refused):
    frame, _ = table()
    said = frame.assign(said=np.resize(["a", "b", "c"], len(frame)))[["length", "said", "mood"]]
    with refused(where="prediction"):
        ready(said, Columns(label="mood", prediction="said"))
    with refused(where="positive"):
        ready(frame, Columns(label="mood", prediction="p_*", positive="glad"))


def never_said(kind):
    """A model that never says glad, though some rows are; it gives the class, or chances."""
    frame, _ = table(size=40)
    said = np.where(np.arange(40) % 2, "angry", "calm")
    if kind == "class":
        return frame[["length", "mood"]].assign(said=said), Columns(
            label="mood", prediction="said"
        )
    sure = frame.assign(p_glad=0.0, p_calm=np.where(said == "calm", 0.7, 0.3))
    return sure.assign(p_angry=1.0 - sure["p_calm"]), COLUMNS


def test_a_class_that_the_model_never_says_has_no_precision(refused):
    frame, columns = never_said("class")
    with refused(where="estimand"):
        ready(frame, columns, "precision")


@pytest.mark.slow
def test_a_class_without_any_chance_is_answered_by_what_may_be():
    """The belief imagines none before it has seen one; there is an answer all the same."""
    frame, columns = never_said("chances")
    frame = frame[frame["mood"] != "glad"].reset_index(drop=True)
    asked = ["macro-precision", "macro-f1", "recall"]
    found = ready(frame, columns, asked).evaluation().estimate()
    glad = found.parts[-1]
    assert glad.title == "recall of glad"
    assert glad.interval() == pytest.approx((0.05, 0.95), abs=0.01)
    assert all(np.isfinite(one.value) for one in (found, *found.parts))


def test_stars_as_numbers_are_another_campaign(refused):
    frame = pd.DataFrame({"said": np.resize([1, 2, 3], 40), "stars": np.resize([1, 3, 2], 40)})
    frame.loc[20:, "stars"] = np.nan
    columns = Columns(label="stars", prediction="said")
    with refused(where="estimand"):
        ready(frame, columns, ["kappa", "mse"])
    with refused(where="labelled.stars"):
        ready(frame, columns, "accuracy")


def test_two_classes_have_a_kappa_too():
    frame, codes = table()
    yes = pd.DataFrame(
        {"x": frame["length"], "score": frame["p_glad"], "y": (codes == 2).astype(float)}
    )
    yes.loc[30:, "y"] = np.nan
    columns = Columns(label="y", prediction="score")
    made = ready(yes, columns, Question(["kappa", "auc", "macro-f1"], threshold=0.3))
    titles = [one.title for one in made.evaluation().inquiry.questions]
    assert titles == ["Cohen's kappa at 0.3", "AUC", "macro-averaged F1 at 0.3"]
    none = ready(yes.drop(columns="y"), columns, "kappa")
    assert is_binary(none.spec.belief)
    both = ready(yes, columns, "confusion")
    assert both.spec.columns.classes == ("0", "1")
    np.testing.assert_allclose(
        both.arrays.pool_predictions["confidence"][:, 1], yes["score"][30:]
    )


def test_without_labels_columns_name_the_classes():
    frame, _ = table(known=0)
    assert ready(frame).spec.columns.classes == tuple(WORDS)


@pytest.mark.parametrize(
    ("change", "question", "where"),
    [
        ({"p_angry": 0.9}, "accuracy", "labelled.p_angry"),
        ({"mood": "blue"}, "accuracy", "prediction"),
        ({}, "specificity", "estimand"),
    ],
)
def test_what_cannot_be_is_refused(change, question, where, refused):
    frame, _ = table()
    frame.loc[:20, list(change)] = list(change.values())
    with refused(where=where):
        ready(frame, question=question)


def test_a_class_alone_has_no_log_loss(refused):
    frame, _ = table()
    named = frame[["length", "mood"]].assign(said=np.resize(WORDS, 80))
    with refused(where="prediction"):
        ready(named, Columns(label="mood", prediction="said"), "log-loss")
    with refused(where="prediction"):
        ready(frame[["length", "mood"]], Columns(label="mood"))


def truths(frame, codes):
    chances = frame[["p_angry", "p_calm", "p_glad"]].to_numpy()[25:]
    said, labels = chances.argmax(axis=1), codes[25:]
    return [
        reference.f1_score(labels, said, average="macro"),
        reference.accuracy_score(labels, said),
        reference.cohen_kappa_score(labels, said),
        *reference.recall_score(labels, said, average=None),
        reference.log_loss(labels, chances),
    ]


def test_all_labels_give_the_numbers_themselves():
    """In rounds, each drawn by chance, until every row is labelled."""
    frame, codes = table()
    evaluation = Evaluation.of(frame, COLUMNS, ASKED, belief=QUICK)
    for size in (20, 20, 15):
        round_ = evaluation.ask(size)
        assert all(round_.plan.drawn)
        evaluation = evaluation.tell(round_, [WORDS[codes[25 + row]] for row in round_.rows])
    estimate = evaluation.estimate()
    every = [estimate, *estimate.parts]
    assert [one.title for one in every][3:6] == [f"recall of {word}" for word in WORDS]
    for one, truth in zip(every, truths(frame, codes), strict=True):
        assert one.interval() == pytest.approx((truth, truth), abs=1e-6), one.title


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    frame, codes = table()
    frame.to_csv(folder / "scored.csv", index=False)
    campaign = Campaign.create(folder / "audit", folder / "scored.csv", COLUMNS, ASKED, QUICK)
    batch = campaign.ask(12)
    batch["mood"] = [WORDS[codes[row - 1]] for row in batch["row"]]
    campaign.tell(batch)
    return campaign, batch, codes


def test_labellers_see_no_chances(begun):
    assert list(begun[1].columns) == ["batch_id", "row", "length", "mood"]


def test_a_campaign_answers_plans_and_reports(begun, tmp_path):
    campaign = begun[0]
    estimate = campaign.estimate()
    assert estimate.headline == "combined"
    for one in (estimate, *estimate.parts):
        low, high = one.interval()
        assert low < one.value < high
    plan = campaign.plan(5)
    assert 0.0 < plan.expected < plan.std
    assert len(campaign.forecast(2).labels) == 3
    page = campaign.report(tmp_path / "report.html").read_text()
    assert "recall of angry" in page
    assert campaign.checks()[0].labels == 12


def test_labels_come_back_in_words(begun, tmp_path):
    campaign, batch, _ = begun
    campaign.export(tmp_path / "rows.csv")
    rows = pd.read_csv(tmp_path / "rows.csv").dropna(subset="mood")
    assert dict(zip(rows["row"], rows["mood"], strict=True)) == dict(
        zip(batch["row"], batch["mood"], strict=True)
    )


def test_rows_that_are_skipped_are_told_of(begun, tmp_path):
    """The answer whatever the missing labels are is wider, and holds the other."""
    campaign = begun[0]
    more = campaign.ask(3)
    campaign.skip([int(more["row"][0])])
    estimate = campaign.estimate()
    low, high = estimate.widest()
    assert low <= estimate.interval()[0]
    assert high >= estimate.interval()[1]


def test_a_simulation_takes_several_classes():
    from labelwise.evaluation.spec import Question
    from labelwise.simulation.rehearsal import Design, Table, rehearse

    frame, codes = table(size=90, known=90)
    known = Table.of(frame, Columns("(row)", "mood", "p_*"), Question("macro-f1"), belief=QUICK)
    said = frame[["p_angry", "p_calm", "p_glad"]].to_numpy().argmax(axis=1)
    expected = reference.f1_score(codes, said, average="macro")
    assert known.truth == pytest.approx(expected, abs=1e-12)
    design = Design(initial=20, pool=50, rounds=1, batch=8, bias="tilted")
    rows = rehearse(known, design, "campaign", 0)
    assert len(rows) == 2
    assert np.isfinite(rows[1]["estimate"])


def test_classes_of_wrong_rows_are_learnt():
    """With very many rows the shares are those seen; with none, what the model gives."""
    rng = np.random.default_rng(5)
    chances = np.tile([0.6, 0.3, 0.1], (4000, 1))
    labels = rng.choice(3, 4000, p=[0.5, 0.1, 0.4]).astype(float)
    learnt = WrongClasses.seen(chances, labels)
    said = np.zeros(1, int)
    shares = weighed(others(chances[:1]), said, learnt.mean)[0]
    seen = np.mean(labels[labels != 0.0] == 1.0)
    np.testing.assert_allclose(shares, [0.0, seen, 1.0 - seen], atol=2e-3)
    fresh = WrongClasses.seen(chances[:0], labels[:0])
    np.testing.assert_allclose(
        weighed(others(chances[:1]), said, fresh.mean)[0], [0.0, 0.75, 0.25]
    )
    alike = weighed(others(np.eye(3)[:1]), said, fresh.mean)[0]
    np.testing.assert_allclose(alike, [0.0, 0.5, 0.5])
    draws = learnt.draws(rng, 4000)
    off = draws.mean(axis=0) - learnt.mean
    assert (np.abs(off) < 5.0 * draws.std(axis=0) / np.sqrt(4000)).all()


def test_beliefs_are_checked_on_whether_the_model_is_right(begun):
    """Which is what they are about: labels 0 and 1, those of the pool against what it says."""
    evaluation = begun[0].evaluation()
    known, batches = labels_in_order(evaluation)
    said = evaluation.arrays.called
    expected = evaluation.arrays.labels == said["labelled"]
    assert known.y[: len(expected)].tolist() == expected.tolist()
    rows = sorted(evaluation.state.labels)
    right = [evaluation.state.labels[row] == said["pool"][row] for row in rows]
    assert known.y[batches[0]].tolist() == right
