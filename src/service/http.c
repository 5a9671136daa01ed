/* http.c -- connections, requests and the loops that run them.
 *
 * The library calls on_request first with the head, then with each piece of the body, then at its end,
 * again and again until there is an answer. A handler answers at once or hands a job to the batcher; until
 * that is decided the request says "not yet". Or its connection is suspended until another thread has
 * the answer. So a few threads hold thousands of connections, and none waits for a slow disk.
 *
 * A connection with a queued job stays in the library's list of those with something to do:
 * it is asked again on every turn. Suspending it instead would cost a wake-up, two changes of the
 * epoll set and a useless read for every report. While anything is with the batcher a loop therefore sleeps
 * until it is woken, but not for long: then it reads what has come in that time, so that a slow disk keeps
 * no other request waiting and all that comes during one sync shares the next.
 *
 * Every open connection has a time by which it must have moved on, and is cut when it has not. A client
 * that drips a byte now and then never looks idle, so an idle timeout alone would not end it.
 *
 * Threads: all of a loop and its requests belong to the loop's thread. The list of connections is guarded by
 * watch.lock. request_decided() and request_resume() come from other threads: they set `decided` with
 * release, and from then on do not touch the request. */
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "http_parts.h"
#include "prometheus.h"

enum {
    CONNECTION_BYTES = 8192, /* of the library's buffer: heads larger than this are refused (431) */
    CONNECTIONS_MAX = 20000,
    FILES_RESERVED = 64,
    THREADS_MAX = 16,
    STALLED_MS = 2000,  /* of a connection that holds a body, while memory is short */
    LOOK_US = 1000000,  /* between looks at all connections */
    QUEUED_NS = 250000, /* the shortest sleep while the batcher is at work */
    WAITING_NS = 1000,  /* and this more for each request that waits */
    PAUSE_NS_MAX = 20000000,
    IDLE_NS = 250000,
    IDLE_MS_MAX = 500,
    DRAIN_MS = 5000,
    TURNS_MAX = 8, /* of the library before jobs are handed over */
};

/* So many finished requests keep their memory for the next; none where late writes to it are looked for. */
#ifdef TREMOLO_SANITIZED
enum { SPARES_MAX = 0 };
#else
enum { SPARES_MAX = 256 };
#endif

/* TLS 1.2 and 1.3, keys that are made for one session and forgotten with it (so that a stolen
 * certificate opens no recording), ciphers that authenticate what they encrypt. */
static const char tls_priorities[] =
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-MAC-ALL:+AEAD";

/* ---------------------------------------------------------------- connections
 *
 * A list of all open sockets with the time of their last step. The watch thread looks through
 * it; loops add and remove. A step is one head, one body or one answer, so the time of a step
 * bounds every way of holding a connection. */

struct connection {
    struct connection *next;
    struct connection **link;
    int socket;
    _Atomic int64_t since_ms;
    _Atomic bool holds_body;
};

/* Asked several times a request, for limits of seconds: the coarse clock is good enough. */
static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Shut down only: the library then sees the end of the connection and closes it. The socket cannot be reused
 * before that, because its connection leaves the list before it is closed. While memory is short,
 * those that stall with a body lose it first. watch.lock held. */
static void cut_late(struct http *http)
{
    int64_t now = now_ms();
    int64_t limit = http->limit_ms;
    bool short_of_memory = atomic_load(&http->body_bytes) > HTTP_BODIES_MAX / 2;
    int64_t holder_limit = short_of_memory && limit > STALLED_MS ? STALLED_MS : limit;
    for (struct connection *c = http->first; c != NULL; c = c->next) {
        int64_t since = atomic_load_explicit(&c->since_ms, memory_order_relaxed);
        bool holds = atomic_load_explicit(&c->holds_body, memory_order_relaxed);
        if (now - since > (holds ? holder_limit : limit)) {
            (void)shutdown(c->socket, SHUT_RDWR);
            atomic_store_explicit(&c->since_ms, now, memory_order_relaxed);
            http->cut++;
        }
    }
}

/* Once a second, for all connections. watch.lock is held except while it waits. */
static void *watch_main(void *argument)
{
    struct http *http = argument;
    background_lock(&http->watch);
    while (!http->watch.stopping) {
        background_wait_us(&http->watch, LOOK_US);
        cut_late(http);
    }
    background_unlock(&http->watch);
    return NULL;
}

