/* policy_distance.c -- whom a policy calls neighbours, in units of its own.
 *
 * A study's distance is in half ranges of bounds that its server chose: with bounds a
 * hundredth as wide, the same number protects a hundredth. A policy therefore says
 * how far apart people may be in each feature, in the feature's own unit, and
 * the half ranges of a study in which these people lie follow from its bounds:
 * two people whose differences, each as a share of the number the policy names for that
 * feature, have squares that add up to at most 1 are at most the largest
 * 2 apart / (high - low) half ranges apart in these features together. In a feature that is
 * `true` they may differ by all they can besides, so that its square is added. */
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
    bool named = !policy_is_any_two(policy, file) &&
                 policy_half_ranges(&half_ranges, &at, policy, file) == NULL;
    return tremolo_study_file_device_at(file, named ? half_ranges : 0);
}

/* ---------------------------------------------------------------- writing */

/* How far apart in a number, beside what is true: six significant digits as they are
 * written and read again, rounded down, so that policy_half_ranges() finds no more than the
 * study protects. */
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
