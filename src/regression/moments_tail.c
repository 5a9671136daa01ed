/* moments_tail.c -- reports that honest noise hardly explains, counted and kept apart.
 *
 * Beside the sums over all reports stand counts of those whose squared norm, or one of whose
 * coordinates, exceeds what honest reports rarely do, and sums over those beyond the limit
 * called the cut. All minus these is what a robust estimate is made from. Integers again: the
 * same whatever the order and the sharding. */
#include "moments_internal.h"

#include <stdlib.h>
#include <string.h>

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
    tail->storage =
        tremolo_sums_new(tail->bucket, TREMOLO_BUCKETS, moments->sums, moments->products);
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

void tremolo_tail_rows(struct tremolo_moments *moments, const int16_t *rows, const uint8_t *buckets,
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

bool tremolo_tail_ballot(struct moments_tail *tail, const int8_t *row)
{
    struct extent extent = ballot_extent(row, tail->limits.released);
    for (size_t i = 0; extent.largest > tail->limits.value && i < tail->limits.released; i++) {
        count_value(tail, i, row[i]);
    }
    return count_extent(tail, &extent);
}

/* ---------------------------------------------------------------- merging, reading */

static bool limits_equal(const struct tremolo_tail_limits *a, const struct tremolo_tail_limits *b)
{
    return a->released == b->released && a->value == b->value && a->cut_values == b->cut_values &&
           memcmp(a->norm2, b->norm2, sizeof a->norm2) == 0;
}

void tremolo_tail_merge(struct tremolo_moments *moments, const struct tremolo_moments *other)
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
        tremolo_sums_add(&tail->bucket[b], &more->bucket[b], moments->sums + moments->products);
    }
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
