"""A device that shares no code with ours, for tests/e2e/independent.sh.

    independent_client.py URL STUDY COUNT [SEED]

Fetches the study and its round as docs/reference/protocol.md says, makes COUNT noisy and
modulated samples as docs/reference/wire-format.md says (tests/vectors/mechanism.py holds that page
in Python) and sends each, then the first one again, and then other bytes under its
id. Prints the round's number and the HTTP statuses. The study's ranges in thousandths are
the device's own units; a real device checks signatures and keeps a ledger, too.
"""

import base64
import hashlib
import json
import pathlib
import sys
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "vectors"))
import mechanism  # noqa: E402

UNITS = 1000


def integers_of(identifier, text):
    """What a device needs of a study, as integers."""
    bounds = lambda item: [round(item["low"] * UNITS), round(item["high"] * UNITS)]
    study = dict(text["mechanism"])
    study["id"] = base64.urlsafe_b64decode(identifier + "=")
    study["bounds"] = [bounds(feature) for feature in text["features"]]
    study["response_bounds"] = bounds(text["response"])
    study["dimension"] = len(study["bounds"])
    study["private"] = int(text["privacy"]["protects"] == "all")
    study["ballot"] = 0
    return study


def within(bounds, entropy):
    low, high = bounds
    return low + int.from_bytes(entropy, "big") % (high - low + 1)


def report_of(study, vectors, number, seed):
    """One made-up person's report."""
    entropy = hashlib.shake_256(seed.encode()).digest(32 + 4 * (study["dimension"] + 1))
    raw = [within(b, entropy[32 + 4 * i : 36 + 4 * i])
           for i, b in enumerate(study["bounds"] + [study["response_bounds"]])]
    generator = mechanism.Generator(entropy[:32])
    return mechanism.release(study, vectors, number, raw[:-1], raw[-1], generator, b"")[0]


def post(url, report):
    request = urllib.request.Request(url + "/reports", report, {"Content-Type": "application/cbor"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as refusal:
        return refusal.code


def main():
    url, identifier, count = sys.argv[1] + "/v1/studies/" + sys.argv[2], sys.argv[2], int(sys.argv[3])
    fetch = lambda path: json.load(urllib.request.urlopen(url + path, timeout=20))
    study, current = integers_of(identifier, fetch("")["study"]), fetch("/round")
    reports = [report_of(study, current["vectors"], current["round"], f"{sys.argv[4:]} {i}")
               for i in range(count)]
    # The last byte of the coordinates, or of its filling, in an array without a MAC.
    changed = reports[0][:-2] + bytes([reports[0][-2] ^ 1, reports[0][-1]])
    statuses = [post(url, report) for report in reports + [reports[0], changed]]
    print(current["round"], *statuses)


main()
