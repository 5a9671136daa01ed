"""What can go wrong, as exceptions with the library's own sentences."""

from __future__ import annotations

from typing import List, NamedTuple


class TremoloError(Exception):
    """Any failure. `status` is the library's name for it, such as "BAD_STUDY"."""

    def __init__(self, sentence: str, status: str = "") -> None:
        super().__init__(sentence)
        self.status = status


class InputError(TremoloError, ValueError):
    """An argument, a file, a table or a sample is not what it has to be."""


class Problem(NamedTuple):
    """One thing that is wrong with a study file: where, and why."""

    path: str
    reason: str


class StudyError(InputError):
    """A file is not a study; `problems` lists everything that is wrong with it."""

    def __init__(self, sentence: str, problems: List[Problem]) -> None:
        super().__init__(sentence, "BAD_STUDY")
        self.problems = problems


class PrivacyError(TremoloError):
    """Refused to keep a promise: a budget is spent, a policy says no, a ledger is damaged."""


class SystemFailure(TremoloError, OSError):
    """Storage, network or entropy failed beneath."""


class NumericalError(TremoloError, ArithmeticError):
    """The numbers allow no answer."""
