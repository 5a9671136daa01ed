/* rounds.c -- the paper's iteration, one durable step at a time, and the current round as JSON.
 *
 * The next round's coefficients and vectors follow from the sums of the rounds that ended, so a
 * restart computes what was broadcast again and only the broadcast integers are stored. */
#include "rounds.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "encoder.h"
#include "served_study.h"
#include "study_internal.h"

static struct tremolo_iterate_options options_of(const struct served_study *served)
{
    return (struct tremolo_iterate_options){
        .rounds = served->sums.round_limit,
        .vectors = served->study->vectors,
        .step = served->terms->step > 0.0 ? served->terms->step : 1.0,
        .radius = served->terms->radius,
        .seed = bytes_get_u64(served->id),
        .intercept = true,
    };
}

/* Debias one round's sums with the vectors exactly as broadcast. Lock held. */
static enum tremolo_status evidence_of(struct tremolo_debiased **evidence,
                                       struct served_study *served, unsigned round)
{
    return tremolo_release_evidence(evidence, served->sums.rounds[round].moments, &served->release,
                                    served->sums.rounds[round].vectors);
}

/* The sums of rounds [first, end) merged, and their vectors, weighted. */
static enum tremolo_status merge(struct tremolo_moments *merged, double *V,
                                 const struct served_study *served, unsigned first, unsigned end)
{
    size_t count = (size_t)served->study->vectors * served->study->dimension;
    enum tremolo_status status = TREMOLO_OK;
    uint64_t reports = 0;
    for (unsigned t = first; t < end; t++) {
        reports += tremolo_moments_count(served->sums.rounds[t].moments);
    }
    for (unsigned t = first; t < end && status == TREMOLO_OK; t++) {
        double share = reports > 0 ? (double)tremolo_moments_count(served->sums.rounds[t].moments) /
                                         (double)reports
                                   : 0.0;
        tremolo_release_from_wire(V + (t - first) * count, served->sums.rounds[t].vectors, count,
                                  sqrt(share));
        status = tremolo_moments_merge(merged, served->sums.rounds[t].moments);
    }
    return status;
}

enum tremolo_status rounds_evidence(struct tremolo_evidence *evidence, struct served_study *served,
                                    int round)
{
    unsigned first = round == ROUNDS_ALL ? 0 : (unsigned)round;
    unsigned end = round == ROUNDS_ALL ? served->sums.opened : first + 1;
    struct tremolo_sample_release release = served->release;
    struct tremolo_moments *merged = NULL;
    *evidence = (struct tremolo_evidence){.watched = false};
    release.vectors = (end - first) * served->study->vectors;
    double *V = calloc(release.vectors * served->study->dimension + 1, sizeof *V);
    release.V = V;
    enum tremolo_status status =
        V == NULL ? TREMOLO_NO_MEMORY : tremolo_release_sums(&merged, served->study);
    if (status == TREMOLO_OK) {
        status = merge(merged, V, served, first, end);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_evidence_of(evidence, merged, served->study, &served->honest, &release);
    }
    tremolo_moments_free(merged);
    free(V);
    return status;
}

/* Add the counts of a round to those before; `counts` has room for both sides. */
static void add_tail(struct tremolo_tail *sum, uint64_t *counts, const struct tremolo_tail *more)
{
    size_t n = more->limits.released;
    sum->limits = more->limits;
    sum->reports += more->reports;
    sum->set_aside += more->set_aside;
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        sum->beyond[k] += more->beyond[k];
    }
    for (size_t i = 0; i < n; i++) {
        counts[i] += more->high[i];
        counts[n + i] += more->low[i];
    }
    sum->high = counts;
    sum->low = counts + n;
}

bool rounds_tails(struct tremolo_tails *tails, struct served_study *served)
{
    struct tremolo_tail sum = {.reports = 0};
    struct tremolo_tail tail;
    uint64_t *counts = calloc(2 * served->honest.limits.released, sizeof *counts);
    bool known = counts != NULL;
    (void)pthread_mutex_lock(&served->sums.lock);
    for (unsigned t = 0; t < served->sums.opened && known; t++) {
        known = tremolo_moments_tail(&tail, served->sums.rounds[t].moments) &&
                tail.limits.released == served->honest.limits.released;
        if (known) {
            add_tail(&sum, counts, &tail);
        }
    }
    (void)pthread_mutex_unlock(&served->sums.lock);
    known = known && sum.reports > 0;
    if (known) {
        tremolo_tails_judge(tails, &sum, &served->honest);
    }
    free(counts);
    return known;
}

/* ---------------------------------------------------------------- iteration */

/* The callback answers closed rounds from their sums and stops at the first
 * one that is not closed, keeping what it would be released with. */
