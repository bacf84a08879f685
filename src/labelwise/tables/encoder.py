"""From columns of any kind to a matrix of features, with statistics that are kept.

Numbers, dates and booleans are standardised; texts become one indicator a level (one for a
pair), and rare levels share one more. A level that was never seen counts as rare, or else
raises no indicator. A missing number becomes the median, and a column of its own says where;
a missing text is a level like any other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput, StoreError
from labelwise.tables.cells import as_numbers, row_numbers, wrong_column
from labelwise.tables.ids import as_text
from labelwise.tables.text import name_rows
from labelwise.tables.wide import WIDE, Wide, fit_wide

LEVELS = 30  # indicators a column may have; rarer levels share one
OTHER = "(other)"
MISSING = "(missing)"
NEARLY_NUMERIC = 0.5  # a text column with this share of numbers was meant to be numeric
IMPUTE = "fill it in, or let Labelwise impute it (missing='impute')"
LEAVE_EMPTY = "mend the cell or leave it empty"
NEARLY_UNIQUE = 0.5  # a text column with this share of distinct values names rows, not kinds

Missing = Literal["impute", "refuse"]
Kind = Literal["numeric", "date", "categorical", "chance"]  # a chance: by its log-odds
HOLDS = {"numeric": "numbers", "date": "dates", "categorical": "texts"}
LEAST_PROBABILITY = 1e-3  # log-odds beyond those of this are cut off


@dataclass(frozen=True)
class Coding:
    """How one column becomes features."""

    column: str
    kind: Kind
    fill: float = 0.0  # stands for a missing number
    centre: float = 0.0
    scale: float = 1.0
    missing: bool = False  # whether an indicator says where values were missing
    levels: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the features it gives."""
        if self.kind == "categorical":
            return [f"{self.column} = {level}" for level in self.levels]
        return [self.column, f"{self.column} {MISSING}"] if self.missing else [self.column]


@dataclass(frozen=True)
class Encoder:
    """The codings of all columns, and what was decided on the way, in words."""

    codings: tuple[Coding, ...]
    notes: tuple[str, ...] = ()
    wide: Wide | None = None  # components that stand for the features of the first codings

    @property
    def names(self) -> list[str]:
        first, start = ([], 0) if self.wide is None else (self.wide.names, self.wide.codings)
        return [*first, *(name for coding in self.codings[start:] for name in coding.names)]

    def encode(self, table: pd.DataFrame) -> np.ndarray:
        """Turn a table into rows of features."""
        blocks = [_encode(coding, table[coding.column]) for coding in self.codings]
        if self.wide is not None:
            count = self.wide.codings
            first = self.wide.apply(np.concatenate(blocks[:count], axis=1))
            blocks = [first, *blocks[count:]]
        return np.ascontiguousarray(np.concatenate(blocks, axis=1))

    def reduced(self, tables: Mapping[str, pd.DataFrame], columns: Sequence[str]) -> "Encoder":
        """The encoder with components for these columns, where they give very many features."""
        count = sum(coding.column in columns for coding in self.codings)
        if sum(len(coding.names) for coding in self.codings[:count]) <= WIDE:
            return self
        first = replace(self, codings=self.codings[:count])
        rows = np.concatenate([first.encode(table) for table in tables.values()])
        wide, note = fit_wide(rows, count)
        return replace(self, wide=wide, notes=(*self.notes, note))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "Encoder":
        try:
            codings = [
                Coding(**fields | {"levels": tuple(fields["levels"])})
                for fields in stored["codings"]
            ]
            wide = stored.get("wide")
            wide = None if wide is None else Wide.from_dict(wide)
            return Encoder(tuple(codings), tuple(stored["notes"]), wide)
        except (KeyError, TypeError) as error:
            raise StoreError(
                f"The campaign's encoder cannot be understood ({error})",
                "restore the folder from a copy",
                where="encoder",
            ) from None


def fit_encoder(
    tables: Mapping[str, pd.DataFrame],
    features: Sequence[str],
    *,
    categorical: Sequence[str] = (),
    missing: Missing = "impute",
    chosen: bool = False,
    probabilities: Sequence[str] = (),
) -> Encoder:
    """Learn how to code the features; `chosen` says that the user named them one by one.

    Columns in `probabilities` are coded by their log-odds.
    """
    codings, notes = [], []
    for column in features:
        parts = {name: table[column] for name, table in tables.items()}
        kind = "categorical" if column in categorical else _kind(parts, column)
        kind = "chance" if column in probabilities else kind
        if missing == "refuse":
            _refuse_rows(parts, column, pd.isna, "empty", IMPUTE)
        if kind == "numeric":
            is_infinite = lambda part: np.isinf(as_numbers(part))
            _refuse_rows(parts, column, is_infinite, "infinite", LEAVE_EMPTY)
        whole = pd.concat(list(parts.values()), ignore_index=True)
        coding, note = _fit(column, whole, kind, chosen)
        codings += [coding] if coding else []
        notes += [note] if note else []
    if features and not codings:
        reasons = " ".join(notes).rstrip(".")
        raise InvalidInput(
            f"No feature is left ({reasons})", "give columns that vary", where="features"
        )
    return Encoder(tuple(codings), tuple(notes))


def _kind(parts: Mapping[str, pd.Series], column: str) -> Kind:
    kinds: dict[str, Kind] = {
        name: _kind_of(part, name, column)
        for name, part in parts.items()
        if part.notna().any()  # an empty column takes the kind it has elsewhere
    }
    if len(set(kinds.values())) > 1:
        first, second = sorted(kinds, key=lambda name: kinds[name])[:: len(kinds) - 1]
        raise InvalidInput(
            f"Column {column!r} holds {HOLDS[kinds[first]]} in the {first} table but "
            f"{HOLDS[kinds[second]]} in the {second} table",
            "give it one kind, or name it as categorical",
            where=f"{first}.{column}",
        )
    return next(iter(kinds.values())) if kinds else "numeric"


