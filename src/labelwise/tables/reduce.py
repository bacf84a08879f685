"""Many numbers of a row in a few: texts and embeddings as components, made when tables come in.

A text is counted by its words and pairs of words, hashed to a fixed number of places, rare ones
the heavier; an embedding is taken as it is. Of either the directions in which rows differ most
are kept. No label is looked at, and nothing is downloaded. The components are columns like
others from then on, and are kept with the tables.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from labelwise.errors import InvalidInput
from labelwise.tables.cells import wrong_column
from labelwise.tables.numbers import are_empty, as_numbers
from labelwise.tables.text import listed

COMPONENTS = 10  # of a text or an embedding
PLACES = 2**14  # that words are hashed to
FIT_ROWS = 20_000  # from which directions are found
FEW_TEXTS = 30  # fewer distinct ones are levels
WORDS = 3.0  # of a text on average; shorter ones are names
LOOK = 1000  # texts that are looked at to tell

Frames = Mapping[str, pd.DataFrame]


class Reduced(NamedTuple):
    """A set of columns as components."""

    name: str
    columns: tuple[str, ...]  # that it was
    values: dict[str, np.ndarray]  # by table, rows × components
    kept: float  # share of the variance
    is_text: bool

    @property
    def made(self) -> list[str]:
        """Names of the components."""
        count = next(iter(self.values.values())).shape[1]
        return [f"{self.name} ({number})" for number in range(1, count + 1)]

    @property
    def note(self) -> str:
        """What was done, in a sentence."""
        many = len(self.made)
        if self.is_text:
            return (
                f"Column {self.name!r} holds texts: {many} components of their words stand for "
                "it."
            )
        size = f" ({len(self.columns)} columns)" if len(self.columns) > 1 else ""
        return (
            f"The embedding {self.name!r}{size} is reduced to {many} components, which keep "
            f"{100 * self.kept:.0f} % of its variance."
        )


def reduce_texts(tables: Frames, columns: Sequence[str]) -> list[Reduced]:
    """Texts as components of their words."""
    return [_reduce_text(tables, column) for column in columns]


def looks_like_text(tables: Frames, column: str) -> bool:
    """Whether a column holds texts of several words, too many to be levels."""
    cells = [cell for table in tables.values() for cell in table[column].dropna().tolist()]
    if len(set(map(str, cells[:LOOK]))) <= FEW_TEXTS:
        return False
    texts = [cell for cell in cells[:LOOK] if isinstance(cell, str)]
    lengths = [len(text.split()) for text in texts]
    return len(texts) == len(cells[:LOOK]) and float(np.mean(lengths)) >= WORDS


def looks_like_vectors(tables: Frames, column: str) -> bool:
    """Whether a column holds lists of numbers."""
    cells = (cell for table in tables.values() for cell in table[column].tolist())
    first = next((cell for cell in cells if isinstance(cell, list | tuple | np.ndarray)), None)
    return first is not None and not np.isnan(as_numbers(list(first))).any()


def matching(pattern: str, names: Sequence[str], where: str = "embedding") -> list[str]:
    """The columns that a pattern such as emb_* names."""
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        raise InvalidInput(
            f"No column that all tables have is called like {pattern!r}",
            f"name some that they share: {listed(names)}",
            where=where,
        )
    return found


def reduce_embedding(
    tables: Frames, name: str, columns: Sequence[str], most: int = COMPONENTS
) -> Reduced:
    """Columns of numbers, or one of lists, as components."""
    one = len(columns) == 1 and looks_like_vectors(tables, columns[0])
    read = lambda table, place: (
        _stacked(table[columns[0]], place, columns[0])
        if one
        else _side_by_side(table, columns, place)
    )
    raw = {place: read(table, place) for place, table in tables.items()}
    widths = {values.shape[1] for values in raw.values() if len(values)}
    if len(widths) > 1:
        raise InvalidInput(
            f"The embedding {name!r} has {min(widths)} numbers in one table and "
            f"{max(widths)} in another",
            "give all rows the same model's",
            where="embedding",
        )
    every = np.concatenate([values for values in raw.values() if len(values)])
    none = np.isnan(every).all(axis=0)  # of these numbers no row has any
    centre = np.where(none, 0.0, np.nanmean(np.where(none, 0.0, every), axis=0))
    filled = lambda values: np.nan_to_num(values - centre)
    directions, kept = _directions(filled(every), most)
    values = {
        place: filled(one).reshape(-1, len(centre)) @ directions for place, one in raw.items()
    }
    return Reduced(name, tuple(columns), values, kept, False)


def _side_by_side(table: pd.DataFrame, columns: Sequence[str], place: str) -> np.ndarray:
    for column in columns:
        check_results(table[column], place, column)
    return np.column_stack([as_numbers(table[column]) for column in columns])


def check_results(cells: pd.Series, place: str, column: str) -> None:
    """Refuse what is neither a number nor a gap, which would pass for a gap."""
    strange = np.isnan(as_numbers(cells)) & ~are_empty(cells)
    if strange.any():
        held = str(cells.iloc[int(np.argmax(strange))])[:40]
        what = f"holds {held!r} in row {int(np.argmax(strange)) + 1}"
        raise wrong_column(place, column, what, "give numbers, and nothing where none is")


def _stacked(cells: pd.Series, place: str, column: str) -> np.ndarray:
    """Lists as lines of numbers; a missing one as NaN."""
    lists = [cell if isinstance(cell, list | tuple | np.ndarray) else None for cell in cells]
    lengths = sorted({len(cell) for cell in lists if cell is not None})
    if len(lengths) > 1:
        what = f"holds lists of {lengths[0]} and of {lengths[-1]} numbers"
        raise wrong_column(place, column, what, "give all rows the same model's")
    width = lengths[0] if lengths else 0
    none = [np.nan] * width
    lines = [none if cell is None else as_numbers(list(cell)) for cell in lists]
    gaps = [row for row, line in enumerate(lines) if np.isnan(line).any()]
    empty = lambda cell: are_empty(none if cell is None else list(cell))
    strange = [row for row in gaps if (np.isnan(lines[row]) & ~empty(lists[row])).any()]
    if strange:
        what = f"holds a list with what is no number in row {strange[0] + 1}"
        raise wrong_column(place, column, what, "give numbers, or nothing in its place")
    return np.array(lines, float)


def _directions(x: np.ndarray, most: int) -> tuple[np.ndarray, float]:
    """Those in which rows differ most, each with its largest part positive."""
    some = x[np.random.default_rng(0).permutation(len(x))[:FIT_ROWS]]
    variances, vectors = np.linalg.eigh(some.T @ some / max(len(some), 1))
    most = min(most, x.shape[1], max(len(x) - 1, 1))
    vectors, variances = vectors[:, ::-1][:, :most], variances[::-1]
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(most)])
    kept = float(variances[:most].sum() / max(float(variances.sum()), 1e-300))
    return vectors * np.where(signs == 0.0, 1.0, signs), kept


def _reduce_text(tables: Frames, column: str) -> Reduced:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    options: Any = {"ngram_range": (1, 2), "n_features": PLACES, "alternate_sign": False}
    options |= {"norm": None}
    options["token_pattern"] = r"(?u)\b\w+\b"  # words of one letter too
    texts = [_text(cell) for table in tables.values() for cell in table[column].tolist()]
    counts: Any = HashingVectorizer(**options).transform(texts)
    rows = np.random.default_rng(0).permutation(len(texts))[:FIT_ROWS]
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts[rows])
    weighed: Any = weigh.transform(counts)
    most = max(min(COMPONENTS, len(texts) - 1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of texts that are all alike
        model = TruncatedSVD(most, random_state=0).fit(weighed[rows])
    found = np.asarray(model.transform(weighed))
    ends = np.cumsum([len(table) for table in tables.values()])[:-1]
    values = dict(zip(tables, np.split(found, ends), strict=True))
    return Reduced(
        column, (column,), values, float(model.explained_variance_ratio_.sum()), True
    )


def _text(cell: Any) -> str:
    return cell if isinstance(cell, str) else "" if pd.isna(cell) else str(cell)
