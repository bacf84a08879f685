"""Metrics as users write them: functions of labels and predictions in a module of their own."""

import jax.numpy as jnp
import numpy as np

import labelwise as lw

HIGH = 0.9


@lw.estimands.metric(better="lower", range=(0.0, None))
def pinball(y, prediction):
    """Pinball loss at 0.9.

    What a forecast of the upper decile is held to.
    """
    away = y - prediction
    return jnp.maximum(HIGH * away, (HIGH - 1.0) * away)


def squared(y, prediction):
    return (y - prediction) ** 2


@lw.estimands.metric(title="squared, declared", better="lower", range=(0.0, None), degree=2)
def declared(y, prediction):
    return (y - prediction) ** 2


def total(y, prediction):
    return ((y - prediction) ** 2).sum()


def inverse(y, prediction):
    return 1.0 / (y * (y - prediction) * 0.0)


def numpys(y, prediction):
    return np.maximum(y, prediction)


number = 3.0


def rooted(y, prediction):
    return (y + 20.0) ** 0.5 - prediction
