/* check_report.c -- decoding, authentication and plausibility of one report. */
#include "check_report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "tremolo_release.h"
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

unsigned outcome_http(enum server_outcome outcome)
{
    return outcomes[outcome].status;
}

const char *outcome_reason(enum server_outcome outcome)
{
    return outcomes[outcome].reason;
}

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

void check_report(struct arrival *arrival, int16_t *row, const struct check_study *check)
{
    arrival->outcome = (uint8_t)judge(arrival, row, check);
}

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
