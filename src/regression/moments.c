/* moments.c -- the life of struct tremolo_moments: making, merging, reading, and its bytes. fold.c
 * adds reports to it.
 *
 * Sums are exact 64-bit integers, apart for each of 32 buckets. Integers make the result independent
 * of order, threads and sharding to the bit, so that a server, a cluster and a file of the same
 * reports agree; the limits on counts keep every sum below 2^63. Rows and ballots share the object:
 * a bucket is an array of sums, and only adding and reading know what they mean. */
#include "moments_internal.h"

#include <stdlib.h>
#include <string.h>

#include "regression.h"

/* ---------------------------------------------------------------- making */

/* One piece of zeroed memory for all buckets; NULL when there is none. */
static int64_t *sums_new(struct bucket_sums bucket[TREMOLO_BUCKETS], size_t sums, size_t products)
{
    int64_t *storage = calloc(TREMOLO_BUCKETS * (sums + products), sizeof *storage);
    for (size_t b = 0; storage != NULL && b < TREMOLO_BUCKETS; b++) {
        bucket[b].sum = storage + b * (sums + products);
        bucket[b].product = products > 0 ? bucket[b].sum + sums : NULL;
    }
    return storage;
}

/* Sums and products of a bucket lie one after the other. */
static void sums_add(struct bucket_sums *into, const struct bucket_sums *from, size_t entries)
{
    into->count += from->count;
    for (size_t i = 0; i < entries; i++) {
        into->sum[i] += from->sum[i];
    }
}

/* Both callers and files ask: a shape that passes cannot overflow a sum. */
static bool shape_is_sound(const struct tremolo_moments_shape *shape)
{
    size_t n = shape->coordinates;
    if (shape->ballots) {
        return n >= 1 && n <= TREMOLO_MAX_BALLOT_ENTRIES &&
               shape->feature_max == TREMOLO_MAX_BALLOT_VALUE &&
               (shape->response_max == 0 || shape->response_max == TREMOLO_MAX_FOLD_VALUE);
    }
    return n >= 2 && n <= TREMOLO_MAX_FOLD_COORDINATES && shape->feature_max >= 1 &&
           shape->feature_max <= TREMOLO_MAX_FOLD_VALUE && shape->response_max >= 1 &&
           shape->response_max <= TREMOLO_MAX_FOLD_VALUE;
}

