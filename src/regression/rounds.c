/* rounds.c -- the paper's rounds: release, debias, step, project, turn V.
 *
 * A round is a gradient step: beta <- beta - eta (S beta - Z), projected onto a ball. V is drawn
 * orthogonal to beta, as in the paper.
 * Directions follow from the seed and the round's number, so that a server that restarts, and an
 * analyst with the file of reports, repeat the same rounds to the bit.
 *
 * Each round is a fresh release, so the callback owns the budget. It may also keep the rounds and
 * pool them afterwards (tremolo_debias_pool), because that uses what the last iterate throws away:
 * all rounds together carry the whole budget's information. */
#include "evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"
#include "regression.h"

enum { MAX_ROUNDS = 1024, DIRECTION_TRIES = 64 };

/* ---------------------------------------------------------------- directions */

static void remove_component(double *v, const double *unit, size_t d)
{
    double along = linear_dot(v, unit, d);
    for (size_t i = 0; i < d; i++) {
        v[i] -= along * unit[i];
    }
}

/* Scale to length 1; false when nothing is left to scale. */
static bool normalise(double *v, size_t d)
{
    double length = sqrt(linear_dot(v, v, d));
    if (!(length > 1e-8)) {
        return false;
    }
    for (size_t i = 0; i < d; i++) {
        v[i] /= length;
    }
    return true;
}

/* One more row of V, orthogonal to beta's direction and the rows before it.
 * Two passes of Gram-Schmidt leave nothing of the order of rounding. */
static bool draw_direction(double *V, size_t k, const double *avoid, size_t d,
                           struct tremolo_random *random)
{
    double *v = V + k * d;
    for (int attempt = 0; attempt < DIRECTION_TRIES; attempt++) {
        for (size_t i = 0; i < d; i++) {
            v[i] = tremolo_random_normal(random);
        }
        bool usable = true;
        for (int pass = 0; pass < 2 && usable; pass++) {
            if (avoid != NULL) {
                remove_component(v, avoid, d);
            }
            for (size_t j = 0; j < k; j++) {
                remove_component(v, V + j * d, d);
            }
            usable = normalise(v, d);
        }
        if (usable) {
            return true;
        }
    }
    return false;
}