/* The next step has its full time from now. */
static void connection_touch(struct connection *connection)
{
    if (connection != NULL) {
        atomic_store_explicit(&connection->since_ms, now_ms(), memory_order_relaxed);
    }
}

/* Whether it holds memory for a body. */
static void connection_holds(struct connection *connection, bool body)
{
    if (connection != NULL) {
        atomic_store_explicit(&connection->holds_body, body, memory_order_relaxed);
    }
}

/* The next step is ours and has no limit. */
static void connection_leave(struct connection *connection)
{
    if (connection != NULL) {
        atomic_store_explicit(&connection->since_ms, INT64_MAX / 2, memory_order_relaxed);
    }
}

/* NULL without memory: such a connection is never cut. */
static struct connection *add_connection(struct http *http, int socket)
{
    struct connection *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->socket = socket;
    connection_touch(made);
    background_lock(&http->watch);
    made->next = http->first;
    made->link = &http->first;
    if (made->next != NULL) {
        made->next->link = &made->next;
    }
    http->first = made;
    http->open++;
    background_unlock(&http->watch);
    return made;
}

/* Called by the loop before the library closes the socket, so a number that is used again is
 * never shut down by mistake. */
static void remove_connection(struct http *http, struct connection *connection)
{
    if (connection == NULL) {
        return;
    }
    background_lock(&http->watch);
    *connection->link = connection->next;
    if (connection->next != NULL) {
        connection->next->link = connection->link;
    }
    http->open--;
    background_unlock(&http->watch);
    free(connection);
}

/* ---------------------------------------------------------------- beginning
 *
 * A request begins with its head and ends when its connection is done with it and its job is
 * decided, whichever is later. */

/* Memory of a finished request if there is some: malloc would be a measurable part of a report. */
static struct request *new_request(struct loop *loop)
{
    size_t bytes = loop->http->program->request_bytes;
    struct request *request = loop->spares;
    if (request != NULL) {
        loop->spares = request->next;
        loop->spare_count--;
    } else {
        request = malloc(bytes);
    }
    if (request != NULL) {
        memset(request, 0, bytes);
    }
    return request;
}

