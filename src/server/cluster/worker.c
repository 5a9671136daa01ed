/* worker.c -- a worker that folds shards, together with any number of others.
 *
 * One thread does everything in turn: learn of studies, look at leases,
 * claim what is free, fold what is its own, move rounds. Each turn is short, and
 * leases are renewed between the turns. Every worker tells the others each second
 * that it lives; from that each knows its fair share of the shards, lets
 * go of what is above it, and does not reach for more while others have less.
 * (A wrong idea of the share only makes the work uneven.)
 *
 * Threads: the worker's thread owns everything; the bus's thread only calls
 * on_hint, which marks leases and workers under `lock`. */
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "background.h"
#include "clock.h"
#include "lease.h"
#include "log.h"
#include "server.h"

enum {
    PEERS_MAX = 256,
    NAME_BYTES = 64,
    LOOK_MS = 500,     /* at leases of others */
    STUDIES_MS = 1000, /* for new studies */
    ADVANCE_MS = 200,  /* for rounds */
    RELEASE_MS = 250,  /* between two shards that are let go */
    ORPHAN_MS = 6000,  /* then a free shard is taken whatever the share */
    IDLE_MS = 20,
};

struct peer {
    char name[NAME_BYTES];
    int64_t heard_ms;
};

struct tremolo_worker {
    struct bus *bus;
    struct log log;
    struct worker_counters counters;
    struct worker_metrics *metrics;
    char name[NAME_BYTES];
    struct mirror *study[CLUSTER_STUDIES_MAX];
    int64_t advanced_ms[CLUSTER_STUDIES_MAX];
    size_t studies;
    int64_t listed_ms;
    int64_t beat_ms;
    int64_t released_ms;

    struct background thread; /* its lock guards all below; leases are added under it */
    struct lease **lease;
    size_t leases;
    struct peer peer[PEERS_MAX];
    size_t peers;
    bool listed_hint;
};

/* ---------------------------------------------------------------- hints */

static void note_peer(struct tremolo_worker *worker, const char *name)
{
    size_t at = 0;
    size_t oldest = 0;
    while (at < worker->peers && strcmp(worker->peer[at].name, name) != 0) {
        oldest = worker->peer[at].heard_ms < worker->peer[oldest].heard_ms ? at : oldest;
        at++;
    }
    at = at == PEERS_MAX ? oldest : at; /* each start of a worker is a new name */
    worker->peers += at == worker->peers;
    (void)snprintf(worker->peer[at].name, NAME_BYTES, "%s", name);
    worker->peer[at].heard_ms = clock_ms();
}

static void note_log(struct tremolo_worker *worker, const char *rest)
{
    const char *dot = strchr(rest, '.');
    unsigned number = dot != NULL ? (unsigned)strtoul(dot + 1, NULL, 10) : 0;
    for (size_t i = 0; i < worker->leases && dot != NULL; i++) {
        struct lease *lease = worker->lease[i];
        if (lease->number == number &&
            strncmp(lease->study->tag, rest, CLUSTER_TAG_BYTES - 1) == 0) {
            atomic_store(&lease->hinted, true);
            background_signal(&worker->thread);
            return;
        }
    }
}

static bool starts_with(const char *text, const char *start, const char **rest)
{
    size_t length = strlen(start);
    *rest = text + length + 1;
    return strncmp(text, start, length) == 0 && text[length] == '.';
}

static void on_hint(void *context, const char *subject)
{
    struct tremolo_worker *worker = context;
    const char *rest = NULL;
    background_lock(&worker->thread);
    if (starts_with(subject, CLUSTER_HINT_LOG, &rest)) {
        note_log(worker, rest);
    } else if (starts_with(subject, CLUSTER_HINT_WORKER, &rest)) {
        note_peer(worker, rest);
    } else if (starts_with(subject, CLUSTER_HINT_STATE, &rest)) {
        worker->listed_hint = true;
        background_signal(&worker->thread);
    }
    background_unlock(&worker->thread);
}

/* ---------------------------------------------------------------- studies */

