"""The randomised trial."""

from importlib.resources import files

import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments.readers.actg175 import CHANCE, draw_actg175, load_actg175
from experiments.readers.trials import read_shipped

DATA = files("experiments.readers") / "data"
KNOWN_LATER = {"offtrt", "cd420", "cd496", "r", "cd820", "cens", "days"}
TREATMENT = {"treat", "arms"}


@pytest.fixture(scope="module")
def data():
    return load_actg175()


@pytest.fixture(scope="module")
def draw():
    return draw_actg175(3)


def test_every_patient_is_there(data):
    assert data.covariates.shape == data.x.shape == (2139, 15)
    assert data.z.shape == data.y.shape == (2139,)
    assert np.isfinite(data.x).all()
    assert np.bincount(read_shipped("actg175.csv.gz")["arms"]).tolist() == [532, 522, 524, 561]
    assert data.z.sum() == 2139 - 532


def test_covariates_are_from_before_the_treatment(data):
    assert not (KNOWN_LATER | TREATMENT | {"pidnum"}) & set(data.covariates)
    # By lot, no covariate predicts the treatment: each gap is within 4 standard errors.
    treated, others = data.x[data.z == 1], data.x[data.z == 0]
    gap = treated.mean(axis=0) - others.mean(axis=0)
    error = np.sqrt(treated.var(axis=0) / len(treated) + others.var(axis=0) / len(others))
    assert (np.abs(gap) < 4 * error).all()


def test_the_lot_gave_the_chance_it_was_meant_to(data):
    assert abs(data.z.mean() - CHANCE) < 4 * np.sqrt(CHANCE * (1 - CHANCE) / 2139)


def test_the_effects_are_those_that_the_docstrings_state(data):
    treated, others = data.y[data.z == 1], data.y[data.z == 0]
    error = np.sqrt(treated.var(ddof=1) / len(treated) + others.var(ddof=1) / len(others))
    assert_allclose([data.effect, error, data.adjusted_effect], [46.8, 6.8, 49.4], atol=0.05)


def test_adjusting_is_one_regression_with_every_interaction(data):
    """Lin's form: centred covariates, and the coefficient of the treatment is the effect."""
    x = data.x - data.x.mean(axis=0)
    design = np.column_stack([np.ones(len(x)), data.z, x, x * data.z[:, None]])
    coefficients = np.linalg.lstsq(design, data.y, rcond=None)[0]
    assert data.adjusted_effect == pytest.approx(coefficients[1], rel=1e-9)
    residual = data.y - design @ coefficients
    parts = [residual[data.z == arm] for arm in (0, 1)]
    error = np.sqrt(sum((part @ part) / (len(part) - 16) / len(part) for part in parts))
    assert error == pytest.approx(5.1, abs=0.05)


def test_a_draw_has_factual_outcomes_only(data, draw):
    first, others = draw.rows_labelled, draw.rows_pool
    assert len({*first, *others}) == 1100
    assert (draw.x_labelled == data.x[first]).all()
    assert (draw.z_labelled == data.z[first]).all()
    assert (draw.y_labelled == data.y[first]).all()
    assert (draw.x_pool == data.x[others]).all()
    assert (draw.z_pool == data.z[others]).all()
    assert (draw.y_pool == data.y[others]).all()
    assert (draw.x_target == data.x).all()
    assert draw.truth == data.effect


def test_the_first_patients_are_a_region_and_the_pool_is_not(draw):
    """Squared shift of the mean, in units of what chance would give a sample of that size."""

    def shift(x):
        gap = x.mean(axis=0) - draw.x_target.mean(axis=0)
        return len(x) * (gap @ gap) / draw.x_target.var(axis=0).sum()

    assert shift(draw.x_labelled) > 5
    assert shift(draw.x_pool) < 2


def test_a_draw_is_repeatable(draw):
    again = draw_actg175(3)
    assert (draw.rows_labelled == again.rows_labelled).all()
    assert (draw.rows_pool == again.rows_pool).all()


def test_a_draw_that_is_too_large_is_refused(refused):
    with refused(where="labelled", what="ACTG 175 has 2139 units"):
        draw_actg175(0, pool=2040)


def test_licence_source_and_changes_stand_beside_the_table():
    text = (DATA / "ACTG175.md").read_text(encoding="utf-8")
    for phrase in ("Attribution 4.0", "10.24432/C5ZG8F", "335:1081–1090", "**Changes**"):
        assert phrase in text
    for column in read_shipped("actg175.csv.gz").columns:
        assert f"`{column}`" in text
    assert len((DATA / "actg175.csv.gz").read_bytes()) < 50_000
