/* writer.h -- the inside of the writer, shared by ingest.c and changes.c. */
#ifndef SERVER_WRITER_H
#define SERVER_WRITER_H

#include <pthread.h>

#include "ingest.h"

struct ingest {
    struct store *store;
    const uint8_t *signing_key;
    const uint8_t *secret;
    struct ingest_counters counters;

    pthread_rwlock_t books_lock;
    struct book *books[INGEST_STUDIES_MAX];
    size_t book_count;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t wake;
    struct job *first;
    struct job **last;
    size_t queued_bytes;
    bool stopping;
    enum tremolo_status health;
    char words[200];

    pthread_t writer;
    int64_t checkpointed_at; /* writer only, from here on */
    uint64_t since_checkpoint;
    struct book *touched;
};

int64_t writer_seconds(void); /* Unix time */

/* Sync the store, and count it. */
TREMOLO_MUST_USE enum tremolo_status writer_sync(struct ingest *ingest);

/* After whatever was staged: note the store's health, and on a failure
 * discard what is staged. */
void writer_settle(struct ingest *ingest, enum tremolo_status status);

/* End every round whose count or time has come. */
void writer_close_due_rounds(struct ingest *ingest);

#endif
