"""From what a user says and brings to an evaluation: everything is checked here, once."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from labelwise import __version__
from labelwise.evaluation.belief_options import check_belief
from labelwise.evaluation.brought import belief_of
from labelwise.evaluation.by_chance import (
    are_by_chance,
    beside,
    first_round,
    join,
    labels_of_round,
)
from labelwise.evaluation.data import Arrays, as_pool
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.frames import Frames, fit_columns, read_frames
from labelwise.evaluation.large import Asked, Sampled, sample_tables
from labelwise.evaluation.parts import (
    as_columns,
    as_part,
    as_seed,
    as_tables,
    check_binary,
    check_sizes,
    check_start,
    complete_limits,
    complete_question,
    complete_sampling,
    expects_binary,
)
from labelwise.evaluation.question import Inquiry
from labelwise.evaluation.question_options import threshold_notes
from labelwise.evaluation.sources import sources_of
from labelwise.evaluation.spec import Limits, Question, Sampling, Spec, is_binary
from labelwise.evaluation.state import State
from labelwise.evaluation.survey_weights import Population, population_of
from labelwise.evaluation.verdict_tables import as_asked
from labelwise.evaluation.whole_encoder import over_whole
from labelwise.evaluation.word_labels import number_classes
from labelwise.pools.first_phase import FirstPhase
from labelwise.pools.passes import Passing
from labelwise.tables.cells import HOMES, read_numbers, require
from labelwise.tables.columns import Columns
from labelwise.tables.encoder import Encoder
from labelwise.tables.shift import compare


@dataclass(frozen=True)
class Prepared:
    """Checked tables, with everything that was decided about them."""

    spec: Spec
    tables: dict[str, pd.DataFrame]  # labelled, pool and target
    encoder: Encoder
    shift: dict[str, Any]  # the first look at the tables
    items: list[tuple[str, int, str]]  # table, row and id of every row that may be named
    target_rows: int | None = None  # that stand for all; None: as many as usual
    first: np.ndarray = field(default_factory=lambda: np.zeros(0))  # labels that chance drew
    sampled: Sampled | None = None  # of a pool that was larger

    @property
    def phase(self) -> FirstPhase | None:
        """How the pool's rows came into it, where they are a sample of a larger one."""
        return None if self.sampled is None else self.sampled.phase

    @property
    def feature_names(self) -> tuple[str, ...]:
        return feature_names(self.spec, self.encoder)

    @cached_property
    def arrays(self) -> Arrays:
        inquiry = Inquiry.of(self.spec)
        rows = self.target_rows
        return inquiry.arrays(self.tables, self.spec, self.encoder, rows, self.phase)

    @cached_property
    def population(self) -> Population:
        """What pool rows stand for."""
        names = self.feature_names
        return population_of(self.arrays, self.spec, self.shift, names, self.phase)

    def evaluation(self) -> Evaluation:
        """Start the evaluation, before any label is bought."""
        start = Evaluation(
            self.spec,
            self.arrays,
            self.shift,
            self.feature_names,
            State(size=len(self.tables["pool"])),
            known_population=self.population,
            phase=self.phase,
        )
        if not len(self.first):
            return start
        round_ = first_round(start, len(self.first))
        return start.tell(round_, labels_of_round(round_, self.first))


def feature_names(spec: Spec, encoder: Encoder) -> tuple[str, ...]:
    """Name the belief's features, the treatment last."""
    treatment = spec.columns.treatment
    return (*encoder.names, *([] if treatment is None else [treatment]))


def prepare(
    tables: Any,
    columns: Any,
    question: Any = None,
    belief: Any = "auto",
    sampling: Any = None,
    limits: Any = None,
    seed: Any = 0,
    name: str = "evaluation",
    *,
    target_rows: int | None = None,
    telling_apart: bool = True,
    passing: Passing | None = None,
) -> Prepared:
    """Read and check everything; parts may be given in short, as strings and paths.

    Studies of many campaigns may let fewer `target_rows` stand for all, and do without
    `telling_apart` the tables by a classifier. A `passing` says how tables that are larger
    than memory are read.
    """
    question = as_part(Question, question, "question")
    sampling = check_sizes(as_part(Sampling, sampling, "sampling"))
    columns, question = as_asked(as_columns(columns, question), question)
    asked = Asked(columns, question, sampling, as_seed(seed))
    sampled = sample_tables(as_tables(tables), asked, passing or Passing())
    brought = _read(asked, sampled, belief)
    spec = _decide(asked, brought, as_part(Limits, limits, "limits"), name)
    prepared = Prepared(
        spec,
        dict(brought.frames),
        brought.encoder,
        _first_look(spec, brought, sampled, telling_apart),
        brought.items,
        target_rows,
        brought.first,
        sampled,
    )
    for quantity in Inquiry.of(spec).questions:
        quantity.check(prepared.arrays)  # every question has an answer on this target
    return prepared


