/* fold.c -- the acknowledged reports, folded without the server's code. */
#include <stdlib.h>

#include "swarm.h"

void fold_round(struct swarm *swarm)
{
    int16_t row[TREMOLO_MAX_FOLD_COORDINATES];
    struct tremolo_report report;
    struct tremolo_study_release release = tremolo_study_file_release(swarm->file);
    size_t d = swarm->study->dimension;
    must(tremolo_moments_new(&swarm->moments[swarm->round], d + 1, release.wire_max,
                             release.response_max),
         "moments");
    for (size_t i = 0; i < swarm->devices; i++) {
        if (swarm->device[i].length == 0) {
            continue;
        }
        must(tremolo_report_decode(&report, swarm->device[i].report, swarm->device[i].length),
             "decode");
        must(tremolo_report_unpack(row, d + 1, &report, swarm->study), "unpack");
        if (report.has_response) {
            row[d] = report.response;
        }
        uint8_t bucket = (uint8_t)tremolo_bucket_of(report.id);
        must(tremolo_moments_add(swarm->moments[swarm->round], row, &bucket, 1), "fold");
    }
}

struct tremolo_debiased *debias(struct swarm *swarm, unsigned round)
{
    struct tremolo_study_release plain = tremolo_study_file_release(swarm->file);
    struct tremolo_sums sums[TREMOLO_BUCKETS];
    struct tremolo_debiased *evidence = NULL;
    size_t count = plain.vectors * plain.dimension;
    double *V = calloc(count + 1, sizeof *V);
    for (size_t i = 0; i < count; i++) {
        V[i] = swarm->vectors[round][i] / 16384.0;
    }
    for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
        must(tremolo_moments_bucket(swarm->moments[round], &sums[b], b), "bucket");
    }
    struct tremolo_release release = {.dimension = plain.dimension,
                                      .keep = plain.keep,
                                      .noise_variance = plain.noise_variance,
                                      .modulation = plain.modulation,
                                      .vectors = plain.vectors,
                                      .V = V,
                                      .feature_scale = plain.feature_scale,
                                      .response_scale = plain.response_scale,
                                      .response_private = plain.response_private,
                                      .largest = 1.0};
    must(tremolo_debias_new(&evidence, sums, TREMOLO_BUCKETS, &release), "debias");
    free(V);
    return evidence;
}
