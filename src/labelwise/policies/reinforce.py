"""REINFORCE: score-function gradients of the variance that a drawn batch leaves.

Hard batches are drawn from the logits, each is scored by the variance of the estimand after
it, and logits move towards batches that score better than the others.

[1] Mittal, Ma, Joshi, Namkoong, A Planning Framework for Adaptive Labeling, section 5.
"""

import equinox as eqx

from labelwise.policies.optimise import AbstractGradientPlanner, Training
from labelwise.policies.score_function import LogProb, ScoreFunction


class Reinforce(AbstractGradientPlanner):
    """Logits improved by score-function gradients. [1]

    The default has a leave-one-out baseline and the log-probability of the set;
    `baseline=False` is the paper's, `log_prob="sequence"` besides is its code's.

    Pending labels count by the certainty that they will bring: planning is for the variance
    around the present mean, given them. That they will also move the mean is left out.
    """

    training: Training = Training()
    baseline: bool = eqx.field(default=True, static=True)
    log_prob: LogProb = eqx.field(default="set", static=True)

    def __check_init__(self):
        self.estimator.check_rollouts(self.training.rollouts)

    @property
    def estimator(self) -> ScoreFunction:
        return ScoreFunction(self.baseline, self.log_prob)
