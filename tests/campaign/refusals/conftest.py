"""Rows to be refused with."""

import pytest


@pytest.fixture(autouse=True)
def as_users(unchecked):
    """Users' mistakes must reach our own messages."""


@pytest.fixture
def ids(begun) -> dict[str, str]:
    """One row of each state, by its state."""
    from labelwise.campaign.export import rows_table

    rows = rows_table(begun)
    return {
        state: str(rows.loc[rows["state"] == state, "id"].iloc[0])
        for state in rows["state"].unique()
    }
