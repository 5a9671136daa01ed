/* fold.c -- the acknowledged reports, folded without the server's code. */
#include <stdlib.h>

#include "swarm.h"
#include "release.h"

struct ballot {
    const struct tremolo_study *study;
    const struct tremolo_report *report;
};

/* A ballot's entries by the device core, one report at a time. */
static int16_t core_row(int8_t *row, size_t i, void *context)
{
    const struct ballot *ballot = context;
    (void)i;
    must(tremolo_ballot_expand(row, tremolo_ballot_entries(ballot->study), ballot->report,
                               ballot->study),
         "expand");
    return ballot->report->response;
}

static void fold_sample(struct swarm *swarm, const struct tremolo_report *report, uint8_t bucket)
{
    int16_t row[TREMOLO_MAX_FOLD_COORDINATES];
    size_t d = swarm->study->dimension;
    must(tremolo_report_unpack(row, d + 1, report, swarm->study), "unpack");
    if (report->has_response) {
        row[d] = report->response;
    }
    must(tremolo_moments_add(swarm->moments[swarm->round], row, &bucket, 1), "fold");
}

void fold_round(struct swarm *swarm)
{
    struct tremolo_report report;
    must(tremolo_release_sums(&swarm->moments[swarm->round], swarm->study), "moments");
    for (size_t i = 0; i < swarm->devices; i++) {
        if (swarm->device[i].length == 0) {
            continue;
        }
        must(tremolo_report_decode(&report, swarm->device[i].report, swarm->device[i].length),
             "decode");
        uint8_t bucket = (uint8_t)tremolo_bucket_of(report.id);
        if (swarm->study->release == TREMOLO_RELEASE_BALLOT) {
            struct ballot ballot = {swarm->study, &report};
            must(tremolo_moments_add_ballots(swarm->moments[swarm->round], core_row, &ballot,
                                             &bucket, 1),
                 "fold");
        } else {
            fold_sample(swarm, &report, bucket);
        }
    }
}

struct tremolo_debiased *debias(struct swarm *swarm, unsigned round)
{
    struct tremolo_sums sums[TREMOLO_BUCKETS];
    struct tremolo_debiased *evidence = NULL;
    struct tremolo_sample_release release = tremolo_release_of(swarm->study, 1.0, 1.0);
    size_t count = release.vectors * release.dimension;
    double *V = calloc(count + 1, sizeof *V);
    for (size_t i = 0; i < count; i++) {
        V[i] = swarm->vectors[round][i] / 16384.0;
    }
    release.V = V;
    for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
        must(tremolo_moments_bucket(swarm->moments[round], &sums[b], b), "bucket");
    }
    must(tremolo_debias_new(&evidence, sums, &release), "debias");
    free(V);
    return evidence;
}
