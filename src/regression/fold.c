/* fold.c -- add reports: rows to sums of products, ballots to sums of their entries.
 *
 * Rows arrive in any order and go to 32 buckets, and the kernel wants long
 * runs of one bucket. Rows are sorted without being moved: each bucket has a
 * stage of pointers to its rows, a panel is filled through them when a stage
 * has enough rows, and the rest is folded at the end of the call. Very
 * short runs are cheaper row by row. Values are checked before the first row
 * is added, so that a refused call changes nothing.
 *
 * The panel has one more column than a row has coordinates: a constant 1;
 * its products with the others are the plain sums. A public response may
 * use all 15 bits where features use 11, and would shorten every chunk; it is
 * then split in two columns, y = 256 high + low with |high| and |low| at most
 * 128, and put together again in 64 bits:
 *
 *     sum x y = 256 sum x high + sum x low
 *     sum y y = 65536 sum high high + 512 sum high low + sum low low.
 *
 * The kernel. Column c of a panel holds coordinate c of up to a few hundred rows, one
 * after the other, 32-byte aligned and zero-padded to a multiple of FOLD_LANES. A product
 * of two coordinates summed over rows is then a dot product of two columns, which is what
 * "multiply 16 pairs of int16, add neighbours into 8 int32" does in one instruction,
 * without waste at any dimension. Tiles of 3 by 4 columns keep 12 accumulators in the 16
 * registers, so 7 loads feed 12 products. The kernel in plain C is the definition that
 * the one for AVX2 must equal, and the fallback on other processors.
 *
 * Chunk length. Let M bound the magnitude of every panel value, M <= 32767. One step adds
 * two products to an int32 lane: at most 2 M^2, which for M = 32767 is
 * 2147352578 <= 2^31 - 1. After s steps a lane holds at most 2 s M^2 in magnitude, so
 *
 *     s <= floor((2^31 - 1) / (2 M^2))
 *
 * steps, 16 s rows, never overflow. At 12 bits (M = 2047) s is 256: 4096 rows. rows_bound()
 * is this limit, and no tile is ever given more rows. Lanes are widened to 64 bits before
 * they are added to one another. */
#include "moments_internal.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#endif

enum {
    FOLD_LANES = 16,
    FOLD_TILE_HEIGHT = 3,
    FOLD_TILE_WIDTH = 4,
    FOLD_STRETCH = 256, /* rows between two looks at whether a stage is full */
    SHORT_RUN = 5,      /* rows below which a panel does not pay */
    STAGE_FULL = 512,   /* more would wait in farther memory */
    /* A stripe is as wide as a panel can be, and the last tile may overhang. */
    STRIPE_VALUES = TREMOLO_MAX_FOLD_COORDINATES + 2 + FOLD_TILE_WIDTH,
    PANEL_ROWS_MAX = 1024,         /* long enough to hide the tile's ends */
    PANEL_VALUES_MAX = 128 * 1024, /* 256 kB: a panel stays in the second-level cache */
    PANEL_GAP = 32,                /* columns must not fall on the same cache sets */
    STAGE_GAP = 8,                 /* nor stages */
};

struct fold_kernel {
    /* Write the rows pointed to (a multiple of FOLD_LANES) into the panel. The order
     * of rows within a group of FOLD_LANES may change, alike for all columns. */
    void (*transpose)(int16_t *panel, size_t stride, const int16_t *const *rows, size_t coordinates,
                      size_t count);
    /* out[i out_stride + j] = sum over rows of a_i b_j for i < height, j < width; whole rows of
     * FOLD_TILE_WIDTH may be written. */
    void (*tile)(int64_t *out, size_t out_stride, const int16_t *a, const int16_t *b, size_t stride,
                 size_t rows, unsigned height, unsigned width);
    /* Whether none of the leading `columns` values of any row exceeds `max` in magnitude. */
    bool (*within)(const int16_t *rows, size_t coordinates, size_t count, size_t columns, int max);
};

/* ---------------------------------------------------------------- the kernel in plain C */

static void plain_transpose(int16_t *panel, size_t stride, const int16_t *const *rows,
                            size_t coordinates, size_t count)
{
    for (size_t r = 0; r < count; r++) {
        for (size_t c = 0; c < coordinates; c++) {
            panel[c * stride + r] = rows[r][c];
        }
    }
}

static int64_t plain_dot(const int16_t *a, const int16_t *b, size_t rows)
{
    int64_t sum = 0;
    for (size_t r = 0; r < rows; r++) {
        sum += (int32_t)a[r] * b[r];
    }
    return sum;
}

static void plain_tile(int64_t *out, size_t out_stride, const int16_t *a, const int16_t *b,
                       size_t stride, size_t rows, unsigned height, unsigned width)
{
    for (unsigned i = 0; i < height; i++) {
        for (unsigned j = 0; j < width; j++) {
            out[i * out_stride + j] = plain_dot(a + i * stride, b + j * stride, rows);
        }
    }
}

