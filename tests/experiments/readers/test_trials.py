"""What the data sets with treatments share, and the files shipped against their sources."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from experiments.make_trials import DECIMALS, make_actg175, read_covariates, write_all
from experiments.readers.trials import (
    CAP,
    difference_of_means,
    draw_rows,
    encode_covariates,
    read_shipped,
)

DATA = files("experiments.readers") / "data"
SOURCE = Path(__file__).parents[4] / "shared/data"
needs_source = pytest.mark.skipif(
    not (SOURCE / "acic2016").is_dir() or not (SOURCE / "actg175").is_dir(),
    reason=f"the sources are not in {SOURCE}",
)
BLOBS = np.random.default_rng(0).normal(size=(90, 2)) + 20 * np.repeat(np.eye(3, 2), 30, axis=0)


def test_numbers_are_standardised_and_capped_and_texts_become_indicators():
    rare = np.zeros(100)
    rare[0] = 1.0
    table = pd.DataFrame(
        {"rare": rare, "age": np.arange(100.0), "kind": ["a", "b", "c", "c"] * 25}
    )
    x = encode_covariates(table)
    assert x.shape == (100, 5)
    assert_allclose([x[:, 1].mean(), x[:, 1].std()], [0, 1], atol=1e-12)
    assert x[0, 0] == CAP  # uncapped it would be √99
    assert set(x[:, 2:].ravel()) == {0.0, 1.0}
    assert (x[:, 2:].sum(axis=1) == 1).all()


def test_the_first_rows_lie_in_one_region_and_the_others_everywhere():
    first, others = draw_rows("blobs", BLOBS, 0, 20, 60, 3)
    assert len(set(first // 30)) == 1
    assert set(others // 30) == {0, 1, 2}
    assert len({*first, *others}) == 80


def test_the_same_seed_is_the_same_draw():
    draws = [draw_rows("blobs", BLOBS, seed, 20, 40, 3) for seed in (5, 5, 6)]
    for part in (0, 1):
        assert (draws[0][part] == draws[1][part]).all()
        assert set(draws[0][part]) != set(draws[2][part])


@pytest.mark.parametrize(
    ("seed", "labelled", "pool", "clusters", "where"),
    [
        (-1, 20, 40, 3, "seed"),
        (0, 0, 40, 3, "labelled"),
        (0, 20, 0, 3, "labelled"),
        (0, 20, 71, 3, "labelled"),
        (0, 31, 40, 3, "size"),
        (0, 20, 40, 0, "clusters"),
    ],
)
def test_a_draw_that_cannot_be_is_refused(seed, labelled, pool, clusters, where, refused):
    with refused(where=where):
        draw_rows("blobs", BLOBS, seed, labelled, pool, clusters)


def test_the_difference_of_means_is_treated_less_untreated():
    assert difference_of_means(np.array([1.0, 2.0, 7.0, 9.0]), np.array([0, 0, 1, 1])) == 6.5


@needs_source
def test_acic2016_is_the_source_to_the_digits_kept():
    covariates = pd.read_csv(SOURCE / "acic2016/x.csv")
    pd.testing.assert_frame_equal(read_shipped("acic2016/x.csv.gz"), covariates)
    for setting in range(1, 11):
        source = pd.read_csv(SOURCE / f"acic2016/zymu_{setting}.csv")
        shipped = read_shipped(f"acic2016/setting_{setting}.csv.gz")
        assert list(shipped) == list(source)
        assert (shipped["z"] == source["z"]).all()
        assert_allclose(shipped, source, rtol=0, atol=0.5001 * 10.0**-DECIMALS)


@needs_source
def test_actg175_is_the_source_without_the_columns_left_out():
    source, shipped = (
        pd.read_csv(SOURCE / "actg175/ACTG175.csv"),
        read_shipped("actg175.csv.gz"),
    )
    pd.testing.assert_frame_equal(shipped, source[list(shipped)])
    # What the description says of the columns that repeat others:
    assert ((source["treat"] == 1) == (source["arms"] != 0)).all()
    assert ((source["str2"] == 1) == (source["strat"] != 1)).all()
    assert (source["zprior"] == 1).all()


@needs_source
def test_the_script_makes_the_files_shipped(tmp_path):
    write_all(SOURCE, tmp_path)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.gz"))
    assert len(made) == 12
    for name in made:
        again = pd.read_csv(tmp_path / name, comment="#")
        pd.testing.assert_frame_equal(again, read_shipped(str(name)))
    assert len(make_actg175(SOURCE)) == 2139
    assert read_covariates(SOURCE).shape == (4802, 58)
