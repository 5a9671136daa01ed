/* rounds.c -- the paper's iteration, one durable step at a time. */
#include "rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "book.h"
#include "bytes_order.h"

static struct tremolo_iterate_options options_of(const struct book *book)
{
    return (struct tremolo_iterate_options){
        .rounds = book->terms->rounds,
        .vectors = book->study->vectors,
        .step = book->terms->step > 0.0 ? book->terms->step : 1.0,
        .radius = book->terms->radius,
        .seed = bytes_get_u64(book->id),
        .intercept = true,
    };
}

static struct tremolo_release release_of(const struct book *book, const double *V, size_t vectors)
{
    const struct tremolo_study_release *study = &book->release;
    return (struct tremolo_release){
        .dimension = study->dimension,
        .keep = study->keep,
        .noise_variance = study->noise_variance,
        .modulation = study->modulation,
        .vectors = vectors,
        .V = V,
        .feature_scale = study->feature_scale,
        .response_scale = study->response_scale,
        .response_private = study->response_private,
        .largest = 1.0, /* a study scales its bounds to -1..1 */
    };
}

static void unquantise(double *V, const int16_t *vectors, size_t count, double weight)
{
    for (size_t i = 0; i < count; i++) {
        V[i] = weight * vectors[i] / TREMOLO_VECTOR_ONE;
    }
}

static enum tremolo_status debias(struct tremolo_debiased **evidence, struct book *book,
                                  struct tremolo_moments *moments, const double *V, size_t vectors)
{
    struct tremolo_sums sums[TREMOLO_BUCKETS];
    struct tremolo_release release = release_of(book, V, vectors);
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned b = 0; b < TREMOLO_BUCKETS && status == TREMOLO_OK; b++) {
        status = tremolo_moments_bucket(moments, &sums[b], b);
    }
    return status == TREMOLO_OK ? tremolo_debias_new(evidence, sums, TREMOLO_BUCKETS, &release)
                                : status;
}

enum tremolo_status rounds_evidence(struct tremolo_debiased **evidence, struct book *book,
                                    unsigned round)
{
    size_t count = (size_t)book->study->vectors * book->study->dimension;
    double *V = calloc(count + 1, sizeof *V);
    if (V == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    unquantise(V, book->rounds[round].vectors, count, 1.0);
    enum tremolo_status status =
        debias(evidence, book, book->rounds[round].moments, V, book->study->vectors);
    free(V);
    return status;
}

enum tremolo_status rounds_pooled(struct tremolo_debiased **evidence, struct book *book)
{
    size_t d = book->study->dimension;
    size_t m = book->study->vectors;
    struct tremolo_moments *merged = NULL;
    double *V = calloc(book->opened * m * d + 1, sizeof *V);
    enum tremolo_status status = V == NULL
                                     ? TREMOLO_NO_MEMORY
                                     : tremolo_moments_new(&merged, d + 1, book->release.wire_max,
                                                           book->release.response_max);
    for (unsigned t = 0; t < book->opened && status == TREMOLO_OK; t++) {
        double count = (double)tremolo_moments_count(book->rounds[t].moments);
        double share = book->reports > 0 ? count / (double)book->reports : 0.0;
        unquantise(V + t * m * d, book->rounds[t].vectors, m * d, sqrt(share));
        status = tremolo_moments_merge(merged, book->rounds[t].moments);
    }
    if (status == TREMOLO_OK) {
        status = debias(evidence, book, merged, V, book->opened * m);
    }
    tremolo_moments_free(merged);
    free(V);
    return status;
}

/* ---------------------------------------------------------------- iteration */

/* The callback answers closed rounds from their sums and stops at the first
 * one that is not closed, keeping what it would be released with. */
struct replay {
    struct book *book;
    double *beta;
    double *V;
    bool stopped;
};

static unsigned closed_rounds(const struct book *book)
{
    unsigned closed = 0;
    while (closed < book->opened && book->rounds[closed].closed_at != 0) {
        closed++;
    }
    return closed;
}

static enum tremolo_status replay_round(void *context, size_t round, const double *beta,
                                        const double *V, size_t vectors,
                                        struct tremolo_debiased **evidence)
{
    struct replay *replay = context;
    size_t d = replay->book->study->dimension;
    if (round < closed_rounds(replay->book)) {
        return rounds_evidence(evidence, replay->book, (unsigned)round);
    }
    memcpy(replay->beta, beta, d * sizeof *beta);
    if (vectors > 0) {
        memcpy(replay->V, V, vectors * d * sizeof *V);
    }
    replay->stopped = true;
    return TREMOLO_ROUND_PASSED;
}

static void quantise(int16_t *vectors, const double *V, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        vectors[i] = (int16_t)lrint(V[i] * TREMOLO_VECTOR_ONE);
    }
}

