/* siphash.c -- SipHash-2-4 with 128-bit output, the report's MAC.
 *
 * Chosen because it is small, fast on 32-bit cores without a multiplier, and
 * what libsodium verifies on the server (siphashx24). The message is the
 * study's whole 32-byte id, then the report: a tag made for one study fits no
 * other, although the report names only half of the id. */
#include "parts.h"

#ifndef TREMOLO_WITHOUT_MAC

static uint32_t rotate(uint32_t word, unsigned count)
{
    return word << count | word >> (32 - count);
}

/* Add b to a, and put a on b rotated by 1..31: word by word, because the smallest
 * cores have no longer shift; what went round in the wrong word is then exchanged. */
static TREMOLO_APART void mix(uint32_t *a, uint32_t *b, unsigned count)
{
    uint32_t low = b[0];
    uint32_t high = b[1];
    uint32_t wrong;
    a[0] += low;
    a[1] += high + (a[0] < low);
    low = rotate(low, count);
    high = rotate(high, count);
    wrong = (low ^ high) & ((UINT32_C(1) << count) - 1);
    b[0] = a[0] ^ low ^ wrong;
    b[1] = a[1] ^ high ^ wrong;
}

static inline void exchange(uint32_t *v)
{
    uint32_t low = v[0];
    v[0] = v[1];
    v[1] = low;
}

/* A round is v1 into v0, v3 into v2, v1 into v2, v3 into v0, with rotations by 13, 16,
 * 17 and 21; what v1 went into is exchanged. */
static TREMOLO_APART void rounds(uint32_t *v, unsigned count)
{
    unsigned a = 0;
    for (count *= 2; count > 0; count--) {
        mix(v + a, v + 2, 13 + a);
        exchange(v + a);
        a ^= 4;
        mix(v + a, v + 6, 21 - a - a / 4);
    }
}

static void start(uint32_t *v, const uint8_t *key)
{
    static const uint32_t constant[8] = {0x70736575, 0x736f6d65, 0x6e646f83, 0x646f7261,
                                         0x6e657261, 0x6c796765, 0x79746573, 0x74656462};
    unsigned i;
    for (i = 0; i < 8; i++) {
        v[i] = tremolo_bytes_load(key + 4 * (i & 3)) ^ constant[i];
    }
}

/* Two halves, before which v2 and v1 are marked. */
static void finish_mac(uint8_t *mac, uint32_t *v)
{
    unsigned i;
    uint32_t mark = 0xee;
    for (i = 4; i > 0; i -= 2) {
        const uint32_t *word = v;
        v[i] ^= mark;
        mark = 0xdd;
        rounds(v, 4);
        do {
            tremolo_bytes_store(mac, word[0] ^ word[2] ^ word[4] ^ word[6]);
            mac += 4;
        } while (word++ == v);
    }
}

/* The message ends with zeros up to the last byte of a word, which is its length. */
TREMOLO_PART void tremolo_report_mac(uint8_t mac[TREMOLO_MAC_BYTES], const uint8_t *key,
                                     const struct tremolo_study *study, const uint8_t *bytes,
                                     size_t length)
{
    uint32_t v[8];
    uint32_t low = 0;
    uint32_t high = 0;
    const uint8_t *from = study->id;
    size_t end = TREMOLO_STUDY_ID_BYTES + length;
    size_t last = end | 7;
    size_t i = 0;
    start(v, key);
    do {
        uint32_t byte = 0;
        if (i == TREMOLO_STUDY_ID_BYTES) {
            from = bytes;
        }
        if (i < end) {
            byte = *from++;
        }
        if (i == last) {
            byte = (uint32_t)end;
        }
        low = low >> 8 | high << 24;
        high = high >> 8 | byte << 24;
        if ((i & 7) == 7) {
            v[6] ^= low;
            v[7] ^= high;
            rounds(v, 2);
            v[0] ^= low;
            v[1] ^= high;
        }
    } while (i++ != last);
    finish_mac(mac, v);
    tremolo_bytes_wipe(v, sizeof v);
}

#else
typedef int tremolo_siphash_is_left_out;
#endif
