"""Try a study on a table: every row is a device that reports privately."""

from __future__ import annotations

import warnings
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, cast

from ._arguments import choice, count, number
from ._library import check, ffi, lib, refused, room, run, take_text, text, utf8
from .errors import InputError
from .guarantee import neighbours_distance, protects_all
from .result import Result
from .study import Study
from .table import Table

__all__ = ["simulate"]

_RELEASES = {"sample": lib.TREMOLO_RELEASE_SAMPLE, "ballot": lib.TREMOLO_RELEASE_BALLOT}
_METHODS = {
    "auto": lib.TREMOLO_EXPERIMENT_AUTO,
    "one-shot": lib.TREMOLO_EXPERIMENT_ONE_SHOT,
    "iterative": lib.TREMOLO_EXPERIMENT_ITERATIVE,
    "pooled": lib.TREMOLO_EXPERIMENT_POOLED,
    "ols": lib.TREMOLO_EXPERIMENT_OLS,
}


class Simulation:
    """What is asked of a simulation, in the library's struct."""

    def __init__(self, study: Optional[Study]) -> None:
        self.study = study
        self.struct = ffi.new("struct tremolo_simulation *")
        lib.tremolo_simulation_begin(self.struct)
        if study is not None:
            lib.tremolo_simulation_take_study(self.struct, study._file)

    def guarantee(
        self, epsilon: Any, delta: Any, neighbours: Any, protect: Any, release: Any
    ) -> None:
        """Take what is asked of privacy; None keeps the study's, or the default."""
        experiment = self.struct.experiment
        if epsilon is not None:
            experiment.epsilon = number("epsilon", epsilon, 5e-324, 1e6)
        if delta is not None:
            experiment.delta = number("delta", delta, 5e-324, 1.0)
        if neighbours is not None:
            distance = neighbours_distance(neighbours)
            experiment.distance = distance
            experiment.neighbours = (
                lib.TREMOLO_NEIGHBOURS_DISTANCE if distance else lib.TREMOLO_NEIGHBOURS_ANY
            )
        if protect is not None:
            experiment.protect_all = protects_all(protect)
        if release is not None:
            experiment.release = choice("release", release, _RELEASES)
            self.struct.release_follows = False

    def method(self, name: Optional[str], rounds: Any) -> None:
        """Take the method by name, and its rounds."""
        if name is not None:
            self.struct.experiment.method = choice("method", name, _METHODS)
        if rounds is not None:
            self.struct.experiment.rounds = count("rounds", rounds, 1, 1000)

    def settle(self) -> None:
        """Fill in what follows from the rest; refuse what would have no effect."""
        refusal = ffi.new("struct tremolo_refusal *")
        file = self.study._file if self.study is not None else ffi.NULL
        if not lib.tremolo_simulation_settle(self.struct, file, refusal):
            raise refused(refusal)

    def run(self, design: Any, progress: Optional[bool]) -> str:
        """The document that the design's rows give, as text."""
        return cast(str, run(lambda reporting: self._work(design, reporting), "simulating", progress))

    def _work(self, design: Any, reporting: Any) -> str:
        """All of it, in one thread, which frees what it made."""
        result = ffi.new("struct tremolo_simulation_result **")
        refusal = ffi.new("struct tremolo_refusal *")
        self.struct.experiment.progress = reporting
        try:
            status = lib.tremolo_simulation_run(result, refusal, self.struct, design)
            if status == lib.TREMOLO_OUT_OF_BOUNDS:
                raise refused(refusal)
            if status != lib.TREMOLO_OK:
                check(status, text(refusal.why))
            return take_text(lib.tremolo_simulation_json(result[0]))
        finally:
            lib.tremolo_simulation_free(result[0])


_MISSING = {
    "drop": lib.TREMOLO_MISSING_DROP,
    "refuse": lib.TREMOLO_MISSING_REFUSE,
    "mean": lib.TREMOLO_MISSING_MEAN,
}


