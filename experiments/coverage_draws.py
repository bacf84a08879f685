"""What a campaign of the coverage study starts from."""

from dataclasses import dataclass

import numpy as np

INITIAL, POOL = 60, 500  # rows labelled at first, and rows that may be labelled


@dataclass(frozen=True)
class Drawn:
    """Initial labels from one corner of the data, and a pool that is the target too."""

    x: np.ndarray  # (initial, features), standardised over the population
    y: np.ndarray
    pool_x: np.ndarray  # (pool, features)
    pool_y: np.ndarray  # hidden from the campaign until asked
    initial_prediction: np.ndarray
    pool_prediction: np.ndarray  # the predictor's output: the chance of a 1, or a number
