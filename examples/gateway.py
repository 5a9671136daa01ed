#!/usr/bin/env python3
"""gateway.py -- one report each for sensors that cannot make their own.

    gateway.py STUDY STATE --server-key KEY [--enrol] < readings

STUDY is the study's address, STATE a folder with a ledger for every sensor, KEY the server's key as
`tremolo serve` prints it. A reading is a line of JSON with the sensor's name and a value for each of the
study's features and the response: {"sensor": "kitchen-2", "sleep": 7.2, "smoker": "no", "heart rate": 61}.

Every sensor is a device of its own: it pays from its own budget, and its report is made once. Later
readings of the same sensor send nothing new. The sensors trust this program, which sees their readings as
they are: run it where they belong. A sensor without a ledger is refused unless --enrol is given, because a
ledger that was lost would otherwise become a second budget.

Exits with 0 when every sensor's report has arrived, with 1 when some are refused or still owed.
"""
import argparse
import json
import re
import sys
import time
from pathlib import Path

from tremolo import Device, TremoloError
from tremolo.errors import SystemFailure

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PAUSES_S = (1, 5, 30, 120)  # between rounds over what is still owed


def readings(lines):
    """The first reading of every sensor, by name; what cannot be read is said and left out."""
    found = {}
    for number, line in enumerate(lines, 1):
        try:
            reading = json.loads(line)
            sensor = reading.pop("sensor")
        except (ValueError, KeyError, AttributeError, TypeError):
            print(f"line {number}: not a reading with a sensor's name", file=sys.stderr)
            continue
        if not isinstance(sensor, str) or NAME.fullmatch(sensor) is None:
            print(f"line {number}: a sensor's name has letters, digits, dots, dashes: {sensor!r:.80}", file=sys.stderr)
            continue
        found.setdefault(sensor, reading)
    return found


def report(options, sensor, reading):
    """True once the server has the sensor's report, False to try again; raises a refusal."""
    try:
        with Device(options.study, Path(options.state) / sensor, server_key=options.server_key, enrol=options.enrol,
                    give_up_seconds=options.seconds) as device:
            receipt = device.report(reading)
    except SystemFailure as failure:
        print(f"{sensor}: {failure}; it is kept and sent again", file=sys.stderr)
        return False
    print(f"{sensor}: {'had arrived' if receipt.repeated else 'accepted'}, {receipt.report_bytes} bytes", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study")
    parser.add_argument("state")
    parser.add_argument("--server-key", required=True)
    parser.add_argument("--enrol", action="store_true", help="make a ledger for sensors that have none")
    parser.add_argument("--seconds", type=float, default=60, help="to wait for the server, each time")
    options = parser.parse_args()
    Path(options.state).mkdir(mode=0o700, parents=True, exist_ok=True)
    owed, refused = readings(sys.stdin), 0
    for pause in (*PAUSES_S, None):
        for sensor, reading in list(owed.items()):
            try:
                if report(options, sensor, reading):
                    del owed[sensor]
            except TremoloError as refusal:
                print(f"{sensor}: {refusal}", file=sys.stderr)
                refused += 1
                del owed[sensor]
        if not owed or pause is None:
            break
        time.sleep(pause)
    return 1 if owed or refused else 0


if __name__ == "__main__":
    sys.exit(main())
