/* guarantee.c -- what a study's integers promise: in numbers, in words, as JSON.
 *
 * All numbers follow from the integers that devices obey, never from the epsilon that the author asked
 * for: rounding makes the two differ, and only the first is what people get. Every epsilon, mu and
 * rate is rounded up, so that a reader who compares a promise with a limit errs to the safe side.
 *
 * A distance is in half ranges of the study's bounds. The same device can be judged at another
 * distance than the study's own, because the noise does not depend on it: only the sensitivity does.
 * Ballots have one pure epsilon at every distance, so mu, rho and distance are NaN for them. */
#include <math.h>
#include <stdio.h>

#include "document.h"
#include "study_file.h"
#include "accountant.h"
#include "explain.h"

/* ---------------------------------------------------------------- promises */

/* The guarantee of these integers over all releases of a device, at `delta`. `distance` is what is
 * reported as the neighbours' distance; 0: what the integers say. Every number is an upper bound. */
static enum tremolo_status guarantee_of(struct tremolo_study_guarantee *guarantee,
                                        const struct tremolo_study *device, double delta,
                                        double distance)
{
    uint64_t releases = (uint64_t)device->rounds * device->samples;
    if (device->release == TREMOLO_RELEASE_BALLOT) {
        uint32_t charge = tremolo_study_charge(device);
        /* Pure epsilons add up, and hold at any distance and delta. */
        *guarantee = (struct tremolo_study_guarantee){
            .mu = NAN,
            .rho = NAN,
            .epsilon = (double)releases * charge / (double)TREMOLO_CHARGE_ONE,
            .sigma = NAN,
            .sensitivity = NAN,
            .distance = NAN,
            .releases = releases,
            .charge = charge,
        };
        return TREMOLO_OK;
    }
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified epsilon;
    double noise = ldexp(1, device->noise_log2);
    double sensitivity = tremolo_study_sensitivity(device);
    enum tremolo_status status = tremolo_gaussian_add(&cost, sensitivity, noise, releases);
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_epsilon(&epsilon, &cost, delta);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    double apart = device->distance != 0 ? device->distance : 2.0 * device->clip;
    *guarantee = (struct tremolo_study_guarantee){
        .mu = tremolo_gaussian_mu(&cost).upper,
        .rho = tremolo_gaussian_rho(&cost).upper,
        .epsilon = epsilon.upper,
        .delta = delta,
        .sigma = noise / device->unit,
        .sensitivity = sensitivity / device->unit,
        .distance = distance > 0 ? distance : apart / device->unit,
        .releases = releases,
        /* From mu = 16 on, which no checked study reaches at its own distance,
         * a charge does not fit. */
        .charge = sensitivity < 16 * noise ? tremolo_study_charge(device) : UINT32_MAX,
    };
    return TREMOLO_OK;
}

