/* devices.c -- what a device asks for: its study, the guarantee, the round, and that its report
 * counts.
 *
 * A body is one report or a sequence of many. All that needs no log is checked on the request's
 * thread (check_report.h); what passes becomes one job of the writer. The answer leaves when the
 * writer has made the reports durable: 200 means that a report is stored, now or by an earlier
 * request. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "clock.h"
#include "document.h"
#include "routes.h"

/* ---------------------------------------------------------------- reading */

/* The study as it was published, signed once when the study was made, so every device gets the
 * same bytes. */
static void answer_study(struct request *request)
{
    request_answer_text(request, 200, strdup(study_of(request)->published));
}

/* The round that is open now. It is signed for each answer, because the reports so far are in
 * it; operator.c answers with it after a round was closed. */
void devices_answer_round(struct request *request)
{
    request_answer_text(
        request, 200,
        round_json(study_of(request), server_of(request)->signing_key, (int64_t)time(NULL)));
}

/* What the study promises, in words: from the study alone, so it is there before any report. */
static void answer_guarantee(struct request *request)
{
    request_answer_text(request, 200,
                        json_latch_exact(guarantee_study_json(study_of(request)->file)));
}

/* ---------------------------------------------------------------- what arrived
 *
 * The body is split without copying: arrivals point into it, and into the header for a device's
 * name. The request keeps both until its job is done. */

/* A media type, parameters ignored. False for a header that was not sent. */
static bool type_is(const char *sent, const char *type)
{
    size_t length = strlen(type);
    return sent != NULL && strncasecmp(sent, type, length) == 0 &&
           (sent[length] == '\0' || sent[length] == ';' || sent[length] == ' ');
}

/* Four characters of base64url without padding hold three bytes, so the text's length gives the
 * name's. */
size_t devices_name(uint8_t name[TREMOLO_DEVICE_ID_MAX], const char *text)
{
    size_t length = strlen(text) * 3 / 4;
    return length <= TREMOLO_DEVICE_ID_MAX &&
                   tremolo_base64_decode(name, length, text) == TREMOLO_OK
               ? length
               : 0;
}

/* The device's name from its header: 1 to 32 bytes in base64url. A study without device keys has
 * no secret, and the header is ignored there. False when it is no name. */
static bool name_device(struct request *request, struct arrival *arrival)
{
    struct study_request *own = own_of(request);
    const char *text =
        study_of(request)->check.secret != NULL ? request_header(request, "Tremolo-Device") : NULL;
    if (text == NULL) {
        return true;
    }
    arrival->device = own->device;
    arrival->device_length = (uint8_t)devices_name(own->device, text);
    return arrival->device_length > 0;
}

/* One report is the usual body: it needs no memory but that of the request. False after an
 * answer. */
static bool split_single(struct request *request)
{
    struct study_request *own = own_of(request);
    own->arrivals = &own->single;
    if (request->length == 0 || request->length > TREMOLO_MAX_REPORT_BYTES) {
        request_problem(request, request->length == 0 ? 400 : 413,
                        "a single report is expected in the body");
        return false;
    }
    own->arrivals->bytes = request->body;
    own->arrivals->length = (uint16_t)request->length;
    own->job.reports.count = 1;
    if (!name_device(request, own->arrivals)) {
        request_problem(request, 400, "Tremolo-Device is not the base64url of a device's name");
        return false;
    }
    return true;
}

/* Many reports, as a gateway of devices sends them. Each is judged by itself later; a body that
 * is not a sequence is refused as a whole, because the place of the next report is unknown.
 * False after an answer. */
static bool split_sequence(struct request *request)
{
    struct study_request *own = own_of(request);
    own->sequence = true;
    enum tremolo_status status =
        check_split(&own->arrivals, &own->job.reports.count, request->body, request->length,
                    study_of(request)->check.secret != NULL);
    if (status == TREMOLO_NO_MEMORY) {
        request_problem(request, 503, "out of memory");
    } else if (status != TREMOLO_OK) {
        request_problem(request, 400, "the body is not a sequence of byte strings, each a report");
    } else if (own->job.reports.count == 0) {
        request_problem(request, 400, "the sequence is empty");
    }
    return !request->answered;
}

