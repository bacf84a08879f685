"""The prior that many tables teach: how a model's output and labels hang together.

Empirical Bayes: of every task (`prior_tasks`) the log evidence is known at many
hyper-parameters drawn from one wide law (`prior_evidence`), so that the evidence under any
prior is their mean, each weighed by the prior's density over the wide law's. The prior of
highest evidence over the corpus is learnt, a mixture of kinds of models; and learnt again with
a fifth of the studies left out, to see what it foretells of these. docs/beliefs.md tells what
was found; `labelwise.beliefs.learnt_prior` has the numbers.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from rich.box import SIMPLE
from rich.table import Table as Shown

from experiments.corpus import split
from experiments.corpus_tables import Entry, Kind
from experiments.prior_evidence import NAMES, WIDE, evidence_of
from experiments.prior_tasks import tasks_of

FOLDS, SEED = 5, 0
SEEDS: dict[Kind, int] = {"class": 4, "number": 5}  # tasks of each table
LEAST, MOST = 0.08, 2.5  # of a spread


def learn(kind: Kind, cache: Path | None, advance: Callable[[], None]) -> dict[str, Any]:
    """Priors of one kind and of two kinds of models, with their scores on studies left out."""
    draws, logs, groups, qualities = _collect(kind, cache, advance)
    places = np.random.default_rng(SEED).permutation(np.unique(groups))
    fold = {group: index % FOLDS for index, group in enumerate(places)}
    folds = np.array([fold[group] for group in groups])
    found, scores = {}, {}
    for kinds in (1, 2):
        held_out = np.empty(len(groups))
        for index in range(FOLDS):
            out = folds == index
            prior = _fit(kind, draws[~out], logs[~out], kinds)
            held_out[out] = _scores(kind, prior, draws[out], logs[out])
        found[f"kinds={kinds}"] = {
            "prior": _described(kind, _fit(kind, draws, logs, kinds), kinds),
            "held_out": float(held_out.mean()),
        }
        scores[kinds] = held_out
    gain = scores[2] - scores[1]
    spread = float(gain.std(ddof=1) / np.sqrt(len(gain)))
    by = {name: float(gain[qualities == name].mean()) for name in np.unique(qualities)}
    return {
        "tasks": len(groups),
        "studies": len(places),
        **found,
        "gain": float(gain.mean()),
        "standard_error": spread,
        "by_quality": by,
    }


def summarise(
    command: str, cache: Path | None, advance: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    kinds: tuple[Kind, ...] = ("class", "number")
    learnt = {kind: learn(kind, cache, advance) for kind in kinds}
    return {"experiment": "prior", "command": command, **learnt}


def total() -> int:
    return sum(SEEDS[kind] * len(_entries(kind)) for kind in SEEDS)


def tabulate(summary: dict[str, Any]) -> Shown:
    shown = Shown(box=SIMPLE)
    for heading in ("labels", "kinds of models", "share", *NAMES, "held out, nats a task"):
        shown.add_column(heading)
    for kind in SEEDS:
        for kinds in (1, 2):
            found = summary[kind][f"kinds={kinds}"]
            for part in found["prior"]:
                shown.add_row(kind, str(kinds), *_figures(part), f"{found['held_out']:.2f}")
    return shown


def _figures(part: dict[str, Any]) -> list[str]:
    laws = [part[name] for name in NAMES if name in part]
    told = [f"{middle:.2f} ± {spread:.2f}" for middle, spread in laws]
    return [f"{part['share']:.2f}", *told, *[""] * (len(NAMES) - len(told))]


def _entries(kind: Kind) -> list[Entry]:
    return [entry for entry in split()["learn"].values() if entry.kind == kind]


def _collect(kind: Kind, cache: Path | None, advance: Callable[[], None]):
    """Draws, log evidence, study and quality of every task."""
    rows = []
    for seed in range(SEEDS[kind]):
        for entry in _entries(kind):
            for task in tasks_of(entry, range(seed, seed + 1), cache):
                draws, logs = evidence_of(task, kind)
                logs = np.where(np.isfinite(logs), logs, -1e9)
                rows.append((draws, logs, task.group, task.quality))
            advance()
    draws, logs, groups, qualities = zip(*rows, strict=True)
    return np.array(draws), np.array(logs), np.array(groups), np.array(qualities)


def _size(kind: Kind) -> int:
    """Of 0/1 labels there is no noise."""
    return len(NAMES) - (kind == "class")


def _fit(kind: Kind, draws: np.ndarray, logs: np.ndarray, kinds: int) -> np.ndarray:
    size, (centre, spread) = _size(kind), WIDE[kind]
    apart = np.linspace(-1.1, 1.1, kinds) if kinds > 1 else np.zeros(1)
    start = []
    for shift in apart:
        middle = centre[:size].copy()
        middle[2] += shift  # kinds differ in what the model misses, first of all
        start += [*middle, *np.log(0.5 * spread[:size])]
    box = ([(None, None)] * size + [(np.log(LEAST), np.log(MOST))] * size) * kinds
    box += [(-3.0, 3.0)] * kinds
    given = _arrays(kind, draws, logs)
    value = lambda at: [np.asarray(part, float) for part in _loss(at, kinds, *given)]
    first = np.array([*start, *[0.0] * kinds])
    return scipy.optimize.minimize(value, first, jac=True, method="L-BFGS-B", bounds=box).x


def _arrays(kind: Kind, draws: np.ndarray, logs: np.ndarray):
    """Draws, and log evidence less the log density of the law that they were drawn from."""
    size, (centre, spread) = _size(kind), WIDE[kind][:, : _size(kind)]
    some = draws[:, :, :size]
    wide = np.sum(-0.5 * ((some - centre) / spread) ** 2 - np.log(spread), axis=2)
    return some, logs - wide


def _scores(kind: Kind, prior: np.ndarray, draws: np.ndarray, logs: np.ndarray) -> np.ndarray:
    kinds = len(prior) // (2 * _size(kind) + 1)
    return np.asarray(_evidence(prior, kinds, *_arrays(kind, draws, logs)))


def _evidence(prior, kinds: int, draws, logs):
    """Log evidence of each task under a prior."""
    size = draws.shape[2]
    laws = jnp.reshape(jnp.asarray(prior)[: 2 * size * kinds], (kinds, 2, size))
    shares = jax.nn.log_softmax(jnp.asarray(prior)[-kinds:])
    each = []
    for law, share in zip(laws, shares, strict=True):
        away = (draws - law[0][None, None]) / jnp.exp(law[1])[None, None]
        each.append(share + jnp.sum(-0.5 * away**2, axis=2) - law[1].sum())
    density = jax.scipy.special.logsumexp(jnp.stack(each), axis=0)
    return jax.scipy.special.logsumexp(density + logs, axis=1) - jnp.log(draws.shape[1])


@partial(jax.jit, static_argnums=1)
def _loss(prior, kinds, draws, logs):
    return jax.value_and_grad(lambda at: -jnp.mean(_evidence(at, kinds, draws, logs)))(prior)


def _described(kind: Kind, prior: np.ndarray, kinds: int) -> list[dict[str, Any]]:
    """Each kind's share, and mean and spread of every hyper-parameter."""
    size = _size(kind)
    laws = prior[: 2 * size * kinds].reshape(kinds, 2, size)
    shares = np.exp(prior[-kinds:]) / np.exp(prior[-kinds:]).sum()
    return [
        {"share": float(share)}
        | {
            name: [float(middle), float(np.exp(spread))]
            for name, middle, spread in zip(NAMES, *law, strict=False)
        }
        for share, law in zip(shares, laws, strict=True)
    ]
