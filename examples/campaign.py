"""A campaign from Python, on the demonstration's tables in a temporary folder."""

import os
import tempfile
from pathlib import Path

from labelwise.cli.demo import write_tables
from labelwise.datasets.support2 import load_support2

os.chdir(tempfile.mkdtemp())
write_tables(Path("tables"), seed=0)
look_up = load_support2().set_index("patient")["log_cost"].get

import labelwise as lw  # noqa: E402

campaign = lw.Campaign.create(
    "audit",
    lw.Tables("tables/labelled.csv", "tables/pool.csv", "tables/target.csv"),
    lw.Columns(id="patient", label="log_cost", prediction="predicted_log_cost"),
    question="mse",
)
batch = campaign.ask(10)  # a DataFrame with an empty label column, recorded as asked
batch["log_cost"] = batch["patient"].map(look_up)
campaign.tell(batch)
print(campaign.estimate())