struct replay {
    struct served_study *served;
    double *beta;
    double *V;
    bool stopped;
};

static unsigned closed_rounds(const struct served_study *served)
{
    unsigned closed = 0;
    while (closed < served->sums.opened && served->sums.rounds[closed].closed_at != 0) {
        closed++;
    }
    return closed;
}

static enum tremolo_status replay_round(void *context, size_t round, const double *beta,
                                        const double *V, size_t vectors,
                                        struct tremolo_debiased **evidence)
{
    struct replay *replay = context;
    size_t d = replay->served->study->dimension;
    if (round < closed_rounds(replay->served)) {
        return evidence_of(evidence, replay->served, (unsigned)round);
    }
    memcpy(replay->beta, beta, d * sizeof *beta);
    if (vectors > 0) {
        memcpy(replay->V, V, vectors * d * sizeof *V);
    }
    replay->stopped = true;
    return TREMOLO_ROUND_PASSED;
}

enum tremolo_status rounds_open_next(struct served_study *served, int64_t now)
{
    struct served_round *next = &served->sums.rounds[served->sums.opened];
    size_t d = served->study->dimension;
    size_t m = served->study->vectors;
    if (!served_prepare_round(served, served->sums.opened)) {
        return TREMOLO_NO_MEMORY;
    }
    double *beta = calloc(d, sizeof *beta);
    double *V = calloc(m * d + 1, sizeof *V);
    struct tremolo_iterate_options options = options_of(served);
    struct replay replay = {served, beta, V, false};
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    if (served->sums.opened >
        0) { /* what came before is in the beta of the round that has closed */
        options.first = served->sums.opened - 1;
        options.start = served->sums.rounds[options.first].beta;
    }
    if (beta != NULL && V != NULL) {
        status = tremolo_iterate(NULL, NULL, NULL, d, &options, replay_round, &replay);
    }
    if (replay.stopped) {
        memcpy(next->beta, beta, d * sizeof *beta);
        tremolo_release_to_wire(next->vectors, V, m * d);
        struct tremolo_round broadcast = {m > 0 ? next->vectors : NULL,
                                          (uint16_t)served->sums.opened};
        status = tremolo_round_check(served->study, &broadcast);
    }
    if (status == TREMOLO_OK) {
        next->opened_at = now;
        next->closed_at = 0;
        served->sums.opened++;
    }
    free(beta);
    free(V);
    return status;
}

