"""What is done every day starts at once: neither JAX nor pandas is loaded for it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("jax", "pandas", "sklearn", "scipy", "matplotlib", "pyarrow")
FOLDER = Path(__file__).parent / "recorded" / "made-by-0.1.0"
# One process a way in: verb by verb, so that a failure says which one started what.
PYTHON = """
from labelwise import Campaign
campaign = Campaign.open(folder)
light("open")
history = campaign.store.history()
ids = {logged.event.position: logged.id for logged in history}
out = [ids[row] for row in campaign.state().pending_in_order()]
light("state")
told = {ids[row]: label for row, label in campaign.state().labels.items()}
csv = folder / "back.csv"
csv.write_text(f"id,y\\n{out[0]},1\\n")
assert campaign.tell(csv).new == 1
assert campaign.tell({out[0]: 1}).known == 1
(folder / "back.json").write_text(json.dumps([{"id": out[0], "y": 1}]))
assert campaign.tell(folder / "back.json").known == 1
light("tell")
assert campaign.fail(out[1]) == 1
light("fail")
assert campaign.skip(out[1:2], "torn") == 1
light("skip")
id_, label = next(iter(told.items()))
assert campaign.correct({id_: 1 - label}) == 1
light("correct")
assert campaign.status().pool["labelled"] == len(told) + 1
light("status")
"""
COMMANDS = """
from labelwise.cli.app import app

def run(*words):
    try:
        app([words[0], str(folder), *words[1:], "--json"])
    except SystemExit as done:
        assert not done.code, words
    light(words[0])

import labelwise.campaign.campaign as campaigns
campaign = campaigns.Campaign.open(folder)
ids = {logged.event.position: logged.id for logged in campaign.store.history()}
out = [ids[row] for row in campaign.state().pending_in_order()]
(folder / "back.csv").write_text(f"id,y\\n{out[0]},1\\n")
(folder / "mended.csv").write_text(f"id,y\\n{out[0]},0\\n")
run("tell", str(folder / "back.csv"))
run("correct", str(folder / "mended.csv"))
run("fail", out[1])
run("skip", out[1])
run("status")
"""
FREE = """
from labelwise.cli.app import app

for words in (["--help"], ["ask", "--help"], ["new", "--template"], ["--version"]):
    try:
        app(words)
    except SystemExit as done:
        assert not done.code, words
    light(" ".join(words))
"""
# What reasons needs JAX and pandas, but neither networks nor what only studies need.
ASK = """
from labelwise import Campaign
Campaign.open(folder).estimate()
unused = ("optax", "sklearn", "matplotlib", "scipy.stats", "labelwise.beliefs.neural")
loaded = [name for name in unused if name in sys.modules]
assert not loaded, loaded
"""
STORE = """
import labelwise.campaign.store.contract
import labelwise.campaign.store.folder
light("store")
"""


def started(code: str, folder: Path) -> subprocess.CompletedProcess:
    head = (
        "import json, sys\nfrom pathlib import Path\n"
        f"folder = Path({json.dumps(str(folder))})\n"
        "def light(verb):\n"
        f"    heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    assert not heavy, (verb, heavy)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", head + code], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "code", [PYTHON, COMMANDS, FREE, STORE], ids=["python", "commands", "free", "store"]
)
def test_telling_and_looking_start_neither_jax_nor_pandas(code, tmp_path):
    folder = shutil.copytree(FOLDER, tmp_path / "old")
    done = started(code, folder)
    assert done.returncode == 0, done.stderr


def test_an_answer_loads_neither_networks_nor_what_studies_need(tmp_path):
    done = started(ASK, shutil.copytree(FOLDER, tmp_path / "old"))
    assert done.returncode == 0, done.stderr


def test_the_guard_itself_sees_what_is_loaded(tmp_path):
    assert "('all', ['pandas'" in started("import pandas\nlight('all')", tmp_path).stderr
