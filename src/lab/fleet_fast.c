/* fleet_fast.c -- devices computed many at a time, for large simulations.
 *
 * The report has the law of the real one: the clipped and shrunk sample in
 * wire units, plus the modulation, plus Gaussian noise, rounded once to the
 * wire and saturated at its ends. The modulation's angle is uniform whatever
 * the sample is, so it is drawn as such. What differs: single precision in
 * place of the fine grid (a relative 2^-24 of a value), noise from a generator
 * for simulations, and no ledger, report bytes or decoder. */
#include "fleet_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_random.h"

static double clamp(double value, double bound)
{
    return fmin(fmax(value, -bound), bound);
}

/* Clamp to the bounds, clip to the radius and shrink, as the device does. */
static void prepare_row(struct fleet *fleet, const struct fleet_setup *setup, size_t row,
                        double radius)
{
    size_t d = fleet->d, coordinates = tremolo_study_coordinates(&fleet->study);
    double value[TREMOLO_MAX_COORDINATES], square = 0;
    for (size_t i = 0; i < coordinates; i++) {
        value[i] = clamp(i < d ? setup->X[row * d + i] : setup->y[row], setup->request.bound);
        square += value[i] * value[i];
    }
    double shrink = square > radius * radius ? radius / sqrt(square) : 1;
    shrink *= fleet->release.keep * fleet->release.feature_scale;
    for (size_t i = 0; i < coordinates; i++) {
        fleet->base[row * coordinates + i] = (float)(value[i] * shrink);
    }
    if (!fleet->response_private) {
        double y = clamp(setup->y[row], setup->response_bound) * fleet->release.response_scale;
        fleet->response[row] = (int16_t)floor(y + 0.5);
    }
}

enum tremolo_status fleet_fast_prepare(struct fleet *fleet, const struct fleet_setup *setup)
{
    size_t coordinates = tremolo_study_coordinates(&fleet->study);
    double radius = fleet->study.clip / (double)fleet->study.unit * setup->request.bound;
    fleet->base = malloc((fleet->rows * coordinates + TREMOLO_NORMALS_STEP) * sizeof *fleet->base);
    fleet->response = calloc(fleet->rows, sizeof *fleet->response);
    if (fleet->base == NULL || fleet->response == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t r = 0; r < fleet->rows; r++) {
        prepare_row(fleet, setup, r, radius);
    }
    return TREMOLO_OK;
}

/* value += height of each wave times its vector, for rows of d features. */
static void add_waves(float *value, const struct fleet *fleet, size_t count, size_t coordinates,
                      struct tremolo_normals *source)
{
    float waves[FLEET_BLOCK_ROWS];
    double amplitude = sqrt(2 * fleet->release.modulation) / TREMOLO_VECTOR_ONE;
    for (size_t j = 0; j < fleet->study.vectors; j++) {
        float vector[TREMOLO_MAX_COORDINATES];
        for (size_t i = 0; i < fleet->d; i++) {
            vector[i] = (float)(amplitude * fleet->wire_vectors[j * fleet->d + i]);
        }
        tremolo_normals_waves(source, waves, FLEET_BLOCK_ROWS);
        for (size_t r = 0; r < count; r++) {
            for (size_t i = 0; i < fleet->d; i++) {
                value[r * coordinates + i] += waves[r] * vector[i];
            }
        }
    }
}

/* floor(base + sd * noise + 1/2) within the wire's ends, for TREMOLO_NORMALS_STEP
 * values at a time. */
