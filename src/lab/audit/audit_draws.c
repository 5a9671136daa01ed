/* audit_draws.c -- what a ballot's id and rank must be, given the entropy that went in.
 *
 * A generator of the audit's own, after docs/reference/wire-format.md ("From randomness to bytes"). With
 * it a law that is a little off, chance from elsewhere, or a rank that can be computed
 * from the report shows in few ballots, where counting ranks would take millions. */
#include <string.h>

#include "audit_parts.h"

enum { REFILL = 256, ANSWERS = TREMOLO_BALLOT_ANSWERS };

static uint32_t rotate(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

static void quarter(uint32_t *x, unsigned a, unsigned b, unsigned c, unsigned d)
{
    x[a] += x[b];
    x[d] = rotate(x[d] ^ x[a], 16);
    x[c] += x[d];
    x[b] = rotate(x[b] ^ x[c], 12);
    x[a] += x[b];
    x[d] = rotate(x[d] ^ x[a], 8);
    x[c] += x[d];
    x[b] = rotate(x[b] ^ x[c], 7);
}

/* RFC 8439's block function with any even number of rounds. */
void audit_chacha(uint32_t out[16], const uint32_t key[8], const uint32_t last[4], unsigned rounds)
{
    uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    memcpy(start + 4, key, 8 * sizeof *key);
    memcpy(start + 12, last, 4 * sizeof *last);
    memcpy(out, start, sizeof start);
    for (unsigned i = 0; i < rounds; i += 2) {
        for (unsigned k = 0; k < 4; k++) {
            quarter(out, k, 4 + k, 8 + k, 12 + k);
        }
        for (unsigned k = 0; k < 4; k++) {
            quarter(out, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4);
        }
    }
    for (unsigned i = 0; i < 16; i++) {
        out[i] += start[i];
    }
}

void audit_load_words(uint32_t *words, const uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++, bytes += 4) {
        words[i] = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                   (uint32_t)bytes[3] << 24;
    }
}

struct stream {
    uint32_t key[8];
    uint32_t last[4]; /* counter and nonce */
    uint8_t bytes[REFILL];
    unsigned next;
};

static void refill(struct stream *stream)
{
    for (unsigned block = 0; block < 4; block++) {
        uint32_t words[16];
        stream->last[0] = block;
        audit_chacha(words, stream->key, stream->last, 20);
        for (unsigned i = 0; i < 64; i++) {
            stream->bytes[64 * block + i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
        }
    }
    audit_load_words(stream->key, stream->bytes, 8);
    memset(stream->last, 0, sizeof stream->last);
    stream->next = TREMOLO_SEED_BYTES;
}

static uint8_t next_byte(struct stream *stream)
{
    if (stream->next == REFILL) {
        refill(stream);
    }
    return stream->bytes[stream->next++];
}

/* Uniform on 0..count-1: bytes under the smallest mask, until one is below it. */
static unsigned face(struct stream *stream, unsigned count)
{
    unsigned mask = 1;
    unsigned drawn;
    while (mask < count - 1) {
        mask = 2 * mask + 1;
    }
    do {
        drawn = next_byte(stream) & mask;
    } while (drawn >= count);
    return drawn;
}

static struct stream seed(const struct audit_before *before, const struct audit_device *device,
                          const struct tremolo_study *study, uint32_t key)
{
    struct stream stream = {.last = {0, key, before->sequence, 0}, .next = REFILL};
    uint8_t mixed[TREMOLO_SEED_BYTES];
    for (unsigned i = 0; i < sizeof mixed; i++) {
        mixed[i] = device->entropy[i] ^ study->id[i] ^ before->secret[i];
    }
    audit_load_words(stream.key, mixed, 8);
    return stream;
}

struct audit_before audit_before(struct audit_device *device)
{
    struct audit_before before = {.sequence = device->slots[0].sequence};
    memcpy(before.secret, audit_secret_of(&device->slots[0]), sizeof before.secret);
    return before;
}

struct audit_draw audit_draw_of(const struct audit_before *before,
                                const struct audit_device *device,
                                const struct tremolo_study *study, uint32_t key)
{
    struct stream stream = seed(before, device, study, key);
    struct audit_draw draw;
    uint32_t word = 0;
    for (unsigned i = 0; i < TREMOLO_REPORT_ID_BYTES; i++) {
        draw.id[i] = next_byte(&stream);
    }
    for (unsigned i = 0; i < TREMOLO_SECRET_BYTES; i++) {
        (void)next_byte(&stream);
    }
    for (unsigned i = 0; i < 4; i++) {
        word = word << 8 | next_byte(&stream);
    }
    unsigned early = face(&stream, study->rank_first);
    unsigned late = study->rank_first + face(&stream, ANSWERS - study->rank_first);
    draw.rank = word < study->rank_top ? early : late;
    return draw;
}
