"""What the documents promise: examples run, commands exist, figures are the measured ones."""

import json
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def code_blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_readmes_example_is_the_one_that_runs():
    example = (ROOT / "examples" / "quickstart.py").read_text()
    assert code_blocks("python")[0].strip() in example


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_every_example_runs(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE))
    assert {"demo", "test"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_file_the_readme_links_to_exists():
    links = re.findall(r"\]\((?!http)([^)#]+)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("folder", ["synthetic-gp", "synthetic-gp-authors"])
def test_the_readmes_variances_are_the_committed_ones(folder):
    summary = json.loads((ROOT / "experiments/results" / folder / "summary.json").read_text())
    table = README.split(f"<!-- {folder} -->")[1].split("\n\n")[0]
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
