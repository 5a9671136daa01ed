"""What reports say: the one estimate document, with an analyst's names for its parts."""

from __future__ import annotations

import html
import json
import math
import textwrap
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union, cast

import numpy as np

from ._arguments import number
from ._library import ffi, lib, room, text
from .errors import InputError
from .guarantee import Guarantee
from .table import Table

__all__ = ["Result"]


def _number(value: Optional[float]) -> float:
    return math.nan if value is None else float(value)


def _series(names: List[str], values: List[float], title: str) -> Any:
    """A pandas Series where there is pandas, else a dict."""
    try:
        from pandas import Series
    except ImportError:
        return dict(zip(names, values))
    return Series(values, index=names, name=title, dtype=float)


def _refuse(constant: str) -> float:
    """NaN and infinities are no JSON."""
    raise ValueError(constant)


def _cell(value: float, form: str = ".4g") -> str:
    return "-" if math.isnan(value) else format(value, form)


class Result:
    """An estimate from any source: coefficients to conclude from, and a prediction.

    Coefficients, standard errors and intervals are unbiased and for conclusions; what noise
    hides is NaN, and `not_identified` says so. `prediction` has other coefficients, shrunken,
    for `predict` alone. Nothing here computes: all numbers are the document's.
    """

    def __init__(self, document: Union[str, Mapping[str, Any]]) -> None:
        try:  # what cannot be shown is no estimate, whatever its first members say
            self._json = document if isinstance(document, str) else json.dumps(document)
            self._json.encode()
            self._document = cast(Dict[str, Any], json.loads(self._json, parse_constant=_refuse))
            if self._document["tremolo_estimate"] != 1:
                raise ValueError("of another version")
            self.summary()
            self.cov_params()
            self.prediction
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            raise InputError("this is not an estimate", "MALFORMED") from None

    @classmethod
    def from_file(cls, path: Union[str, Path]) -> "Result":
        """A result that was saved as JSON, by `save` or by `tremolo fit --json`."""
        return cls(Path(path).read_text(encoding="utf-8"))

    # ---- what it is about

    @property
    def document(self) -> Dict[str, Any]:
        """The whole document (docs/estimate.schema.json), as a copy."""
        return cast(Dict[str, Any], json.loads(self._json))

    @property
    def title(self) -> str:
        """Of the study, or what was asked."""
        return str(self._document["title"] or "")

    @property
    def response(self) -> str:
        """The name of what is explained."""
        return str(self._document["response"]["name"])

    @property
    def nobs(self) -> int:
        """Devices that reported."""
        return int(self._document["devices"] or 0)

    @property
    def level(self) -> float:
        """Confidence of the intervals."""
        return float(self._document["level"])

    @property
    def guarantee(self) -> Optional[Guarantee]:
        """What was promised; None when raw data were read, which promises nothing."""
        held = self._document["guarantee"]
        return None if held is None else Guarantee(held)

    @property
    def bounds_from_data(self) -> bool:
        """Were ranges taken from the data? That is not private, and the guarantee ignores it."""
        simulation = self._document.get("simulation")
        return simulation is not None and not simulation["scale_is_private"]

    # ---- coefficients

    @property
    def names(self) -> List[str]:
        """Of the coefficients, the intercept last."""
        return [str(row["name"]) for row in self._document["coefficients"]]

    def _column(self, member: str, title: str) -> Any:
        values = [_number(row[member]) for row in self._document["coefficients"]]
        return _series(self.names, values, title)

    @property
    def params(self) -> Any:
        """Unbiased coefficients in own units, by name; NaN where noise hides them."""
        return self._column("estimate", "estimate")

    @property
    def bse(self) -> Any:
        """Their standard errors."""
        return self._column("standard_error", "standard error")

    @property
    def tvalues(self) -> Any:
        """Estimate over standard error."""
        return self._column("z", "t")

    @property
    def pvalues(self) -> Any:
        """Two-sided p values of no effect."""
        return self._column("p", "p")

    def conf_int(self, alpha: Optional[float] = None, *, level: Optional[float] = None) -> Any:
        """Confidence intervals: a DataFrame with the columns low and high, or a dict of pairs.

        As in statsmodels the first argument is `alpha`, one minus the level: 0.05 for 95 %."""
        if alpha is not None and level is not None:
            raise InputError("alpha and level say the same: give one of them")
        level = 1.0 - alpha if alpha is not None else level
        if level is not None and not 0.0 < level < 1.0:
            raise InputError("level must be between 0 and 1")
        rows = self._document["coefficients"]
        low = [_number(row["low"]) for row in rows]
        high = [_number(row["high"]) for row in rows]
        degrees = _number(self._document["inference"]["degrees"])
        if level is not None and degrees > 0.0:
            t = lib.tremolo_student_quantile(0.5 + level / 2.0, degrees)
            ends = [(_number(row["estimate"]), t * _number(row["standard_error"])) for row in rows]
            low, high = [middle - half for middle, half in ends], [middle + half for middle, half in ends]
        try:
            from pandas import DataFrame
        except ImportError:
            return dict(zip(self.names, zip(low, high)))
        return DataFrame({"low": low, "high": high}, index=self.names)

    def cov_params(self) -> Any:
        """Covariance of the coefficients, or None when it is not known."""
        held = self._document["covariance"]
        if held is None:
            return None
        size = len(held)
        full = [
            [_number(held[max(i, j)][min(i, j)]) for j in range(size)] for i in range(size)
        ]
        try:
            from pandas import DataFrame
        except ImportError:
            return full
        return DataFrame(full, index=self.names, columns=self.names)

    @property
    def not_identified(self) -> List[str]:
        """Sentences on coefficients that the noise hides."""
        return list(self._document["not_identified"])

    # ---- prediction

    @property
    def prediction(self) -> Any:
        """Coefficients to predict with, by name, the intercept last; None when there are none."""
        held = self._document["prediction"]
        if held is None:
            return None
        rows = held["coefficients"]
        names = [str(row["name"]) for row in rows]
        return _series(names, [_number(row["estimate"]) for row in rows], "prediction")

    @property
    def rsquared(self) -> float:
        """R^2 of the prediction as the reports tell; NaN when noise hides it."""
        return _number(self._document["r2"])

    @property
    def rsquared_interval(self) -> Tuple[float, float]:
        """An interval that holds it at the level."""
        return _number(self._document["r2_low"]), _number(self._document["r2_high"])

    def predict(self, data: Any) -> Any:
        """Predictions for new rows, as an array; NaN where a value is missing.

        `data` has the columns that the result was learnt from, as a DataFrame, a mapping or the
        path of a CSV file; levels, terms and fillings are the result's own.
        """
        return self._predicted(data, None)["prediction"].copy()

    def get_prediction(self, data: Any, level: Optional[float] = None) -> Any:
        """Predictions, and the mean of the response at these features with its interval.

        A DataFrame with the columns prediction, mean, standard_error, low and high, or a dict of
        arrays. The mean is unbiased and for conclusions; the prediction is shrunken, to be close.
        """
        rows = self._predicted(data, level)
        columns = {name: rows[name].copy() for name in rows.dtype.names}
        try:
            from pandas import DataFrame
        except ImportError:
            return columns
        return DataFrame(columns, index=getattr(data, "index", None))

    def _predicted(self, data: Any, level: Optional[float]) -> Any:
        inputs = self._document.get("inputs")
        if inputs is None:
            raise InputError("the result does not say which columns it needs")
        kinds = {column["name"]: column["kind"] for column in inputs["columns"]}
        table = Table(data, lambda name: kinds.get(name) == "category", kinds.__contains__)
        place, error = ffi.new("struct tremolo_prediction **"), room(lib.TREMOLO_TABLE_ERROR_BYTES)
        encoded = self._json.encode()
        if not lib.tremolo_prediction_read(place, encoded, len(encoded), error):
            raise InputError(text(error))
        prediction = ffi.gc(place[0], lib.tremolo_prediction_free)
        if level is not None:
            lib.tremolo_prediction_set_level(prediction, number("level", level, 1e-9, 1 - 1e-9))
        names = ["prediction", "mean", "standard_error", "low", "high"]
        made = np.empty(table.rows, dtype=[(name, np.float64) for name in names])
        counts = ffi.new("struct tremolo_predict_counts *")
        rows = ffi.cast("struct tremolo_predicted *", ffi.from_buffer(made))
        if not lib.tremolo_predict_table(rows, counts, prediction, table.pointer, error):
            raise InputError(text(error))
        return made

    # ---- showing

    def _facts(self) -> List[Tuple[str, str]]:
        low, high = self.rsquared_interval
        guarantee = self.guarantee
        facts = [
            ("Response:", self.response),
            ("Devices:", f"{self.nobs:,}"),
            ("Release:", str(self._document["release"] or "none, raw data")),
            ("Predicts by:", str((self._document["prediction"] or {"method": "-"})["method"])),
            ("R-squared:", "-" if math.isnan(low) else f"{_cell(self.rsquared)} ({_cell(low)} to {_cell(high)})"),
            ("Residual sd:", _cell(_number(self._document["diagnostics"]["residual_sd"]))),
        ]
        if guarantee is not None:
            facts += [
                ("Epsilon:", f"{guarantee.epsilon:.4g}, delta {guarantee.delta:g}"),
                ("Protects:", f"{guarantee.protects}, neighbours {guarantee.neighbours}"),
            ]
        return facts

    def _rows(self) -> List[List[str]]:
        made = []
        for row in self._document["coefficients"]:
            cells = [str(row["name"])]
            cells += [_cell(_number(row[key])) for key in ("estimate", "standard_error")]
            cells += [_cell(_number(row["z"]), ".3f"), _cell(_number(row["p"]), ".3f")]
            cells += [_cell(_number(row[key])) for key in ("low", "high")]
            made.append(cells)
        return made

    def _heads(self) -> List[str]:
        tail = (1.0 - self.level) / 2.0
        return ["", "coef", "std err", "t", "P>|t|", f"[{tail:.3g}", f"{1.0 - tail:.3g}]"]

    def _references(self) -> List[str]:
        """Of each category, the level that the others are compared with, as in region=east."""
        parts = {part for name in self.names for part in name.split(":")}
        found = []
        for column in (self._document.get("inputs") or {"columns": []})["columns"]:
            if column["kind"] == "category":
                start, reference = f"{column['name']}=", f"{column['name']}={column['levels'][0]}"
                if reference not in parts and any(part.startswith(start) for part in parts):
                    found.append(reference)
        return found

    def _cut(self) -> str:
        """What ballots' cut of the response does to the coefficients; empty where nothing was cut."""
        share = self._document["response_cut"]
        if self._document["release"] != "ballot" or not any(
            row["identified"] for row in self._document["coefficients"]
        ):
            return ""
        if share is None:
            return (
                "Devices cut responses at the ends of their range, which draws coefficients to zero "
                "by about the share that is cut; reports do not tell it."
            )
        if share == 0:
            return ""
        return (
            f"{round(share * self.nobs):,} of {self.nobs:,} responses lie beyond the range of "
            f"{self.response} and count as its ends: coefficients are drawn to zero by about "
            f"{100 * share:.2g} %, by more where a feature sets those people apart, and no interval knows."
        )

    def _notes(self) -> List[str]:
        notes = []
        if self._references():
            notes.append(f"A level is compared with its reference: {', '.join(self._references())}.")
        if self._cut():
            notes.append(self._cut())
        notes += self.not_identified
        if self._document["remark"]:
            notes.append(str(self._document["remark"]))
        if self.bounds_from_data:
            ranges = self._document["simulation"]["scale"] == "ranges"
            notes.append(
                f"{'Typical ranges and values' if ranges else 'Bounds'} were taken from the data, which is "
                "not private; real studies state them beforehand."
            )
        guarantee = self.guarantee
        notes.append(
            guarantee.reviewer if guarantee is not None else "No privacy: raw data were read."
        )
        return notes

    def summary(self) -> str:
        """A table in the manner of statsmodels, and what is promised below it."""
        rows, heads = self._rows(), self._heads()
        first = max([len(row[0]) for row in rows] + [12])
        width = first + 6 * 11
        lines = [self.title.center(width).rstrip(), "=" * width]
        facts = self._facts()
        half = (len(facts) + 1) // 2
        for left, right in zip(facts[:half], facts[half:] + [("", "")]):
            a = f"{left[0]:<13}{left[1]:<{max(0, width // 2 - 14)}}"
            lines.append(f"{a} {right[0]:<13}{right[1]}".rstrip())
        lines.append("=" * width)
        lines.append(f"{heads[0]:<{first}}" + "".join(f"{head:>11}" for head in heads[1:]))
        lines.append("-" * width)
        for row in rows:
            lines.append(f"{row[0]:<{first}}" + "".join(f"{cell:>11}" for cell in row[1:]))
        lines.append("=" * width)
        for note in self._notes():
            lines.append(textwrap.fill(note, width))
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Result {self.title!r}: {self.nobs} devices, R^2 {_cell(self.rsquared)}>"

    def _repr_html_(self) -> str:
        def cells(row: List[str], tag: str) -> str:
            return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)

        head = cells(self._heads(), "th")
        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in self._rows())
        facts = "".join(f"<tr>{cells(list(fact), 'td')}</tr>" for fact in self._facts())
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes())
        return (
            f"<h4>{html.escape(self.title)}</h4><table>{facts}</table>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"
        )

    def plot(self, ax: Any = None) -> Any:
        """A forest plot of the coefficients over their features' ranges, by matplotlib."""
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError("plot needs matplotlib: pip install matplotlib") from None
        rows = [
            row
            for row in self._document["coefficients"]
            if row["estimate"] is not None and row["range"] is not None
        ]
        if ax is None:
            _, ax = pyplot.subplots(figsize=(6.0, 1.0 + 0.4 * max(1, len(rows))))
        for place, row in enumerate(reversed(rows)):
            span = row["range"]
            ax.plot([row["low"] * span, row["high"] * span], [place, place], "-", color="#33415c")
            ax.plot([row["estimate"] * span], [place], "o", color="#33415c")
        ax.axvline(0.0, color="#999999", linewidth=1.0)
        ax.set_yticks(range(len(rows)))
        ax.set_yticklabels([str(row["name"]) for row in reversed(rows)])
        ax.set_xlabel(
            f"change of {self.response} from the feature's lowest to its highest value, "
            f"{100 * self.level:g}% intervals"
        )
        return ax

    # ---- keeping

    def to_json(self, indent: Optional[int] = None) -> str:
        """The one document, which `tremolo`, the dashboard and `Result` read."""
        if indent is None:
            return self._json
        return json.dumps(self._document, indent=indent, ensure_ascii=False)

    def to_frame(self) -> Any:
        """The table of coefficients as a pandas DataFrame."""
        try:
            from pandas import DataFrame
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install pandas") from None
        columns = {
            "estimate": "estimate",
            "standard_error": "standard error",
            "z": "t",
            "p": "p",
            "low": "low",
            "high": "high",
        }
        rows = self._document["coefficients"]
        data = {title: [_number(row[key]) for row in rows] for key, title in columns.items()}
        return DataFrame(data, index=self.names)

    def save(self, path: Union[str, Path], force: bool = False) -> Path:
        """Write the document to a file, which must not be there unless `force` is set."""
        target = Path(path)
        with open(target, "w" if force else "x", encoding="utf-8") as file:
            file.write(self.to_json(indent=1) + "\n")
        return target

    def __reduce__(self) -> Any:
        return (Result, (self._json,))
