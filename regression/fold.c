/* fold.c -- from rows to sums of products, bucket by bucket.
 *
 * Rows arrive in any order and go to 32 buckets, and the kernel wants long
 * runs of one bucket. A long run in the input is folded where it lies. Other
 * rows are copied to their bucket's stage, which is folded when it is full and
 * at the end of the call; very short runs are cheaper row by row.
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
    SHORT_RUN = 8, /* rows below which a panel does not pay */
    LONG_RUN = 64, /* rows above which copying to a stage does not pay */
    STEP = 8,      /* values copied at a time */
};

/* What a panel column stands for: a coordinate and its weight. */
struct column_role {
    size_t coordinate; /* n for the constant column */
    int64_t weight;
};

static struct column_role role_of(const struct tremolo_moments *moments, size_t column)
{
    size_t n = moments->n;
    if (column + 1 == moments->work.columns) {
        return (struct column_role){n, 1};
    }
    if (moments->split_response && column >= n - 1) {
        return (struct column_role){n - 1, column == n - 1 ? 256 : 1};
    }
    return (struct column_role){column, 1};
}

static void add_entry(const struct tremolo_moments *moments, struct bucket_sums *sums, size_t p,
                      size_t q, int64_t value)
{
    struct column_role left = role_of(moments, p), right = role_of(moments, q);
    int64_t weighted = left.weight * right.weight * value;
    if (left.coordinate == moments->n) {
        return; /* 1 * 1 counts rows, which is done elsewhere */
    }
    if (right.coordinate == moments->n) {
        sums->sum[left.coordinate] += weighted;
        return;
    }
    if (p != q && left.coordinate == right.coordinate) {
        weighted *= 2; /* high * low occurs twice in y * y */
    }
    sums->product[left.coordinate * moments->n + right.coordinate] += weighted;
}

static void add_tile(const struct tremolo_moments *moments, struct bucket_sums *sums,
                     int64_t tile[FOLD_TILE_HEIGHT][FOLD_TILE_WIDTH], size_t i0, size_t j0,
                     unsigned height, unsigned width)
{
    bool plain = j0 >= i0 + height && j0 + width < moments->n;
    for (unsigned i = 0; i < height; i++) {
        for (unsigned j = 0; j < width; j++) {
            if (plain) {
                sums->product[(i0 + i) * moments->n + j0 + j] += tile[i][j];
            } else if (j0 + j >= i0 + i) {
                add_entry(moments, sums, i0 + i, j0 + j, tile[i][j]);
            }
        }
    }
}