/* Refuse what is beyond the source's quota, the last ones first. An enrolled device has a quota
 * of its own: its samples. `pending` reports passed all checks so far; returned is how many of
 * them still do. What was taken is noted in the request, so that it can be given back. */
static size_t limit_source(struct request *request, size_t pending)
{
    struct study_request *own = own_of(request);
    size_t count = own->job.reports.count;
    struct sources *sources = server_of(request)->sources;
    if (sources == NULL || study_of(request)->check.secret != NULL || pending == 0) {
        return pending;
    }
    own->source = request_source(request, sources, server_of(request)->source_header);
    size_t allowed = sources_take(sources, own->source, pending, clock_us(), &own->quota_seconds);
    own->quota_taken = allowed;
    for (size_t i = count; i > 0 && pending > allowed; i--) {
        if (own->arrivals[i - 1].outcome == OUTCOME_PENDING) {
            own->arrivals[i - 1].outcome = OUTCOME_OVER_QUOTA;
            pending--;
        }
    }
    return allowed;
}

/* A report that was there before, or that the server could not take, adds nothing to the study: a
 * device that has to send it again still has the quota for it. */
static void give_back(struct request *request)
{
    struct study_request *own = own_of(request);
    size_t spared = 0;
    for (size_t i = 0; i < own->job.reports.count && own->quota_taken > 0; i++) {
        enum server_outcome outcome = own->arrivals[i].outcome;
        spared +=
            outcome == OUTCOME_REPEATED || outcome == OUTCOME_NOT_STORED || outcome == OUTCOME_BUSY;
    }
    if (spared > 0) {
        sources_give_back(server_of(request)->sources, own->source, spared);
    }
}

/* Everything that the log has no part in, on this thread. False when no report is left for the
 * writer, or after an answer. Without a job nothing else counts the outcomes, so they are counted
 * here. */
static bool check_all(struct request *request)
{
    struct study_request *own = own_of(request);
    const struct check_study *check = &study_of(request)->check;
    size_t count = own->job.reports.count;
    int16_t *rows = count * check->row_values <= SMALL_ROWS
                        ? own->small_rows
                        : malloc(count * check->row_values * sizeof *rows);
    own->job.reports.rows = rows;
    if (rows == NULL) {
        request_problem(request, 503, "out of memory");
        return false;
    }
    size_t pending = limit_source(request, check_reports(own->arrivals, rows, count, check));
    if (pending == 0) {
        writer_count(server_of(request)->writer, study_of(request), own->arrivals, count);
    }
    return pending > 0;
}

static void reports_finish(struct request *request);

/* The media type says which of both it is. If no report of the body may be stored, there is no
 * job and the receipt is made at once. */
static void reports_run(struct request *request)
{
    struct study_request *own = own_of(request);
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
        own->job.reports.arrivals = own->arrivals;
        own->job.queued.bytes = request->length;
        submit_job(own, JOB_REPORTS);
    } else if (!request->answered) {
        reports_finish(request);
    }
}

/* ---------------------------------------------------------------- receipts
 *
 * A device deletes its report when it reads that it was stored, and never before. So every
 * report has exactly one outcome, and what was not stored is listed. */

/* In studies of several rounds a receipt says when to come again. The times are spread, so that
 * devices do not all come in the same second. */
static void add_next(json_t **receipt, struct request *request)
{
    struct served_study *served = study_of(request);
    if (served->terms->rounds == 1) {
        return;
    }
    served_lock(served);
    bool done = served_is_done(served);
    struct round_window next = round_next(served, (int64_t)time(NULL));
    served_unlock(served);
    if (!done) {
        json_latch_set(receipt, "next",
                       json_pack("{s:I, s:I}", "earliest", (json_int_t)next.earliest, "latest",
                                 (json_int_t)next.latest));
    }
}

