/* gateway.c -- the backend that publishes, and the thread that refreshes its studies.
 *
 * The writer thread publishes batches (publish.c) over one connection. A second
 * thread, with a connection of its own, learns of studies, keeps their mirrors
 * up to date and does what operators ask for, so that neither waits for the
 * other. Hints only set flags.
 *
 * Locks: thread.lock guards the queue of changes, the flag, the unknown ids, and the
 * adding of mirrors. Mirrors are the second thread's, except their atomic flags; studies
 * have their own lock. `bus`, `again` and `failed_ms` belong to the holder of the writer's write_lock. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server.h"
#include "clock.h"
#include "mirror.h"
#include "publish.h"
#include "writer.h"
#include "log.h"

enum {
    LIST_MS = 1000,     /* look for new studies without a hint */
    REFRESH_MS = 2000,  /* read everything without a hint */
    HISTORY_MS = 10000, /* write down what charts show of the past */
    START_MS = 15000,   /* for a store that is just coming up */
    LEARN_MS = 3000,    /* to hear of a study that was made elsewhere */
    QUIET_MS = 5000,    /* without a failure, before a store may count as well again */
    UNKNOWN_MAX = 64,   /* ids that were asked for and are unknown */
    FOLD_MS = 4000,     /* for reports to be folded before a round has too few */
    CLOSE_MS = 20000,   /* then an operator must ask again */
    IDLE_MS = 50,
};

/* An end of a round that an operator waits for. */
struct closing {
    struct closing *next;
    struct job *job;
    bool begun; /* the state says CLOSING */
    long round; /* -1: the newest, until we have seen which one that is */
    int64_t until_ms;
    int64_t fold_until_ms; /* so long too few reports may be due to the fold */
};

/* An id that somebody asked for, and when first. */
struct unknown_id {
    uint8_t id[TREMOLO_STUDY_ID_BYTES];
    int64_t asked_ms;
};

struct gateway {
    struct writer *writer;
    struct bus *bus;         /* the writer's */
    struct bus *refresh_bus; /* the second thread's */
    unsigned shards;
    struct mirror *study[CLUSTER_STUDIES_MAX]; /* added under `lock` */
    size_t studies;
    char unread[CLUSTER_TAG_BYTES]; /* the first that could not be, when we last looked; "": none */
    int64_t listed_ms;
    int64_t refreshed_ms;
    int64_t history_ms;         /* when histories were last stored */
    int64_t failed_ms;          /* the writer's: when the store failed last */
    struct publish_again again; /* the writer's, too */
    struct closing *closings;

    struct background thread; /* its lock guards all below */
    struct batch_job *changes;
    struct batch_job **changes_last;
    bool hinted;
    struct unknown_id unknown[UNKNOWN_MAX];
    size_t unknown_next;
};

/* ---------------------------------------------------------------- hints */

/* "tremolo.hint.fold.TAG.SHARD" or "tremolo.hint.state.TAG". */
static void on_hint(void *context, const char *subject)
{
    struct gateway *gateway = context;
    bool fold = strncmp(subject, CLUSTER_HINT_FOLD, strlen(CLUSTER_HINT_FOLD)) == 0;
    const char *tag = subject + (fold ? sizeof CLUSTER_HINT_FOLD : sizeof CLUSTER_HINT_STATE);
    if (strlen(subject) < (size_t)(tag - subject) + CLUSTER_TAG_BYTES - 1) {
        return;
    }
    const char *dot = strchr(tag, '.');
    background_lock(&gateway->thread);
    for (size_t i = 0; i < gateway->studies; i++) {
        struct mirror *study = gateway->study[i];
        if (strncmp(study->tag, tag, CLUSTER_TAG_BYTES - 1) != 0) {
            continue;
        }
        mirror_hint(study,
                    fold && dot != NULL ? (unsigned)strtoul(dot + 1, NULL, 10) : MIRROR_STATE);
    }
    gateway->hinted = true;
    gateway->listed_ms = fold ? gateway->listed_ms : 0; /* it may be a new study */
    background_signal(&gateway->thread);
    background_unlock(&gateway->thread);
}

/* ---------------------------------------------------------------- studies */

