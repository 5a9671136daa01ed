"""What a study will say before anyone reports."""

from __future__ import annotations

import html
import math
from typing import Any, Dict, List, Optional

from ._arguments import choice, count, number
from ._library import check, ffi, lib, refused, take_document, text
from .guarantee import neighbours_distance, protects_all
from .study import Study

__all__ = ["Plan", "plan"]

_RELEASES = {"sample": lib.TREMOLO_RELEASE_SAMPLE, "ballot": lib.TREMOLO_RELEASE_BALLOT}


def _percent_up(share: float) -> str:
    """How often an attacker is right at most, as the command line writes it: 60%, 79.2%, >99.9%."""
    percent = math.ceil(share * 1000 - 1e-9) / 10
    return f"{percent:g}%" if percent < 100 else ">99.9%"


class Plan:
    """An answer of `plan`: what to expect, what each choice costs, and a verdict."""

    def __init__(self, document: Dict[str, Any]) -> None:
        self.document = document

    @property
    def told(self) -> bool:
        """True if coefficients of the guessed size will be significant."""
        return bool(self.document["verdict"]["told_from_zero"])

    @property
    def identified(self) -> bool:
        """Will intervals hold? Else score sets take their place, and coefficients may stay hidden."""
        return bool(self.document["verdict"]["identified"])

    @property
    def devices_needed(self) -> float:
        """Devices that it takes; infinite when no number that could be had is enough."""
        needed = self.document["verdict"]["devices_needed"]
        return math.inf if needed is None else float(needed)

    @property
    def r2(self) -> float:
        """R^2 to expect with the devices there are."""
        return float(self.document["expected"]["r2"])

    @property
    def levers(self) -> List[Dict[str, Any]]:
        """What one could do instead, each with devices needed and what an attacker achieves."""
        return list(self.document["levers"])

    def to_frame(self) -> Any:
        """The levers as a pandas DataFrame."""
        try:
            from pandas import DataFrame
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install pandas") from None
        return DataFrame(self.levers).set_index("name")

    def _rows(self) -> List[List[str]]:
        made = []
        for lever in self.levers:
            needed, r2 = lever["devices_needed"], lever["r2"]
            made.append(
                [
                    str(lever["name"]),
                    "-" if needed is None else f"{needed:,.0f}",
                    "-" if r2 is None else f"{r2:.3f}",
                    _percent_up(lever["attack_success"]),
                ]
            )
        return made

    def _verdict(self) -> str:
        devices = self.document["devices"]
        if self.told and self.identified:
            return f"Go ahead: with {devices:,.0f} devices coefficients of the guessed size are significant."
        if self.told:
            enough = self.document["verdict"]["devices_identified"]
            return (
                f"With {devices:,.0f} devices read score sets instead of intervals: noise may hide "
                f"coefficients. With {enough:,.0f}, or a larger epsilon, intervals are exact."
            )
        needed = self.devices_needed
        return (
            f"{devices:,.0f} devices are too few"
            + (f": {needed:,.0f} are needed." if math.isfinite(needed) else ", as is any number.")
        )

    def summary(self) -> str:
        """The levers as a table, and the verdict."""
        heads = ["change one thing", "devices needed", "R^2", "attacker right"]
        lines = [f"{heads[0]:<36}{heads[1]:>16}{heads[2]:>8}{heads[3]:>16}"]
        lines += [f"{row[0]:<36}{row[1]:>16}{row[2]:>8}{row[3]:>16}" for row in self._rows()]
        return "\n".join([*lines, self._verdict()])

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Plan: {self._verdict()}>"

    def _repr_html_(self) -> str:
        heads = "".join(
            f"<th>{head}</th>"
            for head in ("change one thing", "devices needed", "R&sup2;", "attacker right")
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._rows()
        )
        return f"<table><tr>{heads}</tr>{body}</table><p>{html.escape(self._verdict())}</p>"


def plan(
    study: Optional[Study] = None,
    *,
    dimension: Optional[int] = None,
    devices: Optional[float] = None,
    epsilon: Optional[float] = None,
    delta: Optional[float] = None,
    neighbours: Any = None,
    protect: Optional[str] = None,
    release: Optional[str] = None,
    half_width: Optional[float] = None,
    effect: Optional[float] = None,
    sd: Optional[float] = None,
    correlation: float = 0.0,
    r2: float = 0.5,
) -> Plan:
    """What to expect of a study, how many devices it takes, and what each choice costs.

    Give a `study`, or `dimension` and `epsilon`; `devices` where the study limits none. `sd` is the
    guessed standard deviation of features and response, in half ranges. `half_width` asks how many
    devices intervals of that half width need, `effect` how many it takes to detect a scaled
    coefficient with power 0.8. The paper's mechanism comes from a study file.

    >>> import tremolo
    >>> answer = tremolo.plan(dimension=3, devices=100_000, epsilon=2)
    >>> answer.told
    True
    >>> [lever["release"] for lever in answer.levers][:2]
    ['ballot', 'sample']
    """
    request = ffi.new("struct tremolo_plan_request *")
    lib.tremolo_plan_begin(request)
    guess = request.guess
    if study is not None:
        lib.tremolo_plan_take_study(request, study._file)
        guess.devices = float(study.to_dict().get("limits", {}).get("devices", 0) or 0)
    if dimension is not None:
        guess.dimension = count("dimension", dimension, 1, 256)
    if devices is not None:
        guess.devices = number("devices", devices, 2, 1e15)
    if epsilon is not None:
        request.epsilon = number("epsilon", epsilon, 5e-324, 500)
    if delta is not None:
        request.delta = number("delta", delta, 5e-324, 1)
    if neighbours is not None:
        request.distance = neighbours_distance(neighbours)
    if protect is not None:
        request.response_private = protects_all(protect)
    if release is not None:
        request.release = choice("release", release, _RELEASES)
    elif study is None or neighbours is not None:
        request.release = (
            lib.TREMOLO_RELEASE_SAMPLE if request.distance > 0 else lib.TREMOLO_RELEASE_BALLOT
        )
    guess.correlation = number("correlation", correlation, -1, 1)
    guess.r2 = number("r2", r2, 0, 0.999999)
    if sd is not None:
        guess.feature_variance = guess.response_variance = number("sd", sd, 1e-9, 1e6) ** 2
    for name, given in (("half_width", half_width), ("effect", effect)):
        if given is not None:
            setattr(request, name, number(name, given, -1e12, 1e12))
    refusal = ffi.new("struct tremolo_refusal *")
    if not lib.tremolo_plan_settle(request, refusal):
        raise refused(refusal)
    answer = ffi.new("struct tremolo_plan_answer *")
    status = lib.tremolo_plan_study(answer, request)
    if status != lib.TREMOLO_OK:
        check(status, text(lib.tremolo_plan_sentence(status)))
    return Plan(take_document(lib.tremolo_plan_json(request, answer)))
