"""What can go wrong, by who can mend it. Every message says what, where, and what to do.

An error carries these three as fields, so that a program can act on them and a test need not
know the sentence: the sentence is made from them, in one way.
"""

import re

LONG = 500  # characters of a part of a sentence
UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def in_one_line(text: str) -> str:
    """Text that fits a line whatever it quotes: long ones are cut in the middle."""
    shown = text.encode("utf-8", "backslashreplace").decode()
    shown = UNSHOWN.sub(" ", shown)
    if len(shown) <= LONG:
        return shown
    return f"{shown[: LONG // 2]} … {shown[-LONG // 2 :]}"


class LabelwiseError(Exception):
    """Anything Labelwise raises on purpose.

    `what` is wrong, `where` (the argument, `table.column`, option or file at fault; empty if it
    is nowhere in particular), and the `remedy`. Its text is "what; remedy."
    """

    def __init__(self, what: str, remedy: str = "", *, where: str = ""):
        what, remedy = in_one_line(what), in_one_line(remedy)
        super().__init__(what, remedy)
        self.what, self.where, self.remedy = what, where, remedy
        whole = f"{what}; {remedy}" if remedy else what
        self.sentence = whole if whole.endswith("?") else f"{whole}."

    @classmethod
    def must(cls, where: str, rule: str, fact: str, *, name: str = "") -> "LabelwiseError":
        """Say that "`where` must `rule`; `fact`", as of `k`, "be positive", "it is 0".

        The sentence may call the place by another `name`.
        """
        error = cls(f"{name or where} must {rule}", fact, where=where)
        error.what, error.remedy = in_one_line(fact), in_one_line(f"must {rule}")
        return error

    def __str__(self) -> str:
        return self.sentence


class InvalidInput(LabelwiseError, ValueError):
    """What the caller gave cannot be used; the message names it and the remedy."""


class NumericalError(LabelwiseError, ArithmeticError):
    """The computation broke down on input that looked usable."""


class StoreError(LabelwiseError):
    """A campaign's files cannot be read or written: damaged, locked, or the disk is full."""
