"""The eight problems of the coverage study: do 90 % intervals hold the truth in 90 of 100?

Two are made up (`coverage_synthetic`): in one the belief is right, in the other it is not.
Six come from real tables (`coverage_tables`): a smooth label, a noisy one, and four 0/1
outcomes. In all of them the first labels come from one corner of the data.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.coverage_draws import Drawn
from experiments.coverage_synthetic import draw_heavy_tails, draw_well_specified
from experiments.coverage_tables import (
    SMOOTH,
    SOURCES,
    Outcome,
    draw_from_table,
    make_table,
)
from experiments.readers import acs, credit, physionet2012
from labelwise.datasets.support2 import DIED
from labelwise.errors import InvalidInput


@dataclass(frozen=True)
class Cell:
    """One problem of the study."""

    name: str
    title: str
    origin: Outcome | Callable[[int], Drawn]  # a table's outcome, or draws by seed

    @property
    def binary(self) -> bool:
        return isinstance(self.origin, Outcome) and self.origin.kind == "class"

    @property
    def needs_folder(self) -> bool:
        """Whether the data are read from the user's folder."""
        return (
            isinstance(self.origin, Outcome) and SOURCES[self.origin.source].folder is not None
        )


CELLS = {
    cell.name: cell
    for cell in [
        Cell(
            "support2-smooth",
            "SUPPORT2: a forest's chance of death, no noise",
            Outcome("support2", SMOOTH, "chance"),
        ),
        Cell(
            "acs-income",
            "ACS Connecticut: logarithm of income",
            Outcome("acs", acs.LOG_INCOME, "number"),
        ),
        Cell(
            "support2-died",
            "SUPPORT2: death in hospital",
            Outcome("support2", DIED, "class"),
        ),
        Cell(
            "physionet-died",
            "PhysioNet 2012: death in hospital",
            Outcome("physionet2012", physionet2012.OUTCOME, "class"),
        ),
        Cell(
            "credit-default",
            "Credit-card clients: default",
            Outcome("credit", credit.OUTCOME, "class"),
        ),
        Cell(
            "acs-50k",
            "ACS Connecticut: income above $50,000",
            Outcome("acs", acs.ABOVE, "class"),
        ),
        Cell("well-specified", "A draw from the belief's own prior", draw_well_specified),
        Cell("heavy-tails", "Student's t noise that varies", draw_heavy_tails),
    ]
}


def draw(
    cell: str, seed: int, folder: str | Path | None = None, cache: str | Path | None = None
) -> Drawn:
    """One campaign's start; `folder` holds the data sets, `cache` tables made before."""
    if cell not in CELLS:
        raise InvalidInput(
            f"There is no cell {cell!r}", f"choose among {', '.join(CELLS)}", where="cell"
        )
    origin = CELLS[cell].origin
    if isinstance(origin, Outcome):
        return draw_from_table(make_table(origin, _path(folder), _path(cache)), seed)
    return origin(seed)


def describe(
    cell: str,
    folder: str | Path | None = None,
    cache: str | Path | None = None,
    seeds: int = 100,
) -> dict[str, object]:
    """Print and return what a cell is like, averaged over seeds.

    `apart` is how far the loss among the initial rows lies from the pool's, as a share of it.
    `one_class` counts the seeds whose initial labels are all the same.
    """
    draw(cell, 0, folder, cache)  # what is made once is not a seed's cost
    began = time.perf_counter()
    draws = [draw(cell, seed, folder, cache) for seed in range(seeds)]
    milliseconds = 1e3 * (time.perf_counter() - began) / seeds
    initial = np.array([np.mean((each.initial_prediction - each.y) ** 2) for each in draws])
    pool = np.array([np.mean((each.pool_prediction - each.pool_y) ** 2) for each in draws])
    skill = _auc if CELLS[cell].binary else _r_squared
    facts = {
        **_facts_of_table(cell, folder, cache),
        "mean_label": np.mean([each.pool_y.mean() for each in draws]),
        "mean_prediction": np.mean([each.pool_prediction.mean() for each in draws]),
        skill.__name__[1:]: np.mean(
            [skill(each.pool_y, each.pool_prediction) for each in draws]
        ),
        "loss_initial": initial.mean(),
        "loss_pool": pool.mean(),
        "apart": np.mean(np.abs(initial - pool)) / pool.mean(),
        "one_class": sum(np.ptp(each.y) == 0 for each in draws),
        "milliseconds": milliseconds,
    }
    for name, value in facts.items():
        print(f"{name:>16} {value:.4g}" if isinstance(value, float) else f"{name:>16} {value}")
    return facts


def _facts_of_table(cell, folder, cache) -> dict[str, object]:
    origin = CELLS[cell].origin
    if not isinstance(origin, Outcome):
        return {"rows": "made up"}
    table = make_table(origin, _path(folder), _path(cache))
    return {
        "rows": len(table.x),
        "held_out": int(table.held_out.sum()),
        "trained": int(table.trained.sum()),
        "features": ", ".join(table.features),
    }


def _auc(y: np.ndarray, prediction: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, prediction))


def _r_squared(y: np.ndarray, prediction: np.ndarray) -> float:
    return 1.0 - np.mean((prediction - y) ** 2) / y.var()


def _path(folder: str | Path | None) -> Path | None:
    return None if folder is None else Path(folder)
