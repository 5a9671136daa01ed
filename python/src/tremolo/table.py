"""Columns as the library reads them: where they lie, without a copy where that can be."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

import numpy as np

from ._library import ffi, lib, room, text, utf8
from .errors import InputError

__all__ = ["Table"]


def _missing(value: Any) -> bool:
    return value is None or value != value  # NaN, NaT and pandas' NA differ from themselves


def _is_missing(value: Any) -> bool:
    try:
        return bool(_missing(value))
    except TypeError:  # pandas' NA has no truth
        return True


def _words_of(values: Iterable[Any]) -> Tuple[Any, List[str]]:
    """Codes and their words, in the order in which they come."""
    place: Dict[str, int] = {}
    codes = [
        -1 if _is_missing(value) else place.setdefault(str(value), len(place)) for value in values
    ]
    return np.array(codes, dtype=np.int32), list(place)


def _category(values: Any) -> Optional[Tuple[Any, List[str]]]:
    """Codes of pandas' categories, which need no look at the rows."""
    held = getattr(values, "cat", None)
    if held is None:
        return None
    return np.asarray(held.codes, dtype=np.int32), [str(level) for level in held.categories]


def _objects(values: Any) -> Tuple[Any, List[str]]:
    try:
        from pandas import factorize
    except ImportError:
        return _words_of(values)
    codes, uniques = factorize(values, use_na_sentinel=True)
    return np.asarray(codes, dtype=np.int32), [str(word) for word in uniques]


def _numbers(values: Any) -> Optional[Any]:
    """The column as an array of doubles, itself where it is one; None when it holds words."""
    if getattr(values, "cat", None) is not None:
        return None
    dtype = getattr(values, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype):  # pandas' own, with missing values
        if getattr(dtype, "kind", "O") not in "iuf":
            return None
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise InputError("complex numbers are no column of a regression")
    if array.dtype.kind not in "iuf":
        return None
    doubles = array.astype(np.float64, copy=False)
    step = doubles.strides[0] if doubles.ndim == 1 else 0
    aligned = step > 0 and step % doubles.itemsize == 0 and doubles.flags.aligned
    return doubles if aligned and doubles.dtype.isnative else np.ascontiguousarray(doubles, "=f8")


class Table:
    """A table of the library's over columns that Python holds, which it keeps alive.

    `data` is a pandas DataFrame, a mapping of names to columns, or the path of a CSV file.
    Columns of float64 are read where they lie. `words` says which are to be categories whatever
    they hold, `uses` which are wanted at all.
    """

    def __init__(
        self,
        data: Any,
        words: Callable[[str], bool] = lambda name: False,
        uses: Callable[[str], bool] = lambda name: True,
    ) -> None:
        self._kept: List[Any] = []
        place = ffi.new("struct tremolo_table **")
        error = room(lib.TREMOLO_TABLE_ERROR_BYTES)
        self.kinds: Dict[str, str] = {}  # of columns in memory
        if isinstance(data, str) or hasattr(data, "__fspath__"):
            path = utf8(str(data), "the path")
            if not lib.tremolo_table_read(place, path, error):
                raise InputError(text(error))
        else:
            columns = self._columns(data, words, uses)
            listed = ffi.new("struct tremolo_table_column[]", [column for column, _ in columns])
            rows = {count for _, count in columns}
            if len(rows) > 1:
                raise InputError(f"columns of different lengths: {sorted(rows)}")
            count = rows.pop() if rows else 0
            if not lib.tremolo_table_of_columns(place, listed, len(columns), count, error):
                raise InputError(text(error))
        self.pointer = ffi.gc(place[0], lib.tremolo_table_free)
        self.rows = int(self.pointer.rows)

    def _columns(
        self, data: Any, words: Callable[[str], bool], uses: Callable[[str], bool]
    ) -> List[Tuple[Any, int]]:
        if not (hasattr(data, "keys") and hasattr(data, "__getitem__")):
            raise InputError(
                "data must be a DataFrame, a mapping of names to columns, or a path, "
                f"not {type(data).__name__}"
            )
        made = []
        for key in data.keys():
            name = str(key)
            if uses(name):
                made.append(self._column(name, data[key], words(name)))
        return made

    def _column(self, name: str, values: Any, as_words: bool) -> Tuple[Any, int]:
        column = ffi.new("struct tremolo_table_column *")
        column.name = self._keep(ffi.new("char[]", utf8(name, "a column's name")))
        array = np.asarray(values) if not hasattr(values, "dtype") else values
        if getattr(array, "ndim", 1) != 1:
            raise InputError(f"column {name!r} has {array.ndim} dimensions, not one")
        numbers = None if as_words else _numbers(array)
        if numbers is not None:
            self.kinds[name] = "numbers"
            column.numbers = ffi.cast("double *", self._buffer(numbers))
            column.stride = numbers.strides[0] // 8 if len(numbers) > 1 else 1
            return column[0], len(numbers)
        codes, listed = self._codes(array, as_words)
        self.kinds[name] = "words"
        column.codes = ffi.cast("int32_t *", self._buffer(np.ascontiguousarray(codes)))
        texts = [self._keep(ffi.new("char[]", utf8(word, f"column {name!r}"))) for word in listed]
        column.words = self._keep(ffi.new("char *[]", texts or [ffi.NULL]))
        column.word_count = len(texts)
        return column[0], len(codes)

    @staticmethod
    def _codes(array: Any, as_words: bool) -> Tuple[Any, List[str]]:
        if str(getattr(array, "dtype", "")) in ("bool", "boolean"):
            filled = array.fillna(False) if hasattr(array, "fillna") else array
            codes = np.asarray(filled, dtype=np.int32)
            if hasattr(array, "isna"):
                codes = np.where(np.asarray(array.isna()), -1, codes).astype(np.int32)
            return codes, ["no", "yes"]
        found = _category(array) or _objects(array)
        if as_words:  # 1.0 of a column with missing values is the level "1"
            codes, words = found
            return codes, [word[:-2] if word.endswith(".0") else word for word in words]
        return found

    def _keep(self, held: Any) -> Any:
        self._kept.append(held)
        return held

    def _buffer(self, array: Any) -> Any:
        """Where the first entry lies; the array is kept, and may be one that cannot be written."""
        self._keep(array)
        return ffi.cast("void *", array.ctypes.data)


def columns_of(matrix: Any, names: Iterable[str]) -> Mapping[str, Any]:
    """The columns of a matrix, which are views of it."""
    return {name: matrix[:, place] for place, name in enumerate(names)}
