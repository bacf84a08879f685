"""What the documents promise: examples run, commands exist, figures are the measured ones."""

import json
import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments import (
    consistency_report,
    coverage_report,
    ensemble_plus,
    gradient_tables,
    high_dim,
    intake,
    interference,
    metrics,
    peers,
    peers_glide,
    rollouts,
    settings_report,
    synthetic_gp,
    theory_tables,
)
from labelwise.cli.app import app
from labelwise.cli.simulation import HEADINGS, cells_of
from labelwise.estimands.catalogue import ESTIMANDS
from tests.estimands.test_smoothing import BIAS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
RESULTS = (ROOT / "docs" / "results.md").read_text()


def code_blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(
    ("place", "name"), [(0, "classifier"), (1, "campaign"), (2, "quickstart")]
)
def test_the_readmes_examples_are_the_ones_that_run(place, name):
    example = (ROOT / "examples" / f"{name}.py").read_text()
    shown = code_blocks("python")[place].strip().removeprefix("import labelwise as lw").strip()
    assert shown in example


@pytest.mark.slow
@pytest.mark.usefixtures("few_patients")
def test_the_readmes_campaign_runs_command_by_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = next(block for block in code_blocks("console") if "labelwise new" in block)
    commands = [shlex.split(line, comments=True) for line in block.strip().splitlines()]
    names = [command[1] for command in commands]
    assert {"new", "plan", "ask", "tell", "estimate", "forecast", "report"} <= set(names)
    for command in commands:
        done = CliRunner().invoke(app, command[1:])
        assert command[0] == "labelwise"
        assert done.exit_code == 0, (command, done.output)
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("few_patients")
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_every_example_runs(path, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # and back, wherever the example goes
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE))
    assert {"demo", "test"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_an_estimand_of_ones_own_is_the_one_that_runs():
    page = (ROOT / "docs" / "estimands.md").read_text()
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    files = ("estimands.py", "my_metrics.py")
    examples = "".join((ROOT / "examples" / name).read_text() for name in files)
    assert shown
    assert all(block.strip() in examples for block in shown)


def test_the_bias_of_softened_labels_is_the_one_that_is_tested():
    page = (ROOT / "docs" / "estimands.md").read_text()
    row = page.split("<!-- smoothed -->")[1].strip().splitlines()[2]
    shown = [float(cell) for cell in row.strip("| ").split("|")]
    assert shown == [0.1, *BIAS.values()]


def test_the_table_of_coverage_is_the_measured_one():
    folder = ROOT / "experiments" / "results" / "coverage"
    summary = json.loads((folder / "summary.json").read_text())
    page = (ROOT / "docs" / "trust.md").read_text()
    shown = page.split("<!-- coverage -->")[1].split("<!-- /coverage -->")[0].strip()
    assert shown == coverage_report.as_markdown(summary)
    assert summary["command"] in page
    told = README.split("an answer that drawn rows check")[1].split("\n- ")[0]
    widths = [cell["kinds"]["combined"]["relative_width"] for cell in summary["cells"].values()]
    for text in (told, page.split("**The answer that is shown**")[1].split("\n- ")[0]):
        for kind in ("combined", "design", "mixture", "classical"):
            assert f"{100 * summary['pooled'][kind]:.0f} %" in text
        assert f"{sum(widths) / len(widths):.2f}" in text


def test_the_table_of_peers_is_the_measured_one():
    folder = ROOT / "experiments" / "results" / "peers"
    summary = json.loads((folder / "summary.json").read_text())
    page = (ROOT / "docs" / "trust.md").read_text()
    for text in (page, README):
        shown = text.split("<!-- peers -->")[1].split("<!-- /peers -->")[0].strip()
        assert shown == peers.as_markdown(summary)
        assert f"{min(summary['seeds'].values())} " in text
    shown = page.split("<!-- peers-glide -->")[1].split("<!-- /peers-glide -->")[0].strip()
    assert shown == peers.as_markdown(summary, ("classical", *peers_glide.NAMES))
    assert summary["command"] in page


@pytest.mark.parametrize(
    ("name", "study"),
    [("metrics", metrics), ("metrics-numbers", metrics), ("intake", intake)],
)
def test_the_tables_of_metrics_and_classes_are_the_measured_ones(name, study):
    folder = ROOT / "experiments" / "results" / name
    summary = json.loads((folder / "summary.json").read_text())
    page = (ROOT / "docs" / "trust.md").read_text()
    shown = page.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0].strip()
    assert shown == study.as_markdown(summary)
    assert summary["command"] in page


