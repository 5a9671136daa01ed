/* check_report.c -- one report from its bytes to a row of integers, and rows into the sums.
 *
 * Decoding, authentication and plausibility need the bytes and the study only. Recovery makes the
 * same check of stored reports, without the MAC, which the log does not depend on. */
#include "check_report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "study_internal.h"

/* No report is shorter than its id in a byte string. */
enum { SHORTEST_REPORT = 1 + TREMOLO_REPORT_ID_BYTES };

static const struct {
    const char *name;
    unsigned status; /* of HTTP */
    const char *reason;
} outcomes[] = {
#define SERVER_OUTCOME_ROW(name, status, reason) {#name, status, reason},
    SERVER_OUTCOME_LIST(SERVER_OUTCOME_ROW)
#undef SERVER_OUTCOME_ROW
};

/* The status of a single report that had this outcome; in a sequence each report has its own. */
unsigned outcome_http(enum server_outcome outcome)
{
    return outcomes[outcome].status;
}

/* One sentence for the device's log; it says nothing about other devices. */
const char *outcome_reason(enum server_outcome outcome)
{
    return outcomes[outcome].reason;
}

/* The name in lower case, as metrics and dashboards have it. */
void outcome_label(char label[OUTCOME_LABEL_BYTES], enum server_outcome outcome)
{
    const char *name = outcomes[outcome].name;
    for (size_t i = 0; i <= strlen(name); i++) {
        label[i] = (char)tolower((unsigned char)name[i]);
    }
}

struct check_study check_study_of(const struct tremolo_study_file *file, const uint8_t *secret)
{
    const struct tremolo_study *study = tremolo_study_file_device(file);
    bool keys = tremolo_study_file_terms(file)->enrolment == TREMOLO_STUDY_KEYS;
    return (struct check_study){
        .study = study,
        .secret = keys ? secret : NULL,
        .norm2_max = tremolo_row_norm2_max(study),
        .row_values = tremolo_row_values(study),
    };
}

/* What decoding and unpacking can answer. Anything unexpected counts as malformed: the bytes
 * came from outside. */
static enum server_outcome outcome_of(enum tremolo_status status)
{
    switch (status) {
    case TREMOLO_OK: return OUTCOME_PENDING;
    case TREMOLO_UNKNOWN_VERSION: return OUTCOME_UNKNOWN_VERSION;
    case TREMOLO_WRONG_STUDY: return OUTCOME_WRONG_STUDY;
    case TREMOLO_OUT_OF_BOUNDS: return OUTCOME_IMPOSSIBLE;
    default: return OUTCOME_MALFORMED;
    }
}

/* The name selects the key, so a report needs both its name and a MAC. The MAC covers the
 * report's bytes. */
static enum server_outcome authenticate(const struct arrival *arrival,
                                        const struct tremolo_report *report,
                                        const struct check_study *check)
{
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    if (arrival->device_length == 0 || report->mac == NULL) {
        return OUTCOME_NOT_NAMED;
    }
    if (tremolo_device_key(key, check->secret, arrival->device, arrival->device_length) !=
            TREMOLO_OK ||
        tremolo_report_verify(report, arrival->bytes, check->study, key) != TREMOLO_OK) {
        return OUTCOME_WRONG_MAC;
    }
    return OUTCOME_PENDING;
}

/* In this order: well-formed and of this study, authentic, plausible, of a round that the study
 * has. Only then are id and hash taken, so a refused report costs no hash. */
static enum server_outcome judge(struct arrival *arrival, int16_t *row,
                                 const struct check_study *check)
{
    struct tremolo_report report;
    enum tremolo_status status = tremolo_report_decode(&report, arrival->bytes, arrival->length);
    if (status == TREMOLO_OK) {
        status = tremolo_row_unpack(row, &report, check->study);
    }
    if (status != TREMOLO_OK) {
        return outcome_of(status);
    }
    enum server_outcome outcome =
        check->secret != NULL ? authenticate(arrival, &report, check) : OUTCOME_PENDING;
    if (outcome == OUTCOME_PENDING && tremolo_row_norm2(row, check->study) > check->norm2_max) {
        outcome = OUTCOME_IMPOSSIBLE;
    }
    if (outcome == OUTCOME_PENDING && report.round >= check->study->rounds) {
        outcome = OUTCOME_WRONG_ROUND;
    }
    arrival->id = report.id;
    arrival->round = report.round;
    arrival->bucket = (uint8_t)tremolo_bucket_of(report.id);
    if (check->hash_key != NULL) {
        arrival->hash = index_hash(check->hash_key, report.id, TREMOLO_REPORT_ID_BYTES);
    }
    return outcome;
}

/* The outcome is stored as a byte: there are twenty thousand arrivals in a sequence. */
void check_report(struct arrival *arrival, int16_t *row, const struct check_study *check)
{
    arrival->outcome = (uint8_t)judge(arrival, row, check);
}

/* Reports are independent of each other here; repeats within the body are found by the writer. */
size_t check_reports(struct arrival *arrivals, int16_t *rows, size_t count,
                     const struct check_study *check)
{
    size_t pending = 0;
    for (size_t i = 0; i < count; i++) {
        check_report(&arrivals[i], rows + i * check->row_values, check);
        pending += arrivals[i].outcome == OUTCOME_PENDING;
    }
    return pending;
}

