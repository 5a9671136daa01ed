"""The integers that samples become in studies with terms, a second time.

    terms.py >terms.json

Written from docs/reference/protocol.md, section 1, and without the computer's floating point: every
operation is exact and then rounded to the nearest binary64 number. Terms stand here as their
factors and the text that a study has, so that reading the text is tested, too.
"""

import json
from fractions import Fraction
from math import floor

RAW_MAX = 1073741823
LOG_UNIT = Fraction(float.fromhex("0x1.62e42fefa39efp-33"))


def near(exact):
    """The nearest binary64, ties to even: Python's division of integers rounds so."""
    return exact.numerator / exact.denominator


def times(a, b):
    return near(Fraction(a) * Fraction(b))


def minus(a, b):
    return near(Fraction(a) - Fraction(b))


def over(a, b):
    return near(Fraction(a) / Fraction(b))


def log(x):
    exact, exponent = Fraction(x), 0
    while exact >= 2:
        exact, exponent = exact / 2, exponent + 1
    while exact < 1:
        exact, exponent = exact * 2, exponent - 1
    part, whole = floor(exact * 2**31), exponent
    for _ in range(32):
        part = part * part // 2**31
        bit = 1 if part >= 2**32 else 0
        part, whole = part // 2**bit, 2 * whole + bit
    return near(whole * LOG_UNIT)


def nearest_even(value):
    exact = Fraction(value)
    down = floor(exact)
    rest = exact - down
    return down + (1 if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2) else 0)


def raw(value, low, high):
    share = min(max(over(minus(value, low), minus(high, low)), 0.0), 1.0)
    return nearest_even(times(share, 2 * RAW_MAX)) - RAW_MAX


def reach(low, high, ballot):
    if not ballot:
        return low, high
    middle = near(Fraction(low) / 2 + Fraction(high) / 2)
    half = minus(high / 2, low / 2)
    return minus(middle, times(8, half)), near(Fraction(middle) + Fraction(times(8, half)))


FEATURES = [
    {"name": "age", "unit": "years", "kind": "numeric", "low": 18, "high": 90},
    {"name": "hours of sleep", "unit": "h", "kind": "numeric", "low": 4.1, "high": 9.7, "missing": 7.3},
    {"name": "income", "unit": "", "kind": "numeric", "low": 0.1, "high": 250000},
    {"name": "platform", "unit": "", "kind": "category", "levels": ["web", "iOS", "android", "unknown"],
     "missing": "unknown"},
    {"name": "smoker", "unit": "", "kind": "yes-no", "missing": "no"},
]
SLEEP = "hours of sleep"
TYPICAL = {"age": 41.7, "smoker": 0.15} # of the ballot

# The text, its factors (column, what, shift), and bounds of its own.
TERMS = [
    ("age", [("age", 1, 0.0)], None),
    ("`hours of sleep`", [(SLEEP, 1, 0.0)], None),
    ("C(platform)", [("platform", 1, 0.0)], None),
    ("smoker", [("smoker", 1, 0.0)], None),
    ("age:`hours of sleep`", [("age", 1, 0.0), (SLEEP, 1, 0.0)], (73.8, 873.0)),
    ("I((age-50)*(`hours of sleep`-7.2))", [("age", 1, 50.0), (SLEEP, 1, 7.2)], (-99.2, 80.3)),
    ("I( ( age + 0.1 ) ^ 3 )", [("age", 3, -0.1)], (5900, 735000)),
    ("log(income)", [("income", "log", 0.0)], (-2.3, 12.4)),
    ("age**2", [("age", 2, 0.0)], (324, 8100)),
    ("smoker:platform", [("smoker", 1, 0.0), ("platform", 1, 0.0)], None),
    ("log(income):platform:age", [("income", "log", 0.0), ("platform", 1, 0.0), ("age", 1, 0.0)], (-210, 1120)),
    ('Q("hours of sleep")^4', [(SLEEP, 4, 0.0)], (282, 8853)),
]

