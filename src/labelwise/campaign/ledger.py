"""A campaign's folder, read: its settings, tables and state, and what follows from them.

What is computed from the log (fits, estimates) is kept in it for the next process; it could
all be computed again.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from labelwise.campaign.analysis import Analysis, Answer
from labelwise.campaign.arrays import Arrays, make_arrays
from labelwise.campaign.asked import Asked, parse_terms, read_asked
from labelwise.campaign.caveats import caveats
from labelwise.campaign.check import Check, check_round
from labelwise.campaign.design import Design
from labelwise.campaign.drawn import DrawnAnswer
from labelwise.campaign.estimate import Estimate, as_answer, quantiles_of
from labelwise.campaign.headline import draw_caveats, with_draws
from labelwise.campaign.known import Known
from labelwise.campaign.population import population_of
from labelwise.campaign.question import Inquiry, Question
from labelwise.campaign.settings import Settings
from labelwise.campaign.state import State, read_state
from labelwise.campaign.store import Store
from labelwise.errors import StoreError
from labelwise.tables.encoder import Encoder


class Ledger:
    """Everything about a campaign that can be read from its folder."""

    def __init__(self, store: Store):
        self.store = store
        self.settings = Settings.from_dict(store.document("settings"))

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        read = lambda name: _read_snapshot(self.store.table(name))
        tables = {"labelled": read("labelled"), "pool": read("pool")}
        target = self.settings.target
        return tables | {"target": tables["pool"] if target == "pool" else read("target")}

    @cached_property
    def encoder(self) -> Encoder:
        return Encoder.from_dict(self.store.document("encoder"))

    @cached_property
    def arrays(self) -> Arrays:
        arrays = make_arrays(
            self.tables,
            self.settings.columns,
            self.encoder,
            self.settings.seed,
            self.settings.predictor_in_belief,
            {one.group[0] for one in self.inquiry.questions if one.group is not None},
            self.settings.assignment,
        )
        return self.inquiry.thinned(arrays, self.settings.seed)

    @cached_property
    def inquiry(self) -> Inquiry:
        settings = self.settings
        return Inquiry.from_dict(settings.estimand, settings.columns.prediction)

    @cached_property
    def _radius(self) -> float:
        """How far a neighbour may be."""
        return float(self.store.document("shift")["radius"])

    def state(self) -> State:
        with self.store.read() as log:
            return read_state(log, self.store.now(), self.settings.expiry_days)

    def analysis(self, state: State) -> Analysis:
        """Belief and all, with the fit of these labels kept for the next process."""
        name = state.fingerprint()
        fitted = self._stored("fits", name)
        rows = tuple(sorted(state.labels))
        known = Known(
            rows=rows,
            labels=tuple(state.labels[row] for row in rows),
            pending=tuple(state.pending_in_order()),
            closed=tuple(sorted(state.closed)),
            treated=dict(state.treated),
        )
        arrays = _corrected(self.arrays, state.corrections)
        rounds = self.rounds()
        start = rounds[-1]["estimate"]["belief"].get("position") if rounds else None
        analysis = Analysis.of(
            arrays,
            known,
            self.inquiry,
            self.settings.belief,
            self.settings.seed,
            fitted,
            self.settings.assignment,
            start,
        )
        if fitted is None:
            self._keep("INSERT OR IGNORE INTO fits VALUES (?, ?)", name, analysis.prior)
        return analysis

    def estimate(self, analysis: Analysis, state: State) -> Estimate:
        warnings = tuple(
            caveats(analysis, self.checks(state), self.feature_names, self._radius)
        )
        drawn = self.draws(state)
        pairs = zip(analysis.answers, self.design.reasons, strict=True)
        first, *others = (
            with_draws(
                self._estimate(analysis, answer, len(state.labels)),
                drawn.get(answer.question),
                reason,
                self.design.by_chance,
            )
            for answer, reason in pairs
        )
        warnings += self._draw_caveats(drawn, [first, *others])
        found = replace(first, warnings=warnings, parts=tuple(others))
        self._keep(
            "INSERT OR REPLACE INTO estimates (labels, content, event, at) VALUES (?, ?, ?, ?)",
            state.fingerprint(),
            found.to_dict(),
            state.event,
            self.store.now(),
        )
        return found

    def _draw_caveats(
        self, drawn: Mapping[Question, DrawnAnswer | None], found: Sequence[Estimate]
    ) -> tuple[str, ...]:
        """Of each question's draws; of all but the first, by its title."""
        caveats = []
        for question, estimate in zip(self.inquiry.questions, found, strict=True):
            answer = drawn.get(question)
            if answer is not None and estimate.credible is not None:
                first = question is self.inquiry.first
                told = draw_caveats(answer, estimate.credible, self.settings.stop, first)
                caveats += told if first else [f"{estimate.title}: {one}" for one in told]
        note = self.design.population.note
        return (*caveats, *([note] if note and any(drawn.values()) else []))

    @cached_property
    def design(self) -> Design:
        """How chance chooses rows, and for whom they answer."""
        is_pool = self.settings.target == "pool"
        shift, seed = self.store.document("shift"), self.settings.seed
        population = population_of(self.arrays, is_pool, shift, self.feature_names, seed)
        return Design(self.arrays, self.settings, self.inquiry.questions, population)

    def draws(self, state: State) -> Mapping[Question, DrawnAnswer | None]:
        """What drawn rows say of each question."""
        return self.design.answers(self._asked(), state)

    def _asked(self) -> list[Asked]:
        """All committed asks, with what was predicted of the pool before each."""
        with self.store.read() as log:
            blobs = dict(log.execute("SELECT round, content FROM predictions"))
        found = []
        for one in self.rounds():
            blob, design = blobs.get(one["round"]), one.get("design")
            terms = None if blob is None or not design else parse_terms(blob, design["shape"])
            found.append(read_asked(one, terms))
        return found

    def _estimate(self, analysis: Analysis, answer: Answer, bought: int) -> Estimate:
        question, arrays = answer.question, analysis.arrays
        low, high = question.bounds(self.settings.low, self.settings.high, arrays)
        return Estimate(
            estimand=question.name,
            title=question.title,
            quantity="its expected value over the target population",
            value=answer.mean,
            std=answer.std,
            quantiles=(quantiles := quantiles_of(answer.draws, low, high)),
            initial=len(arrays.labels),
            bought=bought,
            belief=analysis.prior | {"features": self.feature_names},
            warnings=(),
            beats=question.beats(answer.draws),
            credible=as_answer(answer.mean, answer.std, quantiles),
        )

    @property
    def feature_names(self) -> list[str]:
        """Of the belief's features, the treatment last."""
        treatment = self.settings.columns.treatment
        return [*self.encoder.names, *([] if treatment is None else [treatment])]

    def rounds(self) -> list[dict[str, Any]]:
        """Every committed ask, with what its plan knew and expected."""
        with self.store.read() as log:
            rows = log.execute(
                "SELECT round, at, content FROM rounds ORDER BY round"
            ).fetchall()
        return [
            {"round": number, "at": at, **self.store.parse("a round", content)}
            for number, at, content in rows
        ]

    def checks(self, state: State) -> list[Check]:
        """Each batch's labels against what was predicted of them when it was asked."""
        came: dict[int | None, dict[int, float]] = {}
        for row, label in state.labels.items():
            came.setdefault(state.batches[row], {})[row] = label
        found = (
            check_round(one["round"], one, came.get(one["round"], {})) for one in self.rounds()
        )
        return [one for one in found if one is not None]

    def _stored(self, table: str, name: str) -> Any:
        with self.store.read() as log:
            query = f"SELECT content FROM {table} WHERE labels = ?"
            found = log.execute(query, (name,)).fetchone()
        return None if found is None else self.store.parse(table, found[0])

    def _keep(self, statement: str, name: str, content: Mapping[str, Any], *more: Any) -> None:
        """Keep what could be computed again; if the disk does not want it, go without."""
        with suppress(StoreError), self.store.write() as log:
            log.execute(statement, (name, json.dumps(content), *more))


def _corrected(arrays: Arrays, corrections: Mapping[int, float]) -> Arrays:
    """The initial labels as they stand after corrections."""
    if not corrections:
        return arrays
    labels = arrays.labels.copy()
    for row, label in corrections.items():
        labels[row] = label
    return replace(arrays, labels=labels)


def _read_snapshot(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except Exception as error:
        raise StoreError(
            f"{path} is missing or damaged ({type(error).__name__})",
            "restore the folder from a copy",
            where=str(path),
        ) from error
