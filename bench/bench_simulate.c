/* bench_simulate.c -- devices per second of a simulated fleet, on all
 * processors, with exact and with fast noise, against a NumPy reference that
 * does the same job in the same run (bench/numpy_reference.py, float64).
 *
 * Then one-sample devices at d = 10 through the fast map, the wire's rounding
 * and the fold, in bounded memory: a million, or a hundred million with
 * BENCH_LONG=1. Prints seconds and the most memory ever used. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "fleet.h"
#include "tremolo_experiment.h"
#include "tremolo_random.h"

enum { BENCH_FEATURES_MAX = 100 };

static double *make_rows(size_t rows, size_t columns)
{
    struct tremolo_normals source;
    size_t count =
        (rows * columns + TREMOLO_NORMALS_STEP - 1) / TREMOLO_NORMALS_STEP * TREMOLO_NORMALS_STEP;
    float *numbers = malloc(count * sizeof *numbers);
    double *made = malloc(count * sizeof *made);
    if (numbers == NULL || made == NULL) {
        exit(1);
    }
    tremolo_normals_seed(&source, 1, columns);
    tremolo_normals_fill(&source, numbers, count);
    for (size_t i = 0; i < count; i++) {
        made[i] = (double)numbers[i];
    }
    free(numbers);
    return made;
}

static struct fleet *make_fleet(const double *X, const double *y, size_t rows, size_t d, bool fast,
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
        .fast_noise = fast,
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
    size_t fewer = rows / 20;
    bool known = reference(numpy, d, rows);
    for (int modulated = 0; modulated < 2; modulated++) {
        struct fleet *exact = make_fleet(X, y, fewer, d, false, modulated == 1);
        struct fleet *fast = make_fleet(X, y, rows, d, true, modulated == 1);
        double exact_rate = rate(exact, fewer, 3), fast_rate = rate(fast, rows, 5);
        printf("  d %3zu %-9s  NumPy %6.2f   exact %6.2f (%5.2fx)   fast %6.2f (%5.2fx) M/s\n", d,
               names[modulated], numpy[modulated] / 1e6, exact_rate / 1e6,
               known ? exact_rate / numpy[modulated] : 0, fast_rate / 1e6,
               known ? fast_rate / numpy[modulated] : 0);
        fleet_free(exact);
        fleet_free(fast);
    }
    free(X);
    free(y);
}

/* A fleet of 100,000 passes by again and again with fresh noise. */
static void run_many(size_t devices)
{
    enum { FLEET = 100000, FEATURES = 10 };
    double *X = make_rows(FLEET, FEATURES), *y = make_rows(FLEET, 1);
    struct fleet *fleet = make_fleet(X, y, FLEET, FEATURES, true, false);
    struct tremolo_moments *moments = NULL;
    struct rusage usage;
    double start = bench_seconds();
    if (fleet_moments(&moments, fleet) != TREMOLO_OK) {
        exit(1);
    }
    for (size_t pass = 0; pass < devices / FLEET; pass++) {
        if (fleet_fold(moments, fleet, pass) != TREMOLO_OK) {
            exit(1);
        }
    }
    double spent = bench_seconds() - start;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("  %zu devices at d = %d, fast noise: %.2f s (%.2f min), %.0f MB at most\n", devices,
           FEATURES, spent, spent / 60, (double)usage.ru_maxrss / 1024);
    tremolo_moments_free(moments);
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