/* A study is served once its rounds have been read. */
static enum tremolo_status add_study(struct gateway *gateway, const uint8_t *tag)
{
    struct mirror *study = NULL;
    if (gateway->studies == CLUSTER_STUDIES_MAX) {
        return TREMOLO_STUDIES_FULL;
    }
    enum tremolo_status status = mirror_open(&study, gateway->refresh_bus, tag,
                                             gateway->writer->signing_key, gateway->writer->secret);
    if (status == TREMOLO_OK) {
        status = mirror_refresh(study, gateway->refresh_bus, true);
    }
    if (status == TREMOLO_OK) {
        status = mirror_read_history(study, gateway->refresh_bus);
    }
    if (status != TREMOLO_OK) {
        mirror_free(study);
        return status;
    }
    background_lock(&gateway->thread);
    gateway->study[gateway->studies++] = study;
    background_unlock(&gateway->thread);
    studies_add(&gateway->writer->studies, study->served);
    return TREMOLO_OK;
}

static enum tremolo_status learn_studies(struct gateway *gateway)
{
    uint8_t *tags = NULL;
    size_t count = 0;
    gateway->unread[0] = '\0';
    background_lock(&gateway->thread);
    gateway->listed_ms = clock_ms();
    background_unlock(&gateway->thread);
    enum tremolo_status status = cluster_list(gateway->refresh_bus, &tags, &count);
    enum tremolo_status added = status;
    /* One that cannot be read does not hide the others; without an answer none can be. */
    for (size_t i = 0; i < count && added != TREMOLO_NETWORK_FAILED; i++) {
        const uint8_t *tag = tags + i * STORE_STUDY_BYTES;
        if (mirror_find(gateway->study, gateway->studies, tag) == NULL) {
            added = add_study(gateway, tag);
            if (status == TREMOLO_OK && added != TREMOLO_OK) {
                cluster_tag(gateway->unread, tag);
            }
            status = status == TREMOLO_OK ? added : status;
        }
    }
    free(tags);
    return status;
}

/* A study made through another gateway a moment ago may not have come here, and a
 * device that hears 404 gives up. So the first to ask for an unknown id hear
 * to come again, while we look; only then is it said that there is none. */
static bool gateway_unsure(struct writer *writer, const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    struct gateway *gateway = writer->batcher.owner;
    int64_t now = clock_ms();
    size_t at = 0;
    background_lock(&gateway->thread);
    while (at < UNKNOWN_MAX && (gateway->unknown[at].asked_ms == 0 ||
                                memcmp(gateway->unknown[at].id, id, TREMOLO_STUDY_ID_BYTES) != 0)) {
        at++;
    }
    bool fresh = at == UNKNOWN_MAX;
    if (fresh) {
        at = gateway->unknown_next++ % UNKNOWN_MAX;
        memcpy(gateway->unknown[at].id, id, TREMOLO_STUDY_ID_BYTES);
        gateway->unknown[at].asked_ms = now;
    }
    bool unsure = now - gateway->unknown[at].asked_ms < LEARN_MS;
    background_unlock(&gateway->thread);
    return unsure;
}

static void refresh_all(struct gateway *gateway)
{
    bool all = clock_ms() - gateway->refreshed_ms >= REFRESH_MS;
    background_lock(&gateway->thread);
    bool list = clock_ms() - gateway->listed_ms >= LIST_MS;
    background_unlock(&gateway->thread);
    if (list) {
        (void)learn_studies(gateway); /* it is tried again in a second */
    }
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < gateway->studies && status != TREMOLO_NETWORK_FAILED; i++) {
        status = mirror_refresh(gateway->study[i], gateway->refresh_bus, all);
    }
    if (all) { /* what could not be read stays dirty */
        gateway->refreshed_ms = clock_ms();
    }
}

/* A history could not be written. No report depends on it: health stays as it is. */
static void note_history(struct batcher *batcher, const struct served_study *served,
                         enum tremolo_status status, const char *words)
{
    (void)atomic_fetch_add(&batcher->failures, 1);
    background_lock(&batcher->thread);
    struct log *log = batcher->log;
    background_unlock(&batcher->thread);
    if (log != NULL) {
        log_event(log, "error", "history", "{s:s, s:s, s:s}", "study", served->id_text, "status",
                  tremolo_status_name(status), "words", words);
    }
}

/* What one call cannot write the next one will, or another gateway. One study's failure is none of
 * the others'; but after two questions in a row without an answer the rest would only wait, too. */
static void store_histories(struct gateway *gateway)
{
    struct bus *bus = gateway->refresh_bus;
    unsigned unanswered = 0;
    gateway->history_ms = clock_ms();
    for (size_t i = 0; i < gateway->studies && unanswered < 2; i++) {
        struct mirror *study = gateway->study[i];
        enum tremolo_status status = mirror_store_history(study, bus);
        unanswered = status == TREMOLO_NETWORK_FAILED ? unanswered + 1 : 0;
        if (status != TREMOLO_OK) {
            note_history(&gateway->writer->batcher, study->served, status, bus->explain(bus));
        }
    }
}

