/* policy.c -- what this device allows, whatever a study asks, and whom it calls neighbours.
 *
 * A study's distance is in half ranges of bounds that its server chose: with bounds a
 * hundredth as wide, the same number protects a hundredth. A policy therefore says
 * how far apart people may be in each feature, in the feature's own unit, and
 * the half ranges of a study in which these people lie follow from its bounds. Take the
 * difference of two people in each feature as a share of the number that the policy names for
 * it. If the squares of these shares add up to at most 1, the two are at most the largest
 * 2 apart / (high - low) half ranges apart in these features together. In a feature that is
 * `true` they may also differ by all they can, so that its square is added.
 *
 * Ballots hold between any two people under every policy, so distances matter to noisy samples
 * alone. A limit that cannot be read is no limit, and that is dangerous: unknown keys, wrong types
 * and duplicate keys are refused, and a policy in use is only replaced by one that was read whole. */
#include "policy.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accountant.h"
#include "explain.h"
#include "study_internal.h"
#include "words.h"

/* A sentence for the caller, and the status that goes with it. */
__attribute__((format(printf, 4, 5))) static enum tremolo_status
refuse(enum tremolo_status status, char *why, size_t bytes, const char *format, ...)
{
    if (why != NULL && bytes > 0) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(why, bytes, format, arguments);
        va_end(arguments);
    }
    return status;
}

/* ---------------------------------------------------------------- reading */

/* A number above 0 and at most `high`; a key that is not there leaves the default. */
static bool read_number(double *value, const json_t *root, const char *key, double high)
{
    const json_t *found = json_object_get(root, key);
    if (found == NULL) {
        return true;
    }
    double number = json_number_value(found);
    if (!json_is_number(found) || !(number > 0) || !(number <= high)) {
        return false;
    }
    *value = number;
    return true;
}

/* The ids of the studies that are allowed; an empty list allows none. */
static bool read_studies(struct tremolo_policy *policy, const json_t *root)
{
    const json_t *list = json_object_get(root, "studies");
    if (list == NULL) {
        return true;
    }
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > TREMOLO_POLICY_MAX_STUDIES) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text == NULL ||
            tremolo_base64_decode(policy->studies[i], TREMOLO_STUDY_ID_BYTES, text) != TREMOLO_OK) {
            return false;
        }
    }
    policy->only_listed = true;
    policy->study_count = count;
    return true;
}

/* A number in the feature's own unit, true or false. */
static bool read_apart(double *apart, const json_t *value)
{
    *apart = json_is_true(value) ? INFINITY : json_number_value(value);
    return json_is_boolean(value) || (json_is_number(value) && *apart > 0 && isfinite(*apart));
}

/* "any", or features with a number, true or false each. */
static bool read_distance(struct tremolo_policy *policy, json_t *root)
{
    json_t *object = json_object_get(root, "distance");
    const char *word = json_string_value(object);
    if (object == NULL || (word != NULL && strcmp(word, "any") == 0)) {
        return true;
    }
    if (json_object_size(object) == 0 || json_object_size(object) > TREMOLO_POLICY_MAX_FEATURES) {
        return false; /* of what is no object, too */
    }
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        struct tremolo_policy_feature *feature = &policy->features[policy->feature_count++];
        const char *name = json_object_iter_key(at);
        if (strlen(name) >= sizeof feature->name ||
            !read_apart(&feature->apart, json_object_iter_value(at))) {
            return false;
        }
        memcpy(feature->name, name, strlen(name) + 1);
    }
    return true;
}

/* A misspelt limit would be no limit: unknown keys are refused. */
static const char *unknown_key(json_t *root)
{
    static const char *const known[] = {"epsilon_per_study", "epsilon_total", "delta",
                                        "distance",          "studies",       "comment"};
    enum { KEYS = sizeof known / sizeof known[0] };
    for (void *at = json_object_iter(root); at != NULL; at = json_object_iter_next(root, at)) {
        if (tremolo_words_find(json_object_iter_key(at), known, KEYS) == KEYS) {
            return json_object_iter_key(at);
        }
    }
    return NULL;
}

