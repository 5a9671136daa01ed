"""A guarantee, in numbers and in words for a reviewer and for a participant."""

from __future__ import annotations

import html
import json
from typing import Any, Dict, List, Mapping, Optional

from ._arguments import count, number
from ._library import check, document_text, ffi, lib, take_document
from .errors import InputError

__all__ = ["Guarantee", "explain", "neighbours_distance"]


class Guarantee(Mapping[str, Any]):
    """The member "guarantee" of a document: read it like a dict, print it, or show it.

    Whatever it says names the neighbours, what is protected, and how many releases it covers.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = dict(document)

    def __getitem__(self, key: str) -> Any:
        return self._document[key]

    def __iter__(self) -> Any:
        return iter(self._document)

    def __len__(self) -> int:
        return len(self._document)

    @property
    def epsilon(self) -> float:
        """Over all releases of a device, rounded up; infinite: no protection."""
        value = self._document["epsilon"]
        return float("inf") if value is None else float(value)

    @property
    def delta(self) -> float:
        """At which epsilon holds; 0 for ballots."""
        return float(self._document["delta"] or 0.0)

    @property
    def neighbours(self) -> str:
        """"any" two people, or "distance=R" in half ranges."""
        return str(self._document["neighbours"])

    @property
    def protects(self) -> str:
        """"all" of a sample, or its "features"."""
        return str(self._document["protects"])

    @property
    def reviewer(self) -> str:
        """For one who has to sign."""
        return str(self._document["reviewer"])

    @property
    def participant(self) -> str:
        """For one who takes part."""
        return str(self._document["participant"])

    @property
    def differences(self) -> List[Dict[str, Any]]:
        """The same for people who differ in particular ways."""
        return list(self._document["differences"])

    def __str__(self) -> str:
        return document_text(json.dumps(self._document), True)

    def __repr__(self) -> str:
        return (
            f"<Guarantee epsilon={self.epsilon:.6g} delta={self.delta:g} "
            f"neighbours={self.neighbours} protects={self.protects}>"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def neighbours_distance(neighbours: Any) -> float:
    """0 for any two people, or the distance: "any", "distance=0.5", or a number."""
    if neighbours == "any":
        return 0.0
    given = neighbours
    if isinstance(given, str) and given.startswith("distance="):
        given = given[len("distance=") :]
    try:
        distance = float(given)
    except (TypeError, ValueError):
        distance = -1.0
    if not 0.0 < distance < float("inf"):
        raise InputError(f"neighbours must be 'any' or 'distance=R' with R above 0, not {neighbours!r}")
    return distance


def protects_all(protect: str) -> bool:
    if protect not in ("all", "features"):
        raise InputError(f"protect must be 'all' or 'features', not {protect!r}")
    return protect == "all"


def _diameter(dimension: int, protect: str) -> float:
    """How far apart any two people can be, in half ranges."""
    request = ffi.new("struct tremolo_plan_request *")
    request.guess.dimension, request.response_private = dimension, protects_all(protect)
    return float(lib.tremolo_plan_sensitivity(request))


def explain(
    what: Any = None,
    *,
    epsilon: Optional[float] = None,
    delta: Optional[float] = None,
    neighbours: Any = "any",
    protect: str = "all",
    releases: int = 1,
    dimension: int = 1,
) -> Guarantee:
    """What a study, a result or an (epsilon, delta) promises, in words.

    `what` is a `Study` or a `Result`. Without it the words are for `epsilon` between any two
    people, by ballots; or at `delta` for neighbours at a distance, by noisy samples.

    >>> import tremolo
    >>> guarantee = tremolo.explain(epsilon=1)
    >>> guarantee.neighbours, guarantee.protects
    ('any', 'all')
    """
    if what is not None:
        found = getattr(what, "guarantee", None)
        if not isinstance(found, Guarantee):
            raise InputError(f"{type(what).__name__} promises nothing; give a Study or a Result")
        return found
    if epsilon is None:
        raise InputError("epsilon is needed")
    epsilon = number("epsilon", epsilon, 5e-324, 1e6)
    releases = count("releases", releases, 1, 10**9)
    dimension = count("dimension", dimension, 1, 256)
    distance = neighbours_distance(neighbours)
    promise = ffi.new("struct tremolo_promise *")
    promise.releases = releases
    promise.response_private = protects_all(protect)
    promise.dimension = dimension
    if distance == 0.0 and delta is None:
        law = ffi.new("struct tremolo_rank_law *")
        check(lib.tremolo_rank_law_for(law, epsilon / releases))
        promise.law = law[0]
        promise.neighbours = lib.TREMOLO_NEIGHBOURS_ANY
    else:
        mu = ffi.new("struct tremolo_certified *")
        promise.delta = 1e-5 if delta is None else number("delta", delta, 5e-324, 1)
        check(lib.tremolo_gaussian_mu_for(mu, epsilon, promise.delta))
        promise.mu = mu.lower
        promise.neighbours = (
            lib.TREMOLO_NEIGHBOURS_DISTANCE if distance > 0.0 else lib.TREMOLO_NEIGHBOURS_ANY
        )
        promise.distance = distance if distance > 0.0 else _diameter(dimension, protect)
    made = lib.tremolo_promise_json(promise, epsilon)
    if made == ffi.NULL:
        raise InputError("there is no such guarantee: an argument is out of range")
    return Guarantee(take_document(made))
