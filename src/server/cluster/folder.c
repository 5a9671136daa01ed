/* folder.c -- a worker that folds shards, beside any number of others.
 *
 * One thread does everything in turn: learn of studies, look at leases,
 * claim what is free, fold what is its own, move rounds. Each turn is short, and
 * leases are renewed between the turns. Every worker tells the others each second
 * that it lives; from that each knows its fair share of the shards, lets
 * go of what is above it, and does not reach for more while others have less.
 * (A wrong idea of the share only makes the work uneven.)
 *
 * Threads: the worker's thread owns everything; the bus's thread only calls
 * on_hint, which marks posts and workers under `lock`. */
#include <jansson.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "folder_metrics.h"
#include "log.h"
#include "moment.h"
#include "post.h"
#include "tremolo_server.h"

enum {
    WORKERS_MAX = 256,
    NAME_BYTES = 64,
    LOOK_MS = 500,     /* at leases of others */
    STUDIES_MS = 1000, /* for new studies */
    STEWARD_MS = 200,  /* for rounds */
    RELEASE_MS = 250,  /* between two shards that are let go */
    ORPHAN_MS = 6000,  /* then a free shard is taken whatever the share */
    IDLE_MS = 20,
};

struct worker {
    char name[NAME_BYTES];
    int64_t heard_ms;
};

struct tremolo_folder {
    struct bus *bus;
    struct log log;
    struct folder_counters counters;
    struct folder_metrics *metrics;
    char name[NAME_BYTES];
    pthread_t thread;
    _Atomic bool stopping;
    struct mirror *study[CLUSTER_STUDIES_MAX];
    int64_t stewarded_ms[CLUSTER_STUDIES_MAX];
    size_t studies;
    int64_t listed_ms;
    int64_t beat_ms;
    int64_t released_ms;

    pthread_mutex_t lock; /* guards all below; posts are added under it */
    pthread_cond_t wake;
    struct post **post;
    size_t posts;
    struct worker worker[WORKERS_MAX];
    size_t workers;
    bool listed_hint;
};

/* ---------------------------------------------------------------- hints */

static void note_worker(struct tremolo_folder *folder, const char *name)
{
    size_t at = 0;
    size_t oldest = 0;
    while (at < folder->workers && strcmp(folder->worker[at].name, name) != 0) {
        oldest = folder->worker[at].heard_ms < folder->worker[oldest].heard_ms ? at : oldest;
        at++;
    }
    at = at == WORKERS_MAX ? oldest : at; /* each start of a worker is a new name */
    folder->workers += at == folder->workers;
    (void)snprintf(folder->worker[at].name, NAME_BYTES, "%s", name);
    folder->worker[at].heard_ms = moment_ms();
}