static bool plain_within(const int16_t *rows, size_t coordinates, size_t count, size_t columns,
                         int max)
{
    bool good = true;
    for (size_t r = 0; r < count; r++) {
        for (size_t c = 0; c < columns; c++) {
            int value = rows[r * coordinates + c];
            good &= value <= max && value >= -max;
        }
    }
    return good;
}

static const struct fold_kernel plain_kernel = {plain_transpose, plain_tile, plain_within};

/* ---------------------------------------------------------------- the kernel for AVX2
 *
 * Chosen at run time: the functions carry the target attribute themselves, so the file is
 * built with the flags of every other, and they run only on a processor with AVX2. */

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define AVX2        __attribute__((target("avx2")))
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2")))

/* Two rows of eight values side by side in one register. */
AVX2_INLINE __m256i load_rows(const int16_t *low, const int16_t *high)
{
    __m128i first = _mm_loadu_si128((const __m128i *)(const void *)low);
    __m128i second = _mm_loadu_si128((const __m128i *)(const void *)high);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}

/* Transpose 16 rows of 8 values: three rounds of interleaving, by words,
 * double words and quad words, leave one column in each register. */
AVX2_INLINE void transpose_block(int16_t *panel, size_t stride, const int16_t *const *rows,
                                 size_t column)
{
    __m256i v[8], w[8];
#pragma GCC unroll 8
    for (size_t r = 0; r < 8; r++) {
        v[r] = load_rows(rows[r] + column, rows[r + 8] + column);
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < 8; r += 2) {
        w[r] = _mm256_unpacklo_epi16(v[r], v[r + 1]);
        w[r + 1] = _mm256_unpackhi_epi16(v[r], v[r + 1]);
    }
#pragma GCC unroll 2
    for (size_t r = 0; r < 8; r += 4) {
        v[r] = _mm256_unpacklo_epi32(w[r], w[r + 2]);
        v[r + 1] = _mm256_unpackhi_epi32(w[r], w[r + 2]);
        v[r + 2] = _mm256_unpacklo_epi32(w[r + 1], w[r + 3]);
        v[r + 3] = _mm256_unpackhi_epi32(w[r + 1], w[r + 3]);
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < 4; r++) {
        __m256i even = _mm256_unpacklo_epi64(v[r], v[r + 4]);
        __m256i odd = _mm256_unpackhi_epi64(v[r], v[r + 4]);
        _mm256_store_si256((__m256i *)(void *)(panel + 2 * r * stride), even);
        _mm256_store_si256((__m256i *)(void *)(panel + (2 * r + 1) * stride), odd);
    }
}

/* Long rows of one bucket lie too far apart for the processor to foresee. */
AVX2_INLINE void prefetch_rows(const int16_t *const *rows, size_t coordinates)
{
    enum { CACHE_LINE = 32 };
    for (size_t i = 0; i < FOLD_LANES; i++) {
        for (size_t c = 0; c < coordinates; c += CACHE_LINE) {
            __builtin_prefetch(rows[i] + c);
        }
    }
}

/* Whole blocks of eight columns, then the last ones: one by one while that is
 * cheaper than a block that overlaps the one before it. Rows shorter than a
 * block always go one by one, so nothing past a row's end is ever read. */
AVX2 static void avx2_transpose(int16_t *panel, size_t stride, const int16_t *const *rows,
                                size_t coordinates, size_t count)
{
    enum { BLOCK = 8, SINGLES_MAX = 2, FAR_COORDINATES = 24 };
    size_t last = coordinates - coordinates % BLOCK;
    bool overlap = coordinates > BLOCK && coordinates - last > SINGLES_MAX;
    for (size_t r = 0; r < count; r += FOLD_LANES, rows += FOLD_LANES, panel += FOLD_LANES) {
        if (coordinates >= FAR_COORDINATES && r + 3 * FOLD_LANES <= count) {
            prefetch_rows(rows + 2 * FOLD_LANES, coordinates);
        }
        for (size_t c = 0; c < last; c += BLOCK) {
            transpose_block(panel + c * stride, stride, rows, c);
        }
        if (overlap) {
            size_t c = coordinates - BLOCK;
            transpose_block(panel + c * stride, stride, rows, c);
            continue;
        }
        for (size_t c = last; c < coordinates; c++) {
            for (size_t i = 0; i < FOLD_LANES; i++) {
                panel[c * stride + i] = rows[i][c];
            }
        }
    }
}

/* The int32 lanes may only be added to one another in 64 bits. */
AVX2_INLINE __m256i widen(__m256i v)
{
    return _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(v)),
                            _mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1)));
}

