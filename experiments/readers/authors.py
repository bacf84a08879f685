"""The data sets that the paper's authors generated, read from their files.

Files hold train_x, train_y, pool_x, pool_y, eval_x and eval_y. The truth is the mean of the
squared evaluation labels, as in the authors' own comparison (predictor 0). Their labels were
not drawn from the prior and lie near zero; files named "priorlabels" have labels that were.
"""

from pathlib import Path

import jax.numpy as jnp
import numpy as np

from labelwise.datasets.synthetic import ClusterDesign
from labelwise.errors import InvalidInput
from labelwise.estimands.named import MeanSquaredError
from labelwise.simulation.problem import Problem
from labelwise.types import Pool

FIELDS = ("train_x", "train_y", "pool_x", "pool_y", "eval_x", "eval_y")


def load_authors_clusters(path: str | Path) -> Problem:
    """The authors' 51-cluster problem from one of their generated files."""
    path = Path(path)
    found = read_authors(path)
    return Problem(
        prior=ClusterDesign().prior(),
        x=jnp.asarray(found["train_x"]),
        y=jnp.asarray(found["train_y"]),
        pool=Pool(found["pool_x"]),
        labels=jnp.asarray(found["pool_y"]),
        estimand=MeanSquaredError(found["eval_x"]),
        truth=jnp.mean(jnp.asarray(found["eval_y"]) ** 2),
        name=f"authors/{path.stem}",
        truth_is="realised mean loss over the evaluation labels",
    )


def read_authors(path: str | Path) -> dict[str, np.ndarray]:
    """Rows and labels of one of the authors' files, by name."""
    path = Path(path)
    if not path.is_file():
        raise InvalidInput(
            f"There is no file {path}", "give the path of an authors' data set", where=str(path)
        )
    with np.load(path) as file:
        missing = [name for name in FIELDS if name not in file]
        if missing:
            raise InvalidInput(
                f"{path} lacks {', '.join(missing)}",
                "give an authors' data set",
                where=str(path),
            )
        parts = {name: np.asarray(file[name], float) for name in FIELDS}
    shape = lambda name, values: _as_rows(values) if name.endswith("_x") else values.ravel()
    return {name: shape(name, values) for name, values in parts.items()}


def _as_rows(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1)
