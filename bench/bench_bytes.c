/* bench_bytes.c -- one-sample devices all the way through the bytes.
 *
 * The device's noise at d = 10, then its own encoder with a
 * random report id, the strict decoder, and the fold by that id's bucket, on
 * all processors in bounded memory: a million devices, or a hundred million
 * with BENCH_LONG=1. Prints seconds, bytes and the most memory ever used. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "parts.h"
#include "tremolo_host.h"
#include "moments.h"

enum { D = 10, ROWS = 4096, WORKERS_MAX = 16, WIRE_MAX = 2047 };

static const struct tremolo_bounds bounds[D] = {
    TREMOLO_HOST_BOUNDS, TREMOLO_HOST_BOUNDS, TREMOLO_HOST_BOUNDS, TREMOLO_HOST_BOUNDS,
    TREMOLO_HOST_BOUNDS, TREMOLO_HOST_BOUNDS, TREMOLO_HOST_BOUNDS, TREMOLO_HOST_BOUNDS,
    TREMOLO_HOST_BOUNDS, TREMOLO_HOST_BOUNDS};
static const struct tremolo_study study = {
    .id = "a study of many, many devices...",
    .bounds = bounds,
    .response_bounds = TREMOLO_HOST_BOUNDS,
    .unit = 1 << 18,
    .clip = 1 << 18,
    .dimension = D,
    .keep = TREMOLO_KEEP_ONE,
    .rounds = 1,
    .samples = 1,
    .noise_log2 = 20,
    .wire_shift = 14,
    .wire_bits = 12,
};

struct worker {
    pthread_t thread;
    size_t devices, index;
    uint64_t bytes;
    struct tremolo_moments *moments;
    struct tremolo_platform platform;
    struct tremolo_work work;
    int32_t noise[ROWS * D];
    int16_t rows[ROWS * (D + 1)];
    uint8_t buckets[ROWS];
    int failed;
};

/* One device with the sample zero, through bytes and back. */
static int pass_one(struct worker *worker, size_t row)
{
    struct tremolo_work *work = &worker->work;
    int16_t *out = worker->rows + row * (D + 1);
    struct tremolo_report report;
    for (size_t i = 0; i < D; i++) {
        work->noise[i] = worker->noise[row * D + i];
    }
    size_t length = tremolo_report_encode(work);
    if (tremolo_report_decode(&report, work->slot.report, length) != TREMOLO_OK ||
        tremolo_report_unpack(out, D, &report, &study) != TREMOLO_OK) {
        return 1;
    }
    out[D] = report.response;
    worker->buckets[row] = (uint8_t)tremolo_bucket_of(report.id);
    worker->bytes += length;
    return 0;
}

static void *work_on(void *argument)
{
    struct worker *worker = argument;
    struct tremolo_host_memory memory = {0};
    static const struct tremolo_round round = {NULL, 0};
    static const struct tremolo_sample sample = {NULL, 1 << 20, 0};
    worker->platform = tremolo_host_memory_platform(&memory);
    worker->failed = tremolo_generator_seed(&worker->work.generator, &worker->platform,
                                            worker->work.id, worker->work.id) != TREMOLO_OK;
    worker->work.platform = &worker->platform;
    worker->work.study = &study;
    worker->work.round = &round;
    worker->work.sample = &sample;
    for (size_t done = 0; done < worker->devices && !worker->failed; done += ROWS) {
        size_t count = worker->devices - done < ROWS ? worker->devices - done : ROWS;
        for (size_t i = 0; i < (size_t)ROWS * D; i++) {
            worker->noise[i] = tremolo_noise_draw(&worker->work.generator, study.noise_log2);
        }
        for (size_t row = 0; row < count; row++) {
            worker->failed |= pass_one(worker, row);
        }
        worker->failed |= tremolo_moments_add(worker->moments, worker->rows, worker->buckets,
                                              count) != TREMOLO_OK;
    }
    return NULL;
}

int main(void)
{
    const char *wanted = getenv("BENCH_LONG");
    size_t devices = wanted != NULL && strcmp(wanted, "1") == 0 ? 100000000 : 1000000;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = processors < 1             ? 1
                   : processors > WORKERS_MAX ? (size_t)WORKERS_MAX
                                              : (size_t)processors;
    struct worker *workers = calloc(count, sizeof *workers);
    struct rusage usage;
    double start = bench_seconds();
    uint64_t bytes = 0;
    int failed = workers == NULL;
    for (size_t i = 0; i < count && !failed; i++) {
        workers[i].index = i;
        workers[i].devices = devices / count;
        failed = tremolo_moments_new(&workers[i].moments, D + 1, WIRE_MAX, TREMOLO_RESPONSE_MAX) !=
                     TREMOLO_OK ||
                 pthread_create(&workers[i].thread, NULL, work_on, &workers[i]) != 0;
    }
    for (size_t i = 0; i < count && !failed; i++) {
        failed |=
            pthread_join(workers[i].thread, NULL) != 0 || workers[i].failed ||
            (i > 0 && tremolo_moments_merge(workers[0].moments, workers[i].moments) != TREMOLO_OK);
        bytes += workers[i].bytes;
    }
    if (failed) {
        (void)fprintf(stderr, "bench_bytes: a step failed\n");
        return 1;
    }
    double spent = bench_seconds() - start;
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf(
        "  %zu devices at d = %d, exact noise, encoded, decoded, folded on %zu processors:\n"
        "  %.1f s (%.2f min), %.2f M/s, %.1f bytes a report, %.0f MB at most\n",
        (size_t)tremolo_moments_count(workers[0].moments), D, count, spent, spent / 60,
        (double)devices / spent / 1e6, (double)bytes / (double)devices,
        (double)usage.ru_maxrss / 1024);
    for (size_t i = 0; i < count; i++) {
        tremolo_moments_free(workers[i].moments);
    }
    free(workers);
    return 0;
}
