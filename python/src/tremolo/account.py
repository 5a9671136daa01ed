"""What releases cost: certified numbers, each with a lower and an upper bound.

A number to be promised is `upper`, which is also what `float()` gives: rounding never
promises too much.

>>> from tremolo import account
>>> round(float(account.epsilon(sigma=4, sensitivity=1, releases=40, delta=1e-9)), 3)
10.321
>>> round(float(account.sigma(epsilon=1, delta=1e-5)), 3)
3.731
>>> account.epsilon(ballot=2.0, releases=1).upper <= 2.0
True
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from ._arguments import count
from ._library import check, ffi, lib
from .errors import InputError

__all__ = ["Certified", "epsilon", "delta", "sigma", "attack"]


class Certified(NamedTuple):
    """A number that is proved to lie between `lower` and `upper`."""

    lower: float
    value: float
    upper: float

    def __float__(self) -> float:
        return self.upper


def _certified(held: Any) -> Certified:
    return Certified(held.lower, held.value, held.upper)


def _gaussian(sigma: Optional[float], sensitivity: float, releases: int) -> Any:
    cost = ffi.new("struct tremolo_gaussian *")
    if sigma is not None:
        check(lib.tremolo_gaussian_add(cost, sensitivity, sigma, count("releases", releases, 1, 10**9)))
    return cost


def _ballots(ballot: Optional[float], releases: int) -> Any:
    if ballot is None:
        return ffi.NULL
    law = ffi.new("struct tremolo_rank_law *")
    check(lib.tremolo_rank_law_for(law, ballot))
    ballots = ffi.new("struct tremolo_ballots *")
    ballots.law, ballots.count = law[0], count("releases", releases, 1, 10**9)
    return ballots


def _one_of(sigma: Optional[float], ballot: Optional[float]) -> None:
    if (sigma is None) == (ballot is None):
        raise InputError("give sigma, of noisy samples, or ballot, the epsilon of each ballot")


def epsilon(
    *,
    sigma: Optional[float] = None,
    ballot: Optional[float] = None,
    sensitivity: float = 1.0,
    releases: int = 1,
    delta: Optional[float] = None,
) -> Certified:
    """The smallest epsilon that releases of one device cost together.

    Either `sigma`, the noise of Gaussian releases with this l2 `sensitivity`, at `delta` (1e-5
    unless given); or `ballot`, the epsilon of each of so many ballots, at delta 0 unless given.
    """
    _one_of(sigma, ballot)
    mixture = ffi.new("struct tremolo_mixture_cost *")
    at = delta if delta is not None else (0.0 if sigma is None else 1e-5)
    ballots = _ballots(ballot, releases)
    check(lib.tremolo_mixture_epsilon(mixture, ballots, _gaussian(sigma, sensitivity, releases), at))
    return _certified(mixture.exact)


def delta(
    epsilon: float,
    *,
    sigma: Optional[float] = None,
    ballot: Optional[float] = None,
    sensitivity: float = 1.0,
    releases: int = 1,
) -> Certified:
    """The smallest delta at which the releases keep this epsilon."""
    _one_of(sigma, ballot)
    answer = ffi.new("struct tremolo_certified *")
    ballots = _ballots(ballot, releases)
    check(lib.tremolo_mixture_delta(answer, ballots, _gaussian(sigma, sensitivity, releases), epsilon))
    return _certified(answer)


_RULES = {
    "exact": lib.TREMOLO_RULE_EXACT,
    "zcdp": lib.TREMOLO_RULE_ZCDP,
    "classical": lib.TREMOLO_RULE_CLASSICAL,
}


def sigma(
    epsilon: float,
    delta: float = 1e-5,
    *,
    sensitivity: float = 1.0,
    releases: int = 1,
    rule: str = "exact",
) -> Certified:
    """The noise that each of so many Gaussian releases needs; `upper` suffices."""
    if rule not in _RULES:
        raise InputError(f"rule must be one of {', '.join(_RULES)}, not {rule!r}")
    answer = ffi.new("struct tremolo_certified *")
    check(
        lib.tremolo_rule_sigma(
            answer, _RULES[rule], epsilon, delta, sensitivity, count("releases", releases, 1, 10**9)
        )
    )
    return _certified(answer)


def attack(*, mu: Optional[float] = None, ballot: Optional[float] = None) -> Certified:
    """How often one who must tell two equally likely people apart is right, at best."""
    if (mu is None) == (ballot is None):
        raise InputError("give mu, of noisy samples, or ballot, its epsilon")
    if mu is not None:
        answer = ffi.new("struct tremolo_certified *")
        check(lib.tremolo_attack_accuracy(answer, mu))
        return _certified(answer)
    law = ffi.new("struct tremolo_rank_law *")
    found = ffi.new("struct tremolo_rank_attack *")
    check(lib.tremolo_rank_law_for(law, ballot))
    check(lib.tremolo_rank_attack(found, law))
    return _certified(found.any)
