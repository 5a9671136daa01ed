/* moments_ballot.c -- exact sums over ballots.
 *
 * A ballot is a row of small integers, one for each product of the point, and perhaps a
 * response y in the clear. Rows are added as they are, times y and times y^2. */
#include "moments_internal.h"

#include <stdlib.h>

#include "tremolo_ballot.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum tremolo_status tremolo_moments_new_ballots(struct tremolo_moments **moments, size_t entries,
                                                bool response_public)
{
    if (moments == NULL || entries < 1 || entries > TREMOLO_MAX_BALLOT_ENTRIES) {
        return TREMOLO_BAD_ARGUMENT;
    }
    size_t stride = (entries + BALLOT_STEP - 1) / BALLOT_STEP * BALLOT_STEP;
    size_t parts = response_public ? BALLOT_PARTS_PUBLIC : 1;
    struct tremolo_moments *made =
        tremolo_moments_make(parts * stride + (response_public ? 2 : 0), 0);
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

/* A fixed number at a time, so that the compiler takes wide registers for them. */
ALWAYS_INLINE void add_row(int64_t *restrict sum, const int8_t *restrict row, size_t stride)
{
    for (size_t i = 0; i < stride; i += BALLOT_STEP) {
        for (size_t k = 0; k < BALLOT_STEP; k++) {
            sum[i + k] += row[i + k];
        }
    }
}

ALWAYS_INLINE void add_times(int64_t *restrict sum, const int8_t *restrict row, size_t stride,
                             int32_t factor)
{
    for (size_t i = 0; i < stride; i += BALLOT_STEP) {
        for (size_t k = 0; k < BALLOT_STEP; k++) {
            sum[i + k] += (int64_t)factor * row[i + k];
        }
    }
}

ALWAYS_INLINE void add_ballot(struct bucket_sums *sums, const struct tremolo_moments *moments,
                              int32_t y)
{
    size_t stride = moments->stride;
    sums->count++;
    add_row(sums->sum, moments->ballot, stride);
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
        (buckets == NULL && count > 0) || !tremolo_buckets_valid(buckets, count)) {
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
        if (moments->tail != NULL && tremolo_tail_ballot(moments->tail, moments->ballot)) {
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
