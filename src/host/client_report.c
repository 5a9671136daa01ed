/* client_report.c -- take a sample, follow the rounds, have reports made and send them.
 *
 * Samples come as JSON or CSV. Both become a list of values by feature, as text or number; then
 * each feature's kind decides. Every feature and the response must be there once, and nothing
 * else: a misspelt name would otherwise make a wrong sample.
 *
 * A round's broadcast is believed when it is signed by the pinned key and its vectors
 * pass the device core's own check. Even a false one could not harm this
 * device, because its guarantee holds for every choice of vectors; it would harm
 * the estimate.
 *
 * The order of a report is the promise that spending comes first:
 *     1. look for stored bytes: they are sent again, whatever the sample holds now;
 *     2. else find the round open, by this device's date and by the server;
 *     3. make the ledger if there is none, and see that the policy's total covers the charge;
 *     4. have the device core charge the ledger and make the bytes, which are durable then;
 *     5. send them until the server answers.
 * Before anything new is charged the round must be open. After the device
 * core's answer nothing can change the bytes: the ledger holds them, and they
 * are sent as they are until the server has answered. */
#include "client_parts.h"

#include <csv.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "study_internal.h"
#include "tremolo_host.h"
#include "words.h"

/* ---------------------------------------------------------------- samples */

static const struct tremolo_bounds raw_bounds = TREMOLO_HOST_BOUNDS;

struct reading {
    const struct tremolo_study_file *file;
    double values[TREMOLO_MAX_COORDINATES]; /* by feature, as inputs.h has them */
    bool seen[TREMOLO_MAX_COORDINATES];     /* by feature; the response is the last */
    char *why;
    size_t why_bytes;
};

/* Add a fault to the sentence: a person who mends a sample wants to see all of them at once. */
__attribute__((format(printf, 2, 3))) static bool complain(const struct reading *reading,
                                                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t used = strnlen(reading->why, reading->why_bytes);
    if (used > 0 && used + 3 < reading->why_bytes) {
        memcpy(reading->why + used, "; ", 3);
        used += 2;
    }
    if (used < reading->why_bytes) {
        (void)vsnprintf(reading->why + used, reading->why_bytes - used, format, arguments);
    }
    va_end(arguments);
    return false;
}

/* -------------------- one value */

/* A feature of the study by its place; the response follows the last one. */
static const struct tremolo_study_feature *feature_at(const struct tremolo_study_file *file,
                                                      size_t index)
{
    return index < tremolo_study_file_feature_count(file) ? tremolo_study_file_feature(file, index)
                                                          : tremolo_study_file_response(file);
}

enum { LIST_BYTES = 320 };

/* The fault of a value names what the feature may be. */
static bool complain_of_value(const struct reading *reading,
                              const struct tremolo_study_feature *feature)
{
    char list[LIST_BYTES];
    if (feature->kind == TREMOLO_STUDY_CATEGORY) {
        tremolo_words_list(list, sizeof list, feature->levels, feature->level_count);
        return complain(reading, "%s must be one of %s", feature->name, list);
    }
    return complain(reading, "%s must be %s", feature->name,
                    feature->kind == TREMOLO_STUDY_YES_NO ? "yes or no" : "a number");
}

/* The fault of an unknown name lists the names there are. */
static bool complain_of_name(const struct reading *reading, const char *name)
{
    const char *names[TREMOLO_MAX_COORDINATES];
    char list[LIST_BYTES];
    size_t count = tremolo_study_file_feature_count(reading->file) + 1;
    for (size_t i = 0; i < count; i++) {
        names[i] = feature_at(reading->file, i)->name;
    }
    tremolo_words_list(list, sizeof list, names, count);
    return complain(reading, "the study has no feature named %.64s; it has %s", name, list);
}

/* A missing value: the number that the study takes for it, or a fault. */
static bool set_missing(struct reading *reading, size_t index)
{
    const struct tremolo_study_feature *feature = feature_at(reading->file, index);
    reading->values[index] = feature->missing;
    return !isnan(feature->missing) || complain(reading, "%s is missing", feature->name);
}

