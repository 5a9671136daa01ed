/* guarantee_json.c -- a guarantee as JSON. */
#include "guarantee_json.h"

#include <math.h>

#include "json_latch.h"
#include "tremolo_privacy.h"
#include "tremolo_study_file.h"

static json_t *difference_json(const struct tremolo_difference *row)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name", row->name, "words", row->words,
                     "distance", json_latch_number(row->distance), "mu", json_latch_number(row->mu),
                     "epsilon", json_latch_number(row->epsilon), "attacker_right",
                     json_latch_number(row->attacker_right));
}

json_t *guarantee_words_json(const struct tremolo_explanation *explanation)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < explanation->difference_count; i++) {
        json_latch_append(&rows, difference_json(&explanation->differences[i]));
    }
    return json_pack("{s:s, s:s, s:o}", "reviewer", explanation->reviewer, "participant",
                     explanation->participant, "differences", rows);
}

/* Of a pure epsilon, who guesses right so often at even odds: neither a likelihood ratio
 * above e^epsilon nor a distance above 2 right - 1. */
static double caught_of_ballots(double epsilon, double right, double share)
{
    double most = exp(epsilon) * (1 + 0x1p-50);
    return fmin(fmin(1, most * share), fmin(share + 2 * right - 1, 1 - (1 - share) / most));
}

/* What the best attacker catches at some shares of false alarms, rounded up. */
static json_t *tradeoff_json(double mu, double epsilon, double right, bool ballots)
{
    static const double shares[] = {0.01, 0.05, 0.1, 0.25, 0.5};
    json_t *points = json_array();
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        struct tremolo_certified missed;
        double caught = NAN;
        if (ballots) {
            caught = caught_of_ballots(epsilon, right, shares[i]);
        } else if (tremolo_tradeoff_gaussian(&missed, mu, shares[i]) == TREMOLO_OK) {
            caught = 1 - missed.lower;
        }
        if (isfinite(caught)) {
            json_latch_append(&points,
                              json_pack("{s:f, s:f}", "false_alarms", shares[i], "caught", caught));
        }
    }
    return points;
}

/* How often the best guess between neighbours is right. Where mu says nothing of it the row
 * for any two samples does, which is the last. */
static double attacker_right(double mu, const struct tremolo_explanation *explanation)
{
    struct tremolo_certified accuracy;
    if (tremolo_attack_accuracy(&accuracy, mu) == TREMOLO_OK) {
        return fmin(accuracy.upper, 1);
    }
    size_t rows = explanation->difference_count;
    return rows > 0 ? explanation->differences[rows - 1].attacker_right : NAN;
}

/* The promise for any two people; null where nobody knows how far apart they can be. */
static json_t *any_two_json(const struct tremolo_explanation *explanation)
{
    const struct tremolo_difference *row = &explanation->differences[explanation->any_two];
    return explanation->any_two < explanation->difference_count
               ? json_pack("{s:o, s:o}", "epsilon", json_latch_number(row->epsilon),
                           "attacker_right", json_latch_number(row->attacker_right))
               : json_null();
}

/* A distance is written as it was asked for; 0: any two. */
static json_t *guarantee_json(const struct tremolo_promise *promise, double epsilon,
                              const struct tremolo_explanation *explanation)
{
    double mu = promise->mu, right = attacker_right(mu, explanation);
    json_t *neighbours =
        promise->distance > 0
            ? json_sprintf("%s=%.15g", promise->standardised ? "deviations" : "distance",
                           promise->distance)
            : json_string("any");
    json_t *facts = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:s, s:I, s:o, s:o, s:s, s:o}", "epsilon",
        json_latch_number(epsilon), "delta", json_latch_number(promise->delta), "mu",
        json_latch_number(mu), "rho", json_latch_number(nextafter(mu * mu / 2, INFINITY)),
        "neighbours", neighbours, "protects", promise->response_private ? "all" : "features",
        "releases", (json_int_t)promise->releases, "attacker_right", json_latch_number(right),
        "any_two", any_two_json(explanation), "strength",
        tremolo_strength_name(explanation->strength), "tradeoff",
        tradeoff_json(mu, epsilon, right, promise->law.first > 0));
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
    const struct tremolo_study *device = tremolo_study_file_device(file);
    const struct tremolo_promise stated = {.law = {device->rank_first, device->rank_top},
                                           .distance = terms->distance,
                                           .mu = promise.mu,
                                           .delta = promise.delta,
                                           .releases = promise.releases,
                                           .response_private = terms->response_private};
    return guarantee_json(&stated, promise.epsilon, &explanation);
}

json_t *guarantee_promise_json(const struct tremolo_promise *promise, double epsilon)
{
    struct tremolo_explanation explanation;
    struct tremolo_promise stated = *promise;
    if (tremolo_explain(&explanation, promise) != TREMOLO_OK) {
        return NULL;
    }
    if (promise->law.first > 0) {
        stated.mu = INFINITY; /* no mu describes ballots */
    }
    stated.distance = promise->neighbours == TREMOLO_NEIGHBOURS_ANY ? 0 : promise->distance;
    return guarantee_json(&stated, epsilon, &explanation);
}

char *tremolo_study_file_guarantee_json(const struct tremolo_study_file *file)
{
    return json_latch_exact(guarantee_study_json(file));
}

char *tremolo_promise_json(const struct tremolo_promise *promise, double epsilon)
{
    return json_latch_exact(guarantee_promise_json(promise, epsilon));
}
