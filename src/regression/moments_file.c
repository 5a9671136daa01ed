/* moments_file.c -- moments as bytes, for checkpoints and for shards.
 *
 * All numbers are little-endian; n is the number of coordinates.
 *
 *     offset  bytes  what
 *     0       4      "TRMM"
 *     4       2      version, 1, or 2 for ballots; 3 and 4 with the tail of watched reports
 *     6       2      n, 2..257
 *     8       2      largest magnitude of a feature, 1..32767
 *     10      2      largest magnitude of the response, 1..32767
 *     12      4      number of buckets, 32
 *     16      32 B   the buckets, B = 8 (1 + n + n (n + 1) / 2) bytes each:
 *                    count; n sums; upper triangle of products, row by row
 *     end     8      CRC-64 (ECMA-182 polynomial, reflected) of all before
 *
 * For ballots n is the number of entries, 1..33412; the largest magnitude of a feature is
 * 80, and of the response 32767, or 0 when it is private. A bucket holds its count and n sums
 * of the entries; with a public response then n sums of y times them, n of y^2 times them,
 * and the sums of y and of y^2.
 *
 * The tail follows the buckets, in numbers of 8 bytes: how many coordinates count, whether a
 * coordinate can be beyond the cut (0, 1), five limits of squared norms, the limit of a coordinate;
 * five counts beyond these; n counts of coordinates above the limit and n of those below
 * its negative. Then 32 buckets of reports beyond the cut, of an empty one its count alone.
 *
 * One set of moments has one encoding. The checksum finds damage, not
 * forgery; who may write such a file is the caller's business. */
#include "moments_internal.h"

#include <string.h>

enum {
    VERSION_ROWS = 1,
    VERSION_BALLOTS = 2,
    VERSION_TAIL = 2, /* more, with a tail */
    TAIL_NUMBERS = 3 + 2 * TREMOLO_TAIL_LIMITS,
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

/* The numbers of the head. */
struct head {
    unsigned version; /* without the tail's part */
    bool tail;
    size_t n;
    size_t feature_max;
    size_t response_max;
};

static struct head head_of(const struct tremolo_moments *moments)
{
    return (struct head){moments->ballot_parts > 0 ? VERSION_BALLOTS : VERSION_ROWS,
                         moments->tail != NULL, moments->n, (size_t)moments->feature_max,
                         (size_t)moments->response_max};
}

/* Of a bucket's sums, without its count. */
static size_t sums_bytes(const struct head *head)
{
    size_t n = head->n;
    size_t sums = head->version == VERSION_ROWS ? n + n * (n + 1) / 2
                  : head->response_max == 0     ? n
                                                : BALLOT_PARTS_PUBLIC * n + 2;
    return 8 * sums;
}

/* With an empty tail. */
static size_t least_bytes(const struct head *head)
{
    size_t tail = head->tail ? 8 * (TAIL_NUMBERS + 2 * head->n + TREMOLO_BUCKETS) : 0;
    return HEADER_BYTES + TREMOLO_BUCKETS * (8 + sums_bytes(head)) + tail + CHECKSUM_BYTES;
}

size_t tremolo_moments_encoded_bytes(const struct tremolo_moments *moments)
{
    const struct head head = head_of(moments);
    size_t bytes = least_bytes(&head);
    for (size_t b = 0; b < TREMOLO_BUCKETS && head.tail; b++) {
        bytes += moments->tail->bucket[b].count > 0 ? sums_bytes(&head) : 0;
    }
    return bytes;
}

/* ---------------------------------------------------------------- the sums of a bucket */

/* Where sums are written to, or else read from; one order serves both. */
struct coder {
    uint8_t *to;
    const uint8_t *from;
    bool good; /* what was read is possible */
};

/* One sum over `count` reports of which none has more than `bound`. Both are small enough for
 * their product not to overflow: with a bound of 2^30 count <= 2^33, with one of 2^37, that of
 * ballots with a public response, count <= 2^26. */
static void code(struct coder *coder, int64_t *sum, uint64_t count, int64_t bound, bool square)
{
    if (coder->to != NULL) {
        coder->to = put(coder->to, (uint64_t)*sum, 8);
        return;
    }
    int64_t limit = (int64_t)count * bound;
    *sum = get_signed(&coder->from);
    coder->good = coder->good && *sum <= limit && *sum >= (square ? 0 : -limit);
}

static int64_t bound_of(const struct tremolo_moments *moments, size_t coordinate)
{
    return coordinate + 1 == moments->n ? moments->response_max : moments->feature_max;
}

static void code_rows(struct coder *coder, const struct bucket_sums *sums,
                      const struct tremolo_moments *moments)
{
    size_t n = moments->n;
    for (size_t i = 0; i < n; i++) {
        code(coder, &sums->sum[i], sums->count, bound_of(moments, i), false);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) {
            code(coder, &sums->product[i * n + j], sums->count,
                 bound_of(moments, i) * bound_of(moments, j), i == j);
        }
    }
}

