/* explain.c -- a guarantee in words and numbers.
 *
 * Two texts and a table from one promise, of Gaussian releases or of ballots. Rates are rounded up
 * to the next tenth of a percent, epsilon to four digits and mu and rho to six, so that nothing
 * here promises more than was proved; a rate that becomes all of the time is said to be above 99.9%
 * where epsilon is finite, because it is less. mu of Gaussian releases grows in proportion to the distance
 * between two samples, or as the promise knows better (integers are rounded), which gives the same
 * guarantee at any other distance; ballots cost the same for any two.
 *
 * People cannot read a number of half ranges or standard deviations. An extent says what a number's
 * whole range is in its own unit and how far apart that is, and so what any distance is in it:
 * years, hours, kilograms. */
#include "accountant.h"
#include "explain.h"
#include "interval.h"

#include <stdarg.h>
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

/* A share in percent, rounded up to a tenth. */
static double percent_up(double share)
{
    return fmin(ceil(share * 1000.0 - 1e-9) / 10.0, 100.0);
}

const char *tremolo_percent_text(char text[TREMOLO_PERCENT_BYTES], double share, bool below)
{
    double percent = percent_up(share);
    bool all = below && percent >= 100.0;
    (void)snprintf(text, TREMOLO_PERCENT_BYTES, "%s%.4g%%", all ? ">" : "", all ? 99.9 : percent);
    return text;
}

/* All ballots together, for any two samples. At even odds the best test is right (1 + delta(0)) / 2
 * of the time. */
