"""Making a campaign: everything is checked, then written whole or not at all."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from labelwise.campaign.store.sqlite import Store, building, write_log
from labelwise.errors import InvalidInput
from labelwise.evaluation.prepare import Prepared


def create(path: str | Path, prepared: Prepared) -> None:
    """Write the campaign's folder."""
    spec, tables = prepared.spec, prepared.tables
    documents = {
        "settings": spec.to_dict(),
        "encoder": prepared.encoder.to_dict(),
        "shift": prepared.shift,
        "rows": {name: len(table) for name, table in tables.items()},
        "labels": _extent(tables["labelled"][spec.columns.label]),
    }
    with building(path) as store:
        _write_tables(store, tables, spec.target)
        write_log(store, documents, prepared.items)


def _extent(labels: pd.Series) -> dict[str, float]:
    """Between which numbers the initial labels lie, so that an odd one can be told later."""
    numbers = pd.to_numeric(labels).astype(float)
    return {"low": float(numbers.min()), "high": float(numbers.max())}


def _write_tables(store: Store, tables: Mapping[str, pd.DataFrame], target: str) -> None:
    for name, table in tables.items():
        if name != "target" or target == "target":
            _write_table(table, name, store.table(name))


def _write_table(table: pd.DataFrame, name: str, path: Path) -> None:
    try:
        table.to_parquet(path, index=False)
    except (TypeError, ValueError, NotImplementedError) as error:  # what Arrow cannot hold
        reason = str(error).splitlines()[0].rstrip(".")
        raise InvalidInput(
            f"The {name} table cannot be stored ({reason})",
            "turn its columns into numbers, texts or dates",
            where=name,
        ) from None
