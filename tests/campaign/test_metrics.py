"""Campaigns for the metrics that people report, and the list of them."""

import json
import subprocess
import sys

import numpy as np
import pytest
import sklearn.metrics as metrics
from typer.testing import CliRunner

from labelwise.cli.app import app
from labelwise.metric_words import MORE
from labelwise.names import ESTIMANDS, OF_CLASSES, VERDICTS, check_estimand
from labelwise.tables.html import html_table
from tests.campaign.small import make_tables
from tests.campaign.test_questions import binary_tables, classifier, create, gaussian, unfitted

ASKED = ["auc", "average-precision", "ece", "calibration-slope", "mcc", "balanced-accuracy"]


def binary_labels(table):
    rng = np.random.default_rng(5)
    return (rng.uniform(size=len(table)) < table["psi"]).to_numpy(float)


def pool_only(tables):
    return {name: table for name, table in tables.items() if name != "target"}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    tables = binary_tables()
    made = create(
        tmp_path_factory.mktemp("metrics") / "c",
        pool_only(tables),
        prediction="psi",
        estimand=ASKED,
        batch=10,
        **unfitted(classifier()) | {"policy": "random"},
    )
    labels = dict(zip(tables["pool"]["id"], binary_labels(tables["pool"]), strict=True))
    batch = made.ask()
    made.tell(batch.assign(y=batch["id"].map(labels)))
    return made, tables["pool"], labels


def test_ten_drawn_labels_answer_every_metric_by_belief_and_rows_together(campaign):
    made, _, _ = campaign
    found = made.estimate()
    assert [found.estimand, *(part.estimand for part in found.parts)] == ASKED
    for one in (found, *found.parts):
        assert one.design is not None, one.estimand
        assert one.design.draws == 10
        low, high = one.interval()
        assert low < one.value < high
        assert 0.0 < one.credible.std < np.inf
    assert type(found).from_dict(found.to_dict()) == found


def test_the_report_has_a_reliability_plot(campaign):
    page = campaign[0].report().read_text()
    assert "Reliability of predicted probabilities" in page
    assert "Shares of ones, with 90" in page


def test_notebooks_show_tables_and_figures(campaign):
    """Before all rows are labelled; what a campaign holds is escaped."""
    made = campaign[0]
    plan, forecast = made.plan(3), made.forecast(1)
    shown = (made, made.status(), plan, made.estimate(), forecast)
    assert all(one._repr_html_().startswith("<table>") for one in shown)
    assert "AUC" in made.estimate()._repr_html_()
    for one in (made, plan, made.estimate(), forecast):
        figure = one.plot()
        assert type(figure).__name__ == "Figure"
        assert figure.axes
    assert len(made.estimate().plot().axes) == len(ASKED)
    assert "&lt;b&gt;" in html_table("<b>", [("a", 1)])


def test_once_every_row_is_labelled_the_answers_are_scikit_learns(campaign):
    made, pool, labels = campaign
    while made.status().pool["available"]:
        batch = made.ask(min(10, made.status().pool["available"]), over_budget=True)
        made.tell(batch.assign(y=batch["id"].map(labels)))
    y, score = pool["id"].map(labels).to_numpy(), pool["psi"].to_numpy()
    truth = {
        "auc": metrics.roc_auc_score(y, score),
        "average-precision": metrics.average_precision_score(y, score),
        "mcc": metrics.matthews_corrcoef(y, score >= 0.5),
        "balanced-accuracy": metrics.balanced_accuracy_score(y, score >= 0.5),
    }
    found = made.estimate()
    for one in (found, *found.parts):
        if one.estimand in truth:
            assert one.credible.value == pytest.approx(truth[one.estimand], abs=1e-9)
            assert one.credible.std == pytest.approx(0.0, abs=1e-9)


def test_numbers_are_answered_for_too(tmp_path):
    tables = pool_only(make_tables())
    options = {"tolerance": 0.3, "quantile": 0.8, "batch": 6}
    names = ["median-error", "within", "quantile-loss"]
    made = create(
        tmp_path / "c",
        tables,
        prediction="psi",
        estimand=names,
        **unfitted(gaussian()),
        **options,
    )
    batch = made.ask()
    made.tell(batch.assign(y=batch["psi"] + 0.2) if "psi" in batch else batch.assign(y=0.5))
    found = made.estimate()
    titles = [found.title, *(part.title for part in found.parts)]
    assert titles == ["median absolute error", "share within 0.3", "quantile loss at 0.8"]
    assert all(one.design is not None for one in (found, *found.parts))


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"estimand": "within"}, "tolerance"),
        ({"estimand": "within", "tolerance": -1.0}, "tolerance"),
        ({"estimand": "quantile-loss", "quantile": 1.0}, "quantile"),
        ({"estimand": "mse", "quantile": 0.5}, "quantile"),
        (
            {"estimand": "median-error", "compare": ("psi", "psi2"), "prediction": None},
            "compare",
        ),
    ],
)
def test_options_that_do_not_suit_are_refused(tmp_path, refused, options, where):
    with refused(where=where):
        create(tmp_path / "c", binary_tables(), **{"prediction": "psi"} | options)


def test_the_median_error_is_not_of_zeros_and_ones(tmp_path, refused):
    with refused(where="estimand"):
        create(tmp_path / "c", binary_tables(), prediction="psi", estimand="median-error")


# The list.


def test_every_metric_is_listed_in_a_line_with_what_it_needs():
    told = CliRunner().invoke(app, ["metrics"]).output
    lines = {line.split()[0]: line for line in told.splitlines() if line}
    assert set(ESTIMANDS) <= set(lines)
    assert all("Needs labels that are" in lines[name] for name in ESTIMANDS)
    listed = json.loads(CliRunner().invoke(app, ["metrics", "--json"]).output)
    assert [one["name"] for one in listed] == [*ESTIMANDS, *MORE]
    assert set(MORE) == {"confusion", *VERDICTS}
    assert set(OF_CLASSES) <= {*ESTIMANDS, *MORE}
    assert {"title", "about", "needs"} <= set(listed[0])


def test_the_list_loads_nothing_heavy():
    code = (
        "import sys\nfrom labelwise.cli.app import app\n"
        "app(['metrics'], standalone_mode=False)\n"
        "heavy = {'jax', 'pandas', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("name", ["AUROC", "pr_auc", "rmse", "Sensitivity", "AUC", "accurracy"])
def test_what_people_call_a_metric_leads_to_its_name(refused, name):
    with refused(where="estimand"):
        check_estimand(name)