/* ---------------------------------------------------------------- changes */

static void finish_change(struct job *job, enum tremolo_status status)
{
    job->status = status;
    job->done(job);
}

static enum tremolo_status create_study(struct gateway *gateway, struct job *job)
{
    struct served_study *served = NULL;
    enum tremolo_status status =
        served_new(&served, job->create.problems, job->create.text, job->create.length,
                   gateway->writer->signing_key, gateway->writer->secret);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct mirror *known = mirror_find(gateway->study, gateway->studies, served->id);
    if (known == NULL) {
        status = cluster_create(gateway->refresh_bus, served, gateway->shards);
        if (status == TREMOLO_OK) {
            status = add_study(gateway, served->id);
        }
        known = mirror_find(gateway->study, gateway->studies, served->id);
    }
    /* Reports name their study by its tag, so two studies may not have the same. */
    if (status == TREMOLO_OK &&
        (known == NULL || memcmp(known->served->id, served->id, TREMOLO_STUDY_ID_BYTES) != 0)) {
        status = TREMOLO_TAG_TAKEN;
    }
    served_free(served);
    job->served = known != NULL ? known->served : NULL;
    return status;
}

/* Reports that were acknowledged a moment ago may not be folded yet: a round with too few
 * is looked at again for a while before that is said. Again is by its number: others may have closed it in between, and the newest is the next one. */
static enum tremolo_status try_closing(struct gateway *gateway, struct closing *closing)
{
    struct mirror *study = closing->job->served->mirror;
    enum tremolo_status status = mirror_close_round(study, gateway->refresh_bus, closing->round);
    closing->begun = status == TREMOLO_OK;
    closing->round = closing->round < 0 ? (long)study->round : closing->round;
    bool early = status == TREMOLO_TOO_FEW_REPORTS || status == TREMOLO_ROUND_NOT_BEGUN;
    bool wait = early && clock_ms() < closing->fold_until_ms;
    return wait ? TREMOLO_OK : status;
}

static void begin_closing(struct gateway *gateway, struct job *job)
{
    struct closing *closing = calloc(1, sizeof *closing);
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    if (closing != NULL) {
        *closing = (struct closing){.next = gateway->closings,
                                    .job = job,
                                    .round = job->close.named ? (long)job->close.round : -1,
                                    .until_ms = clock_ms() + CLOSE_MS,
                                    .fold_until_ms = clock_ms() + FOLD_MS};
        status = try_closing(gateway, closing);
    }
    if (status != TREMOLO_OK) {
        free(closing);
        finish_change(job, status);
        return;
    }
    gateway->closings = closing;
}

/* What an operator gets now: OK and a round that moved, a failure, or nothing yet. */
static bool is_settled(struct gateway *gateway, struct closing *closing, bool stopping,
                       enum tremolo_status *status)
{
    const struct mirror *study = closing->job->served->mirror;
    *status = closing->begun ? TREMOLO_OK : try_closing(gateway, closing);
    if (*status != TREMOLO_OK) {
        return true;
    }
    bool moved =
        closing->begun && ((long)study->round > closing->round || study->phase == CLUSTER_DONE);
    *status = moved ? TREMOLO_OK : TREMOLO_NETWORK_FAILED;
    return moved || stopping || clock_ms() >= closing->until_ms;
}

/* A worker opens the next round; the operator hears of it when it is there. */
static void finish_closings(struct gateway *gateway, bool stopping)
{
    struct closing **at = &gateway->closings;
    while (*at != NULL) {
        struct closing *closing = *at;
        enum tremolo_status status = TREMOLO_OK;
        if (!is_settled(gateway, closing, stopping, &status)) {
            at = &closing->next;
            continue;
        }
        *at = closing->next;
        finish_change(closing->job, status);
        free(closing);
    }
}

static void run_changes(struct gateway *gateway, struct job *changes)
{
    while (changes != NULL) {
        struct job *job = changes;
        changes = job_next(job);
        if (job->kind == JOB_CREATE) {
            finish_change(job, create_study(gateway, job));
        } else {
            begin_closing(gateway, job);
        }
    }
}

/* ---------------------------------------------------------------- threads */

/* Lock held: wait for a call, a hint, or a moment. */
static void wait_for_work(struct gateway *gateway)
{
    if (gateway->changes == NULL && !gateway->hinted && !gateway->thread.stopping) {
        background_wait_us(&gateway->thread, 1000 * IDLE_MS);
    }
    gateway->hinted = false;
}

