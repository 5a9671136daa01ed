/* ingest.c -- the queue, the pen and the writer thread.
 *
 * Whoever holds the pen decides about a group. Mostly that is the request thread
 * which brought it: waking another thread and being woken by it costs more than a
 * small group's work, and while it waits for the disk other threads have the
 * processor. The writer thread takes what others leave: calls, chores, large groups,
 * and every group where syncs are slow, because request threads must not wait for
 * a slow disk. Order of locks: the pen, then the queue's. */
#include "ingest.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "moment.h"
#include "writer.h"

enum {
    IDLE_US = 200000,     /* between looks at the clock for rounds and checkpoints */
    HERE_SYNC_US = 600,   /* a request thread writes while syncs take less than this, */
    PEN_US = 2000,        /* waits so long for the pen, */
    HERE_BYTES = 1 << 16, /* and writes no more than this */
    SLOW_SYNC_US = 1000,  /* from here on it pays to wait for company */
    SYNC_US_MAX = 100000, /* a stall is not what syncs usually take */
};

int64_t writer_seconds(void)
{
    return (int64_t)time(NULL);
}

/* ---------------------------------------------------------------- health */

void writer_note_failure(struct ingest *ingest, enum tremolo_status status, const char *words,
                         bool for_good)
{
    enum tremolo_status now = for_good ? TREMOLO_NOT_SYNCED : status;
    struct log *log = NULL;
    (void)atomic_fetch_add(&ingest->counters.store_errors, 1);
    (void)pthread_mutex_lock(&ingest->lock);
    if (!ingest->for_good) {
        ingest->for_good = for_good;
        log = ingest->health != now ? ingest->log : NULL;
        ingest->health = now;
        (void)snprintf(ingest->words, sizeof ingest->words, "%s: %s",
                       tremolo_status_sentence(status), words);
    }
    (void)pthread_mutex_unlock(&ingest->lock);
    if (log != NULL) {
        log_event(log, "error", "store", "{s:s, s:s}", "state",
                  for_good ? "nothing is taken until a restart" : "nothing is taken for now",
                  "reason", words);
    }
}

void writer_note_success(struct ingest *ingest)
{
    struct log *log = NULL;
    (void)pthread_mutex_lock(&ingest->lock);
    if (!ingest->for_good) {
        log = ingest->health != TREMOLO_OK ? ingest->log : NULL;
        ingest->health = TREMOLO_OK;
        ingest->words[0] = '\0';
    }
    (void)pthread_mutex_unlock(&ingest->lock);
    if (log != NULL) {
        log_event(log, "info", "store", "{s:s}", "state", "reports are taken again");
    }
}

void ingest_tell(struct ingest *ingest, struct log *log)
{
    (void)pthread_mutex_lock(&ingest->lock);
    ingest->log = log;
    (void)pthread_mutex_unlock(&ingest->lock);
}

enum tremolo_status ingest_health(struct ingest *ingest, char *words, size_t capacity)
{
    (void)pthread_mutex_lock(&ingest->lock);
    enum tremolo_status health = ingest->health;
    if (words != NULL) {
        (void)snprintf(words, capacity, "%s", ingest->words);
    }
    (void)pthread_mutex_unlock(&ingest->lock);
    return health;
}

enum tremolo_status writer_sync(struct ingest *ingest)
{
    int64_t start = moment_us();
    enum tremolo_status status = ingest->store->sync(ingest->store);
    int64_t took = moment_us() - start;
    (void)atomic_fetch_add(&ingest->counters.sync_microseconds, (uint64_t)took);
    took = took < SYNC_US_MAX ? took : SYNC_US_MAX;
    int64_t usual = atomic_load(&ingest->sync_usual_us);
    atomic_store(&ingest->sync_usual_us, usual + (took - usual) / 8);
    (void)atomic_fetch_add(&ingest->counters.groups, 1);
    return status;
}

void writer_settle(struct ingest *ingest, enum tremolo_status status)
{
    if (status == TREMOLO_OK) {
        writer_note_success(ingest);
        return;
    }
    writer_note_failure(ingest, status, ingest->store->explain(ingest->store),
                        status == TREMOLO_NOT_SYNCED);
    ingest->store->discard(ingest->store);
}

/* ---------------------------------------------------------------- groups */

/* Whatever was decided with the failed group in mind: what it would have made durable, and
 * what was refused because of it (a repeat, other bytes, samples used up, a study that
 * was full). The device sends the same bytes again and learns what holds then. */
static bool leans_on_group(enum server_outcome outcome)
{
    return outcome == OUTCOME_ACCEPTED || outcome == OUTCOME_REPEATED ||
           outcome == OUTCOME_PENDING || outcome == OUTCOME_OTHER_BYTES ||
           outcome == OUTCOME_SAMPLES_USED || outcome == OUTCOME_CLOSED;
}

