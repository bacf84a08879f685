"""A user's own metric: one function of labels and predictions, by its import path.

The metric is the mean over rows of what the function returns. Campaigns keep the path
"module:function" and import it when they need it, so the function lives in a module.
"""

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Literal

import jax
import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.metrics import Bounds, Metric

Function = Callable[[Any, Any], Any]
_MARK = "__labelwise_metric__"


def metric(
    *,
    title: str | None = None,
    better: Literal["lower", "higher"] | None = None,
    range: Bounds = (None, None),
    degree: int | None = None,
) -> Callable[[Function], Function]:
    """What is known of an own metric, said where its function is defined.

    `title` is what reports call it, `better` lets models be compared, intervals stay in its
    `range`, and a polynomial of `degree` 1 or 2 in the label has closed forms.
    """
    if better not in ("lower", "higher", None):
        raise InvalidInput.must("better", "be 'lower' or 'higher'", f"it is {better!r}")
    if degree not in (1, 2, None):
        raise InvalidInput.must("degree", "be 1 or 2, or None", f"it is {degree!r}")
    if not isinstance(range, tuple) or len(range) != 2:
        raise InvalidInput.must("range", "be a pair (low, high)", f"it is {range!r}")
    known = {"title": title, "better": better, "range": range, "degree": degree}

    def mark(function: Function) -> Function:
        setattr(function, _MARK, {key: value for key, value in known.items() if value})
        return function

    return mark


def path_of(function: Function) -> str:
    """The import path of a function, if a later process can import it."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "")
    if not name.isidentifier() or module in (None, "__main__"):
        raise InvalidInput(
            f"The metric {name or function!r} has no module that it can be imported from later",
            "define it in a file, such as my_metrics.py, and import it from there",
            where="estimand",
        )
    return f"{module}:{name}"


def find_own(path: str) -> Metric:
    """The metric at "module:function", from the path of imports or the present folder."""
    module, _, name = path.partition(":")
    try:
        function = getattr(_import(module), name, None)
    except Exception as error:  # whatever a user's module does when it is read
        raise InvalidInput(
            f"The metric {path!r} cannot be imported ({type(error).__name__}: {error})",
            f"run where {module.replace('.', '/')}.py is, or put its folder on PYTHONPATH",
            where="estimand",
        ) from None
    if not callable(function):
        raise InvalidInput.must(
            "estimand", f"name a function of (y, prediction) in {module}", f"it is {path!r}"
        )
    return _as_metric(function, name, path)


def _import(module: str) -> Any:
    here = os.getcwd()
    sys.path.append(here)
    try:
        return import_module(module)
    finally:
        sys.path.remove(here)


@cache  # one metric a function, so that nothing is compiled twice
def _as_metric(function: Function, name: str, path: str) -> Metric:
    def terms(y, prediction, threshold):
        with np.errstate(all="ignore"):  # what is not finite is refused in words
            values = function(y, prediction)
        if np.shape(values) != np.broadcast_shapes(y.shape, np.shape(prediction)):
            raise InvalidInput.must(
                path,
                "return one number a row",
                f"it returns shape {np.shape(values)} for labels of shape {y.shape}",
            )
        return (values,)

    words = (function.__doc__ or "").strip().splitlines()
    title = words[0].rstrip(".") if words else name
    known: dict[str, Any] = {"title": title} | getattr(function, _MARK, {})
    return Metric(name, terms=terms, **known)


def check_own(metric: Metric, y: np.ndarray, prediction: np.ndarray) -> None:
    """Refuse a function that is not elementwise, not finite, or cannot be traced by JAX."""
    check_finite(metric, _tried(metric, y, prediction), y)
    shape = jax.ShapeDtypeStruct((2, 3), float), jax.ShapeDtypeStruct((2, 1), float)
    try:
        jax.eval_shape(metric.stack, *shape)
    except jax.errors.JAXTypeError:
        raise InvalidInput(
            f"The metric {metric.name!r} does not work on JAX arrays",
            "write it with operators and jax.numpy, without numpy's functions and without if",
            where="estimand",
        ) from None


def _tried(metric: Metric, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """The function's own values; whatever it raises is told with what it should be."""
    try:
        return metric.stack(y, prediction)[0]
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(
            f"The metric {metric.name!r} failed on {len(y)} labels ({type(error).__name__}: "
            f"{error})",
            "write it as one function of two arrays, (y, prediction), with operators and "
            "without if",
            where="estimand",
        ) from None


def check_finite(metric: Metric, values: np.ndarray, y: np.ndarray) -> None:
    """Refuse what is not a number."""
    wrong = ~np.isfinite(values)
    if wrong.any():
        raise InvalidInput(
            f"The metric {metric.name!r} is not finite where the label is {y[wrong][0]:g}",
            "mend the function, or the label",
            where="estimand",
        )
