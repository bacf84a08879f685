"""What a model's output tells of labels before there are any, as many tables have it.

The function is expected to be a line in the model's own output (of 0/1 labels, in its
log-odds), roughly the output itself, beside a Gaussian process for what the model has missed:

    f(x) = g(x) + centre + a + b · (output(x) - centre)

Models come in two kinds: most are roughly right, some are not, and of these the line is less
certain and the process larger. And a few say the opposite of what they mean, such as the chance
of the other class: of these all this holds with the output turned round. How far off models may
be was learnt from the tables of a corpus, with models that are good, miscalibrated, useless and
reversed: see docs/beliefs.md.
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
    turned: float = 0.0  # share of models that say the opposite


# Beside what was learnt, the line's factor varies within a kind: with this spread its law is
# much like Student's with 3 degrees of freedom: a model may be far better or worse than most.
HEAVY = 0.48

CLASSES = LearntPrior(
    slope=0.79,
    slope_spread=0.35,
    level_spread=0.21,
    length_scale=(1.4, 0.85),
    kinds=(
        ModelKind(share=0.73, variance=(0.42, 0.96), line=(1.0, HEAVY)),
        ModelKind(share=0.27, variance=(8.8, 0.95), line=(2.4, HEAVY)),
    ),
    turned=0.02,
)
NUMBERS = LearntPrior(
    slope=0.81,
    slope_spread=0.27,
    level_spread=0.10,
    length_scale=(1.5, 1.0),
    kinds=(
        ModelKind(share=0.64, variance=(0.14, 0.83), line=(1.0, HEAVY), noise=(0.61, 0.32)),
        ModelKind(share=0.36, variance=(0.34, 1.34), line=(2.2, HEAVY), noise=(0.15, 0.94)),
    ),
)
