"""What a treatment does: the mean of f(x, 1) - f(x, 0) over the target. [1]

The treatment is one column of the features, 0 or 1. Each target unit enters twice, once under
each treatment, so the effect is linear in the function: exact under a Gaussian process.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 3.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from labelwise.errors import InvalidInput
from labelwise.estimands.base import LinearEstimand
from labelwise.estimands.target import as_target
from labelwise.inputs import as_count


class AverageTreatmentEffect(LinearEstimand):
    """The mean difference that the treatment in `column` makes, over the target.

    `where` restricts it to some units: to those who were treated, for the effect on the
    treated, or to a subgroup. What the column of `x` holds does not matter.
    """

    def __init__(self, x: Any, column: Any, mass: Any = None, where: Any = None):
        x, mass = as_target(x, mass, where)
        self.x = jnp.concatenate([with_treatment(x, column, arm) for arm in (1.0, 0.0)])
        self.mass = jnp.concatenate([mass, mass]) / 2.0
        self.slope = jnp.concatenate([mass, -mass])
        self.offset = jnp.zeros(())


def with_treatment(
    x: Float[Array, "n dim"], column: Any, treatment: Any
) -> Float[Array, "n dim"]:
    """The rows with another treatment."""
    column = as_count("treatment column", column, least=-x.shape[1])
    if column >= x.shape[1]:
        raise InvalidInput(
            f"The treatment is said to be in column {column}, but the rows have {x.shape[1]} "
            "features",
            "columns are numbered from 0",
            where="treatment column",
        )
    return x.at[:, column].set(treatment)
