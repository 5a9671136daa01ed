/* guarantee_json.c -- a guarantee as JSON. */
#include "guarantee_json.h"

#include <math.h>
#include <stdio.h>

#include "tremolo_privacy.h"
#include "tremolo_study_file.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *difference_json(const struct tremolo_difference *row)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name", row->name, "words", row->words,
                     "distance", number(row->distance), "mu", number(row->mu), "epsilon",
                     number(row->epsilon), "attacker_right", number(row->attacker_right));
}

json_t *guarantee_words_json(const struct tremolo_explanation *explanation)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < explanation->difference_count; i++) {
        if (json_array_append_new(rows, difference_json(&explanation->differences[i])) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return json_pack("{s:s, s:s, s:o}", "reviewer", explanation->reviewer, "participant",
                     explanation->participant, "differences", rows);
}

/* What the best attacker catches at some shares of false alarms, rounded up. */
static json_t *tradeoff_json(double mu)
{
    static const double shares[] = {0.01, 0.05, 0.1, 0.25, 0.5};
    json_t *points = json_array();
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        struct tremolo_certified missed;
        if (tremolo_tradeoff_gaussian(&missed, mu, shares[i]) == TREMOLO_OK) {
            (void)json_array_append_new(points, json_pack("{s:f, s:f}", "false_alarms", shares[i],
                                                          "caught", 1 - missed.lower));
        }
    }
    return points;
}

/* Null when it cannot be said. */
static json_t *attacker_json(double mu)
{
    struct tremolo_certified accuracy;
    return tremolo_attack_accuracy(&accuracy, mu) == TREMOLO_OK ? number(fmin(accuracy.upper, 1))
                                                                : json_null();
}

/* A distance is written as it was asked for. */
static json_t *facts_json(double distance, bool response_private, double epsilon, double delta,
                          double mu, uint64_t releases)
{
    json_t *neighbours =
        distance > 0 ? json_sprintf("distance=%.15g", distance) : json_string("any");
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:I, s:o, s:o}", "epsilon", number(epsilon),
                     "delta", number(delta), "mu", number(mu), "rho",
                     number(nextafter(mu * mu / 2, INFINITY)), "neighbours", neighbours, "protects",
                     response_private ? "all" : "features", "releases", (json_int_t)releases,
                     "attacker_right", attacker_json(mu), "tradeoff", tradeoff_json(mu));
}

/* Where mu says nothing of an attacker the row for any two samples does, which is the last. */
static json_t *with_words(json_t *facts, const struct tremolo_explanation *explanation)
{
    if (json_is_null(json_object_get(facts, "attacker_right")) &&
        explanation->difference_count > 0) {
        size_t last = explanation->difference_count - 1;
        (void)json_object_set_new(facts, "attacker_right",
                                  number(explanation->differences[last].attacker_right));
    }
    if (json_object_update_new(facts, guarantee_words_json(explanation)) != 0) {
        json_decref(facts);
        return NULL;
    }
    return facts;
}

json_t *guarantee_study_json(const struct tremolo_study_file *file)
{
    struct tremolo_study_guarantee promise;
    struct tremolo_explanation explanation;
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    if (tremolo_study_file_guarantee(&promise, file, terms->delta) != TREMOLO_OK ||
        tremolo_study_file_explain(&explanation, file, terms->delta) != TREMOLO_OK) {
        return NULL;
    }
    return with_words(facts_json(terms->distance, terms->response_private, promise.epsilon,
                                 promise.delta, promise.mu, promise.releases),
                      &explanation);
}

json_t *guarantee_promise_json(const struct tremolo_promise *promise, double epsilon)
{
    struct tremolo_explanation explanation;
    double distance = promise->neighbours == TREMOLO_NEIGHBOURS_ANY ? 0 : promise->distance;
    if (tremolo_explain(&explanation, promise) != TREMOLO_OK) {
        return NULL;
    }
    double mu = promise->law.first > 0 ? INFINITY : promise->mu; /* no mu describes ballots */
    return with_words(facts_json(distance, promise->response_private, epsilon, promise->delta, mu,
                                 promise->releases),
                      &explanation);
}
