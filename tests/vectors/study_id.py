"""The id of a study a second time: canonical CBOR and BLAKE2b in Python.

    study_id.py FILE    FILE is what `tremolo study show --json` printed

Written from docs/protocol.md, section 2. Prints the id in base64url.
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


def share(entry):
    return 1 / len(entry["levels"]) if entry["kind"] == "category" else entry.get("typical", 0.5)


def coordinates(study):
    """Range and typical value of each coordinate; of terms only those without back quotes."""
    features = {entry["name"]: entry for entry in study["features"]}
    for written in study.get("terms", list(features)):
        text = written if isinstance(written, str) else written["term"]
        factors = [factor.strip("` ").removeprefix("C(").removesuffix(")") for factor in text.split(":")]
        used = [features.get(name) for name in factors]
        plain = len(used) == 1 and used[0] is not None
        low, high, typical = 0.0, 1.0, None
        if None not in used and all(entry["kind"] != "numeric" for entry in used):
            typical = 1.0
            for entry in used:
                typical *= share(entry)
        else:
            bounds = used[0] if plain else written
            low, high = float(bounds["low"]), float(bounds["high"])
            typical = used[0].get("typical") if plain else None
        middle = low / 2 + high / 2
        times = 1
        for entry in used:
            times *= len(entry["levels"]) - 1 if entry is not None and entry["kind"] == "category" else 1
        for _ in range(times):
            yield low, high, middle if typical is None else float(typical)


def ranges(study):
    """The ranges that a ballot is scaled by, where one is not the written one."""
    made, own = [], True
    for low, high, typical in coordinates(study):
        if typical != low / 2 + high / 2:
            low, high, own = typical - (high / 2 - low / 2), typical + (high / 2 - low / 2), False
        made.append([low, high])
    return [] if own else [made]


def canonical(study):
    limits, response = study["limits"], study["response"]
    is_ballot = study["protocol"].get("release") == "ballot"
    promised, protocol, integers = ballot(study) if is_ballot else sample(study)
    derived = derivation(study)
    scaled = ranges(study) if is_ballot else []
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
