/* policy_distance.c -- whom a policy calls neighbours, in units of its own.
 *
 * A study's distance is in half ranges of bounds that its server chose: with bounds a
 * hundredth as wide, the same number protects a hundredth. A policy therefore says
 * how far apart people may be in each feature, in the feature's own unit, and
 * the half ranges of a study in which these people lie follow from its bounds:
 * two people whose differences, each as a share of what the policy names for that
 * feature, have squares that add up to at most 1 are at most the largest
 * 2 apart / (high - low) half ranges apart. */
#include "policy_distance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- reading */

/* A number in the feature's own unit, true or false. */
static bool read_apart(double *apart, const json_t *value)
{
    *apart = json_is_true(value) ? INFINITY : json_number_value(value);
    return json_is_boolean(value) || (json_is_number(value) && *apart > 0 && isfinite(*apart));
}

bool policy_read_distance(struct tremolo_policy *policy, json_t *root)
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

/* How far apart two people are who differ in this feature by all they can. */
static double widest(const struct tremolo_study_feature *feature)
{
    return feature->kind == TREMOLO_STUDY_CATEGORY && feature->level_count > 2 ? sqrt(8) : 2;
}

bool policy_is_any_two(const struct tremolo_policy *policy, const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    return policy->feature_count == 0 || terms->distance == 0 ||
           terms->release == TREMOLO_RELEASE_BALLOT;
}

const char *policy_half_ranges(double *half_ranges, const struct tremolo_study_feature **at,
                               const struct tremolo_policy *policy,
                               const struct tremolo_study_file *file)
{
    *half_ranges = 0;
    for (size_t i = 0; (*at = protected_feature(file, i)) != NULL; i++) {
        const struct tremolo_policy_feature *named = find(policy, (*at)->name);
        if (named == NULL) {
            return "is not named";
        }
        bool number = named->apart > 0 && isfinite(named->apart);
        if (number && (*at)->kind != TREMOLO_STUDY_NUMERIC) {
            return "has a number, but is a choice of answers in the study: true or false";
        }
        double range = (*at)->high - (*at)->low;
        double apart = number ? 2 * named->apart / range : named->apart > 0 ? widest(*at) : 0;
        *half_ranges = fmax(*half_ranges, apart);
    }
    return NULL;
}

struct tremolo_study tremolo_policy_device(const struct tremolo_policy *policy,
                                           const struct tremolo_study_file *file)
{
    const struct tremolo_study_feature *at = NULL;
    double half_ranges = 0;
    bool named = !policy_is_any_two(policy, file) &&
                 policy_half_ranges(&half_ranges, &at, policy, file) == NULL;
    return tremolo_study_file_device_at(file, named ? half_ranges : 0);
}

/* ---------------------------------------------------------------- writing */

/* Six significant digits, rounded down: what is written is never further apart than the
 * study protects. */
static double digits_down(double apart)
{
    double unit = pow(10, floor(log10(apart)) - 5);
    return floor(apart / unit + 1e-6) * unit;
}

bool tremolo_policy_name_distance(struct tremolo_policy *policy,
                                  const struct tremolo_study_file *file)
{
    double distance = tremolo_study_file_terms(file)->distance;
    const struct tremolo_study_feature *from;
    policy->feature_count = 0;
    for (size_t i = 0; distance > 0 && (from = protected_feature(file, i)) != NULL; i++) {
        if (i == TREMOLO_POLICY_MAX_FEATURES) {
            policy->feature_count = 0;
            return false;
        }
        struct tremolo_policy_feature *to = &policy->features[policy->feature_count++];
        (void)snprintf(to->name, sizeof to->name, "%s", from->name);
        to->apart = from->kind == TREMOLO_STUDY_NUMERIC
                        ? digits_down(distance * (from->high - from->low) / 2)
                    : distance >= widest(from) ? INFINITY
                                               : 0;
    }
    return true;
}

static json_t *number(double value)
{
    return value == floor(value) && fabs(value) < 1e15 ? json_integer((json_int_t)value)
                                                       : json_real(value);
}

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
