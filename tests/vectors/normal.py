"""Where a proposal of the host's sampler is just taken, by 400-bit decimals.

Writes tests/vectors/normal.h: for places x of the residual (src/lab/exact_noise.c) the tables'
entries there and the 256 bits of the uniform number at which 2^11 r(x) / weight, or in the tail
2^(16 + block) f(x) / weight, is met exactly. Shares no code with the sampler.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, getcontext

getcontext().prec = 130


def arctan_of_one_by(n):
    term, total, k = 1 / Decimal(n), Decimal(0), 0
    while term > Decimal(10) ** -128:
        total += term / (2 * k + 1) * (-1) ** k
        term /= n * n
        k += 1
    return total


ROOT = (2 / (16 * arctan_of_one_by(5) - 4 * arctan_of_one_by(239))).sqrt()


def density(x):
    return ROOT * (-x * x / 2).exp()


def whole(x, rounding):
    return int(x.to_integral_value(rounding=rounding))


def share_of(slot):
    return 0 if slot == 192 else whole(128 * density(Decimal(slot + 1) / 64), ROUND_FLOOR)


def weight_of(slot):
    above = density(Decimal(slot) / 64) - Decimal(share_of(slot)) / 128
    return whole(above * 2 ** (16 if slot == 192 else 11), ROUND_CEILING)


def row(slot, block, low, further):
    begin = Decimal(3) + Decimal(block) / 4 if slot == 192 else Decimal(slot) / 64
    x = begin + Decimal(low) / 2**24 + Decimal(further) / 2**56
    scale = 2 ** (16 + block if slot == 192 else 11)
    limit = (density(x) - Decimal(share_of(slot)) / 128) * scale / weight_of(slot)
    bits = whole(limit * 2**256, ROUND_FLOOR)
    words = ", ".join("0x%08x" % (bits >> 32 * (7 - i) & 0xFFFFFFFF) for i in range(8))
    return f"    {{{slot}, {block}, {low}, {further}U, {share_of(slot)}, {weight_of(slot)},\n     {{{words}}}}},"


print("/* Written by tests/vectors/normal.py: slot, block, low, further, share, weight, limit. */")
print("/* clang-format off */")
print("static const struct normal_vector normal_vectors[] = {")
for slot in range(0, 192, 13):
    print(row(slot, 0, (slot * 7919) % 2**18, slot * 2654435761 % 2**32))
for block in (0, 1, 2, 5, 17, 40):
    print(row(192, block, block * 104729 % 2**22, block * 2654435761 % 2**32))
print("};")
