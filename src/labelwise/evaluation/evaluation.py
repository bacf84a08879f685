"""The engine: data, a question and the labels so far in; rounds and answers out.

An `Evaluation` is a value. It touches no file and no clock, every random choice comes from its
seed and the round's number, and telling labels gives the next one. A campaign is such a value
kept in a folder; simulations and studies play with it as it is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from labelwise.evaluation.answer import Answer
from labelwise.evaluation.belief_answer import BeliefAnswers
from labelwise.evaluation.caveats import caveats
from labelwise.evaluation.check import Check, check_rounds
from labelwise.evaluation.checked import choose, is_due, on_record, present_belief
from labelwise.evaluation.class_answer import ClassAnswers, as_right
from labelwise.evaluation.class_questions import planned_by
from labelwise.evaluation.data import Arrays
from labelwise.evaluation.draw_caveats import told_of_draws, unverified
from labelwise.evaluation.estimate import Estimate
from labelwise.evaluation.fates import fates_in_words
from labelwise.evaluation.first_round import drawn_together
from labelwise.evaluation.labels import LabelSet, corrected
from labelwise.evaluation.missing import told_of_fates
from labelwise.evaluation.plan import Forecast, Planner
from labelwise.evaluation.posterior import Posterior
from labelwise.evaluation.question import Inquiry, Quantity
from labelwise.evaluation.round import Draws, Plan, Round
from labelwise.evaluation.sizes import Sizes
from labelwise.evaluation.sources import changed_sources
from labelwise.evaluation.spec import Spec, check_names
from labelwise.evaluation.state import State
from labelwise.evaluation.stop import Rule, Standing, read_rule, refuse_if_met, standing
from labelwise.evaluation.survey import Survey
from labelwise.evaluation.survey_answer import Within
from labelwise.evaluation.survey_forecast import Ahead, expect_widths
from labelwise.evaluation.survey_weights import Population, population_of
from labelwise.evaluation.telling import told
from labelwise.evaluation.two_phase import Mended
from labelwise.evaluation.whole_answer import answer_about_whole
from labelwise.policies.base import AbstractPolicy
from labelwise.policies.constraints import Spending
from labelwise.policies.lookahead import for_draws
from labelwise.policies.registry import make_policy
from labelwise.pools.first_phase import FirstPhase
from labelwise.runtime import single_threaded
from labelwise.tables.headers import check_columns
from labelwise.types import Batch


@dataclass(frozen=True)
class Evaluation:
    """What is to be known, of which data, and what has been labelled so far."""

    spec: Spec
    arrays: Arrays  # of the tables
    shift: Mapping[str, Any]  # the first look at the tables
    feature_names: tuple[str, ...]  # of the belief's features, the treatment last
    state: State
    rounds: tuple[Round, ...] = ()
    # A fit of exactly these labels, made earlier; without one the belief is fitted when needed.
    fitted: Mapping[str, Any] | None = field(default=None, repr=False)
    # What pool rows stand for; it rests on the tables alone.
    known_population: Population | None = field(default=None, repr=False)
    # How the pool's rows were drawn, where they are a sample of a larger pool.
    phase: FirstPhase | None = field(default=None, repr=False)
    mended: Mapping[str, Mended] = field(default_factory=dict, repr=False)  # by title
    # Of a belief that is checked, what was chosen just now and is not on record yet.
    choice: Mapping[str, Any] | None = field(default=None, repr=False)
    # The next batch, where it was found among more rows than are here.
    given: Batch | None = field(default=None, repr=False)

    @staticmethod
    def of(tables: Any, columns: Any, question: Any = None, **parts: Any) -> "Evaluation":
        """Start from tables, without a folder; parts are those of `Campaign.create`.

        That is belief, sampling, limits and seed.
        """
        from labelwise.evaluation.prepare import prepare  # which makes evaluations

        check_names(question, parts.get("belief", "auto"), parts.get("sampling"))
        check_columns(tables, columns)
        return prepare(tables, columns, question, **parts).evaluation()

    @cached_property
    def inquiry(self) -> Inquiry:
        return Inquiry.of(self.spec)

    @cached_property
    def posterior(self) -> Posterior:
        """The belief given all labels."""
        belief, fitted, start = present_belief(self)
        state, rows = self.state, tuple(sorted(self.state.labels))
        known = LabelSet(
            rows=rows,
            labels=tuple(state.labels[row] for row in rows),
            pending=tuple(state.pending_in_order()),
            closed=tuple(sorted(state.closed)),
            treated=dict(state.treated),
        )
        arrays, inquiry = self.known_arrays, self.inquiry
        if self.spec.columns.several:
            (arrays, known), inquiry = as_right(arrays, known), planned_by(inquiry)
        posterior = Posterior.of(
            arrays,
            known,
            inquiry,
            belief,
            self.spec.seed,
            fitted,
            self.spec.sampling.assign,
            start,
        )
        return on_record(self, posterior)

    @property
    def known_arrays(self) -> Arrays:
        """The tables, with initial labels as they stand after corrections."""
        return corrected(self.arrays, self.state.corrections)

    def checked(self) -> "Evaluation":
        """Ready to ask: with the belief chosen anew, where a check is due."""
        return choose(self) if is_due(self) else self

    @cached_property
    def survey(self) -> Survey:
        """How chance chooses rows, and for whom they answer."""
        population = self.known_population
        if population is None:
            names = self.feature_names
            population = population_of(self.arrays, self.spec, self.shift, names, self.phase)
        questions = self.inquiry.questions
        return Survey(self.arrays, self.spec, questions, population, self.phase, self.mended)

    @cached_property
    def policy(self) -> AbstractPolicy:
        return make_policy(self.spec.sampling.policy)

    @single_threaded
    def ask(
        self,
        n: int | None = None,
        *,
        over_budget: bool = False,
        go_on: bool = False,
        weigh: bool = True,
    ) -> Round:
        """The next round, as it should be asked; nothing changes until labels are told.

        The budget holds unless one says `over_budget`, and the rule to stop unless one says to
        `go_on`. A rehearsal need not `weigh` the batch beside random rows: its rows and answers
        are the same.
        """
        size = self.sizes.of(n, over_budget)
        if is_due(self):
            return self.checked().ask(n, over_budget=over_budget, go_on=go_on, weigh=weigh)
        weigh = weigh or (self._rule is not None and not go_on)
        plan, draws = self._draw(size, weigh)
        estimate = self.estimate()
        if not go_on:
            refuse_if_met(self._rule, self._facts(estimate, plan))
        return Round(
            number=self.state.round + 1,
            plan=plan,
            estimate=estimate,
            pending=tuple(self.state.pending_in_order()),
            draws=draws,
            event=self.state.event,
        )

    def tell(
        self, round_: Round, labels: Mapping[int, float] | Sequence[float | None]
    ) -> "Evaluation":
        """The evaluation once a round is asked and these of its labels have come.

        Labels are given by row of the pool, or one for each row of the round, None where it is
        not known yet.
        """
        return told(self, round_, labels)

    @single_threaded
    def estimate(self) -> Estimate:
        """The estimand, given all labels so far."""
        return self._estimate

    @cached_property
    def _estimate(self) -> Estimate:
        names, radius = self.feature_names, float(self.shift["radius"])
        warnings = tuple(caveats(self.posterior, self.checks(), names, radius))
        pairs = zip(self.inquiry.questions, self.survey.reasons, strict=True)
        answers = [self._answer(question, reason) for question, reason in pairs]
        first, *others = told_of_fates(answers, self)
        warnings += (*fates_in_words(first.fates), *told_of_draws(self, [first, *others]))
        warnings = (*changed_sources(self.spec), *unverified(self, first), *warnings)
        estimate = replace(first, warnings=warnings, parts=tuple(others))
        rule = self._rule
        enough = None if rule is None else rule.met(self._facts(estimate, None))
        return replace(estimate, enough=enough)

    def _answer(self, question: Quantity, reason: str | None) -> Estimate:
        """To one question; `reason` says why drawn rows cannot answer it."""
        estimate, drawn = self._by_belief(question), self.answers_by_draws.get(question)
        if self.phase is not None and self.spec.target == "pool":
            return answer_about_whole(self, question, estimate, reason)
        if drawn is None:
            return estimate.without_draws(reason, self.survey.by_chance)
        numbers = self.posterior.belief.has_number_labels
        return estimate.with_draws(drawn, self.by_belief.bounds(question), numbers=numbers)

    @cached_property
    def by_belief(self) -> BeliefAnswers | ClassAnswers:
        """What the belief alone says."""
        both, skipped = (self.posterior, self.survey), tuple(sorted(self.state.skipped))
        if not self.spec.columns.several:
            return BeliefAnswers(*both, skipped)
        questions = self.inquiry.questions
        return ClassAnswers(*both, self.known_arrays, self.state.labels, questions, skipped)

    def _by_belief(self, question: Quantity) -> Estimate:
        answer, draws, quantity = self.by_belief.by_question[question]
        return Estimate(
            estimand=question.metric.name,
            title=question.title,
            initial=len(self.posterior.arrays.labels),
            bought=len(self.state.labels),
            belief=self.posterior.prior | {"features": list(self.feature_names)},
            credible=answer,
            quantity=quantity,
            beats=question.beats(draws),
        )

    @cached_property
    def answers_by_draws(self) -> Mapping[Quantity, Answer | None]:
        """What drawn rows say of each question."""
        return self.survey.answers(self.rounds, self.state)

    @cached_property
    def within(self) -> Mapping[Quantity, Within | None]:
        """The same about the pool at hand, where that is a sample."""
        return self.survey.within(self.rounds, self.state)

    def checks(self) -> list[Check]:
        """Each batch's labels against what was predicted of them when it was asked."""
        return check_rounds(self.rounds, self.state, self.arrays.called.get("pool"))

    @single_threaded
    def stop(self) -> str | None:
        """Why to stop, by the rule; None to go on, or if there is no rule."""
        rule = self._rule
        if rule is None:
            return None
        plan = None
        if rule.needs_gain and self.state.available:
            plan = self._draw(min(self.spec.sampling.batch, self.state.available))[0]
        return rule.met(self._facts(self.estimate(), plan))

    @property
    def _rule(self) -> Rule | None:
        return None if self.spec.limits.stop is None else read_rule(self.spec.limits.stop)

    def _facts(self, estimate: Estimate, plan: Plan | None) -> Standing:
        return standing(self.survey, self.state.spent, estimate, plan)

    @single_threaded
    def plan(self, n: int | None = None) -> Plan:
        """What would be asked and how much it is expected to help."""
        return self._draw(self.sizes.of(n))[0]

    def _draw(self, k: int, weigh: bool = True) -> tuple[Plan, Draws | None]:
        """A plan, and of a batch that chance chose, what its draws need to be used later."""
        planner = self.planner
        batch = planner.propose(k)
        weighed = planner.plan if weigh else planner.unweighed
        if planner.draw is None:
            return weighed(batch), None
        batch, together = drawn_together(self, batch)
        draws = self.survey.record(batch, self.by_belief.foreseen, sorted(self.state.closed))
        return weighed(batch), replace(draws, together=together)

    @cached_property
    def planner(self) -> Planner:
        """The policy, ready to choose the next batch or to say how likely each row is."""
        policy, draw = self.policy, None
        if self.survey.by_chance:
            policy, belief = for_draws(policy), self.by_belief
            draw = self.survey.draw(belief.foreseen, belief.noise_gain)
        return Planner(
            self.posterior,
            policy,
            self.spec.sampling.policy["name"],
            self.spec.seed,
            self.state.round + 1,
            self.spending,
            draw,
            self.by_belief.first.std,
            self.given,
        )

    @property
    def spending(self) -> Spending | None:
        spend, price = self.spec.sampling.spend, self.spec.sampling.price
        return None if spend is None and price is None else Spending(spend, price)

    @single_threaded
    def forecast(
        self, rounds: int | None = None, advance: Callable[[], None] = lambda: None
    ) -> Forecast:
        """Expected standard deviation against further labels, planned and random.

        Where rows are drawn, also the expected width of the combined interval.
        """
        sizes = self.rounds_ahead(rounds)
        planner, survey = self.planner, self.survey
        forecast = planner.forecast(sizes, advance)
        if planner.draw is None:
            return forecast
        first = planner.propose(sizes[0])
        drawn = self.answers_by_draws.get(survey.answerable[0])
        closed, foreseen = sorted(self.state.closed), self.by_belief.foreseen
        numbers = self.posterior.belief.has_number_labels
        belief = self.by_belief.by_question[survey.answerable[0]].answer
        now = None if drawn is None else self._width_of(survey.answerable[0])
        ahead = Ahead(belief, forecast.labels[1:], forecast.planned, numbers, now)
        widths = expect_widths(survey, foreseen, first, closed, drawn, ahead)
        return replace(forecast, draws=widths)

    def _width_of(self, question: Quantity) -> float:
        """Of the interval that is shown of a question."""
        estimate = self.estimate()
        place = self.inquiry.questions.index(question)
        low, high = (estimate, *estimate.parts)[place].interval()
        return high - low

    @property
    def sizes(self) -> Sizes:
        """How many rows may be asked for."""
        return Sizes(self.spec, self.state)

    @property
    def budget_left(self) -> int | None:
        """Labels that may still be bought; None if there is no budget."""
        return self.sizes.budget_left

    def rounds_ahead(self, rounds: int | None = None) -> list[int]:
        """Batch sizes of the rounds that a forecast would look at."""
        return self.sizes.ahead(rounds)
