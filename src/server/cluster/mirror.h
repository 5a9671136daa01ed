/* mirror.h -- a clustered study as any process sees it: rounds and merged sums.
 *
 * The study's rounds and sums are copies of what is in the broker, made again
 * from the revisions that changed. Sums are integers, so merging the shards in
 * any order gives the bits a single fold would have. A mirror may lag behind,
 * never lead.
 *
 * Whether a value is the one we know is seen by its content, never by its revision: a replica
 * that becomes leader may number the bucket a few values lower, and then a new value comes
 * under the number of an old one.
 *
 * mirror_refresh is for one thread; other threads read the study under its lock,
 * and set the `dirty` flags. */
#ifndef SERVER_MIRROR_H
#define SERVER_MIRROR_H

#include <limits.h>
#include <stdatomic.h>

#include "checkpoint.h"
#include "cluster.h"

struct mirror_shard {
    uint64_t revision;                     /* of the checkpoint that was read; 0: none yet */
    uint8_t check[CHECKPOINT_CHECK_BYTES]; /* its check value, by which it is known again */
    uint64_t fence;
    uint64_t position;
    unsigned ended; /* rounds that have ended there */
    uint64_t counts[SHARD_FATES];
    struct tremolo_moments **rounds; /* terms->rounds; NULL: nothing counted */
    unsigned final;                  /* rounds[0..final) will not change */
    _Atomic bool dirty;
    _Atomic int64_t hinted_ms; /* when we last heard that it moved */
};

struct mirror {
    struct served_study *served;
    char tag[CLUSTER_TAG_BYTES];
    char stream[BUS_NAME_BYTES];
    unsigned shards;
    enum cluster_phase phase;
    unsigned round; /* newest, as state.TAG says */
    uint64_t state_revision;
    uint64_t history_revision; /* as last read or written; 0: none yet */
    struct mirror_shard *shard;
    char leader[64];       /* of the log, as the thread that publishes saw it last; its own */
    int64_t leader_ms;     /* and since when */
    uint64_t leader_first; /* and from which number on */
    bool *changed;         /* terms->rounds: sums of a shard are newer than the study's */
    _Atomic bool dirty;    /* the state */
    _Atomic int64_t hinted_ms;
};

/* Somebody says that a shard's checkpoint moved, or with MIRROR_STATE the state. Any thread. */
#define MIRROR_STATE UINT_MAX
void mirror_hint(struct mirror *mirror, unsigned shard);

/* Read a study's record; nothing else is read yet. The keys are those of served_new. */
TREMOLO_MUST_USE enum tremolo_status mirror_open(struct mirror **mirror, struct bus *bus,
                                                 const uint8_t study[STORE_STUDY_BYTES],
                                                 const uint8_t *signing_key, const uint8_t *secret);
void mirror_free(struct mirror *mirror);

/* The one with this tag; NULL: none. */
struct mirror *mirror_find(struct mirror *const *mirrors, size_t count, const uint8_t *tag);

/* Read what is marked dirty, or with `all` everything. On failure what was read before
 * stays, and what could not be read stays dirty. */
TREMOLO_MUST_USE enum tremolo_status mirror_refresh(struct mirror *mirror, struct bus *bus,
                                                    bool all);

/* What charts show of the past, as a gateway wrote it last. It is read once, before others know
 * of the study; one that cannot be understood is ignored, because nothing depends on it. */
TREMOLO_MUST_USE enum tremolo_status mirror_read_history(struct mirror *mirror, struct bus *bus);

/* Write down what came since, unless another gateway did so since the last call: every one of them
 * sees all sums, so one history is enough, and when its writer is gone the next call writes. */
TREMOLO_MUST_USE enum tremolo_status mirror_store_history(struct mirror *mirror, struct bus *bus);

/* Begin to close `round`, or with -1 the newest: CLOSING by compare-and-set, then its
 * markers. OK, and nothing done, when `round` is closed already.
 * STUDY_DONE when all is done, TOO_FEW_REPORTS with fewer than two,
 * ROUND_NOT_BEGUN for a later round. */
TREMOLO_MUST_USE enum tremolo_status mirror_close_round(struct mirror *mirror, struct bus *bus,
                                                        long round);

/* What has to be done about rounds by somebody, any number of times: begin to
 * close what is due, complete markers, open the next round. */
TREMOLO_MUST_USE enum tremolo_status mirror_advance(struct mirror *mirror, struct bus *bus,
                                                    int64_t now);

#endif