/* Of a sound shape. */
static enum tremolo_status create(struct tremolo_moments **moments,
                                  const struct tremolo_moments_shape *shape)
{
    struct tremolo_moments *made = calloc(1, sizeof *made);
    size_t n = shape->coordinates;
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->n = made->sums = n;
    made->feature_max = shape->feature_max;
    made->response_max = shape->response_max;
    if (shape->ballots) {
        bool is_public = shape->response_max > 0;
        made->ballot_parts = is_public ? BALLOT_PARTS_PUBLIC : 1;
        made->stride = (n + BALLOT_STEP - 1) / BALLOT_STEP * BALLOT_STEP;
        made->sums = made->ballot_parts * made->stride + (is_public ? 2 : 0);
        made->ballot = calloc(made->stride, 1);
    } else {
        made->products = n * n;
        made->split_response =
            shape->response_max > shape->feature_max && shape->response_max > 128;
    }
    made->storage = sums_new(made->bucket, made->sums, made->products);
    if (made->storage == NULL || (shape->ballots && made->ballot == NULL)) {
        tremolo_moments_free(made);
        return TREMOLO_NO_MEMORY;
    }
    *moments = made;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_moments_new(struct tremolo_moments **moments, size_t coordinates,
                                        int feature_max, int response_max)
{
    const struct tremolo_moments_shape shape = {false, coordinates, feature_max, response_max};
    return moments != NULL && shape_is_sound(&shape) ? create(moments, &shape)
                                                     : TREMOLO_BAD_ARGUMENT;
}

enum tremolo_status tremolo_moments_new_ballots(struct tremolo_moments **moments, size_t entries,
                                                bool response_public)
{
    const struct tremolo_moments_shape shape = {true, entries, TREMOLO_MAX_BALLOT_VALUE,
                                                response_public ? TREMOLO_MAX_FOLD_VALUE : 0};
    return moments != NULL && shape_is_sound(&shape) ? create(moments, &shape)
                                                     : TREMOLO_BAD_ARGUMENT;
}

void tremolo_moments_rest(struct tremolo_moments *moments)
{
    free(moments->work.panel);
    free((void *)moments->work.stages);
    moments->work = (struct fold_workspace){0};
}

void tremolo_moments_free(struct tremolo_moments *moments)
{
    if (moments == NULL) {
        return;
    }
    tremolo_moments_rest(moments);
    free(moments->ballot);
    tremolo_moments_unwatch(moments);
    free(moments->storage);
    free(moments);
}

/* Ids are drawn at random by honest devices; multiplying by an odd constant
 * and keeping the top bits spreads ids that count upwards as well. */
unsigned tremolo_bucket_of(const uint8_t report_id[16])
{
    uint64_t mixed = 0;
    for (int i = 0; i < 16; i++) {
        mixed = (mixed ^ report_id[i]) * UINT64_C(0x9E3779B97F4A7C15);
        mixed ^= mixed >> 29;
    }
    return (unsigned)(mixed >> 59);
}

/* ---------------------------------------------------------------- the tail
 *
 * Reports that honest noise hardly explains are counted and also summed apart. There are counts of
 * reports with a squared norm, or a coordinate, beyond limits that honest reports rarely pass, and
 * sums over the reports beyond the limit called the cut. A robust estimate uses all sums minus
 * these. They are integers, too: the same whatever the order and the sharding. */

/* Limits must increase, and some coordinate must count. */
static bool limits_sound(const struct tremolo_tail_limits *limits, size_t n)
{
    bool sound = limits->released >= 1 && limits->released <= n && limits->value >= 1;
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        sound = sound && limits->norm2[k] > (k > 0 ? limits->norm2[k - 1] : 0);
    }
    return sound;
}