/* Counts as under way from here to free_request(). */
static struct request *begin(struct loop *loop, struct MHD_Connection *connection, const char *url,
                             const char *method)
{
    struct request *request = new_request(loop);
    if (request == NULL) {
        return NULL;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    request->http = loop->http;
    request->owner = loop->http->program->owner;
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

/* ---------------------------------------------------------------- the body
 *
 * Bodies are the only memory that clients can make us hold, so they are counted, and bounded in
 * all. */

/* The bytes of all bodies together are bounded: each growth is charged before it is made, and
 * given back on a failure. */
static bool grow_body(struct request *request, size_t wanted)
{
    size_t capacity = request->capacity > 0 ? request->capacity : HTTP_SMALL_BODY;
    if (wanted <= HTTP_SMALL_BODY) {
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
    if (atomic_fetch_add(&request->http->body_bytes, more) + more > HTTP_BODIES_MAX) {
        (void)atomic_fetch_sub(&request->http->body_bytes, more);
        return false;
    }
    uint8_t *grown = realloc(request->capacity > 0 ? request->body : NULL, capacity);
    if (grown == NULL) {
        (void)atomic_fetch_sub(&request->http->body_bytes, more);
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
        return request->length <= 2 * (size_t)HTTP_BODY_MAX ? MHD_YES : MHD_NO;
    }
    if (request->length + length > limit) {
        request_problem(request, 413, "the body is larger than this request may be");
        return MHD_YES;
    }
    if (!grow_body(request, request->length + length)) {
        request_problem(request, 503, "the server holds too many bodies at the moment");
        request->answer.retry_after = 1 + STALLED_MS / 1000;
        return MHD_YES;
    }
    memcpy(request->body + request->length, data, length);
    request->length += length;
    return MHD_YES;
}

/* ---------------------------------------------------------------- answering
 *
 * An answer leaves once. Its form is answer.c's; here it is counted, logged if it is a refusal,
 * and queued. */

/* Only refusals: a line for each report would be more writing than storing it. */
static void log_answer(const struct request *request)
{
    if (request->answer.status < 400) {
        return;
    }
    log_event(request->http->log, request->answer.status >= 500 ? "error" : "notice", "refused",
              "{s:s, s:s, s:i, s:I}", "method", request->method, "route",
              request->route != NULL ? request->route->path : "none", "status",
              (int)request->answer.status, "microseconds",
              (json_int_t)(clock_us() - request->started_us));
}

/* The connection has its full time again to take the answer. */
static enum MHD_Result queue_answer(struct request *request, struct MHD_Response *response)
{
    unsigned status = request->answer.status;
    (void)atomic_fetch_add_explicit(&request->http->answers[status / 100 % 6], 1,
                                    memory_order_relaxed);
    connection_touch(request->record);
    return MHD_queue_response(request->connection, status, response);
}

/* While the server stops, an answer ends its connection. */
static enum MHD_Result send_answer(struct request *request)
{
    struct answer *answer = &request->answer;
    if (answer->ready != NULL) {
        return queue_answer(request, answer->ready);
    }
    answer->last = answer->last || atomic_load(request->http->stopping);
    struct MHD_Response *response = answer_response(request);
    if (response == NULL) { /* free_request() frees the body */
        return MHD_NO;
    }
    log_answer(request);
    enum MHD_Result result = queue_answer(request, response);
    MHD_destroy_response(response);
    return result;
}

/* ---------------------------------------------------------------- waiting
 *
 * While a job is with another thread, the request may not be freed, and its connection may end.
 * `decided` is the only word between the two threads. */

/* `woken` keeps a second writer from another system call; loop_pause() clears it after reading. */
static void wake(struct loop *loop)
{
    uint64_t one = 1;
    if (!atomic_exchange(&loop->woken, true)) {
        /* The counter cannot overflow and never blocks. */
        ssize_t written = write(loop->wake, &one, sizeof one);
        (void)written;
    }
}

void request_decided(struct request *request)
{
    struct loop *loop = request->loop;
    atomic_store_explicit(&request->decided, true, memory_order_release);
    wake(loop);
}

/* On the loop's thread: its counts are not shared. */
static void waited(struct request *request)
{
    request->loop->queued -= request->waits == QUEUED;
    request->loop->suspended -= request->waits == SUSPENDED;
    request->waits = READY;
}

/* A job that came now might find the batcher gone. */
static bool refuse_late(struct request *request)
{
    bool late = atomic_load(request->http->stopping);
    if (late) {
        request_problem(request, 503, "the server is stopping");
    }
    return late;
}

/* The loop hands over all jobs of its turn together (hand_over). */
bool request_wait(struct request *request, struct batch_job *job)
{
    struct loop *loop = request->loop;
    if (refuse_late(request)) {
        return false;
    }
    request->waits = QUEUED;
    loop->queued++;
    job->request = request;
    job->next = NULL;
    *loop->gathered_end = job;
    loop->gathered_end = &job->next;
    return true;
}

bool request_suspend(struct request *request)
{
    if (refuse_late(request)) {
        return false;
    }
    request->waits = SUSPENDED;
    request->loop->suspended++;
    connection_leave(request->record);
    MHD_suspend_connection(request->connection);
    return true;
}

/* Decided comes last: until then the request stays (as an orphan, if its connection ends), and with it the
 * daemon, which the library still touches. */
void request_resume(struct request *request)
{
    MHD_resume_connection(request->connection);
    request_decided(request);
}

/* The state of a request with an unsound target, until its head is there. */
static char unsound;

/* Called again and again by the library until there is an answer: first the handler, then, when
 * its job is decided, its finish. */
static enum MHD_Result run(struct request *request)
{
    if (request->waits != READY) {
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
    return request->answered && request->waits == READY ? send_answer(request) : MHD_YES;
}

/* The library's callback: the head first, then each piece of the body, then once more with
 * nothing. */
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
        head_read(request, version, target_is_sound);
        if (request->answer.last) {
            return send_answer(request);
        }
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
    struct loop *loop = request->loop;
    (void)atomic_fetch_sub(&request->http->body_bytes, request->capacity);
    loop->active--;
    free(request->answer.body);
    if (request->body != request->small_body) {
        free(request->body);
    }
    request->http->program->release(request);
    if (loop->spare_count == SPARES_MAX) {
        free(request);
        return;
    }
    request->next = loop->spares;
    loop->spares = request;
    loop->spare_count++;
}

/* Acquire pairs with the release of request_decided(): results are seen once this is false. */
static bool is_undecided(struct request *request)
{
    return request->waits != READY &&
           !atomic_load_explicit(&request->decided, memory_order_acquire);
}

/* The connection is done with its request. If another thread still has its job, it waits among
 * the orphans. */
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
    if (is_undecided(request)) { /* another thread is not done with it */
        request->next = loop->orphans;
        loop->orphans = request;
        return;
    }
    waited(request);
    free_request(request);
}

/* Free requests that outlived their connections, if their jobs are decided now. */
static void free_orphans(struct loop *loop)
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

/* A connection is on the list from its start to its end. */
static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct loop *loop = context;
    struct http *http = loop->http;
    loop->progress = true;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context = info != NULL ? add_connection(http, (int)info->connect_fd) : NULL;
    } else {
        remove_connection(http, *socket_context);
        *socket_context = NULL;
    }
}

