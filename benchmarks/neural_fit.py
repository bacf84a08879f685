"""An ensemble's learning: its time after compilation, and its memory."""

import json
import subprocess
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import peak_memory_gb, temporary_mb
from labelwise.beliefs.neural.belief import Precision
from labelwise.beliefs.neural.registry import neural_belief

ENSEMBLE: dict[str, Any] = {
    "members": 100,
    "hidden": (50, 50),
    "steps": 1_000,
    "learning_rate": 1e-3,
}
ROWS, FEATURES = 250, 48


def measure(precision: Precision) -> dict[str, float]:
    """In a process of its own, so that memory is its own."""
    command = [sys.executable, "-m", "benchmarks.neural_fit", precision]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(printed)


def one_fit(precision: Precision) -> dict[str, float]:
    """Seconds, and the process's peak memory before compilation and at the end."""
    rng = np.random.default_rng(0)
    x, y = jnp.asarray(rng.normal(size=(ROWS, FEATURES))), jnp.asarray(rng.normal(size=ROWS))
    belief = neural_belief("ensemble", FEATURES, precision=precision, **ENSEMBLE)
    learn = jax.jit(lambda belief, x, y: belief.condition(x, y).weights)
    before = peak_memory_gb()
    compiled = learn.lower(belief, x, y).compile()
    began = time.perf_counter()
    jax.block_until_ready(compiled(belief, x, y))
    return {
        "seconds": time.perf_counter() - began,
        "peak_memory_before_gb": before,
        "peak_memory_gb": peak_memory_gb(),
        "temporary_mb": temporary_mb(compiled),
    }


if __name__ == "__main__":
    json.dump(one_fit("double" if sys.argv[1] == "double" else "single"), sys.stdout)
