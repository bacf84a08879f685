"""What can go wrong, by who can mend it. Every message says what, where, and what to do."""


class LabelwiseError(Exception):
    """Anything Labelwise raises on purpose."""


class InvalidInput(LabelwiseError, ValueError):
    """What the caller gave cannot be used; the message names it and the remedy."""


class NumericalError(LabelwiseError, ArithmeticError):
    """The computation broke down on input that looked usable."""


class StoreError(LabelwiseError):
    """A campaign's files cannot be read or written: damaged, locked, or the disk is full."""
