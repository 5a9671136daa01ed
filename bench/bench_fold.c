/* bench_fold.c -- the exact fold against OpenBLAS dsyrk on the same data.
 *
 * One core, d features and a response, 12-bit values. dsyrk gets the rows as
 * doubles, already converted, and makes one matrix. The fold gets int16 rows
 * and checks their range; "one bucket" is the job dsyrk does, "32 buckets" also
 * sorts rows by a random bucket. Prints millions of reports per second of
 * processor time. */
#include <cblas.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "moments.h"

void openblas_set_num_threads(int threads);

struct data {
    size_t n, count;
    int16_t *rows;
    double *doubles;
    uint8_t *buckets;
    double *matrix;
};

static void fill(struct data *data)
{
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < data->n * data->count; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        data->rows[i] = (int16_t)((int)(x % 4095) - 2047);
        data->doubles[i] = data->rows[i];
        data->buckets[i / data->n] = (uint8_t)(x >> 59);
    }
}

static double time_dsyrk(const struct data *data)
{
    double start = bench_processor_seconds();
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)data->n, (int)data->count, 1.0,
                data->doubles, (int)data->n, 0.0, data->matrix, (int)data->n);
    return bench_processor_seconds() - start;
}

static double time_fold(const struct data *data, struct tremolo_moments *moments,
                        const uint8_t *buckets)
{
    double start = bench_processor_seconds();
    if (tremolo_moments_add(moments, data->rows, buckets, data->count) != TREMOLO_OK) {
        exit(1);
    }
    return bench_processor_seconds() - start;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Seconds for one pass of each, the best of several taken in turn. */
static void measure(const struct data *data, struct tremolo_moments *moments, double best[3])
{
    enum { PASSES = 7 };
    uint8_t *same = calloc(data->count, 1);
    if (same == NULL) {
        exit(1);
    }
    best[0] = best[1] = best[2] = 1e9;
    for (int pass = 0; pass < PASSES; pass++) {
        best[0] = smaller(best[0], time_dsyrk(data));
        best[1] = smaller(best[1], time_fold(data, moments, same));
        best[2] = smaller(best[2], time_fold(data, moments, data->buckets));
    }
    free(same);
}

static void compare(size_t d)
{
    struct data data = {.n = d + 1};
    struct tremolo_moments *moments = NULL;
    double best[3];
    data.count = 16u * 1024 * 1024 / (d < 16 ? 16 : d);
    data.count = data.count > 400000 ? 400000 : data.count;
    data.rows = malloc(data.n * data.count * sizeof *data.rows);
    data.doubles = malloc(data.n * data.count * sizeof *data.doubles);
    data.matrix = malloc(data.n * data.n * sizeof *data.matrix);
    data.buckets = malloc(data.count);
    if (data.rows == NULL || data.doubles == NULL || data.matrix == NULL || data.buckets == NULL ||
        tremolo_moments_new(&moments, data.n, 2047, 2047) != TREMOLO_OK) {
        exit(1);
    }
    fill(&data);
    measure(&data, moments, best);
    double millions = (double)data.count / 1e6;
    printf("  d %4zu   dsyrk %7.2f   one bucket %7.2f (%5.2fx)   32 buckets %7.2f (%5.2fx)\n", d,
           millions / best[0], millions / best[1], best[0] / best[1], millions / best[2],
           best[0] / best[2]);
    tremolo_moments_free(moments);
    free(data.rows);
    free(data.doubles);
    free(data.matrix);
    free(data.buckets);
}

int main(void)
{
    static const size_t dimensions[] = {8, 16, 32, 64, 128, 256};
    openblas_set_num_threads(1);
    printf("fold, one core, M reports/s of processor time, ratio to OpenBLAS dsyrk on the same "
           "rows\n");
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
        compare(dimensions[i]);
    }
    return 0;
}
