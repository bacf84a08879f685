"""The study of planning with an ensemble: its forward model, and what it reports."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from experiments import ensemble_plus as study
from experiments.ensemble_plus_problem import COUNTS, make_toy

pytestmark = pytest.mark.slow

AUTHORS = Path(__file__).resolve().parents[3] / "shared" / "authors"
needs_authors = pytest.mark.skipif(
    not (AUTHORS / "ens_bruteforce_pairs.json").is_file(),
    reason=f"the authors' files are not at {AUTHORS}",
)


@pytest.fixture(scope="module")
def enumeration():
    """All pairs after their true labels; after imagined ones, which take long, the last."""
    whole = study.expected_variances
    last = lambda *about: np.full(len(study.PAIRS), whole(*about[:-1], about[-1][-1:])[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "expected_variances", last)
        yield study.enumerate_pairs("code", 0, AUTHORS)
    study.enumerate_pairs.cache_clear()


@needs_authors
@pytest.mark.usefixtures("enumeration")
def test_the_forward_model_is_the_authors():
    """In single precision, through 50 steps: variances to a thousandth, all 45 pairs.

    With clipped gradients to a hundredth.
    """
    found = study.compare_with_authors(AUTHORS)
    assert found is not None
    assert found["noclip"] < 1e-3
    assert found["clip"] < 1e-2


@needs_authors
def test_the_authors_pairs_rank_as_theirs(enumeration):
    found = enumeration
    best = study.PAIRS[int(np.argmin(found.variance))]
    assert best == (8, 9)
    assert_allclose(found.variance.min(), 578.2, rtol=1e-3)
    assert_allclose(found.error[study.PAIRS.index((8, 9))], 37.07, rtol=1e-3)
    assert_allclose(found.now, 10718.0, rtol=1e-3)
    assert 0.0 < found.expected[-1] < found.now


def test_the_texts_problem_has_its_counts_and_an_honest_truth():
    toy = make_toy("text", 3, None)
    assert toy.pool.x.shape == (sum(COUNTS["pool"]), 1)
    assert toy.estimand.x.shape == (sum(COUNTS["target"]), 1)
    assert toy.belief.labelled is not None
    assert toy.belief.labelled.x.shape == (sum(COUNTS["train"]), 1)
    # Most of the target lies in the cluster at 1, of which four pool rows are.
    near = np.abs(np.asarray(toy.pool.x)[:, 0] - 1.0) < 0.1
    assert near.sum() == 4
    function = np.asarray(toy.labels)[near].mean()
    assert toy.truth == pytest.approx(0.8 * function**2 + 0.2 * 0.69, abs=0.4)


def test_shares_are_of_the_best_reduction():
    found = study.Enumeration(
        10.0, np.array([4.0, 2.0, 12.0]), *(np.zeros(3) for _ in range(4))
    )
    assert [found.share(place) for place in range(3)] == [0.75, 1.0, -0.25]


def test_the_summary_counts_seeds_that_attain_enough():
    rows = pd.DataFrame(
        {
            "policy": "text/reinforce-baseline",
            "seed": [0, 1],
            "round": 0,
            "share": [0.94, 0.96],
            "expected_variance": 1.0,
            "variance": [1.0, 3.0],
            "error": 0.1,
            "seconds": 1.0,
        }
    )
    found = study.summarise(rows, None, "command")["variants"]["text"]["reinforce-baseline"]
    assert found["seeds_with_enough"] == 1
    assert found["least_share"] == 0.94
    assert found["variance"] == 2.0
