"""Arguments, checked before C sees them, with a sentence for each that will not do."""

from __future__ import annotations

from typing import Any, Mapping

from .errors import InputError

__all__ = ["choice", "count", "number"]


def choice(name: str, given: Any, words: Mapping[str, int]) -> int:
    """One of a few words, or a sentence that lists them."""
    if given not in words:
        raise InputError(f"{name} must be one of {', '.join(words)}, not {given!r}")
    return words[given]


def number(name: str, given: Any, low: float, high: float) -> float:
    """A number within its range."""
    if isinstance(given, (bool, str, bytes)):
        raise InputError(f"{name} must be a number, not {given!r}")
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, not {given!r}") from None
    if not low <= value <= high:
        raise InputError(f"{name} must be from {low:g} to {high:g}, not {value:g}")
    return value


def count(name: str, given: Any, low: int, high: int) -> int:
    """A whole number within its range."""
    value = number(name, given, low, high)
    if value != int(value):
        raise InputError(f"{name} must be a whole number, not {given!r}")
    return int(value)