static bool add_leases(struct tremolo_worker *worker, struct mirror *study)
{
    background_lock(&worker->thread);
    struct lease **grown =
        realloc(worker->lease, (worker->leases + study->shards) * sizeof(struct lease *));
    bool good = grown != NULL;
    worker->lease = good ? grown : worker->lease;
    for (unsigned n = 0; n < study->shards && good; n++) {
        struct lease *lease = calloc(1, sizeof *lease);
        good = lease != NULL;
        if (good) {
            lease_init(lease, study, n);
            worker->lease[worker->leases++] = lease;
        }
    }
    background_unlock(&worker->thread);
    return good;
}

static void learn_studies(struct tremolo_worker *worker)
{
    uint8_t *tags = NULL;
    size_t count = 0;
    background_lock(&worker->thread);
    bool hinted = worker->listed_hint;
    worker->listed_hint = false;
    background_unlock(&worker->thread);
    if (!hinted && clock_ms() - worker->listed_ms < STUDIES_MS) {
        return;
    }
    worker->listed_ms = clock_ms();
    if (cluster_list(worker->bus, &tags, &count) != TREMOLO_OK) {
        return;
    }
    for (size_t i = 0; i < count && worker->studies < CLUSTER_STUDIES_MAX; i++) {
        struct mirror *study = NULL;
        const uint8_t *tag = tags + i * STORE_STUDY_BYTES;
        if (mirror_find(worker->study, worker->studies, tag) == NULL &&
            mirror_open(&study, worker->bus, tag, NULL, NULL) == TREMOLO_OK) {
            worker->study[worker->studies++] = study;
            if (!add_leases(worker, study)) {
                log_event(&worker->log, "error", "no memory", "{s:s}", "study", study->tag);
            }
        }
    }
    free(tags);
}

/* ---------------------------------------------------------------- leases */

static void tick(void *context);

static size_t owned(const struct tremolo_worker *worker)
{
    size_t count = 0;
    for (size_t i = 0; i < worker->leases; i++) {
        count += worker->lease[i]->shard != NULL;
    }
    return count;
}

static struct lease_holder holder_of(struct tremolo_worker *worker)
{
    return (struct lease_holder){worker->bus, worker->name, tick, worker, owned(worker)};
}

static void log_lease(struct tremolo_worker *worker, const char *level, const char *event,
                      const struct lease *lease, enum tremolo_status status)
{
    log_event(&worker->log, level, event, "{s:s, s:i, s:I, s:s, s:s}", "study", lease->study->tag,
              "shard", (int)lease->number, "fence", (json_int_t)lease->mark.fence, "status",
              tremolo_status_name(status), "words",
              status == TREMOLO_OK ? "" : worker->bus->explain(worker->bus));
}

static void beat(struct tremolo_worker *worker)
{
    char subject[BUS_NAME_BYTES];
    if (clock_ms() - worker->beat_ms < LEASE_RENEW_MS) {
        return;
    }
    worker->beat_ms = clock_ms();
    (void)snprintf(subject, sizeof subject, CLUSTER_HINT_WORKER ".%s", worker->name);
    worker->bus->hint(worker->bus, subject);
}

/* Renew all leases that are due; called often. All are in one place: when one is not
 * answered, the others would only wait as long. */
static void tick(void *context)
{
    struct tremolo_worker *worker = context;
    struct lease_holder holder = holder_of(worker);
    enum tremolo_status status = TREMOLO_OK;
    beat(worker);
    for (size_t i = 0;
         i < worker->leases && status != TREMOLO_NOT_SYNCED && status != TREMOLO_NETWORK_FAILED;
         i++) {
        struct lease *lease = worker->lease[i];
        status = lease_renew(lease, &holder);
        if (status == TREMOLO_CHANGED) {
            (void)atomic_fetch_add(&worker->counters.lost, 1);
            log_lease(worker, "notice", "lost", lease, TREMOLO_CHANGED);
        }
    }
}

/* Shards for each living worker, rounded up; we count as living. */
static size_t fair_share(struct tremolo_worker *worker)
{
    size_t living = 1;
    background_lock(&worker->thread);
    for (size_t i = 0; i < worker->peers; i++) {
        bool fresh = clock_ms() - worker->peer[i].heard_ms < LEASE_MS;
        living += fresh && strcmp(worker->peer[i].name, worker->name) != 0;
    }
    background_unlock(&worker->thread);
    return (worker->leases + living - 1) / living;
}

