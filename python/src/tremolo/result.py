"""What reports say: the one estimate document, with an analyst's names for its parts."""

from __future__ import annotations

import html
import json
import math
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union, cast

import numpy as np

from ._arguments import number
from ._library import document_text, ffi, lib, room, text
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
            repr(self), self.summary(), self.guarantee, self.bounds_from_data
            self.tvalues, self.pvalues, self.bse, self.conf_int(), self.conf_int(level=0.5)
            self.not_identified, self.cov_params(), self.prediction, self.rsquared_interval
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
        encoded, error = self._json.encode(), room(lib.TREMOLO_TABLE_ERROR_BYTES)
        chosen = 0.0 if level is None else number("level", level, 1e-9, 1 - 1e-9)
        names = ["prediction", "mean", "standard_error", "low", "high"]
        made = np.empty(table.rows, dtype=[(name, np.float64) for name in names])
        counts = ffi.new("struct tremolo_predict_counts *")
        rows = ffi.cast("struct tremolo_predicted *", ffi.from_buffer(made))
        status = lib.tremolo_predict_table(
            rows, counts, encoded, len(encoded), chosen, table.pointer, error
        )
        if status != lib.TREMOLO_OK:
            raise InputError(text(error))
        return made

    # ---- showing

    def summary(self, full: bool = False) -> str:
        """The text that `tremolo fit` prints; `full` has the whole guarantee, as `--explain`."""
        return document_text(self._json, full)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Result {self.title!r}: {self.nobs} devices, R^2 {self.rsquared:.4g}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"

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
