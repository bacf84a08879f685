"""Frames of other libraries as pandas': Polars, Arrow, Hugging Face and what narwhals knows."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SIGNS = ("columns", "column_names", "__arrow_c_stream__")


def is_frame(value: Any) -> bool:
    """Whether a value is a frame of whatever kind: it has columns, or can be made pandas'."""
    # Of the class, since to ask a frame that is lazy would make it work.
    return any(hasattr(type(value), sign) for sign in SIGNS)


def as_pandas(value: Any) -> "pd.DataFrame | None":
    """The frame, or None of what is none."""
    import narwhals
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return value
    if not is_frame(value):
        return None
    frame = narwhals.from_native(value, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, narwhals.DataFrame):
        return frame.to_pandas()
    if callable(getattr(value, "to_pandas", None)):  # a data set of Hugging Face
        return value.to_pandas()
    if not hasattr(value, "__arrow_c_stream__"):
        return None
    import pyarrow

    return pyarrow.table(value).to_pandas()
