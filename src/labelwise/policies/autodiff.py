"""Smoothed-Autodiff: pathwise gradients through a soft batch and a soft posterior update.

The draw of a batch is relaxed to weights, the belief is conditioned on weighted labels, and
the variance of the estimand is differentiated through both.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 5.
"""

import equinox as eqx

from labelwise.lookahead.relaxation import EVEN, Relaxation
from labelwise.policies.optimise import AbstractGradientPlanner, Training
from labelwise.policies.pathwise import Pathwise


class SmoothedAutodiff(AbstractGradientPlanner):
    """Logits improved by gradients through soft batches. [1]

    `relaxation` says what a label that counts in part tells: "letter" is the paper's, the
    default is better [docs/mathematics.md, "Relaxations"]. Networks have their own: the weight
    stands in their loss.

    Pending labels count by the certainty that they will bring: planning is for the variance
    around the present mean, given them. That they will also move the mean is left out.
    """

    training: Training = Training()
    temperature: float = eqx.field(default=0.1, static=True)
    sparse: bool = eqx.field(default=True, static=True)  # condition on the heaviest rows only
    relaxation: Relaxation = eqx.field(default=EVEN, static=True)
    # Average the directions of roll-outs, not their gradients. None: for networks.
    directions: bool | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        self.estimator.check()

    @property
    def estimator(self) -> Pathwise:
        return Pathwise(self.temperature, self.relaxation, self.sparse, self.directions)
