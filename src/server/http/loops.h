/* loops.h -- the threads that serve HTTP, one loop each.
 *
 * A loop lets the library work on every connection that is ready, hands all
 * reports that came of it to the writer at once (or is the writer itself, see
 * writer.h), sleeps until they are decided, and lets the library answer. So a
 * report costs no wake-up of its own, groups form by themselves, and a connection
 * is touched by one thread only. */
#ifndef SERVER_LOOPS_H
#define SERVER_LOOPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct MHD_Daemon;
struct served_study;
struct job;
struct request;
struct tremolo_server;

enum { LOOP_ID_BYTES = 64 }; /* of an id in a path, with room */

struct loop {
    struct tremolo_server *server;
    struct MHD_Daemon *daemon;
    /* Only this loop's thread touches these. */
    struct batch_job *gathered; /* for the writer, in order */
    struct batch_job **gathered_end;
    struct served_study *recent;   /* the study that was asked for last, */
    char recent_id[LOOP_ID_BYTES]; /* in these words */
    struct request *spares;        /* memory for the next requests */
    size_t spare_count;
    struct request *orphans; /* their connections ended before these were decided */
    size_t active;           /* requests under way */
    size_t waiting;          /* of these, with the writer or gathered */
    size_t asking;           /* and with the estimator, their connections suspended */
    bool progress;           /* something happened: look again before sleeping */
    int64_t began;           /* with TLS, the latest turn: clock_us() */
    /* How the writer wakes it. */
    int wake;           /* an eventfd */
    _Atomic bool woken; /* written to, and not read yet */
};

struct loops;

/* `count` threads on the listening socket, which is closed when they stop. NULL, with
 * the socket left open, when threads or memory are missing. */
struct loops *loops_start(struct tremolo_server *server, int listener, unsigned count,
                          unsigned connections);

/* Take no new connections, answer what is under way (stalled clients have a few seconds, the
 * writer and the estimator as long as they need) and join the threads. server->stopping must be set. Free them only after the writer has
 * ended: it may still be about to wake one. Both accept NULL. */
void loops_stop(struct loops *loops);
void loops_free(struct loops *loops);

/* A loop without a thread, for a caller that turns it itself: `listener` -1 has it serve
 * connections that are added to its daemon. False when it cannot be made. */
bool loop_open(struct loop *loop, struct tremolo_server *server, int listener,
               unsigned connections);

/* Let the library work on all that is ready and hand over what came of it. */
void loop_turn(struct loop *loop);

/* Sleep until there is something to do; `events` is the daemon's epoll descriptor. */
void loop_pause(struct loop *loop, int events);

/* Put a job among those the loop hands over next. */
void loop_gather(struct loop *loop, struct job *job);

/* From any thread: a job of this loop is decided. */
void loop_wake(struct loop *loop);

#endif