/* Each key, with a sentence for the first that is wrong. */
static enum tremolo_status read_policy(struct tremolo_policy *policy, char *why, size_t bytes,
                                       json_t *root)
{
    const char *unknown = unknown_key(root);
    if (unknown != NULL) {
        return refuse(TREMOLO_BAD_POLICY, why, bytes,
                      "%.64s is not a key of a policy; there are epsilon_per_study, epsilon_total, "
                      "delta, distance, studies and comment",
                      unknown);
    }
    if (!read_number(&policy->epsilon_per_study, root, "epsilon_per_study", 100) ||
        !read_number(&policy->epsilon_total, root, "epsilon_total", 100)) {
        return refuse(TREMOLO_BAD_POLICY, why, bytes,
                      "epsilon_per_study and epsilon_total must be above 0 and at most 100");
    }
    if (!read_number(&policy->delta, root, "delta", 0.1)) {
        return refuse(TREMOLO_BAD_POLICY, why, bytes, "delta must be above 0 and at most 0.1");
    }
    if (!read_distance(policy, root)) {
        return refuse(TREMOLO_BAD_POLICY, why, bytes,
                      "distance must be \"any\", or for each feature how far apart people are "
                      "in its own unit, as in {\"age\": 10, \"smoker\": false}");
    }
    if (!read_studies(policy, root)) {
        return refuse(TREMOLO_BAD_POLICY, why, bytes, "studies must be a list of at most %d ids",
                      TREMOLO_POLICY_MAX_STUDIES);
    }
    return TREMOLO_OK;
}

/* Into a copy, so that a policy in use is never half read. */
enum tremolo_status tremolo_policy_parse(struct tremolo_policy *policy, char *why, size_t bytes,
                                         const char *json, size_t length)
{
    json_error_t error;
    struct tremolo_policy *read = malloc(sizeof *read);
    if (policy == NULL || json == NULL || read == NULL) {
        free(read);
        return policy == NULL || json == NULL ? TREMOLO_BAD_ARGUMENT : TREMOLO_NO_MEMORY;
    }
    *read = (struct tremolo_policy)TREMOLO_POLICY_DEFAULTS;
    json_t *root = length <= TREMOLO_POLICY_MAX_BYTES
                       ? json_loadb(json, length, JSON_REJECT_DUPLICATES, &error)
                       : NULL;
    enum tremolo_status status =
        json_is_object(root)
            ? read_policy(read, why, bytes, root)
            : refuse(TREMOLO_BAD_POLICY, why, bytes, "must be a JSON object of at most %d bytes",
                     TREMOLO_POLICY_MAX_BYTES);
    if (status == TREMOLO_OK) {
        *policy = *read;
    }
    json_decref(root);
    free(read);
    return status;
}

/* ---------------------------------------------------------------- a study's half ranges */

static const struct tremolo_policy_feature *find(const struct tremolo_policy *policy,
                                                 const char *name)
{
    for (size_t i = 0; i < policy->feature_count; i++) {
        if (strcmp(policy->features[i].name, name) == 0) {
            return &policy->features[i];
        }
    }
    return NULL;
}

/* The i-th of what a study protects: its features, then a private response. */
static const struct tremolo_study_feature *protected_feature(const struct tremolo_study_file *file,
                                                             size_t i)
{
    size_t count = tremolo_study_file_feature_count(file);
    if (i < count) {
        return tremolo_study_file_feature(file, i);
    }
    return i == count && tremolo_study_file_terms(file)->response_private
               ? tremolo_study_file_response(file)
               : NULL;
}

/* How far apart two people are who differ in this feature by all they can, squared. */
static double widest2(const struct tremolo_study_feature *feature)
{
    return feature->kind == TREMOLO_STUDY_CATEGORY && feature->level_count > 2 ? 8 : 4;
}

/* Half ranges between people who are so many apart in the numbers, and differ by all they can
 * in what is true. */
static double together(double numbers, double squares)
{
    return sqrt(numbers * numbers + squares);
}

/* Is this study, under this policy, counted between any two people? Ballots and studies
 * for any two are, under every policy. */
static bool is_any_two(const struct tremolo_policy *policy, const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    return policy->feature_count == 0 || terms->distance == 0 ||
           terms->release == TREMOLO_RELEASE_BALLOT;
}

/* How many of the study's half ranges the policy's neighbours are apart at most, 0 when
 * it protects nothing of the study. Not NULL: what is wrong with the feature *at. */
static const char *find_half_ranges(double *half_ranges, const struct tremolo_study_feature **at,
                                    const struct tremolo_policy *policy,
                                    const struct tremolo_study_file *file)
{
    double largest = 0; /* of the numbers */
    double squares = 0; /* of what is true */
    for (size_t i = 0; (*at = protected_feature(file, i)) != NULL; i++) {
        const struct tremolo_policy_feature *named = find(policy, (*at)->name);
        if (named == NULL) {
            return "is not named";
        }
        bool number = named->apart > 0 && isfinite(named->apart);
        if (number && (*at)->kind != TREMOLO_STUDY_NUMERIC) {
            return "has a number, but is a choice of answers in the study: true or false";
        }
        if (number) {
            largest = fmax(largest, 2 * named->apart / ((*at)->high - (*at)->low));
        } else if (named->apart > 0) {
            squares += widest2(*at);
        }
    }
    *half_ranges = together(largest, squares);
    return NULL;
}

