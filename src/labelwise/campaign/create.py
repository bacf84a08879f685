"""What a campaign is made with, from tables that were read and checked."""

from io import BytesIO

import pandas as pd

from labelwise.campaign.store.contract import Contents, Item
from labelwise.errors import InvalidInput
from labelwise.evaluation.prepare import Prepared


def contents_of(prepared: Prepared) -> Contents:
    """What is stored when it is made; a target that is the pool is stored once."""
    spec, tables = prepared.spec, prepared.tables
    labels = pd.to_numeric(tables["labelled"][spec.columns.label]).astype(float)
    documents = {
        "settings": spec.to_dict(),
        "encoder": prepared.encoder.to_dict(),
        "shift": prepared.shift,
        "population": prepared.population.to_dict(),
        "rows": {name: len(table) for name, table in tables.items()},
        # Between which numbers they lie, so that an odd one can be told later.
        "labels": {} if labels.empty else {"low": labels.min(), "high": labels.max()},
    }
    kept = [name for name in tables if name != "target" or spec.target == "target"]
    return Contents(
        documents=documents,
        items=[Item(*item) for item in prepared.items],
        tables={name: _as_parquet(tables[name], name) for name in kept},
    )


def _as_parquet(table: pd.DataFrame, name: str) -> bytes:
    content = BytesIO()
    try:
        table.to_parquet(content, index=False)
    except (TypeError, ValueError, NotImplementedError) as error:  # what Arrow cannot hold
        reason = str(error).splitlines()[0].rstrip(".")
        raise InvalidInput(
            f"The {name} table cannot be stored ({reason})",
            "turn its columns into numbers, texts or dates",
            where=name,
        ) from None
    return content.getvalue()
