"""The problems of the coverage study: what a campaign is given, and what it must not be."""

from dataclasses import astuple, replace
from functools import cache

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from experiments import coverage_tables
from experiments.coverage_draws import INITIAL, POOL
from experiments.coverage_problems import CELLS, describe, draw
from experiments.coverage_synthetic import (
    LENGTH_SCALE,
    NOISE,
    VARIANCE,
    draw_function,
    noise_scale,
    truth,
)
from experiments.coverage_tables import (
    EDGE,
    HOME,
    SOURCES,
    Outcome,
    draw_rows,
    make_table,
    prepare,
)
from labelwise.errors import InvalidInput
from tests.experiments.readers.intensive_care import ABSENT, SHARED

pytestmark = pytest.mark.slow
SEEDS = range(5)  # of the draws that most tests look at


def cases(names):
    """Cells whose data are not at hand are skipped, and say why."""
    return [
        pytest.param(name, marks=pytest.mark.skipif(is_absent(name), reason=ABSENT))
        for name in names
    ]


def is_absent(name):
    cell = CELLS[name]
    return cell.needs_folder and not (SHARED / SOURCES[cell.origin.source].folder).is_dir()


every_cell = pytest.mark.parametrize("cell", cases(CELLS))
TABLES = [name for name, cell in CELLS.items() if isinstance(cell.origin, Outcome)]
every_table = pytest.mark.parametrize("cell", cases(TABLES))
CLASSES = [name for name, cell in CELLS.items() if cell.binary]


def table_of(cell):
    return make_table(CELLS[cell].origin, SHARED, None)


@cache
def drawn_from(cell, seed):
    return draw(cell, seed, SHARED)


@every_cell
def test_a_draw_has_its_sizes_and_finite_numbers(cell):
    drawn = drawn_from(cell, 3)
    dim = drawn.x.shape[1]
    assert drawn.x.shape == (INITIAL, dim)
    assert drawn.pool_x.shape == (POOL, dim)
    assert drawn.y.shape == drawn.initial_prediction.shape == (INITIAL,)
    assert drawn.pool_y.shape == drawn.pool_prediction.shape == (POOL,)
    for values in astuple(drawn):
        assert np.isfinite(values).all()
        assert values.dtype == np.float64


@every_cell
def test_a_seed_gives_the_same_draw_and_another_seed_another(cell):
    first, again, other = drawn_from(cell, 3), draw(cell, 3, SHARED), drawn_from(cell, 4)
    for one, same, different in zip(*map(astuple, (first, again, other)), strict=True):
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, different)


@every_cell
def test_features_are_standardised_over_the_population(cell):
    x = np.concatenate([drawn_from(cell, seed).pool_x for seed in SEEDS])
    assert np.abs(x.mean(axis=0)).max() < 5.0 / np.sqrt(len(x))
    # Payments have a tail that ends at 5; no outlier takes up the whole scale.
    assert np.abs(x.std(axis=0) - 1.0).max() < 0.3
    assert np.abs(x).max() <= 5.0 + 1e-12


@pytest.mark.parametrize("cell", cases(CLASSES))
def test_classes_are_0_and_1_and_predictions_are_chances(cell):
    drawn = drawn_from(cell, 0)
    assert set(drawn.pool_y) == {0.0, 1.0}
    assert EDGE <= drawn.pool_prediction.min() < drawn.pool_prediction.max() <= 1.0 - EDGE


def test_there_are_four_cells_of_classes_and_four_of_numbers():
    assert len(CELLS) == 8
    assert sorted(CLASSES) == ["acs-50k", "credit-default", "physionet-died", "support2-died"]
    shipped = {name for name, cell in CELLS.items() if not cell.needs_folder}
    assert shipped == {"support2-smooth", "support2-died", "well-specified", "heavy-tails"}


@every_table
def test_initial_rows_come_from_one_cluster_and_not_from_the_pool(cell):
    table, homes = table_of(cell), set()
    for seed in range(30):
        initial, pool = draw_rows(table, seed)
        assert len(set(initial)) == INITIAL
        assert len(set(pool)) == POOL
        assert not set(initial) & set(pool)
        (home,) = set(table.clusters[initial])
        assert (table.clusters[table.held_out] == home).sum() >= HOME
        assert len(set(table.clusters[pool])) > 5
        homes.add(home)
    assert len(homes) > 5
    drawn = draw(cell, seed, SHARED)
    np.testing.assert_array_equal(drawn.x, table.x[initial])
    np.testing.assert_array_equal(drawn.pool_y, table.y[pool])
    np.testing.assert_array_equal(drawn.pool_prediction, table.prediction[pool])


