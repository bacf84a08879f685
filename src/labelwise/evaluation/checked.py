"""A belief that the campaign's own labels choose: at set rounds only, and on record.

Before the first batch, and then every few, an ask lets the candidates foretell labels they have
not learnt from (`diagnostics.contest`), and plans with the best. What was chosen, and by how
much, is written down with the round; until the next such round it stays, whatever labels come.
Rows drawn so far stay what they are: their probabilities were written down with them, and what
they answer does not rest on the belief.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwise.beliefs.fit import PAD, padded
from labelwise.beliefs.named import check_options, fit_named
from labelwise.diagnostics.contest import Contest, hold_contest
from labelwise.diagnostics.dynamic import Labelling, Learn
from labelwise.errors import InvalidInput
from labelwise.evaluation.class_answer import as_right
from labelwise.evaluation.data import Arrays, shuffled
from labelwise.evaluation.fit import about_rows
from labelwise.evaluation.labels import LabelSet, as_treated
from labelwise.inputs import as_count, as_jax
from labelwise.names import CHECKED, CLASSIFIER, DRAWS, LAST_LAYER, NEURAL, check_belief

if TYPE_CHECKING:
    from labelwise.evaluation.evaluation import Evaluation
    from labelwise.evaluation.posterior import Posterior

EVERY = 5  # rounds from one choice to the next
INITIAL = 300  # labels from the start that take part, at most: as if these were all
RECORD = "checked"  # its key among what is known of a belief
LINEAR = "linear"


def check_candidates(given: Mapping[str, Any], features: int, binary: bool) -> dict[str, Any]:
    """All options of a belief that is checked: its candidates, each complete."""
    known = {"every", "candidates"}
    strange = sorted(set(given) - known)
    if strange:
        raise InvalidInput(
            f"The belief {CHECKED!r} has no option {strange[0]!r}",
            f"it has {' and '.join(sorted(known))}",
            where=strange[0],
        )
    wanted = given.get("candidates") or usual_candidates(binary)
    made = [complete(one, features, binary) for one in wanted]
    names = [name_of(one) for one in made]
    if len(made) < 2 or len(set(names)) < len(names):
        raise InvalidInput.must(
            "candidates", "be two or more different beliefs", f"they are {', '.join(names)}"
        )
    every = as_count("every", given.get("every", EVERY))
    labels = "binary" if binary else "regression"
    return {"every": every, "candidates": made, "labels": labels}


def usual_candidates(binary: bool) -> list[Any]:
    """A smooth function, a straight one, and two kinds of networks; the usual belief first."""
    process = CLASSIFIER if binary else "gp"
    return [process, {"name": process, "kernel": LINEAR}, LAST_LAYER, "ensemble-plus"]


def complete(candidate: Any, features: int, binary: bool) -> dict[str, Any]:
    """A candidate from its name or options."""
    options = dict(candidate) if isinstance(candidate, Mapping) else {"name": candidate}
    name = options.pop("name", None)
    check_belief(name)
    name = (CLASSIFIER if binary else "gp") if name == "auto" else name
    wrong = name in ("gp", CLASSIFIER) and binary != (name == CLASSIFIER)
    if wrong or name == DRAWS:  # draws are the features themselves
        raise InvalidInput(
            f"{name!r} cannot be a candidate here",
            "name a belief that suits the labels and the features",
            where="candidates",
        )
    return {"name": name, **check_options(name, options, features, binary)}


def name_of(belief: Mapping[str, Any]) -> str:
    """A candidate's name, with its kernel where that is not the usual one."""
    return f"{belief['name']} ({LINEAR})" if _is_straight(belief) else belief["name"]


def _is_straight(belief: Mapping[str, Any]) -> bool:
    return belief["name"] in ("gp", CLASSIFIER) and belief.get("kernel") == LINEAR


def choice_of(evaluation: "Evaluation") -> dict[str, Any] | None:
    """What is chosen at present: just now, on record, or to begin with the first."""
    if evaluation.spec.belief["name"] != CHECKED:
        return None
    if evaluation.choice is not None:
        return dict(evaluation.choice)
    records = [one.estimate.belief.get(RECORD) for one in evaluation.rounds]
    made = [record for record in records if record]
    first = name_of(evaluation.spec.belief["candidates"][0])
    return made[-1] if made else {"chosen": first, "round": 0, "contest": None, "why": None}


