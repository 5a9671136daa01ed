/* writer.c -- the queue, the write lock and the writer thread.
 *
 * Whoever holds the write lock decides about a group. Mostly that is the request thread
 * which brought it: waking another thread and being woken by it costs more than a
 * small group's work, and while it waits for the disk other threads have the
 * processor. The writer thread takes what others leave: calls, chores, large groups,
 * and every group where syncs are slow, because request threads must not wait for
 * a slow disk. Order of locks: the write lock, then the queue's. */
#include "writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "clock.h"

enum {
    IDLE_US = 200000,     /* between looks at the clock for rounds and checkpoints */
    HERE_SYNC_US = 600,   /* a request thread writes while syncs take less than this, */
    LOCK_US = 2000,       /* waits so long for the write lock, */
    HERE_BYTES = 1 << 16, /* and writes no more than this */
    SLOW_SYNC_US = 1000,  /* from here on it pays to wait for company */
    SYNC_US_MAX = 100000, /* a stall is not what syncs usually take */
};

int64_t writer_seconds(void)
{
    return (int64_t)time(NULL);
}

/* ---------------------------------------------------------------- health */

void writer_note_failure(struct writer *writer, enum tremolo_status status, const char *words,
                         bool for_good)
{
    enum tremolo_status now = for_good ? TREMOLO_NOT_SYNCED : status;
    struct log *log = NULL;
    (void)atomic_fetch_add(&writer->counters.store_errors, 1);
    (void)pthread_mutex_lock(&writer->lock);
    if (!writer->for_good) {
        writer->for_good = for_good;
        log = writer->health != now ? writer->log : NULL;
        writer->health = now;
        (void)snprintf(writer->words, sizeof writer->words, "%s: %s",
                       tremolo_status_sentence(status), words);
    }
    (void)pthread_mutex_unlock(&writer->lock);
    if (log != NULL) {
        log_event(log, "error", "store", "{s:s, s:s}", "state",
                  for_good ? "nothing is taken until a restart" : "nothing is taken for now",
                  "reason", words);
    }
}

void writer_note_success(struct writer *writer)
{
    struct log *log = NULL;
    (void)pthread_mutex_lock(&writer->lock);
    if (!writer->for_good) {
        log = writer->health != TREMOLO_OK ? writer->log : NULL;
        writer->health = TREMOLO_OK;
        writer->words[0] = '\0';
    }
    (void)pthread_mutex_unlock(&writer->lock);
    if (log != NULL) {
        log_event(log, "info", "store", "{s:s}", "state", "reports are taken again");
    }
}

void writer_set_log(struct writer *writer, struct log *log)
{
    (void)pthread_mutex_lock(&writer->lock);
    writer->log = log;
    (void)pthread_mutex_unlock(&writer->lock);
}

enum tremolo_status writer_health(struct writer *writer, char *words, size_t capacity)
{
    (void)pthread_mutex_lock(&writer->lock);
    enum tremolo_status health = writer->health;
    if (words != NULL) {
        (void)snprintf(words, capacity, "%s", writer->words);
    }
    (void)pthread_mutex_unlock(&writer->lock);
    return health;
}

enum tremolo_status writer_sync(struct writer *writer)
{
    int64_t start = clock_us();
    enum tremolo_status status = writer->store->sync(writer->store);
    int64_t took = clock_us() - start;
    (void)atomic_fetch_add(&writer->counters.sync_microseconds, (uint64_t)took);
    took = took < SYNC_US_MAX ? took : SYNC_US_MAX;
    int64_t usual = atomic_load(&writer->sync_usual_us);
    atomic_store(&writer->sync_usual_us, usual + (took - usual) / 8);
    (void)atomic_fetch_add(&writer->counters.groups, 1);
    return status;
}

