"""Classes by name and by number."""

import numpy as np
import pandas as pd
import pytest

from labelwise.tables.words import (
    Vocabulary,
    are_words,
    in_order,
    in_words,
    usual_pair,
    words_in,
)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["<=50K", ">50K", None], True),
        ([True, False, None], True),
        ([1.0, 0.0, np.nan], False),
        (["1", "2.5", ""], False),
        (["1", "2", "3", "oops"], False),
        ([None, np.nan, ""], False),
        (pd.Series(["a", "b"], dtype="category").tolist(), True),
    ],
)
def test_words_are_told_from_numbers(cells, words):
    assert are_words(cells) is words


def test_words_come_in_order_each_once():
    assert words_in(["b", " a", None, "a"]) == ["a", "b"]
    assert in_order(["10", "9", "1"]) == ["1", "9", "10"]


@pytest.mark.parametrize(
    ("words", "pair"),
    [
        (["yes", "no"], ("no", "yes")),
        (["TRUE"], ("FALSE", "TRUE")),
        (["False", "True"], ("False", "True")),
        (["N"], ("N", "Y")),
        (["polite", "rude"], None),
        (["yes", "true"], None),
        ([], None),
    ],
)
def test_some_pairs_need_no_explanation(words, pair):
    assert usual_pair(words) == pair


def test_a_word_is_known_however_it_is_written():
    vocabulary = Vocabulary(["no", "Yes"])
    cells = ["NO", "yes ", "Yes", None, "'=no"[:0]]
    np.testing.assert_array_equal(
        vocabulary.codes(cells, "column", "y"), [0.0, 1.0, 1.0, np.nan, np.nan]
    )
    assert Vocabulary(["False", "True"]).code(True) == 1.0
    assert Vocabulary(["False", "True"]).code("0") == 0.0
    assert Vocabulary(["a", "b"]).code("0") is None
    assert Vocabulary(["=1+1", "b"]).code("'=1+1") == 0.0
    assert Vocabulary(["1", "2"]).code(2.0) == 1.0
    # Where case alone tells two classes apart, it counts.
    assert Vocabulary(["a", "A"]).code("A") == 1.0


def test_a_word_that_is_no_class_is_refused_with_the_nearest(refused):
    with refused(where="labels.y"):
        Vocabulary(["polite", "rude"]).codes(["polit"], "tell: column 'y'", "labels.y", ["p7"])
    with refused(where="labels.y"):
        Vocabulary(["polite", "rude"]).codes(["?"], "tell: column 'y'", "labels.y")


def test_labels_are_said_in_words_where_they_have_them():
    assert in_words(1.0, ["no", "yes"]) == "yes"
    assert in_words(None, ["no", "yes"]) is None
    assert in_words(1.0, ()) == 1.0