@dataclass(frozen=True)
class _Brought:
    """What the tables hold, and what follows from it."""

    columns: Columns
    question: Question
    frames: Frames
    encoder: Encoder
    items: list[tuple[str, int, str]]
    belief: dict[str, Any]
    first: np.ndarray  # labels that chance drew
    own_target: bool


def _read(asked: Asked, sampled: Sampled, belief: Any) -> _Brought:
    own_target, question = sampled.tables.target is not None, asked.question
    columns, frames, notes = read_frames(sampled.tables, asked.columns)
    headers = {name: [str(column) for column in frame] for name, frame in frames.items()}
    require(headers, columns.label, HOMES["label"][1], ["labelled"])
    columns, frames = number_classes(columns, frames, question.estimand)
    labels = read_numbers(frames["labelled"], columns.label, "labelled")
    binary = expects_binary(question, columns, belief, labels)
    first = np.zeros(0)
    if are_by_chance(asked.sampling.labelled_by):
        frames, first = join(frames, columns, own_target)
    columns, encoder, items = fit_columns(columns, frames, binary, [*notes, *sampled.notes])
    frames = {name: frame.reset_index(drop=True) for name, frame in frames.items()}
    encoder = over_whole(encoder, sampled.tally)
    question = complete_question(question, columns, frames["target"])
    encoder = replace(encoder, notes=(*encoder.notes, *_cut(question, columns, frames)))
    features = len(encoder.names) + (columns.treatment is not None)
    belief = check_belief(belief_of(belief, columns), features, binary)
    if not columns.several:
        check_binary(Inquiry.of_parts(question, columns), belief, labels, columns.label)
    check_start(belief, columns, labels[len(first) :])
    return _Brought(columns, question, frames, encoder, items, belief, first, own_target)


def _decide(asked: Asked, brought: _Brought, limits: Limits, name: str) -> Spec:
    """Everything that the campaign is, with what was left open filled in."""
    columns, frames, belief = brought.columns, brought.frames, brought.belief
    if is_binary(belief):
        columns = replace(columns, label_range=(0.0, max(len(columns.classes) - 1.0, 1.0)))
    spec = Spec(
        name=name,
        columns=columns,
        question=brought.question,
        belief=belief,
        sampling=complete_sampling(asked.sampling, columns, frames["pool"]),
        limits=beside(complete_limits(limits), brought.first),
        seed=asked.seed,
        target="target" if brought.own_target else "pool",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
    )
    return replace(spec, sources=sources_of(spec))


def _first_look(
    spec: Spec, brought: _Brought, sampled: Sampled, telling_apart: bool
) -> dict[str, Any]:
    """How the tables differ."""
    encoder = brought.encoder
    encoded = {table: encoder.encode(frame) for table, frame in brought.frames.items()}
    shift = compare(
        **as_pool(encoded, sampled.phase, spec),
        names=encoder.names,
        seed=spec.seed,
        same=spec.target == "pool",
        telling_apart=telling_apart,
    )
    return shift.to_dict()


def _cut(question: Question, columns: Columns, frames: dict[str, pd.DataFrame]) -> list[str]:
    """What is to be said of where scores are called positive."""
    models = [name for name in (columns.prediction, columns.versus) if name is not None]
    if columns.several or not models:
        return []
    metrics = [one.metric for one in Inquiry.of_parts(question, columns).questions]
    scores = {name: read_numbers(frames["target"], name, "target") for name in models}
    return threshold_notes(metrics, {"threshold": question.threshold}, scores)