def test_the_table_of_settings_is_the_measured_one():
    folder = ROOT / "experiments" / "results" / "settings"
    summary = json.loads((folder / "summary.json").read_text())
    page = (ROOT / "docs" / "trust.md").read_text()
    shown = page.split("<!-- settings -->")[1].split("<!-- /settings -->")[0].strip()
    assert shown == settings_report.as_markdown(summary)
    assert summary["command"] in page


def test_the_table_of_interference_is_the_measured_one():
    folder = ROOT / "experiments" / "results" / "interference"
    summary = json.loads((folder / "summary.json").read_text())
    page = (ROOT / "docs" / "trust.md").read_text()
    shown = page.split("<!-- interference -->")[1].split("<!-- /interference -->")[0].strip()
    assert shown == interference.as_markdown(summary)
    assert summary["command"] in page


@pytest.mark.parametrize(
    ("place", "column"),
    [
        ("ood-inside", "joint_inside"),
        ("ood-outside", "joint_outside"),
        ("ood-distinct", "distinct_outside"),
    ],
)
def test_losses_out_of_distribution_are_the_measured_ones(place, column):
    summary = json.loads((ROOT / "experiments/results/ood/summary.json").read_text())
    page = (ROOT / "docs" / "consistency.md").read_text()
    shown = page.split(f"<!-- {place} -->")[1].split(f"<!-- /{place} -->")[0].strip()
    assert shown == consistency_report.as_grid(summary, column)
    assert summary["command"] in page


def test_losses_before_and_after_labels_are_the_measured_ones():
    summary = json.loads((ROOT / "experiments/results/dynamic/summary.json").read_text())
    page = (ROOT / "docs" / "consistency.md").read_text()
    shown = page.split("<!-- dynamic -->")[1].split("<!-- /dynamic -->")[0].strip()
    assert shown == consistency_report.as_markdown(summary, without=["option"])
    assert summary["command"] in page


def test_the_page_on_estimands_names_all_of_them():
    page = (ROOT / "docs" / "estimands.md").read_text()
    assert [name for name in ESTIMANDS if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(
            f"docs/{name}.md"
            for name in ("results", "campaigns", "consistency", "estimands", "policies")
        ),
    ],
)
def test_every_file_that_a_page_links_to_exists(page):
    text = (ROOT / page).read_text()
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert ((ROOT / page).parent / link).exists(), link


def test_the_figures_of_real_campaigns_are_the_committed_ones():
    shown = RESULTS.split("<!-- support2 -->")[1].split("\n\n")[0]
    summary = json.loads((ROOT / "experiments/results/support2/summary.json").read_text())
    for name, outcome in summary["policies"].items():
        line = next(line for line in shown.splitlines() if line.startswith(f"| `{name}`"))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for place, labels in enumerate((10, 30, 50), 1):
            index = outcome["labels"].index(labels)
            assert cells[place] == (
                f"{outcome['rmse'][index]:.3f} / {outcome['std'][index]:.3f} / "
                f"{100 * outcome['coverage'][index]:.0f} %"
            )


@pytest.mark.parametrize("folder", ["synthetic-gp", "synthetic-gp-authors"])
def test_the_variances_shown_are_the_committed_ones(folder):
    summary = json.loads((ROOT / "experiments/results" / folder / "summary.json").read_text())
    table = RESULTS.split(f"<!-- {folder} -->")[1].split("\n\n")[0]
    shown = 0
    for line in table.strip().splitlines()[2:]:
        cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        policy = cells[0].strip("`")
        if policy not in summary["variance_by_round"]:
            continue
        values = summary["variance_by_round"][policy]
        for cell, index in zip(cells[1:5], (1, 3, 5, 10), strict=True):
            assert cell == f"{values[index]:.5f}", line
        shown += 1
    assert shown >= 7


@pytest.mark.parametrize("suffix", ["", "-refit"])
def test_the_figures_of_intensive_care_are_the_committed_ones(suffix):
    shown = RESULTS.split(f"<!-- real-gp{suffix} -->")[1].split("\n\n")[0].replace("*", "")
    folders = [f"real-gp-{name}{suffix}" for name in ("physionet2012", "eicu-demo")]
    paths = [ROOT / "experiments/results" / name / "summary.json" for name in folders]
    found = [json.loads(path.read_text()) for path in paths]
    for policy in found[0]["final_variance"]:
        cells = [f"`{policy}`"]
        for summary in found:
            last = lambda what, s=summary, policy=policy: s[what][policy][-1]
            variance, spread = last("variance_by_round"), last("variance_standard_error")
            error, doubt = last("error_by_round"), last("error_standard_error")
            cells += [
                f"{1e6 * variance:.1f} ± {1e6 * spread:.1f}",
                f"{error:.4f} ± {doubt:.4f}",
            ]
        assert f"| {' | '.join(cells)} |" in shown


