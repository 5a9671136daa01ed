/* explain.c -- a guarantee in words and numbers.
 *
 * Two texts and a table from one promise, of Gaussian releases or of ballots. Rates are rounded up to the next tenth of
 * a percent, epsilon to four digits and mu and rho to six, so that nothing here
 * promises more than was proved. mu of Gaussian releases grows in proportion to the
 * distance between two samples, or as the promise knows better (integers are rounded),
 * which gives the same guarantee at any other distance; ballots cost the same for any two. */
#include "tremolo_privacy.h"

#include "check.h"
#include "explain.h"
#include "interval.h"

#include <stdio.h>
#include <string.h>

static bool is_ballot(const struct tremolo_promise *promise)
{
    return promise->law.first > 0;
}

static bool promise_makes_sense(const struct tremolo_promise *promise)
{
    bool gaussian = is_positive(promise->distance) && promise->dimension >= 1 &&
                    promise->mu >= TREMOLO_MU_MIN && promise->mu <= TREMOLO_MU_MAX &&
                    is_delta(promise->delta);
    bool ballot = is_ballot(promise) && promise->neighbours == TREMOLO_NEIGHBOURS_ANY;
    return (ballot || (gaussian && !is_ballot(promise))) && is_releases(promise->releases) &&
           (promise->samples == 0 || promise->releases % promise->samples == 0) &&
           (promise->clip == 0.0 || is_positive(promise->clip)) &&
           promise->way_count <= TREMOLO_EXPLAIN_WAYS &&
           (promise->ways != NULL || promise->way_count == 0);
}

/* The last of so many digits; 0 where there is nothing to round. */
static double last_digit(double x, int digits)
{
    return x > 0.0 && x < 1e15 ? pow(10.0, floor(log10(x)) - (digits - 1)) : 0.0;
}

double tremolo_digits_up(double x, int digits)
{
    double unit = last_digit(x, digits);
    return unit > 0.0 ? ceil(x / unit - 1e-9) * unit : x;
}

double tremolo_digits_down(double x, int digits)
{
    double unit = last_digit(x, digits);
    return unit > 0.0 ? floor(x / unit + 1e-9) * unit : x;
}

double tremolo_percent_up(double share)
{
    return fmin(ceil(share * 1000.0 - 1e-9) / 10.0, 100.0);
}

static double share_up(double share)
{
    return tremolo_percent_up(share) / 100.0;
}

/* All ballots together, whoever the two are. At even odds the best test is right
 * (1 + delta(0)) / 2 of the time; of too many ballots to compose epsilon alone tells. */
static enum tremolo_status rate_ballots(struct tremolo_difference *row,
                                        const struct tremolo_promise *promise)
{
    const struct tremolo_ballots ballots = {promise->law, promise->releases};
    const struct tremolo_gaussian none = {0};
    struct tremolo_certified each;
    struct tremolo_certified bound;
    enum tremolo_status status = tremolo_rank_epsilon(&each, &promise->law);
    if (status != TREMOLO_OK) {
        return status;
    }
    double epsilon = each.upper * (double)promise->releases * (1.0 + 0x1p-50);
    status = tremolo_mixture_delta(&bound, &ballots, 1, &none, 0.0);
    double right = status == TREMOLO_OK ? 0.5 * (1.0 + bound.upper) : 0.0;
    if (status == TREMOLO_OVERFLOWED && epsilon <= TREMOLO_EPSILON_MAX) {
        status = tremolo_attack_accuracy_budget(&bound, epsilon, 0.0);
        right = bound.upper;
    }
    if (status == TREMOLO_OK) {
        row->distance = INFINITY;
        row->mu = INFINITY;
        row->epsilon = tremolo_digits_up(epsilon, 4);
        row->attacker_right = share_up(right);
    }
    return status;
}

/* mu between samples so far apart, over all releases. */
static double mu_of(const struct tremolo_promise *promise, double distance)
{
    return distance != promise->distance && promise->mu_at != NULL
               ? promise->mu_at(promise->context, distance)
               : promise->mu * (distance / promise->distance);
}