/* Called with the target when the first line is there; what it returns is the request's state. */
static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
    (void)context;
    (void)connection;
    return head_target_is_sound(target) ? NULL : &unsound;
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

/* ---------------------------------------------------------------- one turn
 *
 * A turn is a few runs of the library: requests that come while others are read still share its
 * batch. */

/* Jobs that find no room come back and are answered at once. */
static void hand_over(struct loop *loop)
{
    struct batch_job *job = loop->gathered;
    if (job == NULL) {
        return;
    }
    loop->gathered = NULL;
    loop->gathered_end = &loop->gathered;
    /* This thread is awake and need not be woken; what is decided now the next turn sees. */
    atomic_store(&loop->woken, true);
    job = batcher_submit_all(loop->http->program->batcher, job);
    atomic_store(&loop->woken, false);
    loop->progress = true;
    while (job != NULL) {
        struct request *request = job->request;
        job = job->next;
        loop->http->program->refuse(request);
        atomic_store_explicit(&request->decided, true, memory_order_relaxed);
    }
}

/* Requests come while others are read; what comes now shares one sync. */
static void run_while_ready(struct loop *loop)
{
    int turns = 0;
    do {
        loop->progress = false;
        (void)MHD_run(loop->daemon);
        turns++;
    } while (loop->progress && turns < TURNS_MAX);
}

/* Orphans are freed here, because nothing else would look at them again. */
void loop_turn(struct loop *loop)
{
    if (loop->http->tls != NULL) {
        loop->began = clock_us();
    }
    run_while_ready(loop);
    hand_over(loop);
    free_orphans(loop);
}

/* The library takes a connection within a TLS handshake for ready, whatever has come, and does not
 * wait for it: one that sends nothing would keep a thread busy until its time is up. So a thread
 * rests as long as such a turn took it, and a moment at least. */
static void pause_idle(struct loop *loop, struct pollfd *ready, nfds_t count)
{
    int64_t ns = 1000 * (clock_us() - loop->began);
    ns = ns < IDLE_NS ? IDLE_NS : ns > PAUSE_NS_MAX ? PAUSE_NS_MAX : ns;
    const struct timespec soon = {0, (long)ns};
    (void)ppoll(ready, count, &soon, NULL);
}

/* With jobs queued: wait for the batcher, but not long. Otherwise: wait for a client, or for the
 * library's next deadline. */
void loop_pause(struct loop *loop, int events)
{
    struct pollfd ready[2] = {{.fd = loop->wake, .events = POLLIN},
                              {.fd = events, .events = POLLIN}};
    MHD_UNSIGNED_LONG_LONG due = IDLE_MS_MAX;
    uint64_t count;
    if (loop->queued > 0) {
        /* Asking costs time for each that waits: the more there are, the rarer. */
        long ns = QUEUED_NS + WAITING_NS * (long)loop->queued;
        const struct timespec soon = {0, ns < PAUSE_NS_MAX ? ns : PAUSE_NS_MAX};
        (void)ppoll(ready, 1, &soon, NULL);
    } else {
        if (MHD_get_timeout(loop->daemon, &due) != MHD_YES || due > IDLE_MS_MAX) {
            due = IDLE_MS_MAX;
        }
        if (due == 0 && loop->http->tls != NULL) {
            pause_idle(loop, ready, 2);
        } else {
            (void)poll(ready, 2, (int)due);
        }
    }
    if ((ready[0].revents & POLLIN) != 0 && read(loop->wake, &count, sizeof count) > 0) {
        (void)atomic_exchange(&loop->woken, false);
    }
}

/* ---------------------------------------------------------------- threads
 *
 * One loop a thread, and no request ever changes its thread. Loops share the listener: the
 * kernel gives a connection to one of them. */

struct thread {
    struct loop loop;
    pthread_t id;
    int64_t stopping_since; /* 0: not yet */
};

