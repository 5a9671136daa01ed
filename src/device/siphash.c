/* siphash.c -- SipHash-2-4 with 128-bit output, the report's MAC.
 *
 * Chosen because it is small, fast on 32-bit cores without a multiplier, and
 * what libsodium verifies on the server (siphashx24). The message is the
 * study's whole 32-byte id, then the report: a tag made for one study fits no
 * other, although the report names only half of the id. */
#include "parts.h"

#ifndef TREMOLO_WITHOUT_MAC

struct sip {
    uint64_t v[4];
};

/* Add b to a, and put a on b rotated by 1..31: in halves, because the smallest
 * cores have no longer shift. */
static TREMOLO_APART void mix(uint64_t *a, uint64_t *b, unsigned count)
{
    uint32_t high = (uint32_t)(*b >> 32);
    uint32_t low = (uint32_t)*b;
    *a += *b;
    *b = *a ^ ((uint64_t)(high << count | low >> (32 - count)) << 32 |
               (low << count | high >> (32 - count)));
}

/* Half a round: on v0 and v2, then on them with their parts exchanged. */
static TREMOLO_APART void half_round(uint64_t *v, unsigned a, unsigned first, unsigned second)
{
    mix(v + a, v + 1, first);
    v[a] = v[a] << 32 | v[a] >> 32;
    mix(v + 2 - a, v + 3, second);
}

static TREMOLO_APART void rounds(uint64_t *v, unsigned count)
{
    while (count-- > 0) {
        half_round(v, 0, 13, 16);
        half_round(v, 2, 17, 21);
    }
}

static TREMOLO_APART uint64_t load_64(const uint8_t *bytes)
{
    return tremolo_bytes_load(bytes) | (uint64_t)tremolo_bytes_load(bytes + 4) << 32;
}

static void start(struct sip *sip, const uint8_t *key)
{
    static const uint64_t constant[4] = {UINT64_C(0x736f6d6570736575), UINT64_C(0x646f72616e646f83),
                                         UINT64_C(0x6c7967656e657261),
                                         UINT64_C(0x7465646279746573)};
    unsigned i;
    for (i = 0; i < 4; i++) {
        sip->v[i] = load_64(key + 8 * (i & 1)) ^ constant[i];
    }
}

/* Whole words of eight bytes; where the rest begins. */
static TREMOLO_APART const uint8_t *absorb(struct sip *sip, const uint8_t *bytes, size_t length)
{
    for (; length >= 8; length -= 8, bytes += 8) {
        uint64_t word = load_64(bytes);
        sip->v[3] ^= word;
        rounds(sip->v, 2);
        sip->v[0] ^= word;
    }
    return bytes;
}

static TREMOLO_APART void put_half(uint8_t *out, struct sip *sip)
{
    uint64_t half;
    rounds(sip->v, 4);
    half = sip->v[0] ^ sip->v[1] ^ sip->v[2] ^ sip->v[3];
    tremolo_bytes_store(out, (uint32_t)half);
    tremolo_bytes_store(out + 4, (uint32_t)(half >> 32));
}

TREMOLO_PART void tremolo_report_mac(uint8_t mac[TREMOLO_MAC_BYTES], const uint8_t *key,
                                     const struct tremolo_study *study, const uint8_t *bytes,
                                     size_t length)
{
    struct sip sip;
    uint8_t tail[8];
    tremolo_bytes_wipe(tail, sizeof tail);
    start(&sip, key);
    (void)absorb(&sip, study->id, TREMOLO_STUDY_ID_BYTES);
    tremolo_bytes_copy(tail, absorb(&sip, bytes, length), length & 7);
    tail[7] = (uint8_t)(TREMOLO_STUDY_ID_BYTES + length);
    (void)absorb(&sip, tail, sizeof tail);
    sip.v[2] ^= 0xee;
    put_half(mac, &sip);
    sip.v[1] ^= 0xdd;
    put_half(mac + 8, &sip);
    tremolo_bytes_wipe(&sip, sizeof sip);
}

#else
typedef int tremolo_siphash_is_left_out;
#endif