struct tremolo_study tremolo_policy_device(const struct tremolo_policy *policy,
                                           const struct tremolo_study_file *file)
{
    const struct tremolo_study_feature *at = NULL;
    double half_ranges = 0;
    bool named =
        !is_any_two(policy, file) && find_half_ranges(&half_ranges, &at, policy, file) == NULL;
    return tremolo_study_file_device_at(file, named ? half_ranges : 0);
}

/* ---------------------------------------------------------------- asking */

static bool is_listed(const struct tremolo_policy *policy, const uint8_t *id)
{
    for (size_t i = 0; i < policy->study_count; i++) {
        if (memcmp(policy->studies[i], id, TREMOLO_STUDY_ID_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

/* The accountant's upper bound may pass an asked epsilon by rounding. */
static bool exceeds(double epsilon, const struct tremolo_policy *policy)
{
    return epsilon > policy->epsilon_per_study * (1 + 1e-9);
}

/* What to write into the policy for this study, if it is to be allowed: its
 * own neighbours where these are what separates them, else its epsilon. */
static void say_how_to_allow(char *text, size_t bytes, const struct tremolo_policy *policy,
                             const struct tremolo_study_file *file, double epsilon)
{
    struct tremolo_study_guarantee own;
    double distance = tremolo_study_file_terms(file)->distance;
    bool near = distance > 0 &&
                tremolo_study_file_guarantee(&own, file, policy->delta) == TREMOLO_OK &&
                own.epsilon < epsilon;
    if (near && own.epsilon <= 100 && (epsilon > 100 || !exceeds(own.epsilon, policy))) {
        (void)snprintf(text, bytes,
                       "the study's own epsilon %.4g is for people at most %g of its half ranges "
                       "apart; a policy allows it that permits this epsilon and gives the same "
                       "\"distance\" for each feature, in its own unit; it protects no others",
                       tremolo_digits_up(own.epsilon, 4), distance);
    } else if (epsilon <= 100) {
        (void)snprintf(text, bytes, "\"epsilon_per_study\": %.4g in the policy allows it",
                       tremolo_digits_up(epsilon, 4));
    } else {
        (void)snprintf(text, bytes, "no policy allows that much");
    }
}

/* The sentence for a study that costs too much: its cost, the maximum, and what would allow it. */
static enum tremolo_status refuse_cost(const struct tremolo_policy *policy, char *why, size_t bytes,
                                       const struct tremolo_study_file *file, double epsilon)
{
    const char *between = is_any_two(policy, file) ? "any two people" : "the policy's neighbours";
    char cost[32] = "more than 1e6";
    char allow[320];
    if (epsilon <= 1e6) {
        (void)snprintf(cost, sizeof cost, "%.4g", tremolo_digits_up(epsilon, 4));
    }
    say_how_to_allow(allow, sizeof allow, policy, file, epsilon);
    double delta =
        tremolo_study_file_terms(file)->release == TREMOLO_RELEASE_BALLOT ? 0 : policy->delta;
    return refuse(TREMOLO_POLICY_REFUSED, why, bytes,
                  "the study costs epsilon %s between %s at delta %.3g, the policy allows %.4g; %s",
                  cost, between, tremolo_digits_up(delta, 3),
                  tremolo_digits_down(policy->epsilon_per_study, 4), allow);
}

/* The distance, in half ranges of the study, at which it is counted; 0: any two people. */
static enum tremolo_status find_distance(double *distance, const struct tremolo_policy *policy,
                                         char *why, size_t bytes,
                                         const struct tremolo_study_file *file)
{
    const struct tremolo_study_feature *at = NULL;
    *distance = 0;
    if (is_any_two(policy, file)) {
        return TREMOLO_OK;
    }
    const char *wrong = find_half_ranges(distance, &at, policy, file);
    if (wrong != NULL) {
        return refuse(TREMOLO_POLICY_REFUSED, why, bytes, "the policy's distance: %.64s %s",
                      at->name, wrong);
    }
    return *distance > 0 ? TREMOLO_OK
                         : refuse(TREMOLO_POLICY_REFUSED, why, bytes,
                                  "the policy's distance protects none of the study's features");
}

/* The list of studies, then the distance, then the cost between the policy's neighbours. */
enum tremolo_status tremolo_policy_ask(const struct tremolo_policy *policy, char *why, size_t bytes,
                                       const struct tremolo_study_file *file)
{
    struct tremolo_study_guarantee guarantee;
    double distance = 0;
    if (policy == NULL || file == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (policy->only_listed && !is_listed(policy, tremolo_study_file_id(file))) {
        return refuse(TREMOLO_POLICY_REFUSED, why, bytes,
                      "the policy lists the studies it allows, and this is none of them");
    }
    enum tremolo_status status = find_distance(&distance, policy, why, bytes, file);
    if (status != TREMOLO_OK) {
        return status;
    }
    status = tremolo_study_file_guarantee_at(&guarantee, file, policy->delta, distance);
    if (status == TREMOLO_OVERFLOWED) {
        return refuse_cost(policy, why, bytes, file, INFINITY);
    }
    if (status != TREMOLO_OK) {
        return refuse(status, why, bytes, "%s", tremolo_status_sentence(status));
    }
    return exceeds(guarantee.epsilon, policy)
               ? refuse_cost(policy, why, bytes, file, guarantee.epsilon)
               : TREMOLO_OK;
}

/* ---------------------------------------------------------------- budgets */

/* The largest budget (mu^2 / 2^24) that keeps a device's whole life within (epsilon, delta).
 * UNREACHABLE when it is below one unit, OVERFLOWED when it exceeds 32 bits. Rounded down in every
 * step: a ledger may then refuse one release too early, and never too late. */
static enum tremolo_status budget_of(uint32_t *budget, double epsilon, double delta)
{
    struct tremolo_certified mu;
    enum tremolo_status status = tremolo_gaussian_mu_for(&mu, epsilon, delta);
    if (status != TREMOLO_OK) {
        return status;
    }
    /* Squaring may round up by one part in 2^53: step below it first. */
    double charge = floor(nextafter(mu.lower * mu.lower, 0) * (double)TREMOLO_CHARGE_ONE);
    if (!(charge >= 1)) {
        return TREMOLO_UNREACHABLE;
    }
    if (charge > UINT32_MAX) {
        return TREMOLO_OVERFLOWED;
    }
    *budget = (uint32_t)charge;
    return TREMOLO_OK;
}

/* What mu^2 / 2^24 = spent costs at delta; 0 when nothing is spent. Rounded up in every step, as
 * ballots get no more than what it leaves. */
static enum tremolo_status epsilon_spent(double *epsilon, uint32_t spent, double delta)
{
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified found = {0};
    double mu = nextafter(sqrt(spent / (double)TREMOLO_CHARGE_ONE), INFINITY);
    enum tremolo_status status = spent > 0 ? tremolo_gaussian_add(&cost, mu, 1.0, 1) : TREMOLO_OK;
    if (status == TREMOLO_OK && spent > 0) {
        status = tremolo_gaussian_epsilon(&found, &cost, delta);
    }
    if (status == TREMOLO_OK) {
        *epsilon = found.upper;
    }
    return status;
}

enum tremolo_status tremolo_policy_budget(uint32_t *budget, const struct tremolo_policy *policy)
{
    return budget == NULL || policy == NULL
               ? TREMOLO_BAD_ARGUMENT
               : budget_of(budget, policy->epsilon_total, policy->delta);
}

/* What a ledger holds, rounded down to its 1/256: a report that the policy allows and the ledger
 * then refuses would leave a ledger behind that is too small for life. */
static uint32_t whole_epsilon(double epsilon)
{
    uint32_t whole =
        (uint32_t)fmin(fmax(floor(epsilon * (double)TREMOLO_CHARGE_ONE), 0), INT32_MAX);
    return whole & ~(uint32_t)(TREMOLO_CHARGE_ONE / 256 - 1);
}

uint32_t tremolo_policy_epsilon(const struct tremolo_policy *policy)
{
    return whole_epsilon(policy->epsilon_total);
}

/* Each release gets what the other has left of the total: pure epsilons add up, and mu^2 is turned
 * into an epsilon at the policy's delta. */
enum tremolo_status tremolo_policy_allows(uint32_t *allowed, const struct tremolo_policy *policy,
                                          enum tremolo_release_kind kind, const uint32_t spent[2])
{
    double pure = spent[TREMOLO_RELEASE_BALLOT] / (double)TREMOLO_CHARGE_ONE;
    double gaussian = 0;
    enum tremolo_status status = TREMOLO_OK;
    if (kind == TREMOLO_RELEASE_BALLOT) {
        status = epsilon_spent(&gaussian, spent[TREMOLO_RELEASE_SAMPLE], policy->delta);
        if (status == TREMOLO_OK) {
            *allowed = whole_epsilon(policy->epsilon_total - gaussian);
        }
        return status;
    }
    if (!(policy->epsilon_total > pure)) {
        *allowed = 0;
        return TREMOLO_OK;
    }
    status = budget_of(allowed, policy->epsilon_total - pure, policy->delta);
    if (status == TREMOLO_UNREACHABLE) {
        *allowed = 0;
        status = TREMOLO_OK;
    }
    return status;
}

/* ---------------------------------------------------------------- writing */

/* How far apart neighbours may be in a number, once the features that are `true` have had their
 * share: six significant digits as they are written and read again, rounded down, so that
 * find_half_ranges() finds no more than the study protects. */
static double name_number(double distance, double squares, const struct tremolo_study_feature *of)
{
    double range = of->high - of->low;
    double below = sqrt(distance * distance - squares) * range / 2;
    double half_a_digit = pow(10, floor(log10(below)) - 5) / 2;
    for (int i = 0; i < 3; i++, below -= half_a_digit) {
        char text[32];
        (void)snprintf(text, sizeof text, "%.6g", below);
        double written = strtod(text, NULL);
        if (together(2 * written / range, squares) <= distance) {
            return written;
        }
    }
    return 0;
}

/* Choices first, as long as they fit together with the widest number; numbers share the rest. */
bool tremolo_policy_name_distance(struct tremolo_policy *policy,
                                  const struct tremolo_study_file *file)
{
    double distance = tremolo_study_file_terms(file)->distance;
    const struct tremolo_study_feature *from;
    size_t count = 0;
    double least = 0; /* left for the numbers: from end to end of one, squared */
    double squares = 0;
    for (; (from = protected_feature(file, count)) != NULL; count++) {
        least = from->kind == TREMOLO_STUDY_NUMERIC ? widest2(from) : least;
    }
    bool named = count <= TREMOLO_POLICY_MAX_FEATURES;
    policy->feature_count = distance > 0 && named ? count : 0;
    for (size_t i = 0; i < policy->feature_count; i++) {
        from = protected_feature(file, i);
        double more = squares + widest2(from);
        bool any = from->kind != TREMOLO_STUDY_NUMERIC && together(sqrt(least), more) <= distance;
        (void)snprintf(policy->features[i].name, sizeof policy->features[i].name, "%s", from->name);
        policy->features[i].apart = any ? INFINITY : 0;
        squares = any ? more : squares;
    }
    for (size_t i = 0; i < policy->feature_count; i++) {
        from = protected_feature(file, i);
        if (from->kind == TREMOLO_STUDY_NUMERIC) {
            policy->features[i].apart = name_number(distance, squares, from);
        }
    }
    return named || !(distance > 0);
}

/* Whole numbers are written without a point. */
static json_t *number(double value)
{
    return value == floor(value) && fabs(value) < 1e15 ? json_integer((json_int_t)value)
                                                       : json_real(value);
}

/* The neighbours of a policy as its file has them: a number, true or false for each feature. */
static json_t *distance_json(const struct tremolo_policy *policy)
{
    json_t *object = json_object();
    for (size_t i = 0; i < policy->feature_count; i++) {
        double apart = policy->features[i].apart;
        json_t *value = apart > 0 && isfinite(apart) ? number(apart) : json_boolean(apart > 0);
        (void)json_object_set_new(object, policy->features[i].name, value);
    }
    return object;
}

/* Copy JSON text, a single quote as its escape: what is printed can be quoted in a shell. */
static bool copy_unquoted(char *text, size_t bytes, const char *json)
{
    static const char quote[] = "\\u0027";
    size_t used = 0;
    for (; *json != '\0'; json++) {
        size_t width = *json == '\'' ? sizeof quote - 1 : 1;
        if (used + width >= bytes) {
            return false;
        }
        memcpy(text + used, *json == '\'' ? quote : json, width);
        used += width;
    }
    text[used] = '\0';
    return true;
}

/* Six significant digits: a policy is read by people. */
bool tremolo_policy_write(char *text, size_t bytes, const struct tremolo_policy *policy)
{
    json_t *root = json_pack("{s:o, s:o}", "epsilon_per_study", number(policy->epsilon_per_study),
                             "epsilon_total", number(policy->epsilon_total));
    if (root != NULL && policy->feature_count > 0) {
        (void)json_object_set_new(root, "distance", distance_json(policy));
    }
    char *json = root != NULL ? json_dumps(root, JSON_REAL_PRECISION(6)) : NULL;
    bool written = json != NULL && copy_unquoted(text, bytes, json);
    free(json);
    json_decref(root);
    return written;
}
