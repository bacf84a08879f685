"""A labelling effort over days: ask for rows, tell their labels, and know where one stands.

Everything lives in the campaign's folder. A `Campaign` only holds what it has read, so any
number of them, in any number of processes, may work on one folder.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from labelwise.campaign.create import create
from labelwise.campaign.incoming import BATCH, read_labels
from labelwise.campaign.status import Status, read_status
from labelwise.campaign.store import events
from labelwise.campaign.store.events import Told
from labelwise.campaign.store.sqlite import Store
from labelwise.campaign.store.state import read_state
from labelwise.errors import StoreError
from labelwise.evaluation.check import Check
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.evaluation import Evaluation
from labelwise.evaluation.plan import Forecast
from labelwise.evaluation.prepare import feature_names, prepare
from labelwise.evaluation.question import Inquiry
from labelwise.evaluation.round import Plan, Round
from labelwise.evaluation.spec import Spec
from labelwise.evaluation.state import State
from labelwise.tables.encoder import Encoder
from labelwise.tables.ids import as_ids
from labelwise.tables.text import apart

ATTEMPTS = 100  # times an ask plans again because another process asked first
REASONS = ("gain_share", "target_share", "predicted", "predicted_std")
ROUNDS = """
    SELECT round, at, rounds.content, predictions.content
    FROM rounds LEFT JOIN predictions USING (round) ORDER BY round
