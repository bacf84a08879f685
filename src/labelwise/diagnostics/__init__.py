"""Can a belief be trusted? Its log-loss, marginal and joint, its calibration, its learning."""

from labelwise.diagnostics.bundles import (
    draw_distinct,
    draw_dyads,
    draw_uniform,
    fresh_labels,
    one_by_one,
)
from labelwise.diagnostics.calibration import (
    Reliability,
    held_levels,
    label_draws,
    label_ranks,
    mean_label_rank,
    reliability,
)
from labelwise.diagnostics.contest import Contest, Standing, hold_contest
from labelwise.diagnostics.dynamic import Labelling, Update, prequential_losses, score_update
from labelwise.diagnostics.gaussian import GaussianMoments, gaussian_losses
from labelwise.diagnostics.log_loss import (
    LogLoss,
    dyad_losses,
    expected_dyad_losses,
    log_mean_exp,
    sampled_losses,
)
from labelwise.diagnostics.scores import label_log_probs, score, score_dyads
from labelwise.diagnostics.splits import (
    ClusterSplits,
    Sizes,
    Split,
    linear_split,
    split_clusters,
)

__all__ = [
    "ClusterSplits",
    "Contest",
    "GaussianMoments",
    "Labelling",
    "LogLoss",
    "Reliability",
    "Sizes",
    "Split",
    "Standing",
    "Update",
    "draw_distinct",
    "draw_dyads",
    "draw_uniform",
    "dyad_losses",
    "expected_dyad_losses",
    "fresh_labels",
    "gaussian_losses",
    "held_levels",
    "hold_contest",
    "label_draws",
    "label_log_probs",
    "label_ranks",
    "linear_split",
    "log_mean_exp",
    "mean_label_rank",
    "one_by_one",
    "prequential_losses",
    "reliability",
    "sampled_losses",
    "score",
    "score_dyads",
    "score_update",
    "split_clusters",
]
