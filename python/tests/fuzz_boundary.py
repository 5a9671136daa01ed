"""Hostile values across the boundary: every call ends, well or with an exception.

    python tests/fuzz_boundary.py SECONDS [SEED]

Meant for a library built with ASan and UBSan, where any bad access ends the process; as part of
the tests a second of it shows that the generator itself works. Deterministic for a seed.
"""

import json
import math
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import tremolo

ALLOWED = (tremolo.TremoloError, TypeError, ValueError, OverflowError, MemoryError, RecursionError, OSError)

STUDY = tremolo.Study.build(
    title="t", features={"a": (0, 1), "g": ["p", "q"]}, response=("y", (0, 1)), epsilon=1
).to_json()
NUMBERS = [0, 1, -1, 0.5, 2, 1e-320, 1e300, -1e300, math.nan, math.inf, -math.inf, 2**31, 2**63,
           2**64, True, None, "1", b"1", [], "any", "distance=1", "distance=nan", "\0", "\ud800", "x" * 5000]


def mutate(dice, text):
    """Change bytes, cut, repeat, or replace values of a JSON text."""
    how = dice.randrange(5)
    if how == 0:
        return text[: dice.randrange(len(text) + 1)]
    place = dice.randrange(len(text))
    if how == 1:
        return text[:place] + chr(dice.choice([0, 1, 34, 44, 92, 123, 125, 0x80, 0xD800, 0x10FFFF])) + text[place + 1 :]
    if how == 2:
        return text[:place] + text[max(0, place - dice.randrange(200)) :]
    document = json.loads(text)
    held = document
    for _ in range(dice.randrange(4)):
        children = [
            (held, key)
            for key in (held if isinstance(held, dict) else range(len(held)) if isinstance(held, list) else [])
        ]
        if not children:
            break
        parent, key = dice.choice(children)
        if dice.random() < 0.5 or not isinstance(parent[key], (dict, list)):
            parent[key] = dice.choice([None, -1, 1e308, "", "x" * 300, [], {}, [[]] * 300, True, 2**70, {"a": []}])
            break
        held = parent[key]
    return json.dumps(document)


def column(dice, rows):
    made = dice.randrange(10)
    base = np.linspace(-1, 1, rows + 4)
    if made == 0:
        return base[:rows]
    if made == 1:
        return base[::2][:rows]
    if made == 2:
        return [dice.choice(["a", "b", "", None, "\ud800", "x" * 5000, "2020-01-01"]) for _ in range(rows)]
    if made == 3:
        return np.array([dice.choice([0.0, 1.0, math.nan, math.inf, 1e300]) for _ in range(rows)])
    if made == 4:
        return np.arange(rows, dtype=dice.choice(["i1", "u8", ">i4", "f2", ">f8", "f4"]))
    if made == 5:
        return np.arange(rows) % 2 == 0
    if made == 6:
        return np.zeros((rows, 2))
    if made == 7:
        return base[:rows][::-1]
    if made == 8:
        return np.broadcast_to(np.float64(3.0), (rows,))
    return np.array([object() for _ in range(rows)])


def one(dice, folder, document):
    what = dice.randrange(8)
    pick = lambda: dice.choice(NUMBERS)
    if what == 0:
        made = tremolo.Study(mutate(dice, STUDY))
        made.guarantee, made.id, made.features
    elif what == 1:
        made = tremolo.Result(mutate(dice, document))
        made.summary(), made._repr_html_(), made.conf_int(level=0.5), made.cov_params()
    elif what == 2:
        rows = dice.choice([0, 1, 2, 5, 40, 80])
        names = dice.sample(["y", "a", "g", "a b", 'q"', "\0", "\ud800", "", "ü", "~"], dice.randrange(1, 6))
        data = {name: column(dice, dice.choice([rows] * 6 + [rows + 1])) for name in names}
        options = {
            name: pick()
            for name in dice.sample(
                ["epsilon", "neighbours", "protect", "release", "method", "seed", "threads", "test_share",
                 "delta", "rounds", "features", "bounds"],
                dice.randrange(4),
            )
        }
        for name in ("threads", "rounds"):  # large ones are allowed, and slow
            if isinstance(options.get(name), (int, float)) and options[name] > 4:
                del options[name]
        arguments = {"response": dice.choice(["y", "a", "nope"]), "epsilon": 1, **options}
        tremolo.simulate(data, **arguments)
    elif what == 3:
        tremolo.account.epsilon(sigma=pick(), sensitivity=pick(), releases=pick(), delta=pick())
    elif what == 4:
        tremolo.explain(epsilon=pick(), delta=pick(), neighbours=pick(), releases=pick(), dimension=pick())
    elif what == 5:
        tremolo.plan(dimension=dice.choice([1, 3, pick()]), devices=pick(), epsilon=dice.choice([1, pick()]),
                     neighbours=pick(), r2=pick(), half_width=pick(), effect=pick())
    elif what == 6:
        path = folder / "reports"
        path.write_bytes(bytes(mutate(dice, "tremolo reports 2\n" + STUDY + "\n"), "utf-8", "surrogatepass"))
        tremolo.fit(path, level=dice.choice([0.5, 0.95, pick()]), method=dice.choice(["auto", "pooled", pick()]))
    else:
        tremolo.Device(dice.choice(["http://127.0.0.1:9/v1/studies/" + "A" * 43, pick(), "x"]), folder / "state",
                       policy=dice.choice([None, mutate(dice, '{"epsilon_total": 8, "delta": 1e-5}'), pick()]),
                       server_key=pick(), mac_key=pick(), give_up_seconds=0.01,
                       exchange=lambda *_: (dice.choice([0, 200, 404, 500]), dice.choice([b"", b"{}", b"x" * 10**6])))


def run(seconds, seed):
    warnings.simplefilter("ignore")
    document = tremolo.simulate(
        {"x": np.linspace(0, 1, 200), "y": np.sin(np.arange(200.0))}, response="y", epsilon=1, seed=1
    ).to_json()
    dice, end, calls, refused = random.Random(seed), time.monotonic() + seconds, 0, 0
    with tempfile.TemporaryDirectory() as name:
        while time.monotonic() < end:
            calls += 1
            try:
                one(dice, Path(name), document)
            except ALLOWED:
                refused += 1
    return calls, refused


if __name__ == "__main__":
    calls, refused = run(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print(f"{calls} calls, {refused} of them refused")
