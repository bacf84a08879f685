"""Programs are kept without being asked to, few of them, and threads are let go again."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from labelwise import runtime
from labelwise.runtime import one_thread, single_threaded

MOST = 30  # programs that one `ask` may hand to the compiler
FOLDER = Path(__file__).parent / "recorded" / "made-by-0.1.0"

# What a process of its own says of JAX's settings, and of what it compiled.
SETTINGS = """
import json, jax
{before}
import labelwise.numerics
names = ("compilation_cache_dir", "persistent_cache_min_compile_time_secs")
print(json.dumps([getattr(jax.config, f"jax_{{name}}") for name in names]))
"""
ASK = """
import json, shutil, sys
import jax
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: compiled.append(event)
)
from labelwise import Campaign
shutil.copytree(sys.argv[1], sys.argv[2])
Campaign.open(sys.argv[2]).ask()
print(json.dumps(compiled.count("/jax/core/compile/backend_compile_duration")))
"""


# A campaign of its own, with as many labels as are told: what it asked the cache for.
KEPT = """
import json, sys
import jax, numpy as np, pandas as pd
events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event))
from labelwise import Campaign, Columns, Tables
seed, labelled = map(int, sys.argv[1:])
rng = np.random.default_rng(seed)
def rows(count, start):
    x = rng.normal(size=(count, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(id=np.arange(start, start + count))
    return frame.assign(prediction=x[:, 0], y=x.sum(axis=1) + rng.normal(size=count))
hidden = lambda table: table.drop(columns="y")
tables = Tables(rows(labelled, 0), hidden(rows(50, 500)), hidden(rows(70, 900)))
campaign = Campaign.create(
    ":memory:", tables, Columns(id="id", label="y", prediction="prediction"), seed=seed
)
batch = campaign.ask(4)
campaign.tell(batch.assign(y=rng.normal(size=4)))
campaign.plan(4)
campaign.estimate()
cache = "/jax/compilation_cache/cache_"
print(json.dumps([events.count(cache + kind) for kind in ("hits", "misses")]))
"""


def say(script, *arguments, **environment):
    """What a new process prints, without any setting of JAX's but those given."""
    bare = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(
        command, env={**bare, **environment}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_every_program_is_kept_in_a_folder_of_our_own(tmp_path):
    folder, least = say(SETTINGS.format(before=""), XDG_CACHE_HOME=str(tmp_path))
    assert (Path(folder), least) == (tmp_path / "labelwise" / "jax", 0.0)
    assert Path(folder).is_dir()


@pytest.mark.slow
def test_the_folder_may_be_chosen(tmp_path):
    chosen = str(tmp_path / "kept")
    assert say(SETTINGS.format(before=""), LABELWISE_CACHE=chosen)[0] == chosen


@pytest.mark.slow
@pytest.mark.parametrize("word", ["off", "0", "OFF"])
def test_nothing_is_kept_if_one_says_so(word):
    assert say(SETTINGS.format(before=""), LABELWISE_CACHE=word)[0] is None


def test_what_the_user_chose_for_jax_stays(tmp_path):
    before = f"jax.config.update('jax_compilation_cache_dir', {str(tmp_path)!r})"
    folder, least = say(SETTINGS.format(before=before), LABELWISE_CACHE=str(tmp_path / "no"))
    assert (folder, least) == (str(tmp_path), 1.0)


@pytest.mark.slow
def test_where_no_folder_can_be_made_it_goes_without(tmp_path):
    (tmp_path / "file").write_text("")
    folder = str(tmp_path / "file" / "inside")
    assert say(SETTINGS.format(before=""), LABELWISE_CACHE=folder)[0] is None


def test_threads_are_held_to_one_and_let_go():
    blas = lambda: {each["num_threads"] for each in threadpool_info() if _is_blas(each)}
    with threadpool_limits(2, user_api="blas"):
        with one_thread():
            assert blas() == {1}
        assert blas() == {2}
        assert single_threaded(blas)() == {1}
        assert blas() == {2}


def _is_blas(library):
    return library["user_api"] == "blas"


@pytest.mark.slow
def test_an_ask_hands_few_programs_to_the_compiler(tmp_path):
    cache = os.environ["JAX_COMPILATION_CACHE_DIR"]
    assert 0 < say(ASK, FOLDER, tmp_path / "copy", LABELWISE_CACHE=cache) <= MOST


@pytest.mark.slow
def test_a_second_campaign_of_the_same_padded_shape_compiles_nothing(tmp_path):
    cache = str(tmp_path / "kept")
    hits, misses = say(KEPT, 0, 40, LABELWISE_CACHE=cache)
    assert misses > 0
    again, missed = say(KEPT, 1, 95, LABELWISE_CACHE=cache)  # other rows, and more labels
    assert again == hits + misses
    assert missed == 0


class Settings:
    """JAX's settings, to be changed without harm."""

    def __init__(self, folder=None):
        self.jax_compilation_cache_dir = folder
        self.changed = {}

    def update(self, name, value):
        self.changed[name] = value


@pytest.mark.parametrize(
    ("theirs", "chosen", "kept"),
    [(None, "kept", "kept"), (None, "off", None), ("theirs", "kept", None)],
)
def test_a_folder_is_set_where_none_was(theirs, chosen, kept, tmp_path, monkeypatch):
    settings = Settings(theirs)
    monkeypatch.setattr(runtime.jax, "config", settings)
    monkeypatch.setenv("LABELWISE_CACHE", chosen)
    monkeypatch.chdir(tmp_path)
    runtime.keep_programs()
    assert settings.changed.get("jax_compilation_cache_dir") == kept
    assert (tmp_path / "kept").is_dir() == (kept is not None)
