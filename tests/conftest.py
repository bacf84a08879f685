"""Strict modes for every test: 64 bits, no silent broadcasting, shapes checked by jaxtyping.

And quick ones. Nearly all of the suite's time would be XLA's compiler, so it is told to spend
little on programs that run once on a few rows, and what it made is shared by all processes and
kept between runs. `XLA_FLAGS= make test` compiles as users do.
"""

import gc
import os
from pathlib import Path

# Before numpy starts its threads and JAX its compiler; processes that tests start inherit them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1",  # one map of memory a kernel, not many
)
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".cache" / "jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import jax
import jaxtyping
import pytest

from labelwise.runtime import spare_maps
from tests.costs import Meter

pytest_plugins = ["tests.refusals", "tests.patients"]  # fixtures of their own

jax.config.update("jax_numpy_rank_promotion", "raise")

# Every function of a module that speaks of shapes checks them from here on. The others hold
# tables and words, which pyright has read; checking them again takes a sixth of their time.
SOURCE = Path(__file__).parents[1] / "src"
SHAPED = [
    ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted(SOURCE.rglob("*.py"))
    if "jaxtyping" in file.read_text()
]
jaxtyping.install_import_hook(SHAPED, "beartype.beartype")

METER = Meter()


def pytest_addoption(parser):
    parser.addoption("--costs", action="store_true", help="print what each file costs")
    parser.addini("most_programs", "how many programs the whole suite may compile")


def pytest_configure(config):
    config.pluginmanager.register(METER, "labelwise-costs")


def pytest_collection_finish():
    """What was imported stays: the garbage collector need not go through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture
def meter():
    """What has been compiled so far."""
    return METER


@pytest.fixture(autouse=True, scope="module")
def let_go_of_compiled_functions():
    yield
    spare_maps()


@pytest.fixture
def getkey():
    """A fresh key at each call, the same ones in every run."""
    counter = iter(range(10**6))
    return lambda: jax.random.fold_in(jax.random.key(20240917), next(counter))


@pytest.fixture
def unchecked():
    """Without the type checks, as users run it: their mistakes must reach our own messages."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def in_32_bits():
    """JAX as a user may have set it back."""
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)
