"""A device from Python: for tests, for gateways, and for machines with one sample."""

from __future__ import annotations

import base64
import json
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple, Union

from ._library import check, ffi, lib, room, text, utf8
from .errors import InputError

__all__ = ["Device", "Receipt", "Exchange"]

Exchange = Callable[[str, str, bytes, Dict[str, str]], Tuple[int, bytes]]
"""A transport of your own: (method, url, body, headers) -> (status, body); status 0: no answer."""


class Receipt(NamedTuple):
    """What became of a report."""

    round: int
    report_id: str
    report_bytes: int
    repeated: bool
    attempts: int
    epsilon_left: Optional[float]


def _key(given: Union[str, bytes, None], size: int, what: str) -> Any:
    """Bytes of a key, from bytes or from unpadded base64url."""
    if given is None:
        return ffi.NULL
    if isinstance(given, str):
        place = ffi.new("uint8_t[]", size)
        check(lib.tremolo_base64_decode(place, size, utf8(given, what)), f"{what} is not base64url of {size} bytes")
        return place
    if len(given) != size:
        raise InputError(f"{what} has {len(given)} bytes, not {size}")
    return ffi.new("uint8_t[]", bytes(given))


def _policy(given: Union[str, Mapping[str, Any], None]) -> Any:
    if given is None:
        return ffi.NULL
    encoded = utf8(given if isinstance(given, str) else json.dumps(given), "the policy")
    policy, why = ffi.new("struct tremolo_policy *"), room(512)
    check(lib.tremolo_policy_parse(policy, why, 512, encoded, len(encoded)), text(why))
    return policy


@ffi.def_extern(error=-1)  # type: ignore[untyped-decorator, unused-ignore]
def tremolo_python_exchange(context: Any, answer: Any, request: Any) -> int:
    """The library asks for an exchange; whatever fails in Python is no answer, and kept."""
    device: Device = ffi.from_handle(context)
    headers = {}
    if request.media_type != ffi.NULL:
        headers["Content-Type"] = text(request.media_type)
    if request.device != ffi.NULL:
        headers["Tremolo-Device"] = text(request.device)
    body = bytes(ffi.buffer(request.body, request.body_length)) if request.body_length else b""
    try:
        assert device._exchange is not None
        status, made = device._exchange(text(request.method), text(request.url), body, headers)
    except BaseException as problem:
        device._problem = problem
        status, made = 0, b""
    if len(made) > request.answer_max:
        status, made = 0, b""
    answer.status, answer.retry_after_s, answer.length = int(status), -1, len(made)
    ffi.memmove(answer.body, made, len(made))
    answer.body[len(made)] = 0
    return 0


class Device:
    """One device of one study, with a ledger on disk that never spends twice.

    `study` is the study's address. The ledger is in `state`; without one `enrol=True` makes it,
    with the budgets of `policy`. Trust comes from `server_key` (as `tremolo study publish` prints
    it), from a key pinned in `state`, or, said aloud, from `trust_new=True`. The same call after a
    crash sends the same bytes. `exchange` replaces the network, for gateways that carry the bytes
    otherwise. One thread at a time uses a device.
    """

    def __init__(
        self,
        study: str,
        state: Union[str, Path],
        *,
        enrol: bool = False,
        trust_new: bool = False,
        server_key: Union[str, bytes, None] = None,
        policy: Union[str, Mapping[str, Any], None] = None,
        device_id: Optional[bytes] = None,
        mac_key: Union[str, bytes, None] = None,
        ca_file: Optional[str] = None,
        give_up_seconds: float = 300.0,
        exchange: Optional[Exchange] = None,
    ) -> None:
        self._lock = threading.Lock()
        self._exchange = exchange
        self._problem: Optional[BaseException] = None
        self._client = None
        options = ffi.new("struct tremolo_client_options *")
        kept = [ffi.new("char[]", utf8(study, "study")), ffi.new("char[]", utf8(str(state), "state"))]
        options.study_url, options.state_directory = kept
        policy_held = _policy(policy)
        key = _key(server_key, lib.TREMOLO_SIGNING_PUBLIC_BYTES, "server_key")
        mac = _key(mac_key, lib.TREMOLO_MAC_KEY_BYTES, "mac_key")
        options.policy, options.server_key, options.mac_key = policy_held, key, mac
        options.trust_new, options.enrol = bool(trust_new), bool(enrol)
        name = ffi.new("uint8_t[]", bytes(device_id)) if device_id else ffi.NULL
        options.device_id, options.device_id_length = name, len(device_id or b"")
        ca = ffi.NULL if ca_file is None else ffi.new("char[]", utf8(ca_file, "ca_file"))
        options.ca_file = ca
        options.attempt_ms, options.give_up_ms = 20000, int(1000 * give_up_seconds)
        surroundings = ffi.NULL
        if exchange is not None:
            self._handle = ffi.new_handle(self)
            surroundings = ffi.new("struct tremolo_client_surroundings *")
            surroundings.context = self._handle
            surroundings.exchange = lib.tremolo_python_exchange
        self._surroundings = surroundings
        place, why = ffi.new("struct tremolo_client **"), room(lib.TREMOLO_CLIENT_WHY_BYTES)
        status = lib.tremolo_client_open(place, why, options, surroundings)
        self._check(status, text(why))
        self._client = ffi.gc(place[0], lib.tremolo_client_close)

    def _check(self, status: int, why: str) -> None:
        problem, self._problem = self._problem, None
        if problem is not None and not isinstance(problem, Exception):
            raise problem  # Ctrl-C within the transport
        if status != lib.TREMOLO_OK and problem is not None:
            raise problem
        check(status, why)

    def report(self, sample: Mapping[str, Any], number: int = 0) -> Receipt:
        """Make, or repeat, this device's report of the open round, and send it until answered.

        `sample` has a value for every feature and the response. A report that was made before is
        sent again byte for byte, at no charge, whatever the sample holds now.
        """
        encoded = utf8(json.dumps(dict(sample), allow_nan=False), "the sample")
        with self._lock:
            client = self._client
            if client is None:
                raise InputError("the device is closed")
            receipt = ffi.new("struct tremolo_client_receipt *")
            status = lib.tremolo_client_sample(client, encoded, len(encoded))
            if status == lib.TREMOLO_OK:
                status = lib.tremolo_client_sample_number(client, number)
            if status == lib.TREMOLO_OK:
                status = lib.tremolo_client_report(client, receipt)
            self._check(status, text(lib.tremolo_client_why(client)))
        digest = bytes(receipt.report_id)
        return Receipt(
            receipt.round,
            base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            receipt.report_bytes,
            bool(receipt.repeated),
            receipt.attempts,
            receipt.budget_left / 2.0**24 if receipt.of_epsilon else None,
        )

    def close(self) -> None:
        """Unlock the ledger and wipe the sample."""
        with self._lock:
            client, self._client = self._client, None
            if client is not None:
                ffi.release(client)

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()
