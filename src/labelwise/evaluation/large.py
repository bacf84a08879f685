"""Tables too large to be planned in: read in one pass, which draws a sample of them.

Up to `sampling.whole` rows all are read. Of a larger pool the first phase (`pools.first_phase`)
draws `sampling.sample` rows, more where labels may say more; of a larger target, as many with
equal probabilities.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from labelwise.errors import InvalidInput
from labelwise.evaluation.by_chance import are_by_chance
from labelwise.evaluation.influence import is_told, spread_of_cells
from labelwise.evaluation.question import Inquiry, Quantity
from labelwise.evaluation.spec import Question, Sampling, Tables
from labelwise.pools.checks import Checks
from labelwise.pools.engine import opened, refuse_idle
from labelwise.pools.first_phase import KEY, STRATUM, TEXT, FirstPhase, allocate
from labelwise.pools.kinds import are_numbers
from labelwise.pools.passes import Looking, Passing, Taking, look, read_whole, take, upto
from labelwise.pools.sketch import middle_of
from labelwise.pools.source import (
    Source,
    is_large,
    is_one_file,
    open_source,
    require_columns,
)
from labelwise.pools.strata import Cells, Strata, cut
from labelwise.pools.tally import Tally
from labelwise.tables.columns import Columns
from labelwise.tables.ids import as_ids
from labelwise.tables.read import read_table

PARTS = 24  # strata of the model's output ...
MOST = 240  # ... times groups, at most
FEWEST = 4  # strata of each of many groups


@dataclass(frozen=True)
class Sampled:
    """Tables that fit memory, and how the pool's rows came to be in it."""

    tables: Tables
    phase: FirstPhase | None = None  # None: all of the pool is there
    tally: Tally | None = None  # of every row of a pool that was sampled
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """What tables are read for."""

    columns: Columns
    question: Question
    sampling: Sampling
    seed: int


def sample_tables(tables: Tables, asked: Asked, passing: Passing) -> Sampled:
    """Read large tables: whole if they are not too large, or else a sample of them."""
    if not is_large(tables.pool) and not is_large(tables.target):
        refuse_idle(getattr(passing.engine, "scheduler", None))
        return Sampled(tables)
    with opened(passing.engine) as engine:
        return _sample_tables(tables, asked, replace(passing, engine=engine))


def _sample_tables(tables: Tables, asked: Asked, passing: Passing) -> Sampled:
    sampled, source = Sampled(tables), _source(tables.pool, "pool")
    if source is not None:
        if source.rows > asked.sampling.whole:
            sampled = _sample_pool(tables, source, asked, passing.place("pool"))
        else:
            pool = _whole(tables.pool, source, asked, passing)
            sampled = Sampled(replace(tables, pool=pool))
    source = _source(tables.target, "target")
    if source is None:
        return sampled
    target, notes = _read_target(tables.target, source, asked, passing.place("target"))
    return replace(sampled, tables=replace(sampled.tables, target=target), notes=notes)


def _source(given: Any, table: str) -> Source | None:
    """Files that need not be read whole; what is wrong with a single one is said elsewhere."""
    if not is_large(given):
        return None
    try:
        return open_source(given, table)
    except InvalidInput:
        if is_one_file(given):
            return None
        raise


def _sample_pool(tables: Tables, source: Source, asked: Asked, passing: Passing) -> Sampled:
    columns = asked.columns
    if not columns.id:
        raise InvalidInput(
            f"The pool has {source.rows} rows, and nothing says which is which",
            "name the column of ids (--id)",
            where="columns.id",
        )
    if are_by_chance(asked.sampling.labelled_by):
        raise InvalidInput(
            "Labelled rows that chance drew cannot join a pool that is sampled",
            "leave out sampling.labelled_by, or raise sampling.whole",
            where="sampling.labelled_by",
        )
    source = _needed(source, asked)
    own = tables.target is None  # else the target says what rows stand for
    by = tuple(_names(asked.question.by)) if own else ()
    require_columns(source, [columns.id, *by])
    column = _output(source, columns)
    checks = _checks(source, asked)
    looked = [*by, *([column] if column else [])]
    cells = Cells({((), 0): source.rows})
    if looked:
        cells = look(Looking(source.only(looked), column, by, checks), passing)
    strata, rows, spread, how = _strata(cells, column, by, asked, own)
    sizes = allocate(rows, spread, asked.sampling.sample)
    counted = tuple(name for name in source.columns if name not in columns.roles().values())
    apart, near = _labelled_ids(tables, columns), upto(rows, sizes)
    taking = Taking(source, columns.id, asked.seed, strata, near, counted, checks, apart)
    sample, tally = take(taking, rows, sizes, passing)
    stratum = sample[STRATUM].to_numpy()
    kinds = tuple(source.kinds[name] for name in source.columns)
    known = (source.address, source.columns, strata, kinds)
    phase = FirstPhase(rows, sizes, stratum, how, *known)
    frame = _frame(sample.drop_columns([KEY, STRATUM, TEXT]))
    return Sampled(replace(tables, pool=frame), phase, tally)


def _labelled_ids(tables: Tables, columns: Columns) -> tuple[str, ...]:
    """Of rows that have labels, which the pool must not have."""
    if tables.labelled is None:
        return ()
    labelled = read_table(tables.labelled, "labelled", (columns.id,))
    if columns.id not in labelled:
        return ()
    return tuple(as_ids(labelled[columns.id], "The labelled table", f"labelled.{columns.id}"))


