"""A study: what everybody agreed on. Read, checked and named by the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union, cast

from ._library import check, ffi, lib, take_text, text, utf8
from .errors import InputError, Problem, StudyError
from .guarantee import Guarantee, neighbours_distance, protects_all

__all__ = ["Feature", "Study"]

_KINDS = {
    lib.TREMOLO_STUDY_NUMERIC: "number",
    lib.TREMOLO_STUDY_CATEGORY: "category",
    lib.TREMOLO_STUDY_YES_NO: "yes-no",
}

Bounds = Tuple[float, float]


class Feature(NamedTuple):
    """A column of a study as it was written: a number, a category or a yes/no question."""

    name: str
    unit: str
    kind: str
    low: float
    high: float
    levels: Tuple[str, ...]


def _feature(held: Any) -> Feature:
    levels = tuple(text(held.levels[i]) for i in range(held.level_count))
    return Feature(text(held.name), text(held.unit), _KINDS[held.kind], held.low, held.high, levels)


def _parse(document: str) -> Any:
    encoded = utf8(document, "the study")
    place = ffi.new("struct tremolo_study_file **")
    problems = ffi.new("struct tremolo_study_problems *")
    status = lib.tremolo_study_file_parse(place, problems, encoded, len(encoded))
    if status == lib.TREMOLO_BAD_STUDY:
        found = [
            Problem(text(problems.item[i].path), text(problems.item[i].reason))
            for i in range(problems.stored)
        ]
        lines = [f"{problem.path or 'the file'}: {problem.reason}" for problem in found]
        more = problems.count - problems.stored
        lines += [f"and {more} more problems"] if more else []
        raise StudyError("; ".join(lines), found)
    check(status)
    return ffi.gc(place[0], lib.tremolo_study_file_free)


def _entry(name: str, given: Any) -> Dict[str, Any]:
    """A feature as in a study file, from (low, high), a list of levels, "yes-no" or a mapping."""
    if isinstance(given, Mapping):
        return {"name": name, **given}
    if given == "yes-no":
        return {"name": name, "kind": "yes-no"}
    values = list(given)
    if len(values) == 2 and all(isinstance(value, (int, float)) for value in values):
        return {"name": name, "low": values[0], "high": values[1]}
    if values and all(isinstance(value, str) for value in values):
        return {"name": name, "kind": "category", "levels": values}
    raise InputError(
        f"feature {name!r}: give (low, high), a list of levels, 'yes-no', or a dict as in a file"
    )


class Study:
    """A study, which never changes once it is made; its id is a hash of all that it fixes.

    >>> study = Study.build(
    ...     title="Sleep and pulse",
    ...     features={"sleep": (5, 9), "smoker": "yes-no"},
    ...     response=("pulse", (45, 90)),
    ...     epsilon=2,
    ... )
    >>> [feature.name for feature in study.features]
    ['sleep', 'smoker']
    >>> study.guarantee.neighbours
    'any'
    >>> Study.from_json(study.to_json()) == study
    True
    """

    def __init__(self, document: Union[str, Mapping[str, Any]]) -> None:
        if not isinstance(document, str):
            document = json.dumps(document)
        self._file = _parse(document)
        place = ffi.new("char **")
        check(lib.tremolo_study_file_json(place, self._file))
        self._json = take_text(place[0])
        self._document = cast(Dict[str, Any], json.loads(self._json))

    @classmethod
    def from_json(cls, document: str) -> "Study":
        """A study from the text of a file."""
        return cls(document)

    @classmethod
    def from_file(cls, path: Union[str, Path]) -> "Study":
        """A study from a file."""
        try:
            return cls(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise InputError(f"{path}: not UTF-8") from None

    @classmethod
    def build(
        cls,
        *,
        title: str,
        features: Mapping[str, Any],
        response: Tuple[str, Any],
        epsilon: float,
        purpose: str = "",
        neighbours: Any = "any",
        delta: Optional[float] = None,
        protect: str = "all",
        devices: Optional[int] = None,
        enrolment: str = "open",
        **more: Any,
    ) -> "Study":
        """Write a study by its parts.

        `features` maps names to public ranges (low, high), to a list of a category's levels (the
        first is the reference, best the most common one), to "yes-no", or to a dict as in a
        file. Choose ranges from public knowledge, never from the data. `more` are further
        top-level members of the file (docs/reference/protocol.md).
        """
        distance = neighbours_distance(neighbours)
        protects_all(protect)
        privacy: Dict[str, Any] = {
            "epsilon": epsilon,
            "neighbours": {"distance": distance} if distance else "any",
            "protects": protect,
        }
        if distance or delta is not None:
            privacy["delta"] = 1e-5 if delta is None else delta
        limits: Dict[str, Any] = {"enrolment": enrolment}
        if devices is not None:
            limits["devices"] = devices
        document: Dict[str, Any] = {
            "tremolo": 1,
            "title": title,
            "features": [_entry(name, given) for name, given in features.items()],
            "response": _entry(*response),
            "privacy": privacy,
            "protocol": {"release": "sample" if privacy.get("delta") else "ballot", "kind": "one-shot"},
            "limits": limits,
            **more,
        }
        if purpose:
            document["purpose"] = purpose
        return cls(document)

    @staticmethod
    def starter(columns: Optional[Iterable[str]] = None, response: Optional[str] = None) -> str:
        """A commented file to begin with, for these columns if there are some.

        Ranges in it are placeholders: replace them by public knowledge before you use it.
        """
        place = ffi.new("char **")
        if columns is None:
            check(lib.tremolo_study_starter(place, ffi.NULL, 0, ffi.NULL, ffi.NULL))
            return take_text(place[0])
        names = [ffi.new("char[]", utf8(name, "a column's name")) for name in columns]
        answer = ffi.new("char[]", utf8(response, "response")) if response is not None else ffi.NULL
        listed = ffi.new("char *[]", names)
        check(lib.tremolo_study_starter(place, listed, len(names), answer, ffi.NULL))
        return take_text(place[0])

    @property
    def id(self) -> str:
        """The hash of all that the study fixes, as addresses have it."""
        encoded = ffi.new("char[]", lib.TREMOLO_STUDY_ID_TEXT_BYTES)
        digest = lib.tremolo_study_file_id(self._file)
        lib.tremolo_study_id_text(encoded, digest)
        return text(encoded)

    @property
    def title(self) -> str:
        """Its title."""
        return str(self._document["title"])

    @property
    def features(self) -> List[Feature]:
        """The columns that explain."""
        count = lib.tremolo_study_file_feature_count(self._file)
        return [_feature(lib.tremolo_study_file_feature(self._file, i)) for i in range(count)]

    @property
    def response(self) -> Feature:
        """The column that is explained."""
        return _feature(lib.tremolo_study_file_response(self._file))

    @property
    def guarantee(self) -> Guarantee:
        """What it promises to everybody who takes part."""
        made = lib.tremolo_study_file_guarantee_json(self._file)
        if made == ffi.NULL:
            raise InputError("the study's guarantee is beyond what can be said")
        return Guarantee(json.loads(take_text(made)))

    def to_json(self) -> str:
        """The study in its normal form, with the devices' integers; reading it gives the same id."""
        return self._json

    def to_dict(self) -> Dict[str, Any]:
        """The same as a dict."""
        return cast(Dict[str, Any], json.loads(self._json))

    def save(self, path: Union[str, Path], force: bool = False) -> Path:
        """Write it to a file, which must not be there unless `force` is set."""
        target = Path(path)
        with open(target, "w" if force else "x", encoding="utf-8") as file:
            file.write(json.dumps(self._document, indent=1, ensure_ascii=False) + "\n")
        return target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Study) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Study {self.title!r} {self.id[:10]}..., {len(self.features)} features>"

    def __reduce__(self) -> Any:
        return (Study, (self._json,))
