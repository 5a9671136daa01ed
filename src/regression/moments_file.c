/* moments_file.c -- moments as bytes, for checkpoints and for shards.
 *
 * All numbers are little-endian; n is the number of coordinates.
 *
 *     offset  bytes  what
 *     0       4      "TRMM"
 *     4       2      version, 1
 *     6       2      n, 2..257
 *     8       2      largest magnitude of a feature, 1..32767
 *     10      2      largest magnitude of the response, 1..32767
 *     12      4      number of buckets, 32
 *     16      32 B   the buckets, B = 8 (1 + n + n (n + 1) / 2) bytes each:
 *                    count; n sums; upper triangle of products, row by row
 *     end     8      CRC-64 (ECMA-182 polynomial, reflected) of all before
 *
 * One set of moments has one encoding. The checksum finds damage, not
 * forgery; who may write such a file is the caller's business. */
#include "moments_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    FORMAT_VERSION = 1,
    HEADER_BYTES = 16,
    CHECKSUM_BYTES = 8,
};

static const uint8_t magic[4] = {'T', 'R', 'M', 'M'};

static uint64_t checksum(const uint8_t *bytes, size_t length)
{
    uint64_t table[256];
    for (uint64_t i = 0; i < 256; i++) {
        uint64_t remainder = i;
        for (int bit = 0; bit < 8; bit++) {
            remainder =
                (remainder >> 1) ^ ((remainder & 1) != 0 ? UINT64_C(0xC96C5795D7870F42) : 0);
        }
        table[i] = remainder;
    }
    uint64_t crc = UINT64_MAX;
    for (size_t i = 0; i < length; i++) {
        crc = (crc >> 8) ^ table[(crc ^ bytes[i]) & 0xFF];
    }
    return ~crc;
}

static uint8_t *put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
    return at + bytes;
}

static uint64_t get(const uint8_t **at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)(*at)[i] << (8 * i);
    }
    *at += bytes;
    return value;
}

/* Two's complement without relying on the cast of a large unsigned value. */
static int64_t get_signed(const uint8_t **at)
{
    uint64_t value = get(at, 8);
    return value <= INT64_MAX ? (int64_t)value : -(int64_t)(UINT64_MAX - value) - 1;
}

static size_t encoded_bytes(size_t n)
{
    size_t bucket = 8 * (1 + n + n * (n + 1) / 2);
    return HEADER_BYTES + TREMOLO_BUCKETS * bucket + CHECKSUM_BYTES;
}

size_t tremolo_moments_encoded_bytes(const struct tremolo_moments *moments)
{
    return encoded_bytes(moments->n);
}

static uint8_t *put_bucket(uint8_t *at, const struct bucket_sums *sums, size_t n)
{
    at = put(at, sums->count, 8);
    for (size_t i = 0; i < n; i++) {
        at = put(at, (uint64_t)sums->sum[i], 8);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) {
            at = put(at, (uint64_t)sums->product[i * n + j], 8);
        }
    }
    return at;
}

enum tremolo_status tremolo_moments_encode(const struct tremolo_moments *moments, uint8_t *bytes,
                                           size_t capacity)
{
    if (moments == NULL || bytes == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (capacity < encoded_bytes(moments->n)) {
        return TREMOLO_SHORT_BUFFER;
    }
    uint8_t *at = bytes;
    memcpy(at, magic, sizeof magic);
    at = put(at + sizeof magic, FORMAT_VERSION, 2);
    at = put(at, moments->n, 2);
    at = put(at, (uint64_t)moments->feature_max, 2);
    at = put(at, (uint64_t)moments->response_max, 2);
    at = put(at, TREMOLO_BUCKETS, 4);
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        at = put_bucket(at, &moments->bucket[b], moments->n);
    }
    (void)put(at, checksum(bytes, (size_t)(at - bytes)), CHECKSUM_BYTES);
    return TREMOLO_OK;
}

static int64_t bound_of(const struct tremolo_moments *moments, size_t coordinate)
{
    return coordinate + 1 == moments->n ? moments->response_max : moments->feature_max;
}

/* count and bounds are small enough for the products here not to overflow:
 * count <= 2^33, bound * bound < 2^30. */
static bool possible(int64_t value, uint64_t count, int64_t bound, bool square)
{
    int64_t limit = (int64_t)count * bound;
    return value <= limit && value >= (square ? 0 : -limit);
}

static bool get_bucket(struct tremolo_moments *moments, struct bucket_sums *sums,
                       const uint8_t **at)
{
    size_t n = moments->n;
    bool good = true;
    sums->count = get(at, 8);
    if (sums->count > TREMOLO_MAX_FOLD_REPORTS) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        sums->sum[i] = get_signed(at);
        good = good && possible(sums->sum[i], sums->count, bound_of(moments, i), false);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) {
            int64_t value = get_signed(at);
            sums->product[i * n + j] = value;
            good = good && possible(value, sums->count, bound_of(moments, i) * bound_of(moments, j),
                                    i == j);
        }
    }
    return good;
}

static enum tremolo_status get_header(size_t header[3], const uint8_t **at, size_t length)
{
    if (length < HEADER_BYTES || memcmp(*at, magic, sizeof magic) != 0) {
        return TREMOLO_MALFORMED;
    }
    *at += sizeof magic;
    if (get(at, 2) != FORMAT_VERSION) {
        return TREMOLO_UNKNOWN_VERSION;
    }
    for (int i = 0; i < 3; i++) {
        header[i] = (size_t)get(at, 2);
    }
    bool good = header[0] >= 2 && header[0] <= TREMOLO_MAX_FOLD_COORDINATES && header[1] >= 1 &&
                header[1] <= TREMOLO_MAX_FOLD_VALUE && header[2] >= 1 &&
                header[2] <= TREMOLO_MAX_FOLD_VALUE && get(at, 4) == TREMOLO_BUCKETS &&
                length == encoded_bytes(header[0]);
    return good ? TREMOLO_OK : TREMOLO_MALFORMED;
}

enum tremolo_status tremolo_moments_decode(struct tremolo_moments **moments, const uint8_t *bytes,
                                           size_t length)
{
    size_t header[3] = {0};
    if (moments == NULL || bytes == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const uint8_t *at = bytes;
    enum tremolo_status status = get_header(header, &at, length);
    if (status != TREMOLO_OK) {
        return status;
    }
    const uint8_t *tail = bytes + length - CHECKSUM_BYTES;
    if (get(&tail, CHECKSUM_BYTES) != checksum(bytes, length - CHECKSUM_BYTES)) {
        return TREMOLO_MALFORMED;
    }
    struct tremolo_moments *made = NULL;
    status = tremolo_moments_new(&made, header[0], (int)header[1], (int)header[2]);
    bool good = status == TREMOLO_OK;
    for (size_t b = 0; b < TREMOLO_BUCKETS && good; b++) {
        good = get_bucket(made, &made->bucket[b], &at);
    }
    if (!good || tremolo_moments_count(made) > TREMOLO_MAX_FOLD_REPORTS) {
        tremolo_moments_free(made);
        return status != TREMOLO_OK ? status : TREMOLO_MALFORMED;
    }
    *moments = made;
    return TREMOLO_OK;
}
