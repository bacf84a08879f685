"""What a compiled program follows from, in words that every process has alike."""

import dataclasses
import hashlib
import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import equinox as eqx
import jax
import numpy as np

OWN = "labelwise"
MADE_WITH = ("jax", "jaxlib", "equinox", "numpy", "jaxtyping")
# Settings of JAX that change what a program does.
SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_default_prng_impl")
PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Unnamed(Exception):
    """Something that another process could not be sure to know again."""


def described(value: Any) -> Any:
    """Plain values from which the same program follows in any process."""
    if eqx.is_array(value):
        return "array", value.shape, str(value.dtype)
    if isinstance(value, PLAIN):
        return type(value).__name__, value
    if isinstance(value, type):
        return _by_name(value)
    if isinstance(value, FunctionType):
        return _written(value)
    if isinstance(value, np.dtype):
        return "dtype", str(value)
    return _by_name(type(value)), _parts(value)


def _parts(value: Any) -> Any:
    """Of something that is made of others."""
    if isinstance(value, Mapping):
        return [(described(key), described(one)) for key, one in value.items()]
    if isinstance(value, tuple | list):
        return [described(one) for one in value]
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return [(name, described(getattr(value, name, None))) for name in names]
    raise Unnamed


def _by_name(value: Any) -> str:
    """Of a class or function that is written where the source is known."""
    if value.__module__.partition(".")[0] not in (OWN, *MADE_WITH, "builtins"):
        raise Unnamed
    return f"{value.__module__}.{value.__qualname__}"


def _written(function: FunctionType) -> Any:
    """Of a function: where it stands, and what it has from around it."""
    code = function.__code__
    numbers = [one for one in code.co_consts if isinstance(one, PLAIN)]
    around = [cell.cell_contents for cell in function.__closure__ or ()]
    around += [function.__defaults__, function.__kwdefaults__]
    place = _by_name(function), code.co_firstlineno, code.co_code, code.co_names
    return *place, numbers, [described(one) for one in around]


@cache
def surroundings() -> tuple[str, ...]:
    """The source, what it is made with, and the machine."""
    source = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source.update(path.read_bytes())
    return (
        source.hexdigest(),
        platform.python_version(),
        *(f"{name} {version(name)}" for name in MADE_WITH),
        *(f"{name} {getattr(jax.config, name)}" for name in SETTINGS),
        os.environ.get("XLA_FLAGS", ""),
        jax.devices()[0].device_kind,
        platform.machine(),
        _abilities(),
    )


def _abilities() -> str:
    """What the processor can do, where that is told: programs are made for it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
