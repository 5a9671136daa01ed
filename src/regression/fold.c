/* fold.c -- from rows to sums of products, bucket by bucket.
 *
 * Rows arrive in any order and go to 32 buckets, and the kernel wants long
 * runs of one bucket. Rows are sorted without being moved: each bucket has a
 * stage of pointers to its rows, a panel is filled through them when a stage
 * has rows enough, and what is left is folded at the end of the call. Very
 * short runs are cheaper row by row. A long run in the input passes by the
 * stages.
 *
 * Rows come from far memory once: a block is checked, which brings it near, and
 * folded. If a later block holds a value out of bounds, the rows before it are
 * folded once more with the opposite sign, and integers forget them exactly.
 *
 * The panel has one more column than a row has coordinates: a constant 1,
 * whose products with the others are the plain sums. A public response may
 * use all 15 bits where features use 11, and would shorten every chunk; it is
 * then split in two columns, y = 256 high + low with |high| and |low| at most
 * 128, and put together again in 64 bits:
 *
 *     sum x y = 256 sum x high + sum x low
 *     sum y y = 65536 sum high high + 512 sum high low + sum low low. */
#include "moments_internal.h"

#include <string.h>

enum {
    SHORT_RUN = 5,            /* rows below which a panel does not pay */
    LONG_RUN = 256,           /* rows above which a stage does not pay */
    STAGE_FULL = 512,         /* more would wait in farther memory */
    BLOCK_VALUES = 32 * 1024, /* 64 kB: a fraction of the second-level cache */
    /* A stripe is as wide as a panel can be, and the last tile may overhang. */
    STRIPE_VALUES = TREMOLO_MAX_FOLD_COORDINATES + 2 + FOLD_TILE_WIDTH,
};

/* Add row i of the panel's products, valid from column i on, to the sums. */
static void add_products(const struct tremolo_moments *moments, struct bucket_sums *sums,
                         const int64_t *row, size_t i)
{
    size_t n = moments->n, plain = n - (moments->split_response ? 1 : 0);
    size_t ones = moments->work.columns - 1;
    int64_t weight = 1;
    if (i == ones) {
        return; /* 1 * 1 counts rows, which is done elsewhere */
    }
    int64_t *product = sums->product + i * n;
    if (moments->split_response) {
        if (i < plain) {
            product[n - 1] += 256 * row[n - 1] + row[n];
        } else if (i == plain) { /* high * low occurs twice in y * y */
            product[n - 1] += 65536 * row[n - 1] + 512 * row[n];
            weight = 256;
        } else if (i == n) {
            sums->product[n * n - 1] += row[n];
        }
    }
    for (size_t j = i; j < plain; j++) {
        product[j] += row[j];
    }
    sums->sum[i < n ? i : n - 1] += weight * row[ones];
}

static void negate(int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = -values[i];
    }
}

/* Three rows of products at a time, from the diagonal to the last column. */
static void fold_panel(const struct tremolo_moments *moments, struct bucket_sums *sums, size_t rows)
{
    const struct fold_workspace *work = &moments->work;
    int64_t stripe[FOLD_TILE_HEIGHT][STRIPE_VALUES];
    for (size_t i = 0; i < work->columns; i += FOLD_TILE_HEIGHT) {
        size_t height = work->columns - i < FOLD_TILE_HEIGHT ? work->columns - i : FOLD_TILE_HEIGHT;
        for (size_t j = i; j < work->columns; j += FOLD_TILE_WIDTH) {
            size_t width =
                work->columns - j < FOLD_TILE_WIDTH ? work->columns - j : FOLD_TILE_WIDTH;
            moments->kernel->tile(stripe[0] + j, STRIPE_VALUES, work->panel + i * work->stride,
                                  work->panel + j * work->stride, work->stride, rows,
                                  (unsigned)height, (unsigned)width);
        }
        for (size_t h = 0; h < height; h++) {
            if (work->undo) {
                negate(stripe[h] + i, work->columns - i);
            }
            add_products(moments, sums, stripe[h], i + h);
        }
    }
}

/* Replace the response's column by its high part, and put the low part into
 * the column after it. */
static void split_response(const struct tremolo_moments *moments, size_t rows)
{
    int16_t *high = moments->work.panel + (moments->n - 1) * moments->work.stride;
    int16_t *low = high + moments->work.stride;
    for (size_t r = 0; r < rows; r++) {
        int y = high[r];
        int rounded = (y + 32768 + 128) / 256 - 128; /* floor((y + 128) / 256) */
        high[r] = (int16_t)rounded;
        low[r] = (int16_t)(y - 256 * rounded);
    }
}

/* The constant column is 1 throughout but for the padding of a short panel. */
static void set_ones(const struct fold_workspace *work, size_t from, size_t to, int16_t value)
{
    int16_t *ones = work->panel + (work->columns - 1) * work->stride;
    for (size_t r = from; r < to; r++) {
        ones[r] = value;
    }
}

/* Rows of zeros fill the last step. */
static size_t fill_panel(const struct tremolo_moments *moments, const int16_t **rows, size_t count)
{
    static const int16_t zeros[TREMOLO_MAX_FOLD_COORDINATES];
    const struct fold_workspace *work = &moments->work;
    size_t padded = (count + FOLD_LANES - 1) / FOLD_LANES * FOLD_LANES;
    for (size_t r = count; r < padded; r++) {
        rows[r] = zeros;
    }
    moments->kernel->transpose(work->panel, work->stride, rows, moments->n, padded);
    if (moments->split_response) {
        split_response(moments, padded);
    }
    return padded;
}

