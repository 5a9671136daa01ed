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

static uint64_t rotate_64(uint64_t value, unsigned count)
{
    return value << count | value >> (64 - count);
}

static void rounds(struct sip *sip, unsigned count)
{
    uint64_t *v = sip->v;
    while (count-- > 0) {
        v[0] += v[1];
        v[1] = rotate_64(v[1], 13) ^ v[0];
        v[0] = rotate_64(v[0], 32);
        v[2] += v[3];
        v[3] = rotate_64(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotate_64(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotate_64(v[1], 17) ^ v[2];
        v[2] = rotate_64(v[2], 32);
    }
}

static uint64_t load_64(const uint8_t *bytes)
{
    return tremolo_bytes_load(bytes) | (uint64_t)tremolo_bytes_load(bytes + 4) << 32;
}

static void absorb(struct sip *sip, uint64_t word)
{
    sip->v[3] ^= word;
    rounds(sip, 2);
    sip->v[0] ^= word;
}

static void start(struct sip *sip, const uint8_t *key)
{
    uint64_t k0 = load_64(key);
    uint64_t k1 = load_64(key + 8);
    sip->v[0] = k0 ^ UINT64_C(0x736f6d6570736575);
    sip->v[1] = k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee;
    sip->v[2] = k0 ^ UINT64_C(0x6c7967656e657261);
    sip->v[3] = k1 ^ UINT64_C(0x7465646279746573);
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
    for (at = 0; at < TREMOLO_STUDY_ID_BYTES; at += 8) {
        absorb(&sip, load_64(study->id + at));
    }
    for (at = 0; at + 8 <= length; at += 8) {
        absorb(&sip, load_64(bytes + at));
    }
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
