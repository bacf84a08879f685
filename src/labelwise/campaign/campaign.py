"""A labelling effort over days: ask for rows, tell their labels, and know where one stands.

Everything lives in the campaign's folder. A `Campaign` only holds what it has read, so any
number of them, in any number of processes, may work on one folder.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwise.campaign import rules
from labelwise.campaign.incoming import read_labels
from labelwise.campaign.rules import Told
from labelwise.campaign.status import Status, read_status
from labelwise.campaign.store.contract import Change, Result, Snapshot
from labelwise.campaign.store.folder import FolderStore
from labelwise.campaign.store.sqlite import MemoryStore
from labelwise.campaign.stored import StoredCampaign
from labelwise.errors import StoreError
from labelwise.evaluation.spec import check_names
from labelwise.evaluation.state import State
from labelwise.tables.headers import check_columns
from labelwise.tables.ids import as_ids
from labelwise.tables.text import unguard

# What reasons needs JAX, and tables pandas: both start with the first method that needs them,
# so that labels are told, and the status is read, without them.
if TYPE_CHECKING:
    import pandas as pd

    from labelwise.campaign.verify import Verification
    from labelwise.evaluation.belief_check import BeliefCheck
    from labelwise.evaluation.check import Check
    from labelwise.evaluation.estimate import Estimate
    from labelwise.evaluation.evaluation import Evaluation
    from labelwise.evaluation.joined import Joined
    from labelwise.evaluation.plan import Forecast
    from labelwise.evaluation.prepare import Prepared
    from labelwise.evaluation.round import Plan, Round

Advance = Callable[[], None]  # called after each step of something long
Progress = Callable[[int, int], None]  # pieces of a pass that are done, and all
_nothing: Advance = lambda: None
ATTEMPTS = 100  # times an ask plans again because another process asked first


class Campaign(StoredCampaign):
    """The rows one may label, the labels that came, and what they say."""

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
        *,
        scheduler: str | None = None,
        workers: int = 2,
        progress: Progress = lambda done, total: None,
    ) -> "Campaign":
        """Make a campaign in a new folder from tables (frames, CSV or Parquet files).

        `tables` are `Tables`, or labelled, pool and target in this order; without a target the
        pool is the target. Or one table: rows with a label are then the labelled ones, the
        others the pool. `columns` are `Columns`. A `question` is a `Question`, or in short
        the estimand ("mse", "recall", ...) or several; `sampling` a `Sampling`, or in short the
        policy; `limits` are `Limits`, or in short the budget. `belief` is a name, options with
        a name, or a Gaussian process whose numbers stay. Each part may be a mapping as well.
        The path ":memory:" makes a campaign that is gone with the process.

        A pool of Parquet files larger than `sampling.whole` is read by so many `workers`:
        threads, or by the `scheduler` processes of Dask ("local", or an address); `progress` is
        told of pieces done. If that is cut off, the same call goes on where it was.
        """
        check_names(question, belief, sampling)
        check_columns(tables, columns)
        from labelwise.campaign.create import contents_of, forget, passing_for, prepare_at

        name, passing = (
            Path(path).resolve().name,
            passing_for(path, scheduler, workers, progress),
        )
        parts = (tables, columns, question, belief, sampling, limits, seed, name)
        prepared = prepare_at(path, parts, passing)
        contents, begin = contents_of(prepared), lambda store: Campaign(store)._begin(prepared)
        if str(path) == MemoryStore.place:
            store = MemoryStore(contents)
            begin(store)
            return Campaign(store)
        FolderStore.create(path, contents, begin)
        forget(passing)
        return Campaign.open(path)

    def _begin(self, prepared: "Prepared") -> None:
        """Write down the first round, of labels that chance drew before the campaign."""
        if len(prepared.first):
            told = prepared.evaluation()
            self.store.append([], lambda log: rules.begin(told.rounds[0], told.state.labels))

    @staticmethod
    def open(path: str | Path) -> "Campaign":
        """Open a campaign that exists."""
        return Campaign(FolderStore.open(path))

    def backup(self, path: str | Path) -> Path:
        """Copy the campaign to a new folder, right whoever writes meanwhile; where it is."""
        return self.store.backup(Path(path))

    def verify(self) -> "Verification":
        """Whether everything is as it was written, and what can be trusted if not.

        All hashes are checked and the answer is computed anew. Of a folder that cannot be
        opened, `labelwise verify` tells as much as can be known.
        """
        from labelwise.campaign.verify import verify

        return verify(self)

    def ask(
        self,
        n: int | None = None,
        *,
        over_budget: bool = False,
        go_on: bool = False,
        scheduler: str | None = None,
        workers: int = 2,
        progress: Progress = lambda done, total: None,
    ) -> "pd.DataFrame":
        """The next batch to label, recorded as asked: ids, `batch_id`, features, empty labels.

        Planned on what is known now; if another process asks meanwhile, planned again. The
        budget holds unless one says `over_budget`, and the rule to stop unless one says to
        `go_on`. Where the policy chooses among every row of a pool in files, these are read
        as `create` reads them.
        """
        from labelwise.campaign.export import batch_table

        for _ in range(ATTEMPTS):
            evaluation = self.evaluation()
            k = evaluation.sizes.of(n, over_budget)  # refused before anything is checked
            evaluation = evaluation.checked()
            wide, joined = self._widened(evaluation, k, (scheduler, workers, progress))
            round_ = wide.ask(k, over_budget=over_budget, go_on=go_on)
            if evaluation.choice is None:  # else it is not on record yet
                self._keep(evaluation, wide.estimate())
            batch = batch_table(self, round_.rows, round_.number, round_.treated)
            if self._commit(evaluation.state, replace(round_, joined=joined)):
                self._see(self.store.state())
                return batch
        raise StoreError(
            f"Other processes asked {ATTEMPTS} times while this one was planning",
            "try again",
            where=self.store.place,
        )

    def _widened(
        self, evaluation: "Evaluation", k: int, workers: tuple[str | None, int, Progress]
    ) -> "tuple[Evaluation, Joined | None]":
        """With the rows of the next batch in its pool, and those of them that are new to it."""
        from labelwise.campaign.choosing import Workers, widen
        from labelwise.pools.engine import refuse_idle

        found = widen(self, evaluation, k, Workers(*workers)) if self.phase else None
        if found is None:
            refuse_idle(workers[0])
        self._beside = None if found is None else found.pool
        return (evaluation, None) if found is None else (found.evaluation, found.joined)

    def pending(self) -> "pd.DataFrame":
        """Rows that are out, as `ask` gave them."""
        from labelwise.campaign.export import batch_table

        state = self.state()
        self._see(state)
        rows = state.pending_in_order()
        treated = [state.treated[row] for row in rows] if state.treated else None
        return batch_table(self, rows, [state.pending[row].round for row in rows], treated)

    def choice(self, batch_id: int) -> str | None:
        """One sentence on who chose the rows of a batch; None of an early one, not recorded."""
        plans = [round_.plan for round_ in self.rounds() if round_.number == batch_id]
        return plans[0].choice if plans and plans[0].drawn is not None else None

    def tell(self, labels: Any, *, unasked: str = "refuse") -> Told:
        """Record labels: a frame or file like the one asked, or a mapping of id to label.

        Empty labels are not yet known. The same label again changes nothing; another one for
        the same row is refused (see `correct`). Labels of rows that were never asked are
        refused, or by `unasked` accepted or ignored. All of it is recorded, or nothing.
        """
        incoming = read_labels(labels, self.spec, "tell")
        extent = self.store.document("labels")
        decide = lambda log: rules.tell(log, self.spec, incoming, extent, unasked)
        return self._append(incoming.labels, decide)

    def correct(self, labels: Any, reason: str | None = None) -> int:
        """Replace labels; the old ones stay in the history. The number that changed."""
        known = read_labels(labels, self.spec, "correct").known
        return self._append(known, lambda log: rules.correct(log, self.spec, known, reason))

    def skip(self, ids: Any, reason: str | None = None) -> int:
        """Never ask these rows again. The number newly skipped."""
        rows = as_ids(ids, "skip", "ids")
        return self._append(rows, lambda log: rules.skip(log, self.spec, rows, reason))

    def fail(self, ids: Any, reason: str | None = None) -> int:
        """These labels could not be had this time; the rows may be asked again."""
        rows = as_ids(ids, "fail", "ids")
        return self._append(rows, lambda log: rules.fail(log, self.spec, rows, reason))

    def status(self) -> Status:
        """Counts, budget, batches that are out, and the first look at the tables."""
        return read_status(self.store, self.spec)

    def estimate(self) -> "Estimate":
        """The estimand, given all labels so far."""
        return self.answer(self.evaluation())

    def answer(self, evaluation: "Evaluation") -> "Estimate":
        """The estimate of an evaluation of this campaign, with what only its log can tell."""
        from labelwise.evaluation.missing import without_corrections

        estimate, before = evaluation.estimate(), without_corrections(evaluation)
        if before is not None:
            estimate = estimate.with_uncorrected(before.estimate())
        estimate = replace(estimate, head=evaluation.state.head)
        self._keep(evaluation, estimate)
        return estimate

    def refine(
        self,
        *,
        scheduler: str | None = None,
        workers: int = 2,
        progress: Progress = lambda done, total: None,
    ) -> "Estimate":
        """Mend the answer by means of the belief's predictions over every row of a large pool.

        One pass over the files that the campaign was made from, as `create` took; what it finds
        is kept, and serves answers to come until another is taken.
        """
        from labelwise.campaign.refining import refine_campaign

        refine_campaign(self, scheduler, workers, progress)
        self.__dict__.pop("_mended", None)
        self._latest = None
        return self.estimate()

    def plot(self) -> Any:
        """The answer and its interval as labels came, as a matplotlib figure."""
        from labelwise.evaluation.plots import plot_history

        return plot_history(self.rounds(), self.estimate())

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    def stop(self) -> str | None:
        """Why to stop, by the rule that the campaign was made with; None to go on."""
        return None if self.spec.limits.stop is None else self.evaluation().stop()

    def plan(
        self,
        n: int | None = None,
        *,
        scheduler: str | None = None,
        workers: int = 2,
        progress: Progress = lambda done, total: None,
    ) -> "Plan":
        """What would be asked and how much it is expected to help; nothing changes."""
        evaluation = self.evaluation()
        k = evaluation.sizes.of(n)
        wide, _ = self._widened(evaluation, k, (scheduler, workers, progress))
        plan = wide.plan(k)
        self._keep(evaluation)
        return plan

    def forecast(self, rounds: int | None = None, advance: Advance = _nothing) -> "Forecast":
        """Expected standard deviation against further labels, planned and random.

        Where rows are drawn, also the expected width of the interval from drawn rows.
        """
        evaluation = self.evaluation()
        forecast = evaluation.forecast(rounds, advance)
        self._keep(evaluation)
        return forecast

    def rounds_ahead(self, rounds: int | None = None) -> list[int]:
        """Batch sizes of the rounds that a forecast would look at."""
        return self.evaluation().rounds_ahead(rounds)

    def checks(self) -> list["Check"]:
        """Each batch's labels against what was predicted of them when it was asked."""
        return self.evaluation().checks()

    def check(self, candidates: Any = None, advance: Advance = _nothing) -> "BeliefCheck":
        """Which belief to trust on these data: candidates foretell labels they have not seen.

        Those are names of beliefs, or their options; by default the usual ones and its own.
        """
        from labelwise.evaluation.belief_check import check_campaign

        return check_campaign(self.evaluation(), candidates, advance)

    def _keep(self, evaluation: "Evaluation", estimate: "Estimate | None" = None) -> None:
        """Keep what could be computed again; if the disk does not want it, go without."""
        state, estimate = evaluation.state, estimate or evaluation.estimate()
        fit = evaluation.posterior.prior if evaluation.fitted is None else None
        with suppress(StoreError):
            self.store.keep(state.fingerprint(), state.event, estimate, fit)

    def _commit(self, seen: State, round_: "Round") -> bool:
        """Write a round down, unless the rows one may ask have changed meanwhile."""
        return self._append([], lambda log: rules.ask(log, self.spec, seen, round_))

    def _append(
        self, ids: Collection[str], decide: Callable[[Snapshot], Change[Result]]
    ) -> Result:
        """Append to the log; ids are looked up with a spreadsheet's guard and without."""
        return self.store.append([*ids, *map(unguard, ids)], decide)

    def show(self, plan: "Plan") -> "pd.DataFrame":
        """The rows of a plan, with why each was chosen.

        `gain_share` is a row's part of what the batch is expected to teach, `target_share` the
        part of the target of which it tells more than the others; then its predicted label.
        """
        from labelwise.campaign.export import plan_table

        return plan_table(self, plan)

    def export(self, path: str | Path, *, history: bool = False) -> None:
        """Every pool row with its state and label, or (`history`) every event, to a file."""
        from labelwise.campaign.export import events_table, rows_table
        from labelwise.tables.write import write_table

        write_table(events_table(self) if history else rows_table(self), Path(path))

    def report(self, path: str | Path | None = None, check: Any = None) -> Path:
        """One HTML file with everything, a `check` of beliefs too; by default `report.html`."""
        from labelwise.report import write_report

        return write_report(self, Path(path) if path else self.path / "report.html", check)
