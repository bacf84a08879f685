"""A user's own metric: one function of labels and predictions, by its import path.

The metric is the mean over rows of what the function returns. Campaigns keep the path
"module:function" or "file.py:function" and import it when they need it. It may be written for
arrays, with operators or functions of numpy or JAX, or for one label and one prediction.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np

from labelwise.errors import InvalidInput
from labelwise.estimands.metrics import Bounds, Metric
from labelwise.estimands.untraced import as_traceable, by_rows
from labelwise.own_code import find

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


def own_metric(function: Function) -> Metric:
    """The metric of a function, wherever it is defined."""
    name = getattr(function, "__name__", "metric").strip("<>")
    return _as_metric(function, name, name)


def find_own(path: str) -> Metric:
    """The metric at "module:function" or "file.py:function"."""
    return _as_metric(find(path, "metric", "estimand"), path.rpartition(":")[2], path)


@cache  # one metric a function, so that nothing is compiled twice
def _as_metric(function: Function, name: str, path: str) -> Metric:
    values_of = as_traceable(by_rows(function))

    def terms(y, prediction, threshold):
        with np.errstate(all="ignore"):  # what is not finite is refused in words
            values = values_of(y, prediction)
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
    """Refuse a function that gives no number a row, or one that is not finite."""
    check_finite(metric, _tried(metric, y, prediction), y)


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
            "write it as one function of (label, prediction) that returns a number",
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