static void code_ballots(struct coder *coder, const struct bucket_sums *sums,
                         const struct tremolo_moments *moments)
{
    int64_t bound = TREMOLO_MAX_BALLOT_VALUE;
    for (size_t part = 0; part < moments->ballot_parts; part++) {
        for (size_t i = 0; i < moments->n; i++) {
            code(coder, &sums->sum[part * moments->stride + i], sums->count, bound, false);
        }
        bound *= moments->response_max;
    }
    bound = moments->response_max;
    for (size_t i = moments->ballot_parts * moments->stride; i < moments->sums; i++) {
        code(coder, &sums->sum[i], sums->count, bound, bound > moments->response_max);
        bound *= moments->response_max;
    }
}

static void code_sums(struct coder *coder, const struct bucket_sums *sums,
                      const struct tremolo_moments *moments)
{
    (moments->ballot_parts > 0 ? code_ballots : code_rows)(coder, sums, moments);
}

static uint8_t *put_sums(uint8_t *at, const struct bucket_sums *sums,
                         const struct tremolo_moments *moments)
{
    struct coder coder = {.to = put(at, sums->count, 8)};
    code_sums(&coder, sums, moments);
    return coder.to;
}

static bool get_sums(struct tremolo_moments *moments, struct bucket_sums *sums, const uint8_t **at)
{
    sums->count = get(at, 8);
    struct coder coder = {.from = *at, .good = sums->count <= tremolo_moments_reports_max(moments)};
    if (coder.good) {
        code_sums(&coder, sums, moments);
    }
    *at = coder.from;
    return coder.good;
}

/* ---------------------------------------------------------------- writing */

static uint8_t *put_tail(uint8_t *at, const struct tremolo_moments *moments)
{
    const struct moments_tail *tail = moments->tail;
    at = put(at, tail->limits.released, 8);
    at = put(at, tail->limits.cut_values, 8);
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        at = put(at, (uint64_t)tail->limits.norm2[k], 8);
    }
    at = put(at, (uint64_t)tail->limits.value, 8);
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        at = put(at, tail->beyond[k], 8);
    }
    for (size_t i = 0; i < 2 * moments->n; i++) { /* low follows high */
        at = put(at, tail->high[i], 8);
    }
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        at = tail->bucket[b].count > 0 ? put_sums(at, &tail->bucket[b], moments) : put(at, 0, 8);
    }
    return at;
}

enum tremolo_status tremolo_moments_encode(const struct tremolo_moments *moments, uint8_t *bytes,
                                           size_t capacity)
{
    if (moments == NULL || bytes == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const struct head head = head_of(moments);
    if (capacity < tremolo_moments_encoded_bytes(moments)) {
        return TREMOLO_SHORT_BUFFER;
    }
    uint8_t *at = bytes;
    memcpy(at, magic, sizeof magic);
    at = put(at + sizeof magic, head.version + (head.tail ? VERSION_TAIL : 0), 2);
    at = put(at, head.n, 2);
    at = put(at, head.feature_max, 2);
    at = put(at, head.response_max, 2);
    at = put(at, TREMOLO_BUCKETS, 4);
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        at = put_sums(at, &moments->bucket[b], moments);
    }
    if (head.tail) {
        at = put_tail(at, moments);
    }
    (void)put(at, checksum(bytes, (size_t)(at - bytes)), CHECKSUM_BYTES);
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- reading */

/* Reports beyond the cut are among all, bucket by bucket. */
static bool get_beyond(struct tremolo_moments *moments, const struct head *head, const uint8_t *at,
                       const uint8_t *end)
{
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        struct bucket_sums *sums = &moments->tail->bucket[b];
        const uint8_t *count_at = at;
        if (end - at < 8) {
            return false;
        }
        uint64_t count = get(&count_at, 8);
        if (count > moments->bucket[b].count ||
            (count > 0 && (size_t)(end - count_at) < sums_bytes(head))) {
            return false;
        }
        if (count == 0) {
            at = count_at;
        } else if (!get_sums(moments, sums, &at)) {
            return false;
        }
    }
    return at == end;
}