@every_table
def test_the_predictor_never_saw_a_row_of_a_campaign(cell):
    table = table_of(cell)
    assert not (table.trained & table.held_out).any()
    initial, pool = draw_rows(table, 0)
    assert table.held_out[initial].all()
    assert table.held_out[pool].all()


def test_labels_of_campaigns_do_not_move_the_predictor(monkeypatch):
    origin = CELLS["support2-died"].origin
    table, prepared = table_of("support2-died"), prepare("support2", SHARED, None)
    labels = np.where(table.held_out, 1.0 - table.y, table.y)
    changed = replace(prepared, labels={origin.label: labels})
    monkeypatch.setattr(coverage_tables, "prepare", lambda *_: changed)
    again = make_table.__wrapped__(origin, SHARED, None)
    np.testing.assert_array_equal(again.prediction, table.prediction)


@pytest.mark.parametrize("cell", cases(CLASSES))
def test_the_predictor_is_neither_useless_nor_perfect_and_worse_somewhere(cell, capsys):
    facts = describe(cell, SHARED, seeds=30)
    assert 0.65 < facts["auc"] < 0.85
    assert facts["apart"] > 0.15
    assert "loss_initial" in capsys.readouterr().out


def test_a_cached_table_is_the_table(tmp_path, monkeypatch):
    made = prepare("support2", SHARED, None)
    monkeypatch.setattr(coverage_tables, "_make", lambda *_: made)  # which takes seconds
    written = prepare.__wrapped__("support2", None, tmp_path)
    (path,) = tmp_path.iterdir()
    before = path.stat().st_mtime_ns
    read = prepare.__wrapped__("support2", None, tmp_path)
    assert path.stat().st_mtime_ns == before
    for other in (written, read):
        assert other.features == made.features
        assert other.labels.keys() == made.labels.keys()
        np.testing.assert_array_equal(other.x, made.x)
        np.testing.assert_array_equal(other.clusters, made.clusters)
        for name, values in made.labels.items():
            np.testing.assert_array_equal(other.labels[name], values)


functions = cache(draw_function)


def test_well_specified_labels_have_the_stated_noise():
    noise = np.concatenate([y - function for _, function, y in map(functions, SEEDS)])
    error = NOISE * np.sqrt(2.0 / noise.size)
    assert abs(np.mean(noise**2) - NOISE) < 4.0 * error
    for seed in (0, 4):
        (x, _, y), drawn = functions(seed), drawn_from("well-specified", seed)
        np.testing.assert_array_equal(np.concatenate([drawn.x, drawn.pool_x]), x)
        np.testing.assert_array_equal(np.concatenate([drawn.y, drawn.pool_y]), y)


def test_well_specified_functions_are_draws_from_the_prior():
    """fᵀK⁻¹f is χ² with a degree of freedom a row; K by another library."""
    kernel, values, rows = Matern(LENGTH_SCALE, nu=2.5), [], INITIAL + POOL
    for seed in SEEDS:
        x, function, _ = functions(seed)
        covariance = VARIANCE * kernel(x) + 1e-9 * np.eye(rows)
        values.append(function @ np.linalg.solve(covariance, function))
    assert abs(np.mean(values) - rows) < 4.0 * np.sqrt(2.0 * rows / len(values))


def test_well_specified_predictions_know_nothing_but_the_initial_labels():
    drawn = drawn_from("well-specified", 2)
    ones = np.ones((INITIAL + POOL, 1))
    plane = np.hstack([ones, np.concatenate([drawn.x, drawn.pool_x])])
    prediction = np.concatenate([drawn.initial_prediction, drawn.pool_prediction])
    slope, *_ = np.linalg.lstsq(plane[:INITIAL], drawn.initial_prediction, rcond=None)
    np.testing.assert_allclose(plane @ slope, prediction)
    assert drawn.initial_prediction.mean() == pytest.approx(drawn.y.mean())


def test_heavy_tailed_noise_is_about_a_sixth_of_the_labels_variance():
    z = np.random.default_rng(0).normal(size=(200_000, 4))
    noise = 3.0 * np.mean(noise_scale(z) ** 2)  # Student's t with 3 degrees has variance 3
    assert noise / (noise + truth(z).var()) == pytest.approx(1 / 6, abs=0.02)


def test_an_unknown_cell_is_refused():
    with pytest.raises(InvalidInput, match="no cell 'acs'; choose among support2-smooth"):
        draw("acs", 0)


def test_data_that_are_not_shipped_need_a_folder():
    with pytest.raises(InvalidInput, match="physionet2012 are not shipped; give the folder"):
        draw("physionet-died", 0)


def test_a_table_with_too_few_rows_is_refused():
    table = table_of("support2-died")
    few = replace(table, held_out=table.held_out & (np.arange(len(table.x)) < 500))
    with pytest.raises(InvalidInput, match="rows are left for campaigns; give a table of"):
        draw_rows(few, 0)
