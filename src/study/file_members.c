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

struct study_place study_enter(struct study_reader *reader, const char *key)
{
    struct study_place before = reader->at;
    size_t length = before.path_length;
    int written = snprintf(reader->path + length, sizeof reader->path - length, "%s%s",
                           length > 0 && *key != '\0' ? "." : "", key);
    size_t grown = length + (written > 0 ? (size_t)written : 0);
    /* Paths that do not fit are cut; the reason still stands beside them. */
    reader->at.path_length = grown < sizeof reader->path ? grown : sizeof reader->path - 1;
    reader->at.value = json_object_get(before.value, key);
    return before;
}

struct study_place study_enter_element(struct study_reader *reader, const char *key, size_t index)
{
    char element[64];
    (void)snprintf(element, sizeof element, "%s[%zu]", key, index);
    struct study_place before = study_enter(reader, element);
    reader->at.value = json_array_get(json_object_get(before.value, key), index);
    return before;
}

void study_leave(struct study_reader *reader, struct study_place before)
{
    reader->at = before;
    reader->path[before.path_length] = '\0';
}

bool study_problem(struct study_reader *reader, const char *key, const char *format, ...)
{
    struct tremolo_study_problems *problems = reader->problems;
    problems->count++;
    if (problems->stored == TREMOLO_STUDY_MAX_PROBLEMS) {
        return false;
    }
    struct tremolo_study_problem *problem = &problems->item[problems->stored++];
    struct study_place before = study_enter(reader, key);
    (void)snprintf(problem->path, sizeof problem->path, "%s", reader->path);
    study_leave(reader, before);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem->reason, sizeof problem->reason, format, arguments);
    va_end(arguments);
    /* Keys and values come from outside. */
    (void)tremolo_text_clean(problem->path);
    (void)tremolo_text_clean(problem->reason);
    return false;
}

static const json_t *member(struct study_reader *reader, const char *key, enum study_need need)
{
    const json_t *found = json_object_get(reader->at.value, key);
    if (found == NULL && need == STUDY_REQUIRED) {
        study_problem(reader, key, "is required");
    }
    return found;
}

bool study_number(struct study_reader *reader, double *value, const char *key, enum study_need need,
                  const struct study_interval *interval)
{
    const json_t *found = member(reader, key, need);
    if (found == NULL) {
        return need == STUDY_OPTIONAL;
    }
    if (!json_is_number(found)) {
        return study_problem(reader, key, "must be a number");
    }
    double number = json_number_value(found) + 0.0; /* minus zero becomes zero */
    bool low = interval->low_open ? number > interval->low : number >= interval->low;
    bool high = interval->high_open ? number < interval->high : number <= interval->high;
    if (!low || !high) {
        return study_problem(reader, key, "must be %s %g and %s %g, but is %g",
                             interval->low_open ? "above" : "at least", interval->low,
                             interval->high_open ? "below" : "at most", interval->high, number);
    }
    *value = number;
    return true;
}

bool study_whole(struct study_reader *reader, uint64_t *value, const char *key,
                 enum study_need need, uint64_t low, uint64_t high)
{
    const json_t *found = member(reader, key, need);
    if (found == NULL) {
        return need == STUDY_OPTIONAL;
    }
    /* 2e6 is as whole as 2000000. No limit here is near 2^53. */
    double number = json_is_number(found) ? json_number_value(found) : -1.0;
    if (number != floor(number) || !(number >= (double)low && number <= (double)high)) {
        return study_problem(reader, key, "must be a whole number from %llu to %llu",
                             (unsigned long long)low, (unsigned long long)high);
    }
    *value = (uint64_t)number;
    return true;
}

bool study_text(struct study_reader *reader, const char **value, const char *key,
                enum study_need need, size_t low, size_t high)
{
    const json_t *found = member(reader, key, need);
    if (found == NULL) {
        return need == STUDY_OPTIONAL;
    }
    if (!json_is_string(found)) {
        return study_problem(reader, key, "must be text");
    }
    size_t length = json_string_length(found);
    if (length < low || length > high) {
        return study_problem(reader, key, "must have %zu to %zu bytes, but has %zu", low, high,
                             length);
    }
    if (!tremolo_text_is_plain(json_string_value(found))) {
        return study_problem(reader, key,
                             "must not hold control characters, nor such that turn the "
                             "direction of writing");
    }
    *value = json_string_value(found);
    return true;
}

bool study_find(unsigned *place, const char *const *words, const char *word)
{
    for (unsigned i = 0; word != NULL && words[i] != NULL; i++) {
        if (strcmp(word, words[i]) == 0) {
            *place = i;
            return true;
        }
    }
    return false;
}

bool study_choice(struct study_reader *reader, unsigned *value, const char *key,
                  enum study_need need, const char *const *choices)
{
    const json_t *found = member(reader, key, need);
    if (found == NULL) {
        return need == STUDY_OPTIONAL;
    }
    if (study_find(value, choices, json_string_value(found))) {
        return true;
    }
    return choices[2] == NULL
               ? study_problem(reader, key, "must be \"%s\" or \"%s\"", choices[0], choices[1])
               : study_problem(reader, key, "must be \"%s\", \"%s\" or \"%s\"", choices[0],
                               choices[1], choices[2]);
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

/* True for a date that exists: one that reads back as it was written. */
bool tremolo_study_date_read(int64_t *seconds, const char *text)
{
    static const size_t date_length = sizeof "2026-11-15" - 1;
    char full[TREMOLO_STUDY_DATE_BYTES];
    char again[TREMOLO_STUDY_DATE_BYTES];
    struct tm parts = {0};
    int length =
        snprintf(full, sizeof full, "%s%s", text, strlen(text) == date_length ? "T00:00:00Z" : "");
    if (length >= (int)sizeof full || strptime(full, "%Y-%m-%dT%H:%M:%SZ", &parts) == NULL) {
        return false;
    }
    int64_t time = (int64_t)timegm(&parts);
    tremolo_study_date_text(again, time);
    if (time < 0 || strcmp(again, full) != 0) {
        return false;
    }
    *seconds = time;
    return true;
}

bool study_date(struct study_reader *reader, int64_t *value, const char *key)
{
    const json_t *found = json_object_get(reader->at.value, key);
    if (found == NULL) {
        return true;
    }
    const char *text = json_string_value(found);
    if (text == NULL || !tremolo_study_date_read(value, text)) {
        return study_problem(reader, key,
                             "must be a date from 1970 to 9999 as \"2026-11-15\" or "
                             "\"2026-11-15T08:00:00Z\"");
    }
    return true;
}

/* ---------------------------------------------------------------- objects */

void study_only_keys(struct study_reader *reader, const char *const *keys)
{
    /* jansson's iterator wants a mutable object, though it changes nothing. */
    json_t *object = (json_t *)(uintptr_t)reader->at.value;
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const char *key = json_object_iter_key(at);
        unsigned place;
        if (strcmp(key, "comment") == 0) {
            if (!json_is_string(json_object_iter_value(at))) {
                study_problem(reader, key, "must be text");
            }
        } else if (!study_find(&place, keys, key)) {
            study_problem(reader, key, "is not a key of a study");
        }
    }
}

bool study_open(struct study_reader *reader, struct study_place *before, const char *key,
                enum study_need need, const char *const *keys)
{
    const json_t *found = member(reader, key, need);
    if (found != NULL && !json_is_object(found)) {
        return study_problem(reader, key, "must be an object");
    }
    if (found == NULL) {
        return false;
    }
    *before = study_enter(reader, key);
    study_only_keys(reader, keys);
    return true;
}
