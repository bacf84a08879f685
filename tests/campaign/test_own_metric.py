"""A metric of one's own in campaigns: both answers, against the catalogue's own metrics."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import labelwise as lw
from labelwise.cli.app import app
from labelwise.evaluation.spec import Question
from labelwise.simulation.rehearsal import Table, rehearse
from tests.campaign.test_drawn import FIRST, POOL, answer, make
from tests.campaign.test_questions import binary_tables, classifier, unfitted
from tests.campaign.test_questions import create as create_binary
from tests.estimands import own_metrics
from tests.simulation.test_rehearsal import COLUMNS, DESIGN, make_frame

HOME = "tests.estimands.own_metrics"


def numbers_of(estimate):
    design = estimate.design
    assert design is not None
    belief = [estimate.credible.value, estimate.credible.std, *estimate.credible.quantiles]
    return np.array(belief), np.array([design.value, design.std, *design.quantiles])


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [("declared", 1e-9), pytest.param("squared", 1e-6, marks=pytest.mark.slow)],
)
def test_a_squared_error_of_ones_own_asks_and_answers_as_the_catalogues(
    tmp_path, name, tolerance
):
    """In closed form where its degree is declared, and by quadrature where it is not.

    Without a closed form the policy's scores come from draws and are near only; then rows are
    drawn by loss.
    """
    by = {} if name == "declared" else {"draw": "loss"}
    theirs = answer(make(tmp_path / "theirs", estimand="mse", **by), 2)
    mine = answer(make(tmp_path / "mine", estimand=f"{HOME}:{name}", **by), 2)
    assert [r.rows for r in mine.rounds()] == [r.rows for r in theirs.rounds()]
    (belief, design), (known, drawn) = map(numbers_of, (mine.estimate(), theirs.estimate()))
    # Nobody said that the one without a declaration is never negative.
    assert_allclose(np.maximum(design, 0.0), drawn, rtol=tolerance)
    assert_allclose(belief, known, rtol=tolerance)  # of the pool's own labels


@pytest.mark.slow
def test_of_binary_labels_it_is_exact(tmp_path):
    options = {"prediction": "psi", **unfitted(classifier())}
    theirs = create_binary(tmp_path / "a", binary_tables(), estimand="brier", **options)
    own = f"{HOME}:declared"
    mine = create_binary(tmp_path / "b", binary_tables(), estimand=own, **options)
    for campaign in (theirs, mine):
        batch = campaign.ask()
        campaign.tell(batch.assign(y=[int(a > 0) for a in batch["a"]]))
    found, known = mine.estimate(), theirs.estimate()
    assert_allclose(
        [found.credible.value, found.credible.std],
        [known.credible.value, known.credible.std],
        rtol=1e-9,
    )


@pytest.mark.slow
def test_it_is_planned_for_reported_and_kept_by_its_path(tmp_path, refused, monkeypatch):
    campaign = make(tmp_path / "campaign", estimand=own_metrics.pinball)
    assert campaign.spec.question.estimand == (f"{HOME}:pinball",)
    answer(campaign)
    again = lw.Campaign.open(campaign.path)
    found = again.estimate()
    assert (found.estimand, found.title) == ("pinball", "Pinball loss at 0.9")
    assert found.quantiles[0] >= 0.0
    assert again.status().estimand == "pinball"
    assert "Pinball loss at 0.9" in again.report().read_text()
    assert again.forecast(1).draws is not None
    monkeypatch.setattr(own_metrics, "pinball", None)
    with refused(where="estimand"):
        lw.Campaign.open(campaign.path).estimate()


@pytest.mark.slow
def test_two_models_are_compared_by_it(tmp_path):
    tables = {"labelled": FIRST, "pool": POOL.drop(columns="y")}
    tables = {name: table.assign(other=0.3) for name, table in tables.items()}
    given = {**tables, "prediction": None, "compare": ("guess", "other")}
    mine = answer(make(tmp_path / "mine", estimand=f"{HOME}:declared", **given)).estimate()
    theirs = answer(make(tmp_path / "theirs", estimand="mse", **given)).estimate()
    for found, known in zip(numbers_of(mine), numbers_of(theirs), strict=True):
        assert_allclose(found, known, rtol=1e-9)
    assert mine.beats == theirs.beats


def test_a_local_function_cannot_be_kept(tmp_path, refused):
    with refused(where="estimand"):
        make(tmp_path / "campaign", estimand=lambda y, prediction: y - prediction)
    assert not (tmp_path / "campaign").exists()


@pytest.mark.slow
def test_a_label_that_it_has_no_number_for_is_named(tmp_path, refused):
    campaign = make(tmp_path / "campaign", estimand=f"{HOME}:rooted")
    batch = campaign.ask()
    campaign.tell(dict.fromkeys(batch["id"], -50.0))
    with refused(where="estimand"):
        campaign.estimate()


def test_the_command_line_finds_it_in_the_present_folder(tmp_path, monkeypatch):
    (tmp_path / "my_own_losses.py").write_text(
        "def gap(y, prediction):\n    '''Gap.'''\n    return abs(y - prediction)\n"
    )
    for name, table in binary_tables().items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    files = [f"--{name}={name}.csv" for name in ("labelled", "pool", "target")]
    head = ["--id=id", "--label=y", "--prediction=psi", "--set=belief.components=1"]
    run = lambda *words: CliRunner().invoke(app, [str(word) for word in words])
    done = run("new", "c", *files, *head, "--estimand=my_own_losses:gap")
    assert done.exit_code == 0, done.output
    found = json.loads(run("estimate", "c", "--json").stdout)
    assert (found["estimand"], found["title"]) == ("gap", "Gap")


@pytest.mark.slow
def test_rehearsals_have_its_truth():
    mine = Table.of(make_frame(), COLUMNS, Question(f"{HOME}:squared"))
    assert mine.truth == pytest.approx(Table.of(make_frame(), COLUMNS, Question("mse")).truth)
    rows = rehearse(mine, DESIGN, "random", 0)
    assert len(rows) == DESIGN.rounds + 1
