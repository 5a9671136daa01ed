/* reproduce_result.c -- the sweep as a page and as a document (result.h). */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "document.h"
#include "study_internal.h"
#include "members.h"
#include "reproduce.h"
#include "result.h"
#include "explain.h"

/* Below this the axis would show nothing but one method's blow-up. */
static const double figure_floor = -0.2;

/* Least squares, number method_count, knows no epsilon: one level, the same everywhere. */
static json_t *series_of(const struct tremolo_reproduction_case *studied,
                         const struct tremolo_sweep *sweep, size_t method)
{
    bool reference = method == sweep->method_count;
    json_t *points = json_array();
    for (size_t e = 0; e < sweep->epsilon_count; e++) {
        const struct tremolo_sweep_point *r2 =
            reference ? &studied->ols : &studied->sweep[method][e];
        (void)json_array_append_new(
            points, json_pack("[f,o,o,o]", sweep->epsilon(e), json_latch_number(r2->mean),
                              json_latch_number(r2->low), json_latch_number(r2->high)));
    }
    return json_pack("{s:s,s:s,s:o*,s:o}", "name", reference ? "ols" : sweep->methods[method].name,
                     "title",
                     reference ? "least squares (not private)" : sweep->methods[method].title,
                     "reference", reference ? json_true() : NULL, "points", points);
}

static json_t *figure_of(const struct tremolo_reproduction_case *studied,
                         const struct tremolo_sweep *sweep)
{
    json_t *series = json_array();
    for (size_t m = 0; m <= sweep->method_count; m++) {
        (void)json_array_append_new(series, series_of(studied, sweep, m));
    }
    return json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:f,s:[f,f],s:o}", "key", studied->task->key, "title",
        studied->task->title, "words",
        "R\u00b2 on test rows for each epsilon: the line is the mean over splits and draws of the "
        "noise, its band holds eight of ten. A line ends where its mean falls below \u22120.2. The "
        "dotted level is least squares on the raw rows, which is not private.",
        "x", "epsilon (smaller: more private)", "y", "R\u00b2 on test rows", "floor", figure_floor,
        "include", 0.0, 1.0, "series", series);
}

static json_t *how_of(const struct reproduce_options *options)
{
    json_t *made = json_sprintf("%zu noise draws for each point over %zu splits; seed %llu.",
                                options->reproduction.repeats, options->reproduction.splits,
                                (unsigned long long)options->reproduction.seed);
    if (options->any_two) {
        return json_pack("[s,s,s,o]", reproduce_any_two_words[0], reproduce_any_two_words[1],
                         reproduce_any_two_words[2], made);
    }
    return json_pack(
        "[s,s,o]",
        "Each task is split at random, 60/20/20, into training, validation and test rows; features "
        "and response are standardised on the training rows, which is the paper's convention and "
        "not private. Each training row is one device.",
        "Neighbours are samples at distance 1, delta is 1e-5, the response is public. auto makes "
        "one release with the exact calibration; the others are the paper's, tuned on the "
        "validation rows.",
        made);
}

/* The epsilon at which the answers are given, or the nearest. */
static const double answer_epsilon = 2.0;

static size_t answer_place(const struct tremolo_sweep *sweep)
{
    size_t best = 0;
    for (size_t e = 1; e < sweep->epsilon_count; e++) {
        if (fabs(sweep->epsilon(e) - answer_epsilon) <
            fabs(sweep->epsilon(best) - answer_epsilon)) {
            best = e;
        }
    }
    return best;
}

/* "ModeChoice 0.86 of 1.00 (auto (one release))", the best private method of a task. */
static json_t *best_words(const struct tremolo_reproduction_case *studied,
                          const struct tremolo_sweep *sweep, size_t e)
{
    size_t best = 0;
    for (size_t m = 1; m < sweep->method_count; m++) {
        best = studied->sweep[m][e].mean > studied->sweep[best][e].mean ? m : best;
    }
    return json_sprintf("%s %.2f of %.2f by %s", studied->task->title, studied->sweep[best][e].mean,
                        studied->ols.mean, sweep->methods[best].name);
}

static json_t *learnt_words(const struct tremolo_reproduction_case *cases, size_t count,
                            const struct tremolo_sweep *sweep)
{
    size_t e = answer_place(sweep);
    json_t *words = json_sprintf("R\u00b2 of the best private method at epsilon %g, of what least "
                                 "squares has on raw data: ",
                                 sweep->epsilon(e));
    for (size_t c = 0; c < count; c++) {
        json_t *one = best_words(&cases[c], sweep, e);
        json_t *longer = json_sprintf("%s%s%s", json_string_value(words), c > 0 ? "; " : "",
                                      json_string_value(one));
        json_decref(one);
        json_decref(words);
        words = longer;
    }
    return words;
}

/* How far apart any two devices are at most: rows of the widest task. */
static double widest_of(const struct tremolo_reproduction_case *cases, size_t count)
{
    double radius = 0;
    for (size_t c = 0; c < count; c++) {
        for (size_t i = 0; i < cases[c].split_count; i++) {
            radius = fmax(radius, cases[c].splits[i].radius);
        }
    }
    return 2 * radius;
}

/* What is promised at an epsilon. At any two people that is the ballots' promise: at the same
 * epsilon Gaussian noise gives an attacker less. NULL where nothing can be said. */
