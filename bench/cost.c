/* cost.c -- what one job costs: for the curves of bench/curves.sh.
 *
 *   cost JOB FEATURES REPORTS
 *
 * JOB is `samples` or `ballots`, made and folded; `fold` or `added`, rows that are there;
 * `estimate` or `ballot-estimate`, sums to coefficients and their table. Prints seconds of
 * processor time on all threads, seconds on the clock, and the most memory in MB. Each point has
 * a process of its own, so that memory is its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "fleet.h"
#include "experiment.h"
#include "regression.h"
#include "release.h"

/* Larger fleets are this one, again and again. */
enum { FLEET = 100000, FEATURES_MAX = 256 };

struct job {
    size_t d;
    size_t reports;
    size_t rows; /* of data */
    bool ballots;
};

static void must(bool good)
{
    if (!good) {
        (void)fprintf(stderr, "cost: it failed\n");
        exit(1);
    }
}

static struct fleet *make_fleet(const struct job *job)
{
    struct tremolo_random random = tremolo_random_from(1, job->d);
    double *X = malloc(job->rows * job->d * sizeof *X), *y = malloc(job->rows * sizeof *y);
    struct fleet *fleet = NULL;
    must(X != NULL && y != NULL);
    for (size_t r = 0; r < job->rows; r++) {
        y[r] = 0;
        for (size_t i = 0; i < job->d; i++) {
            double x = 2 * tremolo_random_uniform(&random) - 1;
            X[r * job->d + i] = x;
            y[r] += x / (double)job->d;
        }
    }
    const struct fleet_setup setup = {.X = X,
                                      .y = y,
                                      .rows = job->rows,
                                      .response_bound = 1,
                                      .request = {.dimension = job->d,
                                                  .bound = 1,
                                                  .radius = sqrt((double)job->d),
                                                  .distance = 1,
                                                  .epsilon = 1,
                                                  .delta = 1e-5,
                                                  .rounds = 1},
                                      .release = job->ballots ? TREMOLO_RELEASE_BALLOT
                                                              : TREMOLO_RELEASE_SAMPLE,
                                      .seed = 1,
                                      .threads = tremolo_processors()};
    must(fleet_new(&fleet, &setup) == TREMOLO_OK);
    free(X);
    free(y);
    return fleet;
}

/* One round of the fleet, or another, to its sums and the evidence or ballots made of them. */
static void make_round(struct fleet *fleet)
{
    struct tremolo_debiased *evidence = NULL;
    struct tremolo_ballot *ballots = NULL;
    must((fleet->study.release == TREMOLO_RELEASE_BALLOT
              ? fleet_ballots(&ballots, fleet)
              : fleet_release(&evidence, NULL, fleet, 0, NULL)) == TREMOLO_OK);
    tremolo_debias_free(evidence);
    tremolo_ballot_free(ballots);
}

static void fold_rows(struct tremolo_moments *moments, const struct job *job,
                      const struct tremolo_study *study)
{
    size_t values = tremolo_row_values(study), batch = 4096;
    int16_t *rows = malloc(batch * values * sizeof *rows);
    uint8_t *buckets = malloc(batch);
    uint64_t x = 88172645463325252u;
    must(rows != NULL && buckets != NULL);
    for (size_t i = 0; i < batch * values; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        rows[i] = (int16_t)(x & 255);
        buckets[i / values] = (uint8_t)(i / values % TREMOLO_BUCKETS);
    }
    for (size_t done = 0; done < job->reports; done += batch) {
        size_t left = job->reports - done;
        must(tremolo_release_fold(moments, study, rows, buckets, left < batch ? left : batch) ==
             TREMOLO_OK);
    }
    free(rows);
    free(buckets);
}

static double all_processor_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void estimate(struct fleet *fleet, const struct job *job, double *start, double *begun)
{
    static struct tremolo_coefficient table[FEATURES_MAX + 1];
    double beta[FEATURES_MAX];
    if (job->ballots) {
        struct tremolo_ballot *ballots = NULL;
        struct tremolo_ballot_fit fit;
        must(fleet_ballots(&ballots, fleet) == TREMOLO_OK);
        *start = all_processor_seconds(), *begun = bench_seconds();
        must(tremolo_ballot_fit(beta, &fit, ballots, TREMOLO_METHOD_AUTO, 0.95) == TREMOLO_OK &&
             tremolo_ballot_infer(table, ballots, NULL, 0.95) == TREMOLO_OK);
        tremolo_ballot_free(ballots);
        return;
    }
    struct tremolo_debiased *evidence = NULL;
    struct tremolo_fit fit;
    const struct tremolo_fit_options options = TREMOLO_FIT_DEFAULTS;
    must(fleet_release(&evidence, NULL, fleet, 0, NULL) == TREMOLO_OK);
    *start = all_processor_seconds(), *begun = bench_seconds();
    must(tremolo_fit(beta, &fit, evidence, &options) == TREMOLO_OK &&
         tremolo_infer(table, evidence, NULL, 0.95) == TREMOLO_OK);
    tremolo_debias_free(evidence);
}

int main(int argc, char **argv)
{
    struct rusage usage;
    struct job job = {0};
    must(argc == 4);
    job.d = strtoul(argv[2], NULL, 10);
    job.reports = strtoul(argv[3], NULL, 10);
    job.ballots = strncmp(argv[1], "ballot", 6) == 0 || strcmp(argv[1], "added") == 0;
    must(job.d >= 1 && job.d <= FEATURES_MAX && job.reports > 0);
    bool whole = strstr(argv[1], "estimate") != NULL;
    bool made = strcmp(argv[1], "samples") == 0 || strcmp(argv[1], "ballots") == 0;
    job.rows = !made && !whole ? 2 : job.reports < FLEET || whole ? job.reports : FLEET;
    struct fleet *fleet = make_fleet(&job);
    struct tremolo_moments *moments = NULL;
    must(tremolo_release_plain_sums(&moments, &fleet->study) == TREMOLO_OK);
    double start = all_processor_seconds(), begun = bench_seconds();
    if (whole) {
        estimate(fleet, &job, &start, &begun);
    } else if (made) {
        for (size_t done = 0; done < job.reports; done += job.rows) {
            make_round(fleet);
        }
    } else {
        fold_rows(moments, &job, &fleet->study);
    }
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("%.6f %.6f %.1f\n", all_processor_seconds() - start, bench_seconds() - begun,
           (double)usage.ru_maxrss / 1024);
    tremolo_moments_free(moments);
    fleet_free(fleet);
    return 0;
}