static void fold_one_by_one(const struct tremolo_moments *moments, struct bucket_sums *sums,
                            const int16_t *const *rows, size_t count)
{
    size_t n = moments->n;
    int32_t sign = moments->work.undo ? -1 : 1;
    for (size_t r = 0; r < count; r++) {
        const int16_t *row = rows[r];
        for (size_t i = 0; i < n; i++) {
            int32_t value = sign * row[i];
            sums->sum[i] += value;
            for (size_t j = i; j < n; j++) {
                sums->product[i * n + j] += value * row[j];
            }
        }
    }
}

/* Fold rows of one bucket, rows_max at most; `rows` has room for FOLD_LANES - 1
 * more. */
static void fold_run(struct tremolo_moments *moments, unsigned bucket, const int16_t **rows,
                     size_t count)
{
    struct bucket_sums *sums = &moments->bucket[bucket];
    sums->count = moments->work.undo ? sums->count - count : sums->count + count;
    if (count < SHORT_RUN) {
        fold_one_by_one(moments, sums, rows, count);
        return;
    }
    size_t padded = fill_panel(moments, rows, count);
    set_ones(&moments->work, count, padded, 0);
    fold_panel(moments, sums, padded);
    set_ones(&moments->work, count, padded, 1);
}

/* A long run in the input. */
static void fold_neighbours(struct tremolo_moments *moments, unsigned bucket, const int16_t *rows,
                            size_t count)
{
    const int16_t **pointers = moments->work.stages + TREMOLO_BUCKETS * moments->work.stage_rows;
    for (size_t r = 0; r < count; r++) {
        pointers[r] = rows + r * moments->n;
    }
    fold_run(moments, bucket, pointers, count);
}

static void stage_rows(const int16_t **end[TREMOLO_BUCKETS], const int16_t *rows,
                       const uint8_t *buckets, size_t count, size_t n)
{
    for (size_t r = 0; r < count; r++, rows += n) {
        *end[buckets[r]]++ = rows;
    }
}

/* Fold what the stages hold, panel by panel, as long as they hold at least
 * filled_min rows, and move the rest to their beginnings. */
static void fold_stages(struct tremolo_moments *moments, const int16_t **end[TREMOLO_BUCKETS],
                        size_t filled_min)
{
    size_t rows_max = moments->work.rows_max;
    for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
        const int16_t **stage = moments->work.stages + b * moments->work.stage_rows;
        size_t filled = (size_t)(end[b] - stage), done = 0;
        if (filled < filled_min) {
            continue;
        }
        while (filled - done >= filled_min) {
            size_t count = filled - done < rows_max ? filled - done : rows_max;
            fold_run(moments, b, stage + done, count);
            done += count;
        }
        memmove(stage, stage + done, (filled - done) * sizeof *stage);
        end[b] = stage + (filled - done);
    }
}

/* Rows of the first row's bucket at the beginning, all of `count` at best:
 * equal neighbours throughout are what memcmp finds fastest. */
static size_t run_length(const uint8_t *buckets, size_t count)
{
    size_t length = 1;
    if (memcmp(buckets, buckets + 1, count - 1) == 0) {
        return count;
    }
    while (length < count && buckets[length] == buckets[0]) {
        length++;
    }
    return length;
}

/* Whether a stage is full is asked once per stretch of rows, not for each. */
static void fold_block(struct tremolo_moments *moments, const int16_t **end[TREMOLO_BUCKETS],
                       const int16_t *rows, const uint8_t *buckets, size_t count)
{
    size_t n = moments->n, rows_max = moments->work.rows_max;
    size_t full = rows_max < STAGE_FULL ? rows_max : STAGE_FULL;
    for (size_t r = 0; r < count;) {
        size_t run = run_length(buckets + r, count - r < rows_max ? count - r : rows_max);
        if (run >= LONG_RUN || run == rows_max) {
            fold_neighbours(moments, buckets[r], rows + r * n, run);
            r += run;
            continue;
        }
        size_t stretch = count - r < FOLD_STRETCH ? count - r : FOLD_STRETCH;
        stage_rows(end, rows + r * n, buckets + r, stretch, n);
        r += stretch;
        fold_stages(moments, end, full);
    }
}

static bool values_within(const struct tremolo_moments *moments, const int16_t *rows, size_t count)
{
    size_t n = moments->n;
    if (moments->feature_max == moments->response_max) {
        return moments->kernel->within(rows, count * n, moments->feature_max);
    }
    bool good = moments->kernel->within_rows(rows, n, count, n - 1, moments->feature_max);
    for (size_t r = 0; r < count; r++) {
        int y = rows[r * n + n - 1];
        good &= y <= moments->response_max && y >= -moments->response_max;
    }
    return good;
}

/* Fold the rows before the first block with a value out of bounds, and return
 * how many they are. */
static size_t fold_good_blocks(struct tremolo_moments *moments, const int16_t *rows,
                               const uint8_t *buckets, size_t count)
{
    const int16_t **end[TREMOLO_BUCKETS];
    size_t n = moments->n, block = BLOCK_VALUES / n, done = 0;
    block = block < moments->work.rows_max ? moments->work.rows_max : block;
    for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
        end[b] = moments->work.stages + b * moments->work.stage_rows;
    }
    while (done < count) {
        size_t more = count - done < block ? count - done : block;
        if (!values_within(moments, rows + done * n, more)) {
            break;
        }
        fold_block(moments, end, rows + done * n, buckets + done, more);
        done += more;
    }
    fold_stages(moments, end, 1);
    return done;
}

bool tremolo_fold_rows(struct tremolo_moments *moments, const int16_t *rows, const uint8_t *buckets,
                       size_t count)
{
    size_t folded = fold_good_blocks(moments, rows, buckets, count);
    if (folded < count) {
        moments->work.undo = true;
        (void)fold_good_blocks(moments, rows, buckets, folded);
        moments->work.undo = false;
    }
    return folded == count;
}