def _kind_of(values: pd.Series, name: str, column: str) -> Kind:
    if pd.api.types.is_complex_dtype(values):
        remedy = "give real and imaginary parts as two columns"
        raise wrong_column(name, column, "holds complex numbers", remedy)
    if pd.api.types.is_datetime64_any_dtype(values):
        return "date"
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return "numeric"
    known = values.dropna()
    if known.map(lambda value: isinstance(value, bool | np.bool_)).all():
        return "numeric"
    no_number = pd.to_numeric(known.astype(str), errors="coerce").isna()
    named = isinstance(values.dtype, pd.CategoricalDtype)
    if named or (~no_number).mean() <= NEARLY_NUMERIC:
        return "categorical"
    if no_number.any():
        row, held = known[no_number].index[0] + 1, str(known[no_number].iloc[0])[:40]
        what = f"holds numbers, but row {row} holds {held!r}"
        raise wrong_column(
            name, column, what, "mend the cell, or name the column as categorical"
        )
    return "numeric"


def _refuse_rows(
    parts: Mapping[str, pd.Series], column: str, is_wrong: Any, what: str, remedy: str
) -> None:
    for name, part in parts.items():
        rows = np.flatnonzero(is_wrong(part))
        if rows.size:
            which = name_rows(row_numbers(part, rows))
            raise wrong_column(name, column, f"is {what} in {which}", remedy)


def _fit(column: str, whole: pd.Series, kind: Kind, chosen: bool):
    if kind == "categorical":
        return _fit_levels(column, whole, chosen)
    numbers = _measure(whole, kind)
    known = numbers[~np.isnan(numbers)]
    if known.size == 0:
        return None, f"Column {column!r} is empty and left out of the features."
    fill = float(np.median(known))
    filled = np.where(np.isnan(numbers), fill, numbers)
    with np.errstate(over="ignore"):
        scale, gaps = float(filled.std()), int(np.isnan(numbers).sum())
    if not np.isfinite(scale):
        raise InvalidInput(
            f"Column {column!r} has numbers too large to compare ({np.abs(known).max():g})",
            "bring it to an ordinary scale",
            where=column,
        )
    if scale <= 1e-9 * max(abs(fill), 1e-300) and not gaps:
        return None, f"Column {column!r} is constant and left out of the features."
    scale = scale if scale > 0 else 1.0
    coding = Coding(column, kind, fill, float(filled.mean()), scale, gaps > 0)
    if gaps:
        return coding, (
            f"Column {column!r}: {gaps} missing of {len(whole)}, replaced by the median "
            f"{fill:g} with an indicator column."
        )
    counted = pd.api.types.is_integer_dtype(whole) and len(whole) > LEVELS
    if counted and whole.nunique() > 0.99 * len(whole):
        return coding, f"Column {column!r} numbers the rows; if it is an id, leave it out."
    return coding, None


def _fit_levels(column: str, whole: pd.Series, chosen: bool):
    texts = _texts(whole)
    counts = texts.value_counts()
    if len(counts) == 1:
        return None, f"Column {column!r} is constant and left out of the features."
    distinct = len(counts)
    if distinct > LEVELS and distinct > NEARLY_UNIQUE * len(texts) and not chosen:
        return None, (
            f"Column {column!r} has {distinct} distinct texts in {len(texts)} rows and is left "
            "out of the features; name it as a feature to keep it."
        )
    if distinct <= LEVELS:
        levels = sorted(counts.index)
        # One indicator tells two levels apart; a second would only repeat it.
        return Coding(column, "categorical", levels=tuple(levels[distinct == 2 :])), None
    # Ties in frequency go by name, so that the order of rows does not matter.
    ranked = sorted(counts.index, key=lambda level: (-counts[level], level))
    kept = sorted(level for level in ranked[:LEVELS] if level != OTHER)
    rare = f"{distinct - LEVELS} rare levels of {distinct}"
    note = f"Column {column!r}: {rare} share one indicator."
    return Coding(column, "categorical", levels=(*kept, OTHER)), note


def _encode(coding: Coding, values: pd.Series) -> np.ndarray:
    if coding.kind == "categorical":
        place = {level: index for index, level in enumerate(coding.levels)}
        codes = _texts(values).map(place).fillna(place.get(OTHER, -1)).to_numpy(int)
        # Code -1 is the last row, whose only 1 is in the column that is dropped.
        return np.eye(len(coding.levels) + 1)[codes, :-1]
    numbers = _measure(values, coding.kind)
    gaps = np.isnan(numbers)
    scaled = (np.where(gaps, coding.fill, numbers) - coding.centre) / coding.scale
    return np.column_stack([scaled, gaps]) if coding.missing else scaled[:, None]


def _texts(values: pd.Series) -> pd.Series:
    """Give each level one text: 1 in one table and 1.0 in another are the same."""
    text = lambda value: MISSING if pd.isna(value) else as_text(value)
    return values.astype(object).map(text)


def _measure(values: pd.Series, kind: Kind) -> np.ndarray:
    """Give each row a number: of a date its days since 1970, of a probability its log-odds."""
    if kind == "date":
        since = pd.to_datetime(values, utc=True) - pd.Timestamp(0, tz="UTC")
        return (since / pd.Timedelta(days=1)).to_numpy(float, na_value=np.nan)
    numbers = as_numbers(values)
    if kind != "chance":
        return numbers
    inside = np.clip(numbers, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return np.log(inside) - np.log1p(-inside)
