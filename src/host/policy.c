/* policy.c -- what this device allows, whatever a study asks. */
#include "tremolo_policy.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy_distance.h"
#include "tremolo_privacy.h"

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

/* A misspelt limit would be no limit: unknown keys are refused. */
static const char *unknown_key(json_t *root)
{
    static const char *const known[] = {"epsilon_per_study", "epsilon_total", "delta",
                                        "distance",          "studies",       "comment"};
    for (void *at = json_object_iter(root); at != NULL; at = json_object_iter_next(root, at)) {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            found = found || strcmp(json_object_iter_key(at), known[i]) == 0;
        }
        if (!found) {
            return json_object_iter_key(at);
        }
    }
    return NULL;
}

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
    if (!policy_read_distance(policy, root)) {
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
                       "apart; a policy that allows so much and whose \"distance\" says so of each "
                       "feature, in its own unit, allows it, and protects no others",
                       tremolo_digits_up(own.epsilon, 4), distance);
    } else if (epsilon <= 100) {
        (void)snprintf(text, bytes, "\"epsilon_per_study\": %.4g in the policy allows it",
                       tremolo_digits_up(epsilon, 4));
    } else {
        (void)snprintf(text, bytes, "no policy allows that much");
    }
}

static enum tremolo_status refuse_cost(const struct tremolo_policy *policy, char *why, size_t bytes,
                                       const struct tremolo_study_file *file, double epsilon)
{
    const char *between =
        policy_is_any_two(policy, file) ? "any two people" : "the policy's neighbours";
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
    if (policy_is_any_two(policy, file)) {
        return TREMOLO_OK;
    }
    const char *wrong = policy_half_ranges(distance, &at, policy, file);
    if (wrong != NULL) {
        return refuse(TREMOLO_POLICY_REFUSED, why, bytes, "the policy's distance: %.64s %s",
                      at->name, wrong);
    }
    return *distance > 0 ? TREMOLO_OK
                         : refuse(TREMOLO_POLICY_REFUSED, why, bytes,
                                  "the policy's distance protects none of the study's features");
}

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

enum tremolo_status tremolo_policy_budget(uint32_t *budget, const struct tremolo_policy *policy)
{
    return policy == NULL ? TREMOLO_BAD_ARGUMENT
                          : tremolo_study_budget(budget, policy->epsilon_total, policy->delta);
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

enum tremolo_status tremolo_policy_allows(uint32_t *allowed, const struct tremolo_policy *policy,
                                          enum tremolo_release_kind kind, const uint32_t spent[2])
{
    double pure = spent[TREMOLO_RELEASE_BALLOT] / (double)TREMOLO_CHARGE_ONE;
    double gaussian = 0;
    enum tremolo_status status = TREMOLO_OK;
    if (kind == TREMOLO_RELEASE_BALLOT) {
        status = tremolo_study_spent(&gaussian, spent[TREMOLO_RELEASE_SAMPLE], policy->delta);
        if (status == TREMOLO_OK) {
            *allowed = whole_epsilon(policy->epsilon_total - gaussian);
        }
        return status;
    }
    if (!(policy->epsilon_total > pure)) {
        *allowed = 0;
        return TREMOLO_OK;
    }
    status = tremolo_study_budget(allowed, policy->epsilon_total - pure, policy->delta);
    if (status == TREMOLO_UNREACHABLE) {
        *allowed = 0;
        status = TREMOLO_OK;
    }
    return status;
}
