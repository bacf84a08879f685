"""What a model's output tells of labels before there are any, as many tables have it.

The function is expected to be a line in the model's own output (of 0/1 labels, in its
log-odds), roughly the output itself, beside a Gaussian process for what the model has missed:

    f(x) = g(x) + centre + a + b · (output(x) - centre)

Models come in two kinds: most are roughly right, some are not, and of these the line is less
certain and the process larger. How far off either may be was learnt from the tables of a
corpus, with models that are good, miscalibrated, useless and reversed: see docs/beliefs.md.
"""

from typing import NamedTuple

Law = tuple[float, float]  # of a positive number: its median, and its spread in log units


class ModelKind(NamedTuple):
    """Models of one kind; variances are in units of the labels' variance, of 0/1 labels 1."""

    share: float
    variance: Law  # of the process
    line: Law  # times how far off the line may be
    noise: Law | None = None  # of numbers


class LearntPrior(NamedTuple):
    """How models' outputs and labels hang together."""

    slope: float  # expected of the line
    slope_spread: float  # standard deviation of the slope ...
    level_spread: float  # ... and of the level at the middle of the output, in the labels' unit
    length_scale: Law  # times a feature's spread and the root of the number of features
    kinds: tuple[ModelKind, ...]  # the most frequent first


CLASSES = LearntPrior(
    slope=0.77,
    slope_spread=0.41,
    level_spread=0.25,
    length_scale=(1.5, 0.9),
    kinds=(
        ModelKind(share=0.76, variance=(0.43, 1.05), line=(1.0, 0.48)),
        ModelKind(share=0.24, variance=(10.0, 0.9), line=(2.3, 0.48)),
    ),
)
NUMBERS = LearntPrior(
    slope=0.81,
    slope_spread=0.34,
    level_spread=0.13,
    length_scale=(1.7, 1.0),
    kinds=(
        ModelKind(share=0.59, variance=(0.10, 1.26), line=(1.0, 0.48), noise=(0.65, 0.27)),
        ModelKind(share=0.41, variance=(0.39, 1.38), line=(2.1, 0.48), noise=(0.16, 1.0)),
    ),
)