/* The sums of the lanes of two: a, b, a, b by halves. */
AVX2_INLINE __m256i sum_pair(__m256i a, __m256i b)
{
    __m256i wide_a = widen(a), wide_b = widen(b);
    return _mm256_add_epi64(_mm256_unpacklo_epi64(wide_a, wide_b),
                            _mm256_unpackhi_epi64(wide_a, wide_b));
}

/* The sums of the lanes of four registers, side by side. */
AVX2_INLINE __m256i sum_lanes(const __m256i v[4])
{
    __m256i low = sum_pair(v[0], v[1]), high = sum_pair(v[2], v[3]);
    return _mm256_add_epi64(_mm256_permute2x128_si256(low, high, 0x20),
                            _mm256_permute2x128_si256(low, high, 0x31));
}

AVX2_INLINE __m256i load_column(const int16_t *column)
{
    return _mm256_load_si256((const __m256i *)(const void *)column);
}

/* _mm256_add_epi32, but gcc cannot start all products first: left to itself it
 * runs out of registers, moves sums about and spills (1.6 times slower). */
AVX2_INLINE void add_in_place(__m256i *sum, __m256i term)
{
    __asm__("vpaddd %1, %0, %0" : "+x"(*sum) : "x"(term));
}

/* Inlined with constant height and width, so that the accumulators are
 * registers and the loops over them disappear. */
AVX2_INLINE void tile_of(int64_t *out, size_t out_stride, const int16_t *a, const int16_t *b,
                         size_t stride, size_t rows, const unsigned height, const unsigned width)
{
    __m256i sum[FOLD_TILE_HEIGHT][FOLD_TILE_WIDTH];
#pragma GCC unroll 3
    for (unsigned i = 0; i < height; i++) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < FOLD_TILE_WIDTH; j++) {
            sum[i][j] = _mm256_setzero_si256();
        }
    }
    for (size_t r = 0; r < rows; r += FOLD_LANES) {
        __m256i left[FOLD_TILE_HEIGHT];
#pragma GCC unroll 3
        for (unsigned i = 0; i < height; i++) {
            left[i] = load_column(a + i * stride + r);
        }
#pragma GCC unroll 4
        for (unsigned j = 0; j < width; j++) {
            __m256i right = load_column(b + j * stride + r);
#pragma GCC unroll 3
            for (unsigned i = 0; i < height; i++) {
                add_in_place(&sum[i][j], _mm256_madd_epi16(left[i], right));
            }
        }
    }
#pragma GCC unroll 3
    for (unsigned i = 0; i < height; i++) {
        _mm256_storeu_si256((__m256i *)(void *)(out + i * out_stride), sum_lanes(sum[i]));
    }
}

AVX2 static void avx2_tile(int64_t *out, size_t out_stride, const int16_t *a, const int16_t *b,
                           size_t stride, size_t rows, unsigned height, unsigned width)
{
#define TILE_CASE(height, width)                                                                   \
    case 8 * (height) + (width): tile_of(out, out_stride, a, b, stride, rows, height, width); break
    switch (8 * height + width) {
        TILE_CASE(1, 1);
        TILE_CASE(1, 2);
        TILE_CASE(1, 3);
        TILE_CASE(1, 4);
        TILE_CASE(2, 1);
        TILE_CASE(2, 2);
        TILE_CASE(2, 3);
        TILE_CASE(2, 4);
        TILE_CASE(3, 1);
        TILE_CASE(3, 2);
        TILE_CASE(3, 3);
        TILE_CASE(3, 4);
    default: break;
    }
#undef TILE_CASE
}

/* Eight columns at a time; the last eight overlap those before them. |-32768| stays 0x8000, which
 * as an unsigned word is above every maximum. */
AVX2 static bool avx2_within(const int16_t *rows, size_t coordinates, size_t count, size_t columns,
                             int max)
{
    enum { BLOCK = 8 };
    __m128i largest = _mm_setzero_si128();
    if (columns < BLOCK) {
        return plain_within(rows, coordinates, count, columns, max);
    }
    for (size_t r = 0; r < count; r++, rows += coordinates) {
        for (size_t c = 0; c < columns; c += BLOCK) {
            const int16_t *at = rows + (c + BLOCK <= columns ? c : columns - BLOCK);
            __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
            largest = _mm_max_epu16(largest, _mm_abs_epi16(v));
        }
    }
    uint16_t lanes[BLOCK];
    bool good = true;
    _mm_storeu_si128((__m128i *)(void *)lanes, largest);
    for (size_t lane = 0; lane < BLOCK; lane++) {
        good &= lanes[lane] <= max;
    }
    return good;
}

static const struct fold_kernel avx2_kernel = {avx2_transpose, avx2_tile, avx2_within};

static const struct fold_kernel *fastest(void)
{
    return __builtin_cpu_supports("avx2") ? &avx2_kernel : &plain_kernel;
}

#else

