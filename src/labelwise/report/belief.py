"""What the belief holds, in words, and how it fared against fresh labels."""

from typing import Any

import numpy as np

from labelwise.evaluation.check import ALARM, Check
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
}


def belief_and_check(facts: Facts) -> list[Markup | None]:
    """Hyper-parameters, length scales, checks by batch, notes on columns."""
    if "neural" in facts.estimate.belief:
        return [_network(facts), _checks(facts.checks), _notes(facts)]
    return [_parameters(facts), _length_scales(facts), _checks(facts.checks), _notes(facts)]


def _network(facts: Facts) -> Markup:
    prior = facts.estimate.belief
    chosen = ", ".join(f"{name} {value}" for name, value in sorted(prior["options"].items()))
    labels = ("labels", "0 or 1, with the logit of the chance of a 1 as function")
    if prior["labels"] == "regression":
        noise = number(prior["noise"] ** 0.5)
        labels = ("noise", f"{noise} (standard deviation of a repeated label)")
    return pairs(
        f"The belief: a neural network ({prior['neural']})",
        [
            ("learns from", f"{count(prior['fit_rows'])} labels or more"),
            ("options", chosen or "the usual ones"),
            ("mean", _mean(facts, prior["mean"])),
            (
                "output scale",
                f"{number(prior['spread'])} (how far labels stray from that mean)",
            ),
            labels,
        ],
    )


def _parameters(facts: Facts) -> Markup:
    prior = facts.estimate.belief
    mixed = "components" in prior
    kind = "a mixture of Gaussian processes" if mixed else "a Gaussian process"
    layer = " on the last layer of a network" if "last_layer" in prior else ""
    return pairs(
        f"The belief: {kind}{layer}",
        [
            ("hyper-parameters", _fitted(prior)),
            ("kernel", KERNELS.get(prior["kernel"], prior["kernel"])),
            ("mean", _mean(facts, prior["mean"])),
            ("output scale", f"{_root(prior, 'variance')} ({_stray(prior)})"),
            _noise(prior),
        ],
    )


def _fitted(prior: dict[str, Any]) -> str:
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


def _root(prior: dict[str, Any], name: str) -> str:
    """A variance as a standard deviation, with its range over components."""
    roots = [one[name] ** 0.5 for one in prior.get("components", ())]
    best = number(prior[name] ** 0.5)
    return f"{best}, over the mixture {_range(roots)}" if roots else best


def _range(values: Any) -> str:
    return f"{number(float(min(values)))} to {number(float(max(values)))}"


def _stray(prior: dict[str, Any]) -> str:
    what = "the function strays" if "link" in prior else "labels stray"
    return f"how far {what} from that mean"


def _noise(prior: dict[str, Any]) -> tuple[str, str]:
    """0/1 labels have no noise of their own, but a link from the function to their chance."""
    if "link" in prior:
        return "labels", f"0 or 1, with the {prior['link']} of the chance of a 1 as function"
    return "noise", f"{_root(prior, 'noise')} (standard deviation of a repeated label)"


def _mean(facts: Facts, mean: dict[str, Any]) -> str:
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
    others = [np.atleast_1d(one["length_scale"]) for one in prior.get("components", ())]
    ranges = [_range(column) for column in zip(*others, strict=True)]
    if len(scales) == 1:
        wide = f" (over the mixture {ranges[0]})" if ranges else ""
        shared = f"share one length scale, {number(float(scales[0]))}{wide}."
        return tag("p", f"All {count(len(facts.names))} encoded features {shared}")
    order = np.argsort(scales, kind="stable")
    relevance = scales.min() / scales
    rows = [
        [
            clip(facts.names[place]),
            number(float(scales[place])),
            *ranges[place : place + 1],
            percent(relevance[place]),
        ]
        for place in order
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
        "about 1. The surprise is the chance of labels at least this far off, jointly, if the "
        f"belief is right; below {ALARM:g} they contradict it."
    )
    heads = ["batch", "labels", "inside 90 %", "score", "surprise", "contradicted"]
    rows = [_check(one) for one in checks]
    found = table("Check by batch", heads, rows, texts=(0, 5), last=True)
    return tag("div", tag("p", text), found)


def _check(check: Check) -> list[Any]:
    tiny = check.surprise < TINY
    return [
        f"batch {check.round}",
        count(check.labels),
        percent(check.inside),
        number(check.score),
        f"<{THIN}{TINY}" if tiny else number(check.surprise, 2),
        tag("b", "yes") if check.contradicted else "no",
    ]


def _notes(facts: Facts) -> Markup | None:
    if not facts.notes:
        return None
    notes = facts.notes
    items = [tag("li", clip(note, LONG)) for note in notes[:MOST_NOTES]]
    rest = (
        f" (the first {MOST_NOTES} of {count(len(notes))})" if len(notes) > MOST_NOTES else ""
    )
    return tag("div", tag("h3", f"What was decided about columns{rest}"), tag("ul", items))