def _strata(
    cells: Cells, column: str | None, by: tuple[str, ...], asked: Asked, own: bool
) -> tuple[Strata, np.ndarray, np.ndarray, str]:
    """Strata, their rows, the spread of labels in them, and all this in words."""
    groups, bins, counts = cells.table()
    if len(groups) * FEWEST > MOST:  # too many groups: each has its share by chance
        groups, by, counts = ((),), (), counts.sum(axis=0, keepdims=True)
    values = middle_of(bins)
    questions = _questions(asked, by, groups) if own and column else ()
    told = [question for question in questions if is_told(question, values)]
    spread = np.ones(counts.shape)
    if told or (by and questions):
        spread = spread_of_cells(questions, by, groups, values, counts)
    parts = max(min(PARTS, MOST // len(groups)), FEWEST)
    stake = counts / counts.sum() + counts * spread / (counts * spread).sum()
    edges = cut(bins, stake.sum(axis=0), parts) if column else ()
    strata = Strata(column, edges, by, groups if by else ())
    part = np.searchsorted(np.array(edges, np.int64), bins, side="right")
    place = np.arange(len(groups))[:, None] * (len(edges) + 1) + part
    sum_ = lambda weights: np.bincount(place.ravel(), weights.ravel(), strata.count)
    rows = sum_(counts).astype(np.int64)
    squares = sum_(counts * spread**2) / np.maximum(rows, 1)
    return strata, rows, np.sqrt(squares), _in_words(strata, told)


def _in_words(strata: Strata, told: Sequence[Quantity]) -> str:
    groups = f", in each group of {', '.join(strata.by)}" if strata.by else ""
    if strata.column is None:
        return f"all rows alike{groups}"
    strata_ = f"in {len(strata.edges) + 1} strata of {strata.column!r}{groups}"
    if told:
        return f"{strata_}, rows the more likely the more their label may move the answer"
    return f"{strata_}, all rows nearly alike"


def _questions(asked: Asked, by: Sequence[str], groups: Any) -> tuple[Quantity, ...]:
    """What is asked, of each group too; none where only labels will tell."""
    question = asked.question
    if question.estimand is None or not isinstance(asked.columns.prediction, str):
        return ()
    values = {name: sorted({group[line] for group in groups}) for line, name in enumerate(by)}
    known = replace(question, by=tuple(by), groups=values)
    return Inquiry.of_parts(known, asked.columns).questions


def _output(source: Source, columns: Columns) -> str | None:
    """The column of the model's output, where it is numbers."""
    given = columns.prediction
    if not isinstance(given, str) or not are_numbers(source.kinds.get(given, "")):
        return None
    return given


def _needed(source: Source, asked: Asked) -> Source:
    """Without columns that nobody needs: where features are named, all but those shown."""
    columns = asked.columns
    if not columns.features:
        return source
    named = [*columns.features, *columns.show, *_names(asked.question.by)]
    named += [*columns.text, *columns.embedding, *columns.history, *columns.draws]
    named += _names(columns.prediction)
    named += [str(name) for name in columns.roles().values() if isinstance(name, str)]
    kept = [name for name in source.columns if any(fnmatchcase(name, one) for one in named)]
    return source.only(kept)


def _names(given: Any) -> list[str]:
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def _checks(source: Source, asked: Asked) -> Checks:
    columns, table = asked.columns, source.table
    models = [_output(source, columns), columns.versus]
    numbers = tuple(str(name) for name in models if name is not None)
    weights = () if columns.weight is None else (columns.weight,)
    features = tuple(name for name in source.columns if name not in columns.roles().values())
    pool = table == "pool"
    return Checks(
        table=table,
        full=(*([columns.id] if pool else []), *(features if _refuses(columns) else ())),
        numbers=numbers,
        positive=(columns.cost,) if pool and columns.cost else (),
        least=weights,
        finite=features,
        empty=(columns.label,) if pool else (),
    )


def _refuses(columns: Columns) -> bool:
    return columns.missing == "refuse"


def _whole(given: Any, source: Source, asked: Asked, passing: Passing) -> Any:
    """All rows; of a single file, as it is read anyway."""
    if len(source.files) == 1 and source.address == source.files[0]:
        return given
    return _frame(read_whole(source, Checks(source.table), passing))


def _read_target(
    given: Any, source: Source, asked: Asked, passing: Passing
) -> tuple[Any, tuple[str, ...]]:
    if source.rows <= asked.sampling.whole:
        return _whole(given, source, asked, passing), ()
    id = asked.columns.id
    if id not in source.columns:
        raise InvalidInput(
            f"The target has {source.rows} rows, and no column {id!r} that says which is which",
            "give it ids, or a sample of it",
            where="target",
        )
    strata = Strata(None, (), (), ())
    rows, size = np.array([source.rows]), np.array([asked.sampling.sample])
    checks = _checks(source, asked)
    taking = Taking(source, id, asked.seed, strata, upto(rows, size), (), checks)
    sample, _ = take(taking, rows, size, passing)
    note = f"Of the target's {source.rows} rows, {size[0]} drawn by chance stand for all."
    return _frame(sample.drop_columns([KEY, STRATUM, TEXT])), (note,)


def _frame(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas().reset_index(drop=True)