static void round_scalar(int16_t *wire, const float *base, const float *noise, size_t count,
                         float sd, float end)
{
    for (size_t i = 0; i < count; i++) {
        float value = floorf(base[i] + noise[i] * sd + 0.5F);
        wire[i] = (int16_t)(value > end ? end : value < -end ? -end : value);
    }
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

__attribute__((target("avx2"))) static void
round_avx2(int16_t *wire, const float *base, const float *noise, size_t count, float sd, float end)
{
    __m256 scale = _mm256_set1_ps(sd), half = _mm256_set1_ps(0.5F);
    __m256 high = _mm256_set1_ps(end), low = _mm256_set1_ps(-end);
    for (size_t i = 0; i < count; i += TREMOLO_NORMALS_STEP) {
        __m256i whole[2];
        for (size_t part = 0; part < 2; part++) {
            size_t at = i + part * TREMOLO_NORMALS_LANES;
            __m256 value = _mm256_mul_ps(_mm256_loadu_ps(noise + at), scale);
            value = _mm256_add_ps(_mm256_add_ps(_mm256_loadu_ps(base + at), value), half);
            value = _mm256_max_ps(_mm256_min_ps(_mm256_floor_ps(value), high), low);
            whole[part] = _mm256_cvtps_epi32(value);
        }
        __m256i packed = _mm256_packs_epi32(whole[0], whole[1]);
        packed = _mm256_permute4x64_epi64(packed, 0xD8); /* undo the lanes' interleaving */
        _mm256_storeu_si256((__m256i *)(void *)(wire + i), packed);
    }
}

static void round_to_wire(int16_t *wire, const float *base, const float *noise, size_t count,
                          float sd, float end)
{
    if (__builtin_cpu_supports("avx2")) {
        round_avx2(wire, base, noise, count, sd, end);
    } else {
        round_scalar(wire, base, noise, count, sd, end);
    }
}
#else
static void round_to_wire(int16_t *wire, const float *base, const float *noise, size_t count,
                          float sd, float end)
{
    round_scalar(wire, base, noise, count, sd, end);
}
#endif

/* Put the public response behind each row's coordinates. */
static void weave_response(int16_t *rows, const int16_t *wire, const struct fleet *fleet,
                           size_t from, size_t count)
{
    size_t d = fleet->d;
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 0; i < d; i++) {
            rows[r * (d + 1) + i] = wire[r * d + i];
        }
        rows[r * (d + 1) + d] = fleet->response[from + r];
    }
}

/* Noise for whole blocks has its own stream, so that threads do not matter. */
enum tremolo_status fleet_fast_block(int16_t *rows, const struct fleet *fleet, size_t from,
                                     size_t count, const struct fleet_pass *pass)
{
    size_t coordinates = tremolo_study_coordinates(&fleet->study);
    size_t values = count * coordinates;
    size_t padded =
        (values + TREMOLO_NORMALS_STEP - 1) / TREMOLO_NORMALS_STEP * TREMOLO_NORMALS_STEP;
    const float *base = fleet->base + from * coordinates;
    float sd = (float)ldexp(1, fleet->study.noise_log2 - fleet->study.wire_shift);
    float end = (float)((1 << (fleet->study.wire_bits - 1)) - 1);
    struct tremolo_normals source;
    float *noise = malloc(2 * padded * sizeof *noise);
    int16_t *wire = calloc(padded, sizeof *wire);
    if (noise == NULL || wire == NULL) {
        free(noise);
        free(wire);
        return TREMOLO_NO_MEMORY;
    }
    tremolo_normals_seed(&source, tremolo_random_hash(fleet->seed, pass->stream), from);
    if (fleet->study.vectors > 0) {
        float *modulated = noise + padded;
        memcpy(modulated, base, values * sizeof *base);
        memset(modulated + values, 0, (padded - values) * sizeof *base);
        add_waves(modulated, fleet, count, coordinates, &source);
        base = modulated;
    }
    tremolo_normals_fill(&source, noise, padded);
    round_to_wire(wire, base, noise, padded, sd, end);
    if (fleet->response_private) {
        memcpy(rows, wire, values * sizeof *wire);
    } else {
        weave_response(rows, wire, fleet, from, count);
    }
    free(noise);
    free(wire);
    return TREMOLO_OK;
}
