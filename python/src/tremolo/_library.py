"""The library behind the package: errors, texts, and work that can be watched and stopped."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Dict, List, Optional, Type, cast

from . import errors
from ._binding import ffi, lib

__all__ = ["ffi", "lib", "check", "take_document", "take_text", "document_text", "text", "run", "room", "utf8"]

_KINDS: Dict[int, Type[errors.TremoloError]] = {
    lib.TREMOLO_KIND_CALLER: errors.InputError,
    lib.TREMOLO_KIND_INPUT: errors.InputError,
    lib.TREMOLO_KIND_SYSTEM: errors.SystemFailure,
    lib.TREMOLO_KIND_STORE: errors.SystemFailure,
    lib.TREMOLO_KIND_NUMERICAL: errors.NumericalError,
    lib.TREMOLO_KIND_PRIVACY: errors.PrivacyError,
}


def text(pointer: Any) -> str:
    """A C string, of the library's or of a buffer; bytes that are not UTF-8 are shown as such."""
    if pointer == ffi.NULL:
        return ""
    return cast(bytes, ffi.string(pointer)).decode("utf-8", "backslashreplace")


def utf8(value: str, what: str = "the text") -> bytes:
    """Text as C takes it: UTF-8 without a zero byte."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    try:
        encoded = value.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise errors.InputError(f"{what} is not valid text: {problem.reason}") from None
    if b"\0" in encoded:
        raise errors.InputError(f"{what} holds a zero byte")
    return encoded


def room(size: int) -> Any:
    """A buffer for a sentence."""
    return ffi.new("char[]", size)


def refused(refusal: Any) -> errors.InputError:
    """What a request was refused for, with the argument's name for the member's."""
    why = text(refusal.why)
    return errors.InputError(f"{text(refusal.member)} {why}" if refusal.member else why)


def check(status: int, why: str = "", where: str = "") -> None:
    """Raise the exception of a status other than OK, with `why`, or its own sentence."""
    if status == lib.TREMOLO_OK:
        return
    if status == lib.TREMOLO_NO_MEMORY:
        raise MemoryError(why or "out of memory")
    if status == lib.TREMOLO_STOPPED:
        raise KeyboardInterrupt
    sentence = why or text(lib.tremolo_status_sentence(status))
    kind = _KINDS.get(lib.tremolo_status_kind(status), errors.TremoloError)
    raise kind(f"{where}: {sentence}" if where else sentence, text(lib.tremolo_status_name(status)))


def take_text(pointer: Any) -> str:
    """A text that the library made for us, which is freed."""
    if pointer == ffi.NULL:
        raise MemoryError("out of memory")
    try:
        return text(pointer)
    finally:
        lib.free(pointer)


def take_document(pointer: Any) -> Dict[str, Any]:
    """A JSON document that the library made for us."""
    return cast(Dict[str, Any], json.loads(take_text(pointer)))


def document_text(document: str, full: bool) -> str:
    """The text of a document, as the command prints it."""
    encoded = document.encode()
    return take_text(lib.tremolo_document_text(encoded, len(encoded), full)).rstrip("\n")


class _Silent:
    total: Optional[float] = None
    n: float = 0

    def refresh(self) -> None:
        pass

    def close(self) -> None:
        pass


def _bar(what: str, wanted: Optional[bool]) -> Any:
    """tqdm's bar where there is tqdm; without it there is none, unless one was asked for."""
    if wanted is False:
        return _Silent()
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if wanted:
            raise ImportError("a progress bar needs tqdm: pip install tqdm") from None
        return _Silent()
    # disable=None: nothing is drawn without a terminal.
    return tqdm(desc=what, total=0, leave=False, delay=0.5, disable=None if wanted is None else False)


def run(call: Callable[[Any], Any], what: str, progress: Optional[bool] = None) -> Any:
    """Do long work in a thread of its own; the GIL is free, and Ctrl-C stops it.

    `call` gets the library's progress; what it returns, or raises, is passed on. When this thread
    is interrupted the work is asked to stop and waited for. Everything that the work reads belongs
    to `call` and is freed there, so that not even a second Ctrl-C leaves it without its memory.
    """
    work = ffi.gc(lib.work_new(), lib.work_free)
    if work == ffi.NULL:
        raise MemoryError("out of memory")
    outcome: List[Any] = []
    # Not Thread.join(), which an interrupt makes believe that the thread has ended.
    done = threading.Event()

    def target() -> None:
        try:
            outcome.append((call(lib.work_progress(work)), None))
        except BaseException as problem:  # goes on in the caller's thread
            outcome.append((None, problem))
        finally:
            done.set()

    bar = _bar(what, progress)
    threading.Thread(target=target, name="tremolo " + what, daemon=True).start()
    try:
        done.wait(0.02)
        while not done.is_set():
            bar.total, bar.n = lib.work_steps(work), lib.work_done(work)
            bar.refresh()
            done.wait(0.1)
    finally:
        lib.work_stop(work)
        done.wait()
        bar.close()
    value, problem = outcome[0]
    if problem is not None:
        raise problem
    return value
