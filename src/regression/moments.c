/* moments.c -- the life of struct tremolo_moments: creation, adding with its
 * checks, threads, merging and reading. The arithmetic is in fold.c. */
#include "moments_internal.h"

#include <stdlib.h>
#include <string.h>

#include "tremolo_ballot.h"

static int64_t *sums_new(struct bucket_sums *bucket, size_t count, size_t sums, size_t products)
{
    int64_t *storage = calloc(count * (sums + products), sizeof *storage);
    for (size_t b = 0; storage != NULL && b < count; b++) {
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

/* Buckets are 0..31, so every byte must fit five bits; eight bytes at a time. */
static bool buckets_valid(const uint8_t *buckets, size_t count)
{
    uint64_t all = 0;
    size_t i = 0;
    for (; i + sizeof all <= count; i += sizeof all) {
        uint64_t eight;
        memcpy(&eight, buckets + i, sizeof eight);
        all |= eight;
    }
    for (; i < count; i++) {
        all |= buckets[i];
    }
    return (all & ~UINT64_C(0x1f1f1f1f1f1f1f1f)) == 0;
}

/* ---------------------------------------------------------------- the tail
 *
 * Reports that honest noise hardly explains, counted and kept apart.
 *
 * Beside the sums over all reports stand counts of those whose squared norm, or one of whose
 * coordinates, exceeds what honest reports rarely do, and sums over those beyond the limit
 * called the cut. All minus these is what a robust estimate is made from. Integers again: the
 * same whatever the order and the sharding. */

static bool limits_sound(const struct tremolo_tail_limits *limits, size_t n)
{
    bool sound = limits->released >= 1 && limits->released <= n && limits->value >= 1;
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        sound = sound && limits->norm2[k] > (k > 0 ? limits->norm2[k - 1] : 0);
    }
    return sound;
}

enum tremolo_status tremolo_tail_new(struct tremolo_moments *moments,
                                     const struct tremolo_tail_limits *limits)
{
    if (!limits_sound(limits, moments->n)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct moments_tail *tail = calloc(1, sizeof *tail);
    if (tail == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    moments->tail = tail;
    tail->limits = *limits;
    tail->high = calloc(2 * moments->n, sizeof *tail->high);
    tail->storage = sums_new(tail->bucket, TREMOLO_BUCKETS, moments->sums, moments->products);
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
        tremolo_moments_count(moments) > 0) {
        return TREMOLO_BAD_ARGUMENT;
    }
    return tremolo_tail_new(moments, limits);
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

/* ---------------------------------------------------------------- counting */

/* What is large about a report. Both sums fit: 257 squares below 2^30, 33412 below 2^13. */
struct extent {
    int64_t norm2;
    int32_t largest; /* magnitude of a coordinate */
};

static struct extent row_extent(const int16_t *row, size_t n)
{
    struct extent extent = {0, 0};
    for (size_t i = 0; i < n; i++) {
        int32_t magnitude = row[i] < 0 ? -row[i] : row[i];
        extent.norm2 += magnitude * magnitude;
        extent.largest = magnitude > extent.largest ? magnitude : extent.largest;
    }
    return extent;
}

/* A fixed number side by side, so that the compiler takes wide registers for them. */
struct wide_extent {
    int32_t norm2[BALLOT_STEP];
    uint8_t largest[BALLOT_STEP];
};

static void extend(struct wide_extent *wide, const int8_t value[BALLOT_STEP])
{
    for (size_t k = 0; k < BALLOT_STEP; k++) {
        uint8_t magnitude = (uint8_t)(value[k] < 0 ? -value[k] : value[k]);
        wide->norm2[k] += (int16_t)(value[k] * value[k]);
        wide->largest[k] = magnitude > wide->largest[k] ? magnitude : wide->largest[k];
    }
}

static struct extent ballot_extent(const int8_t *row, size_t n)
{
    struct wide_extent wide = {0};
    struct extent extent = {0, 0};
    int8_t last[BALLOT_STEP] = {0};
    size_t i = 0;
    for (; i + BALLOT_STEP <= n; i += BALLOT_STEP) {
        extend(&wide, row + i);
    }
    memcpy(last, row + i, n - i);
    extend(&wide, last);
    for (size_t k = 0; k < BALLOT_STEP; k++) {
        extent.norm2 += wide.norm2[k];
        extent.largest = wide.largest[k] > extent.largest ? wide.largest[k] : extent.largest;
    }
    return extent;
}

static void count_value(struct moments_tail *tail, size_t i, int32_t value)
{
    tail->high[i] += value > tail->limits.value;
    tail->low[i] += value < -tail->limits.value;
}

/* Whether the report is beyond the cut. */
static bool count_extent(struct moments_tail *tail, const struct extent *extent)
{
    const struct tremolo_tail_limits *limits = &tail->limits;
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS && extent->norm2 > limits->norm2[k]; k++) {
        tail->beyond[k]++;
    }
    return extent->norm2 > limits->norm2[TREMOLO_TAIL_CUT] ||
           (limits->cut_values && extent->largest > limits->value);
}

static void add_row(struct bucket_sums *sums, const int16_t *row, size_t n)
{
    sums->count++;
    for (size_t i = 0; i < n; i++) {
        sums->sum[i] += row[i];
        for (size_t j = i; j < n; j++) {
            sums->product[i * n + j] += (int32_t)row[i] * row[j];
        }
    }
}

static void tail_rows(struct tremolo_moments *moments, const int16_t *rows, const uint8_t *buckets,
                      size_t count)
{
    struct moments_tail *tail = moments->tail;
    for (size_t r = 0; r < count; r++) {
        const int16_t *row = rows + r * moments->n;
        struct extent extent = row_extent(row, tail->limits.released);
        for (size_t i = 0; extent.largest > tail->limits.value && i < tail->limits.released; i++) {
            count_value(tail, i, row[i]);
        }
        if (count_extent(tail, &extent)) {
            add_row(&tail->bucket[buckets[r]], row, moments->n);
        }
    }
}

static bool tail_ballot(struct moments_tail *tail, const int8_t *row)
{
    struct extent extent = ballot_extent(row, tail->limits.released);
    for (size_t i = 0; extent.largest > tail->limits.value && i < tail->limits.released; i++) {
        count_value(tail, i, row[i]);
    }
    return count_extent(tail, &extent);
}

static bool limits_equal(const struct tremolo_tail_limits *a, const struct tremolo_tail_limits *b)
{
    return a->released == b->released && a->value == b->value && a->cut_values == b->cut_values &&
           memcmp(a->norm2, b->norm2, sizeof a->norm2) == 0;
}

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

/* ---------------------------------------------------------------- creating */

static bool creation_valid(size_t coordinates, int feature_max, int response_max)
{
    return coordinates >= 2 && coordinates <= TREMOLO_MAX_FOLD_COORDINATES && feature_max >= 1 &&
           feature_max <= TREMOLO_MAX_FOLD_VALUE && response_max >= 1 &&
           response_max <= TREMOLO_MAX_FOLD_VALUE;
}

static struct tremolo_moments *moments_make(size_t sums, size_t products)
{
    struct tremolo_moments *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->sums = sums;
    made->products = products;
    made->storage = sums_new(made->bucket, TREMOLO_BUCKETS, sums, products);
    if (made->storage == NULL) {
        free(made);
        return NULL;
    }
    return made;
}

enum tremolo_status tremolo_moments_new(struct tremolo_moments **moments, size_t coordinates,
                                        int feature_max, int response_max)
{
    if (moments == NULL || !creation_valid(coordinates, feature_max, response_max)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_moments *made = moments_make(coordinates, coordinates * coordinates);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->n = coordinates;
    made->feature_max = feature_max;
    made->response_max = response_max;
    made->split_response = response_max > feature_max && response_max > 128;
    *moments = made;
    return TREMOLO_OK;
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

enum tremolo_status tremolo_moments_new_ballots(struct tremolo_moments **moments, size_t entries,
                                                bool response_public)
{
    if (moments == NULL || entries < 1 || entries > TREMOLO_MAX_BALLOT_ENTRIES) {
        return TREMOLO_BAD_ARGUMENT;
    }
    size_t stride = (entries + BALLOT_STEP - 1) / BALLOT_STEP * BALLOT_STEP;
    size_t parts = response_public ? BALLOT_PARTS_PUBLIC : 1;
    struct tremolo_moments *made = moments_make(parts * stride + (response_public ? 2 : 0), 0);
    int8_t *row = calloc(stride, 1);
    if (made == NULL || row == NULL) {
        tremolo_moments_free(made);
        free(row);
        return TREMOLO_NO_MEMORY;
    }
    made->n = entries;
    made->feature_max = TREMOLO_MAX_BALLOT_VALUE;
    made->response_max = response_public ? TREMOLO_MAX_FOLD_VALUE : 0;
    made->ballot_parts = parts;
    made->stride = stride;
    made->ballot = row;
    *moments = made;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_moments_new_like(struct tremolo_moments **moments, bool ballots,
                                             size_t n, int feature_max, int response_max)
{
    return ballots ? tremolo_moments_new_ballots(moments, n, response_max != 0)
                   : tremolo_moments_new(moments, n, feature_max, response_max);
}

/* ---------------------------------------------------------------- rows */

static enum tremolo_status check_addition(const struct tremolo_moments *moments,
                                          const int16_t *rows, const uint8_t *buckets, size_t count)
{
    if (moments == NULL || moments->ballot_parts > 0 ||
        ((rows == NULL || buckets == NULL) && count > 0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (count > tremolo_moments_reports_max(moments) - tremolo_moments_count(moments)) {
        return TREMOLO_OVERFLOWED;
    }
    return buckets_valid(buckets, count) ? TREMOLO_OK : TREMOLO_BAD_ARGUMENT;
}

enum tremolo_status tremolo_moments_add(struct tremolo_moments *moments, const int16_t *rows,
                                        const uint8_t *buckets, size_t count)
{
    enum tremolo_status status = check_addition(moments, rows, buckets, count);
    if (status == TREMOLO_OK) {
        status = tremolo_moments_prepare(moments);
    }
    if (status == TREMOLO_OK && !tremolo_fold_rows(moments, rows, buckets, count)) {
        status = TREMOLO_OUT_OF_BOUNDS;
    }
    if (status == TREMOLO_OK && moments->tail != NULL) {
        tail_rows(moments, rows, buckets, count);
    }
    return status;
}

/* ---------------------------------------------------------------- ballots
 *
 * Exact sums over ballots.
 *
 * A ballot is a row of small integers, one for each product of the point, and perhaps a
 * response y in the clear. Rows are added as they are, times y and times y^2. */

#define INLINE_ALWAYS static inline __attribute__((always_inline))

/* A fixed number at a time, so that the compiler takes wide registers for them. */
INLINE_ALWAYS void add_entries(int64_t *restrict sum, const int8_t *restrict row, size_t stride)
{
    for (size_t i = 0; i < stride; i += BALLOT_STEP) {
        for (size_t k = 0; k < BALLOT_STEP; k++) {
            sum[i + k] += row[i + k];
        }
    }
}

INLINE_ALWAYS void add_times(int64_t *restrict sum, const int8_t *restrict row, size_t stride,
                             int32_t factor)
{
    for (size_t i = 0; i < stride; i += BALLOT_STEP) {
        for (size_t k = 0; k < BALLOT_STEP; k++) {
            sum[i + k] += (int64_t)factor * row[i + k];
        }
    }
}

INLINE_ALWAYS void add_ballot(struct bucket_sums *sums, const struct tremolo_moments *moments,
                              int32_t y)
{
    size_t stride = moments->stride;
    sums->count++;
    add_entries(sums->sum, moments->ballot, stride);
    if (moments->ballot_parts == BALLOT_PARTS_PUBLIC) {
        int64_t *sum_y = sums->sum + BALLOT_PARTS_PUBLIC * stride;
        add_times(sums->sum + stride, moments->ballot, stride, y);
        add_times(sums->sum + 2 * stride, moments->ballot, stride, y * y);
        sum_y[0] += y;
        sum_y[1] += y * y;
    }
}

static void add_plain(struct bucket_sums *sums, const struct tremolo_moments *moments, int32_t y)
{
    add_ballot(sums, moments, y);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
add_avx2(struct bucket_sums *sums, const struct tremolo_moments *moments, int32_t y)
{
    add_ballot(sums, moments, y);
}
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define add_avx2 add_plain
#define HAS_AVX2 0
#endif

enum tremolo_status tremolo_moments_add_ballots(struct tremolo_moments *moments,
                                                tremolo_ballot_row_fn next, void *context,
                                                const uint8_t *buckets, size_t count)
{
    if (moments == NULL || moments->ballot_parts == 0 || next == NULL ||
        (buckets == NULL && count > 0) || !buckets_valid(buckets, count)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (count > tremolo_moments_reports_max(moments) - tremolo_moments_count(moments)) {
        return TREMOLO_OVERFLOWED;
    }
    void (*add)(struct bucket_sums *, const struct tremolo_moments *, int32_t) =
        HAS_AVX2 ? add_avx2 : add_plain;
    for (size_t i = 0; i < count; i++) {
        int16_t response = next(moments->ballot, i, context);
        add(&moments->bucket[buckets[i]], moments, response);
        if (moments->tail != NULL && tail_ballot(moments->tail, moments->ballot)) {
            add(&moments->tail->bucket[buckets[i]], moments, response);
        }
    }
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

/* ------------------------------------------------- merging and reading */

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

size_t tremolo_moments_coordinates(const struct tremolo_moments *moments)
{
    return moments->n;
}

bool tremolo_moments_are_ballots(const struct tremolo_moments *moments)
{
    return moments->ballot_parts > 0;
}

int tremolo_moments_feature_max(const struct tremolo_moments *moments)
{
    return moments->feature_max;
}

int tremolo_moments_response_max(const struct tremolo_moments *moments)
{
    return moments->response_max;
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
    enum tremolo_status status = tremolo_moments_new_like(
        &made, moments->ballot_parts > 0, moments->n, moments->feature_max, moments->response_max);
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