class Formula:
    """The terms of a model, read by the library."""

    def __init__(self, given: str) -> None:
        self.text = given
        place, error = ffi.new("struct tremolo_formula **"), room(lib.TREMOLO_TERMS_ERROR_BYTES)
        if not lib.tremolo_formula_parse(place, utf8(given, "the formula"), error):
            raise InputError(text(error))
        self._held = ffi.gc(place[0], lib.tremolo_formula_free)
        self.response = text(self._held.response) or None

    def uses(self, name: str) -> bool:
        """Is the column a part of the model?"""
        return name == self.response or bool(lib.tremolo_formula_uses(self._held, utf8(name)))

    def has_levels(self, name: str) -> bool:
        """Is it there as C(name)?"""
        return bool(lib.tremolo_formula_has_levels(self._held, utf8(name)))


class Question:
    """What is to be learnt from what: a formula, a study, or a response and features."""

    def __init__(
        self,
        formula: Optional[str],
        study: Optional[Study],
        response: Optional[str],
        features: Optional[Iterable[str]],
        missing: str,
    ) -> None:
        if formula is not None and features is not None:
            raise InputError("give a formula or features, not both")
        self.study = study
        self.formula = None if formula is None else Formula(formula)
        self.response = response
        if response is None and study is not None:
            self.response = study.response.name
        if self.formula is not None and self.formula.response is not None:
            self.response = None
            if response not in (None, self.formula.response):
                raise InputError(f"the formula's response is {self.formula.response!r}, not {response!r}")
        elif self.response is None:
            raise InputError("a response is needed: a formula 'y ~ ...', a study, or response=")
        self.features = None if features is None else [str(name) for name in features]
        if self.features is None and study is not None:
            self.features = [feature.name for feature in study.features]
        self.missing = choice("missing", missing, _MISSING)

    def words(self, name: str) -> bool:
        """Is the column to be a category, whatever it holds?"""
        if self.study is not None:
            kinds = {feature.name: feature.kind for feature in self.study.features}
            if name in kinds:
                return kinds[name] == "category"
        return self.formula is not None and self.formula.has_levels(name)

    def uses(self, name: str) -> bool:
        """Is the column wanted?"""
        if self.formula is not None:
            return self.formula.uses(name) or name == self.response
        return self.features is None or name in self.features or name == self.response


class Design:
    """The numbers of a regression, made from a table by the library."""

    def __init__(self, table: Table, question: Question) -> None:
        self.table = table
        wish = ffi.new("struct tremolo_design_wish *")
        kept = []

        def given(value: Optional[str], what: str) -> Any:
            if value is None:
                return ffi.NULL
            kept.append(ffi.new("char[]", utf8(value, what)))
            return kept[-1]

        formula, features = question.formula, question.features
        if formula is not None:
            wish.terms = given(formula.text, "the formula")
        elif features is not None:
            kept.append(ffi.new("const char *[]", [given(name, "a feature") for name in features]))
            wish.features, wish.feature_count = kept[-1], len(features)
        wish.response = given(question.response, "response")
        wish.study = ffi.NULL if question.study is None else question.study._file
        wish.missing = question.missing
        error = room(lib.TREMOLO_TABLE_ERROR_BYTES)
        self.struct = ffi.gc(ffi.new("struct tremolo_design *"), lib.tremolo_design_free)
        if not lib.tremolo_design_build(self.struct, table.pointer, wish, error):
            raise InputError(text(error))
        if question.study is not None and not lib.tremolo_design_bound(
            self.struct, question.study._file, error
        ):
            raise InputError(text(error))

    @property
    def names(self) -> List[str]:
        """Of the features."""
        return [text(self.struct.name[i]) for i in range(self.struct.features)]

    @property
    def response(self) -> str:
        """Of what is explained."""
        return text(self.struct.response)

    @property
    def remark(self) -> str:
        """On columns that may not be what they were taken for."""
        return text(self.struct.remark)

    def bound(self, bounds: Mapping[str, Any]) -> None:
        """Take public ranges by name; a category's columns lie between 0 and 1."""
        if not isinstance(bounds, Mapping):
            raise InputError("bounds must be a mapping of names to (low, high)")
        unused = set(bounds)
        low, high = [], []
        for name in [*self.names, self.response]:
            pair = bounds.get(name)
            if pair is None and self._is_level(name):
                pair = (0.0, 1.0)
            if pair is None:
                raise InputError(f"bounds has no range for {name!r}")
            unused.discard(name)
            try:
                first, last = pair
            except (TypeError, ValueError):
                raise InputError(f"bounds of {name!r} must be (low, high), not {pair!r}") from None
            low.append(number(f"bounds of {name!r}", first, -1e100, 1e100))
            high.append(number(f"bounds of {name!r}", last, -1e100, 1e100))
        if unused:
            raise InputError(f"bounds names {sorted(unused)}, which are no columns of the model")
        error = room(lib.TREMOLO_TABLE_ERROR_BYTES)
        lows, highs = ffi.new("double[]", low), ffi.new("double[]", high)
        if not lib.tremolo_design_take_bounds(self.struct, lows, highs, error):
            raise InputError(text(error))

    def _is_level(self, name: str) -> bool:
        column, sign, _ = name.partition("=")
        kinds = self.table.kinds
        return kinds.get(column) == "words" if kinds else bool(sign) and ":" not in column


