"""The authors' files: the loader, and the figures lookahead must reach on their data."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments.readers.authors import load_authors_clusters
from labelwise.simulation.loop import simulate

FOLDER = Path(__file__).parents[4] / "shared" / "authors"


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    shapes = {"train_x": (4, 1), "pool_x": (6, 1), "eval_x": (5, 1)}
    parts = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    parts |= {name.replace("_x", "_y"): rng.normal(size=len(x)) for name, x in parts.items()}
    np.savez(tmp_path / "some.npz", **parts)
    return tmp_path / "some.npz", parts


def test_a_file_becomes_a_problem(file):
    path, parts = file
    problem = load_authors_clusters(path)
    assert_allclose(problem.pool.x, parts["pool_x"])
    assert_allclose(problem.labels, parts["pool_y"])
    assert_allclose(problem.truth, np.mean(parts["eval_y"] ** 2))
    assert problem.name == "authors/some"


def test_a_missing_file_is_refused(tmp_path, refused):
    with refused(where="<tmp>/none.npz"):
        load_authors_clusters(tmp_path / "none.npz")


def test_a_file_of_another_kind_is_refused(tmp_path, refused):
    np.savez(tmp_path / "other.npz", train_x=np.zeros((2, 1)))
    with refused(where="<tmp>/other.npz"):
        load_authors_clusters(tmp_path / "other.npz")


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.exists(), reason="the authors' files are not beside the project")
def test_lookahead_is_below_every_method_of_the_authors_on_their_data():
    problem = load_authors_clusters(FOLDER / "gp51_seed0.npz")
    variance = [r.variance for r in simulate(problem, "lookahead", rounds=10, batch=5, seed=0)]
    bounds = [0.0175, 0.0070, 0.0025, 0.0010, 0.0006]
    assert all(mine <= bound for mine, bound in zip(variance[1:6], bounds, strict=True))
    assert variance[10] <= 0.00007
