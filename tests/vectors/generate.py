"""Write the device's test vectors.

    generate.py json FILE      the vectors as JSON, one case a line
    generate.py header FILE    the same as a C header for bare metal
    generate.py json FILE header FILE    both, computed once

Everything is derived from mechanism.py and from fixed strings, so the output
never changes unless the mechanism does. A case is one study on one device: a
ledger with a budget, and a list of requests in order. Enrolment and each request carry
the entropy the platform will give, and what must come back: a status, the
report's bytes, the coordinates on the wire grid and what the ledger has left.
"""

import hashlib
import json
import sys

import mechanism

DIMENSION_LARGE = 64  # cases beyond this are for hosts

# The statuses a request can meet here, as src/include/tremolo_status.h numbers them.
STATUS = {"OK": 0, "MALFORMED": 31, "UNKNOWN_VERSION": 32, "WRONG_STUDY": 33, "OUT_OF_BOUNDS": 34,
          "BUDGET_EXHAUSTED": 90, "ROUND_PASSED": 96}


class Source:
    """Reproducible numbers from a name."""

    def __init__(self, name):
        self.name = name
        self.count = 0

    def bytes(self, length):
        self.count += 1
        return hashlib.shake_256(f"{self.name}/{self.count}".encode()).digest(length)

    def between(self, low, high):
        return low + int.from_bytes(self.bytes(12), "big") % (high - low + 1)


# ------------------------------------------------------------------ studies


def orthonormal(source, count, dimension):
    """Gram-Schmidt; IEEE sums, products and roots are the same everywhere."""
    rows = []
    while len(rows) < count:
        row = [float(source.between(-1000, 1000)) for _ in range(dimension)]
        for _ in range(2):
            for other in rows:
                dot = sum(a * b for a, b in zip(row, other))
                row = [a - dot * b for a, b in zip(row, other)]
        norm = sum(a * a for a in row) ** 0.5
        if norm > 1:
            rows.append([a / norm for a in row])
    return [[round(a * mechanism.VECTOR_ONE) for a in row] for row in rows]


def hadamard(dimension):
    """An orthonormal set without any rounding, for dimension 4, 16, 64 ..."""
    entry = mechanism.VECTOR_ONE // mechanism.isqrt(dimension)
    sign = lambda i, j: -1 if bin(i & j).count("1") % 2 else 1
    return [[entry * sign(i, j) for j in range(dimension)] for i in range(dimension)]


def random_bounds(source):
    low = source.between(-(10**6), 10**6)
    return [low, low + source.between(1, 10 ** source.between(1, 6))]


def study_of(name, dimension, vectors=0, **changes):
    """A study at the default grid: unit 2^18, noise 2^18, 12 bits."""
    source = Source(name)
    study = {
        "id": source.bytes(32), "bounds": [random_bounds(source) for _ in range(dimension)],
        "response_bounds": random_bounds(source), "unit": 2**18, "clip": 2**18, "distance": 0,
        "amplitude": 60000 // mechanism.root_up(vectors) if vectors else 0,
        "frequency": 70001 if vectors else 0, "dimension": dimension, "keep": 2**14,
        "vectors": vectors, "rounds": 1, "samples": 1, "noise_log2": 18, "wire_shift": 12,
        "wire_bits": 12, "private": 0, "ballot": 0, "rank_first": 0, "rank_top": 0, "constant": 0,
        "response_weight": 0,
    }
    study.update(changes)
    return study


def ballot_of(name, dimension, private, **changes):
    """A ballot with about the default constants and epsilon 2."""
    study = study_of(name, dimension, private=private, ballot=1, rank_first=57, rank_top=2923410234,
                     constant=282, response_weight=515 * private, unit=0, clip=0, keep=0,
                     noise_log2=0, wire_shift=0, wire_bits=0)
    study.update(changes)
    return study


