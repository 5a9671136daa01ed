/* moments.c -- the life of struct tremolo_moments: creation, adding with its
 * checks, threads, merging and reading. The arithmetic is in fold.c. */
#include "moments_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    PANEL_ROWS_MAX = 1024,         /* long enough to hide the tile's ends */
    PANEL_VALUES_MAX = 128 * 1024, /* 256 kB: a panel stays in the second-level cache */
    PANEL_GAP = 32,                /* columns must not fall on the same cache sets */
    STAGE_GAP = 8,                 /* nor stages */
};

static bool creation_valid(size_t coordinates, int feature_max, int response_max)
{
    return coordinates >= 2 && coordinates <= TREMOLO_MAX_FOLD_COORDINATES && feature_max >= 1 &&
           feature_max <= TREMOLO_MAX_FOLD_VALUE && response_max >= 1 &&
           response_max <= TREMOLO_MAX_FOLD_VALUE;
}

static size_t panel_rows(const struct tremolo_moments *moments, size_t columns)
{
    int largest = moments->feature_max;
    if (!moments->split_response && moments->response_max > largest) {
        largest = moments->response_max;
    }
    if (moments->split_response && largest < 128) {
        largest = 128;
    }
    size_t rows = fold_rows_max(largest);
    size_t cached = PANEL_VALUES_MAX / columns;
    rows = rows < cached ? rows : cached;
    rows = rows < PANEL_ROWS_MAX ? rows : PANEL_ROWS_MAX;
    return rows - rows % FOLD_LANES;
}

void tremolo_moments_rest(struct tremolo_moments *moments)
{
    free(moments->work.panel);
    free((void *)moments->work.stages);
    moments->work = (struct fold_workspace){0};
}

enum tremolo_status tremolo_moments_prepare(struct tremolo_moments *moments)
{
    struct fold_workspace *work = &moments->work;
    if (work->panel != NULL || moments->ballot_parts > 0) {
        return TREMOLO_OK;
    }
    work->columns = moments->n + 1 + (moments->split_response ? 1 : 0);
    work->rows_max = panel_rows(moments, work->columns);
    work->stride = work->rows_max + PANEL_GAP;
    size_t bytes = work->columns * work->stride * sizeof *work->panel;
    work->panel = aligned_alloc(64, (bytes + 63) / 64 * 64);
    work->stage_rows = work->rows_max + FOLD_STRETCH + FOLD_LANES + STAGE_GAP;
    work->stages = malloc((TREMOLO_BUCKETS + 1) * work->stage_rows * sizeof *work->stages);
    if (work->panel == NULL || work->stages == NULL) {
        tremolo_moments_rest(moments);
        return TREMOLO_NO_MEMORY;
    }
    int16_t *ones = work->panel + (work->columns - 1) * work->stride;
    for (size_t r = 0; r < work->rows_max; r++) {
        ones[r] = 1;
    }
    return TREMOLO_OK;
}

int64_t *tremolo_sums_new(struct bucket_sums *bucket, size_t count, size_t sums, size_t products)
{
    int64_t *storage = calloc(count * (sums + products), sizeof *storage);
    for (size_t b = 0; storage != NULL && b < count; b++) {
        bucket[b].sum = storage + b * (sums + products);
        bucket[b].product = products > 0 ? bucket[b].sum + sums : NULL;
    }
    return storage;
}

struct tremolo_moments *tremolo_moments_make(size_t sums, size_t products)
{
    struct tremolo_moments *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->sums = sums;
    made->products = products;
    made->storage = tremolo_sums_new(made->bucket, TREMOLO_BUCKETS, sums, products);
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
    struct tremolo_moments *made = tremolo_moments_make(coordinates, coordinates * coordinates);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->n = coordinates;
    made->feature_max = feature_max;
    made->response_max = response_max;
    made->split_response = response_max > feature_max && response_max > 128;
    made->kernel = tremolo_fold_avx2();
    if (made->kernel == NULL) {
        made->kernel = &tremolo_fold_scalar;
    }
    *moments = made;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_moments_new_like(struct tremolo_moments **moments, bool ballots,
                                             size_t n, int feature_max, int response_max)
{
    return ballots ? tremolo_moments_new_ballots(moments, n, response_max != 0)
                   : tremolo_moments_new(moments, n, feature_max, response_max);
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

enum tremolo_status tremolo_moments_use_kernel(struct tremolo_moments *moments,
                                               enum tremolo_fold_kernel kernel)
{
    const struct fold_kernel *wanted = NULL;
    if (kernel == TREMOLO_FOLD_SCALAR) {
        wanted = &tremolo_fold_scalar;
    } else if (kernel == TREMOLO_FOLD_AVX2) {
        wanted = tremolo_fold_avx2();
    }
    if (moments == NULL || wanted == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    moments->kernel = wanted;
    return TREMOLO_OK;
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

/* Buckets are 0..31, so every byte must fit five bits; eight bytes at a time. */
bool tremolo_buckets_valid(const uint8_t *buckets, size_t count)
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
    return tremolo_buckets_valid(buckets, count) ? TREMOLO_OK : TREMOLO_BAD_ARGUMENT;
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
        tremolo_tail_rows(moments, rows, buckets, count);
    }
    return status;
}

/* ------------------------------------------------- merging and reading */

/* Sums and products of a bucket lie one after the other. */
void tremolo_sums_add(struct bucket_sums *into, const struct bucket_sums *from, size_t entries)
{
    into->count += from->count;
    for (size_t i = 0; i < entries; i++) {
        into->sum[i] += from->sum[i];
    }
}

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
        tremolo_sums_add(&moments->bucket[b], &other->bucket[b], moments->sums + moments->products);
    }
    tremolo_tail_merge(moments, other);
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
