/* explain.c -- a guarantee in words and numbers.
 *
 * Two texts and a table from one promise. Rates are rounded up to the next tenth of
 * a percent, epsilon to four digits and mu and rho to six, so that nothing here
 * promises more than was proved. mu grows in proportion to the distance between two
 * samples, which gives the same guarantee at any other distance. */
#include "tremolo_privacy.h"

#include "check.h"
#include "interval.h"

#include <stdio.h>
#include <string.h>

static bool promise_makes_sense(const struct tremolo_promise *promise)
{
    return is_positive(promise->distance) && promise->dimension >= 1 &&
           promise->mu >= TREMOLO_MU_MIN && promise->mu <= TREMOLO_MU_MAX &&
           is_releases(promise->releases) && is_delta(promise->delta) &&
           (promise->samples == 0 || promise->releases % promise->samples == 0) &&
           (promise->clip == 0.0 || is_positive(promise->clip)) &&
           promise->way_count <= TREMOLO_EXPLAIN_WAYS &&
           (promise->ways != NULL || promise->way_count == 0);
}

/* So many significant digits, rounded up. What exceeds them by less than a
 * billionth of the last one is the accountant's own rounding: a claim of
 * epsilon 1 is to read 1. */
static double digits_up(double x, int digits)
{
    if (!(x > 0.0) || !(x < 1e15)) {
        return x;
    }
    double unit = pow(10.0, floor(log10(x)) - (digits - 1));
    return ceil(x / unit - 1e-9) * unit;
}

/* The guarantee at the row's distance; its name stays. */
static enum tremolo_status rate(struct tremolo_difference *row,
                                const struct tremolo_promise *promise)
{
    double factor = row->distance / promise->distance;
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified bound;
    struct tremolo_certified accuracy;
    enum tremolo_status status = tremolo_gaussian_add(&cost, promise->mu * factor, 1.0, 1);
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_epsilon(&bound, &cost, promise->delta);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_attack_accuracy(&accuracy, promise->mu * factor);
    }
    if (status == TREMOLO_OK) {
        row->mu = digits_up(promise->mu * factor, 4);
        row->epsilon = digits_up(bound.upper, 4);
        row->attacker_right = fmin(ceil(accuracy.upper * 1000.0) / 1000.0, 1.0);
    } else if (status == TREMOLO_OVERFLOWED) {
        row->mu = INFINITY;
        row->epsilon = INFINITY;
        row->attacker_right = 1.0;
        status = TREMOLO_OK;
    }
    return status;
}

