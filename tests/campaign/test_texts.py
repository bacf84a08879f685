"""Campaigns on texts and embeddings: what the belief sees, and what labellers see."""

import numpy as np
import pandas as pd
import pytest

from labelwise.campaign.campaign import Campaign
from labelwise.evaluation.prepare import prepare
from labelwise.tables.columns import Columns
from tests.tables.test_reduce import texts

QUICK = {"name": "auto", "components": 1}
COLUMNS = {"label": "y", "prediction": "score"}


def table(size=70, **more):
    rng = np.random.default_rng(4)
    y = (np.arange(size) % 2).astype(float)
    y[30:] = np.nan
    score = rng.uniform(0.1, 0.9, size)
    return pd.DataFrame({"review": texts(size), "score": score, "y": y, **more})


def ready(frame, **columns):
    named = Columns(**COLUMNS, **columns)
    return prepare(frame, named, "accuracy", QUICK, telling_apart=False)


def test_a_text_is_a_feature_by_its_words():
    made = ready(table())
    assert made.feature_names[:-1] == tuple(f"review ({j})" for j in range(1, 11))
    assert any("'review' holds texts" in note for note in made.encoder.notes)


def test_texts_and_embeddings_may_be_named():
    numbers = np.random.default_rng(2).normal(size=(70, 4))
    named = {f"emb_{j}": numbers[:, j] for j in range(4)}
    made = ready(table(**named, kind=["a b", "c"] * 35), text=["kind"], embedding=["emb_*"])
    names = made.feature_names
    assert sum(name.startswith("emb_* (") for name in names) == 4
    assert "kind (1)" in names
    assert "emb_0" not in made.tables["pool"]


def test_one_pattern_need_not_be_a_list():
    numbers = np.random.default_rng(2).normal(size=(70, 4))
    frame = table(**{f"emb_{j}": numbers[:, j] for j in range(4)})
    listed = ready(frame, embedding=["emb_*"], text=["review"])
    assert ready(frame, embedding="emb_*", text="review").feature_names == listed.feature_names


@pytest.mark.parametrize("kind", ["columns", "lists"])
def test_words_among_the_numbers_of_an_embedding_are_no_gaps(kind, refused):
    """Gaps are fine; a word would pass for one, and its column for a constant."""
    numbers = np.random.default_rng(2).normal(size=(70, 3)).astype(object)
    numbers[5, 1] = np.nan
    made = lambda: (
        table(emb_0=numbers[:, 0], emb_1=numbers[:, 1], emb_2=numbers[:, 2])
        if kind == "columns"
        else table(emb_1=[list(line) for line in numbers])
    )
    pattern = {"embedding": "emb_*"} if kind == "columns" else {}
    assert any("reduced to 3" in note for note in ready(made(), **pattern).encoder.notes)
    numbers[7, 1] = "none"
    with refused(where="given.emb_1"):
        ready(made(), **pattern)


def test_named_features_leave_other_texts_out():
    made = ready(table(age=np.arange(70.0)), features=["age"])
    assert made.feature_names == ("age", "score")
    both = ready(table(age=np.arange(70.0)), features=["age", "review"])
    assert len(both.feature_names) == 12


def test_a_text_that_is_not_in_all_tables_is_refused(refused):
    with refused(where="given.comment"):
        ready(table(), text=["comment"])
    with refused(where="text"):
        ready(table(), text=["score"])


@pytest.mark.slow
def test_labellers_see_the_text_and_no_components(tmp_path):
    frame = table(vector=[[float(j), 1.0 - j] for j in np.arange(70) / 70.0])
    frame.to_parquet(tmp_path / "scored.parquet")
    named = Columns(**COLUMNS)
    campaign = Campaign.create(
        tmp_path / "audit", tmp_path / "scored.parquet", named, "accuracy", QUICK
    )
    batch = campaign.ask(3)
    assert list(batch.columns) == ["batch_id", "row", "review", "y"]
    notes = campaign.status().notes
    assert any("embedding 'vector'" in note for note in notes)
    opened = Campaign.open(tmp_path / "audit")
    assert len(opened.feature_names) == 13
    campaign.export(tmp_path / "rows.csv")
    assert "review (1)" not in pd.read_csv(tmp_path / "rows.csv")