void writer_fail_job(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        if (leans_on_group(job->arrivals[i].outcome)) {
            job->arrivals[i].outcome = OUTCOME_NOT_STORED;
        }
    }
}

void writer_finish_job(struct ingest *ingest, struct job *job)
{
    ingest_count(ingest, job->book, job->arrivals, job->count);
    job->done(job);
}

/* A call or a large job: nothing a request thread does itself. */
static bool is_for_writer(const struct job *job)
{
    return job != NULL && (job->call != NULL || job->bytes > HERE_BYTES);
}

/* Take from the queue's head what belongs into one group: reports up to the
 * byte limit, or a single call; `here`, on a request thread, few reports and no call.
 * Lock held. */
static struct job *take_group(struct ingest *ingest, bool here)
{
    size_t most = here ? HERE_BYTES : INGEST_GROUP_BYTES_MAX;
    struct job *group = ingest->first;
    struct job *end = group;
    if (group == NULL || (here && is_for_writer(group))) {
        return NULL;
    }
    size_t bytes = group->bytes;
    while (group->call == NULL && end->next != NULL && end->next->call == NULL &&
           bytes + end->next->bytes <= most) {
        end = end->next;
        bytes += end->bytes;
    }
    ingest->first = end->next;
    if (ingest->first == NULL) {
        ingest->last = &ingest->first;
    }
    end->next = NULL;
    ingest->queued_bytes -= bytes;
    atomic_store(&ingest->counters.queued_bytes, ingest->queued_bytes);
    return group;
}

/* ---------------------------------------------------------------- thread */

/* Clients that were just answered come again at once. Where syncs are slow it pays to
 * let them in before the next one: for as long as more keep coming within a
 * quarter of what a sync takes, and three quarters of it in all. Lock held. */
static void wait_for_company(struct ingest *ingest)
{
    int64_t usual = atomic_load(&ingest->sync_usual_us);
    size_t before = 0;
    for (int i = 0; i < 3 && usual >= SLOW_SYNC_US && !ingest->stopping; i++) {
        if (ingest->queued_bytes == before || ingest->queued_bytes >= INGEST_GROUP_BYTES_MAX) {
            return;
        }
        before = ingest->queued_bytes;
        moment_wait_us(&ingest->wake, &ingest->lock, usual / 4);
    }
}

/* Decide about the next group, or do the next call. The pen is ours. The writer thread, once
 * called, goes on until nothing is left; a request thread leaves the rest to those who
 * brought it, because each of them writes after it, or calls. */
static bool write_next(struct ingest *ingest, bool here)
{
    (void)pthread_mutex_lock(&ingest->lock);
    struct job *group = take_group(ingest, here);
    ingest->wanted = ingest->wanted || (!here && ingest->first != NULL);
    (void)pthread_mutex_unlock(&ingest->lock);
    if (group == NULL) {
        return false;
    }
    (group->call != NULL ? ingest->decider->run_call : ingest->decider->run_group)(ingest, group);
    return true;
}

static void *writer_main(void *argument)
{
    struct ingest *ingest = argument;
    bool stopping = false;
    bool wrote = false;
    while (!stopping || wrote) {
        (void)pthread_mutex_lock(&ingest->lock);
        if (!ingest->wanted && !ingest->stopping) {
            moment_wait_us(&ingest->wake, &ingest->lock, IDLE_US);
        }
        wait_for_company(ingest);
        ingest->wanted = false;
        stopping = ingest->stopping;
        (void)pthread_mutex_unlock(&ingest->lock);
        (void)pthread_mutex_lock(&ingest->pen);
        wrote = write_next(ingest, false);
        ingest->decider->idle(ingest);
        (void)pthread_mutex_unlock(&ingest->pen);
    }
    ingest->decider->end(ingest);
    return NULL;
}

/* ---------------------------------------------------------------- submitting */

static void call_writer(struct ingest *ingest)
{
    (void)pthread_mutex_lock(&ingest->lock);
    if (!ingest->wanted) {
        ingest->wanted = true;
        (void)pthread_cond_signal(&ingest->wake);
    }
    (void)pthread_mutex_unlock(&ingest->lock);
}

/* Put what there is room for into the queue and return the rest. *small is whether little
 * waits now. */
static struct job *enqueue(struct ingest *ingest, struct job *jobs, bool *small)
{
    (void)pthread_mutex_lock(&ingest->lock);
    while (jobs != NULL && !ingest->stopping &&
           ingest->queued_bytes + jobs->bytes <= INGEST_QUEUE_BYTES_MAX) {
        struct job *job = jobs;
        jobs = job->next;
        job->next = NULL;
        *ingest->last = job;
        ingest->last = &job->next;
        ingest->queued_bytes += job->bytes;
    }
    *small = ingest->queued_bytes <= HERE_BYTES;
    (void)pthread_mutex_unlock(&ingest->lock);
    return jobs;
}

