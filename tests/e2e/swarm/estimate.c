/* estimate.c -- the server's estimate against the fold made here, double by double,
 * and against another server's, character by character. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "encoder.h"
#include "swarm.h"
#include "release.h"
#include "study_internal.h"

static void same(struct swarm *swarm, double theirs, double ours, const char *what, size_t index)
{
    swarm->compared++;
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): to the bit is what we mean */
    if (memcmp(&theirs, &ours, sizeof ours) != 0) {
        (void)fprintf(stderr, "swarm: %s %zu differs: server %.17g, offline %.17g\n", what, index,
                      theirs, ours);
        exit(1);
    }
}

/* What the fold made here says: the table, and a prediction in scaled units. */
static void fit_samples(struct tremolo_coefficient *rows, double *beta, double *intercept,
                        struct swarm *swarm, unsigned round, const struct tremolo_units *units)
{
    const struct tremolo_fit_options options = TREMOLO_FIT_DEFAULTS;
    struct tremolo_debiased *evidence = debias(swarm, round);
    struct tremolo_fit fit;
    must(tremolo_infer(rows, evidence, units, 0.95), "infer");
    must(tremolo_fit(beta, &fit, evidence, &options), "fit");
    *intercept = fit.intercept;
    tremolo_debias_free(evidence);
}

static void fit_ballots(struct tremolo_coefficient *rows, double *beta, double *intercept,
                        struct swarm *swarm, unsigned round, const struct tremolo_units *units)
{
    struct tremolo_ballot *ballots = NULL;
    struct tremolo_ballot_fit fit;
    must(tremolo_release_ballots(&ballots, swarm->moments[round], swarm->study), "ballots");
    must(tremolo_ballot_infer(rows, ballots, units, 0.95), "infer");
    must(tremolo_ballot_fit(beta, &fit, ballots, TREMOLO_METHOD_AUTO, 0.95), "fit");
    *intercept = fit.fit.intercept;
    tremolo_ballot_free(ballots);
}

static void compare_prediction(struct swarm *swarm, const json_t *answer, const double *beta)
{
    const json_t *list = json_object_get(json_object_get(answer, "prediction"), "coefficients");
    for (size_t i = 0; i <= swarm->study->dimension; i++) {
        same(swarm, json_number_value(json_object_get(json_array_get(list, i), "estimate")),
             beta[i], "prediction", i);
    }
}

static void compare_table(struct swarm *swarm, const json_t *answer, unsigned round)
{
    size_t d = swarm->study->dimension;
    struct tremolo_coefficient *rows = calloc(d + 1, sizeof *rows);
    double *centre = calloc(2 * d, sizeof *centre);
    double *beta = calloc(d + 1, sizeof *beta);
    for (size_t i = 0; i < d; i++) {
        const struct tremolo_study_coordinate *c = tremolo_study_file_coordinate(swarm->file, i);
        centre[i] = (c->low + c->high) / 2.0;
        centre[d + i] = (c->high - c->low) / 2.0;
    }
    const struct tremolo_study_coordinate *y = tremolo_study_file_coordinate(swarm->file, d);
    struct tremolo_units units = {centre, centre + d, (y->low + y->high) / 2.0,
                                  (y->high - y->low) / 2.0};
    (swarm->study->release == TREMOLO_RELEASE_BALLOT ? fit_ballots : fit_samples)(
        rows, beta, &beta[d], swarm, round, &units);
    tremolo_fit_to_own(beta, &beta[d], beta, beta[d], d, &units);
    const json_t *table = json_object_get(answer, "coefficients");
    if (json_array_size(table) != d + 1) {
        stop_with("the server's table has another size");
    }
    for (size_t i = 0; i <= d; i++) {
        const json_t *line = json_array_get(table, i);
        bool told = rows[i].identified; /* else the score test's set is all that is said */
        same(swarm, json_number_value(json_object_get(line, "estimate")),
             told ? rows[i].estimate : 0, "estimate", i);
        const json_t *score = json_object_get(line, "score");
        bool all = rows[i].score_shape == TREMOLO_INTERVAL_ALL;
        same(swarm, json_number_value(json_object_get(score, "low")), all ? 0 : rows[i].score_low,
             "score", i);
        same(swarm, json_number_value(json_object_get(score, "high")), all ? 0 : rows[i].score_high,
             "score", i);
        same(swarm, json_number_value(json_object_get(line, "standard_error")),
             told ? rows[i].standard_error : 0, "standard error", i);
        same(swarm, json_number_value(json_object_get(line, "p")), told ? rows[i].p : 0, "p", i);
    }
    compare_prediction(swarm, answer, beta);
    free(beta);
    free(rows);
    free(centre);
}

