/* release.c -- how the sums of a study's reports are debiased. */
#include "tremolo_release.h"

#include <math.h>
#include <stdlib.h>

/* No released coordinate exceeds this in magnitude. */
static int wire_max(const struct tremolo_study *study)
{
    return (1 << (study->wire_bits - 1)) - 1;
}

enum tremolo_status tremolo_release_sums(struct tremolo_moments **moments,
                                         const struct tremolo_study *study)
{
    bool is_private = study->response == TREMOLO_RESPONSE_PRIVATE;
    return tremolo_moments_new(moments, study->dimension + 1u, wire_max(study),
                               is_private ? wire_max(study) : TREMOLO_RESPONSE_MAX);
}

struct tremolo_sample_release tremolo_release_of(const struct tremolo_study *study,
                                                 double feature_bound, double response_bound)
{
    bool is_private = study->response == TREMOLO_RESPONSE_PRIVATE;
    double wire = ldexp(1, study->wire_shift);
    double noise = ldexp(1, study->noise_log2) / wire;
    double amplitude = study->amplitude / wire;
    double feature_scale = study->unit / feature_bound / wire;
    return (struct tremolo_sample_release){
        .dimension = study->dimension,
        .keep = (double)study->keep / TREMOLO_KEEP_ONE,
        .noise_variance = noise * noise + 1.0 / 12,
        .modulation = amplitude * amplitude / 2,
        .vectors = study->vectors,
        .feature_scale = feature_scale,
        .response_scale = is_private ? feature_scale : TREMOLO_RESPONSE_MAX / response_bound,
        .response_private = is_private,
        .largest = feature_bound * feature_bound,
    };
}

void tremolo_release_from_wire(double *V, const int16_t *vectors, size_t count, double weight)
{
    for (size_t i = 0; i < count; i++) {
        V[i] = weight * vectors[i] / TREMOLO_VECTOR_ONE;
    }
}

void tremolo_release_to_wire(int16_t *vectors, const double *V, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        vectors[i] = (int16_t)lrint(V[i] * TREMOLO_VECTOR_ONE);
    }
}

enum tremolo_status tremolo_release_debias(struct tremolo_debiased **evidence,
                                           struct tremolo_moments *moments,
                                           const struct tremolo_sample_release *release)
{
    struct tremolo_sums sums[TREMOLO_BUCKETS];
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned b = 0; b < TREMOLO_BUCKETS && status == TREMOLO_OK; b++) {
        status = tremolo_moments_bucket(moments, &sums[b], b);
    }
    return status == TREMOLO_OK ? tremolo_debias_new(evidence, sums, TREMOLO_BUCKETS, release)
                                : status;
}

enum tremolo_status tremolo_release_evidence(struct tremolo_debiased **evidence,
                                             struct tremolo_moments *moments,
                                             const struct tremolo_sample_release *release,
                                             const int16_t *vectors)
{
    struct tremolo_sample_release round = *release;
    size_t count = release->vectors * release->dimension;
    double *V = calloc(count + 1, sizeof *V);
    if (V == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    tremolo_release_from_wire(V, vectors, count, 1.0);
    round.V = V;
    enum tremolo_status status = tremolo_release_debias(evidence, moments, &round);
    free(V);
    return status;
}