static void note_log(struct tremolo_folder *folder, const char *rest)
{
    const char *dot = strchr(rest, '.');
    unsigned number = dot != NULL ? (unsigned)strtoul(dot + 1, NULL, 10) : 0;
    for (size_t i = 0; i < folder->posts && dot != NULL; i++) {
        struct post *post = folder->post[i];
        if (post->number == number && strncmp(post->study->tag, rest, CLUSTER_TAG_BYTES - 1) == 0) {
            atomic_store(&post->hinted, true);
            (void)pthread_cond_signal(&folder->wake);
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
    struct tremolo_folder *folder = context;
    const char *rest = NULL;
    (void)pthread_mutex_lock(&folder->lock);
    if (starts_with(subject, CLUSTER_HINT_LOG, &rest)) {
        note_log(folder, rest);
    } else if (starts_with(subject, CLUSTER_HINT_WORKER, &rest)) {
        note_worker(folder, rest);
    } else if (starts_with(subject, CLUSTER_HINT_STATE, &rest)) {
        folder->listed_hint = true;
        (void)pthread_cond_signal(&folder->wake);
    }
    (void)pthread_mutex_unlock(&folder->lock);
}

/* ---------------------------------------------------------------- studies */

static bool add_posts(struct tremolo_folder *folder, struct mirror *study)
{
    (void)pthread_mutex_lock(&folder->lock);
    struct post **grown =
        realloc(folder->post, (folder->posts + study->shards) * sizeof(struct post *));
    bool good = grown != NULL;
    folder->post = good ? grown : folder->post;
    for (unsigned n = 0; n < study->shards && good; n++) {
        struct post *post = calloc(1, sizeof *post);
        good = post != NULL;
        if (good) {
            post->study = study;
            post->number = n;
            cluster_key_of(post->lease_key, "lease", study->tag, n);
            folder->post[folder->posts++] = post;
        }
    }
    (void)pthread_mutex_unlock(&folder->lock);
    return good;
}

static bool knows(const struct tremolo_folder *folder, const uint8_t *tag)
{
    for (size_t i = 0; i < folder->studies; i++) {
        if (memcmp(folder->study[i]->book->id, tag, STORE_STUDY_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

static void learn_studies(struct tremolo_folder *folder)
{
    static const uint8_t no_key[TREMOLO_SIGNING_SECRET_BYTES];
    static const uint8_t no_secret[TREMOLO_DEVICE_SECRET_BYTES];
    uint8_t *tags = NULL;
    size_t count = 0;
    (void)pthread_mutex_lock(&folder->lock);
    bool hinted = folder->listed_hint;
    folder->listed_hint = false;
    (void)pthread_mutex_unlock(&folder->lock);
    if (!hinted && moment_ms() - folder->listed_ms < STUDIES_MS) {
        return;
    }
    folder->listed_ms = moment_ms();
    if (cluster_list(folder->bus, &tags, &count) != TREMOLO_OK) {
        return;
    }
    for (size_t i = 0; i < count && folder->studies < CLUSTER_STUDIES_MAX; i++) {
        struct mirror *study = NULL;
        const uint8_t *tag = tags + i * STORE_STUDY_BYTES;
        if (!knows(folder, tag) &&
            mirror_open(&study, folder->bus, tag, no_key, no_secret) == TREMOLO_OK) {
            folder->study[folder->studies++] = study;
            if (!add_posts(folder, study)) {
                log_event(&folder->log, "error", "no memory", "{s:s}", "study", study->tag);
            }
        }
    }
    free(tags);
}

/* ---------------------------------------------------------------- leases */

static void tick(void *context);

static struct post_world world_of(struct tremolo_folder *folder)
{
    return (struct post_world){folder->bus, folder->name, tick, folder};
}

static void log_post(struct tremolo_folder *folder, const char *level, const char *event,
                     const struct post *post, enum tremolo_status status)
{
    log_event(&folder->log, level, event, "{s:s, s:i, s:I, s:s, s:s}", "study", post->study->tag,
              "shard", (int)post->number, "fence", (json_int_t)post->mark.fence, "status",
              tremolo_status_name(status), "words",
              status == TREMOLO_OK ? "" : folder->bus->explain(folder->bus));
}

static void beat(struct tremolo_folder *folder)
{
    char subject[BUS_NAME_BYTES];
    if (moment_ms() - folder->beat_ms < POST_RENEW_MS) {
        return;
    }
    folder->beat_ms = moment_ms();
    (void)snprintf(subject, sizeof subject, CLUSTER_HINT_WORKER ".%s", folder->name);
    folder->bus->hint(folder->bus, subject);
}

/* Renew all leases that are due; called often. All are in one place: when one is not
 * answered, the others would only wait as long. */
static void tick(void *context)
{
    struct tremolo_folder *folder = context;
    struct post_world world = world_of(folder);
    enum tremolo_status status = TREMOLO_OK;
    beat(folder);
    for (size_t i = 0;
         i < folder->posts && status != TREMOLO_NOT_SYNCED && status != TREMOLO_NETWORK_FAILED;
         i++) {
        struct post *post = folder->post[i];
        status = post_renew(post, &world);
        if (status == TREMOLO_CHANGED) {
            (void)atomic_fetch_add(&folder->counters.lost, 1);
            log_post(folder, "notice", "lost", post, TREMOLO_CHANGED);
        }
    }
}

static size_t owned(const struct tremolo_folder *folder)
{
    size_t count = 0;
    for (size_t i = 0; i < folder->posts; i++) {
        count += folder->post[i]->shard != NULL;
    }
    return count;
}

/* Shards for each living worker, rounded up; we count as living. */
static size_t fair_share(struct tremolo_folder *folder)
{
    size_t living = 1;
    (void)pthread_mutex_lock(&folder->lock);
    for (size_t i = 0; i < folder->workers; i++) {
        bool fresh = moment_ms() - folder->worker[i].heard_ms < POST_LEASE_MS;
        living += fresh && strcmp(folder->worker[i].name, folder->name) != 0;
    }
    (void)pthread_mutex_unlock(&folder->lock);
    return (folder->posts + living - 1) / living;
}

static void claim(struct tremolo_folder *folder, struct post *post)
{
    struct post_world world = world_of(folder);
    enum tremolo_status status = post_claim(post, &world);
    if (status == TREMOLO_OK) {
        (void)atomic_fetch_add(&folder->counters.claims, 1);
        log_post(folder, post->rebuilding ? "error" : "info",
                 post->rebuilding ? "claimed, and folds the log again" : "claimed", post, status);
    } else if (status != TREMOLO_CHANGED) {
        log_post(folder, "error", "not claimed", post, status);
    }
}

static void look_after_leases(struct tremolo_folder *folder)
{
    struct post_world world = world_of(folder);
    size_t share = fair_share(folder);
    size_t mine = owned(folder);
    for (size_t i = 0; i < folder->posts; i++) {
        struct post *post = folder->post[i];
        int64_t now = moment_ms();
        if (post->shard != NULL || now - post->looked_ms < LOOK_MS ||
            post_look(post, &world) != TREMOLO_OK) {
            continue;
        }
        bool orphan = now - post->changed_ms >= ORPHAN_MS;
        if (post_is_free(post) && (mine < share || orphan)) {
            claim(folder, post);
            mine += post->shard != NULL;
        }
        tick(folder);
    }
    if (mine > share && moment_ms() - folder->released_ms >= RELEASE_MS) {
        for (size_t i = folder->posts; i > 0; i--) {
            struct post *post = folder->post[i - 1];
            if (post->shard != NULL) {
                post_release(post, &world);
                log_post(folder, "info", "released", post, TREMOLO_OK);
                folder->released_ms = moment_ms();
                break;
            }
        }
    }
}

/* ---------------------------------------------------------------- work */

static void fold_all(struct tremolo_folder *folder)
{
    struct post_world world = world_of(folder);
    for (size_t i = 0; i < folder->posts; i++) {
        struct post *post = folder->post[i];
        if (post->shard == NULL) {
            continue;
        }
        unsigned rebuilt = post->rebuilt;
        enum tremolo_status status = post_work(post, &world);
        if (post->rebuilt != rebuilt) {
            log_post(folder, "error", "log numbered anew", post, status);
        }
        if (post->shard == NULL) {
            (void)atomic_fetch_add(&folder->counters.lost, 1);
            log_post(folder, "notice", "lost", post, status);
        }
        if (status != TREMOLO_OK) {
            (void)atomic_fetch_add(&folder->counters.errors, 1);
        }
        tick(folder);
    }
}

/* Whoever has a study's first shard looks after its rounds. */
static void steward(struct tremolo_folder *folder)
{
    for (size_t i = 0, at = 0; i < folder->studies; at += folder->study[i]->shards, i++) {
        struct mirror *study = folder->study[i];
        bool ours = at < folder->posts && folder->post[at]->shard != NULL;
        int64_t pause = study->phase == CLUSTER_CLOSING || study->book->terms->rounds > 1
                            ? STEWARD_MS
                            : 5 * STEWARD_MS;
        if (!ours || study->phase == CLUSTER_DONE ||
            moment_ms() - folder->stewarded_ms[i] < pause) {
            continue;
        }
        folder->stewarded_ms[i] = moment_ms();
        enum tremolo_status status = mirror_steward(study, folder->bus, (int64_t)time(NULL));
        if (status != TREMOLO_OK && status != TREMOLO_BAD_ARGUMENT) {
            log_event(&folder->log, "error", "round", "{s:s, s:s, s:s}", "study", study->tag,
                      "status", tremolo_status_name(status), "words",
                      folder->bus->explain(folder->bus));
        }
        tick(folder);
    }
}

static void count_all(struct tremolo_folder *folder)
{
    struct shard_counts sum = {0};
    uint64_t rebuilds = 0;
    for (size_t i = 0; i < folder->posts; i++) {
        const struct post *post = folder->post[i];
        rebuilds += post->rebuilt;
        if (post->shard != NULL) {
            sum.counted += post->shard->counts.counted;
            sum.repeated += post->shard->counts.repeated;
            sum.late += post->shard->counts.late;
            sum.refused += post->shard->counts.refused;
        }
    }
    struct folder_counters *counters = &folder->counters;
    atomic_store(&counters->shards, owned(folder));
    atomic_store(&counters->studies, folder->studies);
    atomic_store(&counters->counted, sum.counted);
    atomic_store(&counters->repeated, sum.repeated);
    atomic_store(&counters->late, sum.late);
    atomic_store(&counters->refused, sum.refused);
    atomic_store(&counters->rebuilds, rebuilds);
    atomic_store(&counters->turn_ms, moment_ms());
}

static void rest(struct tremolo_folder *folder)
{
    (void)pthread_mutex_lock(&folder->lock);
    bool hinted = folder->listed_hint;
    for (size_t i = 0; i < folder->posts && !hinted; i++) {
        hinted = folder->post[i]->shard != NULL && atomic_load(&folder->post[i]->hinted);
    }
    if (!hinted) {
        moment_wait(&folder->wake, &folder->lock, IDLE_MS);
    }
    (void)pthread_mutex_unlock(&folder->lock);
}

static void *folder_main(void *argument)
{
    struct tremolo_folder *folder = argument;
    struct post_world world = world_of(folder);
    while (!atomic_load(&folder->stopping)) {
        learn_studies(folder);
        look_after_leases(folder);
        fold_all(folder);
        steward(folder);
        tick(folder);
        count_all(folder);
        rest(folder);
    }
    for (size_t i = 0; i < folder->posts; i++) {
        post_release(folder->post[i], &world);
    }
    return NULL;
}

/* ---------------------------------------------------------------- public */

/* Names are part of subjects: letters, digits and dashes. */
static void choose_name(struct tremolo_folder *folder, const char *given)
{
    char host[24] = "";
    (void)gethostname(host, sizeof host - 1);
    if (given != NULL) {
        (void)snprintf(folder->name, sizeof folder->name, "%s", given);
    } else {
        (void)snprintf(folder->name, sizeof folder->name, "%s-%ld-%08x", host, (long)getpid(),
                       (unsigned)randombytes_random());
    }
    for (char *at = folder->name; *at != '\0'; at++) {
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", *at) ==
            NULL) {
            *at = '-';
        }
    }
}

static void free_folder(struct tremolo_folder *folder)
{
    folder_metrics_stop(folder->metrics);
    if (folder->bus != NULL) {
        folder->bus->close(folder->bus);
    }
    for (size_t i = 0; i < folder->posts; i++) {
        post_drop(folder->post[i]);
        free(folder->post[i]);
    }
    free(folder->post);
    for (size_t i = 0; i < folder->studies; i++) {
        mirror_free(folder->study[i]);
    }
    (void)pthread_mutex_destroy(&folder->lock);
    (void)pthread_cond_destroy(&folder->wake);
    log_close(&folder->log);
    free(folder);
}

enum tremolo_status tremolo_folder_start(struct tremolo_folder **folder,
                                         const struct tremolo_folder_options *options, char *words,
                                         size_t words_capacity)
{
    if (sodium_init() < 0) {
        (void)snprintf(words, words_capacity, "libsodium cannot be initialised");
        return TREMOLO_NO_ENTROPY;
    }
    struct tremolo_folder *made = calloc(1, sizeof *made);
    if (made == NULL) {
        (void)snprintf(words, words_capacity, "out of memory");
        return TREMOLO_NO_MEMORY;
    }
    log_open(&made->log, options->log);
    (void)pthread_mutex_init(&made->lock, NULL);
    moment_cond_init(&made->wake);
    choose_name(made, options->name);
    enum tremolo_status status =
        bus_open_nats(&made->bus, &options->store, "folder", words, words_capacity);
    if (status == TREMOLO_OK) {
        status = made->bus->listen(made->bus, "tremolo.hint.>", on_hint, made);
    }
    atomic_store(&made->counters.turn_ms, moment_ms());
    if (status == TREMOLO_OK && options->address != NULL) {
        status = folder_metrics_start(&made->metrics, &made->counters, options->address,
                                      options->port, words, words_capacity);
    }
    if (status == TREMOLO_OK && pthread_create(&made->thread, NULL, folder_main, made) != 0) {
        (void)snprintf(words, words_capacity, "the worker's thread cannot be started");
        status = TREMOLO_NO_MEMORY;
    }
    if (status != TREMOLO_OK) {
        free_folder(made);
        return status;
    }
    log_event(&made->log, "info", "folding", "{s:s}", "name", made->name);
    *folder = made;
    return TREMOLO_OK;
}

uint16_t tremolo_folder_port(const struct tremolo_folder *folder)
{
    return folder_metrics_port(folder->metrics);
}

void tremolo_folder_stop(struct tremolo_folder *folder)
{
    if (folder == NULL) {
        return;
    }
    atomic_store(&folder->stopping, true);
    (void)pthread_join(folder->thread, NULL);
    log_event(&folder->log, "info", "stopped", "{}");
    free_folder(folder);
}
