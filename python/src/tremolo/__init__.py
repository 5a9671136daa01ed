"""Private linear regression from devices that each hold one sample.

    import tremolo

    tremolo.plan(dimension=3, devices=50_000, epsilon=2)      # is it worth asking?
    result = tremolo.simulate(frame, response="pulse", epsilon=2)
    print(result.summary())                                    # the text that the command prints
    tremolo.fit("https://example.org/v1/studies/...")          # what a server's reports say

Everything is computed by the library that the `tremolo` command is made of; results are the
one document that the command, the server and the dashboard read and write. Whatever is promised
says between whom, of what, and over how many releases.
"""

from __future__ import annotations

from typing import Any

from . import account
from .device import Device, Receipt
from .errors import (
    InputError,
    NumericalError,
    PrivacyError,
    Problem,
    StudyError,
    SystemFailure,
    TremoloError,
)
from .fitting import fit
from .guarantee import Guarantee, explain
from .planning import Plan, plan
from .result import Result
from .server import Server
from .simulation import simulate
from .study import Feature, Study

__all__ = [
    "Device",
    "Feature",
    "Guarantee",
    "InputError",
    "NumericalError",
    "Plan",
    "PrivacyError",
    "PrivateLinearRegression",
    "Problem",
    "Receipt",
    "Result",
    "Server",
    "Study",
    "StudyError",
    "SystemFailure",
    "TremoloError",
    "account",
    "explain",
    "fit",
    "plan",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """scikit-learn is loaded with the one thing that needs it."""
    if name == "PrivateLinearRegression":
        from .estimator import PrivateLinearRegression

        return PrivateLinearRegression
    raise AttributeError(f"module 'tremolo' has no attribute {name!r}")