static enum tremolo_status rate_ballots(struct tremolo_difference *row,
                                        const struct tremolo_promise *promise)
{
    const struct tremolo_ballots ballots = {promise->law, promise->releases};
    const struct tremolo_gaussian none = {0};
    struct tremolo_certified each;
    struct tremolo_certified delta;
    enum tremolo_status status = tremolo_rank_epsilon(&each, &promise->law);
    if (status != TREMOLO_OK) {
        return status;
    }
    double epsilon = each.upper * (double)promise->releases * (1.0 + 0x1p-50);
    status = epsilon <= TREMOLO_EPSILON_MAX ? tremolo_mixture_delta(&delta, &ballots, &none, 0.0)
                                            : TREMOLO_OVERFLOWED;
    double right = status == TREMOLO_OK ? 0.5 * (1.0 + delta.upper) : 0.0;
    if (status == TREMOLO_OK) {
        row->distance = INFINITY;
        row->mu = INFINITY;
        row->epsilon = tremolo_digits_up(epsilon, 4);
        row->attacker_right = percent_up(right) / 100.0;
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

static enum tremolo_status epsilon_at(struct tremolo_certified *epsilon, double mu, double delta)
{
    struct tremolo_gaussian cost = {0};
    enum tremolo_status status =
        isfinite(mu) ? tremolo_gaussian_add(&cost, mu, 1.0, 1) : TREMOLO_OVERFLOWED;
    return status == TREMOLO_OK ? tremolo_gaussian_epsilon(epsilon, &cost, delta) : status;
}

/* The guarantee at the row's distance; its name stays. */
static enum tremolo_status rate(struct tremolo_difference *row,
                                const struct tremolo_promise *promise)
{
    double mu = mu_of(promise, row->distance);
    struct tremolo_certified bound;
    struct tremolo_certified accuracy;
    enum tremolo_status status = epsilon_at(&bound, mu, promise->delta);
    if (status == TREMOLO_OK) {
        status = tremolo_attack_accuracy(&accuracy, mu);
    }
    if (status == TREMOLO_OK) {
        row->mu = tremolo_digits_up(mu, 4);
        row->epsilon = tremolo_digits_up(bound.upper, 4);
        row->attacker_right = percent_up(accuracy.upper) / 100.0;
    } else if (status == TREMOLO_OVERFLOWED) {
        row->mu = INFINITY;
        row->epsilon = INFINITY;
        row->attacker_right = 1.0;
        status = TREMOLO_OK;
    }
    return status;
}

/* ---------------------------------------------------------------- own units */

double tremolo_typical_distance(unsigned dimension)
{
    return sqrt(2.0 * dimension);
}

/* "" where the promise does not say. */
static const char *unit_of(const struct tremolo_promise *promise)
{
    return promise->standardised       ? " in standard deviations"
           : promise->extent_count > 0 ? " in half ranges"
                                       : "";
}

void tremolo_difference_of_more(struct tremolo_difference *way, size_t count, double distance)
{
    *way = (struct tremolo_difference){.distance = distance};
    (void)snprintf(way->name, sizeof way->name, "one of %zu more, end to end", count);
}

enum { AMOUNT_BYTES = 48 };

/* "2.2", "2,970": thousands are whole and parted, where an exponent would not be read. */
static const char *write_amount(char text[AMOUNT_BYTES], double value, int digits)
{
    char plain[AMOUNT_BYTES / 2];
    size_t used = 0;
    if (value < 1e3 || value >= 1e15) {
        (void)snprintf(text, AMOUNT_BYTES, "%.*g", digits, value);
        return text;
    }
    (void)snprintf(plain, sizeof plain, "%.0f", value);
    for (size_t i = 0, length = strlen(plain); i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = plain[i];
    }
    text[used] = '\0';
    return text;
}

/* "age 15 years, sleep 2.2 hours": so far apart in each number, at most its whole range; empty
 * without extents. Ends in "..." when not all of them fit. */
static void list_apart(char *text, size_t bytes, const struct tremolo_promise *promise,
                       double distance)
{
    size_t used = 0;
    for (size_t i = 0; i < promise->extent_count; i++) {
        const struct tremolo_extent *extent = &promise->extents[i];
        double apart =
            tremolo_digits_down(fmin(distance / extent->distance, 1.0) * extent->range, 3);
        char amount[AMOUNT_BYTES];
        int written = snprintf(text + used, bytes - used, "%s%s %s%s%s", used > 0 ? ", " : "",
                               extent->name, write_amount(amount, apart, 3),
                               extent->unit[0] != '\0' ? " " : "", extent->unit);
        if (written < 0 || (size_t)written + sizeof ", ..." > bytes - used) {
            (void)snprintf(text + used, bytes - used, "%s...", used > 0 ? ", " : "");
            return;
        }
        used += (size_t)written;
    }
}

/* ---------------------------------------------------------------- words */

/* A text of TREMOLO_EXPLAIN_BYTES that grows; once something did not fit it is no text. */
struct words {
    char *text;
    size_t used;
    bool cut;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *words, const char *format, ...)
{
    size_t room = TREMOLO_EXPLAIN_BYTES - words->used;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(words->text + words->used, room, format, arguments);
    va_end(arguments);
    words->cut = words->cut || written < 0 || (size_t)written >= room;
    words->used += words->cut ? 0 : (size_t)written;
}

/* What a device gives: releases, by samples and rounds where that is known, and the clip. */
static void say_what_is_given(struct words *words, const struct tremolo_promise *promise)
{
    bool ballot = is_ballot(promise);
    unsigned long long releases = promise->releases;
    unsigned long long samples = promise->samples;
    unsigned long long rounds = samples > 0 ? releases / samples : 0;
    say(words, "Each device %s %llu %s%s", ballot ? "sends" : "makes", releases,
        ballot ? "ballot" : "release", releases == 1 ? "" : "s");
    if (samples > 1) {
        say(words, ", of up to %llu samples", samples);
    } else if (rounds > 1) {
        say(words, ", of one sample");
    }
    if (rounds > 1) {
        say(words, " in each of %llu rounds", rounds);
    }
    say(words, ".");
    if (promise->clip > 0.0) {
        say(words, " It first shortens samples to a norm of at most %g (the clip).", promise->clip);
    }
}

/* Between whom the promise holds. Noise is calibrated for the case that every release of
 * the two differs, so more than one release means devices, not samples. */
static void say_neighbours(struct words *words, const struct tremolo_promise *promise)
{
    bool devices = promise->releases > 1;
    say(words, "any two %s",
        devices ? "devices, which may differ in all of their samples, not only in one, "
                : "samples");
    if (is_ballot(promise)) {
        say(words, "%s", devices ? "by anything" : ", whatever they are");
    } else if (promise->neighbours == TREMOLO_NEIGHBOURS_ANY) {
        say(words, "%s study's domain (diameter %g)", devices ? "by anything in the" : " of the",
            promise->distance);
    } else {
        say(words, "%s at most %g apart%s, and for those only (metric privacy)",
            devices ? "each pair" : "", tremolo_digits_down(promise->distance, 6),
            unit_of(promise));
    }
}

/* What the releases of a device are together, by the accountant. */
static void say_cost(struct words *words, const struct tremolo_promise *promise,
                     const struct tremolo_difference *promised)
{
    if (is_ballot(promise)) {
        say(words,
            "all ballots of a device together are %.4g-differentially private with delta = 0",
            promised->epsilon);
        return;
    }
    say(words,
        "all releases of a device together are mu-Gaussian private with mu = %.6g (rho = %.6g "
        "zCDP), which is (%.4g, %.3g)-differential privacy",
        tremolo_digits_up(promise->mu, 6), tremolo_digits_up(0.5 * promise->mu * promise->mu, 6),
        promised->epsilon, tremolo_digits_up(promise->delta, 3));
}

/* Is the attacker right a little less than always? */
static bool is_nearly_always(const struct tremolo_difference *row)
{
    return row->attacker_right >= 1.0 && isfinite(row->epsilon);
}

static void say_reviewer(struct words *words, const struct tremolo_promise *promise,
                         const struct tremolo_difference *promised)
{
    char right[TREMOLO_PERCENT_BYTES];
    bool ballot = is_ballot(promise);
    say_what_is_given(words, promise);
    if (ballot) { /* the mechanism's name does not tell what it is */
        say(words,
            " A ballot is one of %d random answers about products of the sample's values. The "
            "sample orders them by how well they fit; the one sent has a rank that was drawn "
            "before, one of the first %u with probability %.4f, else one of the others.",
            TREMOLO_RANK_ANSWERS, promise->law.first, promise->law.top / 4294967296.0);
    }
    say(words, " For ");
    say_neighbours(words, promise);
    say(words, ", ");
    say_cost(words, promise, promised);
    if (is_nearly_always(promised)) {
        say(words, "; a test between the two, at even odds, may be right above 99.9%% of the time");
    } else {
        say(words, "; no test between the two, at even odds, is right more than %s of the time",
            tremolo_percent_text(right, promised->attacker_right, false));
    }
    say(words,
        ". %s The guarantee is local: it holds against the server. It assumes %s%s and a ledger "
        "that counts every release.",
        !promise->response_private ? "The response is sent as it is, in the clear; it also tells "
                                     "about the features as far as it depends on them."
        : ballot                   ? "The response is protected as the features are."
                                   : "The response is one of the protected coordinates.",
        ballot ? "a rank and an id drawn at random before the sample is touched" : "exact noise",
        promise->modulated ? ", phases that never leave the device," : "");
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

/* What the noise hides, as far as its strength allows to say so, and what is sent openly. */
static void say_what_is_seen(struct words *words, const struct tremolo_promise *promise,
                             enum tremolo_strength strength)
{
    const char *what = promise->response_private ? sample_count(promise) > 1 ? "samples" : "sample"
                                                 : name_or(promise->features, "features");
    if (strength == TREMOLO_STRENGTH_POLICY) {
        say(words, "nobody sees your %s, not even us.", what);
    } else if (strength == TREMOLO_STRENGTH_PAST) {
        say(words,
            "whoever sees the result can guess more about your %s than a device allows by "
            "default: it takes part only if its settings are changed.",
            what);
    } else {
        say(words,
            "whoever sees the result knows your %s nearly as if it had been sent openly: the %s "
            "protects hardly anything.",
            what, is_ballot(promise) ? "chance" : "noise");
    }
    if (!promise->response_private) {
        say(words, " Your %s is sent as it is, without noise.",
            name_or(promise->response, "response"));
    }
}

/* How chance protects, up to "and": in a participant's words. */
static void say_chance(struct words *words, const struct tremolo_promise *promise)
{
    double fitting = promise->law.top / 4294967296.0;
    if (!is_ballot(promise)) {
        say(words, "Your device adds random noise before anything leaves it");
        return;
    }
    say(words,
        "Your device is asked a random question about your answers, and chance decides before it "
        "looks at them whether it tells the truth: about %.0f times in 100 the reply is one that "
        "fits, about %.0f times it is a random wrong one. It does not say which it was",
        100.0 * fitting, 100.0 - round(100.0 * fitting));
}

static void say_candidates(struct words *words, const struct tremolo_promise *promise)
{
    char apart[384] = "";
    list_apart(apart, sizeof apart, promise, promise->distance);
    if (promise->neighbours == TREMOLO_NEIGHBOURS_ANY) {
        say(words, "guessing between any two candidates");
    } else if (apart[0] != '\0') {
        say(words,
            "guessing between two candidates who differ by at most so much in one thing alone: %s",
            apart);
    } else {
        say(words, "guessing between two candidates at most %g apart%s",
            tremolo_digits_down(promise->distance, 6), unit_of(promise));
    }
}

/* No distance below their whole range limits how far answers are apart. */
static void say_answers(struct words *words, const struct tremolo_promise *promise)
{
    struct tremolo_difference furthest = {.distance = 0};
    for (size_t i = 0; i < promise->way_count; i++) {
        furthest.distance = fmax(furthest.distance, promise->ways[i].distance);
    }
    if (promise->diameter > 0) {
        furthest.distance = fmin(furthest.distance, promise->diameter);
    }
    if (!promise->answers || !(furthest.distance > promise->distance) ||
        rate(&furthest, promise) != TREMOLO_OK) {
        return;
    }
    say(words, " Two who answer yes and no, or choose different categories, always are: between "
               "them the attacker may be right ");
    if (is_nearly_always(&furthest)) {
        say(words, "above 99.9%% of the time.");
    } else {
        say(words, "%.1f%% of the time.", 100.0 * furthest.attacker_right);
    }
}

static void say_participant(struct words *words, const struct tremolo_promise *promise,
                            const struct tremolo_difference *promised,
                            enum tremolo_strength strength)
{
    char right[TREMOLO_PERCENT_BYTES];
    say_chance(words, promise);
    say(words, ", and ");
    say_what_is_seen(words, promise, strength);
    say(words, " An attacker who knows everything but %s, ",
        !promise->response_private
            ? is_ballot(promise) ? "what chance hides" : "what the noise hides"
        : sample_count(promise) > 1 ? "your samples"
                                    : "your sample");
    say_candidates(words, promise);
    if (is_nearly_always(promised)) {
        say(words, ", may be right above 99.9%% of the time");
    } else {
        say(words, ", is right at most %s of the time",
            tremolo_percent_text(right, promised->attacker_right, false));
    }
    say(words, "; tossing a coin is right 50%% of the time.");
    if (promise->releases > 1) {
        say(words, " This counts all of the %llu reports that your device may send.",
            (unsigned long long)promise->releases);
    }
    if (promise->neighbours != TREMOLO_NEIGHBOURS_ANY) {
        say(words, " Candidates further apart are easier to tell from each other.");
        say_answers(words, promise);
    }
}

/* ---------------------------------------------------------------- differences */

/* How far apart any two are; 0: unknown. */
static double widest_of(const struct tremolo_promise *promise)
{
    return promise->neighbours == TREMOLO_NEIGHBOURS_ANY ? promise->distance : promise->diameter;
}

/* The table while it grows; after a failure no row is added. */
struct rows {
    struct tremolo_explanation *made;
    const struct tremolo_promise *promise;
    double widest; /* how far apart any two are; infinite: unknown */
    enum tremolo_status status;
};

/* The guarantee for two samples so far apart. `how` and `apart`, the distance in each number, say
 * what that is in the numbers' own units. */
static void add_row(struct rows *rows, const char *name, double distance, const char *how,
                    double apart)
{
    char list[TREMOLO_DIFFERENCE_BYTES - 32] = "";
    if (rows->status != TREMOLO_OK || !is_positive(distance)) {
        rows->status = rows->status != TREMOLO_OK ? rows->status : TREMOLO_BAD_ARGUMENT;
        return;
    }
    struct tremolo_difference *row = &rows->made->differences[rows->made->difference_count++];
    row->distance = fmin(distance, rows->widest);
    (void)snprintf(row->name, sizeof row->name, "%s", name);
    list_apart(list, sizeof list, rows->promise, apart);
    if (how != NULL && list[0] != '\0') {
        (void)snprintf(row->words, sizeof row->words, "%s: %s", how, list);
    }
    rows->status = rate(row, rows->promise);
}

/* A row for the whole range of each number, "age, 70 years apart", and one for the widest of those
 * that are too many. */
static void add_extents(struct rows *rows)
{
    const struct tremolo_promise *promise = rows->promise;
    size_t count = promise->extent_count;
    size_t named = count <= TREMOLO_EXPLAIN_WAYS ? count : TREMOLO_EXPLAIN_WAYS - 1;
    struct tremolo_difference way;
    double furthest = 0.0;
    for (size_t i = 0; i < count; i++) {
        const struct tremolo_extent *extent = &promise->extents[i];
        char range[AMOUNT_BYTES];
        (void)snprintf(way.name, sizeof way.name, "%s, %s%s%s apart", extent->name,
                       write_amount(range, extent->range, 6), extent->unit[0] != '\0' ? " " : "",
                       extent->unit);
        if (i < named) {
            add_row(rows, way.name, extent->distance, NULL, 0.0);
        } else {
            furthest = fmax(furthest, extent->distance);
        }
    }
    if (named < count) {
        tremolo_difference_of_more(&way, count - named, furthest);
        add_row(rows, way.name, furthest, NULL, 0.0);
    }
}

/* The promise's ways, or its extents from end to end; then a typical pair, what is promised, and
 * any two. */
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
    double widest = widest_of(promise);
    double typical = tremolo_typical_distance(promise->dimension);
    struct rows rows = {made, promise, widest > 0.0 ? widest : (double)INFINITY, TREMOLO_OK};
    for (size_t i = 0; i < promise->way_count; i++) {
        add_row(&rows, promise->ways[i].name, promise->ways[i].distance, NULL, 0.0);
    }
    if (promise->way_count == 0 && promise->extent_count == 0) {
        add_row(&rows, "unit distance", 1.0, NULL, 0.0);
    } else if (promise->way_count == 0) {
        add_extents(&rows);
    }
    add_row(&rows, "typical pair", typical, "all at once",
            fmin(typical, rows.widest) / sqrt((double)promise->dimension));
    if (promise->neighbours != TREMOLO_NEIGHBOURS_ANY) {
        add_row(&rows, "promised", promise->distance, "each alone",
                fmin(promise->distance, rows.widest));
    }
    if (widest > 0.0) {
        add_row(&rows, "any two", widest, "all at once", INFINITY);
    }
    return rows.status;
}

/* ---------------------------------------------------------------- strength */

/* Between any two people, at the default policy's delta; infinite where that is not known. */
static double epsilon_any_two(const struct tremolo_promise *promise,
                              const struct tremolo_difference *promised)
{
    if (is_ballot(promise)) {
        return promised->epsilon;
    }
    double widest = widest_of(promise);
    double mu = widest > 0.0 ? mu_of(promise, widest) : INFINITY;
    struct tremolo_certified bound;
    bool known = epsilon_at(&bound, mu, TREMOLO_POLICY_DELTA) == TREMOLO_OK;
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
    struct words reviewer = {.text = made.reviewer};
    struct words participant = {.text = made.participant};
    if (explanation == NULL || promise == NULL || !promise_makes_sense(promise)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    promised.distance = promise->distance;
    enum tremolo_status status =
        is_ballot(promise) ? rate_ballots(&promised, promise) : rate(&promised, promise);
    if (status != TREMOLO_OK) {
        return status;
    }
    made.strength = strength_of(promise, &promised);
    say_reviewer(&reviewer, promise, &promised);
    say_participant(&participant, promise, &promised, made.strength);
    status = reviewer.cut || participant.cut ? TREMOLO_SHORT_BUFFER
                                             : add_rows(&made, promise, &promised);
    bool far = is_ballot(promise) || widest_of(promise) > 0.0;
    made.any_two = made.difference_count - (far ? 1 : 0); /* it comes last */
    if (status == TREMOLO_OK) {
        *explanation = made;
    }
    return status;
}
