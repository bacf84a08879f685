"""How a label counts in part: relaxations of "seen or not" for gradients to follow.

A relaxation says which noisy reading of the function a label of weight a amounts to, and how
that reading is imagined. At weights 0 and 1 all are the same; between them they differ, and so
do the gradients. With V the row's variance now, k before any label and σ² a label's noise:

    "letter"     gain a,    noise (1 - a²) k + σ²,  a full label imagined: Algorithm 3 [1]
    "centred"    the same, but a label at the present mean is no surprise
    "matched"    the same reading, imagined with its own noise: the mean moves by V - V_a
    "precision"  gain √a,   noise σ²,               the label scaled by √a
    "even"       gain a^¼,  noise (1 - √a) V + σ²,  imagined with its own noise

Under the first two the imagined mean moves further than the covariance falls, so that labels in
part look worse than none. Under "even" what a row gains alone, of a squared error, grows in
proportion to its weight. See docs/mathematics.md, "Relaxations".

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling.
"""

from typing import Literal, cast, get_args

import jax.numpy as jnp
from jaxtyping import Array, Float

from labelwise.beliefs.base import (
    AbstractEmbedding,
    AbstractGaussianBelief,
    AbstractLatentBelief,
    Reading,
)
from labelwise.numerics import add_diagonal, cholesky, safe_root, symmetrise

Relaxation = Literal["letter", "centred", "matched", "precision", "even"]
RELAXATIONS: tuple[str, ...] = get_args(Relaxation)
EVEN: Relaxation = "even"
MATCHED: tuple[Relaxation, ...] = ("matched", "even")  # whose readings are imagined as they are


def relax(
    belief: AbstractLatentBelief,
    rows: AbstractEmbedding,
    weight: Float[Array, " n"],
    noise: Float[Array, " n"],
    relaxation: Relaxation,
) -> Reading:
    """What a label of this weight amounts to at each row."""
    if relaxation == "precision":
        root = safe_root(weight)
        return Reading(root, noise, root)
    if relaxation == "even":
        root = safe_root(weight)
        gain = safe_root(root)
        return Reading(gain, (1.0 - root) * belief.variance_at(rows) + noise, gain)
    prior = belief.prior_variance_at(rows)
    return Reading(weight, (1.0 - weight**2) * prior + noise, jnp.ones_like(weight))


def unexpected(
    belief: AbstractLatentBelief,
    rows: AbstractEmbedding,
    reading: Reading,
    relaxation: Relaxation,
) -> Float[Array, " n"]:
    """Mean of the surprises that imagined labels bring: to the letter it is not zero."""
    if relaxation != "letter":
        return jnp.zeros_like(reading.gain)
    shift = cast(AbstractGaussianBelief, belief).shift_at(rows)
    return (reading.label_scale - reading.gain) * shift


def imagined_root(
    reading: Reading,
    covariance: Float[Array, "n n"],
    noise: Float[Array, " n"],
    factor: Float[Array, "n n"],
    relaxation: Relaxation,
) -> Float[Array, "n n"]:
    """A root of the surprises' covariance: the readings' own, or that of full labels scaled."""
    if relaxation in MATCHED:
        return factor
    labels = cholesky(symmetrise(add_diagonal(covariance, noise)))
    return reading.label_scale[:, None] * labels
