"""Strict modes for every test: 64 bits, no silent broadcasting, shapes checked by jaxtyping."""

import gc
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy starts its threads

import jax
import jaxtyping
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")

# Every annotated function of the package checks its arguments' shapes and types from here on.
jaxtyping.install_import_hook("labelwise", "beartype.beartype")


# Every compiled function holds memory maps, of which Linux gives a process some 65,000; beyond
# that JAX crashes. Long before, what was compiled is let go.
MOST_MAPS = 30_000


@pytest.fixture(autouse=True, scope="module")
def let_go_of_compiled_functions():
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


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