static const struct fold_kernel *fastest(void)
{
    return &plain_kernel;
}

#endif

/* ---------------------------------------------------------------- memory to work in */

/* The longest chunk, a multiple of FOLD_LANES, for values up to max. */
static size_t rows_bound(int max)
{
    return FOLD_LANES * (size_t)(INT32_MAX / (2 * (int64_t)max * max));
}

/* As long as lanes allow and the cache holds. */
static size_t panel_rows(const struct tremolo_moments *moments, size_t columns)
{
    int largest = moments->feature_max;
    if (!moments->split_response && moments->response_max > largest) {
        largest = moments->response_max;
    }
    if (moments->split_response && largest < 128) {
        largest = 128;
    }
    size_t rows = rows_bound(largest);
    size_t cached = PANEL_VALUES_MAX / columns;
    rows = rows < cached ? rows : cached;
    rows = rows < PANEL_ROWS_MAX ? rows : PANEL_ROWS_MAX;
    return rows - rows % FOLD_LANES;
}

enum tremolo_status tremolo_moments_prepare(struct tremolo_moments *moments)
{
    struct fold_workspace *work = &moments->work;
    if (work->panel != NULL || moments->ballot_parts > 0) {
        return TREMOLO_OK;
    }
    if (moments->kernel == NULL) {
        moments->kernel = fastest();
    }
    work->columns = moments->n + 1 + (moments->split_response ? 1 : 0);
    work->rows_max = panel_rows(moments, work->columns);
    work->stride = work->rows_max + PANEL_GAP;
    size_t bytes = work->columns * work->stride * sizeof *work->panel;
    work->panel = aligned_alloc(64, (bytes + 63) / 64 * 64);
    work->stage_rows = work->rows_max + FOLD_STRETCH + FOLD_LANES + STAGE_GAP;
    work->stages = malloc(TREMOLO_BUCKETS * work->stage_rows * sizeof *work->stages);
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

/* ---------------------------------------------------------------- from rows to sums */

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

/* The constant column is 1 throughout, except in the padding of a short panel. */
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

static void add_row(struct bucket_sums *sums, const int16_t *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sums->sum[i] += row[i];
        for (size_t j = i; j < n; j++) {
            sums->product[i * n + j] += (int32_t)row[i] * row[j];
        }
    }
}

/* Fold rows of one bucket, rows_max at most; `rows` has room for FOLD_LANES - 1
 * more. */
static void fold_run(struct tremolo_moments *moments, unsigned bucket, const int16_t **rows,
                     size_t count)
{
    struct bucket_sums *sums = &moments->bucket[bucket];
    sums->count += count;
    if (count < SHORT_RUN) {
        for (size_t r = 0; r < count; r++) {
            add_row(sums, rows[r], moments->n);
        }
        return;
    }
    size_t padded = fill_panel(moments, rows, count);
    set_ones(&moments->work, count, padded, 0);
    fold_panel(moments, sums, padded);
    set_ones(&moments->work, count, padded, 1);
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

static bool values_within(const struct tremolo_moments *moments, const int16_t *rows, size_t count)
{
    size_t n = moments->n;
    return moments->kernel->within(rows, n, count, n - 1, moments->feature_max) &&
           moments->kernel->within(rows + n - 1, n, count, 1, moments->response_max);
}

/* Whether a stage is full is asked once per stretch of rows, not for each. */
static void fold_rows(struct tremolo_moments *moments, const int16_t *rows, const uint8_t *buckets,
                      size_t count)
{
    const int16_t **end[TREMOLO_BUCKETS];
    size_t rows_max = moments->work.rows_max;
    for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
        end[b] = moments->work.stages + b * moments->work.stage_rows;
    }
    for (size_t r = 0; r < count; r++) {
        *end[buckets[r]]++ = rows + r * moments->n;
        if ((r + 1) % FOLD_STRETCH == 0) {
            fold_stages(moments, end, rows_max < STAGE_FULL ? rows_max : STAGE_FULL);
        }
    }
    fold_stages(moments, end, 1);
}

/* ---------------------------------------------------------------- the tail
 *
 * Count the reports that honest noise hardly explains, and add them apart; see moments.c. */

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

/* Sixteen values at once; a square of one is at most 2^14. */
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

/* A loop of its own after the fold: reports beyond the cut are rare, so this is cheap. */
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
            tail->bucket[buckets[r]].count++;
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

/* ---------------------------------------------------------------- adding rows */

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

/* Whether the caller may add these rows, and whether there is room for them. */
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
    if (status == TREMOLO_OK && !values_within(moments, rows, count)) {
        status = TREMOLO_OUT_OF_BOUNDS;
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    fold_rows(moments, rows, buckets, count);
    if (moments->tail != NULL) {
        tail_rows(moments, rows, buckets, count);
    }
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- adding ballots
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