static void fold_panel(struct tremolo_moments *moments, struct bucket_sums *sums, size_t rows)
{
    const struct fold_workspace *work = &moments->work;
    int64_t tile[FOLD_TILE_HEIGHT][FOLD_TILE_WIDTH];
    for (size_t i = 0; i < work->columns; i += FOLD_TILE_HEIGHT) {
        size_t height = work->columns - i < FOLD_TILE_HEIGHT ? work->columns - i : FOLD_TILE_HEIGHT;
        for (size_t j = i; j < work->columns; j += FOLD_TILE_WIDTH) {
            size_t width =
                work->columns - j < FOLD_TILE_WIDTH ? work->columns - j : FOLD_TILE_WIDTH;
            moments->kernel->tile(tile, work->panel + i * work->stride,
                                  work->panel + j * work->stride, work->stride, rows,
                                  (unsigned)height, (unsigned)width);
            add_tile(moments, sums, tile, i, j, (unsigned)height, (unsigned)width);
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

static void fill_panel(struct tremolo_moments *moments, const int16_t *rows, size_t count,
                       size_t padded)
{
    const struct fold_workspace *work = &moments->work;
    size_t whole = count - count % FOLD_LANES;
    moments->kernel->transpose(work->panel, work->stride, rows, moments->n, whole);
    tremolo_fold_scalar.transpose(work->panel + whole, work->stride, rows + whole * moments->n,
                                  moments->n, count - whole);
    for (size_t c = 0; c < moments->n; c++) {
        memset(work->panel + c * work->stride + count, 0, (padded - count) * sizeof(int16_t));
    }
    if (moments->split_response) {
        split_response(moments, padded);
    }
    set_ones(work, count, padded, 0);
}

static void fold_one_by_one(const struct tremolo_moments *moments, struct bucket_sums *sums,
                            const int16_t *rows, size_t count)
{
    size_t n = moments->n;
    for (size_t r = 0; r < count; r++) {
        const int16_t *row = rows + r * n;
        for (size_t i = 0; i < n; i++) {
            sums->sum[i] += row[i];
            for (size_t j = i; j < n; j++) {
                sums->product[i * n + j] += (int32_t)row[i] * row[j];
            }
        }
    }
}

static void fold_run(struct tremolo_moments *moments, unsigned bucket, const int16_t *rows,
                     size_t count)
{
    struct bucket_sums *sums = &moments->bucket[bucket];
    sums->count += count;
    if (count < SHORT_RUN) {
        fold_one_by_one(moments, sums, rows, count);
        return;
    }
    size_t padded = (count + FOLD_LANES - 1) / FOLD_LANES * FOLD_LANES;
    fill_panel(moments, rows, count, padded);
    fold_panel(moments, sums, padded);
    set_ones(&moments->work, count, padded, 1);
}

/* Copy each of `count` rows to the end of its bucket's stage, in `steps` steps
 * of a register: inlined with a constant for short rows. The last step may run
 * past a row's end by less than the length of the next one, which must be
 * there and will be copied over it, or nothing. */
static inline __attribute__((always_inline)) void
stage_rows_by(int16_t *end[TREMOLO_BUCKETS], const int16_t *rows, const uint8_t *buckets,
              size_t count, size_t n, const size_t steps)
{
    for (size_t r = 0; r < count; r++, rows += n) {
        int16_t *to = end[buckets[r]];
        for (size_t c = 0; c < steps * STEP; c += STEP) {
            memcpy(to + c, rows + c, STEP * sizeof *rows);
        }
        end[buckets[r]] = to + n;
    }
}

static void stage_rows_exactly(int16_t *end[TREMOLO_BUCKETS], const int16_t *rows,
                               const uint8_t *buckets, size_t count, size_t n)
{
    for (size_t r = 0; r < count; r++, rows += n) {
        memcpy(end[buckets[r]], rows, n * sizeof *rows);
        end[buckets[r]] += n;
    }
}

/* `more` says whether another row follows these. */
static void stage_rows(int16_t *end[TREMOLO_BUCKETS], const int16_t *rows, const uint8_t *buckets,
                       size_t count, size_t n, bool more)
{
    size_t steps = (n + STEP - 1) / STEP, alone = more || count == 0 ? 0 : 1, many = count - alone;
    if (n < STEP) {
        stage_rows_exactly(end, rows, buckets, count, n);
        return;
    }
    switch (steps) {
    case 1: stage_rows_by(end, rows, buckets, many, n, 1); break;
    case 2: stage_rows_by(end, rows, buckets, many, n, 2); break;
    case 3: stage_rows_by(end, rows, buckets, many, n, 3); break;
    default: stage_rows_by(end, rows, buckets, many, n, steps); break;
    }
    stage_rows_exactly(end, rows + many * n, buckets + many, alone, n);
}

/* Fold the stages that hold at least filled_min rows, and empty them. */
static void fold_stages(struct tremolo_moments *moments, int16_t *end[TREMOLO_BUCKETS],
                        size_t filled_min)
{
    for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
        int16_t *stage = moments->work.stages + b * moments->work.stage_values;
        size_t values = (size_t)(end[b] - stage);
        if (values >= filled_min * moments->n) {
            fold_run(moments, b, stage, values / moments->n);
            end[b] = stage;
        }
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
void tremolo_fold_rows(struct tremolo_moments *moments, const int16_t *rows, const uint8_t *buckets,
                       size_t count)
{
    int16_t *end[TREMOLO_BUCKETS];
    size_t n = moments->n, rows_max = moments->work.rows_max, stretch = rows_max / 8;
    for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
        end[b] = moments->work.stages + b * moments->work.stage_values;
    }
    for (size_t r = 0; r < count;) {
        size_t run = run_length(buckets + r, count - r < rows_max ? count - r : rows_max);
        if (run >= LONG_RUN) {
            fold_run(moments, buckets[r], rows + r * n, run);
            r += run;
            continue;
        }
        size_t stop = count - r < stretch ? count : r + stretch;
        stage_rows(end, rows + r * n, buckets + r, stop - r, n, stop < count);
        r = stop;
        fold_stages(moments, end, rows_max - stretch + 1);
    }
    fold_stages(moments, end, 1);
}