@pytest.mark.parametrize(
    ("folder", "style"), [("ate-acic2016", ".3f"), ("ate-actg175", ".1f"), ("recall", ".3f")]
)
def test_the_effects_and_the_recall_shown_are_the_committed_ones(folder, style):
    summary = json.loads((ROOT / "experiments/results" / folder / "summary.json").read_text())
    table = RESULTS.split(f"<!-- {folder} -->")[1].split("\n\n")[0]
    for name, found in summary["policies"].items():
        line = next(line for line in table.splitlines() if line.startswith(f"| `{name}`"))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        coverage = summary["coverage_after_round_0"][name]
        ends = [f"{found[figure][-1]:{style}}" for figure in ("std", "rmse")]
        assert cells[1:4] == [*ends, f"{100 * coverage:.0f} %"]
        share = summary["share_of_random"].get(name, {"never": 0})
        if "mean" in share and share["never"] < summary["seeds"]:
            assert cells[4] == f"{share['mean']:.2f} ± {share['standard_error']:.2f}"


def test_the_coverage_shown_is_the_committed_one():
    folder = ROOT / "experiments/results/well-specified"
    summary = json.loads((folder / "summary.json").read_text())
    table = RESULTS.split("<!-- well-specified -->")[1].split("\n\n")[0]
    for name, found in summary["families"].items():
        start, end = (100 * found[when]["coverage"] for when in ("start", "end"))
        assert f"| {name} | {found['belief']} | {start:.1f} % | {end:.1f} % |" in table


def test_the_simulation_shown_is_the_committed_one():
    shown = README.split("<!-- simulate-support2 -->")[1].split("\n\n")[0]
    folder = ROOT / "experiments/results/simulate-support2"
    summary = json.loads((folder / "summary.json").read_text())
    heading, _, *lines = shown.strip().splitlines()
    assert heading == f"| policy | {' | '.join(HEADINGS)} |"
    cells = cells_of(summary)
    assert lines == [f"| `{name}` | {' | '.join(cells[name])} |" for name in cells]
    assert summary["verdict"] in README.replace("\n", " ")


def table_of(page, name):
    shown = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", page, re.DOTALL)
    assert shown is not None
    return shown.group(1)


def summary_of(name):
    return json.loads((ROOT / "experiments" / "results" / name / "summary.json").read_text())


@pytest.mark.parametrize(
    ("name", "study"),
    [
        ("ensemble-plus", ensemble_plus),
        ("high-dim", high_dim),
        ("theory", theory_tables),
        ("gradient-quality", gradient_tables),
        ("rollouts", rollouts),
    ],
)
def test_the_tables_of_studies_are_the_committed_ones(name, study):
    assert table_of(RESULTS, name) == study.as_markdown(summary_of(name))


def test_the_costs_of_policies_are_the_measured_ones():
    page = (ROOT / "docs" / "policies.md").read_text()
    expected = synthetic_gp.costs_in_markdown(summary_of("synthetic-gp"))
    assert table_of(page, "policies") == expected


@pytest.mark.parametrize(
    ("place", "study", "table"),
    [
        (
            "ood-synthetic",
            "ood-synthetic",
            lambda found: consistency_report.as_strengths(found, "joint_fresh_outside"),
        ),
        (
            "tradeoff",
            "tradeoff",
            lambda found: consistency_report.as_best(found, "joint_inside", "joint_outside"),
        ),
        (
            "tradeoff-distinct",
            "tradeoff",
            lambda found: consistency_report.as_best(
                found, "distinct_inside", "distinct_outside"
            ),
        ),
        (
            "dynamic-others",
            "dynamic-others",
            lambda found: consistency_report.as_columns(found, "distinct_outside_0"),
        ),
        (
            "dynamic-others-gain",
            "dynamic-others",
            lambda found: consistency_report.as_columns(found, "distinct_gain"),
        ),
        (
            "dynamic-grids",
            "dynamic-grids",
            lambda found: consistency_report.as_best(
                found, "distinct_outside_0", "distinct_outside_1"
            ),
        ),
        (
            "sensitivity",
            "sensitivity",
            lambda found: consistency_report.as_stops(found, 1000),
        ),
    ],
)
def test_other_tables_of_consistency_are_the_measured_ones(place, study, table):
    folder = ROOT / "experiments/results" / study
    summary = json.loads((folder / "summary.json").read_text())
    page = (ROOT / "docs" / "consistency.md").read_text()
    shown = page.split(f"<!-- {place} -->")[1].split(f"<!-- /{place} -->")[0].strip()
    assert shown == table(summary)
    assert summary["command"] in page
