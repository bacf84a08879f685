"""What the suite promises of itself."""

from tests.costs import COLLECTION


def test_collecting_tests_compiles_nothing(meter):
    """In this process, which has collected whatever was asked for."""
    assert meter.costs[COLLECTION].programs == 0, "a test file computes with JAX as it is read"


def test_errors_are_planted_in_copies_alone():
    """A file that is only linked is the one that people work on."""
    from tests.planted import COPIED, read_errors

    assert {error.file.split("/")[0] for error in read_errors()} <= set(COPIED)
