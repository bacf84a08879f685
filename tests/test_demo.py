"""The demonstration plays two campaigns to their end."""

import pandas as pd
import pytest

from tests.test_cli import ok_json

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("few_patients")
def test_the_demo_grows_surer_and_writes_a_report(tmp_path):
    found = ok_json("demo", "--rounds", 2, "--out", tmp_path / "new")
    rows = pd.DataFrame(found["rows"])
    assert rows.groupby("policy")["labels"].apply(list).tolist() == [[0, 10, 20]] * 2
    planned = rows[rows["policy"] == "lookahead"]
    assert planned["std"].iloc[2] < planned["std"].iloc[1]
    low, high = planned[["low", "high"]].iloc[2]
    assert low < found["truth"] < high
    for name in ("demo.png", "demo.csv", "report.html"):
        assert (tmp_path / "new" / name).stat().st_size > 100
    assert ok_json("status", tmp_path / "new" / "planned")["pool"]["labelled"] == 20
    first, *_, why = found["answers"]
    assert first.startswith("The planned campaign: mean squared error")
    assert "the interval" in why
