"""What the suite promises of itself."""

from tests.costs import COLLECTION


def test_collecting_tests_compiles_nothing(meter):
    """In this process, which has collected whatever was asked for."""
    assert meter.costs[COLLECTION].programs == 0, "a test file computes with JAX as it is read"