/* What we brought may be what we left: then nobody else would call the writer. */
static bool is_next_for_writer(struct ingest *ingest)
{
    (void)pthread_mutex_lock(&ingest->lock);
    bool is = is_for_writer(ingest->first);
    (void)pthread_mutex_unlock(&ingest->lock);
    return is;
}

/* Be the writer for a group, unless that might take long. (Should somebody set the clock
 * back meanwhile, we wait until the pen is free: it always will be.) */
static bool write_here(struct ingest *ingest)
{
    struct timespec until = moment_after(CLOCK_REALTIME, PEN_US);
    if (ingest->decider->is_due == NULL || atomic_load(&ingest->sync_usual_us) >= HERE_SYNC_US ||
        pthread_mutex_timedlock(&ingest->pen, &until) != 0) {
        return false;
    }
    (void)write_next(ingest, true);
    bool due = ingest->decider->is_due(ingest) || is_next_for_writer(ingest);
    (void)pthread_mutex_unlock(&ingest->pen);
    return !due;
}

struct job *ingest_submit_all(struct ingest *ingest, struct job *jobs)
{
    bool small;
    jobs = enqueue(ingest, jobs, &small);
    if (!small || !write_here(ingest)) {
        call_writer(ingest);
    }
    return jobs;
}

bool ingest_submit(struct ingest *ingest, struct job *job)
{
    bool small;
    job->next = NULL;
    if (enqueue(ingest, job, &small) != NULL) {
        return false;
    }
    call_writer(ingest);
    return true;
}

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool done;
};

static void wake_waiter(struct job *job)
{
    struct waiter *waiter = job->context;
    (void)pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    (void)pthread_cond_signal(&waiter->wake);
    (void)pthread_mutex_unlock(&waiter->lock);
}

bool ingest_submit_and_wait(struct ingest *ingest, struct job *job)
{
    struct waiter *waiter = calloc(1, sizeof *waiter);
    if (waiter == NULL) {
        return false;
    }
    (void)pthread_mutex_init(&waiter->lock, NULL);
    (void)pthread_cond_init(&waiter->wake, NULL);
    job->context = waiter;
    job->done = wake_waiter;
    bool taken = ingest_submit(ingest, job);
    (void)pthread_mutex_lock(&waiter->lock);
    while (taken && !waiter->done) {
        (void)pthread_cond_wait(&waiter->wake, &waiter->lock);
    }
    (void)pthread_mutex_unlock(&waiter->lock);
    (void)pthread_mutex_destroy(&waiter->lock);
    (void)pthread_cond_destroy(&waiter->wake);
    job->context = NULL;
    free(waiter);
    return taken;
}

struct ingest_counters *ingest_counters(struct ingest *ingest)
{
    return &ingest->counters;
}

void ingest_count(struct ingest *ingest, struct book *book, const struct arrival *arrivals,
                  size_t count)
{
    uint64_t tally[OUTCOME_COUNT] = {0};
    for (size_t i = 0; i < count; i++) {
        tally[arrivals[i].outcome]++;
    }
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        if (tally[i] > 0) {
            (void)atomic_fetch_add_explicit(&ingest->counters.outcome[i], tally[i],
                                            memory_order_relaxed);
            (void)atomic_fetch_add_explicit(&book->outcome[i], tally[i], memory_order_relaxed);
        }
    }
}

/* ---------------------------------------------------------------- starting */

void writer_free(struct ingest *ingest)
{
    for (size_t i = 0; i < ingest->book_count; i++) {
        book_free(ingest->books[i]);
    }
    (void)pthread_rwlock_destroy(&ingest->books_lock);
    (void)pthread_mutex_destroy(&ingest->pen);
    (void)pthread_mutex_destroy(&ingest->lock);
    (void)pthread_cond_destroy(&ingest->wake);
    free(ingest);
}

struct ingest *writer_new(const struct decider *decider, void *context)
{
    struct ingest *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->decider = decider;
    made->context = context;
    made->last = &made->first;
    made->checkpointed_at = writer_seconds();
    (void)pthread_rwlock_init(&made->books_lock, NULL);
    (void)pthread_mutex_init(&made->pen, NULL);
    (void)pthread_mutex_init(&made->lock, NULL);
    moment_cond_init(&made->wake);
    return made;
}

enum tremolo_status writer_start(struct ingest *ingest)
{
    return pthread_create(&ingest->writer, NULL, writer_main, ingest) == 0 ? TREMOLO_OK
                                                                           : TREMOLO_NO_MEMORY;
}

void ingest_stop(struct ingest *ingest)
{
    if (ingest == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&ingest->lock);
    ingest->stopping = true;
    (void)pthread_cond_signal(&ingest->wake);
    (void)pthread_mutex_unlock(&ingest->lock);
    (void)pthread_join(ingest->writer, NULL);
    if (ingest->store != NULL) {
        ingest->store->close(ingest->store);
    }
    writer_free(ingest);
}