/* The guarantee at the row's distance; its name stays. */
static enum tremolo_status rate(struct tremolo_difference *row,
                                const struct tremolo_promise *promise)
{
    double mu = mu_of(promise, row->distance);
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified bound;
    struct tremolo_certified accuracy;
    enum tremolo_status status =
        isfinite(mu) ? tremolo_gaussian_add(&cost, mu, 1.0, 1) : TREMOLO_OVERFLOWED;
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_epsilon(&bound, &cost, promise->delta);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_attack_accuracy(&accuracy, mu);
    }
    if (status == TREMOLO_OK) {
        row->mu = tremolo_digits_up(mu, 4);
        row->epsilon = tremolo_digits_up(bound.upper, 4);
        row->attacker_right = share_up(accuracy.upper);
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
    (void)snprintf(text, bytes, "Each device %s %llu %s%s%s.%s",
                   is_ballot(promise) ? "sends" : "makes", releases,
                   is_ballot(promise) ? "ballot" : "release", plural(promise->releases), parts,
                   clip);
}

/* Between whom the promise holds. Noise is calibrated for the case that every release of
 * the two differs, so more than one release means devices, not samples. */
static void say_neighbours(char *text, size_t bytes, const struct tremolo_promise *promise)
{
    bool devices = promise->releases > 1;
    if (is_ballot(promise)) {
        (void)snprintf(text, bytes, "any two %s",
                       devices ? "devices, which may differ in all of their samples, not only in "
                                 "one, by anything"
                               : "samples, whatever they are");
    } else if (promise->neighbours == TREMOLO_NEIGHBOURS_ANY) {
        (void)snprintf(text, bytes, "any two %s study's domain (diameter %g)",
                       devices
                           ? "devices, which may differ in all of their samples, not only in one, "
                             "by anything in the"
                           : "samples of the",
                       promise->distance);
    } else {
        (void)snprintf(
            text, bytes, "any two %s at most %g apart%s, and for those only (metric privacy)",
            devices ? "devices, which may differ in all of their samples, not only in one, "
                      "each pair"
                    : "samples",
            promise->distance, explain_unit(promise));
    }
}

/* What the releases of a device are together, by the accountant. */
static void say_cost(char *text, size_t bytes, const struct tremolo_promise *promise,
                     const struct tremolo_difference *promised)
{
    if (is_ballot(promise)) {
        (void)snprintf(text, bytes,
                       "all ballots of a device together are %.4g-differentially private with "
                       "delta = 0",
                       promised->epsilon);
        return;
    }
    (void)snprintf(text, bytes,
                   "all releases of a device together are mu-Gaussian private with mu = %.6g (rho "
                   "= %.6g zCDP), which is (%.4g, %.3g)-differential privacy",
                   tremolo_digits_up(promise->mu, 6),
                   tremolo_digits_up(0.5 * promise->mu * promise->mu, 6), promised->epsilon,
                   tremolo_digits_up(promise->delta, 3));
}

/* The mechanism where its name does not tell, and what the guarantee assumes. */
static void say_ballot(char *text, size_t bytes, const struct tremolo_rank_law *law)
{
    (void)snprintf(text, bytes,
                   " A ballot is one of %d random answers about products of the sample's values. "
                   "The sample orders them by how well they fit; the one sent has a rank that was "
                   "drawn before, one of the first %u with probability %.4f, else one of the "
                   "others.",
                   TREMOLO_RANK_ANSWERS, law->first, law->top / 4294967296.0);
}

