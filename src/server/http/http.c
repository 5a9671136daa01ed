/* http.c -- between libmicrohttpd and the routes.
 *
 * The library calls on_request first with the head, then with each piece of
 * the body, then at its end, again and again until there is an answer. A handler
 * answers at once or hands a job to the writer; until that is decided the
 * request says "not yet" (loops.c sees to it that it is not asked for nothing).
 * Or it asks the estimator, and its connection is suspended until that answers.
 * So a few threads hold thousands of connections, and none waits for a slow disk. */
#include "http.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clock.h"
#include "request.h"
#include "routes.h"

/* Requests whose memory a loop keeps; none where late writes to it are looked for. */
#ifdef TREMOLO_SANITIZED
enum { SPARES_MAX = 0 };
#else
enum { SPARES_MAX = 256 };
#endif

const char *request_header(struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *request_query(struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct last_header {
    const char *name;
    const char *value; /* of its last line */
};

static enum MHD_Result keep_last(void *context, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    struct last_header *last = context;
    (void)kind;
    if (value != NULL && strcasecmp(name, last->name) == 0) {
        last->value = value;
    }
    return MHD_YES;
}

/* A proxy appends to a list or adds a line: what the client wrote stands before it. */
uint64_t request_source(struct request *request)
{
    const struct tremolo_server *server = request->server;
    struct last_header last = {server->source_header, NULL};
    uint64_t key = 0;
    if (last.name != NULL) {
        (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, keep_last, &last);
    }
    if (last.value != NULL && sources_parse(&key, server->sources, last.value)) {
        return key;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return sources_key(server->sources, info != NULL ? info->client_addr : NULL);
}

/* ---------------------------------------------------------------- answering */

static void add_headers(struct MHD_Response *response, const struct answer *answer)
{
    char seconds[16];
    if (answer->last) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    }
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (answer->tag[0] != '\0') {
        represent_headers(response, answer);
    }
    if (answer->policy != NULL) {
        pages_headers(response, answer);
    } else if (answer->shared) {
        (void)MHD_add_response_header(response, "Access-Control-Allow-Origin", "*");
    }
    if (answer->type != NULL && answer->status != MHD_HTTP_NOT_MODIFIED) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    }
    if (answer->location[0] != '\0') {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, answer->location);
    }
    if (answer->retry_after > 0) {
        (void)snprintf(seconds, sizeof seconds, "%u", answer->retry_after);
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (answer->status == 401) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    }
    if (answer->status == MHD_HTTP_NO_CONTENT) {
        (void)MHD_add_response_header(response, "Access-Control-Allow-Methods",
                                      "GET, POST, OPTIONS");
        (void)MHD_add_response_header(response, "Access-Control-Allow-Headers",
                                      "Content-Type, Tremolo-Device");
        (void)MHD_add_response_header(response, "Access-Control-Max-Age", "86400");
    }
}

static void log_answer(const struct request *request)
{
    if (request->answer.status < 400) {
        return;
    }
    log_event(&request->server->log, request->answer.status >= 500 ? "error" : "notice", "refused",
              "{s:s, s:s, s:i, s:I}", "method", request->method, "route",
              request->route != NULL ? request->route->path : "none", "status",
              (int)request->answer.status, "microseconds",
              (json_int_t)(clock_us() - request->started_us));
}

static enum MHD_Result queue_answer(struct request *request, struct MHD_Response *response)
{
    unsigned status = request->answer.status;
    (void)atomic_fetch_add_explicit(&request->server->answers[status / 100 % 6], 1,
                                    memory_order_relaxed);
    connection_touch(request->record);
    return MHD_queue_response(request->connection, status, response);
}

static enum MHD_Result send_answer(struct request *request)
{
    struct answer *answer = &request->answer;
    if (answer->ready != NULL) {
        return queue_answer(request, answer->ready);
    }
    represent_made(request);
    bool owned = answer->body != NULL;
    if (!owned && answer->constant == NULL) {
        answer->length = 0;
    }
    /* The library takes a pointer to char, but leaves persistent bytes alone. */
    union {
        const unsigned char *constant;
        void *bytes;
    } file = {answer->constant};
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer->length, owned ? answer->body : file.bytes,
                                        owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response == NULL) { /* free_request() frees the body */
        return MHD_NO;
    }
    answer->body = NULL;
    answer->last = answer->last || atomic_load(&request->server->stopping);
    answer->shared = request->route != NULL && request->route->audience == FOR_DEVICES;
    add_headers(response, answer);
    log_answer(request);
    enum MHD_Result result = queue_answer(request, response);
    MHD_destroy_response(response);
    return result;
}