/* `text` is the value as written, whatever its JSON type was. */
static bool set_value(struct reading *reading, const char *name, const char *text)
{
    size_t count = tremolo_study_file_feature_count(reading->file);
    size_t index = 0;
    while (index <= count && strcmp(feature_at(reading->file, index)->name, name) != 0) {
        index++;
    }
    if (index > count) {
        return complain_of_name(reading, name);
    }
    const struct tremolo_study_feature *feature = feature_at(reading->file, index);
    if (reading->seen[index]) {
        return complain(reading, "%s is given twice", feature->name);
    }
    reading->seen[index] = true;
    if (text[0] == '\0') {
        return set_missing(reading, index);
    }
    return tremolo_input_read(&reading->values[index], feature, text) ||
           complain_of_value(reading, feature);
}

/* Each feature that was not given is missing, and the study says what that means. */
static bool all_seen(struct reading *reading)
{
    bool all = true;
    for (size_t i = 0; i <= tremolo_study_file_feature_count(reading->file); i++) {
        if (!reading->seen[i]) {
            all = set_missing(reading, i) && all;
        }
    }
    return all;
}

/* -------------------- JSON */

/* One member of a JSON object. Numbers are written out and read as text, so that both forms of a
 * sample take the same way. */
static bool set_json(struct reading *reading, const char *name, const json_t *value)
{
    char number[64];
    if (json_is_string(value)) {
        return set_value(reading, name, json_string_value(value));
    }
    if (json_is_boolean(value)) {
        return set_value(reading, name, json_is_true(value) ? "true" : "false");
    }
    if (json_is_null(value)) {
        return set_value(reading, name, "");
    }
    if (!json_is_number(value)) {
        return complain(reading, "%.64s must be a number, text or true or false", name);
    }
    (void)snprintf(number, sizeof number, "%.17g", json_number_value(value));
    bool good = set_value(reading, name, number);
    explicit_bzero(number, sizeof number);
    return good;
}

/* The text is parsed twice and compared, because a parser without memory may drop digits silently. */
static bool read_json(struct reading *reading, const char *text, size_t length)
{
    json_error_t error = {.line = 0};
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    json_t *again = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    /* jansson's lexer drops digits when memory runs out; see src/study/study_file.c. */
    if (root != NULL && json_equal(root, again) != 1) {
        json_decref(root);
        root = NULL;
    }
    json_decref(again);
    /* The parser's own words quote the text, which is private. */
    bool good = root != NULL || complain(reading, "line %d is not JSON", error.line);
    for (void *at = json_object_iter(root); at != NULL; at = json_object_iter_next(root, at)) {
        good = set_json(reading, json_object_iter_key(at), json_object_iter_value(at)) && good;
    }
    bool whole = root == NULL || all_seen(reading);
    json_decref(root);
    return good && whole;
}

/* -------------------- CSV */

/* Two lines of a CSV file as libcsv hands out their cells; `failed` once there are more, or no memory
 * for one. */
struct csv_cells {
    char *names[TREMOLO_MAX_COORDINATES];
    char *values[TREMOLO_MAX_COORDINATES];
    size_t columns[2];
    size_t line;
    bool failed;
};

/* libcsv hands out one cell. */
static void on_cell(void *bytes, size_t length, void *context)
{
    struct csv_cells *cells = context;
    if (cells->line > 1 || cells->columns[cells->line] == TREMOLO_MAX_COORDINATES) {
        cells->failed = true;
        return;
    }
    char **place = cells->line == 0 ? cells->names : cells->values;
    char *copy = strndup(length > 0 ? bytes : "", length);
    cells->failed = cells->failed || copy == NULL;
    place[cells->columns[cells->line]++] = copy;
}

static void on_line_end(int separator, void *context)
{
    (void)separator;
    ((struct csv_cells *)context)->line++;
}

/* Values are private: they are wiped. */
static void free_cells(struct csv_cells *cells)
{
    for (size_t i = 0; i < TREMOLO_MAX_COORDINATES; i++) {
        free(cells->names[i]);
        if (cells->values[i] != NULL) {
            explicit_bzero(cells->values[i], strlen(cells->values[i]));
        }
        free(cells->values[i]);
    }
    free(cells);
}