static void claim(struct tremolo_worker *worker, struct lease *lease)
{
    struct lease_holder holder = holder_of(worker);
    enum tremolo_status status = lease_claim(lease, &holder);
    if (status == TREMOLO_OK) {
        (void)atomic_fetch_add(&worker->counters.claims, 1);
        log_lease(worker, lease->rebuilding ? "error" : "info",
                  lease->rebuilding ? "claimed, and folds the log again" : "claimed", lease,
                  status);
    } else if (status != TREMOLO_CHANGED) {
        log_lease(worker, "error", "not claimed", lease, status);
    }
}

static void look_after_leases(struct tremolo_worker *worker)
{
    struct lease_holder holder = holder_of(worker);
    size_t share = fair_share(worker);
    size_t mine = owned(worker);
    for (size_t i = 0; i < worker->leases; i++) {
        struct lease *lease = worker->lease[i];
        int64_t now = clock_ms();
        if (lease->shard != NULL || now - lease->looked_ms < LOOK_MS ||
            lease_look(lease, &holder) != TREMOLO_OK) {
            continue;
        }
        bool orphan = now - lease->changed_ms >= ORPHAN_MS;
        if (lease_is_free(lease) && (mine < share || orphan)) {
            claim(worker, lease);
            mine += lease->shard != NULL;
        }
        tick(worker);
    }
    if (mine > share && clock_ms() - worker->released_ms >= RELEASE_MS) {
        for (size_t i = worker->leases; i > 0; i--) {
            struct lease *lease = worker->lease[i - 1];
            if (lease->shard != NULL) {
                lease_release(lease, &holder);
                log_lease(worker, "info", "released", lease, TREMOLO_OK);
                worker->released_ms = clock_ms();
                break;
            }
        }
    }
}

/* ---------------------------------------------------------------- work */

static void fold_all(struct tremolo_worker *worker)
{
    struct lease_holder holder = holder_of(worker);
    for (size_t i = 0; i < worker->leases; i++) {
        struct lease *lease = worker->lease[i];
        if (lease->shard == NULL) {
            continue;
        }
        unsigned rebuilt = lease->rebuilt;
        enum tremolo_status status = lease_work(lease, &holder);
        if (lease->rebuilt != rebuilt) {
            log_lease(worker, "error", "log numbered again", lease, status);
        }
        if (lease->shard == NULL) {
            (void)atomic_fetch_add(&worker->counters.lost, 1);
            log_lease(worker, "notice", "lost", lease, status);
        }
        if (status != TREMOLO_OK) {
            (void)atomic_fetch_add(&worker->counters.errors, 1);
        }
        tick(worker);
    }
}

/* The owner of a study's first shard looks after its rounds. */
static void advance_rounds(struct tremolo_worker *worker)
{
    for (size_t i = 0, at = 0; i < worker->studies; at += worker->study[i]->shards, i++) {
        struct mirror *study = worker->study[i];
        bool ours = at < worker->leases && worker->lease[at]->shard != NULL;
        int64_t pause = study->phase == CLUSTER_CLOSING || study->served->terms->rounds > 1
                            ? ADVANCE_MS
                            : 5 * ADVANCE_MS;
        if (!ours || study->phase == CLUSTER_DONE || clock_ms() - worker->advanced_ms[i] < pause) {
            continue;
        }
        worker->advanced_ms[i] = clock_ms();
        enum tremolo_status status = mirror_advance(study, worker->bus, (int64_t)time(NULL));
        if (status != TREMOLO_OK && status != TREMOLO_TOO_FEW_REPORTS &&
            status != TREMOLO_ROUND_NOT_BEGUN) {
            log_event(&worker->log, "error", "round", "{s:s, s:s, s:s}", "study", study->tag,
                      "status", tremolo_status_name(status), "words",
                      worker->bus->explain(worker->bus));
        }
        tick(worker);
    }
}

static void count_all(struct tremolo_worker *worker)
{
    uint64_t sum[SHARD_FATES] = {0};
    uint64_t rebuilds = 0;
    for (size_t i = 0; i < worker->leases; i++) {
        const struct lease *lease = worker->lease[i];
        rebuilds += lease->rebuilt;
        for (size_t f = 0; f < SHARD_FATES && lease->shard != NULL; f++) {
            sum[f] += lease->shard->counts[f];
        }
    }
    struct worker_counters *counters = &worker->counters;
    atomic_store(&counters->shards, owned(worker));
    atomic_store(&counters->studies, worker->studies);
    for (size_t f = 0; f < SHARD_FATES; f++) {
        atomic_store(&counters->fate[f], sum[f]);
    }
    atomic_store(&counters->rebuilds, rebuilds);
    atomic_store(&counters->turn_ms, clock_ms());
}