/* ---------------------------------------------------------------- beginning */

static struct request *new_request(struct loop *loop)
{
    struct request *request = loop->spares;
    if (request != NULL) {
        loop->spares = request->next;
        loop->spare_count--;
    } else {
        request = malloc(sizeof *request);
    }
    if (request != NULL) {
        memset(request, 0, offsetof(struct request, small_body));
    }
    return request;
}

/* Stands for a request whose target is unsound, until its head is there. */
static char unsound;

/* Refused before anything else is looked at; what may follow on this connection is not read. */
static bool refuse_framing(struct request *request, const char *version, bool target_is_sound)
{
    unsigned status = 400;
    const char *problem = "the path has a character that it may not have";
    if (target_is_sound) {
        problem =
            framing_check(&status, request->connection, request->method, request->path, version);
    }
    if (problem != NULL) {
        request_problem(request, status, problem);
        request->answer.last = true;
    }
    return problem != NULL;
}

static struct request *begin(struct loop *loop, struct MHD_Connection *connection, const char *url,
                             const char *method)
{
    struct request *request = new_request(loop);
    if (request == NULL) {
        return NULL;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    request->server = loop->server;
    request->loop = loop;
    request->connection = connection;
    request->record = info != NULL ? info->socket_context : NULL;
    request->method = method;
    request->path = url;
    request->started_us = clock_us();
    loop->active++;
    connection_touch(request->record);
    return request;
}

/* ---------------------------------------------------------------- the body */

static bool grow_body(struct request *request, size_t wanted)
{
    size_t capacity = request->capacity > 0 ? request->capacity : REQUEST_SMALL_BODY;
    if (wanted <= REQUEST_SMALL_BODY) {
        request->body = request->small_body;
        return true;
    }
    while (capacity < wanted) {
        capacity *= 2;
    }
    if (capacity == request->capacity) {
        return true;
    }
    size_t more = capacity - request->capacity;
    if (atomic_fetch_add(&request->server->body_bytes, more) + more > REQUEST_BODIES_MAX) {
        (void)atomic_fetch_sub(&request->server->body_bytes, more);
        return false;
    }
    uint8_t *grown = realloc(request->capacity > 0 ? request->body : NULL, capacity);
    if (grown == NULL) {
        (void)atomic_fetch_sub(&request->server->body_bytes, more);
        return false;
    }
    if (request->capacity == 0) {
        memcpy(grown, request->small_body, request->length);
    }
    request->body = grown;
    request->capacity = capacity;
    connection_holds(request->record, true);
    return true;
}

/* After a refusal the rest of the body is read and dropped, so that the
 * client gets to read the answer; but not without end. */
static enum MHD_Result take_body(struct request *request, const char *data, size_t length)
{
    size_t limit = request->route != NULL ? request->route->body_max : 0;
    if (request->answered) {
        request->length += length;
        return request->length <= 2 * (size_t)REQUEST_BODY_MAX ? MHD_YES : MHD_NO;
    }
    if (request->length + length > limit) {
        request_problem(request, 413, "the body is larger than this request may be");
        return MHD_YES;
    }
    if (!grow_body(request, request->length + length)) {
        request_problem(request, 503, "the server holds too many bodies at the moment");
        request->answer.retry_after = 1 + CONNECTION_STALLED_MS / 1000;
        return MHD_YES;
    }
    memcpy(request->body + request->length, data, length);
    request->length += length;
    return MHD_YES;
}

/* ---------------------------------------------------------------- waiting */

/* From whatever thread wrote. Once it is decided the request may be gone. */
static void on_done(struct job *job)
{
    struct request *request = job->context;
    struct loop *loop = request->loop;
    atomic_store_explicit(&request->decided, true, memory_order_release);
    loop_wake(loop);
}

static void waited(struct request *request)
{
    request->loop->waiting -= request->waits_for == WRITER;
    request->loop->asking -= request->waits_for == ESTIMATOR;
    request->waits_for = NOBODY;
}

static bool refuse_late(struct request *request)
{
    bool late = atomic_load(&request->server->stopping);
    if (late) {
        request_problem(request, 503, "the server is stopping");
    }
    return late;
}

void request_wait(struct request *request)
{
    if (refuse_late(request)) {
        return;
    }
    request->job.done = on_done;
    request->job.context = request;
    request->waits_for = WRITER;
    request->loop->waiting++;
    loop_gather(request->loop, &request->job);
}

/* From the estimator's thread. Decided comes last: until then the request stays (as an
 * orphan, should its connection end), and with it the daemon, which the library still touches. */
static void on_answer(struct question *question)
{
    struct request *request = question->context;
    struct MHD_Connection *connection = request->connection;
    struct loop *loop = request->loop;
    MHD_resume_connection(connection);
    atomic_store_explicit(&request->decided, true, memory_order_release);
    loop_wake(loop);
}

/* What may take seconds must not be asked for again and again meanwhile, nor be cut. */
void request_ask(struct request *request)
{
    if (refuse_late(request)) {
        return;
    }
    request->question =
        (struct question){.served = request->served, .done = on_answer, .context = request};
    request->waits_for = ESTIMATOR;
    request->loop->asking++;
    connection_leave(request->record);
    MHD_suspend_connection(request->connection);
    estimator_ask(request->server->estimator, &request->question);
}

void http_refuse(struct request *request)
{
    size_t count = request->job.kind == JOB_REPORTS ? request->job.reports.count : 0;
    for (size_t i = 0; i < count; i++) {
        if (request->arrivals[i].outcome == OUTCOME_PENDING) {
            request->arrivals[i].outcome = OUTCOME_BUSY;
        }
    }
    reports_give_back(request);
    writer_count(request->server->writer, request->served, request->arrivals, count);
    request_problem(request, 429, "too many reports are waiting; try again");
    atomic_store_explicit(&request->decided, true, memory_order_relaxed);
}

static enum MHD_Result run(struct request *request)
{
    if (request->waits_for != NOBODY) {
        if (!atomic_load_explicit(&request->decided, memory_order_acquire)) {
            return MHD_YES;
        }
        waited(request);
        if (!request->answered) {
            request->route->finish(request);
        }
    } else if (!request->answered) {
        connection_touch(request->record);
        request->route->run(request);
    }
    request->loop->progress = true;
    return request->answered && request->waits_for == NOBODY ? send_answer(request) : MHD_YES;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *length, void **state)
{
    struct loop *loop = context;
    bool target_is_sound = *state != &unsound;
    struct request *request = target_is_sound ? *state : NULL;
    if (request == NULL) {
        loop->progress = true;
        request = begin(loop, connection, url, method);
        *state = request;
        if (request == NULL) {
            return MHD_NO;
        }
        if (refuse_framing(request, version, target_is_sound)) {
            return send_answer(request);
        }
        request_read_head(request, url);
        /* A body that need not be read at all: answer, and the library closes. */
        return request->answered && request_header(request, "Content-Length") != NULL
                   ? send_answer(request)
                   : MHD_YES;
    }
    if (*length > 0) {
        loop->progress = true;
        enum MHD_Result result = take_body(request, data, *length);
        *length = 0;
        return result;
    }
    return run(request);
}

static void free_request(struct request *request)
{
    (void)atomic_fetch_sub(&request->server->body_bytes, request->capacity);
    request->loop->active--;
    free(request->answer.body);
    free(request->question.json);
    if (request->body != request->small_body) {
        free(request->body);
    }
    if (request->arrivals != &request->single) {
        free(request->arrivals);
    }
    if (request->job.kind == JOB_REPORTS && request->job.reports.rows != request->small_rows) {
        free(request->job.reports.rows);
    }
    free(request->problems);
    struct loop *loop = request->loop;
    if (loop->spare_count == SPARES_MAX) {
        free(request);
        return;
    }
    request->next = loop->spares;
    loop->spares = request;
    loop->spare_count++;
}

void http_free_spares(struct loop *loop)
{
    while (loop->spares != NULL) {
        struct request *request = loop->spares;
        loop->spares = request->next;
        free(request);
    }
    loop->spare_count = 0;
}

static bool is_undecided(struct request *request)
{
    return request->waits_for != NOBODY &&
           !atomic_load_explicit(&request->decided, memory_order_acquire);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct request *request = *state != &unsound ? *state : NULL;
    struct loop *loop = context;
    (void)connection;
    (void)code;
    loop->progress = true;
    *state = NULL;
    if (request == NULL) {
        return;
    }
    connection_touch(request->record);
    connection_holds(request->record, false);
    request->record = NULL;
    if (is_undecided(request)) { /* writer or estimator are not done with it */
        request->next = loop->orphans;
        loop->orphans = request;
        return;
    }
    waited(request);
    free_request(request);
}

void http_free_orphans(struct loop *loop)
{
    struct request **link = &loop->orphans;
    while (*link != NULL) {
        struct request *request = *link;
        if (is_undecided(request)) {
            link = &request->next;
            continue;
        }
        *link = request->next;
        waited(request);
        free_request(request);
    }
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct loop *loop = context;
    struct tremolo_server *server = loop->server;
    loop->progress = true;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context =
            info != NULL ? connections_add(server->connections, (int)info->connect_fd) : NULL;
    } else {
        connections_remove(server->connections, *socket_context);
        *socket_context = NULL;
    }
}