/* Exactly two lines of equally many cells. */
static bool split_csv(struct csv_cells *cells, const char *text, size_t length)
{
    struct csv_parser parser;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
        return false;
    }
    bool good = csv_parse(&parser, text, length, on_cell, on_line_end, cells) == length &&
                csv_fini(&parser, on_cell, on_line_end, cells) == 0;
    csv_free(&parser);
    return good && !cells->failed && cells->line == 2 && cells->columns[0] == cells->columns[1];
}

/* One line of names and one of values. */
static bool read_csv(struct reading *reading, const char *text, size_t length)
{
    struct csv_cells *cells = calloc(1, sizeof *cells);
    if (cells == NULL) {
        return complain(reading, "out of memory");
    }
    bool good = split_csv(cells, text, length) ||
                complain(reading, "must be a JSON object, or one CSV line of names and one of "
                                  "as many values");
    bool known = good;
    for (size_t i = 0; known && i < cells->columns[0]; i++) {
        good = set_value(reading, cells->names[i], cells->values[i]) && good;
    }
    bool whole = !known || all_seen(reading);
    free_cells(cells);
    return good && whole;
}

/* -------------------- both */

/* One number for each coordinate, the response last, into the steps of the device core. Outputs are
 * untouched on failure. */
static enum tremolo_status sample_from_values(int32_t *features, int32_t *response,
                                              const struct tremolo_study_file *file,
                                              const double *values)
{
    int32_t raw[TREMOLO_MAX_COORDINATES];
    size_t d = tremolo_study_file_dimension(file);
    for (size_t i = 0; i <= d; i++) {
        struct tremolo_study_coordinate reach = tremolo_study_file_reach(file, i);
        struct tremolo_host_range range = {reach.low, reach.high};
        enum tremolo_status status = tremolo_host_raw(&raw[i], values[i], &range);
        if (status != TREMOLO_OK) {
            explicit_bzero(raw, sizeof raw);
            return status;
        }
    }
    memcpy(features, raw, d * sizeof *raw);
    *response = raw[d];
    explicit_bzero(raw, sizeof raw);
    return raw_bounds.high == TREMOLO_STUDY_RAW_MAX ? TREMOLO_OK : TREMOLO_BAD_BOUNDS;
}

/* The coordinates from the features' values, and their integers. */
static enum tremolo_status derive(struct reading *reading, int32_t *features, int32_t *response)
{
    const struct tremolo_inputs *inputs = tremolo_study_file_inputs(reading->file);
    double values[TREMOLO_MAX_COORDINATES];
    bool finite = tremolo_inputs_features(values, inputs, reading->values);
    values[inputs->features] = reading->values[inputs->count];
    enum tremolo_status status =
        finite ? sample_from_values(features, response, reading->file, values) : TREMOLO_BAD_SAMPLE;
    if (!finite) {
        (void)complain(reading, "a term of the study has no value for this sample");
    }
    explicit_bzero(values, sizeof values);
    return status;
}

/* JSON when the first character is a brace, else CSV. All that was read is wiped at the end. */
static enum tremolo_status sample_from_text(int32_t *features, int32_t *response, char *why,
                                            size_t bytes, const struct tremolo_study_file *file,
                                            const char *text, size_t length)
{
    struct reading reading = {.file = file, .why_bytes = bytes};
    reading.why = why;
    why[0] = '\0';
    size_t start = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* UTF-8's mark */
    text += start;
    length -= start;
    start = 0;
    while (start < length && strchr(" \t\r\n", text[start]) != NULL && text[start] != '\0') {
        start++;
    }
    bool is_json = start < length && text[start] == '{';
    bool good = length <= TREMOLO_CLIENT_MAX_SAMPLE_BYTES ||
                complain(&reading, "has more than %d bytes", TREMOLO_CLIENT_MAX_SAMPLE_BYTES);
    good = good && (is_json ? read_json(&reading, text, length) : read_csv(&reading, text, length));
    enum tremolo_status status = good ? derive(&reading, features, response) : TREMOLO_BAD_SAMPLE;
    explicit_bzero(&reading, sizeof reading);
    return status;
}