static void *refresher_main(void *argument)
{
    struct gateway *gateway = argument;
    bool stopping = false;
    while (!stopping) {
        background_lock(&gateway->thread);
        wait_for_work(gateway);
        struct job *changes = job_of(gateway->changes);
        gateway->changes = NULL;
        gateway->changes_last = &gateway->changes;
        stopping = gateway->thread.stopping;
        background_unlock(&gateway->thread);
        run_changes(gateway, changes);
        refresh_all(gateway);
        finish_closings(gateway, stopping);
        if (stopping || clock_ms() - gateway->history_ms >= HISTORY_MS) {
            store_histories(gateway);
        }
    }
    return NULL;
}

/* A group in which nothing was to be published says nothing about the store. */
static bool was_published(const struct job *jobs)
{
    for (const struct job *job = jobs; job != NULL; job = job_next(job)) {
        for (size_t i = 0; i < job->reports.count; i++) {
            if (job->reports.arrivals[i].outcome == OUTCOME_ACCEPTED) {
                return true;
            }
        }
    }
    return false;
}

static void gateway_batch(void *owner, struct batch_job *queued)
{
    struct gateway *gateway = owner;
    struct batcher *batcher = &gateway->writer->batcher;
    struct job *jobs = job_of(queued);
    int64_t start = clock_us();
    enum tremolo_status status =
        publish_jobs(jobs, gateway->bus, &gateway->again, (int64_t)time(NULL));
    batcher_note_sync(batcher, clock_us() - start);
    if (status == TREMOLO_OK && was_published(jobs)) {
        batcher_note(batcher, TREMOLO_OK, "", false);
    } else if (status != TREMOLO_OK) {
        gateway->failed_ms = clock_ms();
        batcher_note(batcher, status, gateway->bus->explain(gateway->bus), false);
    }
    writer_finish_batch(gateway->writer, queued);
}

static void gateway_change(void *owner, struct batch_job *job)
{
    struct gateway *gateway = owner;
    background_lock(&gateway->thread);
    job->next = NULL;
    *gateway->changes_last = job;
    gateway->changes_last = &job->next;
    background_signal(&gateway->thread);
    background_unlock(&gateway->thread);
}

/* Clients that ask for our health send nothing while it is bad, so no report would ever show that
 * the store is back: it counts as well once nothing has failed for a while and it answers a
 * question. (A log that is full or has no leader shows with the next report.) */
static void gateway_idle(void *owner)
{
    struct gateway *gateway = owner;
    struct batcher *batcher = &gateway->writer->batcher;
    struct bus_value value = {0};
    publish_again_run(&gateway->again, gateway->bus, false);
    if (batcher_health(batcher, NULL) == TREMOLO_OK || clock_ms() - gateway->failed_ms < QUIET_MS) {
        return;
    }
    if (gateway->bus->get(gateway->bus, "keys", &value) == TREMOLO_OK) {
        free(value.bytes);
        batcher_note(batcher, TREMOLO_OK, "", false);
    } else {
        gateway->failed_ms = clock_ms(); /* the writer has other things to do as well */
    }
}

static void gateway_end(void *owner)
{
    struct gateway *gateway = owner;
    background_stop(&gateway->thread);
    publish_again_run(&gateway->again, gateway->bus, true);
    gateway->writer->studies.count = 0; /* the mirrors have them */
    publish_again_free(&gateway->again);
    if (gateway->bus != NULL) {
        gateway->bus->close(gateway->bus);
    }
    if (gateway->refresh_bus != NULL) {
        gateway->refresh_bus->close(gateway->refresh_bus);
    }
    for (size_t i = 0; i < gateway->studies; i++) {
        mirror_free(gateway->study[i]);
    }
    background_free(&gateway->thread);
    free(gateway);
}

static const struct batcher_backend publishing = {
    .run_batch = gateway_batch,
    .run_alone = gateway_change,
    .idle = gateway_idle,
    .end = gateway_end,
};

/* ---------------------------------------------------------------- starting */

/* Gateways with other keys would sign with another name and refuse each other's
 * devices. The first one writes down what its keys are, one way; the others compare. */
