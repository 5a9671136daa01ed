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

/* By 1..31, in halves: the smallest cores have no longer shift. */
static TREMOLO_APART uint64_t rotate_64(uint64_t value, unsigned count)
{
    uint32_t high = (uint32_t)(value >> 32);
    uint32_t low = (uint32_t)value;
    return (uint64_t)(high << count | low >> (32 - count)) << 32 |
           (low << count | high >> (32 - count));
}

/* Half a round: on v0 and v2, then on them with their parts exchanged. */
static TREMOLO_APART void half_round(uint64_t *v, uint64_t *a, uint64_t *c, unsigned first,
                                     unsigned second)
{
    *a += v[1];
    v[1] = rotate_64(v[1], first) ^ *a;
    *a = *a << 32 | *a >> 32;
    *c += v[3];
    v[3] = rotate_64(v[3], second) ^ *c;
}

static void rounds(struct sip *sip, unsigned count)
{
    uint64_t *v = sip->v;
    while (count-- > 0) {
        half_round(v, v, v + 2, 13, 16);
        half_round(v, v + 2, v, 17, 21);
    }
}

static uint64_t load_64(const uint8_t *bytes)
{
    return tremolo_bytes_load(bytes) | (uint64_t)tremolo_bytes_load(bytes + 4) << 32;
}

static TREMOLO_APART void absorb(struct sip *sip, uint64_t word)
{
    sip->v[3] ^= word;
    rounds(sip, 2);
    sip->v[0] ^= word;
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

/* Whole words of eight bytes; the number of bytes taken. */
static size_t absorb_words(struct sip *sip, const uint8_t *bytes, size_t length)
{
    size_t at;
    for (at = 0; at + 8 <= length; at += 8) {
        absorb(sip, load_64(bytes + at));
    }
    return at;
}

static void put_half(uint8_t *out, struct sip *sip)
{
    uint64_t half;
    rounds(sip, 4);
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
    size_t at;
    tremolo_bytes_wipe(tail, sizeof tail);
    start(&sip, key);
    (void)absorb_words(&sip, study->id, TREMOLO_STUDY_ID_BYTES);
    at = absorb_words(&sip, bytes, length);
    tremolo_bytes_copy(tail, bytes + at, length - at);
    tail[7] = (uint8_t)(TREMOLO_STUDY_ID_BYTES + length);
    absorb(&sip, load_64(tail));
    sip.v[2] ^= 0xee;
    put_half(mac, &sip);
    sip.v[1] ^= 0xdd;
    put_half(mac + 8, &sip);
    tremolo_bytes_wipe(&sip, sizeof sip);
}

#else
typedef int tremolo_siphash_is_left_out;
#endif
