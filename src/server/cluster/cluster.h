/* cluster.h -- what a clustered study is called and how its state is written.
 *
 * Keys of the bucket (docs/reference/storage.md has the bytes):
 *
 *     studies              the tags of all studies
 *     study.TAG            number of shards, then the study's text
 *     state.TAG            phase, newest round, when rounds were closed
 *     round.TAG.ROUND      coefficients and vectors; written once
 *     history.TAG          what charts show of the past
 *     lease.TAG.SHARD      who folds the shard; its revision is the fence
 *     fold.TAG.SHARD       the shard's checkpoint
 *
 * Streams: TREMOLO-TAG holds tremolo.log.TAG.SHARD.seg (segments) and
 * tremolo.log.TAG.SHARD.end.ROUND (end markers); TREMOLO-BLOBS holds
 * tremolo.blob.TAG.SHARD.* (parts of large checkpoints). TAG is 32
 * hexadecimal digits. */
#ifndef SERVER_CLUSTER_H
#define SERVER_CLUSTER_H

#include <stdatomic.h>

#include "bus.h"
#include "shard.h"

enum {
    CLUSTER_SHARDS_MAX = 1024,
    CLUSTER_SHARDS_DEFAULT = 8,
    CLUSTER_STUDIES_MAX = 1024,
    CLUSTER_TAG_BYTES = 2 * STORE_STUDY_BYTES + 1,
};

#define CLUSTER_BLOBS       "TREMOLO-BLOBS"
#define CLUSTER_HINT_LOG    "tremolo.hint.log"    /* .TAG.SHARD: messages came */
#define CLUSTER_HINT_FOLD   "tremolo.hint.fold"   /* .TAG.SHARD: a checkpoint moved */
#define CLUSTER_HINT_STATE  "tremolo.hint.state"  /* .TAG: a study was made, a round moved */
#define CLUSTER_HINT_WORKER "tremolo.hint.worker" /* .NAME: a worker lives */

enum cluster_phase {
    CLUSTER_OPEN = 1,    /* the newest round takes reports */
    CLUSTER_CLOSING = 2, /* its end markers are being written and folded */
    CLUSTER_DONE = 3,    /* the last round has ended */
};

/* state.TAG. `closed` has an entry for each closed round. */
struct cluster_state {
    enum cluster_phase phase;
    unsigned round; /* newest */
    uint64_t revision;
    int64_t *closed;
    unsigned closed_count;
};

void cluster_tag(char tag[CLUSTER_TAG_BYTES], const uint8_t study[STORE_STUDY_BYTES]);

/* name = format with a tag and up to two numbers; see cluster.c. */
void cluster_key(char name[BUS_NAME_BYTES], const char *kind, const char *tag);
void cluster_key_of(char name[BUS_NAME_BYTES], const char *kind, const char *tag, unsigned number);
void cluster_stream(char name[BUS_NAME_BYTES], const char *tag);
void cluster_segments(char name[BUS_NAME_BYTES], const char *tag, unsigned shard);
void cluster_end(char name[BUS_NAME_BYTES], const char *tag, unsigned shard, unsigned round);
void cluster_shard_all(char name[BUS_NAME_BYTES], const char *tag, unsigned shard);

/* The round of an end marker's subject, or -1 for a segment's. */
long cluster_round_of(const char *subject);

/* The state of a study; NETWORK_FAILED as the bus says, MALFORMED, and STORE_FAILED
 * when there is none. Free state->closed with cluster_state_free. */
TREMOLO_MUST_USE enum tremolo_status cluster_get_state(struct cluster_state *state, struct bus *bus,
                                                       const char *tag);
TREMOLO_MUST_USE enum tremolo_status cluster_swap_state(struct cluster_state *state,
                                                        struct bus *bus, const char *tag);
void cluster_state_free(struct cluster_state *state);

/* Write a new study: its stream, its record, round 0, its state, its place in the
 * list. Repeating it after a failure completes what is missing. */
TREMOLO_MUST_USE enum tremolo_status
cluster_create(struct bus *bus, const struct served_study *served, unsigned shards);

/* The same in steps, for a study that arrives with its rounds (move.c). */
TREMOLO_MUST_USE enum tremolo_status cluster_make_streams(struct bus *bus, const char *tag);
TREMOLO_MUST_USE enum tremolo_status
cluster_put_study(struct bus *bus, const struct served_study *served, unsigned shards);
TREMOLO_MUST_USE enum tremolo_status cluster_add_to_list(struct bus *bus,
                                                         const uint8_t study[STORE_STUDY_BYTES]);

/* Everything about a study but its place in the list. */
TREMOLO_MUST_USE enum tremolo_status cluster_erase(struct bus *bus, const char *tag);

TREMOLO_MUST_USE enum tremolo_status
cluster_put_round(struct bus *bus, const struct served_study *served, unsigned round);

/* The tags of all studies, STORE_STUDY_BYTES each; the caller frees. */
TREMOLO_MUST_USE enum tremolo_status cluster_list(struct bus *bus, uint8_t **tags, size_t *count);

/* Number of shards and text of a study. The text lies in value->bytes. */
TREMOLO_MUST_USE enum tremolo_status cluster_get_study(struct bus *bus, const char *tag,
                                                       struct bus_value *value, unsigned *shards,
                                                       const char **text, size_t *length);

/* The next message of a shard's log, a segment or an end marker, into its fold. */
TREMOLO_MUST_USE enum tremolo_status cluster_take(struct shard *shard,
                                                  const struct bus_value *message);

/* Write the end markers of a round into every shard that has none yet. */
TREMOLO_MUST_USE enum tremolo_status cluster_mark_end(struct bus *bus, const char *tag,
                                                      unsigned shards, unsigned round);

/* The store's studies, shards and workers, as JSON; the caller frees it. Leases are looked at twice,
 * pause_ms apart: one that was not renewed in between has no living owner. (overview.c) */
TREMOLO_MUST_USE enum tremolo_status cluster_overview(char **json, struct bus *bus,
                                                      int64_t pause_ms);

/* ---------------------------------------------------------------- a worker's /metrics and /healthz */

/* Numbers that the worker's thread writes and requests read. */
struct worker_counters {
    _Atomic uint64_t shards; /* owned now */
    _Atomic uint64_t studies;
    _Atomic uint64_t fate[SHARD_FATES]; /* of reports, in shards owned now */
    _Atomic uint64_t claims;
    _Atomic uint64_t lost; /* shards that others took, or that failed */
    _Atomic uint64_t rebuilds;
    _Atomic uint64_t errors; /* calls to the store that failed */
    _Atomic int64_t turn_ms; /* monotonic: when the last turn ended */
};

struct worker_metrics;

/* Listen on a numeric address with a thread of its own. `words` says what failed. */
TREMOLO_MUST_USE enum tremolo_status worker_metrics_start(struct worker_metrics **metrics,
                                                          struct worker_counters *counters,
                                                          const char *address, uint16_t port,
                                                          char words[TREMOLO_WORDS_BYTES]);
uint16_t worker_metrics_port(const struct worker_metrics *metrics);
void worker_metrics_stop(struct worker_metrics *metrics); /* NULL is fine */

#endif