static enum tremolo_status say_reviewer(char text[TREMOLO_EXPLAIN_BYTES],
                                        const struct tremolo_promise *promise,
                                        const struct tremolo_difference *promised)
{
    char given[256];
    char ballot[384] = "";
    char who[256];
    char cost[256];
    say_what_is_given(given, sizeof given, promise);
    say_neighbours(who, sizeof who, promise);
    say_cost(cost, sizeof cost, promise, promised);
    if (is_ballot(promise)) {
        say_ballot(ballot, sizeof ballot, &promise->law);
    }
    int written = snprintf(
        text, TREMOLO_EXPLAIN_BYTES,
        "%s%s For %s, %s; no test between the two, at even odds, is right more than %.1f%% of the "
        "time. %s The guarantee is local: it holds against the server. It assumes %s%s and a "
        "ledger that counts every release.",
        given, ballot, who, cost, 100.0 * promised->attacker_right,
        promise->response_private
            ? is_ballot(promise) ? "The response is protected as the features are."
                                 : "The response is one of the protected coordinates."
            : "The response is sent in the clear and is not protected; it also tells about the "
              "features as far as it depends on them.",
        is_ballot(promise) ? "a rank and an id drawn at random before the sample is touched"
                           : "exact noise",
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

/* What nobody sees, as long as that is nearly so, and what everybody would. */
static void say_what_is_seen(char *text, size_t bytes, const struct tremolo_promise *promise,
                             enum tremolo_strength strength)
{
    const char *what = promise->response_private ? sample_count(promise) > 1 ? "samples" : "sample"
                                                 : name_or(promise->features, "features");
    size_t used;
    if (strength == TREMOLO_STRENGTH_POLICY) {
        (void)snprintf(text, bytes, "nobody sees your %s, not even us.", what);
    } else if (strength == TREMOLO_STRENGTH_PAST) {
        (void)snprintf(text, bytes,
                       "whoever sees the result can guess more about your %s than devices allow "
                       "unless they are told otherwise.",
                       what);
    } else {
        (void)snprintf(text, bytes,
                       "whoever sees the result knows your %s nearly as if it had been sent "
                       "openly: the %s protects hardly anything.",
                       what, is_ballot(promise) ? "chance" : "noise");
    }
    used = strlen(text);
    if (!promise->response_private) {
        (void)snprintf(text + used, bytes - used,
                       " Your %s is not protected: it is sent as it is, without noise.",
                       name_or(promise->response, "response"));
    }
}

/* How chance protects, up to "and": in a participant's words. */
static void say_chance(char *text, size_t bytes, const struct tremolo_promise *promise)
{
    double fitting = promise->law.top / 4294967296.0;
    if (!is_ballot(promise)) {
        (void)snprintf(text, bytes, "Your device adds random noise before anything leaves it");
        return;
    }
    (void)snprintf(text, bytes,
                   "Your device is asked a random question about your answers, and chance decides "
                   "before it looks at them whether it tells the truth: about %.0f times in 100 "
                   "the reply is one that fits, about %.0f times it is a random wrong one. It does "
                   "not say which it was",
                   100.0 * fitting, 100.0 - round(100.0 * fitting));
}

static enum tremolo_status say_participant(char text[TREMOLO_EXPLAIN_BYTES],
                                           const struct tremolo_promise *promise,
                                           const struct tremolo_difference *promised,
                                           enum tremolo_strength strength)
{
    char what[2 * TREMOLO_EXPLAIN_NAMES + 256];
    char chance[384];
    say_chance(chance, sizeof chance, promise);
    say_what_is_seen(what, sizeof what, promise, strength);
    char who[512];
    char apart[384] = "";
    explain_apart(apart, sizeof apart, promise, promise->distance);
    if (promise->neighbours == TREMOLO_NEIGHBOURS_ANY) {
        (void)snprintf(who, sizeof who, "guessing between any two candidates");
    } else if (apart[0] != '\0') {
        (void)snprintf(who, sizeof who,
                       "guessing between two candidates who differ by at most so much in one "
                       "thing alone: %s",
                       apart);
    } else {
        (void)snprintf(who, sizeof who, "guessing between two candidates at most %g apart%s",
                       promise->distance, explain_unit(promise));
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
    int written = snprintf(text, TREMOLO_EXPLAIN_BYTES,
                           "%s, and %s An attacker who knows "
                           "everything but %s, %s, is right at most "
                           "%.1f%% of the time; tossing a coin is right 50%% of the time.%s%s",
                           chance, what, secret, who, 100.0 * promised->attacker_right, together,
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

/* The promise's ways, or what its extents are from end to end. */
static size_t ways_of(struct tremolo_difference ways[TREMOLO_EXPLAIN_WAYS],
                      const struct tremolo_promise *promise)
{
    size_t count = promise->way_count > 0 ? promise->way_count : promise->extent_count;
    size_t named = count <= TREMOLO_EXPLAIN_WAYS ? count : TREMOLO_EXPLAIN_WAYS - 1;
    double widest = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (promise->way_count > 0) {
            ways[i] = promise->ways[i];
        } else if (i < named) {
            explain_extent(&ways[i], &promise->extents[i]);
        } else {
            widest = fmax(widest, promise->extents[i].distance);
        }
    }
    if (count == 0) {
        ways[0] = (struct tremolo_difference){.name = "unit distance", .distance = 1.0};
        return 1;
    }
    if (named < count) {
        tremolo_difference_of_more(&ways[named], count - named, widest);
    }
    return named < count ? named + 1 : count;
}

static enum tremolo_status add_rows(struct tremolo_explanation *made,
                                    const struct tremolo_promise *promise,
                                    const struct tremolo_difference *promised)
{
    if (is_ballot(promise)) { /* every way to differ is the same */
        made->differences[0] = *promised;
        (void)snprintf(made->differences[0].name, sizeof made->differences[0].name, "any two");
        made->difference_count = 1;
        return TREMOLO_OK;
    }
    struct tremolo_difference ways[TREMOLO_EXPLAIN_WAYS];
    size_t count = ways_of(ways, promise);
    bool any = promise->neighbours == TREMOLO_NEIGHBOURS_ANY;
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; status == TREMOLO_OK && i < count; i++) {
        status = add_row(made, promise, ways[i].name, ways[i].distance);
    }
    if (status == TREMOLO_OK) {
        status =
            add_row(made, promise, "typical pair", tremolo_typical_distance(promise->dimension));
    }
    if (status == TREMOLO_OK) {
        status = add_row(made, promise, any ? "any two" : "promised", promise->distance);
    }
    if (status == TREMOLO_OK && !any && promise->diameter > 0.0) {
        status = add_row(made, promise, "any two", promise->diameter);
    }
    if (status == TREMOLO_OK) {
        explain_in_units(made, count, promise);
    }
    return status;
}

/* ---------------------------------------------------------------- strength */

const char *tremolo_strength_name(enum tremolo_strength strength)
{
    static const char *const names[] = {"policy", "past", "hardly"};
    return names[strength];
}

/* Between any two people, at the default policy's delta; infinite where that is not known. */
static double epsilon_any_two(const struct tremolo_promise *promise,
                              const struct tremolo_difference *promised)
{
    if (is_ballot(promise)) {
        return promised->epsilon;
    }
    bool any = promise->neighbours == TREMOLO_NEIGHBOURS_ANY;
    double widest = any ? promise->distance : promise->diameter;
    double mu = widest > 0.0 ? mu_of(promise, widest) : INFINITY;
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified bound;
    bool known = isfinite(mu) && tremolo_gaussian_add(&cost, mu, 1.0, 1) == TREMOLO_OK &&
                 tremolo_gaussian_epsilon(&bound, &cost, TREMOLO_POLICY_DELTA) == TREMOLO_OK;
    return known ? bound.upper : INFINITY;
}

static enum tremolo_strength strength_of(const struct tremolo_promise *promise,
                                         const struct tremolo_difference *promised)
{
    static const double rounding = 1.0 + 1e-6; /* a device's charge is rounded up to its unit */
    if (promised->epsilon > TREMOLO_EPSILON_HARDLY * rounding) {
        return TREMOLO_STRENGTH_HARDLY;
    }
    return epsilon_any_two(promise, promised) <= TREMOLO_POLICY_EPSILON * rounding
               ? TREMOLO_STRENGTH_POLICY
               : TREMOLO_STRENGTH_PAST;
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
    enum tremolo_status status =
        is_ballot(promise) ? rate_ballots(&promised, promise) : rate(&promised, promise);
    if (status == TREMOLO_OK) {
        status = say_reviewer(made.reviewer, promise, &promised);
    }
    if (status == TREMOLO_OK) {
        made.strength = strength_of(promise, &promised);
        status = say_participant(made.participant, promise, &promised, made.strength);
    }
    if (status == TREMOLO_OK) {
        status = add_rows(&made, promise, &promised);
    }
    bool far = promise->neighbours == TREMOLO_NEIGHBOURS_ANY || promise->diameter > 0.0;
    made.any_two = made.difference_count - (far ? 1 : 0); /* it comes last */
    if (status == TREMOLO_OK) {
        *explanation = made;
    }
    return status;
}
