/* lease.h -- one shard of one study, as a worker sees it: another's, or its own.
 *
 * A lease is a value under lease.TAG.SHARD: the owner's name, "-" when
 * it has no owner. It is changed by compare-and-set only, and its revision at the
 * claim is the fence that every checkpoint carries. The lease says who should
 * fold; that no two folds count is due to the checkpoint's own compare-and-set:
 * a new owner replaces the checkpoint before it folds, and from then on whatever
 * an earlier owner writes is refused.
 *
 * Expiry is judged by the watcher's own monotonic clock: a lease may be taken if its
 * revision did not change for LEASE_MS. No two clocks are compared. */
#ifndef SERVER_LEASE_H
#define SERVER_LEASE_H

#include <stdatomic.h>

#include "checkpoint.h"
#include "mirror.h"

enum {
    LEASE_MS = 3000,
    LEASE_RENEW_MS = 1000,
    LEASE_POLL_MS = 1000,      /* look for messages without a hint */
    LEASE_EAGER_MS = 300,      /* and again after one, as a replica may be behind */
    LEASE_CHECKPOINT_MS = 250, /* at most so far behind, while sums are small */
    LEASE_LARGE_MS = 2000,     /* when they are not */
    LEASE_VERIFY_MS = 1000,    /* is the message at our position still the one we folded? */
    LEASE_MISSING_MAX = 10,    /* looks before we believe that it is gone */
    LEASE_PASSED_MAX = 3,      /* looks before we believe that messages were passed over */
    LEASE_ALIKE_MAX =
        2, /* folds from the beginning before we believe that they are not to be had */
    LEASE_SLICE_MS = 50,         /* of folding before others have their turn */
    LEASE_TURN_MS = 800,         /* of folding in a turn of a worker with shards that are behind */
    LEASE_SPAN_BYTES = 64 << 10, /* of messages that are asked for at once */
};

struct lease {
    struct mirror *study; /* not ours */
    unsigned number;
    char key[BUS_NAME_BYTES];
    char subjects[BUS_NAME_BYTES]; /* of the shard's log */
    uint64_t revision;             /* revision last seen, or written */
    char owner[64];                /* as last seen */
    int64_t changed_ms;            /* when the revision was first seen */
    int64_t looked_ms;             /* last time we looked */
    int64_t renewed_ms;            /* of our own lease */
    struct shard *shard;           /* NULL: not ours */
    struct checkpoint_mark mark;
    bool busy;         /* somebody works on the shard and calls tick: it must stay */
    bool lost;         /* the lease went to another in between */
    bool moved;        /* since the checkpoint */
    bool rebuilding;   /* from the log's beginning; no checkpoint before its end */
    unsigned rebuilt;  /* how often that was necessary */
    unsigned missing;  /* looks in a row that found no message at our position */
    uint64_t expected; /* messages that the log had when we last looked; 0: not looked */
    uint64_t surplus;  /* of these, so many it does not give us from the beginning either */
    bool recount;      /* the shard was folded again, and we have not seen yet that it is whole */
    uint64_t missed;   /* messages that were missing when it was last folded again */
    unsigned alike;    /* folds from the beginning in a row that missed so many */
    unsigned passed;   /* looks in a row that found fewer in the fold than in the log */
    unsigned chunk_missing; /* claims in a row that found a chunk gone */
    int64_t verified_ms;
    int64_t stored_ms;
    int64_t polled_ms;
    int64_t eager_until_ms;
    unsigned span;    /* numbers that are asked about at once, while it is behind */
    int64_t slice_ms; /* for the next slice; 0: LEASE_SLICE_MS */
    _Atomic bool hinted;
};

/* What a lease needs of its worker. tick is called during long work, so that
 * leases are renewed during it. */
struct lease_holder {
    struct bus *bus;
    const char *name;
    void (*tick)(void *context);
    void *context;
    size_t owned; /* shards that are its own */
};

/* A lease of another's, before the first look. */
void lease_init(struct lease *lease, struct mirror *study, unsigned number);

/* See who has the lease. */
TREMOLO_MUST_USE enum tremolo_status lease_look(struct lease *lease,
                                                const struct lease_holder *holder);

/* May it be taken? Free, or silent for too long. */
bool lease_is_free(const struct lease *lease);

/* Take the lease, fence the checkpoint, load it. CHANGED: somebody was faster. After
 * any failure the lease is not ours. */
TREMOLO_MUST_USE enum tremolo_status lease_claim(struct lease *lease,
                                                 const struct lease_holder *holder);

/* Renew when it is time. CHANGED: it is another's now; what we held is dropped. */
TREMOLO_MUST_USE enum tremolo_status lease_renew(struct lease *lease,
                                                 const struct lease_holder *holder);

/* Fold what has come, for LEASE_SLICE_MS or, when the last slice was not enough, up to this shard's
 * share of LEASE_TURN_MS, and write a checkpoint when it is time. On CHANGED, or when the fold fails, what we held is dropped whole: the next
 * claim begins with the checkpoint. */
TREMOLO_MUST_USE enum tremolo_status lease_work(struct lease *lease,
                                                const struct lease_holder *holder);

/* Checkpoint and let the lease go. */
void lease_release(struct lease *lease, const struct lease_holder *holder);

void lease_drop(struct lease *lease); /* forget what we hold */

#endif