void writer_settle(struct writer *writer, enum tremolo_status status)
{
    if (status == TREMOLO_OK) {
        writer_note_success(writer);
        return;
    }
    writer_note_failure(writer, status, writer->store->explain(writer->store),
                        status == TREMOLO_NOT_SYNCED);
    writer->store->discard(writer->store);
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

void writer_finish_job(struct writer *writer, struct job *job)
{
    writer_count(writer, job->served, job->arrivals, job->count);
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
static struct job *take_group(struct writer *writer, bool here)
{
    size_t most = here ? HERE_BYTES : WRITER_GROUP_BYTES_MAX;
    struct job *group = writer->first;
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
    writer->first = end->next;
    if (writer->first == NULL) {
        writer->last = &writer->first;
    }
    end->next = NULL;
    writer->queued_bytes -= bytes;
    atomic_store(&writer->counters.queued_bytes, writer->queued_bytes);
    return group;
}

/* ---------------------------------------------------------------- thread */

/* Clients that were just answered come again at once. Where syncs are slow it pays to
 * let them in before the next one: for as long as more keep coming within a
 * quarter of what a sync takes, and three quarters of it in all. Lock held. */
static void wait_for_company(struct writer *writer)
{
    int64_t usual = atomic_load(&writer->sync_usual_us);
    size_t before = 0;
    for (int i = 0; i < 3 && usual >= SLOW_SYNC_US && !writer->stopping; i++) {
        if (writer->queued_bytes == before || writer->queued_bytes >= WRITER_GROUP_BYTES_MAX) {
            return;
        }
        before = writer->queued_bytes;
        clock_wait_us(&writer->wake, &writer->lock, usual / 4);
    }
}

/* Decide about the next group, or do the next call. The write lock is ours. The writer thread, once
 * called, goes on until nothing is left; a request thread leaves the rest to those who
 * brought it, because each of them writes after it, or calls. */
static bool write_next(struct writer *writer, bool here)
{
    (void)pthread_mutex_lock(&writer->lock);
    struct job *group = take_group(writer, here);
    writer->wanted = writer->wanted || (!here && writer->first != NULL);
    (void)pthread_mutex_unlock(&writer->lock);
    if (group == NULL) {
        return false;
    }
    (group->call != NULL ? writer->decider->run_call : writer->decider->run_group)(writer, group);
    return true;
}

static void *writer_main(void *argument)
{
    struct writer *writer = argument;
    bool stopping = false;
    bool wrote = false;
    while (!stopping || wrote) {
        (void)pthread_mutex_lock(&writer->lock);
        if (!writer->wanted && !writer->stopping) {
            clock_wait_us(&writer->wake, &writer->lock, IDLE_US);
        }
        wait_for_company(writer);
        writer->wanted = false;
        stopping = writer->stopping;
        (void)pthread_mutex_unlock(&writer->lock);
        (void)pthread_mutex_lock(&writer->write_lock);
        wrote = write_next(writer, false);
        writer->decider->idle(writer);
        (void)pthread_mutex_unlock(&writer->write_lock);
    }
    writer->decider->end(writer);
    return NULL;
}

/* ---------------------------------------------------------------- submitting */

static void call_writer(struct writer *writer)
{
    (void)pthread_mutex_lock(&writer->lock);
    if (!writer->wanted) {
        writer->wanted = true;
        (void)pthread_cond_signal(&writer->wake);
    }
    (void)pthread_mutex_unlock(&writer->lock);
}

/* Put what there is room for into the queue and return the rest. *small is whether little
 * waits now. */
static struct job *enqueue(struct writer *writer, struct job *jobs, bool *small)
{
    (void)pthread_mutex_lock(&writer->lock);
    while (jobs != NULL && !writer->stopping &&
           writer->queued_bytes + jobs->bytes <= WRITER_QUEUE_BYTES_MAX) {
        struct job *job = jobs;
        jobs = job->next;
        job->next = NULL;
        *writer->last = job;
        writer->last = &job->next;
        writer->queued_bytes += job->bytes;
    }
    *small = writer->queued_bytes <= HERE_BYTES;
    (void)pthread_mutex_unlock(&writer->lock);
    return jobs;
}

/* What we brought may be what we left: then nobody else would call the writer. */
static bool is_next_for_writer(struct writer *writer)
{
    (void)pthread_mutex_lock(&writer->lock);
    bool is = is_for_writer(writer->first);
    (void)pthread_mutex_unlock(&writer->lock);
    return is;
}

/* Be the writer for a group, unless that might take long. (Should somebody set the clock
 * back meanwhile, we wait until the write lock is free: it always will be.) */
static bool write_here(struct writer *writer)
{
    struct timespec until = clock_after(CLOCK_REALTIME, LOCK_US);
    if (writer->decider->is_due == NULL || atomic_load(&writer->sync_usual_us) >= HERE_SYNC_US ||
        pthread_mutex_timedlock(&writer->write_lock, &until) != 0) {
        return false;
    }
    (void)write_next(writer, true);
    bool due = writer->decider->is_due(writer) || is_next_for_writer(writer);
    (void)pthread_mutex_unlock(&writer->write_lock);
    return !due;
}

struct job *writer_submit_all(struct writer *writer, struct job *jobs)
{
    bool small;
    jobs = enqueue(writer, jobs, &small);
    if (!small || !write_here(writer)) {
        call_writer(writer);
    }
    return jobs;
}

bool writer_submit(struct writer *writer, struct job *job)
{
    bool small;
    job->next = NULL;
    if (enqueue(writer, job, &small) != NULL) {
        return false;
    }
    call_writer(writer);
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

bool writer_submit_and_wait(struct writer *writer, struct job *job)
{
    struct waiter *waiter = calloc(1, sizeof *waiter);
    if (waiter == NULL) {
        return false;
    }
    (void)pthread_mutex_init(&waiter->lock, NULL);
    (void)pthread_cond_init(&waiter->wake, NULL);
    job->context = waiter;
    job->done = wake_waiter;
    bool taken = writer_submit(writer, job);
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

struct writer_counters *writer_counters(struct writer *writer)
{
    return &writer->counters;
}

void writer_count(struct writer *writer, struct served_study *served,
                  const struct arrival *arrivals, size_t count)
{
    uint64_t tally[OUTCOME_COUNT] = {0};
    for (size_t i = 0; i < count; i++) {
        tally[arrivals[i].outcome]++;
    }
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        if (tally[i] > 0) {
            (void)atomic_fetch_add_explicit(&writer->counters.outcome[i], tally[i],
                                            memory_order_relaxed);
            (void)atomic_fetch_add_explicit(&served->outcome[i], tally[i], memory_order_relaxed);
        }
    }
}

/* ---------------------------------------------------------------- studies */

struct served_study *writer_find(struct writer *writer, const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    struct served_study *found = NULL;
    (void)pthread_rwlock_rdlock(&writer->studies_lock);
    for (size_t i = 0; i < writer->study_count && found == NULL; i++) {
        if (memcmp(writer->studies[i]->id, id, TREMOLO_STUDY_ID_BYTES) == 0) {
            found = writer->studies[i];
        }
    }
    (void)pthread_rwlock_unlock(&writer->studies_lock);
    return found;
}

bool writer_is_unsure(struct writer *writer, const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    return writer->decider->unsure != NULL && writer->decider->unsure(writer, id);
}

size_t writer_study_count(struct writer *writer)
{
    (void)pthread_rwlock_rdlock(&writer->studies_lock);
    size_t count = writer->study_count;
    (void)pthread_rwlock_unlock(&writer->studies_lock);
    return count;
}

struct served_study *writer_study(struct writer *writer, size_t index)
{
    (void)pthread_rwlock_rdlock(&writer->studies_lock);
    struct served_study *served = index < writer->study_count ? writer->studies[index] : NULL;
    (void)pthread_rwlock_unlock(&writer->studies_lock);
    return served;
}

void writer_add_study(struct writer *writer, struct served_study *served)
{
    (void)pthread_rwlock_wrlock(&writer->studies_lock);
    writer->studies[writer->study_count++] = served;
    (void)pthread_rwlock_unlock(&writer->studies_lock);
}

/* ---------------------------------------------------------------- starting */

void writer_free(struct writer *writer)
{
    for (size_t i = 0; i < writer->study_count; i++) {
        served_free(writer->studies[i]);
    }
    (void)pthread_rwlock_destroy(&writer->studies_lock);
    (void)pthread_mutex_destroy(&writer->write_lock);
    (void)pthread_mutex_destroy(&writer->lock);
    (void)pthread_cond_destroy(&writer->wake);
    free(writer);
}

struct writer *writer_new(const struct decider *decider, void *context)
{
    struct writer *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->decider = decider;
    made->context = context;
    made->last = &made->first;
    made->checkpointed_at = writer_seconds();
    (void)pthread_rwlock_init(&made->studies_lock, NULL);
    (void)pthread_mutex_init(&made->write_lock, NULL);
    (void)pthread_mutex_init(&made->lock, NULL);
    clock_cond_init(&made->wake);
    return made;
}

enum tremolo_status writer_run(struct writer *writer)
{
    return pthread_create(&writer->thread, NULL, writer_main, writer) == 0 ? TREMOLO_OK
                                                                           : TREMOLO_NO_MEMORY;
}

void writer_stop(struct writer *writer)
{
    if (writer == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&writer->lock);
    writer->stopping = true;
    (void)pthread_cond_signal(&writer->wake);
    (void)pthread_mutex_unlock(&writer->lock);
    (void)pthread_join(writer->thread, NULL);
    if (writer->store != NULL) {
        writer->store->close(writer->store);
    }
    writer_free(writer);
}
