"""What the labels bought have brought, beside what random rows would have."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise.evaluation.belief_answer import BeliefAnswers
from labelwise.evaluation.labels import LabelSet
from labelwise.evaluation.plan import ORDERS, Planner
from labelwise.evaluation.posterior import Posterior
from labelwise.policies.registry import make_policy
from labelwise.report.charts import BLUE, SOFT, chart, figure, whole_steps
from labelwise.report.markup import Markup, tag
from labelwise.report.numbers import count, number, percent, plural
from labelwise.report.snapshot import Facts

MOST_ROWS = 1000  # of a path: its cost grows with the cube


@dataclass(frozen=True)
class Paths:
    """Standard deviation expected after none, one, ... of the rows bought."""

    own: np.ndarray
    random: np.ndarray  # root of the mean variance over orders
    low: np.ndarray  # 10 % of the random orders leave less
    high: np.ndarray  # 10 % leave more


def read_paths(facts: Facts) -> Paths:
    """Judge both by today's belief, as if only the initial labels were known yet."""
    own = facts.bought_in_order[:MOST_ROWS]
    now, spec = facts.analysis, facts.spec
    nothing = LabelSet(rows=(), labels=(), pending=(), closed=())
    settings = spec.belief, spec.seed, now.prior, spec.sampling.assign
    start = Posterior.of(now.arrays, nothing, now.inquiry, *settings)
    # Rows that cannot be labelled would not have been had at random either.
    free = np.array([row for row in range(facts.state.size) if row not in facts.state.skipped])
    rng = np.random.default_rng([spec.seed, 2])
    orders = [rng.choice(free, len(own), replace=False) for _ in range(ORDERS)]
    treated = now.known.treated
    own_places = now.places(own, [treated.get(row) for row in own])
    planner = Planner(
        start, make_policy("random"), "random", spec.seed, 1, std=_at_first(facts, start)
    )
    stds = planner.std_along([own_places, *(start.at_random(rng, rows) for rows in orders)])
    low, high = np.quantile(stds[1:], [0.1, 0.9], axis=0)
    return Paths(stds[0], np.sqrt(np.mean(stds[1:] ** 2, axis=0)), low, high)


def _at_first(facts: Facts, start: Posterior) -> float | None:
    """Of the answer with the initial labels alone; None where draws of functions tell it."""
    if facts.spec.columns.several:
        return None
    return BeliefAnswers(start, facts.evaluation.survey).first.std


def precision(facts: Facts) -> Markup:
    """Draw the campaign's rows beside random ones."""
    title = "Standard deviation left"
    if not facts.bought_in_order:
        text = "No labels have been bought yet; the first will be compared with random rows."
        return tag("div", tag("h3", title), tag("p", text), class_="blank")
    paths = read_paths(facts)
    image = chart(lambda axes: _draw(axes, paths), _alt(paths))
    return figure(title, image, _caption(facts, paths))


def _draw(axes: Any, paths: Paths) -> None:
    places = np.arange(len(paths.own))
    axes.fill_between(places, paths.low, paths.high, color=SOFT, alpha=0.2, lw=0)
    axes.plot(places, paths.random, "--", color=SOFT, label="random rows")
    axes.plot(places, paths.own, color=BLUE, label="this campaign’s rows")
    axes.set(xlabel="labels bought", ylabel="standard deviation", ylim=(0.0, None))
    axes.legend(loc="best")
    whole_steps(axes)


def _caption(facts: Facts, paths: Paths) -> str:
    text = (
        "Both as today’s belief judges them, starting from the initial labels: the rows "
        f"bought, in the order asked, and {ORDERS} random orders of as many pool rows (line: "
        "root of their mean variance; band: 10–90 % of them). It is what was to be expected "
        "before the labels were known, so it need not end at the estimate’s own standard "
        "deviation. If the belief is wrong, so is this comparison."
    )
    if len(paths.own) <= len(facts.bought_in_order):
        text += f" Shown up to {count(MOST_ROWS)} labels."
    return text


def _alt(paths: Paths) -> str:
    own, random = paths.own[-1], paths.random[-1]
    share = percent(own / random) if random > 0.0 else "as much"
    labels = plural(len(paths.own) - 1, "label")
    ends = f"{number(paths.low[-1])} to {number(paths.high[-1])}"
    return (
        f"Expected standard deviation falls from {number(paths.own[0])} with no labels bought "
        f"to {number(own)} with {labels} of this campaign, and to {number(random)} with as "
        f"many random rows (10–90 % of orders: {ends}); the campaign leaves {share} of what "
        "random rows leave, as today’s belief judges both."
    )
