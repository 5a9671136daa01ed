/* fold_kernel.h -- what a processor-specific fold kernel provides (internal).
 *
 * Rows of one bucket are turned into a panel: column c of the panel holds
 * coordinate c of up to a few hundred rows, one after the other, 32-byte
 * aligned and zero-padded to a multiple of FOLD_LANES. A product of two
 * coordinates summed over rows is then a dot product of two columns, which
 * is what "multiply 16 pairs of int16, add neighbours into 8 int32" does in
 * one instruction, without waste at any dimension. Tiles of 3 by 4 columns
 * keep 12 accumulators in the 16 registers, so 7 loads feed 12 products.
 *
 * Chunk length. Let M bound the magnitude of every panel value, M <= 32767.
 * One step adds two products to an int32 lane: at most 2 M^2, which for
 * M = 32767 is 2147352578 <= 2^31 - 1. After s steps a lane holds at most
 * 2 s M^2 in magnitude, so
 *
 *     s <= floor((2^31 - 1) / (2 M^2))
 *
 * steps, 16 s rows, never overflow. At 12 bits (M = 2047) s is 256: 4096
 * rows. fold_rows_max() is this bound, and no tile is ever given more rows.
 * Lanes are widened to 64 bits before they are added to one another. */
#ifndef TREMOLO_FOLD_KERNEL_H
#define TREMOLO_FOLD_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FOLD_LANES = 16,
    FOLD_TILE_HEIGHT = 3,
    FOLD_TILE_WIDTH = 4,
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
    /* Whether no value exceeds `max` in magnitude. */
    bool (*within)(const int16_t *values, size_t count, int max);
    /* The same of the leading `columns` values of every row. */
    bool (*within_rows)(const int16_t *rows, size_t coordinates, size_t count, size_t columns,
                        int max);
};

/* The longest chunk, a multiple of FOLD_LANES, for values up to max. */
static inline size_t fold_rows_max(int max)
{
    return FOLD_LANES * (size_t)(INT32_MAX / (2 * (int64_t)max * max));
}

extern const struct fold_kernel tremolo_fold_scalar;

/* NULL where the build or the processor has no AVX2. */
const struct fold_kernel *tremolo_fold_avx2(void);

#endif