enum tremolo_status tremolo_directions(double *V, size_t vectors, const double *beta,
                                       size_t dimension, uint64_t seed, uint64_t round)
{
    double unit[TREMOLO_MAX_FEATURES];
    if (V == NULL || beta == NULL || dimension == 0 || dimension > TREMOLO_MAX_FEATURES) {
        return TREMOLO_BAD_ARGUMENT;
    }
    memcpy(unit, beta, dimension * sizeof *unit);
    double length = sqrt(linear_dot(beta, beta, dimension));
    bool moving = length > 0.0;
    for (size_t i = 0; i < dimension && moving; i++) {
        unit[i] /= length;
    }
    if (vectors > dimension - (moving ? 1 : 0)) {
        return TREMOLO_BAD_VECTORS;
    }
    double *drawn = linear_new(vectors * dimension);
    if (drawn == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    struct tremolo_random random = tremolo_random_from(seed, round);
    enum tremolo_status status = TREMOLO_OK;
    for (size_t k = 0; k < vectors && status == TREMOLO_OK; k++) {
        if (!draw_direction(drawn, k, moving ? unit : NULL, dimension, &random)) {
            status = TREMOLO_BAD_VECTORS;
        }
    }
    if (status == TREMOLO_OK && vectors > 0) {
        memcpy(V, drawn, vectors * dimension * sizeof *V);
    }
    free(drawn);
    return status;
}

/* ---------------------------------------------------------------- rounds */

struct iteration {
    size_t d;
    const struct tremolo_iterate_options *options;
    double *memory;
    double *S;
    double *scratch;
    double *V;
    double Z[TREMOLO_MAX_FEATURES];
    double beta[TREMOLO_MAX_FEATURES];
    double average[TREMOLO_MAX_FEATURES];
    size_t done; /* rounds before this one are over */
};

/* The largest eigenvalue of S in size, which the step is divided by. */
static enum tremolo_status operator_norm(double *norm, struct iteration *it)
{
    double values[TREMOLO_MAX_FEATURES];
    memcpy(it->scratch, it->S, it->d * it->d * sizeof *it->S);
    if (!linear_eigen(values, it->scratch, it->d)) {
        return TREMOLO_NOT_CONVERGED;
    }
    *norm = fmax(fabs(values[0]), fabs(values[it->d - 1]));
    return *norm > 0.0 ? TREMOLO_OK : TREMOLO_SINGULAR;
}

/* Onto the ball of this radius; 0 is no ball. */
static void project(double *beta, size_t d, double radius)
{
    double length = sqrt(linear_dot(beta, beta, d));
    for (size_t i = 0; i < d && radius > 0.0 && length > radius; i++) {
        beta[i] *= radius / length;
    }
}

/* S and Z of the next round. */
static enum tremolo_status ask_round(struct iteration *it, tremolo_round_fn round, void *context)
{
    const struct tremolo_iterate_options *options = it->options;
    struct tremolo_debiased *evidence = NULL;
    enum tremolo_status status =
        tremolo_directions(it->V, options->vectors, it->beta, it->d, options->seed, it->done);
    if (status == TREMOLO_OK) {
        status = round(context, it->done, it->beta, it->V, options->vectors, &evidence);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    it->done++;
    if (evidence == NULL || evidence->d != it->d) {
        status = TREMOLO_BAD_DIMENSION;
    } else {
        tremolo_debias_moments(it->S, it->Z, NULL, evidence, options->intercept);
    }
    tremolo_debias_free(evidence);
    return status;
}

/* A gradient step on the moments of the next round. */
static enum tremolo_status one_round(struct iteration *it, tremolo_round_fn round, void *context)
{
    const struct tremolo_iterate_options *options = it->options;
    size_t d = it->d;
    double gradient[TREMOLO_MAX_FEATURES];
    double norm = 0.0;
    enum tremolo_status status = ask_round(it, round, context);
    if (status == TREMOLO_OK) {
        status = operator_norm(&norm, it);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    double step = options->step / norm;
    linear_apply(gradient, it->S, it->beta, d);
    for (size_t i = 0; i < d; i++) {
        it->beta[i] -= step * (gradient[i] - it->Z[i]);
    }
    project(it->beta, d, options->radius);
    for (size_t i = 0; i < d; i++) {
        it->average[i] += it->beta[i] / (double)options->rounds;
    }
    return TREMOLO_OK;
}

static bool options_are_sane(const struct tremolo_iterate_options *options, size_t dimension)
{
    return options->rounds >= 1 && options->rounds <= MAX_ROUNDS && dimension >= 1 &&
           dimension <= TREMOLO_MAX_FEATURES && options->step > 0.0 && isfinite(options->step) &&
           options->radius >= 0.0 && options->first < options->rounds;
}

enum tremolo_status tremolo_iterate(double *last, double *average, size_t dimension,
                                    const struct tremolo_iterate_options *options,
                                    tremolo_round_fn round, void *context)
{
    if (options == NULL || round == NULL || !options_are_sane(options, dimension) ||
        (options->first > 0 && average != NULL)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct iteration it = {.d = dimension, .options = options, .done = options->first};
    if (options->start != NULL) {
        memcpy(it.beta, options->start, dimension * sizeof *it.beta);
    }
    it.memory = LINEAR_NEW({&it.S, dimension * dimension}, {&it.scratch, dimension * dimension},
                           {&it.V, dimension * (options->vectors + 1)});
    enum tremolo_status status = it.memory != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
    while (it.done < options->rounds && status == TREMOLO_OK) {
        status = one_round(&it, round, context);
    }
    if (status == TREMOLO_OK && last != NULL) {
        memcpy(last, it.beta, dimension * sizeof *last);
    }
    if (status == TREMOLO_OK && average != NULL) {
        memcpy(average, it.average, dimension * sizeof *average);
    }
    free(it.memory);
    return status;
}
