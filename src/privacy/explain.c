/* explain.c -- a guarantee in words.
 *
 * Three texts from one promise. Rates are rounded up to the next tenth of a
 * percent, epsilon to four digits and mu and rho to six, so that no sentence
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
           (promise->clip == 0.0 || is_positive(promise->clip));
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

static double percent_up(double p)
{
    return fmin(ceil(p * 1000.0) / 10.0, 100.0);
}

/* epsilon and the attacker's success at distance factor times the promise's. */
static enum tremolo_status rates_at(double *epsilon, double *percent,
                                    const struct tremolo_promise *promise, double factor)
{
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
        *epsilon = digits_up(bound.upper, 4);
        *percent = percent_up(accuracy.upper);
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

enum tremolo_status tremolo_explain_reviewer(char *text, size_t bytes,
                                             const struct tremolo_promise *promise)
{
    double epsilon = 0.0;
    double percent = 0.0;
    if (text == NULL || promise == NULL || !promise_makes_sense(promise)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = rates_at(&epsilon, &percent, promise, 1.0);
    if (status != TREMOLO_OK) {
        return status;
    }
    char given[256];
    char who[256];
    say_what_is_given(given, sizeof given, promise);
    say_neighbours(who, sizeof who, promise);
    char own[TREMOLO_EXPLAIN_BYTES];
    int written = snprintf(
        own, sizeof own,
        "%s For %s, all releases of a device together are "
        "mu-Gaussian private with mu = %.6g (rho = %.6g zCDP), which is (%.4g, %.3g)-differential "
        "privacy; no test between the two, at even odds, is right more than %.1f%% of the time. "
        "%s The guarantee is local: it holds against the server. It assumes exact noise%s and a "
        "ledger that counts every release.",
        given, who, digits_up(promise->mu, 6), digits_up(0.5 * promise->mu * promise->mu, 6),
        epsilon, promise->delta, percent,
        promise->response_private
            ? "The response is one of the protected coordinates."
            : "The response is sent in the clear and is not protected; it also tells about the "
              "features as far as it depends on them.",
        promise->modulated ? ", phases that never leave the device," : "");
    status = fits(written, sizeof own < bytes ? sizeof own : bytes);
    if (status == TREMOLO_OK) {
        (void)snprintf(text, bytes, "%s", own);
    }
    return status;
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
static void say_what_is_seen(char *text, size_t bytes, const struct tremolo_promise *promise,
                             const char *features, const char *response)
{
    if (promise->response_private) {
        (void)snprintf(text, bytes, "nobody sees your sample%s, not even us.",
                       plural(sample_count(promise)));
        return;
    }
    (void)snprintf(text, bytes,
                   "nobody sees your %s, not even us. Your %s is not protected: it is sent as it "
                   "is, without noise.",
                   name_or(features, "features"), name_or(response, "response"));
}

enum tremolo_status tremolo_explain_participant(char *text, size_t bytes,
                                                const struct tremolo_promise *promise)
{
    return tremolo_explain_participant_named(text, bytes, promise, NULL, NULL);
}

enum tremolo_status tremolo_explain_participant_named(char *text, size_t bytes,
                                                      const struct tremolo_promise *promise,
                                                      const char *features, const char *response)
{
    double epsilon = 0.0;
    double percent = 0.0;
    if (text == NULL || promise == NULL || !promise_makes_sense(promise)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = rates_at(&epsilon, &percent, promise, 1.0);
    if (status != TREMOLO_OK) {
        return status;
    }
    char what[2 * TREMOLO_EXPLAIN_NAMES + 128];
    say_what_is_seen(what, sizeof what, promise, features, response);
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
    char own[TREMOLO_EXPLAIN_BYTES];
    int written = snprintf(
        own, sizeof own,
        "Your device adds random noise before anything leaves it, and %s An attacker who knows "
        "everything but %s, %s, is right at most "
        "%.1f%% of the time; tossing a coin is right 50%% of the time.%s%s",
        what, secret, who, percent, together,
        promise->neighbours == TREMOLO_NEIGHBOURS_ANY
            ? ""
            : " Candidates further apart are easier to tell from each other.");
    status = fits(written, sizeof own < bytes ? sizeof own : bytes);
    if (status == TREMOLO_OK) {
        (void)snprintf(text, bytes, "%s", own);
    }
    return status;
}

/* ---------------------------------------------------------------- distances */

enum { NAME_BYTES = 48, ROW_BYTES = NAME_BYTES + 100, STANDARD_ROWS = 3 };

/* Bytes of a name that fit, whole characters only. */
static int name_bytes(const char *name)
{
    size_t length = strlen(name);
    if (length > NAME_BYTES) {
        for (length = NAME_BYTES; length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;) {
            length--;
        }
    }
    return (int)length;
}

/* Characters of UTF-8 within name_bytes(): bytes that continue none. */
static int name_columns(const char *name)
{
    int columns = 0;
    for (int i = 0; i < name_bytes(name); i++) {
        columns += ((unsigned char)name[i] & 0xC0) != 0x80;
    }
    return columns;
}

/* One row; nobody is further apart than the domain's diameter. */
static enum tremolo_status put_row(char *text, size_t bytes, int width,
                                   const struct tremolo_promise *promise,
                                   const struct tremolo_difference *row)
{
    double epsilon = 0.0;
    double percent = 0.0;
    bool any = promise->neighbours == TREMOLO_NEIGHBOURS_ANY;
    double widest = any ? promise->distance : promise->diameter;
    double distance = widest > 0.0 ? fmin(row->distance, widest) : row->distance;
    double factor = distance / promise->distance;
    enum tremolo_status status = rates_at(&epsilon, &percent, promise, factor);
    if (status != TREMOLO_OK && status != TREMOLO_OVERFLOWED) {
        return status;
    }
    int length = name_bytes(row->name);
    int columns = name_columns(row->name);
    int used = snprintf(text, bytes, "%.*s%*s distance %-9.4g ", length, row->name,
                        width > columns ? width - columns : 0, "", distance);
    if (used < 0 || (size_t)used >= bytes) {
        return TREMOLO_SHORT_BUFFER;
    }
    /* Beyond the accountant's range anybody can be told from anybody. */
    int rates = status == TREMOLO_OVERFLOWED
                    ? snprintf(text + used, bytes - (size_t)used, "no protection\n")
                    : snprintf(text + used, bytes - (size_t)used,
                               "mu %-10.4g epsilon %-9.4g attacker right %.1f%%\n",
                               digits_up(factor * promise->mu, 4), epsilon, percent);
    return fits(rates, bytes - (size_t)used);
}

static enum tremolo_status put_rows(char *text, size_t bytes, const struct tremolo_promise *promise,
                                    const struct tremolo_difference *rows, size_t count)
{
    char own[(TREMOLO_EXPLAIN_ROWS + STANDARD_ROWS) * ROW_BYTES];
    size_t used = 0;
    int width = 14;
    for (size_t i = 0; i < count; i++) {
        width = name_columns(rows[i].name) > width ? name_columns(rows[i].name) : width;
    }
    for (size_t i = 0; i < count; i++) {
        enum tremolo_status status =
            put_row(own + used, sizeof own - used, width, promise, &rows[i]);
        if (status != TREMOLO_OK) {
            return status;
        }
        used += strlen(own + used);
    }
    if (used >= bytes) {
        return TREMOLO_SHORT_BUFFER;
    }
    (void)snprintf(text, bytes, "%s", own);
    return TREMOLO_OK;
}

enum tremolo_status tremolo_explain_differences(char *text, size_t bytes,
                                                const struct tremolo_promise *promise,
                                                const struct tremolo_difference *rows, size_t count)
{
    struct tremolo_difference all[TREMOLO_EXPLAIN_ROWS + STANDARD_ROWS];
    if (text == NULL || promise == NULL || !promise_makes_sense(promise) ||
        (rows == NULL && count > 0) || count > TREMOLO_EXPLAIN_ROWS) {
        return TREMOLO_BAD_ARGUMENT;
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].name == NULL || !is_positive(rows[i].distance)) {
            return TREMOLO_BAD_ARGUMENT;
        }
        all[i] = rows[i];
    }
    bool any = promise->neighbours == TREMOLO_NEIGHBOURS_ANY;
    all[count++] = (struct tremolo_difference){"typical pair", sqrt(2.0 * promise->dimension)};
    all[count++] = (struct tremolo_difference){any ? "any two" : "promised", promise->distance};
    if (!any && promise->diameter > 0.0) {
        all[count++] = (struct tremolo_difference){"any two", promise->diameter};
    }
    return put_rows(text, bytes, promise, all, count);
}

enum tremolo_status tremolo_explain_distances(char *text, size_t bytes,
                                              const struct tremolo_promise *promise)
{
    static const struct tremolo_difference unit = {"unit distance", 1.0};
    return tremolo_explain_differences(text, bytes, promise, &unit, 1);
}
