/* fleet_bulk.c -- devices computed many at a time, value for value as the core would.
 *
 * The map of docs/reference/wire-format.md in wide registers: scale, clip and shrink once, and for every
 * report waves, noise of the core's law (exact_noise.h) and one rounding to the wire. The angle of a
 * wave is uniform whatever the sample is, so it is drawn as such. There is no ledger, and no bytes;
 * fleet_core.c has both. */
#include "fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exact_noise.h"
#include "regression.h"

enum { LANES = 8, ANGLE_BITS = 32, COSINE_BITS = 15, VECTOR_BITS = 14 };

/* ------------------------------------------------------------- once a device */

/* value * factor / 2^shift, toward zero. */
static int32_t times(int32_t value, int64_t factor, unsigned shift)
{
    return (int32_t)(value * factor / (INT64_C(1) << shift));
}

/* From raw bounds to -unit..unit, to nearest. */
static int32_t scale(int32_t raw, const struct tremolo_bounds *bounds, int64_t unit)
{
    int64_t width = (int64_t)bounds->high - bounds->low;
    int64_t above = raw < bounds->low ? 0 : raw > bounds->high ? width : (int64_t)raw - bounds->low;
    return (int32_t)((4 * unit * above / width + 1) / 2 - unit);
}

/* The least whole number whose square is no less. */
static uint64_t root_up(uint64_t square)
{
    uint64_t root = (uint64_t)sqrt((double)square);
    while (root > 0 && (root - 1) * (root - 1) >= square) {
        root--;
    }
    while (root * root < square) {
        root++;
    }
    return root;
}

static void clip(int32_t *value, size_t count, uint32_t radius)
{
    uint64_t square = 0;
    for (size_t i = 0; i < count; i++) {
        square += (uint64_t)((int64_t)value[i] * value[i]);
    }
    uint64_t norm = root_up(square);
    for (size_t i = 0; norm > radius && i < count; i++) {
        value[i] = times(value[i], (int64_t)(((uint64_t)radius << 30) / norm), 30);
    }
}

void fleet_bulk_sample(int32_t *base, int16_t *response, const struct tremolo_study *study,
                       const int32_t *raw)
{
    size_t coordinates = tremolo_study_coordinates(study), d = study->dimension;
    for (size_t i = 0; i < coordinates; i++) {
        base[i] = scale(raw[i], i < d ? &study->bounds[i] : &study->response_bounds, study->unit);
    }
    clip(base, coordinates, study->clip);
    for (size_t i = 0; i < coordinates; i++) {
        base[i] = times(base[i], study->keep, COSINE_BITS);
    }
    *response = (int16_t)scale(raw[d], &study->response_bounds, TREMOLO_RESPONSE_MAX);
}

enum tremolo_status fleet_bulk_prepare(struct fleet *fleet)
{
    size_t coordinates = tremolo_study_coordinates(&fleet->study);
    int32_t raw[TREMOLO_MAX_COORDINATES + 1];
    enum tremolo_status status = TREMOLO_OK;
    fleet->base = calloc(fleet->setup.rows * coordinates + LANES, sizeof *fleet->base);
    fleet->response = calloc(fleet->setup.rows, sizeof *fleet->response);
    if (fleet->base == NULL || fleet->response == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t r = 0; r < fleet->setup.rows && status == TREMOLO_OK; r++) {
        status = fleet_raw_row(raw, &fleet->setup, r);
        if (status == TREMOLO_OK) {
            fleet_bulk_sample(fleet->base + r * coordinates, &fleet->response[r], &fleet->study,
                              raw);
        }
    }
    return status;
}

/* ------------------------------------------------------------- every report */

/* cos in 2^-15 of an angle in 2^-32 turns: a polynomial for the first quadrant of the sine, and its
 * mirror images. */
static int32_t cosine(uint32_t angle)
{
    static const int64_t coefficient[4] = {136, 2592, 21159, 51471};
    const int64_t half = 1 << (COSINE_BITS - 1);
    uint32_t turned = angle + (UINT32_C(1) << (ANGLE_BITS - 2));
    int64_t within = turned & ((UINT32_C(1) << (ANGLE_BITS - 2)) - 1);
    within = turned >> (ANGLE_BITS - 2) & 1 ? (INT64_C(1) << (ANGLE_BITS - 2)) - within : within;
    int64_t z = (within + half) >> COSINE_BITS;
    int64_t square = (z * z + half) >> COSINE_BITS, sum = 0;
    for (size_t i = 0; i < 4; i++) {
        sum = ((coefficient[i] - sum) * (i < 3 ? square : z) + half) >> COSINE_BITS;
    }
    return (int32_t)(turned >> (ANGLE_BITS - 1) ? -sum : sum);
}