/* Called with the target when the first line is there; what it returns is the request's state. */
static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
    (void)context;
    (void)connection;
    return framing_target_is_sound(target) ? NULL : &unsound;
}

/* The library would end a path at %00, and /%00x would be the dashboard; and an encoded slash is
 * no slash, whatever a proxy thinks. Nothing of ours has either: such a text stays as it was
 * written, and is found nowhere. */
static size_t unescape(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    const char *escape = strchr(text, '%'); /* nearly always there is none */
    bool keep =
        escape == NULL || strstr(escape, "%00") != NULL || strcasestr(escape, "%2f") != NULL;
    return keep ? strlen(text) : MHD_http_unescape(text);
}

/* ---------------------------------------------------------------- starting */

/* The library keeps a connection for ever, and its descriptor, that it gives up during a TLS
 * handshake. One that is shut down it closes, so connections.c must come first. */
struct MHD_Daemon *http_daemon(struct loop *loop, int listener, unsigned connections)
{
    struct tremolo_server *server = loop->server;
    unsigned flags = MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME;
    struct MHD_OptionItem options[10] = {
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, loop},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, loop},
        {MHD_OPTION_CONNECTION_LIMIT, connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, 2 * server->request_seconds + 2, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_BYTES, NULL},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_target, NULL},
    };
    size_t count = 7;
    if (listener >= 0) {
        options[count++] = (struct MHD_OptionItem){MHD_OPTION_LISTEN_SOCKET, listener, NULL};
    } else {
        flags |= MHD_USE_NO_LISTEN_SOCKET;
    }
    options[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    if (server->tls != NULL) {
        return MHD_start_daemon(flags | MHD_USE_TLS, 0, NULL, NULL, on_request, loop,
                                MHD_OPTION_HTTPS_CERT_CALLBACK, tls_callback(),
                                MHD_OPTION_HTTPS_PRIORITIES, TLS_PRIORITIES, MHD_OPTION_ARRAY,
                                options, MHD_OPTION_END);
    }
    return MHD_start_daemon(flags, 0, NULL, NULL, on_request, loop, MHD_OPTION_ARRAY, options,
                            MHD_OPTION_END);
}

static struct MHD_Response *make_receipt(bool repeated)
{
    /* The library takes a pointer to char, but leaves persistent bytes alone. */
    static char accepted_text[] = "{\"accepted\":1,\"repeated\":0,\"failures\":[]}";
    static char repeated_text[] = "{\"accepted\":0,\"repeated\":1,\"failures\":[]}";
    struct MHD_Response *response = MHD_create_response_from_buffer(
        sizeof accepted_text - 1, repeated ? repeated_text : accepted_text, MHD_RESPMEM_PERSISTENT);
    struct answer answer = {.status = 200, .type = "application/json", .shared = true};
    if (response != NULL) {
        add_headers(response, &answer);
    }
    return response;
}

bool http_make_receipts(struct tremolo_server *server)
{
    server->receipt[0] = make_receipt(false);
    server->receipt[1] = make_receipt(true);
    return server->receipt[0] != NULL && server->receipt[1] != NULL;
}

void http_free_receipts(struct tremolo_server *server)
{
    for (size_t i = 0; i < 2; i++) {
        if (server->receipt[i] != NULL) {
            MHD_destroy_response(server->receipt[i]);
        }
    }
}
