/* ingest.h -- the one writer at a time, and the queue before it.
 *
 * Request threads check reports (arrival.h), then hand a job over and are told
 * when it is decided. The writer takes all that waits at once: that is the
 * group commit. It decides repeats, rounds and samples, appends one segment
 * per study, syncs, folds, and only then says done. While it syncs, the next
 * group gathers, so no timer is needed to make groups. Who writes is settled
 * group by group: the request thread that brings a small one, or the writer thread.
 *
 * Whatever changes a study (its creation, the end of a round) is a job
 * too, so every change has its place in one order. */
#ifndef SERVER_INGEST_H
#define SERVER_INGEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "book.h"
#include "arrival.h"
#include "store.h"

struct log;

enum {
    INGEST_QUEUE_BYTES_MAX = 64 << 20, /* of bodies waiting; BUSY beyond */
    INGEST_GROUP_BYTES_MAX = 4 << 20,  /* of bodies in one group commit */
    INGEST_STUDIES_MAX = 1024,
    INGEST_CHECKPOINT_REPORTS = 1 << 20, /* or after a minute */
    INGEST_CHECKPOINT_SECONDS = 60,
};

struct ingest;
struct job;

struct job {
    struct job *next;
    struct book *book;
    struct arrival *arrivals; /* outcome of each is set when done is called */
    int16_t *rows;            /* check.row_values for each arrival */
    size_t count;
    size_t bytes; /* of the body, for the bounds */
    /* Instead of reports: work for the writer thread, and its result. */
    enum tremolo_status (*call)(struct ingest *ingest, struct job *job);
    enum tremolo_status status;
    bool round_named; /* a round to close: this one, or else the newest */
    unsigned round;
    const char *text; /* of a study to create */
    size_t text_length;
    struct tremolo_study_problems *problems;
    /* Called once, from whatever thread wrote; the job is the caller's again. */
    void (*done)(struct job *job);
    void *context;
};

/* Numbers for /metrics. */
struct ingest_counters {
    _Atomic uint64_t outcome[OUTCOME_COUNT];
    _Atomic uint64_t groups;
    _Atomic uint64_t sync_microseconds;
    _Atomic uint64_t queued_bytes;
    _Atomic uint64_t store_errors;
    _Atomic uint64_t mqtt_taken; /* publications, of gateways */
    _Atomic uint64_t mqtt_malformed;
    _Atomic uint64_t mqtt_unknown; /* for no study we know */
};

/* Start on an open store (taken over on success). `signing_key` and `secret` must
 * outlive it. Recovers every study first. `words` says what was wrong. */
TREMOLO_MUST_USE enum tremolo_status ingest_start(struct ingest **ingest, struct store *store,
                                                  const uint8_t *signing_key, const uint8_t *secret,
                                                  char *words, size_t words_capacity);

/* Decide all that waits, checkpoint, close the store. NULL is fine. */
void ingest_stop(struct ingest *ingest);

/* False, with nothing done, when the queue is full. */
bool ingest_submit(struct ingest *ingest, struct job *job);

/* Many at once, linked by `next`, in this order. Returns the first that found no
 * room, with those after it, or NULL. The caller may become the writer for a group, its own
 * and what else waits: their done() may come before this returns. */
struct job *ingest_submit_all(struct ingest *ingest, struct job *jobs);

/* The same for one, and wait: for callers with a thread to spare. False without memory, too. */
bool ingest_submit_and_wait(struct ingest *ingest, struct job *job);

/* Calls for job.call. Create: job.text is the study; job.book is the new book,
 * or the existing one with the same id. Close: ends job.book's newest round. */
enum tremolo_status ingest_create_study(struct ingest *ingest, struct job *job);
enum tremolo_status ingest_close_round(struct ingest *ingest, struct job *job);

/* Books never go away while the server runs. */
struct book *ingest_find(struct ingest *ingest, const uint8_t id[TREMOLO_STUDY_ID_BYTES]);
/* After ingest_find found nothing: might such a study exist all the same, made a
 * moment ago through another gateway? */
bool ingest_is_unsure(struct ingest *ingest, const uint8_t id[TREMOLO_STUDY_ID_BYTES]);
size_t ingest_studies(struct ingest *ingest);
struct book *ingest_study(struct ingest *ingest, size_t index);

struct ingest_counters *ingest_counters(struct ingest *ingest);

/* Count what became of reports, for the server and for their study. Any thread. */
void ingest_count(struct ingest *ingest, struct book *book, const struct arrival *arrivals,
                  size_t count);

/* From now on a change of health is written to the log, which must outlive it. */
void ingest_tell(struct ingest *ingest, struct log *log);

/* OK, or why the store takes nothing any more; the words live on. */
enum tremolo_status ingest_health(struct ingest *ingest, char *words, size_t capacity);

#endif
