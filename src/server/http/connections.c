/* connections.c -- a list under one lock and a thread that looks through it. */
#include "connections.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "clock.h"

struct connection {
    struct connection *next;
    struct connection **link;
    int socket;
    _Atomic int64_t since_ms;
};

struct connections {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    struct connection *first;
    size_t count;
    uint64_t cut;
    int64_t limit_ms;
    bool stopping;
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
    for (struct connection *c = connections->first; c != NULL; c = c->next) {
        int64_t since = atomic_load_explicit(&c->since_ms, memory_order_relaxed);
        if (now - since > connections->limit_ms) {
            (void)shutdown(c->socket, SHUT_RDWR);
            atomic_store_explicit(&c->since_ms, now, memory_order_relaxed);
            connections->cut++;
        }
    }
}

static void *watch(void *argument)
{
    struct connections *connections = argument;
    (void)pthread_mutex_lock(&connections->lock);
    while (!connections->stopping) {
        clock_wait(&connections->wake, &connections->lock, 1000);
        cut_late(connections);
    }
    (void)pthread_mutex_unlock(&connections->lock);
    return NULL;
}

struct connections *connections_new(unsigned seconds)
{
    struct connections *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->limit_ms = (int64_t)seconds * 1000;
    (void)pthread_mutex_init(&made->lock, NULL);
    clock_cond_init(&made->wake);
    if (pthread_create(&made->thread, NULL, watch, made) != 0) {
        free(made);
        return NULL;
    }
    return made;
}

void connections_free(struct connections *connections)
{
    if (connections == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&connections->lock);
    connections->stopping = true;
    (void)pthread_cond_signal(&connections->wake);
    (void)pthread_mutex_unlock(&connections->lock);
    (void)pthread_join(connections->thread, NULL);
    (void)pthread_mutex_destroy(&connections->lock);
    (void)pthread_cond_destroy(&connections->wake);
    free(connections);
}

struct connection *connections_add(struct connections *connections, int socket)
{
    struct connection *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->socket = socket;
    connection_touch(made);
    (void)pthread_mutex_lock(&connections->lock);
    made->next = connections->first;
    made->link = &connections->first;
    if (made->next != NULL) {
        made->next->link = &made->next;
    }
    connections->first = made;
    connections->count++;
    (void)pthread_mutex_unlock(&connections->lock);
    return made;
}

void connections_remove(struct connections *connections, struct connection *connection)
{
    if (connection == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&connections->lock);
    *connection->link = connection->next;
    if (connection->next != NULL) {
        connection->next->link = connection->link;
    }
    connections->count--;
    (void)pthread_mutex_unlock(&connections->lock);
    free(connection);
}

void connection_touch(struct connection *connection)
{
    if (connection != NULL) {
        atomic_store_explicit(&connection->since_ms, now_ms(), memory_order_relaxed);
    }
}

void connection_leave(struct connection *connection)
{
    if (connection != NULL) {
        atomic_store_explicit(&connection->since_ms, INT64_MAX / 2, memory_order_relaxed);
    }
}

size_t connections_count(struct connections *connections)
{
    (void)pthread_mutex_lock(&connections->lock);
    size_t count = connections->count;
    (void)pthread_mutex_unlock(&connections->lock);
    return count;
}

uint64_t connections_cut(struct connections *connections)
{
    (void)pthread_mutex_lock(&connections->lock);
    uint64_t cut = connections->cut;
    (void)pthread_mutex_unlock(&connections->lock);
    return cut;
}