def simulate(
    data: Any,
    formula: Optional[str] = None,
    *,
    response: Optional[str] = None,
    features: Optional[Iterable[str]] = None,
    study: Optional[Study] = None,
    epsilon: Optional[float] = None,
    neighbours: Any = None,
    protect: Optional[str] = None,
    release: Optional[str] = None,
    missing: str = "drop",
    bounds: Optional[Mapping[str, Tuple[float, float]]] = None,
    method: Optional[str] = None,
    delta: Optional[float] = None,
    rounds: Optional[int] = None,
    test_share: float = 0.2,
    repeats: int = 1,
    seed: Optional[int] = None,
    threads: Optional[int] = None,
    progress: Optional[bool] = None,
) -> Result:
    """Try a study on a table, every row a device that sends one private report.

    `data` is a DataFrame, a mapping of names to columns, or the path of a CSV file. The question is
    a `formula` such as "pulse ~ age + C(region) + log(income)", a `study`, or a `response` and
    `features` (all other columns unless given). `bounds` are public ranges by name; without them,
    and without a study, ranges are taken from the data, which is not private, and the result says
    so. Any two people and all of a sample are protected unless `neighbours` ("distance=0.5", in half
    ranges) or `protect` ("features") say otherwise. Rows with a `missing` value are dropped; "refuse" refuses
    them, "mean" fills them in, which is not private.

    `seed` gives the same numbers again; a study that people take part in has none. `delta` is for
    noisy samples, `rounds` for the methods "iterative" and "pooled". The paper's modulation, step
    and ball come from a study.

    >>> import numpy as np, tremolo
    >>> generator = np.random.default_rng(1)
    >>> data = {"x": generator.uniform(0, 10, 4000)}
    >>> data["y"] = 2 * data["x"] + generator.normal(0, 1, 4000)
    >>> result = tremolo.simulate(data, "y ~ x", epsilon=4, bounds={"x": (0, 10), "y": (0, 20)}, seed=1)
    >>> low, high = result.conf_int(level=0.999).loc["x"]
    >>> bool(low < 2 < high)
    True
    """
    simulation = Simulation(study)
    simulation.guarantee(epsilon, delta, neighbours, protect, release)
    simulation.method(method, rounds)
    struct = simulation.struct
    struct.test_share = number("test_share", test_share, 0.0, 0.999999)
    struct.repeats = count("repeats", repeats, 1, 100000)
    if seed is not None:
        struct.seed = count("seed", seed, 0, 2**63 - 1)
    if threads is not None:
        struct.experiment.threads = count("threads", threads, 1, 64)
    if bounds is not None and study is not None:
        raise InputError("bounds have no effect with a study, which has its own")
    simulation.settle()
    question = Question(formula, study, response, features, missing)
    design = Design(Table(data, question.words, question.uses), question)
    if bounds is not None:
        design.bound(bounds)
    if design.remark:
        warnings.warn(design.remark, stacklevel=2)
    return Result(simulation.run(design.struct, progress))
