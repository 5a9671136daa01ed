/* file_members.c -- read one member of a JSON object, or say what is wrong.
 *
 * A reader never stops at the first problem: each call notes its own and
 * returns, so that whoever wrote the file hears of everything at once. */
#include "study_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tremolo_text.h"

/* Paths that do not fit are cut; the reason still stands beside them. */
static void append_path(struct study_reader *reader, const char *key)
{
    int written =
        snprintf(reader->path + reader->path_length, sizeof reader->path - reader->path_length,
                 "%s%s", reader->path_length > 0 && *key != '\0' ? "." : "", key);
    size_t grown = reader->path_length + (written > 0 ? (size_t)written : 0);
    reader->path_length = grown < sizeof reader->path ? grown : sizeof reader->path - 1;
}

size_t study_enter(struct study_reader *reader, const char *key)
{
    size_t before = reader->path_length;
    append_path(reader, key);
    return before;
}

size_t study_enter_element(struct study_reader *reader, const char *key, size_t index)
{
    char element[64];
    (void)snprintf(element, sizeof element, "%s[%zu]", key, index);
    return study_enter(reader, element);
}

void study_leave(struct study_reader *reader, size_t path_length)
{
    reader->path_length = path_length;
    reader->path[path_length] = '\0';
}

void study_problem(struct study_reader *reader, const char *key, const char *format, ...)
{
    struct tremolo_study_problems *problems = reader->problems;
    problems->count++;
    if (problems->stored == TREMOLO_STUDY_MAX_PROBLEMS) {
        return;
    }
    struct tremolo_study_problem *problem = &problems->item[problems->stored++];
    size_t before = study_enter(reader, key);
    (void)snprintf(problem->path, sizeof problem->path, "%s", reader->path);
    study_leave(reader, before);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem->reason, sizeof problem->reason, format, arguments);
    va_end(arguments);
    /* Keys and values come from outside. */
    (void)tremolo_text_clean(problem->path);
    (void)tremolo_text_clean(problem->reason);
}

/* The member, or NULL; *fine says whether NULL is in order. */
static const json_t *member(struct study_reader *reader, bool *fine, const json_t *object,
                            const char *key, enum study_need need)
{
    const json_t *found = json_object_get(object, key);
    *fine = found == NULL && need == STUDY_OPTIONAL;
    if (found == NULL && need == STUDY_REQUIRED) {
        study_problem(reader, key, "is required");
    }
    return found;
}

bool study_number(struct study_reader *reader, double *value, const json_t *object, const char *key,
                  enum study_need need, const struct study_interval *interval)
{
    bool fine = false;
    const json_t *found = member(reader, &fine, object, key, need);
    if (found == NULL) {
        return fine;
    }
    if (!json_is_number(found)) {
        study_problem(reader, key, "must be a number");
        return false;
    }
    double number = json_number_value(found) + 0.0; /* minus zero becomes zero */
    bool low = interval->low_open ? number > interval->low : number >= interval->low;
    bool high = interval->high_open ? number < interval->high : number <= interval->high;
    if (!low || !high) {
        study_problem(reader, key, "must be %s %g and %s %g, but is %g",
                      interval->low_open ? "above" : "at least", interval->low,
                      interval->high_open ? "below" : "at most", interval->high, number);
        return false;
    }
    *value = number;
    return true;
}

bool study_whole(struct study_reader *reader, uint64_t *value, const json_t *object,
                 const char *key, enum study_need need, uint64_t low, uint64_t high)
{
    bool fine = false;
    const json_t *found = member(reader, &fine, object, key, need);
    if (found == NULL) {
        return fine;
    }
    /* 2e6 is as whole as 2000000. No limit here is near 2^53. */
    double number = json_is_number(found) ? json_number_value(found) : -1.0;
    if (!json_is_number(found) || number != floor(number) || !(number >= (double)low) ||
        !(number <= (double)high)) {
        study_problem(reader, key, "must be a whole number from %llu to %llu",
                      (unsigned long long)low, (unsigned long long)high);
        return false;
    }
    *value = (uint64_t)number;
    return true;
}

bool study_text(struct study_reader *reader, const char **value, const json_t *object,
                const char *key, enum study_need need, size_t low, size_t high)
{
    bool fine = false;
    const json_t *found = member(reader, &fine, object, key, need);
    if (found == NULL) {
        return fine;
    }
    if (!json_is_string(found)) {
        study_problem(reader, key, "must be text");
        return false;
    }
    size_t length = json_string_length(found);
    if (length < low || length > high) {
        study_problem(reader, key, "must have %zu to %zu bytes, but has %zu", low, high, length);
        return false;
    }
    if (!tremolo_text_is_plain(json_string_value(found))) {
        study_problem(reader, key,
                      "must not hold control characters, nor such that turn the "
                      "direction of writing");
        return false;
    }
    *value = json_string_value(found);
    return true;
}

