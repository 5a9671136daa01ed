"""The device's mechanism a second time, in Python integers.

Written from the public header and the documents, to find what the C code and
its tests would get wrong together. It shares no code with the core and takes
the plain way everywhere: unbounded integers, fractions, lists of bits.
"""

import math
from fractions import Fraction
from math import isqrt

MASK_32 = 2**32 - 1
MASK_64 = 2**64 - 1
KEEP_ONE = 2**15
VECTOR_ONE = 2**14
RESPONSE_MAX = 32767


def floor(fraction):
    return fraction.numerator // fraction.denominator


def toward_zero(numerator, denominator):
    size = abs(numerator) // denominator
    return -size if numerator < 0 else size


def root_up(square):
    root = isqrt(square)
    return root if root * root == square else root + 1


# ------------------------------------------------------------------ randomness


def rotate(value, count, width):
    mask = (1 << width) - 1
    return ((value << count) | (value >> (width - count))) & mask


def quarter_round(x, a, b, c, d):
    for target, source, mixed, count in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[target] = (x[target] + x[source]) & MASK_32
        x[mixed] = rotate(x[mixed] ^ x[target], count, 32)


def chacha_block(key, counter, nonce=bytes(12), rounds=20):
    words = lambda data: [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    start = words(b"expand 32-byte k") + words(key) + [counter] + words(nonce)
    x = list(start)
    for _ in range(rounds // 2):
        for i in range(4):
            quarter_round(x, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter_round(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return b"".join(((u + v) & MASK_32).to_bytes(4, "little") for u, v in zip(x, start))


class Generator:
    """Four blocks a refill; the first 32 bytes are the next key."""

    def __init__(self, seed, nonce=bytes(12)):
        self.key, self.nonce = seed, nonce
        self.waiting = []

    def byte(self):
        if not self.waiting:
            stream = b"".join(chacha_block(self.key, n, self.nonce) for n in range(4))
            self.key, self.nonce = stream[:32], bytes(12)
            self.waiting = list(stream[32:])
        return self.waiting.pop(0)

    def bytes(self, count):
        return bytes(self.byte() for _ in range(count))


def hedged(entropy, study_id, secret, round_number, sample_number, sequence):
    """The generator of one release."""
    words = (round_number * 65536 + sample_number, sequence, 0)
    nonce = b"".join(word.to_bytes(4, "little") for word in words)
    return Generator(bytes(a ^ b ^ c for a, b, c in zip(entropy, study_id, secret)), nonce)


def first_secret(entropy):
    """What enrolment keeps: the bytes that follow where a report has its id."""
    return Generator(entropy).bytes(48)[16:]


class Uniform:
    """A number in (0, 1) of which only the base-256 digits asked for exist."""

    def __init__(self, generator, digits=()):
        self.generator = generator
        self.digits = list(digits)

    def digit(self, place):
        if place == len(self.digits):
            self.digits.append(self.generator.byte())
        return self.digits[place]

    def below(self):
        """A fresh uniform if it is smaller than this one, else None."""
        place = 0
        while True:
            mine = self.digit(place)
            fresh = self.generator.byte()
            if fresh != mine:
                break
            place += 1
        if fresh > mine:
            return None
        return Uniform(self.generator, self.digits[:place] + [fresh])


def half_exponential(generator):
    """True with probability exp(-1/2)."""
    chain = Uniform(generator)
    if chain.digit(0) >= 128:
        return True
    steps = 0
    while chain is not None:
        steps += 1
        chain = chain.below()
    return steps % 2 == 0


def whole_part(generator):
    while True:
        k = 0
        while half_exponential(generator):
            k += 1
        if all(half_exponential(generator) for _ in range(k * (k - 1))):
            return k


def face_of(generator, count):
    bits = (count - 1).bit_length()
    while True:
        face = generator.byte() % 2**bits
        if face < count:
            return face


def accept_fraction(generator, x, k):
    last, steps = x, 0
    while True:
        face = face_of(generator, 2 * k + 2)
        if face == 0 or (face == 1 and x.below() is None):
            return steps % 2 == 0
        last = last.below()
        if last is None:
            return steps % 2 == 0
        steps += 1


def noise(generator, p):
    """floor(2^p N(0, 1))."""
    while True:
        k = whole_part(generator)
        x = Uniform(generator)
        if all(accept_fraction(generator, x, k) for _ in range(k + 1)):
            break
    fraction = sum(x.digit(place) * 256 ** (2 - place) for place in range(3))
    magnitude = (k * 2**24 + fraction) // 2 ** (24 - p)
    return -magnitude - 1 if generator.byte() % 2 else magnitude


# ------------------------------------------------------------------ the client map


def scale(raw, bounds, unit):
    low, high = bounds
    clamped = min(max(raw, low), high)
    return floor(Fraction(2 * unit * (clamped - low), high - low) + Fraction(1, 2)) - unit


def clip(values, radius):
    square = sum(v * v for v in values)
    if square <= radius * radius:
        return values
    ratio = 2**30 * radius // root_up(square)
    return [toward_zero(v * ratio, 2**30) for v in values]


def cosine(angle):
    """2^15 cos(angle 2^-32 turns) by the polynomial the core documents."""
    nearest = lambda number: (number + 2**14) >> 15
    quadrant, within = divmod((angle + 2**30) % 2**32, 2**30)
    if quadrant % 2:
        within = 2**30 - within
    z = nearest(within)
    z2 = nearest(z * z)
    inner = 21159 - nearest((2592 - nearest(136 * z2)) * z2)
    sine = nearest((51471 - nearest(inner * z2)) * z)
    return sine if quadrant < 2 else -sine


def modulate(values, study, vectors, phases):
    heights = []
    for row, phase in zip(vectors, phases):
        dot = sum(v * entry for v, entry in zip(values, row))
        angle = (dot * study["frequency"] // 2**22 + phase) % 2**32
        heights.append(toward_zero(study["amplitude"] * cosine(angle), 2**15))
    result = [toward_zero(v * study["keep"], KEEP_ONE) for v in values]
    for height, row in zip(heights, vectors):
        for i, entry in enumerate(row):
            result[i] += toward_zero(height * entry, VECTOR_ONE)
    return result


def to_wire(value, study):
    end = 2 ** (study["wire_bits"] - 1) - 1
    nearest = floor(Fraction(value, 2 ** study["wire_shift"]) + Fraction(1, 2))
    return min(max(nearest, -end), end)


# ------------------------------------------------------------------ the bytes


def cbor_head(major, value):
    if value < 24:
        return bytes([major << 5 | value])
    if value < 256:
        return bytes([major << 5 | 24, value])
    return bytes([major << 5 | 25]) + value.to_bytes(2, "big")


def cbor_bytes(data):
    return cbor_head(2, len(data)) + data


def pack(wire, width):
    bits = "".join(format(value % 2**width, f"0{width}b") for value in wire)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))


def sip_round(v):
    v[0] = (v[0] + v[1]) & MASK_64
    v[2] = (v[2] + v[3]) & MASK_64
    v[1] = rotate(v[1], 13, 64) ^ v[0]
    v[3] = rotate(v[3], 16, 64) ^ v[2]
    v[0] = rotate(v[0], 32, 64)
    v[2] = (v[2] + v[1]) & MASK_64
    v[0] = (v[0] + v[3]) & MASK_64
    v[1] = rotate(v[1], 17, 64) ^ v[2]
    v[3] = rotate(v[3], 21, 64) ^ v[0]
    v[2] = rotate(v[2], 32, 64)


def siphash_2_4_128(key, message):
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE]
    v += [k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    padded = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        sip_round(v)
        sip_round(v)
        v[0] ^= word
    tag = b""
    for place, mark in ((2, 0xEE), (1, 0xDD)):
        v[place] ^= mark
        for _ in range(4):
            sip_round(v)
        tag += (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")
    return tag


def long_number(value):
    """Always three bytes: a report's length must not depend on a value."""
    return b"\x19" + value.to_bytes(2, "big")


def encode(study, round_number, report_id, response, content, mac_key):
    report = bytes([0x87 if mac_key else 0x86, 2])
    report += cbor_bytes(study["id"][:16]) + long_number(round_number) + cbor_bytes(report_id)
    report += b"\xf6" if study["private"] else long_number(response + RESPONSE_MAX)
    report += cbor_bytes(content)
    if mac_key:
        report += cbor_bytes(siphash_2_4_128(mac_key, study["id"] + report))
    return report


# ------------------------------------------------------------------ one release


def coordinates(study):
    return study["dimension"] + study["private"]


def sensitivity(study):
    kept = lambda length: length * study["keep"] // KEEP_ONE + 1
    any_two = kept(2 * study["clip"])
    near = kept(study["distance"]) + 3 * root_up(coordinates(study)) + 4
    return min(near, any_two) if study["distance"] else any_two


def charge(study):
    """mu^2, or a ballot's epsilon, in units of 2^-24, rounded up."""
    if study["ballot"]:
        return ballot_charge(study)
    cost = Fraction(sensitivity(study) ** 2 * 2**24, 4 ** study["noise_log2"])
    return -floor(-cost)


def release(study, vectors, round_number, features, response, generator, mac_key):
    """The report's bytes, its coordinates on the wire grid and the next secret."""
    phases = [int.from_bytes(generator.bytes(4), "big") for _ in vectors]
    noises = [noise(generator, study["noise_log2"]) for _ in range(coordinates(study))]
    report_id, secret = generator.bytes(16), generator.bytes(32)
    values = [scale(raw, b, study["unit"]) for raw, b in zip(features, study["bounds"])]
    if study["private"]:
        values.append(scale(response, study["response_bounds"], study["unit"]))
    values = modulate(clip(values, study["clip"]), study, vectors, phases)
    wire = [to_wire(v + n, study) for v, n in zip(values, noises)]
    sent = scale(response, study["response_bounds"], RESPONSE_MAX)
    packed = pack(wire, study["wire_bits"])
    return encode(study, round_number, report_id, sent, packed, mac_key), wire, secret


# ------------------------------------------------------------------ ballots

BLOCKS, SIGNS, ANSWERS = 8, 5, 256
PLACE_ONE = 2**16
LN_2 = 2977044472  # in 2^-32, rounded up


def binary_log(value):
    """2^26 log2 of a 32-bit number by 26 squarings of its 32 leading bits."""
    log = value.bit_length() - 1
    mantissa = value << (31 - log)
    for _ in range(26):
        mantissa = mantissa**2 >> 32
        digit = mantissa >> 31
        mantissa <<= 1 - digit
        log = 2 * log + digit
    return log


def ballot_charge(study):
    first, top = study["rank_first"], study["rank_top"]
    log = (binary_log(top) - binary_log(2**32 - top)
           + binary_log(ANSWERS - first) - binary_log(first))
    charged = ((log + 3) * LN_2 >> 34) + 1
    exact = 2**24 * math.log(Fraction(top * (ANSWERS - first), (2**32 - top) * first))
    assert -1e-6 < charged - exact < 3
    return charged


def place_of(raw, bounds, reach):
    """In half ranges from the middle, 2^16 each, cut at `reach` of them."""
    low, high = bounds
    place = toward_zero((2 * raw - low - high) * PLACE_ONE, high - low)
    end = reach * PLACE_ONE
    return min(max(place, -end), end)


def directions(study, report_id):
    """Eight blocks of five directions."""
    entries = ballot_entries(study)
    counter, nonce = int.from_bytes(report_id[:4], "little"), report_id[4:]
    key = chacha_block(study["id"], counter, nonce)[:32]
    found = []
    for block in range(BLOCKS):
        stream = b""
        while len(stream) < 4 * SIGNS * entries:
            nonce = block.to_bytes(4, "little") + bytes(8)
            stream += chacha_block(key, len(stream) // 64, nonce, 8)
        counts = [bin(int.from_bytes(stream[4 * i : 4 * i + 4], "little")).count("1") - 16
                  for i in range(SIGNS * entries)]
        found.append([counts[entries * j : entries * (j + 1)] for j in range(SIGNS)])
    return found


def ballot_entries(study):
    count = study["dimension"] + 1 + study["private"]
    return count * (count + 1) // 2 + study["private"]


def point_of(study, features, response):
    """(h, x, g y) shifted, and the entry beside its products."""
    weight = study["response_weight"] * 256
    point = [study["constant"] * 256]
    point += [place_of(raw, b, 8) for raw, b in zip(features, study["bounds"])]
    rough = sum((v >> 9) ** 2 for v in point + [weight])
    shift = 0
    while rough >> (12 + 2 * shift):
        shift += 1
    y = place_of(response, study["response_bounds"], 1)
    if study["private"]:
        point.append(y * study["response_weight"] >> 8)
    nearest = lambda value: (value + (2**shift >> 1)) >> shift
    point = [nearest(v) for v in point]
    whole = sum(v * v for v in point)
    if not study["private"]:
        return point, None
    square = point[-1] ** 2
    missing = nearest(weight) ** 2 - square
    return point, isqrt(missing) * isqrt(whole + missing // 2 - square // 8 * 3) >> 6


def direction_score(direction, point, beside):
    """Row by row; each row is rounded before it meets its common factor."""
    entry = iter(direction)
    if beside is None:
        return sum(row_score(entry, point[i], point[i + 1 :]) for i in range(len(point)))
    constant, *features, response = point
    score = row_score(entry, constant, features + [response + response // 2])
    for i, factor in enumerate(features):
        score += row_score(entry, factor, features[i + 1 :] + [response])
    score += row_score(entry, response, [], 46341 // 2)
    return score + next(entry) * beside


def row_score(entry, factor, others, own=46341):
    row = next(entry) * ((factor * own + 2**15) >> 16)
    row += sum(next(entry) * other for other in others)
    return (row + 32 >> 6) * factor


def signed(answer, items):
    return [item if answer >> j & 1 else -item for j, item in enumerate(items)]


def cast(study, features, response, generator, mac_key):
    """A ballot's bytes, what its answer expands to and the next secret."""
    report_id, secret = generator.bytes(16), generator.bytes(32)
    first = study["rank_first"]
    is_early = int.from_bytes(generator.bytes(4), "big") < study["rank_top"]
    early = rank_below(generator, first)
    late = first + rank_below(generator, ANSWERS - first)
    rank = early if is_early else late
    blocks = directions(study, report_id)
    point, beside = point_of(study, features, response)
    scores = [[direction_score(g, point, beside) for g in block] for block in blocks]
    score = lambda a: sum(signed(a, scores[a // 2**SIGNS])) // 2**15
    answer = sorted(range(ANSWERS), key=lambda a: (-score(a), a))[rank]
    y = place_of(response, study["response_bounds"], 1)
    sent = y * RESPONSE_MAX + 2**15 >> 16
    columns = zip(*blocks[answer // 2**SIGNS])
    row = [sum(signed(answer, column)) for column in columns]
    return encode(study, 0, report_id, sent, bytes([answer]), mac_key), row, secret


def rank_below(generator, count):
    """As face_of, but a single face takes a bit too."""
    return face_of(generator, count) if count > 1 else single_face(generator)


def single_face(generator):
    while generator.byte() % 2:
        pass
    return 0