/* -------------------- for callers */

/* Remember whether a sample is held, and pass the status on. */
static enum tremolo_status keep_sample(struct tremolo_client *client, enum tremolo_status status)
{
    client->has_sample = status == TREMOLO_OK;
    return status;
}

enum tremolo_status tremolo_client_sample(struct tremolo_client *client, const char *text,
                                          size_t length)
{
    if (client == NULL || text == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    return keep_sample(client, sample_from_text(client->features, &client->response, client->why,
                                                sizeof client->why, client->study, text, length));
}

enum tremolo_status tremolo_client_values(struct tremolo_client *client, const double *values,
                                          size_t count)
{
    if (client == NULL || values == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (count != tremolo_study_file_dimension(client->study) + 1) {
        return keep_sample(client, client_fails_plainly(client, TREMOLO_BAD_SAMPLE));
    }
    enum tremolo_status status =
        sample_from_values(client->features, &client->response, client->study, values);
    if (status != TREMOLO_OK) {
        (void)client_fails_plainly(client, status);
    }
    return keep_sample(client, status);
}

enum tremolo_status tremolo_client_sample_number(struct tremolo_client *client, unsigned number)
{
    if (client == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (number >= tremolo_study_file_device(client->study)->samples) {
        return client_fails_plainly(client, TREMOLO_BAD_SAMPLES);
    }
    client->sample_number = (uint16_t)number;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- rounds */

enum {
    NEXT_DEFAULT_S = 30,
    NEXT_LONGEST_S = 3600,
    POLLS_MAX = 10000000,
    POLL_SHORTEST_MS = 1000,
};

/* When to come again, from "next" of an answer in seconds. Ends that make no sense are replaced: the
 * server can neither silence a device nor make it ask in a tight loop. */
static void read_next(struct client_round *round, const json_t *root)
{
    const json_t *next = json_object_get(root, "next");
    json_int_t earliest = NEXT_DEFAULT_S / 2;
    json_int_t latest = NEXT_DEFAULT_S;
    if (json_is_integer(json_object_get(next, "earliest")) &&
        json_is_integer(json_object_get(next, "latest"))) {
        earliest = json_integer_value(json_object_get(next, "earliest"));
        latest = json_integer_value(json_object_get(next, "latest"));
    }
    earliest = earliest < 1 ? 1 : earliest > NEXT_LONGEST_S ? NEXT_LONGEST_S : earliest;
    latest = latest < earliest ? earliest : latest > NEXT_LONGEST_S ? NEXT_LONGEST_S : latest;
    round->earliest_ms = earliest * 1000;
    round->latest_ms = latest * 1000;
}

/* "open", "waiting" or "done". */
static bool read_state(enum round_state *state, const json_t *root)
{
    static const char *const states[] = {"open", "waiting", "done"};
    const char *text = json_string_value(json_object_get(root, "state"));
    size_t place = text != NULL ? tremolo_words_find(text, states, 3) : 3;
    *state = place < 3 ? (enum round_state)place : *state;
    return place < 3;
}

/* m rows of d integers that fit 16 bits, and nothing else. */
static bool read_vectors(int16_t *vectors, const json_t *root, size_t m, size_t d)
{
    const json_t *rows = json_object_get(root, "vectors");
    if (!json_is_array(rows) || json_array_size(rows) != m) {
        return false;
    }
    for (size_t j = 0; j < m; j++) {
        const json_t *row = json_array_get(rows, j);
        if (!json_is_array(row) || json_array_size(row) != d) {
            return false;
        }
        for (size_t i = 0; i < d; i++) {
            const json_t *entry = json_array_get(row, i);
            json_int_t value = json_integer_value(entry);
            if (!json_is_integer(entry) || value < INT16_MIN || value > INT16_MAX) {
                return false;
            }
            vectors[j * d + i] = (int16_t)value;
        }
    }
    return true;
}

/* Take an open round: its vectors must have the shape of the study, be signed by the pinned key and
 * pass the check of the device core. */
static enum tremolo_status check_open_round(struct tremolo_client *client, const json_t *root)
{
    const struct tremolo_study *study = tremolo_study_file_device(client->study);
    const char *text = json_string_value(json_object_get(root, "signature"));
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    struct tremolo_round round = {client->round.vectors, client->round.number};
    if (study->vectors > 0 &&
        !read_vectors(client->round.vectors, root, study->vectors, study->dimension)) {
        return client_fails(client, TREMOLO_BAD_ANSWER, "the round's vectors have the wrong shape");
    }
    if (text == NULL || tremolo_base64_decode(signature, sizeof signature, text) != TREMOLO_OK) {
        return client_fails(client, TREMOLO_BAD_ANSWER, "the round is not signed");
    }
    enum tremolo_status status = tremolo_round_verify(signature, study, &round, client->server_key);
    status = status == TREMOLO_OK ? tremolo_round_check(study, &round) : status;
    return status == TREMOLO_OK
               ? status
               : client_fails(client, status, "the round: %s", tremolo_status_sentence(status));
}

/* The broadcast into client->round. A round that is not open needs no vectors and no signature: there
 * is nothing to report in it. */
static enum tremolo_status read_round(struct tremolo_client *client, const json_t *root)
{
    const struct tremolo_study *study = tremolo_study_file_device(client->study);
    const json_t *number = json_object_get(root, "round");
    enum round_state state = ROUND_WAITING;
    if (!read_state(&state, root)) {
        return client_fails(client, TREMOLO_BAD_ANSWER, "the round has no known state");
    }
    client->round.state = state;
    read_next(&client->round, root);
    if (state != ROUND_OPEN) {
        return TREMOLO_OK;
    }
    if (!json_is_integer(number) || json_integer_value(number) < 0 ||
        json_integer_value(number) >= study->rounds) {
        return client_fails(client, TREMOLO_BAD_ANSWER, "the round's number is not the study's");
    }
    client->round.number = (uint16_t)json_integer_value(number);
    return check_open_round(client, root);
}

/* Whether a device must know the round before it can even look for a stored report. A study of one
 * round without vectors has nothing to announce. */
static bool needs_broadcast(const struct tremolo_client *client)
{
    const struct tremolo_study *study = tremolo_study_file_device(client->study);
    return study->vectors > 0 || study->rounds > 1;
}

/* Ask the server for the current round. The server answers 410 once the study itself is over. */
static enum tremolo_status fetch_round(struct tremolo_client *client)
{
    size_t length = 0;
    enum tremolo_status status =
        client_exchange(client, &length, "/round", NULL, 0, TREMOLO_CLIENT_MAX_ROUND_BYTES);
    if (status == TREMOLO_ROUND_CLOSED) {
        client->round.state = ROUND_DONE; /* the study itself is over */
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    json_t *root = json_loadb((const char *)client->answer, length, JSON_REJECT_DUPLICATES, NULL);
    status = json_is_object(root)
                 ? read_round(client, root)
                 : client_fails(client, TREMOLO_BAD_ANSWER, "the round is not a JSON object");
    json_decref(root);
    return status;
}

/* The dates are part of what was agreed, so the device keeps them by its own
 * clock, whatever the server says. */
static enum tremolo_status check_dates(struct tremolo_client *client)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(client->study);
    int64_t now = client->around.unix_seconds(client->around.context);
    char today[TREMOLO_STUDY_DATE_BYTES];
    char then[TREMOLO_STUDY_DATE_BYTES];
    tremolo_study_date_text(today, now);
    if (now < terms->opens) {
        int64_t left = terms->opens - now < NEXT_LONGEST_S ? terms->opens - now : NEXT_LONGEST_S;
        client->round.state = ROUND_WAITING;
        client->round.earliest_ms = left * 1000;
        client->round.latest_ms = (left + NEXT_DEFAULT_S) * 1000;
        tremolo_study_date_text(then, terms->opens);
        return client_fails(client, TREMOLO_ROUND_CLOSED,
                            "the study opens at %s and it is %s; nothing was charged", then, today);
    }
    if (now >= terms->closes) {
        client->round.state = ROUND_DONE;
        tremolo_study_date_text(then, terms->closes);
        return client_fails(client, TREMOLO_ROUND_CLOSED,
                            "the study closed at %s and it is %s; nothing was charged", then,
                            today);
    }
    return TREMOLO_OK;
}

/* Whether a report may be made now: first by this device's date, then by the server. Its current
 * round is left, verified, in client->round. ROUND_CLOSED if not. */
static enum tremolo_status find_open_round(struct tremolo_client *client)
{
    enum tremolo_status status = check_dates(client);
    status = status == TREMOLO_OK ? fetch_round(client) : status;
    if (status != TREMOLO_OK || client->round.state == ROUND_OPEN) {
        return status;
    }
    return client_fails(client, TREMOLO_ROUND_CLOSED, "%s; nothing was charged",
                        client->round.state == ROUND_DONE
                            ? "the study is over"
                            : "the study takes no reports now, but will again");
}

/* ---------------------------------------------------------------- reporting */

/* {"accepted", "repeated", ...}: exactly one report is accounted for. */
static enum tremolo_status read_receipt(struct tremolo_client *client, bool *repeated,
                                        size_t length)
{
    json_t *root = json_loadb((const char *)client->answer, length, JSON_REJECT_DUPLICATES, NULL);
    json_int_t accepted = json_integer_value(json_object_get(root, "accepted"));
    json_int_t before = json_integer_value(json_object_get(root, "repeated"));
    bool good = (accepted == 1 && before == 0) || (accepted == 0 && before == 1);
    if (good) {
        *repeated = before == 1;
        read_next(&client->round, root);
    }
    json_decref(root);
    return good ? TREMOLO_OK
                : client_fails(client, TREMOLO_BAD_ANSWER, "the server's receipt is not one");
}

/* By the device core, with a platform of the caller's. The ledger is charged
 * for the policy's neighbours, not the server's. */
static enum tremolo_status ask_core(struct tremolo_client *client, uint8_t *report, size_t *length,
                                    const struct tremolo_platform *platform)
{
    struct tremolo_round round = {client->round.vectors, client->round.number};
    struct tremolo_sample sample = {client->features, client->response, client->sample_number};
    struct tremolo_study study = tremolo_policy_device(&client->policy, client->study);
    *length = TREMOLO_MAX_REPORT_BYTES;
    return tremolo_device_report(&client->work, report, length, &study, &round, &sample, platform);
}

/* An entropy source that always fails: with it the device core can repeat and cannot make anything. */
static int no_entropy(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    memset(bytes, 0, length);
    return -1;
}

/* The stored report, or NO_ENTROPY when a new one would have to be made: a
 * device without entropy can repeat and nothing else. */
static enum tremolo_status repeat(struct tremolo_client *client, uint8_t *report, size_t *length)
{
    struct tremolo_platform platform = client->platform;
    platform.entropy = no_entropy;
    return ask_core(client, report, length, &platform);
}

/* A total of the policy that is below the ledger's is the smaller one. Before there is a
 * ledger it is all there will be. */
static enum tremolo_status check_total(struct tremolo_client *client)
{
    struct tremolo_study study = tremolo_policy_device(&client->policy, client->study);
    uint32_t left = 0;
    bool by_policy = client->to_enrol;
    static const uint32_t nothing_spent[2];
    enum tremolo_release_kind kind = (enum tremolo_release_kind)study.release;
    enum tremolo_status status =
        client->to_enrol ? tremolo_policy_allows(&left, &client->policy, kind, nothing_spent)
                         : client_budget_left(client, &left, &by_policy);
    if (status == TREMOLO_OK && by_policy && tremolo_study_charge(&study) > left) {
        return client_fails(
            client, TREMOLO_BUDGET_EXHAUSTED, "%s: the policy's epsilon_total of %g is %s",
            tremolo_status_sentence(TREMOLO_BUDGET_EXHAUSTED), client->policy.epsilon_total,
            client->to_enrol ? "less than one report of this study costs"
                             : "nearly spent, and the rest does not cover this report");
    }
    return status;
}

/* Make the report that is sent and kept. The ledger comes into being here, if there is none, and the
 * total is checked against it: another process may have made it, and spent some of it. */
static enum tremolo_status make_new(struct tremolo_client *client, uint8_t *report, size_t *length)
{
    enum tremolo_status status = client->to_enrol ? check_total(client) : TREMOLO_OK;
    if (status == TREMOLO_OK) {
        status = client_make_ledger(client); /* or another process did, and spent some of it */
    }
    if (status == TREMOLO_OK) {
        status = check_total(client);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    status = ask_core(client, report, length, &client->platform);
    return status == TREMOLO_OK ? status : client_fails_plainly(client, status);
}

/* The bytes to send: those of the ledger, or new ones once the round is known
 * to be open. *is_new tells which. */
static enum tremolo_status find_or_make(struct tremolo_client *client, uint8_t *report,
                                        size_t *length, bool *is_new)
{
    bool round_is_known = !needs_broadcast(client);
    bool may_repeat = !client->to_enrol; /* a ledger to be made holds nothing */
    enum tremolo_status status = TREMOLO_NO_ENTROPY;
    if (round_is_known && may_repeat) {
        client->round.number = 0;
        status = repeat(client, report, length);
    }
    if (status == TREMOLO_NO_ENTROPY) {
        status = find_open_round(client);
        if (status != TREMOLO_OK) {
            return status;
        }
        status =
            round_is_known || !may_repeat ? TREMOLO_NO_ENTROPY : repeat(client, report, length);
    }
    *is_new = status == TREMOLO_NO_ENTROPY;
    if (*is_new) {
        return make_new(client, report, length);
    }
    return status == TREMOLO_OK ? status : client_fails_plainly(client, status);
}

/* Our round is over; a study of one round is, too. */
static enum tremolo_status closed_meanwhile(struct tremolo_client *client, bool is_new)
{
    char answered[sizeof client->why];
    memcpy(answered, client->why, sizeof answered);
    if (tremolo_study_file_device(client->study)->rounds == 1) {
        client->round.state = ROUND_DONE;
    }
    return client_fails(client, TREMOLO_ROUND_CLOSED,
                        is_new ? "%.300s; the round closed while this report was on its way: it "
                                 "was charged, and its bytes are kept"
                               : "%.300s; this report was charged earlier, and its bytes are kept",
                        answered);
}

/* What the caller learns: from the bytes that were sent, and from the ledger. */
static enum tremolo_status fill_receipt(struct tremolo_client *client,
                                        struct tremolo_client_receipt *receipt,
                                        const uint8_t *report, size_t length, bool repeated)
{
    struct tremolo_report decoded;
    uint32_t left = 0;
    bool by_policy = false;
    enum tremolo_status status = tremolo_report_decode(&decoded, report, length);
    if (status != TREMOLO_OK) {
        return client_fails_plainly(client, status);
    }
    status = client_budget_left(client, &left, &by_policy);
    if (status != TREMOLO_OK) {
        return status;
    }
    *receipt = (struct tremolo_client_receipt){
        .round = decoded.round,
        .report_bytes = length,
        .repeated = repeated,
        .attempts = client->attempts,
        .budget_left = left,
        .left_by_policy = by_policy,
        .of_epsilon = tremolo_study_file_device(client->study)->release == TREMOLO_RELEASE_BALLOT,
    };
    memcpy(receipt->report_id, decoded.id, sizeof receipt->report_id);
    return TREMOLO_OK;
}

/* A study that is over comes before a faulty sample: there is no point in mending it. */
static enum tremolo_status explain_no_sample(struct tremolo_client *client)
{
    char why[sizeof client->why];
    memcpy(why, client->why, sizeof why);
    if (find_open_round(client) == TREMOLO_ROUND_CLOSED && client->round.state == ROUND_DONE) {
        return TREMOLO_ROUND_CLOSED;
    }
    return client_fails(client, TREMOLO_BAD_SAMPLE, "%s",
                        why[0] != '\0' ? why : "there is no sample to report");
}

/* Find or make the bytes, send them until the server answers, and read its receipt. */
enum tremolo_status tremolo_client_report(struct tremolo_client *client,
                                          struct tremolo_client_receipt *receipt)
{
    uint8_t report[TREMOLO_MAX_REPORT_BYTES];
    size_t length = 0;
    size_t answered = 0;
    bool is_new = false;
    bool repeated = false;
    if (client == NULL || receipt == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    client_start_clock(client);
    if (!client->has_sample) {
        return explain_no_sample(client);
    }
    enum tremolo_status status = find_or_make(client, report, &length, &is_new);
    if (status == TREMOLO_OK) {
        status = client_exchange(client, &answered, "/reports", report, length,
                                 TREMOLO_CLIENT_MAX_RECEIPT_BYTES);
        if (status == TREMOLO_ROUND_CLOSED) {
            status = closed_meanwhile(client, is_new);
        }
    }
    if (status == TREMOLO_OK) {
        status = read_receipt(client, &repeated, answered);
    }
    return status == TREMOLO_OK ? fill_receipt(client, receipt, report, length, repeated) : status;
}

/* ---------------------------------------------------------------- following */

/* Is the round that we reported in still the open one? Asking is cheaper for the
 * server than the same report once more. */
static enum tremolo_status wait_for_another(struct tremolo_client *client, bool *is_same, int last)
{
    *is_same = false;
    if (last < 0) {
        return TREMOLO_OK;
    }
    client_start_clock(client);
    enum tremolo_status status = find_open_round(client);
    *is_same = status == TREMOLO_OK && client->round.number == last;
    return status;
}

/* Report if the round is new to us; *done when no other can follow. */
static enum tremolo_status follow_once(struct tremolo_client *client, bool *done, int *last,
                                       int (*each)(void *, const struct tremolo_client_receipt *),
                                       void *context)
{
    const struct tremolo_study *study = tremolo_study_file_device(client->study);
    struct tremolo_client_receipt receipt = {.round = 0};
    bool is_same = false;
    enum tremolo_status status = wait_for_another(client, &is_same, *last);
    if (is_same) {
        return TREMOLO_OK;
    }
    if (status == TREMOLO_OK) {
        status = tremolo_client_report(client, &receipt);
    }
    if (status == TREMOLO_ROUND_CLOSED) {
        *done = client->round.state == ROUND_DONE;
        if (client->round.state == ROUND_OPEN) {
            *last = client->round.number; /* it was when we asked; our report came too late */
        }
        return TREMOLO_OK;
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    if ((int)receipt.round != *last && each != NULL && each(context, &receipt) != 0) {
        *done = true;
    }
    *last = (int)receipt.round;
    *done = *done || receipt.round + 1u >= study->rounds;
    return TREMOLO_OK;
}

/* One turn for each look at the server, with a wait between two; ended by the study, by a failure
 * or by POLLS_MAX. */
enum tremolo_status tremolo_client_follow(struct tremolo_client *client,
                                          int (*each)(void *context,
                                                      const struct tremolo_client_receipt *receipt),
                                          void *context)
{
    bool done = false;
    int last = -1;
    if (client == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    for (long polls = 0; polls < POLLS_MAX; polls++) {
        enum tremolo_status status = follow_once(client, &done, &last, each, context);
        if (status != TREMOLO_OK || done) {
            return status;
        }
        /* Whatever the server says, or has not said yet: no tight loop. */
        int64_t earliest = client->round.earliest_ms > POLL_SHORTEST_MS ? client->round.earliest_ms
                                                                        : POLL_SHORTEST_MS;
        status = client_wait(client, earliest, client->round.latest_ms);
        if (status != TREMOLO_OK) {
            return status;
        }
    }
    return client_fails(client, TREMOLO_NETWORK_FAILED, "the study never ended");
}
