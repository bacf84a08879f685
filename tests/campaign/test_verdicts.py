"""Two verdicts a row: who wins, how often nobody does, and by how much."""

import numpy as np
import pandas as pd
import pytest

from labelwise.campaign.campaign import Campaign
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.prepare import prepare
from labelwise.tables.columns import Columns

QUICK = {"name": "auto", "components": 1}
COLUMNS = Columns(label="ours", second_label="theirs")


def table(size=80, known=30, graded=False):
    """Prompts with a length on which it depends who is better."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=size)
    high = 5 if graded else 1
    ours = np.clip(np.round(rng.normal(0.5 + 0.3 * x, 0.5, size) * high), 0, high)
    theirs = np.clip(np.round(rng.normal(0.5, 0.5, size) * high), 0, high)
    frame = pd.DataFrame({"length": x, "ours": ours, "theirs": theirs})
    frame.loc[known:, ["ours", "theirs"]] = np.nan
    return frame, ours, theirs


def ready(frame, question=None, columns=COLUMNS):
    return prepare(frame, columns, question, QUICK, telling_apart=False)


def test_the_winner_is_the_label():
    frame, ours, theirs = table()
    made = ready(frame)
    assert made.spec.columns.classes == ("theirs", "tie", "ours")
    np.testing.assert_array_equal(made.arrays.labels, 1 + np.sign(ours - theirs)[:30])
    titles = [one.title for one in made.evaluation().inquiry.questions]
    assert titles == ["share of rows that the first model wins", "share of ties"]
    assert made.feature_names == ("length",)
    assert not made.encoder.notes  # of what was made of the verdicts


def test_two_verdicts_have_two_columns(refused):
    with refused(where="second_label"):
        ready(table()[0], columns=Columns(label="ours", second_label="ours"))


def test_the_difference_is_a_number():
    frame, ours, theirs = table(graded=True)
    made = ready(frame, "difference")
    np.testing.assert_array_equal(made.arrays.labels, (ours - theirs)[:30])
    title = made.evaluation().inquiry.first.title
    assert title == "mean of ours minus theirs"


def test_verdicts_may_be_yes_and_no_and_one_alone_is_none_yet():
    frame, ours, theirs = table()
    words = lambda column: frame[column].map({1.0: "yes", 0.0: "no"})
    said = frame.assign(ours=words("ours"), theirs=words("theirs"))
    said.loc[0, "theirs"] = None
    made = ready(said)
    np.testing.assert_array_equal(made.arrays.labels, 1 + np.sign(ours - theirs)[1:30])
    assert len(made.tables["pool"]) == 51


@pytest.mark.parametrize(
    ("question", "columns", "where"),
    [
        (["win-rate", "difference"], COLUMNS, "estimand"),
        ("accuracy", COLUMNS, "estimand"),
        (None, Columns(label="ours", second_label="theirs", prediction="length"), "prediction"),
        (None, Columns(label="ours", second_label="their"), "given.their"),
        ("win-rate", Columns(label="ours", prediction="length"), "estimand"),
    ],
)
def test_what_cannot_be_asked_of_two_verdicts(question, columns, where, refused):
    frame, *_ = table()
    with refused(where=where):
        ready(frame, question, columns)


def test_a_verdict_that_is_no_number_is_refused(refused):
    frame, *_ = table()
    with refused(where="given.ours"):
        ready(frame.assign(ours=frame["ours"].map({0.0: "meh", 1.0: "great"})))


def test_all_verdicts_give_the_shares_themselves():
    frame, ours, theirs = table()
    evaluation = Evaluation.of(frame, COLUMNS, ["win-rate", "tie-rate"], belief=QUICK)
    codes = 1 + np.sign(ours - theirs)[30:]
    for size in (25, 25):
        round_ = evaluation.ask(size)
        evaluation = evaluation.tell(round_, [float(codes[row]) for row in round_.rows])
    estimate = evaluation.estimate()
    wins, ties = np.mean(codes == 2.0), np.mean(codes == 1.0)
    assert estimate.interval() == pytest.approx((wins, wins), abs=1e-6)
    assert estimate.parts[0].interval() == pytest.approx((ties, ties), abs=1e-6)


def test_batches_have_two_columns_and_take_both_back(tmp_path):
    frame, ours, theirs = table()
    campaign = Campaign.create(tmp_path / "duel", frame, COLUMNS, "win-rate", QUICK)
    batch = campaign.ask(6)
    assert list(batch.columns) == ["batch_id", "row", "length", "ours", "theirs"]
    rows = batch["row"].to_numpy() - 1
    batch["ours"], batch["theirs"] = ours[rows], theirs[rows]
    batch.loc[0, "theirs"] = np.nan
    told = campaign.tell(batch)
    assert (told.new, told.empty) == (5, 1)
    first = int(batch["row"][0])
    assert campaign.tell({first: (1, 0)}).new == 1
    result = lambda name, number: {"from_name": name, "value": {"number": number}}
    again = int(campaign.ask(1)["row"][0])
    task = {"data": {"row": again}, "annotations": [{"result": [result("ours", 1)]}]}
    assert campaign.tell([task]).empty == 1  # one verdict is none yet
    task["annotations"][0]["result"].append(result("theirs", 1))
    assert campaign.tell([task]).new == 1
    assert campaign.state().labels[again - 31] == 1.0
    campaign.export(tmp_path / "rows.csv")
    winners = pd.read_csv(tmp_path / "rows.csv")["ours"].dropna()
    assert set(winners) <= {"ours", "theirs", "tie"}