static enum tremolo_status fits(int written, size_t bytes)
{
    return written >= 0 && (size_t)written < bytes ? TREMOLO_OK : TREMOLO_SHORT_BUFFER;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* What a device gives: releases, by samples and rounds where that is known, and the clip. */
static void say_what_is_given(char *text, size_t bytes, const struct tremolo_promise *promise)
{
    unsigned long long releases = promise->releases;
    unsigned long long samples = promise->samples;
    unsigned long long rounds = samples > 0 ? releases / samples : 0;
    char parts[96] = "";
    char clip[96] = "";
    if (samples > 1 && rounds > 1) {
        (void)snprintf(parts, sizeof parts, ", of up to %llu samples in each of %llu rounds",
                       samples, rounds);
    } else if (samples > 1) {
        (void)snprintf(parts, sizeof parts, ", of up to %llu samples", samples);
    } else if (rounds > 1) {
        (void)snprintf(parts, sizeof parts, ", of one sample in each of %llu rounds", rounds);
    }
    if (promise->clip > 0.0) {
        (void)snprintf(clip, sizeof clip,
                       " It first shortens samples to a norm of at most %g (the clip).",
                       promise->clip);
    }
    (void)snprintf(text, bytes, "Each device makes %llu release%s%s.%s", releases,
                   plural(promise->releases), parts, clip);
}

/* Between whom the promise holds. Noise is calibrated for the case that every release of
 * the two differs, so more than one release means devices, not samples. */
static void say_neighbours(char *text, size_t bytes, const struct tremolo_promise *promise)
{
    bool devices = promise->releases > 1;
    if (promise->neighbours == TREMOLO_NEIGHBOURS_ANY) {
        (void)snprintf(text, bytes, "any two %s study's domain (diameter %g)",
                       devices
                           ? "devices, which may differ in all of their samples, not only in one, "
                             "by anything in the"
                           : "samples of the",
                       promise->distance);
    } else {
        (void)snprintf(
            text, bytes, "any two %s at most %g apart, and for those only (metric privacy)",
            devices ? "devices, which may differ in all of their samples, not only in one, "
                      "each pair"
                    : "samples",
            promise->distance);
    }
}

static enum tremolo_status say_reviewer(char text[TREMOLO_EXPLAIN_BYTES],
                                        const struct tremolo_promise *promise,
                                        const struct tremolo_difference *promised)
{
    char given[256];
    char who[256];
    say_what_is_given(given, sizeof given, promise);
    say_neighbours(who, sizeof who, promise);
    int written = snprintf(
        text, TREMOLO_EXPLAIN_BYTES,
        "%s For %s, all releases of a device together are "
        "mu-Gaussian private with mu = %.6g (rho = %.6g zCDP), which is (%.4g, %.3g)-differential "
        "privacy; no test between the two, at even odds, is right more than %.1f%% of the time. "
        "%s The guarantee is local: it holds against the server. It assumes exact noise%s and a "
        "ledger that counts every release.",
        given, who, digits_up(promise->mu, 6), digits_up(0.5 * promise->mu * promise->mu, 6),
        promised->epsilon, promise->delta, 100.0 * promised->attacker_right,
        promise->response_private
            ? "The response is one of the protected coordinates."
            : "The response is sent in the clear and is not protected; it also tells about the "
              "features as far as it depends on them.",
        promise->modulated ? ", phases that never leave the device," : "");
    return fits(written, TREMOLO_EXPLAIN_BYTES);
}

/* Names too long for a sentence are left out. */
static const char *name_or(const char *name, const char *otherwise)
{
    return name != NULL && name[0] != '\0' && strlen(name) < TREMOLO_EXPLAIN_NAMES ? name
                                                                                   : otherwise;
}

/* Of a device in a round; one where it is not said. */
static uint64_t sample_count(const struct tremolo_promise *promise)
{
    return promise->samples > 0 ? promise->samples : 1;
}

/* What nobody sees, and what everybody would. */
static void say_what_is_seen(char *text, size_t bytes, const struct tremolo_promise *promise)
{
    if (promise->response_private) {
        (void)snprintf(text, bytes, "nobody sees your sample%s, not even us.",
                       plural(sample_count(promise)));
        return;
    }
    (void)snprintf(text, bytes,
                   "nobody sees your %s, not even us. Your %s is not protected: it is sent as it "
                   "is, without noise.",
                   name_or(promise->features, "features"), name_or(promise->response, "response"));
}

static enum tremolo_status say_participant(char text[TREMOLO_EXPLAIN_BYTES],
                                           const struct tremolo_promise *promise,
                                           const struct tremolo_difference *promised)
{
    char what[2 * TREMOLO_EXPLAIN_NAMES + 128];
    say_what_is_seen(what, sizeof what, promise);
    char who[160];
    if (promise->neighbours == TREMOLO_NEIGHBOURS_ANY) {
        (void)snprintf(who, sizeof who, "guessing between any two candidates");
    } else {
        (void)snprintf(who, sizeof who, "guessing between two candidates at most %g apart",
                       promise->distance);
    }
    char together[128] = "";
    if (promise->releases > 1) {
        (void)snprintf(together, sizeof together,
                       " This counts all of the %llu reports that your "
                       "device may send.",
                       (unsigned long long)promise->releases);
    }
    const char *secret = !promise->response_private  ? "what is protected"
                         : sample_count(promise) > 1 ? "your samples"
                                                     : "your sample";
    int written = snprintf(
        text, TREMOLO_EXPLAIN_BYTES,
        "Your device adds random noise before anything leaves it, and %s An attacker who knows "
        "everything but %s, %s, is right at most "
        "%.1f%% of the time; tossing a coin is right 50%% of the time.%s%s",
        what, secret, who, 100.0 * promised->attacker_right, together,
        promise->neighbours == TREMOLO_NEIGHBOURS_ANY
            ? ""
            : " Candidates further apart are easier to tell from each other.");
    return fits(written, TREMOLO_EXPLAIN_BYTES);
}

/* ---------------------------------------------------------------- differences */

/* Add a row; nobody is further apart than the domain's diameter. */
static enum tremolo_status add_row(struct tremolo_explanation *made,
                                   const struct tremolo_promise *promise, const char *name,
                                   double distance)
{
    bool any = promise->neighbours == TREMOLO_NEIGHBOURS_ANY;
    double widest = any ? promise->distance : promise->diameter;
    struct tremolo_difference *row = &made->differences[made->difference_count++];
    row->distance = widest > 0.0 ? fmin(distance, widest) : distance;
    if (!is_positive(distance)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    (void)snprintf(row->name, sizeof row->name, "%s", name);
    return rate(row, promise);
}

static enum tremolo_status add_rows(struct tremolo_explanation *made,
                                    const struct tremolo_promise *promise)
{
    static const struct tremolo_difference unit = {.name = "unit distance", .distance = 1.0};
    const struct tremolo_difference *ways = promise->way_count > 0 ? promise->ways : &unit;
    size_t count = promise->way_count > 0 ? promise->way_count : 1;
    bool any = promise->neighbours == TREMOLO_NEIGHBOURS_ANY;
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; status == TREMOLO_OK && i < count; i++) {
        status = add_row(made, promise, ways[i].name, ways[i].distance);
    }
    if (status == TREMOLO_OK) {
        status = add_row(made, promise, "typical pair", sqrt(2.0 * promise->dimension));
    }
    if (status == TREMOLO_OK) {
        status = add_row(made, promise, any ? "any two" : "promised", promise->distance);
    }
    if (status == TREMOLO_OK && !any && promise->diameter > 0.0) {
        status = add_row(made, promise, "any two", promise->diameter);
    }
    return status;
}

enum tremolo_status tremolo_explain(struct tremolo_explanation *explanation,
                                    const struct tremolo_promise *promise)
{
    struct tremolo_explanation made = {0};
    struct tremolo_difference promised = {0};
    if (explanation == NULL || promise == NULL || !promise_makes_sense(promise)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    promised.distance = promise->distance;
    enum tremolo_status status = rate(&promised, promise);
    if (status == TREMOLO_OK) {
        status = say_reviewer(made.reviewer, promise, &promised);
    }
    if (status == TREMOLO_OK) {
        status = say_participant(made.participant, promise, &promised);
    }
    if (status == TREMOLO_OK) {
        status = add_rows(&made, promise);
    }
    if (status == TREMOLO_OK) {
        *explanation = made;
    }
    return status;
}