enum tremolo_status rounds_finish(double *last, double *average, struct served_study *served)
{
    struct tremolo_iterate_options options = options_of(served);
    struct replay replay = {served, NULL, NULL, false};
    if (!served_is_done(served)) {
        return TREMOLO_BAD_ARGUMENT; /* the caller's bug */
    }
    return tremolo_iterate(last, average, NULL, served->study->dimension, &options, replay_round,
                           &replay);
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

enum tremolo_status rounds_gradient_norm(double *norm, struct served_study *served, unsigned round)
{
    size_t d = served->study->dimension;
    struct tremolo_debiased *evidence = NULL;
    if (served->study->release == TREMOLO_RELEASE_BALLOT ||
        tremolo_moments_count(served->sums.rounds[round].moments) < 2) {
        *norm = NAN;
        return TREMOLO_OK;
    }
    double *S = calloc(d * d + d, sizeof *S);
    if (S == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    double *Z = S + d * d;
    enum tremolo_status status = evidence_of(&evidence, served, round);
    if (status == TREMOLO_OK) {
        tremolo_debias_moments(S, Z, NULL, evidence, options_of(served).intercept);
        *norm = gradient_norm(S, Z, served->sums.rounds[round].beta, d);
    }
    tremolo_debias_free(evidence);
    free(S);
    return status;
}

/* ---------------------------------------------------------------- admission */

uint64_t rounds_room(const struct served_study *served)
{
    const struct tremolo_moments *sums = served->sums.rounds[served->sums.opened - 1].moments;
    uint64_t taken = tremolo_moments_count(sums);
    uint64_t most = served->terms->devices * served->terms->samples;
    uint64_t fit = tremolo_moments_reports_max(sums);
    most = most < fit ? most : fit;
    return taken < most ? most - taken : 0;
}

struct rounds_view rounds_view(const struct served_study *served, uint64_t staged, uint64_t room)
{
    return (struct rounds_view){
        .newest = served->sums.opened - 1,
        .closed = served->sums.rounds[served->sums.opened - 1].closed_at != 0,
        .full = staged >= room,
    };
}

enum server_outcome rounds_admit(const struct rounds_view *view,
                                 const struct tremolo_study_terms *terms, unsigned round,
                                 int64_t now)
{
    if (now < terms->opens) {
        return OUTCOME_TOO_EARLY;
    }
    if (round > view->newest) {
        return OUTCOME_WRONG_ROUND;
    }
    bool over = round < view->newest || view->closed || now >= terms->closes;
    return over || view->full ? OUTCOME_CLOSED : OUTCOME_PENDING;
}

/* ---------------------------------------------------------------- closing */

bool rounds_is_due(const struct served_study *served, int64_t now)
{
    const struct served_round *newest = &served->sums.rounds[served->sums.opened - 1];
    uint64_t count = tremolo_moments_count(newest->moments);
    if (newest->closed_at != 0 || count < 2 || served->terms->protocol == TREMOLO_STUDY_ONE_SHOT) {
        return false;
    }
    bool by_count = served->terms->close_reports > 0 && count >= served->terms->close_reports;
    bool by_time = served->terms->close_seconds > 0 &&
                   now - newest->opened_at >= (int64_t)served->terms->close_seconds;
    return by_count || by_time;
}

/* ---------------------------------------------------------------- as devices ask for it */

const char *round_state(const struct served_study *served, int64_t now)
{
    bool full = rounds_room(served) == 0;
    bool over = served_is_done(served) || now >= served->terms->closes;
    if (over || (full && served->sums.opened == served->sums.round_limit)) {
        return "done";
    }
    return full || served->sums.closing || now < served->terms->opens ? "waiting" : "open";
}

struct round_window round_next(const struct served_study *served, int64_t now)
{
    const struct served_round *newest = &served->sums.rounds[served->sums.opened - 1];
    if (now < served->terms->opens) {
        return (struct round_window){served->terms->opens - now, served->terms->opens - now + 60};
    }
    if (served->terms->close_seconds == 0) {
        return (struct round_window){1, 10};
    }
    int64_t left = newest->opened_at + (int64_t)served->terms->close_seconds - now;
    int64_t spread = (int64_t)served->terms->close_seconds / 4;
    left = left < 1 ? 1 : left;
    return (struct round_window){left, left + (spread < 1 ? 1 : spread)};
}

static json_t *vectors_json(const struct served_study *served, const int16_t *vectors)
{
    json_t *rows = json_array();
    size_t d = served->study->dimension;
    for (size_t j = 0; j < served->study->vectors; j++) {
        json_t *row = json_array();
        for (size_t i = 0; i < d; i++) {
            json_latch_append(&row, json_integer(vectors[j * d + i]));
        }
        json_latch_append(&rows, row);
    }
    return rows;
}

static void add_signature(json_t **answer, const struct served_study *served,
                          const struct tremolo_round *round, const uint8_t *signing_key)
{
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    char text[TREMOLO_BASE64_BYTES(TREMOLO_SIGNATURE_BYTES)];
    if (tremolo_round_sign(signature, served->study, round, signing_key) == TREMOLO_OK &&
        tremolo_base64_encode(text, sizeof text, signature, sizeof signature) == TREMOLO_OK) {
        json_latch_set(answer, "signature", json_string(text));
    }
}

static json_t *closing_time(const struct served_study *served, const struct served_round *round)
{
    if (served->terms->close_seconds > 0) {
        return json_integer(round->opened_at + (int64_t)served->terms->close_seconds);
    }
    return served->terms->closes == INT64_MAX ? json_null() : json_integer(served->terms->closes);
}

enum tremolo_status round_json(char **json, struct served_study *served, const uint8_t *signing_key,
                               int64_t now)
{
    (void)pthread_mutex_lock(&served->sums.lock);
    unsigned number_open = served->sums.opened - 1;
    const struct served_round *newest = &served->sums.rounds[number_open];
    const char *state = round_state(served, now);
    struct round_window next = round_next(served, now);
    json_t *answer = json_pack(
        "{s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:I, s:{s:I, s:I}}", "study", served->id_text, "round",
        (json_int_t)number_open, "rounds", (json_int_t)served->terms->rounds, "state", state,
        "vectors", vectors_json(served, newest->vectors), "beta",
        json_latch_numbers(newest->beta, served->study->dimension), "closes",
        closing_time(served, newest), "reports", (json_int_t)tremolo_moments_count(newest->moments),
        "next", "earliest", (json_int_t)next.earliest, "latest", (json_int_t)next.latest);
    if (strcmp(state, "open") == 0) {
        struct tremolo_round round = {served->study->vectors > 0 ? newest->vectors : NULL,
                                      (uint16_t)number_open};
        add_signature(&answer, served, &round, signing_key);
    }
    (void)pthread_mutex_unlock(&served->sums.lock);
    return json_latch_text(json, answer, JSON_LATCH_EXACT);
}