static enum tremolo_status compare_keys(struct gateway *gateway, char words[TREMOLO_WORDS_BYTES])
{
    enum { MARK_BYTES = 32 };
    uint8_t mark[2 * MARK_BYTES];
    uint64_t revision = 0;
    struct bus *bus = gateway->refresh_bus;
    struct bus_value stored;
    (void)crypto_generichash(mark, MARK_BYTES, gateway->writer->signing_key,
                             TREMOLO_SIGNING_SECRET_BYTES, NULL, 0);
    (void)crypto_generichash(mark + MARK_BYTES, MARK_BYTES, gateway->writer->secret,
                             TREMOLO_DEVICE_SECRET_BYTES, NULL, 0);
    enum tremolo_status status = bus->swap(bus, "keys", 0, mark, sizeof mark, &revision);
    if (status != TREMOLO_CHANGED) {
        return status;
    }
    status = bus->get(bus, "keys", &stored);
    if (status == TREMOLO_OK && stored.revision == 0) {
        return TREMOLO_NETWORK_FAILED; /* a replica that is behind */
    }
    if (status == TREMOLO_OK) {
        bool same = stored.length == sizeof mark && memcmp(stored.bytes, mark, sizeof mark) == 0;
        free(stored.bytes);
        if (!same) {
            status =
                words_say(words, TREMOLO_FILE_FAILED,
                          "the keys are not those of the other gateways: copy signing.seed and "
                          "device.secret from one of them");
        }
    }
    return status;
}

/* A bucket that is just being made, or has no leader at the moment, is worth
 * waiting for. */
static enum tremolo_status read_first(struct gateway *gateway, char words[TREMOLO_WORDS_BYTES])
{
    int64_t until = clock_ms() + START_MS;
    enum tremolo_status status = TREMOLO_OK;
    for (;;) {
        status = compare_keys(gateway, words);
        if (status == TREMOLO_OK) {
            status = learn_studies(gateway);
        }
        if ((status != TREMOLO_NOT_SYNCED && status != TREMOLO_NETWORK_FAILED) ||
            clock_ms() > until) {
            return status;
        }
        (void)usleep(1000 * IDLE_MS);
    }
}

static enum tremolo_status connect_both(struct gateway *gateway,
                                        const struct tremolo_store_options *options,
                                        char words[TREMOLO_WORDS_BYTES])
{
    enum tremolo_status status = bus_open_nats(&gateway->bus, options, "gateway", words);
    if (status == TREMOLO_OK) {
        status = bus_open_nats(&gateway->refresh_bus, options, "gateway", words);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    words[0] = '\0';
    status = read_first(gateway, words);
    if (status == TREMOLO_OK) {
        status = gateway->refresh_bus->listen(gateway->refresh_bus, CLUSTER_HINT_FOLD ".>", on_hint,
                                              gateway);
    }
    if (status == TREMOLO_OK) {
        status = gateway->refresh_bus->listen(gateway->refresh_bus, CLUSTER_HINT_STATE ".>",
                                              on_hint, gateway);
    }
    if (status != TREMOLO_OK && words[0] == '\0') {
        bool one = gateway->unread[0] != '\0';
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s%s cannot be read: %s (%s)",
                       one ? "the value study." : "the studies", one ? gateway->unread : "",
                       tremolo_status_sentence(status),
                       gateway->refresh_bus->explain(gateway->refresh_bus));
    }
    return status;
}

enum tremolo_status writer_start_gateway(struct writer **writer,
                                         const struct tremolo_store_options *options,
                                         const uint8_t *signing_key, const uint8_t *secret,
                                         char words[TREMOLO_WORDS_BYTES])
{
    struct gateway *gateway = calloc(1, sizeof *gateway);
    struct writer *made =
        gateway != NULL ? writer_new(&publishing, gateway, signing_key, secret) : NULL;
    if (made == NULL) {
        free(gateway);
        return words_say(words, TREMOLO_NO_MEMORY, "out of memory");
    }
    gateway->writer = made;
    made->unsure = gateway_unsure;
    gateway->shards = options->shards > 0 ? options->shards : CLUSTER_SHARDS_DEFAULT;
    gateway->changes_last = &gateway->changes;
    background_init(&gateway->thread);
    enum tremolo_status status = connect_both(gateway, options, words);
    if (status == TREMOLO_OK && !background_start(&gateway->thread, refresher_main, gateway)) {
        status = words_say(words, TREMOLO_NO_MEMORY, "the gateway's thread cannot be started");
    }
    if (status == TREMOLO_OK) {
        status = batcher_start(&made->batcher, words);
    }
    if (status != TREMOLO_OK) {
        gateway_end(gateway);
        writer_stop(made);
        return status;
    }
    *writer = made;
    return TREMOLO_OK;
}
