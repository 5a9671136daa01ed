"""The device's mechanism a second time, in Python integers.

Written from the public header and the documents, to find what the C code and
its tests would get wrong together. It shares no code with the core and takes
the plain way everywhere: unbounded integers, fractions, lists of bits.
"""

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


def chacha20_block(key, counter, nonce=bytes(12)):
    words = lambda data: [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    start = words(b"expand 32-byte k") + words(key) + [counter] + words(nonce)
    x = list(start)
    for _ in range(10):
        for i in range(4):
            quarter_round(x, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter_round(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return b"".join(((u + v) & MASK_32).to_bytes(4, "little") for u, v in zip(x, start))


class Generator:
    """Four blocks a refill; the first 32 bytes are the next key."""

    def __init__(self, seed):
        self.key = seed
        self.waiting = []

    def byte(self):
        if not self.waiting:
            stream = b"".join(chacha20_block(self.key, counter) for counter in range(4))
            self.key = stream[:32]
            self.waiting = list(stream[32:])
        return self.waiting.pop(0)

    def bytes(self, count):
        return bytes(self.byte() for _ in range(count))


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


def encode(study, round_number, report_id, response, wire, mac_key):
    report = bytes([0x87 if mac_key else 0x86, 1])
    report += cbor_bytes(study["id"][:16]) + cbor_head(0, round_number) + cbor_bytes(report_id)
    if study["private"]:
        report += b"\xf6"
    else:
        place = scale(response, study["response_bounds"], RESPONSE_MAX) + RESPONSE_MAX
        report += cbor_head(0, place)
    report += cbor_bytes(pack(wire, study["wire_bits"]))
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
    """mu^2 in units of 2^-24, rounded up."""
    cost = Fraction(sensitivity(study) ** 2 * 2**24, 4 ** study["noise_log2"])
    return -floor(-cost)


def release(study, vectors, round_number, features, response, seed, mac_key):
    """The report's bytes and its coordinates on the wire grid."""
    generator = Generator(seed)
    phases = [int.from_bytes(generator.bytes(4), "big") for _ in vectors]
    noises = [noise(generator, study["noise_log2"]) for _ in range(coordinates(study))]
    report_id = generator.bytes(16)
    values = [scale(raw, b, study["unit"]) for raw, b in zip(features, study["bounds"])]
    if study["private"]:
        values.append(scale(response, study["response_bounds"], study["unit"]))
    values = modulate(clip(values, study["clip"]), study, vectors, phases)
    wire = [to_wire(v + n, study) for v, n in zip(values, noises)]
    return encode(study, round_number, report_id, response, wire, mac_key), wire
