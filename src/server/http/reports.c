/* reports.c -- POST .../reports: one report, or a sequence of many. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "clock.h"
#include "document.h"
#include "routes.h"

/* A media type, parameters ignored. */
static bool type_is(const char *sent, const char *type)
{
    size_t length = strlen(type);
    return sent != NULL && strncasecmp(sent, type, length) == 0 &&
           (sent[length] == '\0' || sent[length] == ';' || sent[length] == ' ');
}

/* The device's name from its header: 1 to 32 bytes in base64url. */
static bool name_device(struct request *request, struct arrival *arrival)
{
    const char *text =
        request->served->check.secret != NULL ? request_header(request, "Tremolo-Device") : NULL;
    if (text == NULL) {
        return true;
    }
    size_t length = strlen(text) * 3 / 4;
    if (length == 0 || length > sizeof request->device ||
        tremolo_base64_decode(request->device, length, text) != TREMOLO_OK) {
        return false;
    }
    arrival->device = request->device;
    arrival->device_length = (uint8_t)length;
    return true;
}

static bool split_single(struct request *request)
{
    request->arrivals = &request->single;
    if (request->length == 0 || request->length > TREMOLO_MAX_REPORT_BYTES) {
        request_problem(request, request->length == 0 ? 400 : 413,
                        "a single report is expected in the body");
        return false;
    }
    request->arrivals->bytes = request->body;
    request->arrivals->length = (uint16_t)request->length;
    request->job.reports.count = 1;
    if (!name_device(request, request->arrivals)) {
        request_problem(request, 400, "Tremolo-Device is not the base64url of a device's name");
        return false;
    }
    return true;
}

static bool split_sequence(struct request *request)
{
    request->sequence = true;
    enum tremolo_status status =
        check_split(&request->arrivals, &request->job.reports.count, request->body, request->length,
                    request->served->check.secret != NULL);
    if (status == TREMOLO_NO_MEMORY) {
        request_problem(request, 503, "out of memory");
    } else if (status != TREMOLO_OK) {
        request_problem(request, 400, "the body is not a sequence of byte strings, each a report");
    } else if (request->job.reports.count == 0) {
        request_problem(request, 400, "the sequence is empty");
    }
    return !request->answered;
}

/* Refuse what is beyond the source's quota, the last ones first. An enrolled device has a quota of
 * its own: its samples. */
static size_t limit_source(struct request *request, size_t pending)
{
    size_t count = request->job.reports.count;
    struct sources *sources = request->server->sources;
    if (sources == NULL || request->served->check.secret != NULL || pending == 0) {
        return pending;
    }
    request->source = request_source(request);
    size_t allowed =
        sources_take(sources, request->source, pending, clock_us(), &request->quota_seconds);
    request->quota_taken = allowed;
    for (size_t i = count; i > 0 && pending > allowed; i--) {
        if (request->arrivals[i - 1].outcome == OUTCOME_PENDING) {
            request->arrivals[i - 1].outcome = OUTCOME_OVER_QUOTA;
            pending--;
        }
    }
    return allowed;
}

/* A report that was there before, or that the server could not take, adds nothing to the study: a
 * device that has to send it again still has the quota for it. */
void reports_give_back(struct request *request)
{
    size_t spared = 0;
    for (size_t i = 0; i < request->job.reports.count && request->quota_taken > 0; i++) {
        enum server_outcome outcome = request->arrivals[i].outcome;
        spared +=
            outcome == OUTCOME_REPEATED || outcome == OUTCOME_NOT_STORED || outcome == OUTCOME_BUSY;
    }
    if (spared > 0) {
        sources_give_back(request->server->sources, request->source, spared);
    }
}

/* Everything that the log has no part in, on this thread. */
static bool check_all(struct request *request)
{
    const struct check_study *check = &request->served->check;
    size_t count = request->job.reports.count;
    int16_t *rows = count * check->row_values <= REQUEST_SMALL_ROWS
                        ? request->small_rows
                        : malloc(count * check->row_values * sizeof *rows);
    request->job.reports.rows = rows;
    if (rows == NULL) {
        request_problem(request, 503, "out of memory");
        return false;
    }
    size_t pending = limit_source(request, check_reports(request->arrivals, rows, count, check));
    if (pending == 0) {
        writer_count(request->server->writer, request->served, request->arrivals, count);
    }
    return pending > 0;
}