static void free_spares(struct loop *loop)
{
    while (loop->spares != NULL) {
        struct request *request = loop->spares;
        loop->spares = request->next;
        free(request);
    }
    loop->spare_count = 0;
}

/* The listener is shared by all loops: the last one closes it. */
static void stop_accepting(struct thread *thread)
{
    (void)MHD_quiesce_daemon(thread->loop.daemon);
    if (atomic_fetch_sub(&thread->loop.http->listening, 1) == 1) {
        (void)close(thread->loop.http->listener);
    }
}

/* Is nothing under way any more? Stalled clients do not count after DRAIN_MS. */
static bool is_drained(struct thread *thread)
{
    if (!atomic_load(thread->loop.http->stopping)) {
        return false;
    }
    if (thread->stopping_since == 0) {
        stop_accepting(thread);
        thread->stopping_since = clock_ms();
    }
    bool late = clock_ms() - thread->stopping_since > DRAIN_MS;
    const struct loop *loop = &thread->loop;
    return loop->queued == 0 && loop->suspended == 0 && (loop->active == 0 || late);
}

/* Turn and sleep until the server stops and nothing is under way. */
static void *thread_main(void *argument)
{
    struct thread *thread = argument;
    struct loop *loop = &thread->loop;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    while (!is_drained(thread)) {
        loop_turn(loop);
        if (!loop->progress) {
            loop_pause(loop, info->epoll_fd);
        }
    }
    MHD_stop_daemon(loop->daemon);
    loop->daemon = NULL;
    free_spares(loop);
    return NULL;
}

/* ---------------------------------------------------------------- starting and stopping
 *
 * Stop takes no new connections, lets what is under way end, and joins. Free is a second step,
 * because the end of a job may still wake a loop in between. */

/* The library keeps a connection for ever, and its descriptor, that it gives up during a TLS
 * handshake. One that is shut down it closes, so the watch must come first. */
static struct MHD_Daemon *make_daemon(struct loop *loop, int listener, unsigned connections)
{
    const struct http *http = loop->http;
    unsigned flags = MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME;
    struct MHD_OptionItem options[10] = {
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, loop},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, loop},
        {MHD_OPTION_CONNECTION_LIMIT, connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, 2 * http->limit_ms / 1000 + 2, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
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
    if (http->tls != NULL) {
        return MHD_start_daemon(flags | MHD_USE_TLS, 0, NULL, NULL, on_request, loop,
                                MHD_OPTION_HTTPS_CERT_CALLBACK, tls_callback(),
                                MHD_OPTION_HTTPS_PRIORITIES, tls_priorities, MHD_OPTION_ARRAY,
                                options, MHD_OPTION_END);
    }
    return MHD_start_daemon(flags, 0, NULL, NULL, on_request, loop, MHD_OPTION_ARRAY, options,
                            MHD_OPTION_END);
}

/* Without a listener the caller adds connections itself (fuzzers do). */
bool loop_open(struct loop *loop, struct http *http, int listener, unsigned connections)
{
    *loop = (struct loop){.http = http, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    loop->gathered_end = &loop->gathered;
    if (loop->wake < 0) {
        return false;
    }
    loop->daemon = make_daemon(loop, listener, connections);
    if (loop->daemon == NULL) {
        (void)close(loop->wake);
    }
    return loop->daemon != NULL;
}

/* On a failure nothing of the loop is left; the listener stays open. */
static bool start_thread(struct thread *thread, struct http *http, unsigned connections)
{
    struct loop *loop = &thread->loop;
    if (!loop_open(loop, http, http->listener, connections)) {
        return false;
    }
    if (pthread_create(&thread->id, NULL, thread_main, thread) != 0) {
        (void)MHD_quiesce_daemon(loop->daemon); /* or it would close the listener */
        MHD_stop_daemon(loop->daemon);
        (void)close(loop->wake);
        return false;
    }
    return true;
}

/* As many as file descriptors allow, after asking for all we may have. */
static unsigned connection_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return 512;
    }
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    unsigned limit = CONNECTIONS_MAX;
    if (files.rlim_cur != RLIM_INFINITY && files.rlim_cur < limit + FILES_RESERVED) {
        limit = files.rlim_cur > 2 * FILES_RESERVED ? (unsigned)files.rlim_cur - FILES_RESERVED
                                                    : FILES_RESERVED;
    }
    return limit;
}