/* Until there is something to do. False when it is time to end. */
static bool wait_for_work(struct tremolo_worker *worker)
{
    background_lock(&worker->thread);
    bool hinted = worker->listed_hint;
    for (size_t i = 0; i < worker->leases && !hinted; i++) {
        hinted = worker->lease[i]->shard != NULL && atomic_load(&worker->lease[i]->hinted);
    }
    if (!hinted) {
        background_wait_us(&worker->thread, 1000 * IDLE_MS);
    }
    bool stopping = worker->thread.stopping;
    background_unlock(&worker->thread);
    return !stopping;
}

static void *worker_main(void *argument)
{
    struct tremolo_worker *worker = argument;
    struct lease_holder holder = holder_of(worker);
    do {
        learn_studies(worker);
        look_after_leases(worker);
        fold_all(worker);
        advance_rounds(worker);
        tick(worker);
        count_all(worker);
    } while (wait_for_work(worker));
    for (size_t i = 0; i < worker->leases; i++) {
        lease_release(worker->lease[i], &holder);
    }
    return NULL;
}

/* ---------------------------------------------------------------- public */

/* Names are part of subjects: letters, digits and dashes. */
static void choose_name(struct tremolo_worker *worker, const char *given)
{
    char host[24] = "";
    (void)gethostname(host, sizeof host - 1);
    if (given != NULL) {
        (void)snprintf(worker->name, sizeof worker->name, "%s", given);
    } else {
        (void)snprintf(worker->name, sizeof worker->name, "%s-%ld-%08x", host, (long)getpid(),
                       (unsigned)randombytes_random());
    }
    for (char *at = worker->name; *at != '\0'; at++) {
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", *at) ==
            NULL) {
            *at = '-';
        }
    }
}

static void free_worker(struct tremolo_worker *worker)
{
    worker_metrics_stop(worker->metrics);
    if (worker->bus != NULL) {
        worker->bus->close(worker->bus);
    }
    for (size_t i = 0; i < worker->leases; i++) {
        lease_drop(worker->lease[i]);
        free(worker->lease[i]);
    }
    free(worker->lease);
    for (size_t i = 0; i < worker->studies; i++) {
        mirror_free(worker->study[i]);
    }
    background_free(&worker->thread);
    log_close(&worker->log);
    free(worker);
}

enum tremolo_status tremolo_worker_start(struct tremolo_worker **worker,
                                         const struct tremolo_worker_options *options,
                                         char words[TREMOLO_WORDS_BYTES])
{
    if (sodium_init() < 0) {
        return words_say(words, TREMOLO_NO_ENTROPY, "libsodium cannot be initialised");
    }
    struct tremolo_worker *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return words_say(words, TREMOLO_NO_MEMORY, "out of memory");
    }
    log_open(&made->log, options->log);
    background_init(&made->thread);
    choose_name(made, options->name);
    enum tremolo_status status = bus_open_nats(&made->bus, &options->store, "folder", words);
    if (status == TREMOLO_OK) {
        status = made->bus->listen(made->bus, "tremolo.hint.>", on_hint, made);
    }
    atomic_store(&made->counters.turn_ms, clock_ms());
    if (status == TREMOLO_OK && options->address != NULL) {
        status = worker_metrics_start(&made->metrics, &made->counters, options->address,
                                      options->port, words);
    }
    if (status == TREMOLO_OK && !background_start(&made->thread, worker_main, made)) {
        status = words_say(words, TREMOLO_NO_MEMORY, "the worker's thread cannot be started");
    }
    if (status != TREMOLO_OK) {
        free_worker(made);
        return status;
    }
    log_event(&made->log, "info", "folding", "{s:s}", "name", made->name);
    *worker = made;
    return TREMOLO_OK;
}

uint16_t tremolo_worker_port(const struct tremolo_worker *worker)
{
    return worker_metrics_port(worker->metrics);
}

void tremolo_worker_stop(struct tremolo_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    background_stop(&worker->thread);
    log_event(&worker->log, "info", "stopped", "{}");
    free_worker(worker);
}