/* For sound limits. */
static enum tremolo_status tail_new(struct tremolo_moments *moments,
                                    const struct tremolo_tail_limits *limits)
{
    struct moments_tail *tail = calloc(1, sizeof *tail);
    if (tail == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    moments->tail = tail;
    tail->limits = *limits;
    tail->high = calloc(2 * moments->n, sizeof *tail->high);
    tail->storage = sums_new(tail->bucket, moments->sums, moments->products);
    if (tail->high == NULL || tail->storage == NULL) {
        tremolo_moments_unwatch(moments);
        return TREMOLO_NO_MEMORY;
    }
    tail->low = tail->high + moments->n;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_moments_watch(struct tremolo_moments *moments,
                                          const struct tremolo_tail_limits *limits)
{
    if (moments == NULL || limits == NULL || moments->tail != NULL ||
        tremolo_moments_count(moments) > 0 || !limits_sound(limits, moments->n)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    return tail_new(moments, limits);
}

void tremolo_moments_unwatch(struct tremolo_moments *moments)
{
    if (moments->tail != NULL) {
        free(moments->tail->high);
        free(moments->tail->storage);
        free(moments->tail);
        moments->tail = NULL;
    }
}

static bool limits_equal(const struct tremolo_tail_limits *a, const struct tremolo_tail_limits *b)
{
    return a->released == b->released && a->value == b->value && a->cut_values == b->cut_values &&
           memcmp(a->norm2, b->norm2, sizeof a->norm2) == 0;
}

/* Where the two were watched by different limits the counts say nothing, and are dropped. */
static void tail_merge(struct tremolo_moments *moments, const struct tremolo_moments *other)
{
    struct moments_tail *tail = moments->tail;
    const struct moments_tail *more = other->tail;
    if (tail == NULL || more == NULL || !limits_equal(&tail->limits, &more->limits)) {
        tremolo_moments_unwatch(moments);
        return;
    }
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        tail->beyond[k] += more->beyond[k];
    }
    for (size_t i = 0; i < 2 * moments->n; i++) { /* low follows high */
        tail->high[i] += more->high[i];
    }
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        sums_add(&tail->bucket[b], &more->bucket[b], moments->sums + moments->products);
    }
}

/* ---------------------------------------------------------------- merging and reading */

static bool alike(const struct tremolo_moments *a, const struct tremolo_moments *b)
{
    return a->n == b->n && a->ballot_parts == b->ballot_parts && a->feature_max == b->feature_max &&
           a->response_max == b->response_max;
}

uint64_t tremolo_moments_reports_max(const struct tremolo_moments *moments)
{
    return moments->ballot_parts == BALLOT_PARTS_PUBLIC ? TREMOLO_MAX_FOLD_BALLOTS
                                                        : TREMOLO_MAX_FOLD_REPORTS;
}

enum tremolo_status tremolo_moments_merge(struct tremolo_moments *moments,
                                          const struct tremolo_moments *other)
{
    if (moments == NULL || other == NULL || moments == other || !alike(moments, other)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (tremolo_moments_count(other) >
        tremolo_moments_reports_max(moments) - tremolo_moments_count(moments)) {
        return TREMOLO_OVERFLOWED;
    }
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        sums_add(&moments->bucket[b], &other->bucket[b], moments->sums + moments->products);
    }
    tail_merge(moments, other);
    return TREMOLO_OK;
}

/* The lower triangle is copied from the upper one only here. */
enum tremolo_status tremolo_moments_bucket(struct tremolo_moments *moments,
                                           struct tremolo_sums *sums, unsigned bucket)
{
    if (moments == NULL || sums == NULL || bucket >= TREMOLO_BUCKETS || moments->ballot_parts > 0) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct bucket_sums *from = &moments->bucket[bucket];
    size_t n = moments->n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            from->product[i * n + j] = from->product[j * n + i];
        }
    }
    *sums = (struct tremolo_sums){n, from->count, from->sum, from->product};
    return TREMOLO_OK;
}

struct tremolo_moments_shape tremolo_moments_shape(const struct tremolo_moments *moments)
{
    return (struct tremolo_moments_shape){moments->ballot_parts > 0, moments->n,
                                          moments->feature_max, moments->response_max};
}

uint64_t tremolo_moments_count(const struct tremolo_moments *moments)
{
    uint64_t count = 0;
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        count += moments->bucket[b].count;
    }
    return count;
}

bool tremolo_moments_tail(struct tremolo_tail *tail, const struct tremolo_moments *moments)
{
    const struct moments_tail *from = moments->tail;
    if (from == NULL) {
        return false;
    }
    *tail = (struct tremolo_tail){.limits = from->limits,
                                  .reports = tremolo_moments_count(moments),
                                  .high = from->high,
                                  .low = from->low};
    memcpy(tail->beyond, from->beyond, sizeof tail->beyond);
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        tail->set_aside += from->bucket[b].count;
    }
    return true;
}

