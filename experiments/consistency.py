"""The posterior-consistency benchmark: are beliefs right out of distribution, do they sharpen?

Five studies, as the paper's section 8.1 and appendix D have them: `ood` (loss against the
strength of a selection bias), `dynamic` (before and after labels from outside), `tradeoff`
(inside against outside, over a hyper-parameter), `sensitivity` (early stopping and inference
seeds) and `hyperparameters` (the grids of its table 2). A task is one agent on one data set
with one seed, which draws splits and first weights; all strengths or settings of a task are
learnt from in one program.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import numpy as np

from experiments.consistency_agents import (
    AGENTS,
    GRIDS,
    JUDGING,
    NETWORKS,
    ORACLE,
    RATES,
    SECONDS,
    WITH_PRIOR,
    Setting,
    along,
    every_setting,
    learn,
    learn_until,
)
from experiments.consistency_cases import CLUSTERS, SYNTHETIC, Case, Protocol, Row, cases, judge
from experiments.sweep import Task
from labelwise.diagnostics import Labelling, draw_dyads, sampled_losses
from labelwise.errors import InvalidInput

STOPS = (10, 30, 100, 300, 1000, 3000)
FEW = {"seeds": 10, "draws": 20, "bundles": 100}  # of the study of inference seeds


def ood(task: str, protocol: Protocol) -> list[Row]:
    """Losses inside and outside against the strength of the bias, at usual settings."""
    data, bias, agent, seed = _parse(task)
    every = cases(data, bias, seed, protocol.folder)
    same = data != SYNTHETIC and bias == CLUSTERS  # what is learnt from, at every strength
    lessons = [case.lesson for case in (every[:1] if same else every)]
    beliefs = learn(agent, lessons, [{}], protocol.training, seed)
    beliefs = beliefs * len(every) if same else beliefs
    return [
        {"data": data, "bias": bias, "agent": agent, "seed": seed, **row}
        for belief, case in zip(beliefs, every, strict=True)
        for row in judge(belief, case, protocol)
    ]


def dynamic(task: str, protocol: Protocol) -> list[Row]:
    """Losses before and after labels from outside, in the farthest cluster.

    The third word of a task is the hyper-parameter that is swept, or "usual".
    """
    data, option, agent, seed = _parse(task)
    case = cases(data, CLUSTERS, seed, protocol.folder)[-1]
    settings = [{}] if option == "usual" else along(agent, option)
    about = {"data": data, "agent": agent, "seed": seed, "option": option}
    rows = []
    for time, lesson in enumerate((case.lesson, case.lesson.with_(case.more))):
        beliefs = learn(agent, [lesson], settings, protocol.training, seed)
        for setting, belief in zip(settings, beliefs, strict=True):
            value = setting.get(option)
            rows += [
                {**about, "value": value, "time": time, **row}
                for row in judge(belief, case, protocol)
            ]
    return rows


def tradeoff(task: str, protocol: Protocol) -> list[Row]:
    """Losses inside and outside over prior scale, decay or steps, in the farthest cluster."""
    data, option, agent, seed = _parse(task)
    case = cases(data, CLUSTERS, seed, protocol.folder)[-1]
    if option == "steps":
        values: Sequence[float] = stops_of(protocol)
        beliefs = learn_until(agent, case.lesson, stops_of(protocol), protocol.training, seed)
    else:
        values = GRIDS[agent][option]
        settings = along(agent, option)
        beliefs = learn(agent, [case.lesson], settings, protocol.training, seed)
    about = {"data": data, "agent": agent, "seed": seed, "option": option}
    return [
        {**about, "value": value, **row}
        for value, belief in zip(values, beliefs, strict=True)
        for row in judge(belief, case, protocol)
    ]


def sensitivity(task: str, protocol: Protocol) -> list[Row]:
    """Losses and their scatter over inference seeds, when training stops early.

    Twenty functions are drawn, of an ensemble too, and the bundles stay the same.
    """
    data, _, agent, seed = _parse(task)
    case = cases(data, CLUSTERS, seed, protocol.folder)[-1]
    stops = stops_of(protocol)
    beliefs = learn_until(agent, case.lesson, stops, protocol.training, seed)
    about = {"data": data, "agent": agent, "seed": seed}
    rows = []
    for steps, belief in zip(stops, beliefs, strict=True):
        for where, test in case.tests.items():
            losses = _by_seed(belief, test)
            found = {"joint": losses.mean(), "sd": losses.std(ddof=1)}
            found = {name: round(float(value), 6) for name, value in found.items()}
            rows.append({**about, "steps": steps, "where": where, **found})
    return rows


def _by_seed(belief: Any, test: Labelling) -> np.ndarray:
    bundles = draw_dyads(np.random.default_rng(0), len(test.y), FEW["bundles"])
    tables = (_drawn(belief, test, jax.random.key(seed)) for seed in range(FEW["seeds"]))
    return np.array([sampled_losses(table, bundles)[0].mean() for table in tables])


def _drawn(belief: Any, test: Labelling, key: Any) -> np.ndarray:
    functions = belief.sample(key, test.x, FEW["draws"])
    return np.asarray(belief.likelihood.log_prob(np.asarray(test.y)[None, :], functions))


def hyperparameters(task: str, protocol: Protocol) -> list[Row]:
    """Losses inside and outside over an agent's whole grid, or over rates of learning."""
    data, option, agent, seed = _parse(task)
    case = cases(data, CLUSTERS, seed, protocol.folder)[-1]
    if option == "learning_rate":
        found = [
            ({option: rate}, _at_rate(agent, case, protocol, rate, seed)) for rate in RATES
        ]
    else:
        settings: list[Setting] = every_setting(agent)
        beliefs = learn(agent, [case.lesson], settings, protocol.training, seed)
        found = list(zip(settings, beliefs, strict=True))
    about = {"data": data, "agent": agent, "seed": seed, "option": option}
    return [
        {**about, **setting, **row}
        for setting, belief in found
        for row in judge(belief, case, protocol)
    ]


