"""A metric of one's own, for `labelwise new … --estimand my_metrics:pinball`."""

import jax.numpy as jnp

import labelwise as lw


@lw.estimands.metric(better="lower", range=(0.0, None))
def pinball(y, prediction):
    """Pinball loss at 0.9"""
    away = y - prediction
    return jnp.maximum(0.9 * away, -0.1 * away)


if __name__ == "__main__":
    print("a label of 3 that was predicted to be 2 costs", pinball(3.0, 2.0))