static json_t *guarantee_at(double epsilon, const struct tremolo_reproduction_case *cases,
                            size_t count, const struct reproduce_options *options)
{
    struct tremolo_certified mu = {0};
    struct tremolo_promise promise = {.neighbours = TREMOLO_NEIGHBOURS_ANY,
                                      .distance = 1,
                                      .dimension = 1,
                                      .releases = 1,
                                      .response_private = options->any_two};
    enum tremolo_status status;
    if (options->any_two) {
        status = tremolo_rank_law_for(&promise.law, epsilon);
    } else {
        promise.neighbours = TREMOLO_NEIGHBOURS_DISTANCE;
        promise.standardised = true;
        promise.diameter = widest_of(cases, count);
        promise.delta = options->reproduction.sweep->methods[0].options.delta;
        status = tremolo_gaussian_mu_for(&mu, epsilon, promise.delta);
        promise.mu = mu.lower;
    }
    return status == TREMOLO_OK ? guarantee_promise_json(&promise, epsilon) : NULL;
}

/* "60.4%", and of the paper's neighbours " and 99.1%" for any two. */
static json_t *right_words(const json_t *guarantee, bool any_two, const char *between)
{
    char near[TREMOLO_PERCENT_BYTES], far[TREMOLO_PERCENT_BYTES];
    const json_t *others = json_object_get(guarantee, "any_two");
    return json_sprintf(
        "%s%s%s", tremolo_percent_text(near, member_number(guarantee, "attacker_right"), true),
        any_two ? "" : between,
        any_two ? "" : tremolo_percent_text(far, member_number(others, "attacker_right"), true));
}

/* The gauge's guarantee, at the answers' epsilon, and in words what the sweep's ends are. */
static json_t *private_answer(const struct tremolo_reproduction_case *cases, size_t count,
                              const struct reproduce_options *options)
{
    static const char *const shown[] = {"epsilon",        "delta",   "neighbours", "protects",
                                        "attacker_right", "any_two", "strength"};
    const struct tremolo_sweep *sweep = options->reproduction.sweep;
    const size_t places[] = {answer_place(sweep), 0, sweep->epsilon_count - 1};
    bool any_two = options->any_two;
    json_t *guarantee[3], *right[3];
    for (size_t i = 0; i < 3; i++) {
        guarantee[i] = guarantee_at(sweep->epsilon(places[i]), cases, count, options);
        right[i] =
            right_words(guarantee[i], any_two, i == 0 ? " of the time, between any two " : " and ");
    }
    json_t *gauge = guarantee[0] != NULL ? json_object() : NULL;
    for (size_t k = 0; gauge != NULL && k < sizeof shown / sizeof shown[0]; k++) {
        (void)json_object_set(gauge, shown[k], json_object_get(guarantee[0], shown[k]));
    }
    json_t *text = json_sprintf(
        "%s %g%s: between %s an attacker is right at most %s%s. At epsilon %g: %s; at %g: %s",
        any_two ? "At epsilon" : "Features only, at epsilon", sweep->epsilon(places[0]),
        any_two ? "" : " and delta 1e-5",
        any_two ? "any two people" : "people at most 1 apart in standard deviations",
        json_string_value(right[0]), any_two ? " of the time" : "", sweep->epsilon(places[1]),
        json_string_value(right[1]), sweep->epsilon(places[2]), json_string_value(right[2]));
    for (size_t i = 0; i < 3; i++) {
        json_decref(guarantee[i]);
        json_decref(right[i]);
    }
    return json_pack("{s:s,s:o,s:o*}", "title", "Private", "text", text, "guarantee", gauge);
}

static json_t *answers_of(const struct tremolo_reproduction_case *cases, size_t count,
                          const struct reproduce_options *options)
{
    return json_pack(
        "[{s:s,s:o},{s:s,s:o},o]", "title", "Learnt", "text",
        learnt_words(cases, count, options->reproduction.sweep), "title", "Certain", "text",
        json_sprintf("Means of %zu draws of the noise over %zu split%s; bands hold eight of ten",
                     options->reproduction.repeats, options->reproduction.splits,
                     options->reproduction.splits == 1 ? "" : "s"),
        private_answer(cases, count, options));
}

int reproduce_save(const char *folder, const struct tremolo_reproduction_case *cases, size_t count,
                   const struct reproduce_options *options)
{
    static const char *const names[] = {"report.json", "report.html"};
    char path[2 * PATH_MAX];
    const struct tremolo_sweep *sweep = options->reproduction.sweep;
    json_t *figures = json_array();
    json_t *result = json_pack("{s:i,s:s,s:s}", "tremolo_report", 1, "kind", "reproduce", "title",
                               reproduce_title(options));
    result_set_made(result, options->line);
    for (size_t c = 0; c < count; c++) {
        (void)json_array_append_new(figures, figure_of(&cases[c], sweep));
    }
    (void)json_object_update_new(
        result,
        json_pack("{s:o,s:o,s:o,s:o}", "answers", answers_of(cases, count, options), "summary",
                  json_sprintf("%zu task%s, %zu private methods beside least squares, %zu values "
                               "of epsilon from %g to %g",
                               count, count == 1 ? "" : "s", sweep->method_count,
                               sweep->epsilon_count, sweep->epsilon(0),
                               sweep->epsilon(sweep->epsilon_count - 1)),
                  "figures", figures, "how", how_of(options)));
    int code = CLI_DONE;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && code == CLI_DONE; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        code = result_save(result, "reproduce", path, true);
    }
    if (code == CLI_DONE && options->save != NULL) {
        code = result_save(result, "reproduce", options->save, true);
    }
    json_decref(result);
    return code;
}