bool study_choice(struct study_reader *reader, unsigned *value, const json_t *object,
                  const char *key, enum study_need need, const char *const *choices)
{
    bool fine = false;
    const json_t *found = member(reader, &fine, object, key, need);
    if (found == NULL) {
        return fine;
    }
    const char *text = json_string_value(found);
    for (unsigned i = 0; text != NULL && choices[i] != NULL; i++) {
        if (strcmp(text, choices[i]) == 0) {
            *value = i;
            return true;
        }
    }
    if (choices[1] == NULL) {
        study_problem(reader, key, "must be \"%s\"", choices[0]);
    } else if (choices[2] == NULL) {
        study_problem(reader, key, "must be \"%s\" or \"%s\"", choices[0], choices[1]);
    } else {
        study_problem(reader, key, "must be \"%s\", \"%s\" or \"%s\"", choices[0], choices[1],
                      choices[2]);
    }
    return false;
}

/* ---------------------------------------------------------------- dates */

void tremolo_study_date_text(char text[TREMOLO_STUDY_DATE_BYTES], int64_t unix_seconds)
{
    time_t time = (time_t)unix_seconds;
    struct tm parts;
    if (gmtime_r(&time, &parts) == NULL ||
        strftime(text, TREMOLO_STUDY_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        text[0] = '\0';
    }
}

/* Digits where the pattern has 0, the pattern's own character elsewhere. */
static bool matches(const char *text, const char *pattern)
{
    for (; *pattern != '\0'; text++, pattern++) {
        if (*pattern == '0' ? *text < '0' || *text > '9' : *text != *pattern) {
            return false;
        }
    }
    return *text == '\0';
}

static int two_digits(const char *text)
{
    return (text[0] - '0') * 10 + (text[1] - '0');
}

/* True for a date that exists: one that reads back as it was written. */
bool tremolo_study_date_read(int64_t *seconds, const char *text)
{
    char full[TREMOLO_STUDY_DATE_BYTES];
    if (matches(text, "0000-00-00")) {
        (void)snprintf(full, sizeof full, "%sT00:00:00Z", text);
    } else if (matches(text, "0000-00-00T00:00:00Z")) {
        (void)snprintf(full, sizeof full, "%s", text);
    } else {
        return false;
    }
    struct tm parts = {
        .tm_year = two_digits(full) * 100 + two_digits(full + 2) - 1900,
        .tm_mon = two_digits(full + 5) - 1,
        .tm_mday = two_digits(full + 8),
        .tm_hour = two_digits(full + 11),
        .tm_min = two_digits(full + 14),
        .tm_sec = two_digits(full + 17),
    };
    char again[TREMOLO_STUDY_DATE_BYTES];
    int64_t time = (int64_t)timegm(&parts);
    tremolo_study_date_text(again, time);
    if (time < 0 || strcmp(again, full) != 0) {
        return false;
    }
    *seconds = time;
    return true;
}

bool study_date(struct study_reader *reader, int64_t *value, const json_t *object, const char *key)
{
    const json_t *found = json_object_get(object, key);
    if (found == NULL) {
        return true;
    }
    const char *text = json_string_value(found);
    if (text == NULL || !tremolo_study_date_read(value, text)) {
        study_problem(reader, key,
                      "must be a date from 1970 to 9999 as \"2026-11-15\" or "
                      "\"2026-11-15T08:00:00Z\"");
        return false;
    }
    return true;
}

/* ---------------------------------------------------------------- objects */

const json_t *study_object(struct study_reader *reader, const json_t *object, const char *key,
                           enum study_need need)
{
    bool fine = false;
    const json_t *found = member(reader, &fine, object, key, need);
    if (found != NULL && !json_is_object(found)) {
        study_problem(reader, key, "must be an object");
        return NULL;
    }
    return found;
}

static bool is_listed(const char *key, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        if (strcmp(key, *keys) == 0) {
            return true;
        }
    }
    return false;
}

void study_only_keys(struct study_reader *reader, const json_t *object, const char *const *keys)
{
    /* jansson's iterator wants a mutable object, though it changes nothing. */
    for (void *at = json_object_iter((json_t *)(uintptr_t)object); at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
        const char *key = json_object_iter_key(at);
        if (strcmp(key, "comment") == 0) {
            if (!json_is_string(json_object_iter_value(at))) {
                study_problem(reader, key, "must be text");
            }
        } else if (!is_listed(key, keys)) {
            study_problem(reader, key, "is not a key of a study");
        }
    }
}
