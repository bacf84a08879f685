"""Texts and embeddings as components, held to scikit-learn's own and to what they must tell."""

import numpy as np
import pandas as pd
import pytest

from labelwise.tables.encoder import Encoder, fit_encoder
from labelwise.tables.reduce import (
    looks_like_text,
    looks_like_vectors,
    matching,
    reduce_embedding,
    reduce_texts,
)
from labelwise.tables.wide import COMPONENTS

RNG = np.random.default_rng(0)
TOPICS = [
    ["the", "waiter", "was", "rude", "and", "the", "soup", "was", "cold"],
    ["my", "parcel", "never", "arrived", "and", "support", "ignored", "me"],
]


def texts(size):
    """Of two topics in turn, words in any order."""
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice(TOPICS[row % 2], 6)) + f" number {row}" for row in range(size)]


def split(values, **more):
    table = pd.DataFrame({"x": values, **more})
    return {"labelled": table.iloc[:20].reset_index(drop=True), "pool": table.iloc[20:]}


def test_texts_of_two_topics_lie_apart():
    """A line along some component tells every text's topic."""
    found = reduce_texts(split(texts(80)), ["x"])[0]
    values = np.concatenate([found.values["labelled"], found.values["pool"]])
    topic = np.arange(80) % 2
    apart = [
        abs(values[topic == 0, j].mean() - values[topic == 1, j].mean()) for j in range(10)
    ]
    best = int(np.argmax(apart))
    middle = values[:, best].mean()
    assert ((values[:, best] > middle) == (values[0, best] > middle)).tolist() == (
        topic == 0
    ).tolist()
    assert found.made[0] == "x (1)"
    assert "10 components" in found.note


def test_an_embedding_keeps_the_principal_components():
    from sklearn.decomposition import PCA

    x = RNG.normal(size=(90, 30)) @ RNG.normal(size=(30, 30))
    named = {f"emb_{j}": x[:, j] for j in range(30)}
    found = reduce_embedding(split(x[:, 0], **named), "emb_*", list(named))
    reference = PCA(10).fit(x)
    values = np.concatenate([found.values["labelled"], found.values["pool"]])
    np.testing.assert_allclose(np.abs(values), np.abs(reference.transform(x)), atol=1e-8)
    assert found.kept == pytest.approx(reference.explained_variance_ratio_.sum())


def test_lists_are_columns_in_one():
    x = RNG.normal(size=(50, 12))
    named = {f"e{j}": x[:, j] for j in range(12)}
    apart = reduce_embedding(split(x[:, 0], **named), "e", list(named))
    cells = [row.tolist() for row in x]
    together = reduce_embedding(split(cells), "x", ["x"])
    for place in ("labelled", "pool"):
        np.testing.assert_allclose(together.values[place], apart.values[place], atol=1e-9)


def test_a_missing_embedding_is_the_middle():
    cells = [row.tolist() for row in RNG.normal(size=(50, 3))]
    found = reduce_embedding(split([None, *cells[1:]]), "x", ["x"])
    np.testing.assert_array_equal(found.values["labelled"][0], 0.0)
    assert found.values["pool"].shape == (30, 3)


def test_texts_names_and_lists_are_told_apart():
    assert looks_like_text(split(texts(80)), "x")
    assert not looks_like_text(split([f"p{row}" for row in range(80)]), "x")
    assert not looks_like_text(split(["the same few words", "other words again"] * 40), "x")
    assert looks_like_vectors(split([[1.0, 2.0]] * 40), "x")
    assert not looks_like_vectors(split([["a", "b"]] * 40), "x")


def test_lists_of_different_lengths_are_refused(refused):
    with refused(where="labelled.x"):
        reduce_embedding(split([[1.0], [1.0, 2.0]] * 20), "x", ["x"])
    tables = split([[1.0, 2.0]] * 40)
    tables["pool"] = pd.DataFrame({"x": [[1.0]] * 3})
    with refused(where="embedding"):
        reduce_embedding(tables, "x", ["x"])


def test_a_pattern_that_names_nothing_is_refused(refused):
    assert matching("emb_*", ["age", "emb_1", "emb_2"]) == ["emb_1", "emb_2"]
    with refused(where="embedding"):
        matching("vec_*", ["age", "emb_1"])


def test_very_many_features_become_components_that_are_kept_with_the_encoder():
    from sklearn.decomposition import PCA

    x = RNG.normal(size=(120, 70)) @ RNG.normal(size=(70, 70))
    table = pd.DataFrame(x, columns=[f"f{j}" for j in range(70)])
    plain = fit_encoder({"pool": table}, list(table.columns))
    wide = plain.reduced({"pool": table}, list(table.columns))
    expected = np.abs(PCA(COMPONENTS).fit_transform(plain.encode(table)))
    np.testing.assert_allclose(np.abs(wide.encode(table)), expected, atol=1e-7)
    assert wide.names == [f"component {j + 1}" for j in range(COMPONENTS)]
    assert "70 features" in wide.notes[-1]
    again = Encoder.from_dict(wide.to_dict())
    np.testing.assert_array_equal(again.encode(table), wide.encode(table))
    few = list(table.columns[:60])
    narrow = fit_encoder({"pool": table}, few)
    assert narrow.reduced({"pool": table}, few) is narrow
