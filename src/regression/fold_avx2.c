/* fold_avx2.c -- the kernel for x86 processors with AVX2, chosen at run time.
 *
 * The functions carry the target attribute themselves, so the file is built
 * with the flags of every other and runs only where the processor says so. */
#include "fold_kernel.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

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
AVX2 static void transpose(int16_t *panel, size_t stride, const int16_t *const *rows,
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

AVX2 static void tile(int64_t *out, size_t out_stride, const int16_t *a, const int16_t *b,
                      size_t stride, size_t rows, unsigned height, unsigned width)
{
    switch (height * 8 + width) {
    case 8 + 1: tile_of(out, out_stride, a, b, stride, rows, 1, 1); break;
    case 8 + 2: tile_of(out, out_stride, a, b, stride, rows, 1, 2); break;
    case 8 + 3: tile_of(out, out_stride, a, b, stride, rows, 1, 3); break;
    case 8 + 4: tile_of(out, out_stride, a, b, stride, rows, 1, 4); break;
    case 16 + 1: tile_of(out, out_stride, a, b, stride, rows, 2, 1); break;
    case 16 + 2: tile_of(out, out_stride, a, b, stride, rows, 2, 2); break;
    case 16 + 3: tile_of(out, out_stride, a, b, stride, rows, 2, 3); break;
    case 16 + 4: tile_of(out, out_stride, a, b, stride, rows, 2, 4); break;
    case 24 + 1: tile_of(out, out_stride, a, b, stride, rows, 3, 1); break;
    case 24 + 2: tile_of(out, out_stride, a, b, stride, rows, 3, 2); break;
    case 24 + 3: tile_of(out, out_stride, a, b, stride, rows, 3, 3); break;
    default: tile_of(out, out_stride, a, b, stride, rows, 3, 4); break;
    }
}

/* |-32768| stays 0x8000, which as an unsigned word is above every maximum. */
AVX2 static bool within(const int16_t *values, size_t count, int max)
{
    __m256i largest = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + FOLD_LANES <= count; i += FOLD_LANES) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(values + i));
        largest = _mm256_max_epu16(largest, _mm256_abs_epi16(v));
    }
    uint16_t lanes[FOLD_LANES];
    _mm256_storeu_si256((__m256i *)(void *)lanes, largest);
    bool good = tremolo_fold_scalar.within(values + i, count - i, max);
    for (size_t lane = 0; lane < FOLD_LANES; lane++) {
        good &= lanes[lane] <= max;
    }
    return good;
}

/* Eight columns at a time; the last eight overlap those before them. */
AVX2 static bool within_rows(const int16_t *rows, size_t coordinates, size_t count, size_t columns,
                             int max)
{
    enum { BLOCK = 8 };
    __m128i largest = _mm_setzero_si128();
    if (columns < BLOCK) {
        return tremolo_fold_scalar.within_rows(rows, coordinates, count, columns, max);
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

static const struct fold_kernel kernel = {transpose, tile, within, within_rows};

const struct fold_kernel *tremolo_fold_avx2(void)
{
    return __builtin_cpu_supports("avx2") ? &kernel : NULL;
}

#else

const struct fold_kernel *tremolo_fold_avx2(void)
{
    return NULL;
}

#endif
