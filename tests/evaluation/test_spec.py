"""The parts of a specification: one default a setting, and stored ones read back."""

from labelwise.evaluation import spec
from labelwise.policies import draw


def test_the_usual_floor_is_that_of_draws():
    """The parts load without JAX, so the number stands there too."""
    assert spec.FLOOR == draw.FLOOR == spec.Sampling().floor
