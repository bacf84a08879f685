"""From what a user says and brings to an evaluation: everything is checked here, once."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pandas as pd

from labelwise import __version__
from labelwise.evaluation.belief_options import check_belief
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.frames import (
    check_rows,
    fit_features,
    predictor_in_belief,
    read_frames,
    unshared,
)
from labelwise.evaluation.given import (
    as_columns,
    as_limits,
    as_question,
    as_sampling,
    as_tables,
    with_models,
)
from labelwise.evaluation.question import Inquiry
from labelwise.evaluation.resolve import (
    as_seed,
    check_binary,
    resolve_limits,
    resolve_question,
    resolve_sampling,
)
from labelwise.evaluation.spec import Spec, is_binary
from labelwise.evaluation.state import State
from labelwise.evaluation.treatment import check_trial
from labelwise.tables.cells import (
    read_numbers,
    resolve,
)
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

    @property
    def feature_names(self) -> tuple[str, ...]:
        return feature_names(self.spec, self.encoder)

    @cached_property
    def arrays(self) -> Arrays:
        return Inquiry.of(self.spec).arrays(self.tables, self.spec, self.encoder)

    def evaluation(self) -> Evaluation:
        """Before any label is bought."""
        state = State(size=len(self.tables["pool"]))
        return Evaluation(self.spec, self.arrays, self.shift, self.feature_names, state)


def feature_names(spec: Spec, encoder: Encoder) -> tuple[str, ...]:
    """Of the belief's features, the treatment last."""
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
) -> Prepared:
    """Read and check everything; parts may be given in short, as strings and paths."""
    question, sampling = as_question(question), as_sampling(sampling)
    columns = with_models(as_columns(columns), question)
    sources = as_tables(tables)
    frames = read_frames(sources, columns)
    asked, columns = columns, resolve(columns, frames)
    items = check_rows(frames, columns)
    inside, note = predictor_in_belief(columns, frames)
    columns = replace(columns, predictor_in_belief=inside)
    encoder = fit_features(columns, frames, bool(asked.features))
    check_trial(columns, frames)
    notes = [*encoder.notes, *unshared(asked, frames), *([note] if note else [])]
    encoder = replace(encoder, notes=tuple(notes))
    labels = read_numbers(frames["labelled"], columns.label, "labelled")
    features = len(encoder.names) + (columns.treatment is not None)
    question = resolve_question(question, columns, frames["target"])
    checked = check_belief(belief, features, labels)
    check_binary(Inquiry.of_parts(question, columns), checked, labels, columns.label)
    if is_binary(checked):
        columns = replace(columns, label_range=(0.0, 1.0))
    spec = Spec(
        name=name,
        columns=columns,
        question=question,
        belief=checked,
        sampling=resolve_sampling(sampling, columns, frames["pool"]),
        limits=resolve_limits(as_limits(limits)),
        seed=as_seed(seed),
        target="pool" if sources.target is None else "target",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
    )
    encoded = {table: encoder.encode(frame) for table, frame in frames.items()}
    shift = compare(
        encoded["labelled"],
        encoded["pool"],
        encoded["target"],
        encoder.names,
        spec.seed,
        same=spec.target == "pool",
    )
    prepared = Prepared(spec, frames, encoder, shift.to_dict(), items)
    _check_questions(prepared)
    return prepared


def _check_questions(prepared: Prepared) -> None:
    """Every question has an answer on this target."""
    for question in Inquiry.of(prepared.spec).questions:
        question.check(prepared.arrays)