enum tremolo_status rounds_open_next(struct book *book, int64_t now)
{
    struct book_round *next = &book->rounds[book->opened];
    size_t d = book->study->dimension;
    size_t m = book->study->vectors;
    if (!book_prepare_round(book, book->opened)) {
        return TREMOLO_NO_MEMORY;
    }
    double *beta = calloc(d, sizeof *beta);
    double *V = calloc(m * d + 1, sizeof *V);
    struct tremolo_iterate_options options = options_of(book);
    struct replay replay = {book, beta, V, false};
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    if (book->opened > 0) { /* what came before is in the beta of the round that has closed */
        options.first = book->opened - 1;
        options.start = book->rounds[options.first].beta;
    }
    if (beta != NULL && V != NULL) {
        status = tremolo_iterate(NULL, NULL, NULL, d, &options, replay_round, &replay);
    }
    if (replay.stopped) {
        memcpy(next->beta, beta, d * sizeof *beta);
        quantise(next->vectors, V, m * d);
        struct tremolo_round broadcast = {m > 0 ? next->vectors : NULL, (uint16_t)book->opened};
        status = tremolo_round_check(book->study, &broadcast);
    }
    if (status == TREMOLO_OK) {
        next->opened_at = now;
        next->closed_at = 0;
        book->opened++;
    }
    free(beta);
    free(V);
    return status;
}

enum tremolo_status rounds_finish(const struct rounds_result *result, struct book *book)
{
    struct tremolo_iterate_options options = options_of(book);
    struct replay replay = {book, NULL, NULL, false};
    if (!book_is_done(book)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    return tremolo_iterate(result->last, result->average, NULL, book->study->dimension, &options,
                           replay_round, &replay);
}

static double gradient_norm(const double *S, const double *Z, const double *beta, size_t d)
{
    double norm2 = 0.0;
    for (size_t i = 0; i < d; i++) {
        double gradient = -Z[i];
        for (size_t j = 0; j < d; j++) {
            gradient += S[i * d + j] * beta[j];
        }
        norm2 += gradient * gradient;
    }
    return sqrt(norm2);
}

enum tremolo_status rounds_gradient_norm(double *norm, struct book *book, unsigned round)
{
    size_t d = book->study->dimension;
    struct tremolo_debiased *evidence = NULL;
    if (tremolo_moments_count(book->rounds[round].moments) < 2) {
        *norm = NAN;
        return TREMOLO_OK;
    }
    double *S = calloc(d * d + d, sizeof *S);
    if (S == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    double *Z = S + d * d;
    enum tremolo_status status = rounds_evidence(&evidence, book, round);
    if (status == TREMOLO_OK) {
        tremolo_debias_moments(S, Z, NULL, evidence, options_of(book).intercept);
        *norm = gradient_norm(S, Z, book->rounds[round].beta, d);
    }
    tremolo_debias_free(evidence);
    free(S);
    return status;
}

/* ---------------------------------------------------------------- closing */

bool rounds_is_due(const struct book *book, int64_t now)
{
    const struct book_round *newest = &book->rounds[book->opened - 1];
    uint64_t count = tremolo_moments_count(newest->moments);
    if (newest->closed_at != 0 || count < 2 || book->terms->protocol == TREMOLO_STUDY_ONE_SHOT) {
        return false;
    }
    bool by_count = book->terms->close_reports > 0 && count >= book->terms->close_reports;
    bool by_time = book->terms->close_seconds > 0 &&
                   now - newest->opened_at >= (int64_t)book->terms->close_seconds;
    return by_count || by_time;
}