/* One definite byte string with a head of its shortest form, or NULL. */
static const uint8_t *take_string(size_t *size, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *in = *at;
    if (in == end || (*in & 0xe0) != 0x40) {
        return NULL;
    }
    size_t length = *in++ & 0x1f;
    if (length > 25) {
        return NULL;
    }
    size_t more = length < 24 ? 0 : length - 23;
    if ((size_t)(end - in) < more) {
        return NULL;
    }
    if (more == 1) {
        length = in[0];
    } else if (more == 2) {
        length = (size_t)(in[0] << 8 | in[1]);
    }
    in += more;
    if ((more == 1 && length < 24) || (more == 2 && length < 256) || (size_t)(end - in) < length ||
        length == 0) {
        return NULL;
    }
    *at = in + length;
    *size = length;
    return in;
}

/* The next report, after its device's name when it has one. */
static bool take_arrival(struct arrival *arrival, const uint8_t **at, const uint8_t *end,
                         bool named)
{
    size_t size = 0;
    *arrival = (struct arrival){0};
    if (named) {
        arrival->device = take_string(&size, at, end);
        if (arrival->device == NULL || size > TREMOLO_DEVICE_ID_MAX) {
            return false;
        }
        arrival->device_length = (uint8_t)size;
    }
    arrival->bytes = take_string(&size, at, end);
    arrival->length = (uint16_t)size;
    return arrival->bytes != NULL;
}

/* One pass. The array has room for as many reports as the shortest ones would be, so a body
 * cannot make us allocate more than a small multiple of its own size. */
enum tremolo_status check_split(struct arrival **arrivals, size_t *count, const uint8_t *body,
                                size_t length, bool named)
{
    const uint8_t *at = body;
    const uint8_t *end = length > 0 ? body + length : body; /* no body is NULL */
    size_t most = length / SHORTEST_REPORT + 1;
    size_t found = 0;
    most = most < CHECK_REPORTS_MAX ? most : CHECK_REPORTS_MAX;
    struct arrival *made = calloc(most, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    while (at != end) {
        if (found == most || !take_arrival(&made[found], &at, end, named)) {
            free(made);
            return TREMOLO_MALFORMED;
        }
        found++;
    }
    *arrivals = made;
    *count = found;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- rows
 *
 * A checked report is a row of small integers. Rows of a batch lie one after the other, so that
 * folding them is one pass over memory; nothing of a report but its row reaches the sums. */

/* Both arrays or none: `capacity` changes last. */
enum tremolo_status rows_reserve(struct rows *rows, size_t row_values, size_t capacity)
{
    if (capacity <= rows->capacity) {
        return TREMOLO_OK;
    }
    int16_t *values = realloc(rows->values, capacity * row_values * sizeof *values);
    if (values == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    rows->values = values;
    uint8_t *buckets = realloc(rows->buckets, capacity);
    if (buckets == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    rows->buckets = buckets;
    rows->capacity = capacity;
    return TREMOLO_OK;
}

void rows_free(struct rows *rows)
{
    free(rows->values);
    free(rows->buckets);
}

/* The row may lie behind its place in the same array, and overlap it. */
void rows_put(struct rows *rows, size_t row_values, size_t at, const int16_t *row, unsigned bucket)
{
    memmove(rows->values + at * row_values, row, row_values * sizeof *row);
    rows->buckets[at] = (uint8_t)bucket;
}

/* Samples need no expanding and are taken all at once. Of ballots as many as fit into the
 * buffer: the caller takes its lock between two parts. */
size_t rows_expand(int8_t expanded[ROWS_EXPANDED_BYTES], const struct tremolo_study *study,
                   const struct rows *rows, size_t from, size_t count)
{
    _Static_assert((int)ROWS_EXPANDED_BYTES >= (int)TREMOLO_MAX_BALLOT_ENTRIES, "a row must fit");
    if (study->release != TREMOLO_RELEASE_BALLOT) {
        return count - from;
    }
    size_t entries = tremolo_ballot_entries(study);
    size_t most = ROWS_EXPANDED_BYTES / entries;
    size_t taken = count - from < most ? count - from : most;
    expand_rows(expanded, entries, study->id, rows->values + from * EXPAND_ROW_VALUES, taken, true);
    return taken;
}

struct expanded_rows {
    const int8_t *entries;
    size_t count; /* of entries in a row */
    const int16_t *ballots;
};

/* For tremolo_moments_add_ballots(): the entries of ballot i and its response. */
static int16_t next_expanded(int8_t *row, size_t i, void *context)
{
    const struct expanded_rows *from = context;
    memcpy(row, from->entries + i * from->count, from->count);
    return from->ballots[i * EXPAND_ROW_VALUES + EXPAND_RESPONSE];
}

/* The second step, under the lock that guards the sums. */
enum tremolo_status rows_add(struct tremolo_moments *moments, const struct tremolo_study *study,
                             const struct rows *rows, const int8_t expanded[ROWS_EXPANDED_BYTES],
                             size_t from, size_t taken)
{
    const int16_t *values = rows->values + from * tremolo_row_values(study);
    const uint8_t *buckets = rows->buckets + from;
    if (study->release != TREMOLO_RELEASE_BALLOT) {
        return tremolo_release_fold(moments, study, values, buckets, taken);
    }
    struct expanded_rows ballots = {expanded, tremolo_ballot_entries(study), values};
    return tremolo_moments_add_ballots(moments, next_expanded, &ballots, buckets, taken);
}