def fill_wire(study):
    """The largest unit the wire can hold with eight standard deviations."""
    end = (2 ** (study["wire_bits"] - 1) - 1) * 2 ** study["wire_shift"]
    study["unit"] = min(2**24, end - 2 ** (study["noise_log2"] + 3) - 1)
    return study


# ------------------------------------------------------------------ cases


def ask(number=0, sample=0, features=None, response=None):
    return {"round": number, "sample": sample, "features": features, "response": response}


def random_raw(source, bounds):
    """Mostly within the bounds, sometimes a little outside."""
    low, high = bounds
    margin = (high - low) // 8
    return max(-(2**31), min(2**31 - 1, source.between(low - margin, high + margin)))


def answer(case, request, ledger):
    """What the device must return, by the ledger's rules."""
    study = case["study"]
    key = (request["round"], request["sample"])
    if key == ledger["key"]:
        return dict(ledger["answer"])
    if ledger["key"] is not None and key < ledger["key"]:
        return {"status": "ROUND_PASSED", "report": "", "wire": []}
    if ledger["left"] < mechanism.charge(study):
        return {"status": "BUDGET_EXHAUSTED", "report": "", "wire": []}
    rows = case["vectors"][request["round"]] if study["vectors"] else []
    generator = mechanism.hedged(bytes.fromhex(request["entropy"]), study["id"], ledger["secret"],
                                 *key, ledger["sequence"])
    if study["ballot"]:
        report, wire, secret = mechanism.cast(study, request["features"], request["response"],
                                              generator, case["mac_key"])
    else:
        report, wire, secret = mechanism.release(study, rows, request["round"], request["features"],
                                                 request["response"], generator, case["mac_key"])
    ledger["left"] -= mechanism.charge(study)
    ledger["sequence"] += 1
    ledger["secret"] = secret
    ledger["key"] = key
    ledger["answer"] = {"status": "OK", "report": report.hex(), "wire": wire}
    return dict(ledger["answer"])


def case_of(name, study, requests=None, mac=False, rows=None, releases=None):
    """Fill in what the requests leave open and work out every answer."""
    source = Source(name + " requests")
    requests = requests or [ask()]
    rows = rows or [orthonormal(source, study["vectors"], study["dimension"])
                    for _ in range(study["rounds"] if study["vectors"] else 0)]
    budget = mechanism.charge(study) * (releases or len(requests)) + 1
    if study["ballot"]:
        budget += -budget % 2**16  # what a ledger keeps of it
    assert budget < 2**32, name
    case = {"name": name, "study": study,
            "sensitivity": 0 if study["ballot"] else mechanism.sensitivity(study),
            "charge": mechanism.charge(study), "budget": budget,
            "mac_key": source.bytes(16) if mac else b"", "vectors": rows,
            "entropy": Source(name + " enrolment").bytes(32).hex(), "requests": []}
    ledger = {"left": budget, "key": None, "answer": None, "sequence": 0,
              "secret": mechanism.first_secret(bytes.fromhex(case["entropy"]))}
    for request in requests:
        if request["features"] is None:
            request["features"] = [random_raw(source, b) for b in study["bounds"]]
        if request["response"] is None:
            request["response"] = random_raw(source, study["response_bounds"])
        request["entropy"] = source.bytes(32).hex()
        request.update(answer(case, request, ledger))
        request["left"] = ledger["left"]
        case["requests"].append(request)
    return case


