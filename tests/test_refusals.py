"""The file of sentences, and how tests are held to it."""

import json

import pytest

from labelwise.errors import InvalidInput, StoreError
from tests.costs import is_whole
from tests.refusals import FILE, Refusals, Sentences, matches, name_of, owner_of, with_names

SENTENCE = "The pool is empty; give a row."
EMPTY = InvalidInput("The pool is empty", "give a row", where="pool")


def refuse(sentences: Sentences, error: Exception = EMPTY, **fields) -> None:
    """As the test `t.py::t`."""
    with Refusals("t.py::t", sentences, {})(**({"where": "pool"} | fields)):
        raise error


def test_every_sentence_belongs_to_a_test(request):
    if not is_whole(request.config):
        pytest.skip("only some tests were collected")
    tests = {name_of(item) for item in request.session.items}
    assert {
        key for key in json.loads(FILE.read_text("utf-8")) if owner_of(key) not in tests
    } == set()


def test_fields_and_sentence_are_checked():
    known = Sentences({"t.py::t": SENTENCE}, writing=False)
    refuse(known, what="The pool is empty", remedy="give a row")
    for wrong in ({"where": "target"}, {"what": "The pool"}, {"remedy": "give two"}):
        with pytest.raises(AssertionError):
            refuse(known, **wrong)


def in_two_lines() -> InvalidInput:
    """As no error is made: its own lines are joined."""
    error = InvalidInput("The pool is empty", "give a row", where="pool")
    error.sentence = "The pool\nis empty; give a row."
    return error


@pytest.mark.parametrize(
    "error",
    [
        StoreError("The pool is empty", "give a row", where="pool"),
        in_two_lines(),
    ],
    ids=["another kind", "two lines"],
)
def test_another_kind_of_error_or_two_lines_do_not_pass(error):
    with pytest.raises((AssertionError, StoreError)):
        refuse(Sentences({}, writing=True), error)


@pytest.mark.parametrize("stored", [{}, {"t.py::t": "The pool is dry; give a row."}])
def test_a_new_sentence_fails_and_says_what_to_run(stored):
    with pytest.raises(pytest.fail.Exception, match=r"pytest --write-sentences tests/t\.py"):
        refuse(Sentences(stored, writing=False))


def test_sentences_are_written_one_after_the_other():
    sentences = Sentences({"t.py::t": "old.", "t.py::t #3": "gone.", "u.py::u": "u."}, True)
    refuse(sentences)
    refuse(sentences)
    written = {"t.py::t": SENTENCE, "t.py::t #2": SENTENCE}
    assert sentences.after(None) == written | {"u.py::u": "u."}
    assert sentences.after({"t.py::t"}) == written


def test_what_differs_from_run_to_run_has_a_name():
    places = {"tmp": "/tmp/run-7", "row": "r1", "campaign": "/tmp/run-7/campaign"}
    sentence = "/tmp/run-7/campaign holds r1, r11 (in /tmp/run-7/r1) and some words."
    named = "<campaign> holds <row>, r11 (in <tmp>/<row>) and some words."
    assert with_names(sentence, places) == named
    assert matches(named, sentence, places)
    assert matches("<campaign> holds <row>, ... and some words.", sentence, places)
    assert not matches("<campaign> holds ...", sentence, {"campaign": "/tmp/run-8/campaign"})


def test_words_put_in_by_hand_are_kept():
    sentences = Sentences({"t.py::t": "The pool is ...; give a row."}, writing=True)
    refuse(sentences)
    assert sentences.after(None) == {"t.py::t": "The pool is ...; give a row."}