static enum tremolo_status get_tail(struct tremolo_moments *moments, const struct head *head,
                                    const uint8_t *at, const uint8_t *end)
{
    struct tremolo_tail_limits limits = {.released = (size_t)get(&at, 8)};
    uint64_t all = tremolo_moments_count(moments);
    uint64_t cut_values = get(&at, 8);
    limits.cut_values = cut_values == 1;
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        limits.norm2[k] = get_signed(&at);
    }
    uint64_t value = get(&at, 8);
    if (cut_values > 1 || value > INT32_MAX) {
        return TREMOLO_MALFORMED;
    }
    limits.value = (int32_t)value;
    enum tremolo_status status = tremolo_tail_new(moments, &limits);
    if (status != TREMOLO_OK) {
        return status == TREMOLO_BAD_ARGUMENT ? TREMOLO_MALFORMED : status;
    }
    bool good = true;
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        moments->tail->beyond[k] = get(&at, 8);
        good = good && moments->tail->beyond[k] <= (k > 0 ? moments->tail->beyond[k - 1] : all);
    }
    for (size_t i = 0; i < 2 * moments->n; i++) {
        moments->tail->high[i] = get(&at, 8);
        good = good && moments->tail->high[i] <= all;
    }
    return good && get_beyond(moments, head, at, end) ? TREMOLO_OK : TREMOLO_MALFORMED;
}

static enum tremolo_status get_head(struct head *head, const uint8_t **at, size_t length)
{
    if (length < HEADER_BYTES || memcmp(*at, magic, sizeof magic) != 0) {
        return TREMOLO_MALFORMED;
    }
    *at += sizeof magic;
    head->version = (unsigned)get(at, 2);
    head->tail = head->version > VERSION_TAIL;
    head->version -= head->tail ? VERSION_TAIL : 0;
    if (head->version != VERSION_ROWS && head->version != VERSION_BALLOTS) {
        return TREMOLO_UNKNOWN_VERSION;
    }
    head->n = (size_t)get(at, 2);
    head->feature_max = (size_t)get(at, 2);
    head->response_max = (size_t)get(at, 2);
    bool ballots_sound = head->feature_max == TREMOLO_MAX_BALLOT_VALUE &&
                         (head->response_max == 0 || head->response_max == TREMOLO_MAX_FOLD_VALUE);
    bool good = get(at, 4) == TREMOLO_BUCKETS &&
                (head->version != VERSION_BALLOTS || ballots_sound) &&
                (head->tail ? length >= least_bytes(head) : length == least_bytes(head));
    return good ? TREMOLO_OK : TREMOLO_MALFORMED;
}

enum tremolo_status tremolo_moments_decode(struct tremolo_moments **moments, const uint8_t *bytes,
                                           size_t length)
{
    struct head head = {0};
    if (moments == NULL || bytes == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const uint8_t *at = bytes;
    enum tremolo_status status = get_head(&head, &at, length);
    if (status != TREMOLO_OK) {
        return status;
    }
    const uint8_t *tail = bytes + length - CHECKSUM_BYTES;
    if (get(&tail, CHECKSUM_BYTES) != checksum(bytes, length - CHECKSUM_BYTES)) {
        return TREMOLO_MALFORMED;
    }
    struct tremolo_moments *made = NULL;
    status = tremolo_moments_new_like(&made, head.version == VERSION_BALLOTS, head.n,
                                      (int)head.feature_max, (int)head.response_max);
    if (status != TREMOLO_OK) {
        return status == TREMOLO_BAD_ARGUMENT ? TREMOLO_MALFORMED : status;
    }
    bool good = true;
    for (size_t b = 0; b < TREMOLO_BUCKETS && good; b++) {
        good = get_sums(made, &made->bucket[b], &at);
    }
    if (good && head.tail) {
        status = get_tail(made, &head, at, bytes + length - CHECKSUM_BYTES);
        good = status == TREMOLO_OK;
    }
    if (!good || tremolo_moments_count(made) > tremolo_moments_reports_max(made)) {
        tremolo_moments_free(made);
        return status != TREMOLO_OK ? status : TREMOLO_MALFORMED;
    }
    *moments = made;
    return TREMOLO_OK;
}
