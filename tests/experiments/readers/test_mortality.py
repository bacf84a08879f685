"""The paper's real problem: forest, clusters and draws, on made-up patients."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from experiments.readers.mortality import (
    EDGE,
    Cohort,
    Sizes,
    draw_mortality,
    fit_predictor,
    make_cohort,
)
from experiments.readers.physionet2012 import load_physionet2012
from labelwise.beliefs.gaussian_process import GaussianProcess
from labelwise.beliefs.kernels import RBF
from tests.experiments.readers.intensive_care import write_physionet2012


@cache
def prior():
    return GaussianProcess(RBF(1.0, 0.1), 0.01)


SMALL = Sizes(initial=20, pool=60, target=40)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("patients")
    write_physionet2012(folder, rows=400)
    return load_physionet2012(folder)


@pytest.fixture(scope="module")
def cohort(table):
    return make_cohort(table, "died_in_hospital", features=2, clusters=4)


def test_the_features_that_tell_who_dies_are_found(cohort):
    assert list(cohort.features) == ["Age", "Urine_mean"]
    assert all(value > 0.2 for value in cohort.features.values())


def test_features_are_standardised_and_missing_ones_in_the_middle(cohort, table):
    assert_allclose(cohort.x.mean(axis=0), 0.0, atol=1e-9)
    assert_allclose(cohort.x.std(axis=0), 1.0)
    missing = table["Urine_mean"].isna().to_numpy()
    assert len(set(cohort.x[missing, 1])) == 1
    assert abs(cohort.x[missing, 1][0]) < 0.3


def test_one_extreme_patient_ends_at_the_edge(table):
    table = table.assign(Age=table["Age"].mask(table.index == 7, 1e6))
    x = make_cohort(table, "died_in_hospital", features=4, clusters=3).x
    assert np.abs(x).max() == EDGE


def test_labels_are_probabilities_that_were_not_learnt_by_heart(cohort, table):
    assert cohort.y.min() >= 0.0
    assert cohort.y.max() <= 1.0
    died = table["died_in_hospital"].to_numpy(float)
    assert np.corrcoef(cohort.y, died)[0, 1] > 0.5
    # In-sample predictions would lie within 0.5 of nearly every outcome.
    assert 0.05 < np.mean(np.abs(cohort.y - died) > 0.5) < 0.4


def test_a_draw_is_disjoint_and_starts_in_one_cluster(cohort):
    problem = draw_mortality(cohort, prior(), 3, SMALL)
    number = {tuple(row): index for index, row in enumerate(cohort.x.tolist())}
    find = lambda x: [number[tuple(row)] for row in np.asarray(x).tolist()]
    parts = [find(problem.x), find(problem.pool.x), find(problem.estimand.x)]
    assert [len(part) for part in parts] == [20, 60, 40]
    assert len(set().union(*parts)) == 120
    assert len(set(cohort.clusters[parts[0]])) == 1
    assert [len(set(cohort.clusters[part])) for part in parts[1:]] == [4, 4]
    assert_allclose(problem.labels, cohort.y[parts[1]])
    prediction = fit_predictor(cohort.x[parts[0]], cohort.y[parts[0]])(cohort.x[parts[2]])
    assert_allclose(problem.estimand.prediction, prediction)
    assert_allclose(problem.truth, np.mean((cohort.y[parts[2]] - prediction) ** 2))


def test_the_seed_decides_the_draw(cohort):
    pool = lambda seed: np.asarray(draw_mortality(cohort, prior(), seed, SMALL).pool.x)
    assert (pool(1) == pool(1)).all()
    assert (pool(1) != pool(2)).any()


def test_the_predictor_is_ridge_regression_within_0_and_1():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)), rng.uniform(size=30)
    centred = x - x.mean(axis=0)
    slope = np.linalg.solve(centred.T @ centred + np.eye(2), centred.T @ (y - y.mean()))
    rows = np.array([[0.1, 0.2], [-0.3, 0.4], [100.0, 0.0], [-100.0, 0.0]])
    line = y.mean() + (rows - x.mean(axis=0)) @ slope
    assert_allclose(fit_predictor(x, y)(rows), np.clip(line, 0.0, 1.0))


def test_too_few_patients_are_refused(cohort, refused):
    with refused(where="sizes", remedy="ask for fewer"):
        draw_mortality(cohort, prior(), 0, Sizes(initial=390, pool=1, target=1))
    tiny = Cohort(cohort.x[:9], cohort.y[:9], np.zeros(9, int), cohort.features)
    with refused(where="sizes", remedy="ask for fewer"):
        draw_mortality(tiny, prior(), 0, Sizes(4, 4, 4))


@pytest.mark.parametrize("outcome", [0, np.nan])
def test_an_outcome_of_another_kind_is_refused(table, outcome, refused):
    with refused(where="died_in_hospital"):
        make_cohort(table.assign(died_in_hospital=outcome), "died_in_hospital", 2, 4)


def test_more_clusters_than_rows_are_refused(table, refused):
    with refused(where="features", remedy="it cannot give 2 features and 401 clusters"):
        make_cohort(table, "died_in_hospital", 2, 401)


def test_columns_without_any_value_do_no_harm(table):
    empty = table.assign(empty=pd.Series(np.nan, index=table.index))
    assert np.isfinite(make_cohort(empty, "died_in_hospital", 8, 4).x).all()