/* The offline iteration answers each round from the fold made here, after
 * checking that the server broadcast the very vectors it wants. */
static enum tremolo_status offline_round(void *context, size_t round, const double *beta,
                                         const double *V, size_t vectors,
                                         struct tremolo_debiased **evidence)
{
    struct swarm *swarm = context;
    (void)beta;
    for (size_t i = 0; i < vectors * swarm->study->dimension; i++) {
        same(swarm, swarm->vectors[round][i], (double)lrint(V[i] * 16384.0), "vector entry", i);
    }
    *evidence = debias(swarm, (unsigned)round);
    return TREMOLO_OK;
}

static void compare_iteration(struct swarm *swarm, const json_t *answer)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(swarm->file);
    size_t d = swarm->study->dimension;
    double *last = calloc(2 * d, sizeof *last);
    struct tremolo_iterate_options options = {.rounds = terms->rounds,
                                              .vectors = terms->vectors,
                                              .step = terms->step,
                                              .radius = terms->radius,
                                              .seed = bytes_get_u64(swarm->study->id),
                                              .intercept = true};
    must(tremolo_iterate(last, last + d, d, &options, offline_round, swarm), "iterate");
    const json_t *iteration = json_object_get(answer, "iteration");
    for (size_t i = 0; i < d; i++) {
        same(swarm, json_number_value(json_array_get(json_object_get(iteration, "last"), i)),
             last[i], "last iterate", i);
        same(swarm, json_number_value(json_array_get(json_object_get(iteration, "average"), i)),
             last[d + i], "average iterate", i);
    }
    free(last);
}

/* The estimate over `reports` reports: a cluster folds after it has acknowledged, which on a busy
 * machine takes a while. It is given up when the count has stood still for all our patience. */
static json_t *await_estimate(struct swarm *swarm, struct exchange *exchange, uint64_t reports)
{
    double start = seconds();
    double grown = start;
    uint64_t before = 0;
    for (;;) {
        if (exchange_insist(exchange, swarm, "/estimate", NULL, NULL, 0) != 200) {
            stop_with("there is no estimate");
        }
        json_t *answer = json_loads(exchange->answer, 0, NULL);
        uint64_t count = (uint64_t)json_integer_value(json_object_get(answer, "reports"));
        grown = count > before ? seconds() : grown;
        before = count > before ? count : before;
        if (count >= reports || seconds() > grown + swarm->patience) {
            swarm->lag = seconds() - start;
            return answer;
        }
        json_decref(answer);
        (void)usleep(5000);
    }
}

void compare_estimate(struct swarm *swarm, struct exchange *exchange)
{
    uint64_t reports = 0;
    unsigned largest = 0;
    for (unsigned t = 0; t < swarm->study->rounds; t++) {
        reports += tremolo_moments_count(swarm->moments[t]);
        if (tremolo_moments_count(swarm->moments[t]) >=
            tremolo_moments_count(swarm->moments[largest])) {
            largest = t;
        }
    }
    json_t *answer = await_estimate(swarm, exchange, reports);
    same(swarm, (double)json_integer_value(json_object_get(answer, "reports")), (double)reports,
         "number of reports", 0);
    compare_table(swarm, answer, largest);
    if (swarm->study->rounds > 1) {
        compare_iteration(swarm, answer);
    }
    json_decref(answer);
}

void compare_twin(struct swarm *swarm, struct exchange *exchange)
{
    uint8_t *body = malloc((size_t)TWIN_BATCH * (TREMOLO_MAX_REPORT_BYTES + 3));
    char *ours = strdup(exchange->answer);
    size_t accepted = swarm->accepted;
    swarm->url[0] = swarm->twin;
    swarm->urls = 1;
    for (size_t from = 0; from < swarm->devices; from += TWIN_BATCH) {
        size_t left = swarm->devices - from;
        if (!send_batch(swarm, exchange, from, left < TWIN_BATCH ? left : TWIN_BATCH, body)) {
            stop_with("the twin did not take a report");
        }
    }
    swarm->accepted = accepted;
    if (exchange_insist(exchange, swarm, "/estimate", NULL, NULL, 0) != 200 ||
        strcmp(exchange->answer, ours) != 0) {
        (void)fprintf(stderr, "%s\n%s\n", ours, exchange->answer);
        stop_with("the twin's estimate is another");
    }
    (void)printf("twin equal in %zu characters\n", strlen(ours));
    free(ours);
    free(body);
}
