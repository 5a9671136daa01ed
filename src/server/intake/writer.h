/* writer.h -- the inside of the writer, shared by ingest.c, changes.c and the deciders,
 * embedded.c and gateway.c.
 *
 * Queue, books, counters and health are the same for everybody. Who decides about
 * what was queued is a `decider`: the embedded one appends to its own store
 * and knows every report; a gateway publishes to a stream that others fold. */
#ifndef SERVER_WRITER_H
#define SERVER_WRITER_H

#include <pthread.h>

#include "ingest.h"

/* All but `unsure` and `end` called with the pen in hand, and on the writer thread but for the
 * first two. */
struct decider {
    /* Settle the outcomes of a list of jobs with reports, and finish each. */
    void (*run_group)(struct ingest *ingest, struct job *jobs);
    /* After a group on another thread: is there something for `idle` to do now? NULL: groups
     * are for the writer thread only. */
    bool (*is_due)(struct ingest *ingest);
    /* Do what job->call asks for; job->done may come later and from another thread. */
    void (*run_call)(struct ingest *ingest, struct job *job);
    void (*idle)(struct ingest *ingest); /* between groups, and five times a second */
    void (*end)(struct ingest *ingest);  /* the last thing, when all jobs are done */
    /* Might a study that is not among the books exist all the same? NULL: no. */
    bool (*unsure)(struct ingest *ingest, const uint8_t id[TREMOLO_STUDY_ID_BYTES]);
};

struct ingest {
    const struct decider *decider;
    void *context;       /* of the decider */
    struct store *store; /* of the embedded one */
    const uint8_t *signing_key;
    const uint8_t *secret;
    struct ingest_counters counters;

    pthread_rwlock_t books_lock;
    struct book *books[INGEST_STUDIES_MAX];
    size_t book_count;

    pthread_mutex_t lock; /* guards from here to `words` */
    pthread_cond_t wake;
    struct job *first;
    struct job **last;
    size_t queued_bytes;
    bool wanted; /* there is something that only the writer thread will do */
    bool stopping;
    enum tremolo_status health;
    bool for_good;   /* and it stays so until a restart */
    struct log *log; /* where its changes are told; NULL: nowhere */
    char words[200];

    pthread_t writer;
    _Atomic int64_t sync_usual_us; /* a moving average */
    pthread_mutex_t pen;           /* whoever holds it writes; guards all below and the store */
    int64_t checkpointed_at;
    int64_t tried_at; /* to write, while the store takes nothing */
    uint64_t since_checkpoint;
    bool round_due; /* for `idle` to close */
    struct book *touched;
};

int64_t writer_seconds(void); /* Unix time */

/* An ingest with nothing in it; writer_start lets its thread run. */
struct ingest *writer_new(const struct decider *decider, void *context);
TREMOLO_MUST_USE enum tremolo_status writer_start(struct ingest *ingest);
void writer_free(struct ingest *ingest);

/* Books never go away again. */
void writer_add_book(struct ingest *ingest, struct book *book);

/* Count the outcomes and tell whoever waits. */
void writer_finish_job(struct ingest *ingest, struct job *job);
/* Whatever leaned on this group failed with it. */
void writer_fail_job(struct job *job);

/* What /healthz says. for_good: nothing is taken until a restart. */
void writer_note_failure(struct ingest *ingest, enum tremolo_status status, const char *words,
                         bool for_good);
void writer_note_success(struct ingest *ingest);

/* Sync the store, and count it. */
TREMOLO_MUST_USE enum tremolo_status writer_sync(struct ingest *ingest);

/* After whatever was staged: note the store's health, and on a failure
 * discard what is staged. */
void writer_settle(struct ingest *ingest, enum tremolo_status status);

/* End every round whose count or time has come. */
void writer_close_due_rounds(struct ingest *ingest);

#endif
