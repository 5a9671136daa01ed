"""The id of a study a second time: canonical CBOR and BLAKE2b in Python.

    study_id.py FILE    FILE is what `tremolo study show --json` printed

Written from docs/reference/protocol.md, section 2. Prints the id in base64url.
"""

import base64
import calendar
import hashlib
import json
import struct
import sys
import time


def head(major, value):
    for size, code, limit in ((0, 0, 24), (1, 24, 2**8), (2, 25, 2**16), (4, 26, 2**32), (8, 27, 2**64)):
        if value < limit:
            first = bytes([major << 5 | (value if size == 0 else code)])
            return first + (value.to_bytes(size, "big") if size else b"")
    raise ValueError(value)


def encode(item):
    if item is None:
        return b"\xf6"
    if isinstance(item, str):
        return head(3, len(item.encode())) + item.encode()
    if isinstance(item, list):
        return head(4, len(item)) + b"".join(map(encode, item))
    if isinstance(item, float):
        return b"\xfb" + struct.pack(">d", item + 0.0)
    return head(0, item)


def date(text):
    return None if text is None else calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def feature(entry):
    kind = ["numeric", "category", "yes-no"].index(entry["kind"])
    low, high = (entry["low"], entry["high"]) if kind == 0 else (0, 1)
    return [entry["name"], entry["unit"], kind, float(low), float(high), entry.get("levels", [])]


def ballot(study):
    """What a ballot has in place of the guarantee, the protocol and the grid."""
    privacy, mechanism = study["privacy"], study["mechanism"]
    return ([float(privacy["epsilon"]), ["features", "all"].index(privacy["protects"])], [1],
            [mechanism[key] for key in ("constant", "response_weight", "rank_first", "rank_top")])


def sample(study):
    privacy, protocol, mechanism = study["privacy"], study["protocol"], study["mechanism"]
    near = privacy["neighbours"]
    close = protocol.get("close", {})
    reals = [float(protocol.get(key, 0)) for key in ("alpha", "lambda", "omega", "radius", "step")]
    return ([float(privacy["epsilon"]), float(privacy["delta"]),
             0.0 if near == "any" else float(near["distance"]), float(privacy["clip"]),
             ["features", "all"].index(privacy["protects"])],
            [["one-shot", "iterative"].index(protocol["kind"]),
             ["exact", "zcdp", "paper"].index(protocol["calibration"]),
             protocol.get("rounds", 1), protocol["vectors"], *reals,
             close.get("reports", 0), close.get("seconds", 0)],
            [mechanism[key] for key in ("noise_log2", "wire_shift", "wire_bits", "keep", "unit",
                                        "clip", "distance", "amplitude", "frequency")])


def missing(entry):
    if "missing" not in entry:
        return None
    levels = entry.get("levels", ["no", "yes"])
    return float(entry["missing"] if entry["kind"] == "numeric" else levels.index(entry["missing"]))


def term(entry):
    entry = {"term": entry} if isinstance(entry, str) else entry
    return [entry["term"], *(float(entry[key]) if key in entry else None for key in ("low", "high"))]


def derivation(study):
    """How coordinates follow from features, in studies that say it."""
    if "terms" not in study and not any("missing" in entry for entry in study["features"]):
        return []
    return [list(map(missing, study["features"])), list(map(term, study.get("terms", [])))]


def typical(study):
    """What a ballot's features say is typical, where its ranges need not be the written ones."""
    features = study["features"]
    if "terms" not in study and not any("typical" in one or one["kind"] == "category" for one in features):
        return []
    return [[float(one["typical"]) if "typical" in one else None for one in features]]


def canonical(study):
    limits, response = study["limits"], study["response"]
    is_ballot = study["protocol"].get("release") == "ballot"
    promised, protocol, integers = ballot(study) if is_ballot else sample(study)
    derived = derivation(study)
    scaled = typical(study) if is_ballot else []
    return encode([
        "tremolo study", (2 if is_ballot else 1) + (2 if derived else 0) + 4 * len(scaled), study["title"], study["purpose"],
        [feature(entry) for entry in study["features"]],
        [response["name"], response["unit"], float(response["low"]), float(response["high"])],
        *derived, *scaled, promised, protocol,
        [limits["devices"], limits["samples"], date(limits.get("opens")), date(limits.get("closes")),
         ["open", "keys"].index(limits["enrolment"])],
        integers,
    ])


with open(sys.argv[1], encoding="utf-8") as stream:
    shown = json.load(stream)
digest = hashlib.blake2b(canonical(shown["study"]), digest_size=32).digest()
print(base64.urlsafe_b64encode(digest).decode().rstrip("="))
