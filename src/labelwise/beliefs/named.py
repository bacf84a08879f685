"""Beliefs by name: their options made complete, and what labels make of them.

Networks are slow to load: what needs them asks for them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelwise.beliefs.fields import check_known
from labelwise.beliefs.fit_mixture import COMPONENTS, MixtureFit, fit_mixture
from labelwise.beliefs.kernels import check_kernel
from labelwise.errors import InvalidInput
from labelwise.inputs import as_count, as_matrix, as_vector
from labelwise.likelihoods import BernoulliLikelihood
from labelwise.names import CLASSIFIER, DRAWS, LAST_LAYER, NEURAL, check_belief
from labelwise.own_code import absolute, is_path
from labelwise.runtime import single_threaded

# Of a process, where a model's output is at hand. Campaigns of before there was a choice have
# the weak one.
PRIORS = LEARNT, WEAK = ("learnt", "weak")
MEMBERS = 30  # of an ensemble: enough for a spread, and learnt in seconds
FEW_FEATURES = 60  # up to here every feature has its own length scale
# Of the network whose last layer becomes Bayesian.
FEATURES: dict[str, Any] = {"hidden": (50, 50), "activation": "tanh"}
# What is known of the rows, rather than chosen.
ABOUT_ROWS = {
    "gp": ("spread", "output"),
    CLASSIFIER: ("spread", "output"),
    LAST_LAYER: ("population",),
}


@single_threaded
def fit(
    x: Any,
    y: Any,
    belief: str = "auto",
    *,
    predictor_column: int | None = None,
    seed: int = 0,
    **options: Any,
) -> Any:
    """A belief that has learnt from these labels: ready to plan, estimate and draw with.

    `belief` is "gp", "gp-classifier", "last-layer", "ensemble-plus" or another network; "auto"
    is a classifier if all labels are 0 or 1, and else a Gaussian process. These two are
    mixtures over the hyper-parameters that the labels allow; with `components=1`, the best
    alone. `predictor_column` is where a model's output stands in x: the prior mean is a line
    in it. Options are those of the belief, as in campaigns (kernel, components, starts, link;
    members, steps, ...), and what is known of the population: of processes the `spread` of
    each feature, and the model's `output` in the labels' unit (`ModelOutput`), from which the
    learnt prior follows; of a last layer the rows of the `population`.
    """
    x = as_matrix("x", x)
    y = as_vector("y", y, x.shape[0], "x")
    binary = are_binary(y)
    name = find_name(belief, binary)
    about = [key for key in ABOUT_ROWS.get(name, ()) if key in options]
    known = {key: options.pop(key) for key in about}
    checked = check_options(name, options, x.shape[1], binary)
    fitted = fit_named(name, checked, x, y, predictor_column, seed, **known)
    if is_path(name):
        return fitted.build(fitted.describe()).condition(x, y)
    if name in (*NEURAL, DRAWS):
        return fitted.build().condition(x, y)
    if isinstance(fitted, MixtureFit) and fitted.prior.size == 1:
        return fitted.best.posterior
    return fitted.posterior


def fit_named(
    name: str,
    options: Mapping[str, Any],
    x: Any,
    y: Any,
    predictor_column: int | None = None,
    seed: int = 0,
    *,
    start: Sequence[float] | None = None,
    **known: Any,
) -> Any:
    """A belief's prior, fitted; its options are complete. It may `start` where one ended."""
    own = {key: value for key, value in options.items() if key != "name"}
    if is_path(name):
        from labelwise.beliefs.bootstrap import fit_bootstrap

        return fit_bootstrap(name, own, x, y, seed)
    if name == DRAWS:
        from labelwise.beliefs.brought import fit_draws

        return fit_draws(own, x, y)
    if name in NEURAL:
        from labelwise.beliefs.neural.fitting import fit_neural

        return fit_neural(name, x, y, predictor_column=predictor_column, seed=seed, **own)
    if name == LAST_LAYER:
        from labelwise.beliefs.neural.last_layer import fit_last_layer

        link = "logit" if own.pop("labels") == "binary" else None
        return fit_last_layer(x, y, link=link, seed=seed, **own, **known)
    if own.get("prior", WEAK) == WEAK or predictor_column is None:
        known.pop("output", None)
    return fit_mixture(
        x,
        y,
        components=own["components"],
        kernel=own["kernel"],
        link=own["link"] if name == CLASSIFIER else None,
        starts=own["starts"],
        mean="constant" if predictor_column is None else "predictor",
        predictor_column=predictor_column,
        per_feature=np.shape(x)[1] <= FEW_FEATURES,
        start=start,
        seed=seed,
        **known,
    )


def find_name(belief: Any, binary: bool) -> str:
    """The name of a belief, with "auto" decided."""
    if belief == "auto":
        return CLASSIFIER if binary else "gp"
    check_belief(belief)
    return absolute(belief) if is_path(belief) else belief


def check_options(
    name: str, given: Mapping[str, Any], features: int, binary: bool
) -> dict[str, Any]:
    """All options of a belief, those not given as they usually are."""
    kind = {"labels": "binary" if binary else "regression"}
    if is_path(name):
        from labelwise.beliefs.bootstrap import check_model

        return check_model(name, given, binary)
    if name == DRAWS:
        from labelwise.beliefs.brought import check_draws

        return check_draws(given, features, binary)
    if name in NEURAL:
        usual = {"members": MEMBERS} if name.startswith("ensemble") else {}
        chosen = {**usual, **given, **kind}
        _check_network(name, features, chosen)
        return chosen
    if name == LAST_LAYER:
        own = {"kernel": "linear", "components": COMPONENTS}
        network = {key: value for key, value in {**FEATURES, **given}.items() if key not in own}
        _check_network("mlp", features, network)
        return _checked({**own, **FEATURES, **given, **kind})
    usual = {"kernel": "matern52", "starts": 2, "components": COMPONENTS}
    usual |= {"link": "logit"} if name == CLASSIFIER else {}
    # What the corpus has taught of models' outputs it has taught of their log-odds.
    usual["prior"] = WEAK if given.get("link") == "probit" else LEARNT
    check_known("The belief", given, usual)
    return _checked({**usual, **given})


def _check_network(name: str, features: int, options: Mapping[str, Any]) -> None:
    from labelwise.beliefs.neural.registry import neural_belief

    neural_belief(name, features, **options)  # refuses what does not exist, or is wrong


def _checked(chosen: dict[str, Any]) -> dict[str, Any]:
    check_kernel(chosen["kernel"])
    if chosen.get("prior", WEAK) not in PRIORS:
        raise InvalidInput.must(
            "prior", f"be {' or '.join(PRIORS)}", f"it is {chosen['prior']!r}"
        )
    if chosen.get("prior") == LEARNT and chosen.get("link") == "probit":
        raise InvalidInput(
            "The learnt prior is about log-odds",
            "choose link='logit' or prior='weak'",
            where="prior",
        )
    if "link" in chosen:
        BernoulliLikelihood(chosen["link"])  # refuses an unknown one
    counts = [key for key in ("starts", "components") if key in chosen]
    return chosen | {key: as_count(key, chosen[key]) for key in counts}


def are_binary(labels: Any) -> bool:
    """Whether all labels are 0 or 1."""
    return bool(np.isin(np.asarray(labels, float), [0.0, 1.0]).all())
