"""Timing on noisy machines: interleaved repeats, medians, ratios; and memory."""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def medians(functions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each function, called in turn so that load falls on all alike.

    Each is called once before, to compile.
    """
    for function in functions.values():
        jax.block_until_ready(function())
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            began = time.perf_counter()
            jax.block_until_ready(function())
            times[name].append(time.perf_counter() - began)
    return {name: float(np.median(values)) for name, values in times.items()}


def peak_memory_gb() -> float:
    """Of this process, so far."""
    # Not getrusage: on Linux its maximum is inherited from the parent across fork.
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**20


def temporary_mb(compiled: Any) -> float:
    """What a compiled function holds while it runs, besides what goes in and comes out."""
    return compiled.memory_analysis().temp_size_in_bytes / 1e6
