"""An evaluation matrix that is nearly of low rank, as results of models on items are.

Items have a difficulty and two skills that they ask for, models an ability and two skills of
their own; a result is right with the logistic chance of ability and skills less difficulty,
times a sharpness: most results follow from row and model, some are chance. Four factors keep
about three quarters of the results' variance.
"""

import numpy as np

ROWS, MODELS = 1000, 40
STEEP = 3.0  # how far apart easy and hard items are, as models' abilities are by 1
SHARP = 2.0  # in log-odds


def evaluation_matrix(
    seed: int, rows: int = ROWS, models: int = MODELS
) -> tuple[np.ndarray, np.ndarray]:
    """Results of other models, rows × models, and of the one that is to be known."""
    rng = np.random.default_rng([seed, 11])
    difficulty = STEEP * rng.normal(size=(rows, 1))
    skills = rng.normal(size=(rows, 2))
    ability = rng.normal(0.5, 1.0, size=models + 1)
    own = rng.normal(size=(2, models + 1))
    chance = 1.0 / (1.0 + np.exp(SHARP * (difficulty - ability - skills @ own)))
    results = (rng.random(chance.shape) < chance).astype(float)
    return results[:, :-1], results[:, -1]
