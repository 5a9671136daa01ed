/* cluster_world.h -- a clustered study on a broker in memory (fake_bus.h), the gateway's
 * real publisher, and workers with real leases.
 *
 * world_begin and world_end are for cmocka. Other studies than the plain open one: set
 * world_study before. */
#ifndef TREMOLO_CLUSTER_WORLD_H
#define TREMOLO_CLUSTER_WORLD_H

#include <time.h>

#include "fake_bus.h"
#include "clock.h"
#include "lease.h"
#include "publish.h"
#include "server_reports.h"
#include "testing.h"

enum { SHARDS = 3, SEGMENT_REPORTS = 100 };

static struct fake_broker broker;
static struct fake_bus bus;
static struct publish_again again; /* the gateway's */
static struct mirror *study;       /* as the gateway sees it */
static const uint8_t no_key[TREMOLO_SIGNING_SECRET_BYTES];
static const uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES];
static const char *world_study = server_study_open;
static struct server_report report; /* of the round at hand */
static size_t id_offset;

static inline void world_no_tick(void *context)
{
    (void)context;
}

/* Reports of an open study differ by their ids: take one, change that. */
static inline void world_report(struct server_report *made, uint32_t number)
{
    *made = report;
    memcpy(made->bytes + id_offset, &number, sizeof number);
}

/* From now on reports are of this round. */
static inline void world_round(unsigned round)
{
    struct tremolo_report decoded;
    server_report_make(&report, study->served->study, round, NULL, NULL);
    assert_status(tremolo_report_decode(&decoded, report.bytes, report.length), TREMOLO_OK);
    id_offset = (size_t)(decoded.id - report.bytes);
}

static inline int world_begin(void **state)
{
    struct served_study *served = NULL;
    (void)state;
    fake_broker_clear(&broker);
    fake_bus_open(&bus, &broker);
    assert_status(served_new(&served, NULL, world_study, strlen(world_study), no_key, secret),
                  TREMOLO_OK);
    assert_status(cluster_create(&bus.base, served, SHARDS), TREMOLO_OK);
    assert_status(mirror_open(&study, &bus.base, served->id, no_key, secret), TREMOLO_OK);
    assert_status(mirror_refresh(study, &bus.base, true), TREMOLO_OK);
    world_round(0);
    served_free(served);
    return 0;
}

static inline int world_end(void **state)
{
    (void)state;
    publish_again_free(&again);
    mirror_free(study);
    study = NULL;
    fake_broker_clear(&broker);
    return 0;
}

/* One group of `count` reports through the real publisher; their outcomes. */
static inline void world_send(uint32_t first, size_t count, uint8_t *outcomes)
{
    static struct server_report made[SEGMENT_REPORTS];
    static struct arrival arrivals[SEGMENT_REPORTS];
    static int16_t rows[SEGMENT_REPORTS * 8];
    struct job job = {.served = study->served, .reports = {arrivals, rows, count}};
    for (size_t i = 0; i < count; i++) {
        world_report(&made[i], first + (uint32_t)i);
        arrivals[i] = (struct arrival){.bytes = made[i].bytes, .length = (uint16_t)made[i].length};
        check_report(&arrivals[i], rows + 8 * i, &study->served->check);
        assert_int_equal(arrivals[i].outcome, OUTCOME_PENDING);
    }
    (void)!publish_jobs(&job, &bus.base, &again, (int64_t)time(NULL));
    for (size_t i = 0; i < count; i++) {
        outcomes[i] = arrivals[i].outcome;
    }
}

/* ---------------------------------------------------------------- workers */

struct worker {
    struct lease lease[SHARDS];
    struct lease_holder holder;
};

static inline void worker_hire(struct worker *worker, const char *name)
{
    *worker = (struct worker){.holder = {.bus = &bus.base, .name = name, .tick = world_no_tick}};
    for (unsigned n = 0; n < SHARDS; n++) {
        lease_init(&worker->lease[n], study, n);
    }
}

static inline void worker_dismiss(struct worker *worker)
{
    for (unsigned n = 0; n < SHARDS; n++) {
        lease_drop(&worker->lease[n]);
    }
}

/* Claim what this worker may, whatever the clock says. */
static inline void worker_claim(struct worker *worker)
{
    for (unsigned n = 0; n < SHARDS; n++) {
        struct lease *lease = &worker->lease[n];
        if (lease->shard == NULL && lease_look(lease, &worker->holder) == TREMOLO_OK) {
            (void)!lease_claim(lease, &worker->holder);
        }
    }
}

/* Fold all there is and write checkpoints now. */
static inline void worker_fold(struct worker *worker)
{
    for (unsigned n = 0; n < SHARDS; n++) {
        struct lease *lease = &worker->lease[n];
        for (int i = 0; i < 200 && lease->shard != NULL; i++) {
            lease->stored_ms = INT64_MIN / 2;
            lease->verified_ms = INT64_MIN / 2;
            atomic_store(&lease->hinted, true);
            enum tremolo_status status = lease_work(lease, &worker->holder);
            if (status == TREMOLO_OK && !lease->moved && !atomic_load(&lease->hinted)) {
                break;
            }
        }
    }
}

static inline uint64_t world_counted(void)
{
    assert_status(mirror_refresh(study, &bus.base, true), TREMOLO_OK);
    return study->served->sums.reports;
}

#endif