/* Products of a wave's height, 24 bits, and a vector's entry, 15, are exact in double precision, and
 * so is their division by 2^14; the conversion goes toward zero, as the device does. */
void fleet_bulk_waves(int32_t *value, const struct tremolo_study *study, const int16_t *vectors,
                      const uint32_t *angles, size_t count)
{
    size_t coordinates = tremolo_study_coordinates(study), d = study->dimension;
    for (size_t j = 0; j < study->vectors; j++) {
        double vector[TREMOLO_MAX_COORDINATES];
        for (size_t i = 0; i < d; i++) {
            vector[i] = ldexp(vectors[j * d + i], -VECTOR_BITS);
        }
        for (size_t r = 0; r < count; r++) {
            double height =
                times((int32_t)study->amplitude, cosine(angles[j * count + r]), COSINE_BITS);
            for (size_t i = 0; i < d; i++) {
                value[r * coordinates + i] += (int32_t)(height * vector[i]);
            }
        }
    }
}

typedef int32_t lanes __attribute__((vector_size(4 * LANES)));

/* floor((value + noise) / 2^shift + 1/2) within the wire's ends, eight at a time; inlined where wide
 * registers are allowed and where not. */
static inline __attribute__((always_inline)) void round_lanes(int32_t *value, const int32_t *noise,
                                                              size_t count, int shift, int32_t end)
{
    for (size_t i = 0; i < count; i += LANES) {
        lanes sum, more;
        memcpy(&sum, value + i, sizeof sum);
        memcpy(&more, noise + i, sizeof more);
        sum = (sum + more + (1 << shift >> 1)) >> shift;
        lanes above = sum > end, below = sum < -end;
        sum = (sum & ~(above | below)) | (above & end) | (below & -end);
        memcpy(value + i, &sum, sizeof sum);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void round_wide(int32_t *value, const int32_t *noise,
                                                       size_t count, int shift, int32_t end)
{
    round_lanes(value, noise, count, shift, end);
}
#endif

void fleet_bulk_round(int32_t *value, const int32_t *noise, size_t count,
                      const struct tremolo_study *study)
{
    int32_t end = (INT32_C(1) << (study->wire_bits - 1)) - 1;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        round_wide(value, noise, count, study->wire_shift, end);
        return;
    }
#endif
    round_lanes(value, noise, count, study->wire_shift, end);
}

/* Coordinates and, behind them, the public response. */
static void put_rows(int16_t *rows, const int32_t *value, const struct fleet *fleet, size_t from,
                     size_t count)
{
    size_t coordinates = tremolo_study_coordinates(&fleet->study);
    for (size_t r = 0; r < count; r++) {
        int16_t *row = rows + r * fleet->width;
        for (size_t i = 0; i < coordinates; i++) {
            row[i] = (int16_t)value[r * coordinates + i];
        }
        if (!fleet->setup.request.response_private) {
            row[coordinates] = fleet->response[from + r];
        }
    }
}

/* Each block has a stream of its own, so that threads do not matter. */
enum tremolo_status fleet_bulk_block(int16_t *rows, const struct fleet *fleet, size_t from,
                                     size_t count, const struct fleet_pass *pass)
{
    const struct tremolo_study *study = &fleet->study;
    size_t values = count * tremolo_study_coordinates(study);
    size_t padded = (values + LANES - 1) / LANES * LANES, waves = count * study->vectors;
    struct exact_noise source;
    int32_t *value = malloc(2 * padded * sizeof *value);
    uint32_t *angles = malloc((waves + 1) * sizeof *angles);
    if (value == NULL || angles == NULL) {
        free(value);
        free(angles);
        return TREMOLO_NO_MEMORY;
    }
    exact_noise_seed(&source, tremolo_random_hash(fleet->setup.seed, pass->stream), from);
    memcpy(value, fleet->base + from * tremolo_study_coordinates(study), padded * sizeof *value);
    if (waves > 0) {
        exact_noise_words(&source, angles, waves);
        fleet_bulk_waves(value, study, fleet->wire_vectors, angles, count);
    }
    exact_noise_fill(&source, value + padded, padded, study->noise_log2);
    fleet_bulk_round(value, value + padded, padded, study);
    put_rows(rows, value, fleet, from, count);
    free(value);
    free(angles);
    return TREMOLO_OK;
}