/* At the distance that the study names, if it names one. */
enum tremolo_status tremolo_study_file_guarantee(struct tremolo_study_guarantee *guarantee,
                                                 const struct tremolo_study_file *file,
                                                 double delta)
{
    if (guarantee == NULL || file == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    return guarantee_of(guarantee, &file->device, delta, file->terms.distance);
}

/* Rounded up to whole fine units, so that people at most `distance` apart are covered. Below one
 * unit, or beyond the diameter, any two people are meant. */
struct tremolo_study tremolo_study_file_device_at(const struct tremolo_study_file *file,
                                                  double distance)
{
    struct tremolo_study device = file->device;
    if (device.release == TREMOLO_RELEASE_BALLOT) {
        return device;
    }
    double near = ceil(distance * device.unit);
    /* Two samples are never further apart than the diameter: there, any two are neighbours. */
    bool any = device.distance == 0 || !(near >= 1) || near > 2.0 * device.clip;
    device.distance = any ? 0 : (uint32_t)near;
    return device;
}

/* A policy asks this for its own distance, since a device may count neighbours otherwise than the
 * study's author. */
enum tremolo_status tremolo_study_file_guarantee_at(struct tremolo_study_guarantee *guarantee,
                                                    const struct tremolo_study_file *file,
                                                    double delta, double distance)
{
    if (guarantee == NULL || file == NULL || !(distance >= 0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_study device = tremolo_study_file_device_at(file, distance);
    return guarantee_of(guarantee, &device, delta, device.distance != 0 ? distance : 0);
}

/* "age, steps and sleep"; "" when that is too long for a sentence. */
static void list_features(char *text, size_t bytes, const struct tremolo_study_file *file)
{
    size_t used = 0;
    size_t count = file->feature_count;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *before = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        int written =
            snprintf(text + used, bytes - used, "%s%s", before, file->features[i].shown.name);
        if (written < 0 || (size_t)written >= bytes - used) {
            text[0] = '\0';
            return;
        }
        used += (size_t)written;
    }
}

/* Names are for people: the difference is in the feature's own unit, as they would say it.
 * How far two samples can be apart in one feature alone, in its own unit: a number's
 * range is 2, as are yes and no. */
static void name_difference(struct tremolo_difference *difference,
                            const struct tremolo_study_feature *feature)
{
    if (feature->kind == TREMOLO_STUDY_NUMERIC) {
        (void)snprintf(difference->name, sizeof difference->name, "%s, %.6g%s%s apart",
                       feature->name, feature->high - feature->low,
                       feature->unit[0] != '\0' ? " " : "", feature->unit);
    } else {
        (void)snprintf(difference->name, sizeof difference->name, "a different %s%s",
                       feature->kind == TREMOLO_STUDY_YES_NO ? "answer to " : "", feature->name);
    }
    /* Two levels that are not the reference differ in two coordinates. */
    difference->distance = feature->level_count > 2 ? sqrt(8) : 2;
}

/* With computed terms, people who differ in a feature differ in every coordinate it is part of, in
 * each by at most all of its range. */
static double distance_of_terms(const struct tremolo_study_file *file, size_t feature)
{
    double coordinates = 0;
    for (size_t i = 0; i < file->dimension; i++) {
        const struct tremolo_derived *derived = &file->inputs->feature[i];
        for (size_t k = 0; k < derived->factors; k++) {
            coordinates += derived->factor[k].column == feature ? 1 : 0;
        }
    }
    return 2 * sqrt(coordinates);
}

/* Of computed terms, the numbers among their coordinates. */
size_t tremolo_study_file_extents(struct tremolo_extent *extents,
                                  const struct tremolo_study_file *file)
{
    bool derive = tremolo_inputs_derive(file->inputs);
    size_t all = (derive ? file->dimension : file->feature_count) + file->terms.response_private;
    size_t count = 0;
    for (size_t i = 0; i < all; i++) {
        if (derive) {
            const struct tremolo_study_coordinate *at = &file->coordinates[i];
            extents[count] = (struct tremolo_extent){at->name, "", at->high - at->low, 2};
            count += i == file->dimension ||
                     !tremolo_inputs_are_answers(file->inputs, &file->inputs->feature[i]);
        } else {
            const struct tremolo_study_feature *at = &file->features[i].shown;
            extents[count] = (struct tremolo_extent){at->name, at->unit, at->high - at->low, 2};
            count += at->kind == TREMOLO_STUDY_NUMERIC;
        }
    }
    return count;
}

/* Rows for the first features by name; the rest share one row, which has the widest distance among
 * them, so that it is true of each. */
size_t tremolo_study_file_ways(struct tremolo_difference *ways,
                               const struct tremolo_study_file *file)
{
    size_t count = file->feature_count + file->terms.response_private;
    size_t named = count <= TREMOLO_EXPLAIN_WAYS ? count : TREMOLO_EXPLAIN_WAYS - 1;
    struct tremolo_difference way = {.distance = 0};
    double widest = 0;
    for (size_t i = 0; i < count; i++) {
        struct tremolo_difference *row = i < named ? &ways[i] : &way;
        name_difference(row, &file->features[i].shown);
        if (i < file->feature_count && tremolo_inputs_derive(file->inputs)) {
            row->distance = distance_of_terms(file, i);
        }
        widest = fmax(widest, way.distance);
    }
    if (named < count) {
        tremolo_difference_of_more(&ways[named], count - named, widest);
    }
    return named < count ? named + 1 : count;
}

/* Shortening all samples would make every distance count less than the study says, so it is only
 * said where the radius is below that of the box. */
bool tremolo_study_file_clips(const struct tremolo_study_file *file)
{
    return file->terms.release == TREMOLO_RELEASE_SAMPLE &&
           file->terms.clip < sqrt((double)(file->dimension + file->terms.response_private));
}

/* Proved in sample.c for any distance: reports are the same bytes whichever the study names. */
static double mu_at(const void *context, double distance)
{
    const struct tremolo_study_file *file = context;
    struct tremolo_study device = file->device;
    struct tremolo_gaussian cost = {0};
    double near = fmin(ceil(distance * device.unit), 2.0 * device.clip);
    device.distance = near >= 1 ? (uint32_t)near : 1;
    enum tremolo_status status =
        tremolo_gaussian_add(&cost, tremolo_study_sensitivity(&device), ldexp(1, device.noise_log2),
                             (uint64_t)device.rounds * device.samples);
    return status == TREMOLO_OK ? tremolo_gaussian_mu(&cost).upper : INFINITY;
}

/* Of a ballot nothing counts but law, releases and what is private. */
static struct tremolo_promise promise_of(const struct tremolo_study_file *file,
                                         const struct tremolo_study_guarantee *guarantee)
{
    return (struct tremolo_promise){
        .law = {file->device.rank_first, file->device.rank_top},
        .neighbours =
            file->terms.distance > 0 ? TREMOLO_NEIGHBOURS_DISTANCE : TREMOLO_NEIGHBOURS_ANY,
        .distance = guarantee->distance,
        .diameter = 2.0 * file->device.clip / file->device.unit,
        .dimension = (unsigned)file->dimension,
        .mu = guarantee->mu,
        .releases = guarantee->releases,
        .samples = file->terms.samples,
        .clip = tremolo_study_file_clips(file) ? file->terms.clip : 0,
        .delta = guarantee->delta,
        .response_private = file->terms.response_private,
        .modulated = file->device.vectors > 0,
        .mu_at = mu_at,
        .context = file,
    };
}

/* Words depend on names and units, which the accountant does not know, and on its numbers: both meet
 * here. */
enum tremolo_status tremolo_study_file_explain(struct tremolo_explanation *explanation,
                                               const struct tremolo_study_file *file, double delta)
{
    struct tremolo_study_guarantee guarantee;
    struct tremolo_difference ways[TREMOLO_EXPLAIN_WAYS] = {{.distance = 0}};
    struct tremolo_extent extents[TREMOLO_MAX_DIMENSION + 1];
    char features[TREMOLO_EXPLAIN_NAMES];
    if (explanation == NULL || file == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = tremolo_study_file_guarantee(&guarantee, file, delta);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct tremolo_promise promise = promise_of(file, &guarantee);
    list_features(features, sizeof features, file);
    promise.features = features;
    promise.response = file->response->shown.name;
    promise.ways = ways;
    promise.way_count = tremolo_study_file_ways(ways, file);
    for (size_t i = 0; i < file->feature_count; i++) {
        promise.answers |= file->features[i].shown.kind != TREMOLO_STUDY_NUMERIC;
    }
    promise.extents = extents;
    promise.extent_count = tremolo_study_file_extents(extents, file);
    return tremolo_explain(explanation, &promise);
}

/* ---------------------------------------------------------------- as a document */

/* What the best attacker catches at a share of false alarms: one point of the trade-off. */
struct caught {
    double false_alarms, caught;
};

enum { SHARES = 5, GUESS_BYTES = TREMOLO_PERCENT_BYTES + 32, NEIGHBOURS_BYTES = 48 };

/* The document's members. The explanation comes first, so that WORD_ROWS hold for both structs. */
struct guarantee {
    struct tremolo_explanation explanation;
    double epsilon, delta, mu, rho, right;
    const struct tremolo_difference *any_two; /* NULL: it is not known how far apart they can be */
    uint64_t releases;
    struct caught tradeoff[SHARES];
    size_t shares;
    bool response_private;
    const char *caution;
    char neighbours[NEIGHBOURS_BYTES];
    char answer[3 * GUESS_BYTES + 256];
};

#define NUMBER(key, of, member, ...)                                                               \
    DOCUMENT_ROW(key, REAL, DOCUMENT_NULLABLE, DOCUMENT_AT(struct of, member), __VA_ARGS__)
#define WORDS(key, of, member, ...)                                                                \
    DOCUMENT_ROW(key, TEXT, DOCUMENT_INSIDE, DOCUMENT_AT(struct of, member), __VA_ARGS__)

static const struct document_row difference_rows[] = {
    WORDS("name", tremolo_difference, name, .words = "in what the two differ"),
    WORDS("words", tremolo_difference, words,
          .words = "the same in the features' own units; empty where the name says it"),
    NUMBER("distance", tremolo_difference, distance,
           .words = "in half ranges; null where all pairs are the same, as for ballots"),
    NUMBER("mu", tremolo_difference, mu, .words = "null for ballots"),
    NUMBER("epsilon", tremolo_difference, epsilon, .words = "null: no protection"),
    NUMBER("attacker_right", tremolo_difference, attacker_right,
           .words = "share of right guesses between the two at even odds"),
    {.key = NULL}};

#define WORD_ROWS                                                                                  \
    WORDS("reviewer", tremolo_explanation, reviewer,                                               \
          .words = "the guarantee in words for a privacy reviewer"),                               \
        WORDS("participant", tremolo_explanation, participant,                                     \
              .words = "the guarantee in words for a participant"),                                \
        DOCUMENT_ROW("differences", LIST, DOCUMENT_INSIDE,                                         \
                     DOCUMENT_LIST_AT(struct tremolo_explanation, differences, difference_count),  \
                     .rows = difference_rows,                                                      \
                     .words = "the guarantee for two people who differ in other ways; rates are "  \
                              "rounded up, and null where nothing is protected"),                  \
    {                                                                                              \
        .key = NULL                                                                                \
    }

static const struct document_row word_rows[] = {WORD_ROWS};

/* The part of a difference that matters between any two people; none of their features is named. */
static const struct document_row any_two_rows[] = {
    NUMBER("epsilon", tremolo_difference, epsilon, .words = "null: no protection"),
    NUMBER("attacker_right", tremolo_difference, attacker_right,
           .words = "share of right guesses between the two at even odds"),
    {.key = NULL}};

static const struct document_row caught_rows[] = {
    DOCUMENT_ROW("false_alarms", REAL, 0, DOCUMENT_AT(struct caught, false_alarms)),
    DOCUMENT_ROW("caught", REAL, 0, DOCUMENT_AT(struct caught, caught)),
    {.key = NULL}};

/* In the order of the flag "the response is private", and of enum tremolo_strength. */
const char *const study_protects[] = {"features", "all", NULL};
static const char *const strengths[] = {"policy", "past", "hardly", NULL};

const struct document_row guarantee_rows[] = {
    NUMBER("epsilon", guarantee, epsilon,
           .words = "over all releases of a device, rounded up; null: no protection"),
    NUMBER("delta", guarantee, delta, .words = "0 for pure epsilon"),
    NUMBER("mu", guarantee, mu, .words = "Gaussian privacy; null where the release has none"),
    NUMBER("rho", guarantee, rho, .words = "zCDP; null where the release has none"),
    WORDS("neighbours", guarantee, neighbours,
          .words = "any two people, distance=R with R in half ranges, as in distance=0.25, or, of "
                   "simulations, deviations=R in standard deviations",
          .rules = "{\"pattern\": \"^(any|(distance|deviations)=.+)$\"}"),
    DOCUMENT_ROW("protects", CHOICE, 0, DOCUMENT_AT(struct guarantee, response_private),
                 .choices = study_protects,
                 .words = "all, or features where the response is public"),
    DOCUMENT_ROW("releases", WHOLE, 0, DOCUMENT_AT(struct guarantee, releases), .low = 1,
                 .high = INFINITY, .words = "of a device, which the numbers cover together"),
    NUMBER("attacker_right", guarantee, right,
           .words = "the largest share of right guesses between two neighbours at even odds"),
    DOCUMENT_ROW(
        "any_two", OBJECT, DOCUMENT_NULLABLE | DOCUMENT_POINTER,
        DOCUMENT_AT(struct guarantee, any_two), .rows = any_two_rows,
        .words =
            "the same between any two people; null where it is not known how far apart they can "
            "be"),
    DOCUMENT_ROW(
        "strength", CHOICE, 0, DOCUMENT_AT(struct guarantee, explanation.strength),
        .choices = strengths,
        .words =
            "policy: devices allow it by default, epsilon 2 between any two people at delta "
            "1e-5; past: they refuse it by default; hardly: epsilon is above 10, and the noise "
            "protects hardly anything"),
    WORDS("answer", guarantee, answer, .words = "the guarantee in one sentence"),
    DOCUMENT_ROW("caution", TEXT, 0, DOCUMENT_AT(struct guarantee, caution),
                 .words = "a warning where devices refuse the study by default; empty otherwise"),
    DOCUMENT_ROW("tradeoff", LIST, DOCUMENT_INSIDE,
                 DOCUMENT_LIST_AT(struct guarantee, tradeoff, shares), .rows = caught_rows,
                 .words = "what the best attacker catches at most at these shares of false alarms"),
    WORD_ROWS};

/* The sentences and differences alone: a command that has the explanation writes its own numbers. */
json_t *guarantee_words_json(const struct tremolo_explanation *explanation)
{
    return document_json(word_rows, explanation);
}

json_t *guarantee_schema(void)
{
    return document_schema(guarantee_rows,
                           "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\","
                           "\"$id\": \"https://tremolo.invalid/guarantee.schema.json\","
                           "\"title\": \"A tremolo guarantee\","
                           "\"description\": \"What GET /v1/studies/{id}/guarantee answers, and "
                           "the member \\\"guarantee\\\" of "
                           "other documents.\"}");
}

/* Of a pure epsilon, for an attacker who guesses right so often at even odds: neither a likelihood
 * ratio above e^epsilon nor a distance above 2 right - 1. */
static double caught_of_ballots(double epsilon, double right, double share)
{
    double most = exp(epsilon) * (1 + 0x1p-50);
    return fmin(fmin(1, most * share), fmin(share + 2 * right - 1, 1 - (1 - share) / most));
}

/* What the best attacker catches at some shares of false alarms, rounded up. */
static void fill_tradeoff(struct guarantee *made, bool ballots)
{
    static const double shares[SHARES] = {0.01, 0.05, 0.1, 0.25, 0.5};
    for (size_t i = 0; i < SHARES; i++) {
        struct tremolo_certified missed;
        double caught = NAN;
        if (ballots) {
            caught = caught_of_ballots(made->epsilon, made->right, shares[i]);
        } else if (tremolo_tradeoff_gaussian(&missed, made->mu, shares[i]) == TREMOLO_OK) {
            caught = 1 - missed.lower;
        }
        if (isfinite(caught)) {
            made->tradeoff[made->shares++] = (struct caught){shares[i], caught};
        }
    }
}

/* How often the best guess between neighbours is right. Where mu says nothing of it the last row
 * does, which is for any two samples. */
static double attacker_right(double mu, const struct tremolo_explanation *explanation)
{
    struct tremolo_certified accuracy;
    if (tremolo_attack_accuracy(&accuracy, mu) == TREMOLO_OK) {
        return fmin(accuracy.upper, 1);
    }
    size_t rows = explanation->difference_count;
    return rows > 0 ? explanation->differences[rows - 1].attacker_right : NAN;
}

/* "at most 79.2% of the time"; "always" where there is no epsilon. Returns `text`. */
static const char *guess_words(char text[GUESS_BYTES], double epsilon, double right)
{
    char percent[TREMOLO_PERCENT_BYTES];
    (void)tremolo_percent_text(percent, right, true);
    bool above = percent[0] == '>';
    (void)snprintf(text, GUESS_BYTES, isfinite(epsilon) ? "%s %s of the time" : "always",
                   above ? "above" : "at most", percent + above);
    return text;
}

/* The guarantee in one sentence, the same on every page and in every text. */
static void put_answer(struct guarantee *made, bool near)
{
    char right[GUESS_BYTES], any[GUESS_BYTES] = "always";
    const char *clear = made->response_private ? "" : " The response is sent as it is.";
    (void)guess_words(right, made->epsilon, made->right);
    if (made->any_two != NULL) {
        (void)guess_words(any, made->any_two->epsilon, made->any_two->attacker_right);
    }
    if (near) {
        (void)snprintf(made->answer, sizeof made->answer,
                       "Guessing between two people as alike as the study promises for, an "
                       "attacker is right %s, between any two %s; a coin is right 50%%.%s",
                       right, any, clear);
    } else {
        (void)snprintf(made->answer, sizeof made->answer,
                       "Guessing between any two people, an attacker is right %s; a coin is right "
                       "50%%.%s",
                       right, clear);
    }
}

/* What a reader is warned of; "" where devices allow the study by default. */
static const char *caution_of(enum tremolo_strength strength)
{
    switch (strength) {
    case TREMOLO_STRENGTH_POLICY: return "";
    case TREMOLO_STRENGTH_PAST:
        return "Devices allow epsilon 2 for one study by default, between any two people; those "
               "that report were set to allow more.";
    default: return "The noise protects hardly anything; devices that report were set to allow it.";
    }
}

/* A distance is written as it was asked for; 0: any two. */
static json_t *guarantee_json(struct guarantee *made, const struct tremolo_promise *promise,
                              double epsilon)
{
    const struct tremolo_explanation *explanation = &made->explanation;
    bool near = promise->distance > 0;
    made->epsilon = epsilon;
    made->delta = promise->delta;
    made->mu = promise->mu;
    made->rho = nextafter(promise->mu * promise->mu / 2, INFINITY);
    made->right = attacker_right(promise->mu, explanation);
    made->releases = promise->releases;
    made->response_private = promise->response_private;
    made->caution = caution_of(explanation->strength);
    made->any_two = explanation->any_two < explanation->difference_count
                        ? &explanation->differences[explanation->any_two]
                        : NULL;
    (void)snprintf(made->neighbours, sizeof made->neighbours, near ? "%s=%.15g" : "any",
                   promise->standardised ? "deviations" : "distance", promise->distance);
    fill_tradeoff(made, promise->law.first > 0);
    put_answer(made, near);
    return document_json(guarantee_rows, made);
}

/* The same numbers as tremolo_study_file_guarantee() at the study's own delta, with the sentences of
 * tremolo_study_file_explain(). */
json_t *guarantee_study_json(const struct tremolo_study_file *file)
{
    struct guarantee made = {.shares = 0};
    struct tremolo_study_guarantee promise;
    const struct tremolo_study_terms *terms = &file->terms;
    if (tremolo_study_file_guarantee(&promise, file, terms->delta) != TREMOLO_OK ||
        tremolo_study_file_explain(&made.explanation, file, terms->delta) != TREMOLO_OK) {
        return NULL;
    }
    const struct tremolo_promise stated = {.law = {file->device.rank_first, file->device.rank_top},
                                           .distance = terms->distance,
                                           .mu = promise.mu,
                                           .delta = promise.delta,
                                           .releases = promise.releases,
                                           .response_private = terms->response_private};
    return guarantee_json(&made, &stated, promise.epsilon);
}

/* For releases without a study file: simulations and reproductions state their promise themselves. */
json_t *guarantee_promise_json(const struct tremolo_promise *promise, double epsilon)
{
    struct guarantee made = {.shares = 0};
    struct tremolo_promise stated = *promise;
    if (tremolo_explain(&made.explanation, promise) != TREMOLO_OK) {
        return NULL;
    }
    if (promise->law.first > 0) {
        stated.mu = INFINITY; /* no mu describes ballots */
    }
    stated.distance = promise->neighbours == TREMOLO_NEIGHBOURS_ANY ? 0 : promise->distance;
    return guarantee_json(&made, &stated, epsilon);
}

char *tremolo_study_file_guarantee_json(const struct tremolo_study_file *file)
{
    return json_latch_exact(guarantee_study_json(file));
}

char *tremolo_promise_json(const struct tremolo_promise *promise, double epsilon)
{
    return json_latch_exact(guarantee_promise_json(promise, epsilon));
}
