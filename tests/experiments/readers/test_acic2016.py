"""The competition's data: known truth, confounded treatment."""

import gzip
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from experiments.readers import acic2016
from experiments.readers.acic2016 import SETTINGS, draw_acic2016, load_acic2016
from experiments.readers.trials import CAP, difference_of_means

DATA = files("experiments.readers") / "data"


@pytest.fixture(scope="module")
def data():
    return load_acic2016()


@pytest.fixture(scope="module")
def draw():
    return draw_acic2016(3)


@pytest.fixture
def covariates_once(data, monkeypatch):
    """Settings differ in their outcomes: what they share is read and encoded once."""
    read = acic2016.read_shipped
    of = lambda name: data.covariates if name == "acic2016/x.csv.gz" else read(name)
    monkeypatch.setattr(acic2016, "read_shipped", of)
    monkeypatch.setattr(acic2016, "encode_covariates", lambda _: data.x)


def test_every_unit_is_there(data):
    assert data.covariates.shape == (4802, 58)
    assert data.x.shape == (4802, 82)  # 55 numbers, and 6 + 16 + 5 levels
    for name in ("z", "y0", "y1", "mu0", "mu1", "y"):
        assert getattr(data, name).shape == (4802,)
        assert np.isfinite(getattr(data, name)).all()
    assert set(data.z) == {0, 1}


def test_covariates_are_standardised_and_hold_no_outcome(data):
    assert list(data.covariates) == [f"x_{index}" for index in range(1, 59)]
    texts = data.covariates.select_dtypes(exclude="number")
    assert list(texts) == ["x_2", "x_21", "x_24"]
    assert np.abs(data.x).max() <= CAP
    assert np.isfinite(data.x).all()
    assert data.x.std(axis=0).min() > 0


@pytest.mark.usefixtures("covariates_once")
@pytest.mark.parametrize(("setting", "truth", "naive"), [(1, 2.128, 3.582), (2, 4.679, 5.199)])
def test_truth_and_naive_difference_are_those_of_the_source(setting, truth, naive):
    data = load_acic2016(setting)
    assert data.effect == pytest.approx(truth, abs=5e-4)
    assert difference_of_means(data.y, data.z) == pytest.approx(naive, abs=5e-4)


def test_the_truth_differs_from_the_realised_effect_by_noise_only(data):
    realised = np.mean(data.y1 - data.y0)
    assert realised == pytest.approx(2.151, abs=5e-4)
    assert_allclose([(data.y0 - data.mu0).std(), (data.y1 - data.mu1).std()], 1, atol=0.06)
    assert abs(realised - data.effect) < 5 * np.sqrt(2 / 4802)


@pytest.mark.usefixtures("covariates_once")
def test_the_table_of_effects_is_what_the_files_say():
    text = (DATA / "ACIC2016.md").read_text(encoding="utf-8")
    for setting in range(1, SETTINGS + 1):
        data = load_acic2016(setting)
        naive = difference_of_means(data.y, data.z)
        realised = np.mean(data.y1 - data.y0)
        row = f"| {setting} | {data.effect:.3f} | {realised:.3f} | {naive:.3f} |"
        assert f"{row} {100 * data.z.mean():.1f} % |" in text
        if setting in (2, 3):
            assert np.ptp(data.mu1 - data.mu0) < 1.1e-4 + 1e-9  # two roundings


def test_the_factual_outcome_follows_the_treatment(data):
    assert (data.y[data.z == 1] == data.y1[data.z == 1]).all()
    assert (data.y[data.z == 0] == data.y0[data.z == 0]).all()


@pytest.mark.parametrize("setting", [0, 11, -1])
def test_an_unknown_setting_is_refused(setting, refused):
    with refused(where="setting", what=f"it is {setting}"):
        load_acic2016(setting)


def test_a_draw_holds_what_happened_and_what_would_happen(data, draw):
    assert draw.x_labelled.shape == (100, 82)
    assert draw.x_pool.shape == (1000, 82)
    first, others = draw.rows_labelled, draw.rows_pool
    assert len({*first, *others}) == 1100
    assert (draw.x_labelled == data.x[first]).all()
    assert (draw.z_labelled == data.z[first]).all()
    assert (draw.y_labelled == data.y[first]).all()
    assert (draw.x_pool == data.x[others]).all()
    assert (draw.y0_pool == data.y0[others]).all()
    assert (draw.y1_pool == data.y1[others]).all()
    assert (draw.x_target == data.x).all()
    assert draw.truth == data.effect


def test_the_first_units_are_a_region_and_the_pool_is_not(draw):
    """Squared shift of the mean, in units of what chance would give a sample of that size."""

    def shift(x):
        gap = x.mean(axis=0) - draw.x_target.mean(axis=0)
        return len(x) * (gap @ gap) / draw.x_target.var(axis=0).sum()

    assert shift(draw.x_labelled) > 5
    assert shift(draw.x_pool) < 2


def test_a_draw_is_repeatable(draw):
    again = draw_acic2016(3)
    assert (draw.rows_labelled == again.rows_labelled).all()
    assert (draw.rows_pool == again.rows_pool).all()


@pytest.mark.usefixtures("covariates_once")
def test_a_draw_that_is_too_large_is_refused(refused):
    with refused(where="labelled", what="ACIC 2016 has 4802 units"):
        draw_acic2016(0, pool=4703)


def test_licence_source_and_changes_stand_beside_the_files():
    text = (DATA / "ACIC2016.md").read_text(encoding="utf-8")
    for phrase in ("CDLA-Sharing-1.0", "causallib", "34(1):43–68", "**Changes**"):
        assert phrase in text
    names = ["x", *(f"setting_{setting}" for setting in range(1, SETTINGS + 1))]
    contents = [(DATA / "acic2016" / f"{name}.csv.gz").read_bytes() for name in names]
    assert sum(map(len, contents)) < 1_000_000
    for content in contents:  # the licence wants a notice in every file that was changed
        notice = gzip.decompress(content).decode().splitlines()[0]
        assert notice.startswith("# ACIC 2016")
        assert "changed by Labelwise" in notice
        assert "CDLA-Sharing-1.0" in notice


def test_the_covariates_have_no_gaps(data):
    assert not pd.isna(data.covariates).any(axis=None)
