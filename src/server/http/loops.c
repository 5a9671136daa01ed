/* loops.c -- run what is ready, hand over, sleep, answer.
 *
 * A connection whose report is with the writer stays in the library's list of
 * those with something to do: it is asked again on every turn and says "not
 * yet". Suspending it instead would cost a wake-up, two changes of the epoll
 * set and a useless read for every report. While anything is with the writer a
 * loop therefore sleeps until the writer wakes it, but not for long: then it
 * reads what has come meanwhile, so that a slow disk keeps no other request
 * waiting and all that comes during one sync shares the next. */
#include "loops.h"

#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "http.h"
#include "request.h"

enum {
    WRITER_NS = 250000, /* the shortest sleep while the writer is at work */
    WAITING_NS = 1000,  /* and this more for each request that waits */
    PAUSE_NS_MAX = 20000000,
    IDLE_NS = 250000,
    IDLE_MS_MAX = 500,
    DRAIN_MS = 5000,
    TURNS_MAX = 8, /* of the library before reports are handed over */
};

struct thread {
    struct loop loop;
    struct loops *all;
    pthread_t id;
    bool listening;
    int64_t stopping_since; /* 0: not yet */
};

struct loops {
    struct thread *thread;
    unsigned count;
    int listener;
    _Atomic unsigned listening; /* threads that still accept */
};

/* ---------------------------------------------------------------- one turn */

void loop_gather(struct loop *loop, struct job *job)
{
    job->queued.next = NULL;
    job->queued.alone = job->kind != JOB_REPORTS;
    *loop->gathered_end = &job->queued;
    loop->gathered_end = &job->queued.next;
}

void loop_wake(struct loop *loop)
{
    uint64_t one = 1;
    if (!atomic_exchange(&loop->woken, true)) {
        /* The counter cannot overflow and never blocks. */
        ssize_t written = write(loop->wake, &one, sizeof one);
        (void)written;
    }
}

static void hand_over(struct loop *loop)
{
    struct batch_job *job = loop->gathered;
    if (job == NULL) {
        return;
    }
    loop->gathered = NULL;
    loop->gathered_end = &loop->gathered;
    /* Awake as we are, nobody need wake us; what is decided meanwhile the next turn sees. */
    atomic_store(&loop->woken, true);
    job = batcher_submit_all(&loop->server->writer->batcher, job);
    atomic_store(&loop->woken, false);
    loop->progress = true;
    while (job != NULL) {
        struct request *request = job_of(job)->context;
        job = job->next;
        http_refuse(request);
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

void loop_turn(struct loop *loop)
{
    if (loop->server->tls != NULL) {
        loop->began = clock_us();
    }
    run_while_ready(loop);
    hand_over(loop);
    http_free_orphans(loop);
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

void loop_pause(struct loop *loop, int events)
{
    struct pollfd ready[2] = {{.fd = loop->wake, .events = POLLIN},
                              {.fd = events, .events = POLLIN}};
    MHD_UNSIGNED_LONG_LONG due = IDLE_MS_MAX;
    uint64_t count;
    if (loop->waiting > 0) {
        /* Asking costs time for each that waits: the more there are, the rarer. */
        long ns = WRITER_NS + WAITING_NS * (long)loop->waiting;
        const struct timespec soon = {0, ns < PAUSE_NS_MAX ? ns : PAUSE_NS_MAX};
        (void)ppoll(ready, 1, &soon, NULL);
    } else {
        if (MHD_get_timeout(loop->daemon, &due) != MHD_YES || due > IDLE_MS_MAX) {
            due = IDLE_MS_MAX;
        }
        if (due == 0 && loop->server->tls != NULL) {
            pause_idle(loop, ready, 2);
        } else {
            (void)poll(ready, 2, (int)due);
        }
    }
    if ((ready[0].revents & POLLIN) != 0 && read(loop->wake, &count, sizeof count) > 0) {
        (void)atomic_exchange(&loop->woken, false);
    }
}

/* ---------------------------------------------------------------- thread */

static void stop_accepting(struct thread *thread)
{
    if (thread->listening) {
        thread->listening = false;
        (void)MHD_quiesce_daemon(thread->loop.daemon);
        if (atomic_fetch_sub(&thread->all->listening, 1) == 1) {
            (void)close(thread->all->listener);
        }
    }
}

/* Nothing under way any more? A stalled client does not hold us for ever. */
static bool is_drained(struct thread *thread)
{
    if (!atomic_load(&thread->loop.server->stopping)) {
        return false;
    }
    stop_accepting(thread);
    if (thread->stopping_since == 0) {
        thread->stopping_since = clock_ms();
    }
    bool late = clock_ms() - thread->stopping_since > DRAIN_MS;
    const struct loop *loop = &thread->loop;
    return loop->waiting == 0 && loop->asking == 0 && (loop->active == 0 || late);
}

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
    http_free_spares(loop);
    return NULL;
}

/* ---------------------------------------------------------------- all */

bool loop_open(struct loop *loop, struct tremolo_server *server, int listener, unsigned connections)
{
    *loop = (struct loop){.server = server, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    loop->gathered_end = &loop->gathered;
    if (loop->wake < 0) {
        return false;
    }
    loop->daemon = http_daemon(loop, listener, connections);
    if (loop->daemon == NULL) {
        (void)close(loop->wake);
    }
    return loop->daemon != NULL;
}

static bool start_thread(struct thread *thread, struct loops *loops, struct tremolo_server *server,
                         unsigned connections)
{
    struct loop *loop = &thread->loop;
    thread->all = loops;
    thread->listening = true;
    if (!loop_open(loop, server, loops->listener, connections)) {
        return false;
    }
    if (pthread_create(&thread->id, NULL, thread_main, thread) != 0) {
        (void)MHD_quiesce_daemon(loop->daemon); /* else it closes the caller's socket */
        MHD_stop_daemon(loop->daemon);
        (void)close(loop->wake);
        return false;
    }
    return true;
}

struct loops *loops_start(struct tremolo_server *server, int listener, unsigned count,
                          unsigned connections)
{
    struct loops *loops = calloc(1, sizeof *loops);
    struct thread *threads = calloc(count, sizeof *threads);
    if (loops == NULL || threads == NULL) {
        free(loops);
        free(threads);
        return NULL;
    }
    loops->thread = threads;
    loops->listener = listener;
    /* One more than there are threads: the socket is the caller's until all run. */
    atomic_store(&loops->listening, count + 1);
    while (loops->count < count &&
           start_thread(&threads[loops->count], loops, server, (connections + count - 1) / count)) {
        loops->count++;
    }
    if (loops->count < count) {
        atomic_store(&server->stopping, true);
        loops_stop(loops);
        loops_free(loops);
        return NULL;
    }
    (void)atomic_fetch_sub(&loops->listening, 1);
    return loops;
}

void loops_stop(struct loops *loops)
{
    for (unsigned i = 0; loops != NULL && i < loops->count; i++) {
        loop_wake(&loops->thread[i].loop);
    }
    for (unsigned i = 0; loops != NULL && i < loops->count; i++) {
        (void)pthread_join(loops->thread[i].id, NULL);
    }
}

void loops_free(struct loops *loops)
{
    for (unsigned i = 0; loops != NULL && i < loops->count; i++) {
        (void)close(loops->thread[i].loop.wake);
    }
    if (loops != NULL) {
        free(loops->thread);
    }
    free(loops);
}