void reports_run(struct request *request)
{
    const char *type = request_header(request, MHD_HTTP_HEADER_CONTENT_TYPE);
    bool split = false;
    if (type_is(type, "application/cbor-seq")) {
        split = split_sequence(request);
    } else if (type_is(type, "application/cbor")) {
        split = split_single(request);
    } else {
        request_problem(request, 415, "reports are application/cbor or application/cbor-seq");
    }
    if (!split) {
        return;
    }
    if (check_all(request)) {
        request->job.served = request->served;
        request->job.reports.arrivals = request->arrivals;
        request->job.queued.bytes = request->length;
        request_wait(request);
    } else if (!request->answered) {
        reports_finish(request);
    }
}

/* ---------------------------------------------------------------- receipts */

static void add_next(json_t **receipt, struct request *request)
{
    struct served_study *served = request->served;
    if (served->terms->rounds == 1) {
        return;
    }
    (void)pthread_mutex_lock(&served->sums.lock);
    bool done = served_is_done(served);
    struct round_window next = round_next(served, (int64_t)time(NULL));
    (void)pthread_mutex_unlock(&served->sums.lock);
    if (!done) {
        json_latch_set(receipt, "next",
                       json_pack("{s:I, s:I}", "earliest", (json_int_t)next.earliest, "latest",
                                 (json_int_t)next.latest));
    }
}

static json_t *list_failures(const struct request *request, size_t *accepted, size_t *repeated)
{
    json_t *failures = json_array();
    for (size_t i = 0; i < request->job.reports.count; i++) {
        enum server_outcome outcome = request->arrivals[i].outcome;
        *accepted += outcome == OUTCOME_ACCEPTED;
        *repeated += outcome == OUTCOME_REPEATED;
        if (outcome != OUTCOME_ACCEPTED && outcome != OUTCOME_REPEATED) {
            json_latch_append(&failures, json_pack("{s:I, s:i, s:s}", "index", (json_int_t)i,
                                                   "status", (int)outcome_http(outcome), "reason",
                                                   outcome_reason(outcome)));
        }
    }
    return failures;
}

/* The usual receipt is made already: this is the path of every report. */
static bool answer_plainly(struct request *request)
{
    enum server_outcome outcome = request->arrivals[0].outcome;
    if (request->job.reports.count != 1 || request->served->terms->rounds != 1 ||
        (outcome != OUTCOME_ACCEPTED && outcome != OUTCOME_REPEATED) ||
        atomic_load(&request->server->stopping)) {
        return false;
    }
    request_answer(request, 200, NULL, NULL);
    request->answer.ready = request->server->receipt[outcome == OUTCOME_REPEATED];
    return true;
}

static void refuse_all(struct request *request, enum server_outcome outcome)
{
    request_problem(request, outcome_http(outcome), outcome_reason(outcome));
    if (outcome == OUTCOME_OVER_QUOTA) {
        request->answer.retry_after = request->quota_seconds;
    }
}

void reports_finish(struct request *request)
{
    enum server_outcome first = request->arrivals[0].outcome;
    size_t accepted = 0;
    size_t repeated = 0;
    reports_give_back(request);
    if (answer_plainly(request)) {
        return;
    }
    if (!request->sequence && first != OUTCOME_ACCEPTED && first != OUTCOME_REPEATED) {
        refuse_all(request, first);
        return;
    }
    json_t *failures = list_failures(request, &accepted, &repeated);
    /* A store that takes nothing is the server's failure, a quota that is used up the source's:
     * neither is the reports'. */
    if (accepted + repeated == 0 && (first == OUTCOME_NOT_STORED || first == OUTCOME_OVER_QUOTA)) {
        json_decref(failures);
        refuse_all(request, first);
        return;
    }
    json_t *receipt = json_pack("{s:I, s:I, s:o}", "accepted", (json_int_t)accepted, "repeated",
                                (json_int_t)repeated, "failures", failures);
    add_next(&receipt, request);
    request_answer_json(request, 200, receipt);
    request->answer.retry_after = request->quota_seconds;
}