SAMPLES = [
    {"age": 41, SLEEP: 7.25, "income": 31415.93, "platform": "iOS", "smoker": "yes"},
    {"age": 18, SLEEP: 4.1, "income": 0.1, "platform": "web", "smoker": "no"},
    {"age": 90, SLEEP: 9.7, "income": 250000, "platform": "android", "smoker": "yes"},
    {"age": 17.999999999, "income": 0.05, "platform": "android"},
    {"age": 33.333333333333336, SLEEP: 6.1, "income": 1e-300},
    {"age": 67.1, SLEEP: 5.7000000000000002, "income": 65536, "platform": "unknown", "smoker": "no"},
    {"age": 1e5, SLEEP: -3, "income": 1e80, "platform": "web", "smoker": "yes"},
    {"age": 49.99999999999999, SLEEP: 7.2, "income": 2.718281828459045, "platform": "iOS", "smoker": "no"},
    {"age": 52, SLEEP: 8.4, "income": 1.9999999999999998, "platform": "iOS", "smoker": "no"},
]


def number(feature, sample):
    value = sample.get(feature["name"], feature.get("missing"))
    if feature["kind"] == "numeric":
        return float(value)
    return float((feature["levels"] if feature["kind"] == "category" else ["no", "yes"]).index(value))


def factor(feature, what, shift, level, value):
    if feature["kind"] == "category":
        return 1.0 if value == level else 0.0
    if what == "log":
        return log(max(value, feature["low"]))
    base = minus(value, shift)
    product = base
    for _ in range(what - 1):
        product = times(product, base)
    return product


def choices(factors):
    rows = [[]]
    for column, _, _ in factors:
        feature = next(one for one in FEATURES if one["name"] == column)
        levels = range(1, len(feature["levels"])) if feature["kind"] == "category" else [0]
        rows = [row + [level] for row in rows for level in levels]
    return rows


def about(typical, low, high):
    """A range of the same width about what is typical."""
    if typical is None or typical == near(Fraction(low) / 2 + Fraction(high) / 2):
        return low, high
    half = minus(high / 2, low / 2)
    return minus(typical, half), near(Fraction(typical) + Fraction(half))


def typical_of(features, plain):
    if any(feature["kind"] == "numeric" for feature in features):
        return TYPICAL.get(features[0]["name"]) if plain else None
    product = 1.0
    for feature in features:
        category = feature["kind"] == "category"
        product = times(product, over(1, len(feature["levels"])) if category else TYPICAL.get(feature["name"], 0.5))
    return product


def coordinates(sample, ballot):
    named = {feature["name"]: feature for feature in FEATURES}
    values = {feature["name"]: number(feature, sample) for feature in FEATURES}
    made = []
    for _, factors, bounds in TERMS:
        first = named[factors[0][0]]
        plain = len(factors) == 1 and bounds is None and first["kind"] == "numeric"
        low, high = map(float, (first["low"], first["high"]) if plain else bounds or (0, 1))
        if ballot:
            low, high = about(typical_of([named[column] for column, _, _ in factors], plain), low, high)
        for levels in choices(factors):
            product = 1.0
            for (column, what, shift), level in zip(factors, levels):
                product = times(product, factor(named[column], what, shift, level, values[column]))
            made.append(raw(product, *reach(low, high, ballot)))
    return made


def study(ballot):
    terms = [text if bounds is None else {"term": text, "low": bounds[0], "high": bounds[1]}
             for text, _, bounds in TERMS]
    typical = TYPICAL if ballot else {}
    features = [{**one, **({"typical": typical[one["name"]]} if one["name"] in typical else {})} for one in FEATURES]
    return {
        "tremolo": 1, "title": "Terms", "features": features, "terms": terms,
        "response": {"name": "score", "low": 0, "high": 100},
        "privacy": {"epsilon": 8, "neighbours": "any", "protects": "all"},
        "protocol": {"kind": "one-shot", "release": "ballot" if ballot else "sample"},
    }


vectors = []
for is_ballot in (False, True):
    cases = [{"sample": {**sample, "score": 50}, "features": coordinates(sample, is_ballot)} for sample in SAMPLES]
    vectors.append({"study": study(is_ballot), "cases": cases})
print(json.dumps(vectors, indent=1))
