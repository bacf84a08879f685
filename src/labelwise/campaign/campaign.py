"""A labelling effort over days: ask for rows, tell their labels, and know where one stands.

Everything lives in the campaign's folder. A `Campaign` only holds what it has read, so any
number of them, in any number of processes, may work on one folder.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from labelwise.campaign import log as events
from labelwise.campaign.analysis import Analysis
from labelwise.campaign.asked import store_terms
from labelwise.campaign.check import Check
from labelwise.campaign.create import Request, create
from labelwise.campaign.design import check_draw
from labelwise.campaign.estimate import Estimate
from labelwise.campaign.incoming import BATCH, read_labels
from labelwise.campaign.ledger import Ledger
from labelwise.campaign.log import Told
from labelwise.campaign.planning import Forecast, Plan, make_forecast, make_plan, who_chose
from labelwise.campaign.settings import Settings
from labelwise.campaign.state import State
from labelwise.campaign.status import Status, budget_of, read_status
from labelwise.campaign.stop import Facts, Rule, check_rule, read_rule
from labelwise.campaign.store import Store
from labelwise.campaign.widths import expect_widths
from labelwise.errors import InvalidInput, StoreError
from labelwise.inputs import as_count
from labelwise.policies.description import build_policy
from labelwise.policies.drawing import FLOOR
from labelwise.policies.offer import Spending
from labelwise.tables.ids import as_ids
from labelwise.tables.roles import Columns
from labelwise.tables.texts import apart

ATTEMPTS = 100  # times an ask plans again because another process asked first
REASONS = ("gain_share", "target_share", "predicted", "predicted_std")
ROUNDS_AHEAD = 5  # a forecast looks at, if there is no budget


class Campaign:
    """The rows one may label, the labels that came, and what they say."""

    def __init__(self, store: Store):
        self._ledger = Ledger(store)

    @staticmethod
    def create(
        path: str | Path,
        *,
        labelled: Any,
        pool: Any,
        target: Any = None,
        id: str,
        label: str,
        prediction: str | None = None,
        weight: str | None = None,
        cost: str | None = None,
        compare: tuple[str, str] | None = None,
        treatment: str | None = None,
        chance: str | None = None,
        assign: Any = None,
        by: Sequence[str] | str = (),
        features: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
        missing: str = "impute",
        estimand: str | Sequence[str] = "mse",
        threshold: float | None = None,
        combine: str = "sum",
        belief: Any = "auto",
        policy: Any = "lookahead",
        batch: int = 10,
        budget: int | None = None,
        spend: float | None = None,
        price: float | None = None,
        seed: int = 0,
        expiry_days: float | None = 30.0,
        label_range: tuple[float | None, float | None] | None = None,
        predictor_in_belief: bool = True,
        draw: str | None = "loss",
        floor: float = FLOOR,
        scale: str = "linear",
        stop: Rule | None = None,
    ) -> "Campaign":
        """Make a campaign in a new folder from three tables (frames, CSV or Parquet files).

        Without `target` the pool is the target. Columns that no argument names and that all
        tables share are features. Several estimands, and each by the groups of the columns
        `by`, are planned for together (`combine`: their "sum", or the "worst"). `compare` names
        the outputs of two models. For effects of a `treatment` (0 or 1), `assign` says how pool
        rows come by it: "given", a chance (or `chance`, a column of chances), or "planned".
        A round costs at most `spend`; `price` is what a unit of cost is worth in variance.

        Chance draws the rows, so that there is an answer that holds whatever the belief: by
        how far each row's `draw`="loss" may be from its prediction, by the scores of the
        "policy", or a "balance" of both; with None the policy chooses alone. Of every draw the
        share `floor` is uniform. Intervals of positive losses may be on the "log" `scale`.
        `stop` is a rule for when enough is known: see `labelwise.stop`.
        """
        prediction, versus = _models(prediction, compare)
        columns = Columns(
            id=id,
            label=label,
            prediction=prediction,
            weight=weight,
            cost=cost,
            features=_names("features", features),
            versus=versus,
            treatment=treatment,
            chance=chance,
        )
        request = Request(
            labelled=labelled,
            pool=pool,
            target=target,
            columns=columns,
            estimand=estimand,
            belief=belief,
            policy=policy,
            batch=batch,
            budget=budget,
            seed=seed,
            expiry_days=expiry_days,
            label_range=label_range,
            missing=missing,
            categorical=_names("categorical", categorical),
            predictor_in_belief=predictor_in_belief,
            threshold=threshold,
            by=_names("by", [by] if isinstance(by, str) else by),
            combine=combine,
            assign=assign,
            spend=spend,
            price=price,
            draw=check_draw(draw, floor, scale),
            stop=check_rule(stop),
        )
        create(path, request)
        return Campaign.open(path)

    @staticmethod
    def open(path: str | Path) -> "Campaign":
        """Open a campaign that exists."""
        return Campaign(Store.open(path))

    @property
    def settings(self) -> Settings:
        """What the campaign was created with."""
        return self._ledger.settings

    @property
    def path(self) -> Path:
        return self._ledger.store.folder

    def ask(
        self, n: int | None = None, *, over_budget: bool = False, go_on: bool = False
    ) -> pd.DataFrame:
        """The next batch to label, recorded as asked: ids, `batch_id`, features, empty labels.

        Planned on what is known now; if another process asks meanwhile, planned again. The
        budget holds unless one says `over_budget`, and the rule to stop unless one says to
        `go_on`.
        """
        for _ in range(ATTEMPTS):
            state = self._ledger.state()
            size = self._size(state, n, over_budget)
            analysis = self._ledger.analysis(state)
            plan, design, predictions = self._draw(analysis, state, size)
            estimate = self._ledger.estimate(analysis, state)
            if not go_on:
                self._check_stop(state, estimate, plan)
            count = len(plan.rows)
            batch = self._batch(plan.rows, [state.round + 1] * count, plan.treated)
            content = {
                "plan": plan.to_dict(),
                "estimate": estimate.to_dict(),
                "event": state.event,
                "pending": state.pending_in_order(),
                "design": design,
            }
            number = events.add_round(
                self._ledger.store,
                self.settings,
                state,
                plan.rows,
                plan.probabilities,
                content,
                plan.treated,
                predictions,
            )
            if number is not None:
                return batch
        raise StoreError(
            f"Other processes asked {ATTEMPTS} times while this one was planning",
            "try again",
            where=str(self.path),
        )

    def pending(self) -> pd.DataFrame:
        """Rows that are out, as `ask` gave them."""
        state = self._ledger.state()
        rows = state.pending_in_order()
        treated = [state.treated[row] for row in rows] if state.treated else None
        return self._batch(rows, [state.pending[row].round for row in rows], treated)

    def choice(self, batch_id: int) -> str | None:
        """One sentence on who chose the rows of a batch; None of an early one, not recorded."""
        plans = {one["round"]: one["plan"] for one in self._ledger.rounds()}
        drawn = plans.get(batch_id, {}).get("drawn")
        return None if drawn is None else who_chose(drawn)

    def tell(self, labels: Any, *, unasked: str = "refuse") -> Told:
        """Record labels: a frame or file like the one asked, or a mapping of id to label.

        Empty labels are not yet known. The same label again changes nothing; another one for
        the same row is refused (see `correct`). Labels of rows that were never asked are
        refused, or by `unasked` accepted or ignored. All of it is recorded, or nothing.
        """
        incoming = read_labels(labels, self.settings, "tell")
        return events.add_labels(
            self._ledger.store,
            self.settings,
            incoming.labels,
            incoming.rounds,
            incoming.treated,
            unasked=unasked,
        )

    def correct(self, labels: Any, reason: str | None = None) -> int:
        """Replace labels; the old ones stay in the history. The number that changed."""
        incoming = read_labels(labels, self.settings, "correct")
        given = {one: value for one, value in incoming.labels.items() if value is not None}
        return events.add_corrections(self._ledger.store, self.settings, given, reason)

    def skip(self, ids: Any, reason: str | None = None) -> int:
        """Never ask these rows again. The number newly skipped."""
        rows = as_ids(ids, "skip", "ids")
        return events.add_skips(self._ledger.store, self.settings, rows, reason)

    def fail(self, ids: Any, reason: str | None = None) -> int:
        """These labels could not be had this time; the rows may be asked again."""
        rows = as_ids(ids, "fail", "ids")
        return events.add_failures(self._ledger.store, self.settings, rows, reason)

    def status(self) -> Status:
        """Counts, budget, batches that are out, and the first look at the tables."""
        return read_status(self._ledger.store)

    def estimate(self) -> Estimate:
        """The estimand, given all labels so far."""
        state = self._ledger.state()
        return self._ledger.estimate(self._ledger.analysis(state), state)

    def stop(self) -> str | None:
        """Why to stop, by the rule that the campaign was made with; None to go on."""
        rule = self._rule
        if rule is None:
            return None
        state = self._ledger.state()
        analysis = self._ledger.analysis(state)
        estimate = self._ledger.estimate(analysis, state)
        plan = None
        if rule.needs_gain and state.available:
            plan = self._plan(analysis, state, min(self.settings.batch, state.available))
        return rule.met(self._facts(state, estimate, plan))

    @property
    def _rule(self) -> Rule | None:
        return None if self.settings.stop is None else read_rule(self.settings.stop)

    def _check_stop(self, state: State, estimate: Estimate, plan: Plan) -> None:
        rule = self._rule
        reason = None if rule is None else rule.met(self._facts(state, estimate, plan))
        if reason is not None:
            raise InvalidInput(
                f"Enough is known: {reason}",
                "to buy more, ask with go_on=True (--go-on)",
                where="stop",
            )

    def _facts(self, state: State, estimate: Estimate, plan: Plan | None) -> Facts:
        design = self._ledger.design
        by_chance = design.by_chance and design.reasons[0] is None
        if plan is None:
            return Facts(state.spent, estimate, None, by_chance)
        # What was drawn must not decide whether it counts: random rows stand in for it.
        expected = plan.random if design.by_chance else plan.expected
        gain = 1.0 - expected / max(plan.std, 1e-300)
        return Facts(state.spent, estimate, gain, by_chance)

    def plan(self, n: int | None = None) -> Plan:
        """What would be asked and how much it is expected to help; nothing changes."""
        state = self._ledger.state()
        size = self._size(state, n)
        return self._plan(self._ledger.analysis(state), state, size)

    def forecast(
        self, rounds: int | None = None, advance: Callable[[], None] = lambda: None
    ) -> Forecast:
        """Expected standard deviation against further labels, planned and random.

        Where rows are drawn, also the expected width of the interval from drawn rows.
        """
        state = self._ledger.state()
        sizes = self._rounds_ahead(state, rounds)
        design, analysis = self._ledger.design, self._ledger.analysis(state)
        foreseen = design.foresee(analysis) if design.by_chance else None
        draw = None if foreseen is None else design.draw(foreseen)
        policy, name = build_policy(self.settings.policy), self.settings.policy["name"]
        seed, round_, spending = self.settings.seed, state.round + 1, self._spending()
        found = make_forecast(
            analysis, policy, name, seed, round_, sizes, advance, spending, draw
        )
        if foreseen is None:
            return found
        first = analysis.propose(policy, seed, round_, sizes[0], spending, draw=draw)
        drawn = self._ledger.draws(state).get(design.answerable[0])
        widths = expect_widths(
            design, foreseen, first, sorted(state.closed), drawn, found.labels[1:]
        )
        return replace(found, draws=widths)

    def rounds_ahead(self, rounds: int | None = None) -> list[int]:
        """Batch sizes of the rounds that a forecast would look at."""
        return self._rounds_ahead(self._ledger.state(), rounds)

    def check(self) -> list[Check]:
        """Each batch's labels against what was predicted of them when it was asked."""
        return self._ledger.checks(self._ledger.state())

    def show(self, plan: Plan) -> pd.DataFrame:
        """The rows of a plan, with why each was chosen.

        `gain_share` is a row's part of what the batch is expected to teach, `target_share` the
        part of the target of which it tells more than the others; then its predicted label.
        """
        rows = self._batch(plan.rows, [0] * len(plan.rows), plan.treated).drop(
            columns=[BATCH, self.settings.columns.label]
        )
        ours = [apart(name, set(rows.columns)) for name in REASONS]
        reasons = pd.DataFrame([vars(one) for one in plan.reasons]).set_axis(ours, axis=1)
        return pd.concat([rows.iloc[:, :1], reasons, rows.iloc[:, 1:]], axis=1)

    def export(self, path: str | Path, *, history: bool = False) -> None:
        """Every pool row with its state and label, or (`history`) every event, to a file."""
        from labelwise.campaign.export import events_table, rows_table
        from labelwise.tables.write import write_table

        table = events_table(self._ledger) if history else rows_table(self._ledger)
        write_table(table, Path(path))

    def report(self, path: str | Path | None = None) -> Path:
        """One HTML file with everything; by default `report.html` in the campaign's folder."""
        from labelwise.campaign.report import write_report

        return write_report(self._ledger, Path(path) if path else self.path / "report.html")

    def _plan(self, analysis: Analysis, state: State, k: int) -> Plan:
        return self._draw(analysis, state, k)[0]

    def _draw(self, analysis: Analysis, state: State, k: int):
        """A plan, and of a batch that chance chose, what its draws need to be used later."""
        settings, design = self.settings, self._ledger.design
        policy = build_policy(settings.policy)
        name, seed, round_ = settings.policy["name"], settings.seed, state.round + 1
        spending = self._spending()
        if not design.by_chance:
            return make_plan(analysis, policy, name, seed, round_, k, spending), None, None
        foreseen = design.foresee(analysis)
        draw = design.draw(foreseen)
        found = analysis.propose(policy, seed, round_, k, spending, draw=draw)
        plan = make_plan(analysis, policy, name, seed, round_, k, spending, found)
        record = design.record(found, foreseen, sorted(state.closed))
        return plan, record, store_terms(foreseen.terms)

    def _spending(self) -> Spending | None:
        spend, price = self.settings.spend, self.settings.price
        return None if spend is None and price is None else Spending(spend, price)

    def _batch(
        self,
        rows: Sequence[int],
        numbers: Sequence[int],
        treated: Sequence[float] | None = None,
    ) -> pd.DataFrame:
        """Rows as they are handed out; predictions stay hidden, lest they sway labellers."""
        columns = self.settings.columns
        models = {columns.prediction, columns.versus}
        hidden = {columns.label, *models, columns.weight, columns.cost, columns.chance, BATCH}
        hidden |= {columns.treatment} if treated is not None else set()
        pool = self._ledger.tables["pool"]
        shown = [column for column in pool if column not in hidden and column != columns.id]
        batch = pool.iloc[list(rows)][[columns.id, *shown]].reset_index(drop=True)
        batch.insert(0, BATCH, pd.Series(list(numbers), dtype=int))
        if treated is not None:
            batch.insert(2, str(columns.treatment), pd.Series(list(treated), dtype=int))
        return batch.assign(**{columns.label: np.nan})

    def _size(self, state: State, n: int | None, over_budget: bool = False) -> int:
        """How many rows to ask: what was said, or the batch size and what is left for it."""
        left = None if over_budget else budget_of(self.settings, state)["left"]
        if left == 0:
            raise InvalidInput(
                f"The budget of {self.settings.budget} labels is spent",
                "to buy more, ask with over_budget=True (--over-budget)",
                where="budget",
            )
        if state.available == 0:
            raise InvalidInput(
                "Every row of the pool is labelled, pending or skipped",
                "wait for labels that are out, or start a campaign with more rows",
                where="pool",
            )
        if n is None:
            return min(self.settings.batch, state.available, left or state.available)
        n = as_count("n", n)
        if left is not None and n > left:
            raise InvalidInput(
                f"The budget has {left} labels left",
                "ask for at most that many, or with over_budget=True (--over-budget)",
                where="n",
            )
        if n > state.available:
            raise InvalidInput(
                f"The pool has {state.available} rows left",
                "ask for at most that many",
                where="n",
            )
        return n

    def _rounds_ahead(self, state: State, rounds: int | None) -> list[int]:
        self._size(state, None)  # there must be something to look ahead to
        left = budget_of(self.settings, state)["left"]
        batch, available = self.settings.batch, state.available
        if rounds is None:
            rounds = ROUNDS_AHEAD if left is None else -(-left // batch)
        rounds = as_count("rounds", rounds)
        total = min(rounds * batch, available if left is None else min(left, available))
        return [min(batch, total - start) for start in range(0, total, batch)]


def _models(prediction: str | None, compare: Any) -> tuple[str | None, str | None]:
    """The column of the model under evaluation, and of the one it is compared with."""
    if compare is None:
        return prediction, None
    both = [] if isinstance(compare, str) else list(compare)
    if len(both) != 2:
        raise InvalidInput.must(
            "compare", "name the columns of two models", f"it is {compare!r}"
        )
    if prediction is not None:
        raise InvalidInput(
            "Name the models by prediction or by compare, not both",
            "compare names two",
            where="compare",
        )
    return both[0], both[1]


def _names(what: str, names: Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable | None):
        raise InvalidInput.must(what, "be a list of column names", f"it is {names!r}")
    return tuple(names or ())
