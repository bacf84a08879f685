"""One campaign of the coverage study: labels bought by chance or by plan, intervals at the end.

The pool is the target, and the truth is the estimand of the pool's own labels. Fitted are a
mixture over hyper-parameters and, as its best single one, what taking them as known would give.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from experiments.coverage_draws import Drawn
from labelwise.beliefs.fit_mixture import MixtureFit, fit_mixture
from labelwise.beliefs.mixture import Mixture, pick
from labelwise.estimands.base import AbstractEstimand
from labelwise.estimands.catalogue import ESTIMANDS as TERMS
from labelwise.estimands.metrics import Combination, Metric
from labelwise.estimands.named import BrierScore, MeanSquaredError
from labelwise.estimands.predictive import predict_moments, spread_along
from labelwise.policies.baselines import Random
from labelwise.policies.draw import Draw
from labelwise.policies.lookahead import Lookahead
from labelwise.policies.sampling import first_chances
from labelwise.survey.aipw import estimates
from labelwise.survey.draws import DrawRecord, RoundDraws
from labelwise.survey.intervals import mean_interval, ratio_interval
from labelwise.survey.linearise import linearised
from labelwise.survey.tails import heavy_tails
from labelwise.survey.variance_floor import WORTH, predicted_spread, with_spread_floor
from labelwise.types import Pool

ROUNDS, BATCH, FLOOR, LEVEL = 10, 5, 0.3, 0.9
REFRESHED = (0, 3, 6)  # rounds at which hyper-parameters are fitted anew; and at the end
PAD = 128  # labelled rows, so that all rounds share a compilation
PLAN_ROWS, PLAN_COMPONENTS = 100, 4  # of the target and the mixture, that plans look at
DRAWS = 1024  # of the estimand, for credible intervals
LOOKS = np.unique(np.linspace(5, ROUNDS * BATCH, 20).round().astype(int))

ESTIMANDS = {True: ("brier", "accuracy", "recall"), False: ("mse", "mae", "mean")}

Interval = tuple[float, float]


@dataclass
class Labels:
    """What is known at some time: the first labels, then those bought, in order."""

    problem: Drawn
    binary: bool
    rows: list[int] = field(default_factory=list)

    @property
    def table(self) -> np.ndarray:
        """Pool rows as the belief sees them: features, then what the predictor says."""
        return with_predictor(self.problem.pool_x, self.problem.pool_prediction, self.binary)

    def known(self) -> tuple[np.ndarray, np.ndarray]:
        first = with_predictor(self.problem.x, self.problem.initial_prediction, self.binary)
        x = np.concatenate([first, self.table[self.rows]])
        return x, np.concatenate([self.problem.y, self.problem.pool_y[self.rows]])


def with_predictor(x: np.ndarray, prediction: np.ndarray, binary: bool) -> np.ndarray:
    """Chances enter by their log-odds."""
    column = np.log(prediction) - np.log1p(-prediction) if binary else prediction
    return np.column_stack([x, column])


def fit(labels: Labels, before: MixtureFit | None, seed: int) -> MixtureFit:
    x, y = labels.known()
    return fit_mixture(
        x,
        y,
        mean="predictor",
        predictor_column=x.shape[1] - 1,
        spread=labels.table.std(axis=0),
        link="logit" if labels.binary else None,
        starts=1,
        start=None if before is None else before.best.position,
        seed=seed,
    )


def condition(prior: Mixture, labels: Labels) -> Mixture:
    x, y = labels.known()
    extra = PAD - len(y)
    weight = jnp.asarray(np.arange(PAD) < len(y), float)
    x = np.pad(x, ((0, extra), (0, 0)), mode="edge")
    return _condition(prior, jnp.asarray(x), jnp.asarray(np.pad(y, (0, extra))), weight)


@eqx.filter_jit
def _condition(prior, x, y, weight):
    return prior.condition(x, y, weight)


class Bought(NamedTuple):
    """Labels bought, the belief given them, and if drawn, the record of it."""

    labels: Labels
    fit: MixtureFit
    rounds: dict[str, list[RoundDraws]]
    foreseen: dict[str, list[float]]  # spread of each draw's estimate, as the belief saw it


def buy(problem: Drawn, binary: bool, seed: int, drawn: bool, first: MixtureFit) -> Bought:
    """Ten rounds, by chance or by plan."""
    labels, fitted = Labels(problem, binary), first
    rounds: dict[str, list[RoundDraws]] = {name: [] for name in ESTIMANDS[binary]}
    foreseen: dict[str, list[float]] = {name: [] for name in ESTIMANDS[binary]}
    for index in range(ROUNDS):
        if index in REFRESHED[1:]:
            fitted = fit(labels, fitted, seed)
        belief = condition(fitted.prior, labels)
        available = np.ones(len(problem.pool_y), bool)
        available[labels.rows] = False
        pool = Pool(labels.table, available)
        key = jax.random.fold_in(jax.random.key(seed), index)
        if drawn:
            labels.rows += _draw(key, belief, labels, pool, rounds, foreseen)
        else:
            labels.rows += _plan(key, belief, labels, pool, seed)
    return Bought(labels, fit(labels, fitted, seed), rounds, foreseen)


def _draw(key, belief, labels: Labels, pool: Pool, rounds, foreseen) -> list[int]:
    """Chances by how far the loss may be from its prediction; all predictions are kept."""
    names = ESTIMANDS[labels.binary]
    terms, spreads = _foresee(belief, labels)
    draw = Draw(spreads[names[0]], FLOOR)
    batch = Random().propose(key, belief, _estimand(labels), pool, BATCH, draw=draw)
    rows, everyone = np.asarray(batch.indices), np.ones(pool.size)
    chances = np.asarray(first_chances(batch.logits, FLOOR))
    for name in names:
        spread = predicted_spread(spreads[name], chances, everyone, np.asarray(pool.available))
        foreseen[name] += [spread] * BATCH
        rounds[name].append(
            RoundDraws(
                rows,
                np.asarray(batch.probabilities),
                np.asarray(pool.available),
                terms[name],
            )
        )
    return rows.tolist()


def _foresee(belief: Mixture, labels: Labels):
    """Terms of all estimands and how far off they may be, in one pass."""
    x, prediction = jnp.asarray(labels.table), jnp.asarray(labels.problem.pool_prediction)
    mean, covariance = predict_moments(belief, x, TOGETHER[labels.binary], prediction)
    terms, spreads, place = {}, {}, 0
    for name in ESTIMANDS[labels.binary]:
        own = slice(place, place + TERMS[name].count)
        terms[name] = np.asarray(mean[own])
        slope = jnp.asarray(TERMS[name].slope(terms[name].mean(axis=1)))
        spreads[name] = np.asarray(spread_along(covariance[own, own], slope))
        place = own.stop
    return terms, spreads


def _together(names: tuple[str, ...]) -> Metric:
    of = lambda *row: tuple(term for name in names for term in TERMS[name].terms(*row))
    count = sum(TERMS[name].count for name in names)
    nothing = lambda means: means[0]  # only the terms' own moments are asked for
    return Metric("all", "all", "", of, Combination("smooth", count, nothing, nothing))


TOGETHER = {binary: _together(names) for binary, names in ESTIMANDS.items()}


def _plan(key, belief: Mixture, labels: Labels, pool: Pool, seed: int) -> list[int]:
    estimand = _estimand(labels, PLAN_ROWS, seed)
    batch = PLANNER.propose(key, _few(belief), estimand, pool, BATCH)
    return np.asarray(batch.indices).tolist()


PLANNER = Lookahead("greedy", draws=256, worlds=16)
_few = eqx.filter_jit(lambda belief: belief.few(PLAN_COMPONENTS))


def _estimand(labels: Labels, count: int | None = None, seed: int = 0) -> AbstractEstimand:
    rows = np.arange(len(labels.problem.pool_y))
    if count is not None:
        rows = np.random.default_rng([seed, 2]).choice(rows, count, replace=False)
    kind = BrierScore if labels.binary else MeanSquaredError
    return kind(labels.table[rows], labels.problem.pool_prediction[rows])


def terms_of(problem: Drawn, name: str) -> np.ndarray:
    """The terms of every pool row, as its own label has them."""
    found = TERMS[name].stack(problem.pool_y, problem.pool_prediction, None)
    return np.asarray(found)


def truth_of(problem: Drawn, name: str) -> float:
    return float(TERMS[name].combine(terms_of(problem, name).mean(axis=1)))


class Answer(NamedTuple):
    value: float
    low: float
    high: float


def interval_of(name: str, values: np.ndarray, planned: int | None = None) -> Interval:
    """By the spread of one number a draw, or of two for a ratio."""
    if TERMS[name].kind == "ratio":
        return ratio_interval(values[:, 0], values[:, 1], LEVEL, planned)
    return mean_interval(values[:, 0], LEVEL, planned)


class Designed(NamedTuple):
    """What the draws alone say."""

    once: Answer  # looked at once
    always: Answer  # right at every look
    ever_missed: bool  # the second, at one of its looks
    heavy: bool  # whether the spread rests on a few draws


def design_answer(bought: Bought, name: str) -> Designed:
    """The answer of drawn rows, and how its any-time interval fared on the way."""
    terms, planned = TERMS[name], ROUNDS * BATCH
    values = estimates(_record(bought, name)).values
    value = float(terms.combine(values.mean(axis=0)))
    foreseen = np.array(bought.foreseen[name])
    floored = lambda look, worth: _floored(name, values[:look], foreseen[:look], worth)
    looks = [_cut(name, interval_of(name, floored(look, math.inf), planned)) for look in LOOKS]
    truth = truth_of(bought.labels.problem, name)
    return Designed(
        once=Answer(value, *_cut(name, interval_of(name, floored(len(values), WORTH)))),
        always=Answer(value, *looks[-1]),
        ever_missed=any(not low <= truth <= high for low, high in looks),
        heavy=heavy_tails(values[:, 0]),
    )


def _floored(name: str, values: np.ndarray, foreseen: np.ndarray, worth: float) -> np.ndarray:
    """Spread out at least as far as the belief foresaw."""
    combine = lambda means: float(TERMS[name].combine(means))
    slope = lambda means: np.asarray(TERMS[name].slope(means))
    pseudo = linearised(values, combine, slope)
    return with_spread_floor(values, pseudo, float(np.sqrt(np.mean(foreseen**2))), worth)


def _record(bought: Bought, name: str) -> DrawRecord:
    problem = bought.labels.problem
    terms = terms_of(problem, name)
    known = np.isin(np.arange(terms.shape[1]), bought.labels.rows)
    nobody = np.zeros(terms.shape[1], bool)
    return DrawRecord(
        mass=np.ones(terms.shape[1]),
        terms=np.where(known, terms, np.nan),
        rounds=tuple(bought.rounds[name]),
        skipped=nobody,
        dropped=nobody,
    )


def classical_answer(problem: Drawn, name: str, seed: int) -> Answer:
    """As many labels drawn uniformly, their own mean and spread, finite pool allowed for."""
    terms, size = terms_of(problem, name), len(problem.pool_y)
    count = ROUNDS * BATCH
    rows = np.random.default_rng([seed, 3]).choice(size, count, replace=False)
    values = terms[:, rows].T
    value = float(TERMS[name].combine(values.mean(axis=0))) if values.any() else 0.0
    shrunk = values.mean(axis=0) + (values - values.mean(axis=0)) * np.sqrt(1 - count / size)
    return Answer(value, *_cut(name, interval_of(name, shrunk)))


def credible_answers(belief: Mixture, labels: Labels, seed: int) -> dict[str, Answer]:
    """Central quantiles of each estimand over labels that the belief imagines."""
    known = np.full(len(labels.problem.pool_y), np.nan)
    known[labels.rows] = labels.problem.pool_y[labels.rows]
    values = _imagined(
        jax.random.key(seed),
        belief,
        jnp.asarray(labels.table),
        jnp.asarray(known),
        jnp.asarray(labels.problem.pool_prediction),
        ESTIMANDS[labels.binary],
    )
    edges = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    return {
        name: Answer(float(one.mean()), float(low), float(high))
        for name, one, low, high in zip(ESTIMANDS[labels.binary], values, *edges, strict=True)
    }


@eqx.filter_jit
def _imagined(key, belief: Mixture, x, known, prediction, names) -> Float[Array, "names n"]:
    """Estimands over the pool, known labels as they are and others imagined."""
    each = DRAWS // belief.size

    def of(at):
        y = belief.component(at[0]).sample_labels(at[1], x, each)
        y = jnp.where(jnp.isnan(known)[None, :], y, known[None, :])
        means = [TERMS[name].stack(y, prediction[None, :], None).mean(axis=2) for name in names]
        combined = [
            jax.vmap(TERMS[name].combine)(mean.T)
            for name, mean in zip(names, means, strict=True)
        ]
        return jnp.stack(combined, axis=1)

    keys = jax.random.split(key, belief.size)
    values = jax.lax.map(of, (jnp.arange(belief.size), keys)).reshape(-1, len(names))
    return values[pick(jnp.repeat(belief.weight / each, each), DRAWS)].T


def _cut(name: str, interval: Interval) -> Interval:
    """Inside the estimand's range."""
    low = None if name == "mean" else 0.0
    high = 1.0 if name in ESTIMANDS[True] else None
    found = np.clip(interval, low, high)
    return float(found[0]), float(found[1])
