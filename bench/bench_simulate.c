/* bench_simulate.c -- devices per second of a simulated fleet, on all processors, by the device
 * core, against a NumPy reference that does the same job in the same run
 * (bench/numpy_reference.py, float64, noise that is not exact).
 *
 * Before that one-sample devices at d = 10 through the core, the decoder and the fold, in bounded
 * memory: a million, or a hundred million with BENCH_LONG=1. Prints seconds and the most memory ever
 * used. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "fleet.h"
#include "parts.h"
#include "experiment.h"
#include "regression.h"

enum { BENCH_FEATURES_MAX = 100 };

static double *make_rows(size_t rows, size_t columns)
{
    struct tremolo_random random = tremolo_random_from(1, columns);
    double *made = malloc(rows * columns * sizeof *made);
    if (made == NULL) {
        exit(1);
    }
    for (size_t i = 0; i < rows * columns; i++) {
        made[i] = tremolo_random_normal(&random);
    }
    return made;
}

static struct fleet *make_fleet(const double *X, const double *y, size_t rows, size_t d,
                                bool modulated)
{
    struct fleet *fleet = NULL;
    const struct fleet_setup setup = {
        .X = X,
        .y = y,
        .rows = rows,
        .response_bound = 7,
        .request = {.dimension = d,
                    .bound = 7,
                    .radius = 7 * sqrt((double)d),
                    .distance = 1,
                    .epsilon = 1,
                    .delta = 1e-5,
                    .rounds = 1,
                    .alpha = modulated ? 0.5 : 0,
                    .lambda = modulated ? 0.2 : 0,
                    .omega = modulated ? 1 : 0,
                    .vectors = modulated ? 1 : 0},
        .seed = 1,
        .threads = tremolo_processors(),
    };
    if (fleet_new(&fleet, &setup) != TREMOLO_OK) {
        exit(1);
    }
    return fleet;
}

/* Reports per second, the best of a few passes. */
static double rate(struct fleet *fleet, size_t rows, int passes)
{
    double best = 1e9, V[BENCH_FEATURES_MAX] = {1};
    for (int pass = 0; pass < passes; pass++) {
        struct tremolo_debiased *evidence = NULL;
        double start = bench_seconds();
        if (fleet_release(&evidence, NULL, fleet, 0, V) != TREMOLO_OK) {
            exit(1);
        }
        best = fmin(best, bench_seconds() - start);
        tremolo_debias_free(evidence);
    }
    return (double)rows / best;
}

/* Two numbers from the reference, or false when there is no NumPy. */
static bool reference(double result[2], size_t d, size_t rows)
{
    char line[256];
    (void)snprintf(line, sizeof line, "/usr/bin/python3 bench/numpy_reference.py %zu %zu", d, rows);
    FILE *pipe = popen(line, "r");
    bool good = pipe != NULL && fgets(line, sizeof line, pipe) != NULL &&
                sscanf(line, "%lf %lf", &result[0], &result[1]) == 2;
    return pipe != NULL && pclose(pipe) == 0 && good;
}

static void compare(size_t d, size_t rows)
{
    static const char *const names[2] = {"plain", "modulated"};
    double *X = make_rows(rows, d), *y = make_rows(rows, 1), numpy[2] = {0, 0};
    bool known = reference(numpy, d, rows);
    for (int modulated = 0; modulated < 2; modulated++) {
        struct fleet *fleet = make_fleet(X, y, rows, d, modulated == 1);
        double reports = rate(fleet, rows, 3);
        printf("  d %3zu %-9s  NumPy %6.2f   core %6.2f (%5.2fx) M/s\n", d, names[modulated],
               numpy[modulated] / 1e6, reports / 1e6, known ? reports / numpy[modulated] : 0);
        fleet_free(fleet);
    }
    free(X);
    free(y);
}

/* A fleet of 100,000, again and again. */
static void run_many(size_t devices)
{
    enum { FLEET = 100000, FEATURES = 10 };
    double *X = make_rows(FLEET, FEATURES), *y = make_rows(FLEET, 1);
    struct fleet *fleet = make_fleet(X, y, FLEET, FEATURES, false);
    struct rusage usage;
    double start = bench_seconds();
    (void)rate(fleet, FLEET, (int)(devices / FLEET));
    double spent = bench_seconds() - start;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("  %zu devices at d = %d, exactly: %.2f s (%.2f min), %.0f MB at most\n", devices,
           FEATURES, spent, spent / 60, (double)usage.ru_maxrss / 1024);
    fleet_free(fleet);
    free(X);
    free(y);
}

int main(void)
{
    const char *wanted = getenv("BENCH_LONG");
    bool patient = wanted != NULL && strcmp(wanted, "1") == 0;
    printf("simulated devices on %u processors, M reports/s, ratio to NumPy\n",
           tremolo_processors());
    run_many(patient ? 100000000 : 1000000);
    compare(10, 1000000);
    compare(100, 100000);
    return 0;
}
