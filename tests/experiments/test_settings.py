"""The study of other settings: what its arms change, and what its tables say."""

import numpy as np
import pandas as pd
import pytest

from experiments.settings_arms import Arm, arms, setting_of
from experiments.settings_report import FOUR, KINDS, as_markdown, summarise


def test_every_arm_differs_from_the_usual_campaign_in_one_thing():
    for name, arm in arms().items():
        usual = Arm(arm.table)
        different = [key for key in Arm._fields if getattr(arm, key) != getattr(usual, key)]
        assert len(different) == (0 if name == arm.table else 1), name
        assert (setting_of(name) == "as usual") == (name == arm.table)


def made_up(held, widths):
    """Campaigns of two arms whose intervals hold or not, so wide."""
    rows = []
    for policy, seed in (("spam", 0), ("spam", 1), ("telecom-churn", 0), ("telecom-churn", 1)):
        row = {"policy": policy, "seed": seed, "round": 0, "labels": 50.0, "estimand": "brier"}
        row |= {"truth": 0.0, "failed": 0, "ever_missed": 0, "seconds": 1.0, "forecast": None}
        for kind in KINDS:
            inside, width = held[policy][seed], widths[kind]
            low = -width / 2.0 if inside else 1.0
            row |= {f"{kind}_value": low, f"{kind}_low": low, f"{kind}_high": low + width}
        rows.append(row)
    return pd.DataFrame(rows)


def test_cells_of_a_setting_count_alike():
    widths = {"combined": 1.0, "belief": 0.5, "design": 2.0, "classical": 2.0}
    held = {"spam": (True, True), "telecom-churn": (True, False)}
    summary = summarise(made_up(held, widths), "")
    cell = summary["cells"]["telecom-churn, 50 bought, brier"]["kinds"]["combined"]
    assert cell["coverage"] == 0.5
    assert cell["relative_width"] == 0.5
    assert cell["rmse"] == pytest.approx(np.sqrt((0.25 + 1.0) / 2.0))
    pooled = summary["pooled"]["as usual, 50 bought"]
    assert pooled["kinds"]["combined"]["coverage"] == 0.75
    assert pooled["lowest"] == 0.5
    assert (pooled["cells"], pooled["campaigns"]) == (2, 4)


def test_rows_of_an_arm_without_such_a_look_do_not_count():
    rows = made_up(
        {"spam": (True, True), "telecom-churn": (True, True)}, dict.fromkeys(KINDS, 1.0)
    )
    empty = rows.assign(round=1, truth=np.nan, labels=np.nan, estimand=None)
    both = summarise(pd.concat([rows, empty], ignore_index=True), "")
    assert both["cells"] == summarise(rows, "")["cells"]


def test_forecasts_are_held_to_the_widths_that_came():
    held = {"spam": (True, True), "telecom-churn": (True, True)}
    rows = made_up(held, dict.fromkeys(KINDS, 3.0)).assign(forecast=[2.0, 3.0, 4.0, np.nan])
    found = summarise(rows, "")["forecast"]["width"]
    assert (found["campaigns"], found["quantile 0.5"]) == (3, 1.0)
    assert found["mean"] == pytest.approx(np.mean([1.5, 1.0, 0.75]))
    none = {"width": {"campaigns": 0}, "labels": {"campaigns": 0}}
    assert summarise(rows.assign(forecast=None), "")["forecast"] == none


def test_forecasts_are_held_to_the_labels_that_the_width_took():
    """Fifty in all, of which twenty had come when it was foretold."""
    held = {"spam": (True, True), "telecom-churn": (True, True)}
    rows = made_up(held, dict.fromkeys(KINDS, 3.0)).assign(
        forecast=3.0, needed=[30, 80, 0, np.nan]
    )
    found = summarise(rows, "")["forecast"]["labels"]
    assert (found["campaigns"], found["quantile 0.5"]) == (3, 1.0)
    assert found["mean"] == pytest.approx(np.mean([1.0, 0.5, 2.5]))


def test_the_table_begins_with_the_usual_campaign_on_all_tables_and_on_those_of_others():
    held = {"spam": (True, True), "telecom-churn": (True, False)}
    both = made_up(held, dict.fromkeys(KINDS, 1.0))
    alone = both.assign(policy=both["policy"] + " drawn uniformly")
    more = both[both["policy"] == "spam"].assign(policy="car-crash")
    summary = summarise(pd.concat([alone, more, both], ignore_index=True), "")
    assert summary["pooled"]["as usual, 50 bought"]["cells"] == 3
    assert summary["pooled"][f"{FOUR}, 50 bought"]["cells"] == 2
    names = [line.split(" | ")[0] for line in as_markdown(summary).splitlines()[2:]]
    settings = ("as usual", FOUR, "drawn uniformly")
    assert names == [f"| {setting}, 50 bought" for setting in settings]
