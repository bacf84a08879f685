"""Strict modes for every test: 64 bits, no silent broadcasting, shapes checked by jaxtyping."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy starts its threads

import jax
import jaxtyping
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")

# Every annotated function of the package checks its arguments' shapes and types from here on.
jaxtyping.install_import_hook("labelwise", "beartype.beartype")


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