/* Everything that was not stored, by its place in the body, with the status that it would have
 * got alone. Both numbers are added to. The caller owns the list. */
static json_t *list_failures(struct request *request, size_t *accepted, size_t *repeated)
{
    struct study_request *own = own_of(request);
    json_t *failures = json_array();
    for (size_t i = 0; i < own->job.reports.count; i++) {
        enum server_outcome outcome = own->arrivals[i].outcome;
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

/* The usual receipt is made already: this is the path of every report. False when a receipt must
 * be made: it differs for sequences and for studies of several rounds. */
static bool answer_plainly(struct request *request)
{
    struct study_request *own = own_of(request);
    enum server_outcome outcome = own->arrivals[0].outcome;
    if (own->job.reports.count != 1 || study_of(request)->terms->rounds != 1 ||
        (outcome != OUTCOME_ACCEPTED && outcome != OUTCOME_REPEATED) ||
        atomic_load(&server_of(request)->stopping)) {
        return false;
    }
    request_answer(request, 200, NULL, NULL);
    request->answer.ready = server_of(request)->receipt[outcome == OUTCOME_REPEATED];
    return true;
}

/* The whole request gets the outcome of its first report, with the status and sentence of that
 * outcome. */
static void refuse_all(struct request *request, enum server_outcome outcome)
{
    struct study_request *own = own_of(request);
    request_problem(request, outcome_http(outcome), outcome_reason(outcome));
    if (outcome == OUTCOME_OVER_QUOTA) {
        request->answer.retry_after = own->quota_seconds;
    }
}

/* After the writer, or without it when no report was left. Quota comes back first, so that a
 * device that must repeat is not refused for it. */
static void reports_finish(struct request *request)
{
    struct study_request *own = own_of(request);
    enum server_outcome first = own->arrivals[0].outcome;
    size_t accepted = 0;
    size_t repeated = 0;
    give_back(request);
    if (answer_plainly(request)) {
        return;
    }
    if (!own->sequence && first != OUTCOME_ACCEPTED && first != OUTCOME_REPEATED) {
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
    request->answer.retry_after = own->quota_seconds;
}

/* ---------------------------------------------------------------- for the service
 *
 * What the service calls when a job found no room, and when a request ends. */

/* The queue had no room. Reports that were still open are answered "busy": the device repeats
 * the same bytes, and nothing of this attempt counts. */
void devices_refuse(struct request *request)
{
    struct study_request *own = own_of(request);
    size_t count = own->job.kind == JOB_REPORTS ? own->job.reports.count : 0;
    for (size_t i = 0; i < count; i++) {
        if (own->arrivals[i].outcome == OUTCOME_PENDING) {
            own->arrivals[i].outcome = OUTCOME_BUSY;
        }
    }
    give_back(request);
    writer_count(server_of(request)->writer, study_of(request), own->arrivals, count);
    request_problem(request, 429, outcome_reason(OUTCOME_BUSY));
}

/* What the job and the estimate left; all of it is NULL or part of the request for most
 * requests. */
void devices_release(struct request *request)
{
    struct study_request *own = own_of(request);
    free(own->question.json);
    if (own->arrivals != &own->single) {
        free(own->arrivals);
    }
    if (own->job.kind == JOB_REPORTS && own->job.reports.rows != own->small_rows) {
        free(own->job.reports.rows);
    }
    free(own->problems);
}

const struct route device_routes[] = {
    {"POST", "/v1/studies/{id}/reports", FOR_DEVICES, HTTP_BODY_MAX, reports_run, reports_finish},
    {"GET", "/v1/studies/{id}/round", FOR_DEVICES, 0, devices_answer_round, NULL},
    {"GET", "/v1/studies/{id}/guarantee", FOR_DEVICES, 0, answer_guarantee, NULL},
    {"GET", "/v1/studies/{id}", FOR_DEVICES, 0, answer_study, NULL},
    {0},
};