enum tremolo_status tremolo_moments_within(struct tremolo_moments **within,
                                           const struct tremolo_moments *moments)
{
    struct tremolo_moments *made = NULL;
    if (moments == NULL || moments->tail == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const struct tremolo_moments_shape shape = tremolo_moments_shape(moments);
    enum tremolo_status status = create(&made, &shape);
    if (status != TREMOLO_OK) {
        return status;
    }
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        const struct bucket_sums *all = &moments->bucket[b];
        const struct bucket_sums *beyond = &moments->tail->bucket[b];
        made->bucket[b].count = all->count - beyond->count;
        for (size_t i = 0; i < moments->sums + moments->products; i++) {
            made->bucket[b].sum[i] = all->sum[i] - beyond->sum[i];
        }
    }
    *within = made;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_moments_ballots(struct tremolo_ballot_sums *sums,
                                            const struct tremolo_moments *moments, unsigned bucket)
{
    if (sums == NULL || moments == NULL || moments->ballot_parts == 0 ||
        bucket >= TREMOLO_BUCKETS) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const struct bucket_sums *from = &moments->bucket[bucket];
    const int64_t *sum = from->sum;
    *sums = (struct tremolo_ballot_sums){.count = from->count, .row = sum};
    if (moments->ballot_parts == BALLOT_PARTS_PUBLIC) {
        sums->row_y = sum + moments->stride;
        sums->row_yy = sum + 2 * moments->stride;
        sums->y = sum[BALLOT_PARTS_PUBLIC * moments->stride];
        sums->yy = sum[BALLOT_PARTS_PUBLIC * moments->stride + 1];
    }
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- as bytes, for checkpoints and shards
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
enum {
    VERSION_ROWS = 1,
    VERSION_BALLOTS = 2,
    VERSION_TAIL = 2, /* more, with a tail */
    TAIL_NUMBERS = 3 + 2 * TREMOLO_TAIL_LIMITS,
    HEADER_BYTES = 16,
    CHECKSUM_BYTES = 8,
};

static const uint8_t magic[4] = {'T', 'R', 'M', 'M'};

/* The table is made each time: a file is read or written rarely, and there is no state. */
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

/* Of a bucket's sums, without its count. */
static size_t sums_bytes(const struct tremolo_moments_shape *shape)
{
    size_t n = shape->coordinates;
    size_t sums = !shape->ballots            ? n + n * (n + 1) / 2
                  : shape->response_max == 0 ? n
                                             : BALLOT_PARTS_PUBLIC * n + 2;
    return 8 * sums;
}

/* Of all, with an empty tail or none. */
static size_t least_bytes(const struct tremolo_moments_shape *shape, bool has_tail)
{
    size_t tail = has_tail ? 8 * (TAIL_NUMBERS + 2 * shape->coordinates + TREMOLO_BUCKETS) : 0;
    return HEADER_BYTES + TREMOLO_BUCKETS * (8 + sums_bytes(shape)) + tail + CHECKSUM_BYTES;
}

size_t tremolo_moments_encoded_bytes(const struct tremolo_moments *moments)
{
    const struct tremolo_moments_shape shape = tremolo_moments_shape(moments);
    size_t bytes = least_bytes(&shape, moments->tail != NULL);
    for (size_t b = 0; b < TREMOLO_BUCKETS && moments->tail != NULL; b++) {
        bytes += moments->tail->bucket[b].count > 0 ? sums_bytes(&shape) : 0;
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

/* Sums in the order of the byte table, each with the bound that honest sums obey. */
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

/* The same for the parts of ballots; the bound grows by the response with each part. */
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

/* False when the count or a sum is impossible; *at is behind the sums in any case. */
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
    unsigned version = moments->ballot_parts > 0 ? VERSION_BALLOTS : VERSION_ROWS;
    if (capacity < tremolo_moments_encoded_bytes(moments)) {
        return TREMOLO_SHORT_BUFFER;
    }
    uint8_t *at = bytes;
    memcpy(at, magic, sizeof magic);
    at = put(at + sizeof magic, version + (moments->tail != NULL ? VERSION_TAIL : 0), 2);
    at = put(at, moments->n, 2);
    at = put(at, (uint64_t)moments->feature_max, 2);
    at = put(at, (uint64_t)moments->response_max, 2);
    at = put(at, TREMOLO_BUCKETS, 4);
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        at = put_sums(at, &moments->bucket[b], moments);
    }
    if (moments->tail != NULL) {
        at = put_tail(at, moments);
    }
    (void)put(at, checksum(bytes, (size_t)(at - bytes)), CHECKSUM_BYTES);
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- reading */

/* Reports beyond the cut are among all, bucket by bucket. */
static bool get_beyond(struct tremolo_moments *moments, const uint8_t *at, const uint8_t *end)
{
    const struct tremolo_moments_shape shape = tremolo_moments_shape(moments);
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        struct bucket_sums *sums = &moments->tail->bucket[b];
        const uint8_t *count_at = at;
        if (end - at < 8) {
            return false;
        }
        uint64_t count = get(&count_at, 8);
        if (count > moments->bucket[b].count ||
            (count > 0 && (size_t)(end - count_at) < sums_bytes(&shape))) {
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

/* What was counted beyond a limit is at most what was counted beyond the one before it. */
static enum tremolo_status get_tail(struct tremolo_moments *moments, const uint8_t *at,
                                    const uint8_t *end)
{
    struct tremolo_tail_limits limits = {.released = (size_t)get(&at, 8)};
    uint64_t all = tremolo_moments_count(moments);
    uint64_t cut_values = get(&at, 8);
    limits.cut_values = cut_values == 1;
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        limits.norm2[k] = get_signed(&at);
    }
    uint64_t value = get(&at, 8);
    limits.value = value <= INT32_MAX ? (int32_t)value : 0;
    if (cut_values > 1 || !limits_sound(&limits, moments->n)) {
        return TREMOLO_MALFORMED;
    }
    enum tremolo_status status = tail_new(moments, &limits);
    if (status != TREMOLO_OK) {
        return status;
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
    return good && get_beyond(moments, at, end) ? TREMOLO_OK : TREMOLO_MALFORMED;
}

/* The length follows from the head, so that nothing is allocated for a length that does not fit. */
static enum tremolo_status get_head(struct tremolo_moments_shape *shape, bool *has_tail,
                                    const uint8_t **at, size_t length)
{
    if (length < HEADER_BYTES || memcmp(*at, magic, sizeof magic) != 0) {
        return TREMOLO_MALFORMED;
    }
    *at += sizeof magic;
    unsigned version = (unsigned)get(at, 2);
    *has_tail = version > VERSION_TAIL;
    version -= *has_tail ? VERSION_TAIL : 0;
    if (version != VERSION_ROWS && version != VERSION_BALLOTS) {
        return TREMOLO_UNKNOWN_VERSION;
    }
    shape->ballots = version == VERSION_BALLOTS;
    shape->coordinates = (size_t)get(at, 2);
    shape->feature_max = (int)get(at, 2);
    shape->response_max = (int)get(at, 2);
    size_t least = least_bytes(shape, *has_tail);
    bool good = get(at, 4) == TREMOLO_BUCKETS && shape_is_sound(shape) &&
                (length == least || (*has_tail && length > least));
    return good ? TREMOLO_OK : TREMOLO_MALFORMED;
}

enum tremolo_status tremolo_moments_decode(struct tremolo_moments **moments, const uint8_t *bytes,
                                           size_t length)
{
    struct tremolo_moments_shape shape;
    struct tremolo_moments *made = NULL;
    bool has_tail = false;
    if (moments == NULL || bytes == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const uint8_t *at = bytes;
    enum tremolo_status status = get_head(&shape, &has_tail, &at, length);
    if (status != TREMOLO_OK) {
        return status;
    }
    const uint8_t *end = bytes + length - CHECKSUM_BYTES;
    const uint8_t *sum_at = end;
    if (get(&sum_at, CHECKSUM_BYTES) != checksum(bytes, length - CHECKSUM_BYTES)) {
        return TREMOLO_MALFORMED;
    }
    status = create(&made, &shape);
    for (size_t b = 0; b < TREMOLO_BUCKETS && status == TREMOLO_OK; b++) {
        status = get_sums(made, &made->bucket[b], &at) ? TREMOLO_OK : TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK && has_tail) {
        status = get_tail(made, at, end);
    }
    if (status == TREMOLO_OK && tremolo_moments_count(made) > tremolo_moments_reports_max(made)) {
        status = TREMOLO_MALFORMED;
    }
    if (status != TREMOLO_OK) {
        tremolo_moments_free(made);
        return status;
    }
    *moments = made;
    return TREMOLO_OK;
}
