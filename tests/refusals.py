"""Refusals: a test says which field is at fault, and one file keeps the whole sentences.

    def test_ids_are_distinct(refused):
        with refused(where="pool.id"):
            ...

The sentence is held to `tests/sentences.json`, under the test's name. There `<name>` stands for
a text that differs from run to run, and `...` for words of another library, put in by hand.
`pytest --write-sentences` writes down the sentences of the tests that it runs: read the
difference before you commit it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from labelwise.errors import InvalidInput, LabelwiseError
from tests.costs import is_whole

FILE = Path(__file__).with_name("sentences.json")
OPTION = "--write-sentences"


class Sentences:
    """All sentences by test, as the file has them and as this run meets them."""

    def __init__(self, stored: Mapping[str, str], writing: bool):
        self.stored, self.writing = dict(stored), writing
        self.met: dict[str, dict[str, str]] = {}  # of the tests that ran

    def check(self, test: str, sentence: str, places: Mapping[str, str]) -> None:
        """Hold the next sentence of a test to the file."""
        met = self.met.setdefault(test, {})
        key = test if not met else f"{test} #{len(met) + 1}"
        known = self.stored.get(key)
        same = known is not None and matches(known, sentence, places)
        met[key] = known if same else with_names(sentence, places)
        if not (same or self.writing):
            told = "is new" if known is None else f"was {known!r}"
            pytest.fail(
                f"The sentence of {key} {told} and is {met[key]!r}; if that is meant, run "
                f"`pytest {OPTION} tests/{test.partition('::')[0]}`."
            )

    def after(self, tests: set[str] | None) -> dict[str, str]:
        """The file's new content; `tests` are all there are, if all were collected."""
        kept = {
            key: sentence
            for key, sentence in self.stored.items()
            if owner_of(key) not in self.met and (tests is None or owner_of(key) in tests)
        }
        return kept | {key: one for met in self.met.values() for key, one in met.items()}


class Refusals:
    """The refusals of one test."""

    def __init__(self, test: str, sentences: Sentences, places: Mapping[str, str]):
        self.test, self.sentences, self.places = test, sentences, places

    @contextmanager
    def __call__(
        self,
        *,
        where: str,
        error: type[LabelwiseError] = InvalidInput,
        what: str | None = None,
        remedy: str | None = None,
        places: Mapping[str, str] | None = None,
    ) -> Iterator[Any]:
        """An error with these fields must come, in a sentence that is known."""
        every = {**self.places, **(places or {})}
        with pytest.raises(error) as caught:
            yield caught
        found = caught.value
        assert type(found) is error
        for name, wanted in (("where", where), ("what", what), ("remedy", remedy)):
            if wanted is not None:
                assert getattr(found, name) == with_texts(wanted, every)
        sentence = str(found)
        assert "\n" not in sentence
        assert sentence.endswith(".")
        self.sentences.check(self.test, sentence, every)


def with_texts(sentence: str, places: Mapping[str, str]) -> str:
    """The text for each `<name>`."""
    for name, text in places.items():
        sentence = sentence.replace(f"<{name}>", text)
    return sentence


def with_names(sentence: str, places: Mapping[str, str]) -> str:
    """`<name>` for each text, the longest first, as one may be part of another."""
    for name, text in sorted(places.items(), key=lambda place: -len(place[1])):
        sentence = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", f"<{name}>", sentence)
    return sentence


def matches(known: str, sentence: str, places: Mapping[str, str]) -> bool:
    parts = with_texts(known, places).split("...")
    return re.fullmatch(".+".join(map(re.escape, parts)), sentence) is not None


def owner_of(key: str) -> str:
    """The test that a sentence is of; a test may have several."""
    return re.sub(r" #\d+$", "", key)


def name_of(item: pytest.Item) -> str:
    """`file::test[parameter]`, from this folder."""
    return item.nodeid.removeprefix("tests/")


@pytest.fixture
def refused(request):
    """Refuse by the fields of an error; `<tmp>` is the test's own folder."""
    has_folder = "tmp_path" in request.fixturenames
    places = {"tmp": str(request.getfixturevalue("tmp_path"))} if has_folder else {}
    return Refusals(name_of(request.node), request.config.stash[KEY], places)


KEY = pytest.StashKey[Sentences]()


def pytest_addoption(parser):
    parser.addoption(OPTION, action="store_true", help="write down what tests are refused with")


def pytest_configure(config):
    writing = config.getoption("write_sentences")
    if writing and config.getoption("numprocesses", None):
        raise pytest.UsageError(f"{OPTION} works in one process; leave out --numprocesses.")
    stored = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    config.stash[KEY] = Sentences(stored, writing)


def pytest_sessionfinish(session, exitstatus):
    sentences = session.config.stash[KEY]
    if sentences.writing:
        whole = exitstatus == 0 and is_whole(session.config)
        tests = {name_of(item) for item in session.items} if whole else None
        text = json.dumps(sentences.after(tests), indent=1, sort_keys=True, ensure_ascii=False)
        FILE.write_text(f"{text}\n", "utf-8")
