"""Names that are known without loading anything heavy are those that there are."""

import subprocess
import sys

import pytest

from labelwise import names
from labelwise.beliefs.neural.registry import NETWORKS
from labelwise.estimands.catalogue import ESTIMANDS
from labelwise.policies.registry import POLICIES

MISSPELT = """
import sys
from labelwise import Campaign, InvalidInput
try:
    Campaign.create("nowhere", ["no.csv", "no.csv"], {"id": "id", "label": "y"}, *%r)
except InvalidInput as error:
    print(error)
assert not {"jax", "pandas", "scipy", "sklearn"} & set(sys.modules)
"""


def test_the_registries_have_the_same_names():
    assert tuple(ESTIMANDS) == names.ESTIMANDS
    assert tuple(POLICIES) == names.POLICIES
    assert tuple(NETWORKS) == names.NEURAL


@pytest.mark.parametrize(
    ("parts", "near"),
    [
        (("recal",), "'recall'"),
        ((["mse", "brie"],), "'brier'"),
        (("mse", "ensemble+"), "'ensemble'"),
        (("mse", "auto", "lookahed"), "'lookahead'"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_nearest_before_anything_heavy(parts, near):
    done = subprocess.run([sys.executable, "-c", MISSPELT % (parts,)], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert f"did you mean {near}?" in done.stdout.decode()


MISSPELT_COLUMN = """
import sys
from pathlib import Path
from labelwise import Campaign, InvalidInput
for name in ("labelled.csv", "pool.csv"):
    Path(name).write_text("id,log_cost,predicted\\n")
columns = {"id": "id", "label": "log_costs", "prediction": "predicted"}
try:
    Campaign.create("nowhere", ["labelled.csv", "pool.csv"], columns)
except InvalidInput as error:
    print(error)
assert not {"jax", "pandas", "scipy", "sklearn"} & set(sys.modules)
"""


def test_a_misspelt_column_is_refused_so_too(tmp_path):
    command = [sys.executable, "-c", MISSPELT_COLUMN]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert "did you mean 'log_cost'?" in done.stdout.decode()


def test_what_is_like_no_name_gets_all_of_them(refused):
    with refused(where="policy"):
        names.check_policy("oracle")
