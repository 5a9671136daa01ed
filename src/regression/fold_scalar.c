/* fold_scalar.c -- the kernel in plain C: the definition the others must
 * equal, and the fallback on processors without a kernel of their own. */
#include "fold_kernel.h"

static void transpose(int16_t *panel, size_t stride, const int16_t *const *rows, size_t coordinates,
                      size_t count)
{
    for (size_t r = 0; r < count; r++) {
        for (size_t c = 0; c < coordinates; c++) {
            panel[c * stride + r] = rows[r][c];
        }
    }
}

static int64_t dot(const int16_t *a, const int16_t *b, size_t rows)
{
    int64_t sum = 0;
    for (size_t r = 0; r < rows; r++) {
        sum += (int32_t)a[r] * b[r];
    }
    return sum;
}

static void tile(int64_t *out, size_t out_stride, const int16_t *a, const int16_t *b, size_t stride,
                 size_t rows, unsigned height, unsigned width)
{
    for (unsigned i = 0; i < height; i++) {
        for (unsigned j = 0; j < width; j++) {
            out[i * out_stride + j] = dot(a + i * stride, b + j * stride, rows);
        }
    }
}

static bool within(const int16_t *values, size_t count, int max)
{
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        good &= values[i] <= max && values[i] >= -max;
    }
    return good;
}

static bool within_rows(const int16_t *rows, size_t coordinates, size_t count, size_t columns,
                        int max)
{
    bool good = true;
    for (size_t r = 0; r < count; r++) {
        good &= within(rows + r * coordinates, columns, max);
    }
    return good;
}

const struct fold_kernel tremolo_fold_scalar = {transpose, tile, within, within_rows};