def plain_cases():
    """Every dimension with no, one and several vectors, y public and private;
    MAC, neighbours, clip and alpha take turns so that all pairs occur."""
    turn = 0
    for dimension in (1, 2, 10, DIMENSION_LARGE, 256):
        for vectors in sorted({0, 1, min(3, dimension)}):
            for private in (0, 1):
                turn += 1
                if dimension == 256 and (vectors, private) not in ((0, 1), (3, 0)):
                    continue
                changes = {"private": private, "distance": (0, 60000, 2**18)[turn % 3],
                           "keep": (2**15, 2**14, 28672, 1)[turn % 4],
                           "clip": (2**18, 3 * 2**19)[turn // 2 % 2]}
                name = f"d={dimension} m={vectors} {'private' if private else 'public'} y"
                study = study_of(name, dimension, vectors, **changes)
                yield case_of(name, study, mac=turn % 5 in (1, 3))


def edge_cases():
    """Values at and beyond the bounds, and bounds as wide as they may be."""
    least, most = -(2**31), 2**31 - 1
    wide = [[least, -1], [0, most], [-(2**30), 2**30 - 1], [least, least + 1], [most - 1, most],
            [-5, 5], [-5, 5], [0, 7]]
    rows = ([least] * 8, [most] * 8, [b[0] for b in wide], [b[1] for b in wide],
            [-1, 0, -1, least, most, 0, 5, 3], [-2, 1, 0, least + 1, most - 1, -6, 6, 4])
    for clip in (2**17, 2**20):
        for private in (0, 1):
            name = f"edges, clip {clip}, {'private' if private else 'public'} y"
            study = study_of(name, 8, 1, clip=clip, private=private, bounds=wide, samples=6,
                             response_bounds=[0, most])
            yield case_of(name, study, [ask(0, number, list(row), (least, most, 0, 1, 2, -1)[number])
                                        for number, row in enumerate(rows)])
    for label, offset in (("on", 0), ("one inside", 1), ("one outside", -1)):
        # Features (3, 4) at unit 2^16 have norm exactly 5 * 2^16 / 5.
        name = f"clip radius {label}"
        study = study_of(name, 2, unit=2**16, clip=2**16 + offset, bounds=[[-5, 5], [-5, 5]],
                         noise_log2=16, wire_shift=10)
        yield case_of(name, study, [ask(0, 0, [3, -4], 0)])


def grid_cases():
    """The ends of every range, and units that fill the wire to the last step."""
    for p, q, bits in ((10, 7, 16), (10, 0, 16), (24, 13, 16), (24, 21, 8), (17, 13, 9), (20, 14, 13),
                       (18, 10, 15), (19, 13, 11), (12, 9, 8)):
        name = f"grid p={p} q={q} bits={bits}"
        study = study_of(name, 5, noise_log2=p, wire_shift=q, wire_bits=bits, keep=2**15,
                         clip=2 ** min(p, 23), samples=2)
        study["distance"] = study["clip"] // 3 if bits % 2 else 0
        yield case_of(name, fill_wire(study), [ask(), ask(0, 1)])
    name = "smallest unit"
    yield case_of(name, study_of(name, 3, unit=1, clip=1, noise_log2=10, wire_shift=3))
    name = "fastest wave"
    yield case_of(name, study_of(name, 10, 2, frequency=2**31 - 1, unit=2**18 - 1))
    name = "highest wave"
    study = study_of(name, 3, 1, amplitude=2**26, noise_log2=20, wire_shift=13, wire_bits=16)
    yield case_of(name, study)
    name = "as many vectors as features"
    study = study_of(name, DIMENSION_LARGE, DIMENSION_LARGE, private=1)
    yield case_of(name, study, rows=[hadamard(DIMENSION_LARGE)], mac=True)
    name = "largest distance and largest charge"
    study = study_of(name, 4, keep=2**15, clip=2**21 - 2, distance=2**22 - 4)
    yield case_of(name, study)


def fine_cases():
    """A wire as fine as the arithmetic, so that every lost unit shows."""
    for dimension, vectors, samples in ((1, 1, 20), (10, 3, 4)):
        name = f"fine wire d={dimension}"
        study = study_of(name, dimension, vectors, unit=4000, clip=3500, samples=samples,
                         amplitude=16000 // mechanism.root_up(vectors), noise_log2=10,
                         wire_shift=0, wire_bits=16, frequency=2**28 + 12345)
        yield case_of(name, study, [ask(0, number) for number in range(samples)])


def ledger_cases():
    """Rounds and samples in order; repeats, late requests, an empty budget."""
    name = "rounds and samples"
    study = study_of(name, 3, 2, rounds=300, samples=3)
    rows = [orthonormal(Source(name), 2, 3)] * 300
    order = [ask(0), ask(0), ask(0, 2), ask(0, 1), ask(1), ask(23, 2), ask(24), ask(255, 1),
             ask(255, 1), ask(256), ask(299, 2), ask(299, 2), ask(0)]
    yield case_of(name, study, order, mac=True, rows=rows)
    name = "an empty budget"
    study = study_of(name, 2, rounds=9, private=1)
    yield case_of(name, study, [ask(number) for number in (0, 1, 1, 2, 2, 1)], releases=2)


def noise_cases():
    """Many draws, so that rare branches of the sampler are taken."""
    name = "many draws"
    study = study_of(name, 60, private=1, samples=12, noise_log2=11, unit=2**10, clip=2**10,
                     wire_shift=1, wire_bits=16, bounds=[[0, 1]] * 60)
    yield case_of(name, study, [ask(0, n, [n % 2] * 60) for n in range(12)])


def ballot_cases():
    """Every dimension, y public and private; then the ends of every range."""
    for turn, (dimension, private) in enumerate([(d, y) for d in (1, 3, 10, DIMENSION_LARGE)
                                                 for y in (0, 1)]):
        name = f"ballot d={dimension} {'private' if private else 'public'} y"
        study = ballot_of(name, dimension, private, samples=2)
        yield case_of(name, study, [ask(), ask(0, 1)], mac=turn % 3 == 1)
    least, most = -(2**31), 2**31 - 1
    wide = [[least, -1], [0, most], [-(2**30), 2**30 - 1], [least, least + 1], [most - 1, most],
            [-5, 5], [-5, 6], [0, 1]]
    rows = ([least] * 8, [most] * 8, [b[0] for b in wide], [b[1] for b in wide],
            [-1, 0, -1, least, most, 45, -40, 4], [-2, 1, 0, least + 1, most - 1, -46, 46, -3])
    for private in (0, 1):
        name = f"ballot edges, {'private' if private else 'public'} y"
        study = ballot_of(name, 8, private, bounds=wide, samples=6, response_bounds=[0, most])
        yield case_of(name, study, [ask(0, number, list(row), (least, most, 0, 1, 2, -1)[number])
                                    for number, row in enumerate(rows)])
    for first, top in ((1, 2**32 - 2**17), (128, 2**31), (128, 3 * 2**30), (2, 2**31),
                       (7, 2**32 - 2**22 - 12345)):
        for constant in (64, 4096):
            name = f"ballot law {first} {top} h={constant}"
            study = ballot_of(name, 2, 1, rank_first=first, rank_top=top, constant=constant,
                              response_weight=constant * 1870 + 512 >> 10, samples=4)
            yield case_of(name, study, [ask(0, n) for n in range(4)])
    name = "ballots and an empty budget"
    study = ballot_of(name, 2, 1, samples=9)
    yield case_of(name, study, [ask(0, n) for n in (0, 1, 1, 2, 2, 1)], releases=2)


# ------------------------------------------------------------------ decoding


def refusals(cases):
    """Reports a decoder must refuse, each broken in one place."""
    case = next(c for c in cases if c["study"]["dimension"] == 10 and not c["mac_key"]
                and not c["study"]["private"] and not c["study"]["ballot"])
    request = case["requests"][0]
    good = bytes.fromhex(request["report"])
    head, rest = good[:19], good[22:]
    packed_at = len(good) - 15
    rows = [("shortened", good[:-1], "MALFORMED"), ("lengthened", good + b"\0", "MALFORMED"),
            ("empty", b"", "MALFORMED"), ("one byte", good[:1], "MALFORMED"),
            ("version 2", good, "OK"),
            ("version 1", good[:1] + b"\x01" + good[2:], "UNKNOWN_VERSION"),
            ("version 3", good[:1] + b"\x03" + good[2:], "UNKNOWN_VERSION"),
            ("version 0", good[:1] + b"\x00" + good[2:], "UNKNOWN_VERSION"),
            ("round in one byte", head + b"\x00" + rest, "MALFORMED"),
            ("response in two bytes", good[:39] + b"\x18" + good[41:], "MALFORMED"),
            ("one answer", good[:42] + b"\x41\x07", "MALFORMED"),
            ("an array of 5", b"\x85" + good[1:], "MALFORMED"),
            ("an array of 8", b"\x88" + good[1:], "MALFORMED"),
            ("a map", b"\xa6" + good[1:], "MALFORMED"),
            ("round in two bytes", head + b"\x18\x00" + rest, "MALFORMED"),
            ("round in five bytes", head + b"\x1a\x00\x01\x00\x00" + rest, "MALFORMED"),
            ("round negative", head + b"\x20" + rest, "MALFORMED"),
            ("indefinite tag", good[:2] + b"\x5f" + good[3:], "MALFORMED"),
            ("tag as text", good[:2] + b"\x70" + good[3:], "MALFORMED"),
            ("study id of 15 bytes", good[:2] + b"\x4f" + good[3:18] + good[19:], "MALFORMED"),
            ("response out of range", good[:39] + b"\x19\xff\xff" + good[42:], "MALFORMED"),
            ("no coordinates", good[:packed_at - 1] + b"\x40", "MALFORMED"),
            ("another study", good[:3] + bytes([good[3] ^ 1]) + good[4:], "WRONG_STUDY"),
            ("lowest code", good[:packed_at] + b"\x80\x00" + good[packed_at + 2:], "OUT_OF_BOUNDS")]
    return case["name"], [{"name": n, "bytes": b.hex(), "status": s} for n, b, s in rows]


# ------------------------------------------------------------------ writing


def all_vectors():
    cases = [case for family in (plain_cases, edge_cases, grid_cases, fine_cases, ledger_cases,
                                           noise_cases, ballot_cases)
             for case in family()]
    name, refused = refusals(cases)
    return cases, name, refused


def write_json(out, cases, name, refused):
    """One case a line. Rounds that share their vectors share one entry."""
    out.write('{"format":1,\n"cases":[\n')
    for number, case in enumerate(cases):
        plain = dict(case, mac_key=case["mac_key"].hex(), vectors=shared(case["vectors"]))
        plain["study"] = dict(case["study"], id=case["study"]["id"].hex())
        out.write(json.dumps(plain, separators=(",", ":")))
        out.write(",\n" if number + 1 < len(cases) else "\n")
    out.write('],\n"refused_for":%s,\n"refused":[\n' % json.dumps(name))
    out.write(",\n".join(json.dumps(row, separators=(",", ":")) for row in refused))
    out.write("\n]}\n")


def shared(rounds):
    """All rounds of a case have the same vectors, or there is just one."""
    assert all(rows == rounds[0] for rows in rounds)
    return rounds[0] if rounds else []


def c_bytes(data):
    return "{%s}" % ",".join(map(str, data or [0]))


def c_number(value):
    """C has no literal for the least integer."""
    return "INT32_MIN" if value == -(2**31) else str(value)


def c_bounds(bounds):
    return "{%s, %s}" % tuple(map(c_number, bounds))


def c_array(kind, name, items):
    return f"static const {kind} {name}[] = {{{','.join(items) or '0'}}};\n"


def c_list(kind, name, values):
    return c_array(kind, name, map(c_number, values))


def c_request(place, number, request):
    prefix = f"c{place}_r{number}"
    report = bytes.fromhex(request["report"])
    arrays = c_list("int32_t", prefix + "_features", request["features"])
    arrays += c_list("int16_t", prefix + "_wire", request["wire"])
    arrays += c_list("uint8_t", prefix + "_report", report)
    entropy = c_bytes(bytes.fromhex(request["entropy"]))
    row = (f"{{{request['round']}, {request['sample']}, {prefix}_features, "
           f"{c_number(request['response'])}, {entropy}, "
           f"{STATUS[request['status']]}, {prefix}_report, {len(report)}, {prefix}_wire, "
           f"{request['left']}u}}")
    return arrays, row


def c_study(place, study):
    names = ("unit", "clip", "distance", "amplitude", "frequency", "rank_top")
    fields = [f".{name} = {study[name]}u" for name in names]
    fields += [f".{name} = {study[name]}" for name in
               ("dimension", "keep", "vectors", "rounds", "samples", "noise_log2", "wire_shift",
                "wire_bits", "rank_first", "constant", "response_weight")]
    return (f"{{.id = {c_bytes(study['id'])}, .bounds = c{place}_bounds, "
            f".response_bounds = {c_bounds(study['response_bounds'])}, "
            f".response = {study['private']}, .release = {study['ballot']}, "
            f"{', '.join(fields)}}}")


def c_case(place, case):
    study = case["study"]
    out = c_array("struct tremolo_bounds", f"c{place}_bounds", map(c_bounds, study["bounds"]))
    rows = shared(case["vectors"])
    out += c_list("int16_t", f"c{place}_vectors", [v for row in rows for v in row])
    requests = []
    for number, request in enumerate(case["requests"]):
        arrays, row = c_request(place, number, request)
        out += arrays
        requests.append(row)
    out += f"static const struct vector_request c{place}_requests[] = {{\n"
    out += ",\n".join(requests) + "};\n"
    vectors = f"c{place}_vectors" if rows else "NULL"
    entry = (f"{{{json.dumps(case['name'])}, {c_study(place, study)}, {case['sensitivity']}u, "
             f"{case['charge']}u, {case['budget']}u, {1 if case['mac_key'] else 0}, "
             f"{c_bytes(case['mac_key'])}, {c_bytes(bytes.fromhex(case['entropy']))}, {vectors}, c{place}_requests, {len(requests)}}},\n")
    return out, entry


def write_header(out, cases, name, refused):
    """Large cases stand behind a test of TREMOLO_MAX_DIMENSION."""
    out.write("/* Generated by tests/vectors/generate.py. */\n")
    table = "static const struct vector_case vector_cases[] = {\n"
    for place, case in enumerate(cases):
        arrays, entry = c_case(place, case)
        guard = f"#if TREMOLO_MAX_DIMENSION >= {case['study']['dimension']}\n"
        out.write(guard + arrays + "#endif\n")
        table += guard + entry + "#endif\n"
    out.write(table + "};\n")
    place = next(i for i, case in enumerate(cases) if case["name"] == name)
    out.write(f"enum {{ REFUSED_FOR = {place} }};\n")
    for number, row in enumerate(refused):
        out.write(c_list("uint8_t", f"refused_{number}", bytes.fromhex(row["bytes"])))
    out.write("static const struct vector_refused vector_refused[] = {\n")
    for number, row in enumerate(refused):
        out.write(f"{{{json.dumps(row['name'])}, refused_{number}, {len(row['bytes']) // 2}, "
                  f"{STATUS[row['status']]}}},\n")
    out.write("};\n")


def main():
    writers = {"json": write_json, "header": write_header}
    kinds, files = sys.argv[1::2], sys.argv[2::2]
    if not kinds or len(kinds) != len(files) or not set(kinds) <= set(writers):
        sys.exit(__doc__)
    vectors = all_vectors()
    for kind, file in zip(kinds, files):
        with open(file, "w", encoding="ascii") as out:
            writers[kind](out, *vectors)


if __name__ == "__main__":
    main()