def present_belief(evaluation: "Evaluation") -> tuple[Mapping[str, Any], Any, Any]:
    """The belief's settings, a fit that was kept of it, and where its fit may start.

    A fit starts where the last round's ended, and a kept one counts, if of the same belief.
    """
    spec, fitted, choice = evaluation.spec, evaluation.fitted, choice_of(evaluation)
    last = evaluation.rounds[-1].estimate.belief if evaluation.rounds else {}
    if choice is None:
        return spec.belief, fitted, last.get("position")
    same = lambda known: (known or {}).get(RECORD, {}).get("chosen") == choice["chosen"]
    candidates = spec.belief["candidates"]
    belief = next(one for one in candidates if name_of(one) == choice["chosen"])
    start = last.get("position") if same(last) else None
    return belief, fitted if same(fitted) else None, start


def on_record(evaluation: "Evaluation", posterior: "Posterior") -> "Posterior":
    """The posterior, with what was chosen among what is known of its belief."""
    choice = choice_of(evaluation)
    if choice is None:
        return posterior
    return replace(posterior, prior={**posterior.prior, RECORD: choice})


def is_due(evaluation: "Evaluation") -> bool:
    """Whether the next ask chooses anew."""
    belief = evaluation.spec.belief
    due = belief["name"] == CHECKED and evaluation.state.round % belief["every"] == 0
    return due and evaluation.choice is None


def choose(evaluation: "Evaluation") -> "Evaluation":
    """The evaluation with the belief that its labels speak for; too few change nothing."""
    record = choice_of(evaluation) or {}
    record |= {"round": evaluation.state.round + 1, "contest": None, "why": None}
    try:
        contest = check_beliefs(evaluation, evaluation.spec.belief["candidates"])
        record |= {"chosen": contest.best.name, "contest": contest.to_dict()}
    except InvalidInput as error:  # too few labels, or all rows alike
        record["why"] = str(error)
    return replace(evaluation, choice=record, fitted=None)


def check_beliefs(
    evaluation: "Evaluation",
    candidates: Sequence[Mapping[str, Any]],
    advance: Callable[[], None] = lambda: None,
) -> Contest:
    """Score candidates on the labels of an evaluation.

    Where several do as well as chance can tell, the simplest is chosen: a straight function
    before others, then as they are named.
    """
    known, batches = labels_in_order(evaluation)
    arrays, seed = evaluation.arrays, evaluation.spec.seed
    simplest = sorted(candidates, key=lambda one: not _is_straight(one))
    learners = {name_of(one): learner(arrays, one, seed) for one in simplest}
    return hold_contest(learners, known, batches, seed, advance)


def labels_in_order(evaluation: "Evaluation") -> tuple[Labelling, list[np.ndarray]]:
    """All labels: those from the start, then batch by batch; and where each batch stands."""
    state = evaluation.state
    treated = LabelSet((), (), (), (), dict(state.treated))
    arrays = as_treated(evaluation.known_arrays, treated)
    start = np.arange(len(arrays.labels))
    if len(start) > INITIAL:
        rows = np.column_stack([arrays.labelled, arrays.labels])
        start = np.sort(shuffled(rows, evaluation.spec.seed)[:INITIAL])
    by_batch: dict[int, list[int]] = {}
    for row in sorted(state.labels):
        by_batch.setdefault(state.batches[row] or 0, []).append(row)
    order = [row for number in sorted(by_batch) for row in by_batch[number]]
    known = LabelSet(tuple(order), tuple(state.labels[row] for row in order), (), ())
    if evaluation.spec.columns.several:  # the belief is about whether the model is right
        arrays, known = as_right(arrays, known)
    labels = np.array(known.labels, float)
    x = np.concatenate([arrays.labelled[start], arrays.pool[order]])
    ends = np.cumsum([len(start), *(len(by_batch[number]) for number in sorted(by_batch))])
    places = [np.arange(low, high) for low, high in itertools.pairwise(ends)]
    # Labels that nobody asked for belong to no batch: they count as there from the start.
    asked = [place for number, place in zip(sorted(by_batch), places, strict=True) if number]
    return Labelling(x, np.concatenate([arrays.labels[start], labels])), asked


def learner(arrays: Arrays, belief: Mapping[str, Any], seed: int) -> Learn:
    """How a candidate learns from rows: as it would in the campaign."""
    about, column = about_rows(arrays, belief), arrays.predictor_column

    def learn(x: np.ndarray, y: np.ndarray) -> Any:
        fitted = fit_named(belief["name"], belief, x, y, column, seed, **about)
        prior = fitted.build() if belief["name"] in NEURAL else fitted.prior
        extra = -len(y) % PAD
        weight = (np.arange(len(y) + extra) < len(y)).astype(float)
        labels = as_jax(np.pad(y, (0, extra)))
        return prior.condition(as_jax(padded(x, extra)), labels, as_jax(weight))

    return learn