def _at_rate(agent: str, case: Case, protocol: Protocol, rate: float, seed: int) -> Any:
    training = replace(protocol.training, learning_rate=rate)
    return learn(agent, [case.lesson], [{}], training, seed)[0]


STUDIES = {
    "ood": ood,
    "dynamic": dynamic,
    "tradeoff": tradeoff,
    "sensitivity": sensitivity,
    "hyperparameters": hyperparameters,
}


def stops_of(protocol: Protocol) -> tuple[int, ...]:
    """Steps at which training is looked at; in a trial with few steps, some of those."""
    most = protocol.training.steps
    return STOPS if most is None else tuple(stop for stop in STOPS if stop <= most) or (most,)


def name_task(data: str, about: str, agent: str, seed: int) -> str:
    return "/".join([data, about, agent, str(seed)])


def make_task(study: str, data: str, about: str, agent: str, seed: int) -> Task:
    """With about how long it takes: what is learnt from and judged, times what that takes."""
    lessons = {
        "ood": 1 if about == CLUSTERS and data != SYNTHETIC else 7,
        "dynamic": 2 * (1 if about == "usual" else 5),
        "tradeoff": 5 if about != "steps" else 3,
        "sensitivity": 3,
        "hyperparameters": 4 if about == "learning_rate" else len(every_setting(agent)),
    }[study]
    judged = 6.0 if study == "ood" else lessons / 10.0  # others have one inference seed
    seconds = 5.0 + lessons * SECONDS[agent] + judged * JUDGING[agent]
    return Task(name_task(data, about, agent, seed), seconds)


def is_on(study: str, data: str, about: str) -> bool:
    """Synthetic data have one bias; the others are those of tables."""
    return data != SYNTHETIC or about == CLUSTERS or study != "ood"


def agents_of(study: str, data: str, about: str, wanted: Sequence[str] | None) -> list[str]:
    """Who takes part, of those wanted: a sweep needs its hyper-parameter, early stops steps."""
    known = [*AGENTS, *([ORACLE] if data == SYNTHETIC else [])]
    if study == "tradeoff":
        known = list(WITH_PRIOR)
    elif study in ("sensitivity", "hyperparameters"):
        known = list(NETWORKS)
    elif about in ("decay", "prior_scale"):
        known = list(WITH_PRIOR)
    unknown = [name for name in wanted or () if name not in (*AGENTS, ORACLE)]
    if unknown:
        raise InvalidInput(
            f"There is no agent {unknown[0]!r}",
            f"there are {', '.join((*AGENTS, ORACLE))}",
            where="agent",
        )
    return [name for name in known if wanted is None or name in wanted]


@cache
def _parse(task: str) -> tuple[str, str, str, int]:
    data, about, agent, seed = task.split("/")
    return data, about, agent, int(seed)
