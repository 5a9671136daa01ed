/* server_world.h -- keys, a directory of its own and the writer's queue, for tests of the
 * server's parts. */
#ifndef TREMOLO_SERVER_WORLD_H
#define TREMOLO_SERVER_WORLD_H

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "release.h"
#include "server_jobs.h"
#include "server_reports.h"
#include "testing.h"
#include "study_internal.h"

static uint8_t signing_public[TREMOLO_SIGNING_PUBLIC_BYTES];
static uint8_t signing_key[TREMOLO_SIGNING_SECRET_BYTES];
static uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES] = {9};
static char directory[64];

static inline bool make_keys(void)
{
    static const uint8_t seed[TREMOLO_SIGNING_SEED_BYTES] = {1};
    return sodium_init() >= 0 &&
           tremolo_signing_keys(signing_public, signing_key, seed) == TREMOLO_OK;
}

static inline bool make_directory(void)
{
    (void)snprintf(directory, sizeof directory, "/tmp/tremolo-server-XXXXXX");
    return mkdtemp(directory) != NULL && make_keys();
}

/* Zero when nothing but the database was in it, and nothing is left. */
static inline int remove_directory(void)
{
    static const char *const names[] = {"tremolo.db", "tremolo.db-wal", "tremolo.db-shm",
                                        "tremolo.db-tip"};
    char path[128];
    (void)chmod(directory, 0700);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        (void)unlink(path);
    }
    return rmdir(directory);
}

static inline struct writer *start_writer(struct store *store)
{
    struct writer *writer = NULL;
    char words[TREMOLO_WORDS_BYTES] = "";
    assert_status(writer_start_embedded(&writer, store, signing_key, secret, words), TREMOLO_OK);
    return writer;
}

static inline struct store *open_store(void)
{
    struct store *store = NULL;
    char words[TREMOLO_WORDS_BYTES] = "";
    assert_status(store_open_sqlite(&store, directory, STORE_CAREFUL, words), TREMOLO_OK);
    return store;
}

/* *study is the new study's when it says OK. */
static inline enum tremolo_status create_study(struct served_study **served, struct writer *writer,
                                               const char *text)
{
    struct job job = job_create(text);
    assert_true(submit_and_wait(writer, &job));
    *served = job.served;
    return job.status;
}

/* `name` is the device's, "" in an open study. */
static inline enum server_outcome send_report(struct writer *writer, struct served_study *served,
                                              const struct server_report *report, const char *name)
{
    int16_t row[EXPAND_ROW_VALUES]; /* a ballot's, more than any sample here has */
    struct arrival arrival = {.bytes = report->bytes,
                              .length = (uint16_t)report->length,
                              .device = (const uint8_t *)name,
                              .device_length = (uint8_t)strlen(name)};
    struct job job = {
        .served = served, .reports = {&arrival, row, 1}, .queued.bytes = report->length};
    check_report(&arrival, row, &served->check);
    if (arrival.outcome == OUTCOME_PENDING) {
        assert_true(submit_and_wait(writer, &job));
    }
    return arrival.outcome;
}

#endif