"""
ESTIMATE = "INSERT OR REPLACE INTO estimates (labels, content, event, at) VALUES (?, ?, ?, ?)"


class Campaign:
    """The rows one may label, the labels that came, and what they say."""

    def __init__(self, store: Store):
        self.store = store
        self.spec = Spec.from_dict(store.document("settings"))

    @staticmethod
    def create(
        path: str | Path,
        tables: Any,
        columns: Any,
        question: Any = None,
        belief: Any = "auto",
        sampling: Any = None,
        limits: Any = None,
        seed: int = 0,
    ) -> "Campaign":
        """Make a campaign in a new folder from tables (frames, CSV or Parquet files).

        `tables` are `Tables`, or labelled, pool and target in this order; without a target the
        pool is the target. `columns` are `Columns`. A `question` is a `Question`, or in short
        the estimand ("mse", "recall", ...) or several; `sampling` a `Sampling`, or in short the
        policy; `limits` are `Limits`, or in short the budget. `belief` is a name, options with
        a name, or a Gaussian process whose numbers stay. Each part may be a mapping as well.
        """
        name = Path(path).resolve().name
        create(path, prepare(tables, columns, question, belief, sampling, limits, seed, name))
        return Campaign.open(path)

    @staticmethod
    def open(path: str | Path) -> "Campaign":
        """Open a campaign that exists."""
        return Campaign(Store.open(path))

    @property
    def path(self) -> Path:
        return self.store.folder

    def ask(
        self, n: int | None = None, *, over_budget: bool = False, go_on: bool = False
    ) -> pd.DataFrame:
        """The next batch to label, recorded as asked: ids, `batch_id`, features, empty labels.

        Planned on what is known now; if another process asks meanwhile, planned again. The
        budget holds unless one says `over_budget`, and the rule to stop unless one says to
        `go_on`.
        """
        for _ in range(ATTEMPTS):
            evaluation = self.evaluation()
            round_ = evaluation.ask(n, over_budget=over_budget, go_on=go_on)
            self._keep(evaluation)
            numbers = [round_.number] * len(round_.rows)
            batch = self._batch(round_.rows, numbers, round_.treated)
            if events.add_round(self.store, self.spec, evaluation.state, round_):
                return batch
        raise StoreError(
            f"Other processes asked {ATTEMPTS} times while this one was planning",
            "try again",
            where=str(self.path),
        )

    def pending(self) -> pd.DataFrame:
        """Rows that are out, as `ask` gave them."""
        state = self.state()
        rows = state.pending_in_order()
        treated = [state.treated[row] for row in rows] if state.treated else None
        return self._batch(rows, [state.pending[row].round for row in rows], treated)

    def choice(self, batch_id: int) -> str | None:
        """One sentence on who chose the rows of a batch; None of an early one, not recorded."""
        plans = {one.number: one.plan for one in self.rounds()}
        plan = plans.get(batch_id)
        return None if plan is None or plan.drawn is None else plan.choice

    def tell(self, labels: Any, *, unasked: str = "refuse") -> Told:
        """Record labels: a frame or file like the one asked, or a mapping of id to label.

        Empty labels are not yet known. The same label again changes nothing; another one for
        the same row is refused (see `correct`). Labels of rows that were never asked are
        refused, or by `unasked` accepted or ignored. All of it is recorded, or nothing.
        """
        incoming = read_labels(labels, self.spec, "tell")
        return events.add_labels(
            self.store,
            self.spec,
            incoming.labels,
            incoming.rounds,
            incoming.treated,
            unasked=unasked,
        )

    def correct(self, labels: Any, reason: str | None = None) -> int:
        """Replace labels; the old ones stay in the history. The number that changed."""
        incoming = read_labels(labels, self.spec, "correct")
        given = {one: value for one, value in incoming.labels.items() if value is not None}
        return events.add_corrections(self.store, self.spec, given, reason)

    def skip(self, ids: Any, reason: str | None = None) -> int:
        """Never ask these rows again. The number newly skipped."""
        rows = as_ids(ids, "skip", "ids")
        return events.add_skips(self.store, self.spec, rows, reason)

    def fail(self, ids: Any, reason: str | None = None) -> int:
        """These labels could not be had this time; the rows may be asked again."""
        rows = as_ids(ids, "fail", "ids")
        return events.add_failures(self.store, self.spec, rows, reason)

    def status(self) -> Status:
        """Counts, budget, batches that are out, and the first look at the tables."""
        return read_status(self.store)

    def estimate(self) -> Estimate:
        """The estimand, given all labels so far."""
        evaluation = self.evaluation()
        estimate = evaluation.estimate()
        self._keep(evaluation)
        return estimate

    def stop(self) -> str | None:
        """Why to stop, by the rule that the campaign was made with; None to go on."""
        return None if self.spec.limits.stop is None else self.evaluation().stop()

    def plan(self, n: int | None = None) -> Plan:
        """What would be asked and how much it is expected to help; nothing changes."""
        return self.evaluation().plan(n)

    def forecast(
        self, rounds: int | None = None, advance: Callable[[], None] = lambda: None
    ) -> Forecast:
        """Expected standard deviation against further labels, planned and random.

        Where rows are drawn, also the expected width of the interval from drawn rows.
        """
        return self.evaluation().forecast(rounds, advance)

    def rounds_ahead(self, rounds: int | None = None) -> list[int]:
        """Batch sizes of the rounds that a forecast would look at."""
        return self.evaluation().rounds_ahead(rounds)

    def check(self) -> list[Check]:
        """Each batch's labels against what was predicted of them when it was asked."""
        return self.evaluation().checks()

    def evaluation(self, state: State | None = None) -> Evaluation:
        """The campaign as a value, as it stands now: what reasons, without the folder."""
        state = self.state() if state is None else state
        rounds = tuple(one for one in self.rounds() if one.number <= state.round)
        return Evaluation(
            spec=self.spec,
            arrays=self._arrays,
            shift=self._shift,
            feature_names=self.feature_names,
            state=state,
            rounds=rounds,
            fitted=self._stored_fit(state),
        )

    def state(self) -> State:
        """What has become of every row, from the log."""
        with self.store.read() as log:
            return read_state(log, self.store.now(), self.spec.limits.expiry_days)

    def rounds(self) -> list[Round]:
        """Every committed ask, with what its plan knew and expected."""
        with self.store.read() as log:
            rows = log.execute(ROUNDS).fetchall()
        return [
            Round.from_dict(number, at, self.store.parse("a round", content), predictions)
            for number, at, content, predictions in rows
        ]

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The three tables, as they were when the campaign was made."""
        read = lambda name: _read_snapshot(self.store.table(name))
        tables = {"labelled": read("labelled"), "pool": read("pool")}
        target = self.spec.target
        return tables | {"target": tables["pool"] if target == "pool" else read("target")}

    @cached_property
    def encoder(self) -> Encoder:
        return Encoder.from_dict(self.store.document("encoder"))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Of the belief's features, the treatment last."""
        return feature_names(self.spec, self.encoder)

    @cached_property
    def _shift(self) -> dict[str, Any]:
        return self.store.document("shift")

    @cached_property
    def _arrays(self) -> Arrays:
        return Inquiry.of(self.spec).arrays(self.tables, self.spec, self.encoder)

    def _stored_fit(self, state: State) -> Any:
        with self.store.read() as log:
            query = "SELECT content FROM fits WHERE labels = ?"
            found = log.execute(query, (state.fingerprint(),)).fetchone()
        return None if found is None else self.store.parse("fits", found[0])

    def _keep(self, evaluation: Evaluation) -> None:
        """Keep what could be computed again; if the disk does not want it, go without."""
        name, state = evaluation.state.fingerprint(), evaluation.state
        found = json.dumps(evaluation.estimate().to_dict())
        with suppress(StoreError), self.store.write() as log:
            if evaluation.fitted is None:
                prior = json.dumps(evaluation.posterior.prior)
                log.execute("INSERT OR IGNORE INTO fits VALUES (?, ?)", (name, prior))
            log.execute(ESTIMATE, (name, found, state.event, self.store.now()))

    def show(self, plan: Plan) -> pd.DataFrame:
        """The rows of a plan, with why each was chosen.

        `gain_share` is a row's part of what the batch is expected to teach, `target_share` the
        part of the target of which it tells more than the others; then its predicted label.
        """
        rows = self._batch(plan.rows, [0] * len(plan.rows), plan.treated).drop(
            columns=[BATCH, self.spec.columns.label]
        )
        ours = [apart(name, set(rows.columns)) for name in REASONS]
        reasons = pd.DataFrame([vars(one) for one in plan.reasons]).set_axis(ours, axis=1)
        return pd.concat([rows.iloc[:, :1], reasons, rows.iloc[:, 1:]], axis=1)

    def export(self, path: str | Path, *, history: bool = False) -> None:
        """Every pool row with its state and label, or (`history`) every event, to a file."""
        from labelwise.campaign.export import events_table, rows_table
        from labelwise.tables.write import write_table

        table = events_table(self) if history else rows_table(self)
        write_table(table, Path(path))

    def report(self, path: str | Path | None = None) -> Path:
        """One HTML file with everything; by default `report.html` in the campaign's folder."""
        from labelwise.report import write_report

        return write_report(self, Path(path) if path else self.path / "report.html")

    def _batch(
        self,
        rows: Sequence[int],
        numbers: Sequence[int],
        treated: Sequence[float] | None = None,
    ) -> pd.DataFrame:
        """Rows as they are handed out; predictions stay hidden, lest they sway labellers."""
        columns = self.spec.columns
        models = {columns.prediction, columns.versus}
        hidden = {
            columns.label,
            *models,
            columns.weight,
            columns.cost,
            columns.probability,
            BATCH,
        }
        hidden |= {columns.treatment} if treated is not None else set()
        pool = self.tables["pool"]
        shown = [column for column in pool if column not in hidden and column != columns.id]
        batch = pool.iloc[list(rows)][[columns.id, *shown]].reset_index(drop=True)
        batch.insert(0, BATCH, pd.Series(list(numbers), dtype=int))
        if treated is not None:
            batch.insert(2, str(columns.treatment), pd.Series(list(treated), dtype=int))
        return batch.assign(**{columns.label: np.nan})


def _read_snapshot(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except Exception as error:
        raise StoreError(
            f"{path} is missing or damaged ({type(error).__name__})",
            "restore the folder from a copy",
            where=str(path),
        ) from error