/* Half the processors: most of a request is the kernel's work, which spreads by itself, and
 * fewer threads make larger groups. TLS is ours to compute, on all of them. */
static unsigned thread_count(unsigned wanted, bool computes)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned all = processors > 0 ? (unsigned)processors : 1;
    unsigned threads = wanted > 0 ? wanted : computes ? all : (all + 1) / 2;
    return threads < THREADS_MAX ? threads : THREADS_MAX;
}

/* The last thread that stops accepting closes the listener; until all run it is ours. */
static bool start_threads(struct http *http, const struct http_options *options)
{
    unsigned count = thread_count(options->threads, http->tls != NULL);
    unsigned connections = connection_limit();
    http->thread = calloc(count, sizeof *http->thread);
    if (http->thread == NULL) {
        return false;
    }
    atomic_store(&http->listening, count + 1);
    while (http->threads < count &&
           start_thread(&http->thread[http->threads], http, (connections + count - 1) / count)) {
        http->threads++;
    }
    if (http->threads == count) {
        (void)atomic_fetch_sub(&http->listening, 1);
    }
    return http->threads == count;
}

struct http *http_new(const struct http_options *options, const struct http_program *program)
{
    struct http *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->program = program;
    made->token = options->token;
    made->log = options->log;
    made->stopping = options->stopping;
    made->limit_ms = (int64_t)options->request_seconds * 1000;
    made->port = options->port;
    background_init(&made->watch);
    if (!background_start(&made->watch, watch_main, made)) {
        http_free(made);
        return NULL;
    }
    return made;
}

enum tremolo_status http_start(struct http **http, const struct http_options *options,
                               const struct http_program *program, char words[TREMOLO_WORDS_BYTES])
{
    struct http *made = http_new(options, program);
    enum tremolo_status status =
        made != NULL ? TREMOLO_OK : words_say(words, TREMOLO_NO_MEMORY, "out of memory");
    if (status == TREMOLO_OK && options->tls_cert != NULL) {
        status = tls_new(&made->tls, options->tls_cert, options->tls_key, words);
    }
    if (status == TREMOLO_OK) {
        status = listen_open(&made->listener, &made->port, options->address, words);
    }
    if (status == TREMOLO_OK && !start_threads(made, options)) {
        http_stop(made);
        (void)close(made->listener);
        status = words_say(words, TREMOLO_NO_MEMORY, "the threads for requests cannot be started");
    }
    if (status != TREMOLO_OK) {
        http_free(made);
        return status;
    }
    *http = made;
    return TREMOLO_OK;
}

uint16_t http_port(const struct http *http)
{
    return http->port;
}

enum tremolo_status http_reload(struct http *http, char words[TREMOLO_WORDS_BYTES])
{
    return http->tls != NULL ? tls_reload(http->tls, words) : TREMOLO_OK;
}

void http_stop(struct http *http)
{
    if (http == NULL) {
        return;
    }
    atomic_store(http->stopping, true);
    for (unsigned i = 0; i < http->threads; i++) {
        wake(&http->thread[i].loop);
    }
    for (unsigned i = 0; i < http->threads; i++) {
        (void)pthread_join(http->thread[i].id, NULL);
    }
}

/* Wake descriptors stay open until here, because a job's end may still write to one after
 * http_stop(). */
void http_free(struct http *http)
{
    if (http == NULL) {
        return;
    }
    for (unsigned i = 0; i < http->threads; i++) {
        (void)close(http->thread[i].loop.wake);
    }
    background_free(&http->watch);
    tls_free(http->tls);
    free(http->thread);
    free(http);
}

void http_write_metrics(struct prometheus *out, struct http *http)
{
    static const char *const classes[] = {"2xx", "3xx", "4xx", "5xx"};
    background_lock(&http->watch);
    double open = (double)http->open, cut = (double)http->cut;
    background_unlock(&http->watch);
    prometheus_head(out, "tremolo_http_responses_total", "counter", "Answers by class of status.");
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        prometheus_labelled(out, "class", classes[i], atomic_load(&http->answers[i + 2]));
    }
    prometheus_value(out, "tremolo_connections", "gauge", "Open connections.", open);
    prometheus_value(out, "tremolo_connections_cut_total", "counter",
                     "Connections cut for being slow.", cut);
    prometheus_value(out, "tremolo_body_bytes", "gauge", "Bytes of request bodies in memory.",
                     (double)atomic_load(&http->body_bytes));
}
