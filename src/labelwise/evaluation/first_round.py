"""The first round of a start from nothing: rows spread evenly over what the model says.

Before any label, the model's output is all that tells rows apart, and whether it is right is
what labels must tell first. Rows drawn one by one may all have outputs alike; these do not.
"""

from typing import TYPE_CHECKING

import numpy as np

from labelwise.policies.stratified import spread_evenly
from labelwise.types import Batch

if TYPE_CHECKING:
    from labelwise.evaluation.evaluation import Evaluation


def drawn_together(evaluation: "Evaluation", batch: Batch) -> tuple[Batch, bool]:
    """The batch, in a first round without labels drawn anew; and whether it was."""
    output = _output(evaluation)
    if output is None or not bool(np.asarray(batch.drawn).all()):
        return batch, False
    rng = np.random.default_rng([evaluation.spec.seed, 7])
    return spread_evenly(rng, batch, output, evaluation.survey.floor), True


def _output(evaluation: "Evaluation") -> np.ndarray | None:
    """What the model says of pool rows, if that is what a first round goes by."""
    state, arrays, spec = evaluation.state, evaluation.arrays, evaluation.spec
    begun = state.round or state.closed or len(arrays.labels)
    # Where money or treatments decide too, or all rows are alike, draws stay apart.
    other = evaluation.spending is not None or arrays.chance is not None
    if begun or other or spec.sampling.policy["name"] == "random":
        return None
    output = arrays.pool_predictions.get(spec.columns.prediction or "")
    if output is None or np.isnan(output).any():
        return None
    return output if output.ndim == 1 else output.max(axis=1)  # of classes, how sure it is
