/* connections.c -- a list under one lock and a thread that looks through it. */
#include "http.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "background.h"

enum { LOOK_US = 1000000 };

struct connection {
    struct connection *next;
    struct connection **link;
    int socket;
    _Atomic int64_t since_ms;
    _Atomic bool holds_body;
};

struct connections {
    struct background thread; /* its lock guards all below */
    struct connection *first;
    size_t count;
    uint64_t cut;
    int64_t limit_ms;
    const _Atomic uint64_t *held;
    uint64_t held_most;
};

/* Asked several times a request, for limits of seconds: the coarse clock is good enough. */
static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Shut down only: the HTTP library sees the end and closes, as it would had
 * the client gone. The socket cannot be reused meanwhile, because it is taken
 * off the list before it is closed. Lock held. */
static void cut_late(struct connections *connections)
{
    int64_t now = now_ms();
    int64_t limit = connections->limit_ms;
    bool short_of_memory = atomic_load(connections->held) > connections->held_most;
    int64_t holder_limit =
        short_of_memory && limit > CONNECTION_STALLED_MS ? CONNECTION_STALLED_MS : limit;
    for (struct connection *c = connections->first; c != NULL; c = c->next) {
        int64_t since = atomic_load_explicit(&c->since_ms, memory_order_relaxed);
        bool holds = atomic_load_explicit(&c->holds_body, memory_order_relaxed);
        if (now - since > (holds ? holder_limit : limit)) {
            (void)shutdown(c->socket, SHUT_RDWR);
            atomic_store_explicit(&c->since_ms, now, memory_order_relaxed);
            connections->cut++;
        }
    }
}

static void *watch(void *argument)
{
    struct connections *connections = argument;
    background_lock(&connections->thread);
    while (!connections->thread.stopping) {
        background_wait_us(&connections->thread, LOOK_US);
        cut_late(connections);
    }
    background_unlock(&connections->thread);
    return NULL;
}

struct connections *connections_new(unsigned seconds, const _Atomic uint64_t *held,
                                    uint64_t held_most)
{
    struct connections *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->limit_ms = (int64_t)seconds * 1000;
    made->held = held;
    made->held_most = held_most;
    background_init(&made->thread);
    if (!background_start(&made->thread, watch, made)) {
        connections_free(made);
        return NULL;
    }
    return made;
}

void connections_free(struct connections *connections)
{
    if (connections != NULL) {
        background_free(&connections->thread);
        free(connections);
    }
}

struct connection *connections_add(struct connections *connections, int socket)
{
    struct connection *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->socket = socket;
    connection_touch(made);
    background_lock(&connections->thread);
    made->next = connections->first;
    made->link = &connections->first;
    if (made->next != NULL) {
        made->next->link = &made->next;
    }
    connections->first = made;
    connections->count++;
    background_unlock(&connections->thread);
    return made;
}

void connections_remove(struct connections *connections, struct connection *connection)
{
    if (connection == NULL) {
        return;
    }
    background_lock(&connections->thread);
    *connection->link = connection->next;
    if (connection->next != NULL) {
        connection->next->link = connection->link;
    }
    connections->count--;
    background_unlock(&connections->thread);
    free(connection);
}

void connection_touch(struct connection *connection)
{
    if (connection != NULL) {
        atomic_store_explicit(&connection->since_ms, now_ms(), memory_order_relaxed);
    }
}

void connection_holds(struct connection *connection, bool body)
{
    if (connection != NULL) {
        atomic_store_explicit(&connection->holds_body, body, memory_order_relaxed);
    }
}

void connection_leave(struct connection *connection)
{
    if (connection != NULL) {
        atomic_store_explicit(&connection->since_ms, INT64_MAX / 2, memory_order_relaxed);
    }
}

void connections_count(size_t *open, uint64_t *cut, struct connections *connections)
{
    background_lock(&connections->thread);
    *open = connections->count;
    *cut = connections->cut;
    background_unlock(&connections->thread);
}
