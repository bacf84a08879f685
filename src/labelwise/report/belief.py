"""What the belief holds, in words, and how it fared against fresh labels."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelwise.evaluation.check import ALARM, Check
from labelwise.report.beliefs import beliefs
from labelwise.report.markup import Markup, clip, tag
from labelwise.report.numbers import THIN, count, number, percent
from labelwise.report.snapshot import Facts
from labelwise.report.tables import pairs, table

TINY = 0.0001  # a surprise below this needs no digits
MOST_NOTES = 200  # that are shown ...
LONG = 400  # ... and characters of each
KERNELS = {
    "rbf": "squared exponential (very smooth)",
    "matern32": "Matérn 3/2 (rough)",
    "matern52": "Matérn 5/2 (fairly smooth)",
    "linear": "linear",
}
NETWORKS = {
    "mlp": "a single neural network",
    "dropout": "a neural network with dropout",
    "ensemble": "an ensemble of{members} neural networks",
    "ensemble-plus": "an ensemble of{members} neural networks with prior functions (Ensemble+)",
    "hypermodel": "a hypermodel, a neural network whose weights depend on a random index",
    "epinet": "a neural network with an epinet",
}


def name_belief(prior: Mapping[str, Any]) -> str:
    """Say what a belief is, from its description."""
    if "own" in prior:
        return f"{count(prior['members'])} resamples of {prior['own'].rpartition(':')[2]}"
    if "draws" in prior:
        return "the draws that were brought"
    if "neural" in prior:
        members = prior["options"].get("members")
        network = NETWORKS.get(prior["neural"], f"a neural network ({prior['neural']})")
        return network.format(members=f" {count(members)}" if members else "")
    binary = "link" in prior
    kind = "Gaussian process classifier" if binary else "Gaussian process"
    if prior["kernel"] == "linear":
        kind = "Bayesian logistic model" if binary else "Bayesian linear model"
    many = len(prior.get("components", ()))
    kinds = f"{kind}es" if kind.endswith("ss") else f"{kind}s"
    mixture = f"a mixture of {count(many)} {kinds} with different hyper-parameters"
    where = " on the last layer of a neural network" if "last_layer" in prior else ""
    return (mixture if many else f"a {kind}") + where


def belief_and_check(facts: Facts) -> list[Markup | None]:
    """Show hyper-parameters, length scales, checks by batch and notes on columns."""
    prior = facts.estimate.belief
    if "own" in prior:
        options = [(name, str(value)) for name, value in prior["options"].items()]
        own = pairs(f"The belief: {name_belief(prior)}", [("path", prior["own"]), *options])
        return [own, _checks(facts.checks), _notes(facts.notes)]
    if "draws" in prior:
        link = "logit" if prior["labels"] == "binary" else None
        own = pairs(f"The belief: {name_belief(prior)}", [_labels(link, prior)])
        return [own, _checks(facts.checks), _notes(facts.notes)]
    rows = _network(prior) if "neural" in prior else _process(prior)
    mean = ("mean", _mean(facts, prior["mean"]))
    shown = pairs(f"The belief: {name_belief(prior)}", [*rows[:2], mean, *rows[2:]])
    scales = None if "neural" in prior else _length_scales(facts)
    return [shown, scales, _checks(facts.checks), beliefs(facts), _notes(facts.notes)]


def _network(prior: Mapping[str, Any]) -> list[tuple[str, str]]:
    options = ", ".join(f"{name} {value}" for name, value in sorted(prior["options"].items()))
    return [
        ("learns from", f"{count(prior['fit_rows'])} labels or more"),
        ("options", options or "the usual ones"),
        ("output scale", f"{number(prior['spread'])} (how far labels stray from that mean)"),
        _labels("logit" if prior["labels"] == "binary" else None, prior),
    ]


def _process(prior: Mapping[str, Any]) -> list[tuple[str, str]]:
    stray = "the function strays" if "link" in prior else "labels stray"
    return [
        ("hyper-parameters", _fitted(prior)),
        ("kernel", KERNELS[prior["kernel"]]),
        ("output scale", f"{_root(prior, 'variance')} (how far {stray} from that mean)"),
        _labels(prior.get("link"), prior),
    ]


def _labels(link: str | None, prior: Mapping[str, Any]) -> tuple[str, str]:
    """0/1 labels have no noise of their own, but a link from the function to a probability."""
    if link is not None:
        return "labels", f"0 or 1, with the {link} of the probability of a 1 as function"
    return "noise", f"{_root(prior, 'noise')} (standard deviation of a repeated label)"


def _fitted(prior: Mapping[str, Any]) -> str:
    if not prior["fitted"]:
        return "given, not fitted"
    fitted = f"fitted to {count(prior['fit_rows'])} labels"
    if "components" not in prior:
        return fitted
    many = count(len(prior["components"]))
    return (
        f"{fitted}; as labels leave them open, the belief is a mixture of {many} fits: "
        "shown are those of the best, and their range over the mixture"
    )


def _root(prior: Mapping[str, Any], name: str) -> str:
    """Write a variance as a standard deviation, with its range over components."""
    roots = [component[name] ** 0.5 for component in prior.get("components", ())]
    best = number(prior[name] ** 0.5)
    return f"{best}, over the mixture {_range(roots)}" if roots else best


def _range(values: Any) -> str:
    return f"{number(float(min(values)))} to {number(float(max(values)))}"


def _mean(facts: Facts, mean: Mapping[str, Any]) -> str:
    if mean["name"] == "constant":
        return f"constant, {number(mean['level'])}"
    if mean["name"] == "predictor":
        return (
            f"{number(mean['intercept'])} plus {number(mean['slope'])} times the encoded "
            f"“{clip(facts.names[mean['column']])}”"
        )
    return "zero"


def _length_scales(facts: Facts) -> Markup:
    prior = facts.estimate.belief
    scales = np.atleast_1d(prior["length_scale"]).astype(float)
    each = [np.atleast_1d(part["length_scale"]) for part in prior.get("components", ())]
    ranges = [_range(column) for column in zip(*each, strict=True)]
    if len(scales) == 1:
        wide = f" (over the mixture {ranges[0]})" if ranges else ""
        shared = f"share one length scale, {number(float(scales[0]))}{wide}."
        return tag("p", f"All {count(len(facts.names))} encoded features {shared}")
    rows = [
        [
            clip(facts.names[place]),
            number(float(scales[place])),
            *ranges[place : place + 1],
            percent(scales.min() / scales[place]),
        ]
        for place in np.argsort(scales, kind="stable")
    ]
    caption = (
        "Length scales, the most relevant feature first: how far one must go along an encoded "
        "feature, in its standard deviations, for labels to change"
    )
    wide = ["over the mixture"] if ranges else []
    heads = ["feature", "length scale", *wide, "relevance (of the largest)"]
    return table(caption, heads, rows)


def _checks(checks: list[Check]) -> Markup:
    if not checks:
        return tag("p", "There is no batch to check the belief against yet.")
    text = (
        "Every batch was predicted before its labels came. About 90 % of labels should fall "
        "into their 90 % intervals, and the score (mean squared standardised error) should be "
        "about 1. The surprise is the probability of labels at least this far off, jointly, if "
        f"the belief is right; below {ALARM:g} they contradict it."
    )
    heads = ["batch", "labels", "inside 90 %", "score", "surprise", "contradicted"]
    rows = [_check(check) for check in checks]
    shown = table("Check by batch", heads, rows, texts=(0, 5), last=True)
    return tag("div", tag("p", text), shown)


def _check(check: Check) -> list[Any]:
    return [
        f"batch {check.round}",
        count(check.labels),
        percent(check.inside),
        number(check.score),
        f"<{THIN}{TINY}" if check.surprise < TINY else number(check.surprise, 2),
        tag("b", "yes") if check.contradicted else "no",
    ]


def _notes(notes: Sequence[str]) -> Markup | None:
    if not notes:
        return None
    items = [tag("li", clip(note, LONG)) for note in notes[:MOST_NOTES]]
    cut = f" (the first {MOST_NOTES} of {count(len(notes))})" if len(notes) > MOST_NOTES else ""
    return tag("div", tag("h3", f"What was decided about columns{cut}"), tag("ul", items))
