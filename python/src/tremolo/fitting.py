"""From reports to a result: a file of them, a server's directory, or a server."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Optional, Union

from ._library import check, ffi, lib, room, run, take_text, text, utf8
from .errors import InputError, SystemFailure
from .result import Result

__all__ = ["fit"]

_METHODS = {
    "auto": lib.TREMOLO_PREDICTOR_AUTO,
    "one-shot": lib.TREMOLO_PREDICTOR_ONE_SHOT,
    "unbiased": lib.TREMOLO_PREDICTOR_UNBIASED,
    "pooled": lib.TREMOLO_PREDICTOR_POOLED,
    "iterative": lib.TREMOLO_PREDICTOR_ITERATIVE,
}
_ANSWER_MAX = 64 * 1024 * 1024
_SECONDS = 60


def fit(
    source: Union[str, Path],
    *,
    study: Optional[str] = None,
    method: str = "auto",
    ridge: Optional[float] = None,
    level: float = 0.95,
) -> Result:
    """Learn the regression from reports.

    `source` is a file of reports, the data directory of a server that is not running (`study`
    says which, when it has several), or a study's address, which ends in /v1/studies/ and its id.
    A server and its data have the method auto alone; `ridge` is of one-shot, 0.5 unless given.
    """
    where = os.fspath(source)
    if not 0.0 < level < 1.0:
        raise InputError("level must be between 0 and 1")
    if method not in _METHODS:
        raise InputError(f"method must be one of {', '.join(_METHODS)}, not {method!r}")
    if method != "auto" and ("://" in where or os.path.isdir(where)):
        raise InputError(f"method {method} needs a file of reports")
    if ridge is not None and method != "one-shot":
        raise InputError(f"ridge has no effect with the method {method}")
    if "://" in where:
        return Result(_fetch(where, level))
    place = ffi.new("char **")
    if os.path.isdir(where):
        words = room(lib.TREMOLO_WORDS_BYTES)
        chosen = ffi.NULL if study is None else ffi.new("char[]", utf8(study, "study"))
        path = utf8(where, "the path")
        status = run(
            lambda _: lib.tremolo_server_offline(place, path, chosen, level, words), "reading", False
        )
        check(status, text(words), where)
        return Result(take_text(place[0]))
    options = ffi.new("struct tremolo_report_fit_options *")
    options.predictor, options.ridge, options.level = _METHODS[method], 0.5 if ridge is None else ridge, level
    error = room(lib.TREMOLO_REPORT_FILE_ERROR_BYTES)
    path = utf8(where, "the path")
    status = run(lambda _: lib.tremolo_report_fit_json(place, path, options, error), "fitting", False)
    check(status, text(error), where)
    return Result(take_text(place[0]))


def _fetch(address: str, level: float) -> str:
    if not lib.tremolo_client_is_safe_url(utf8(address, "the address")):
        raise InputError(f"{address}: an address is https, or http on this machine")
    if "/studies/" not in address:
        raise InputError(
            f"{address} is no study's address, which ends in /v1/studies/ and its id"
        )
    url = address.rstrip("/") + "/estimate" + ("" if level == 0.95 else f"?level={level!r}")
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
            body = answer.read(_ANSWER_MAX + 1)
    except urllib.error.HTTPError as problem:
        raise InputError(f"{url} answered {problem.code}{_detail(problem)}") from None
    except (urllib.error.URLError, OSError) as problem:
        raise SystemFailure(f"{url}: {getattr(problem, 'reason', problem)}") from None
    if len(body) > _ANSWER_MAX:
        raise InputError(f"{url}: the answer is too long")
    try:
        return str(body, "utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{url}: this is not an estimate") from None


def _detail(problem: urllib.error.HTTPError) -> str:
    """What the server says was wrong, as the command passes it on."""
    try:
        said = json.loads(problem.read(_ANSWER_MAX))["detail"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return f": {said}"
