/* writer.c -- what both backends share: the batcher, the studies and the counts.
 *
 * A writer is a batcher with a list of studies. The embedded backend (embedded.c) keeps the log itself; a
 * gateway's (cluster/gateway.c) publishes to a log that workers fold. Request threads see neither: they
 * find a study, submit jobs and count outcomes. */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

/* One addition for each outcome that occurred, not for each report: these counters are shared by
 * all threads. */
void writer_count(struct writer *writer, struct served_study *served,
                  const struct arrival *arrivals, size_t count)
{
    uint64_t tally[OUTCOME_COUNT] = {0};
    for (size_t i = 0; i < count; i++) {
        tally[arrivals[i].outcome]++;
    }
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        if (tally[i] > 0) {
            (void)atomic_fetch_add_explicit(&writer->outcome[i], tally[i], memory_order_relaxed);
            (void)atomic_fetch_add_explicit(&served->outcome[i], tally[i], memory_order_relaxed);
        }
    }
}

/* A job may be freed by its owner inside done(), so the next one is read before. */
void writer_finish_batch(struct writer *writer, struct batch_job *jobs)
{
    while (jobs != NULL) {
        struct job *job = job_of(jobs); /* its owner may free it once it is done */
        jobs = jobs->next;
        writer_count(writer, job->served, job->reports.arrivals, job->reports.count);
        job->done(job);
    }
}

struct served_study *writer_find(struct writer *writer, bool *unsure,
                                 const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    struct served_study *found = studies_find(&writer->studies, id);
    found = found != NULL && memcmp(found->id, id, TREMOLO_STUDY_ID_BYTES) == 0 ? found : NULL;
    *unsure = found == NULL && writer->unsure != NULL && writer->unsure(writer, id);
    return found;
}

struct writer *writer_new(const struct batcher_backend *backend, void *owner,
                          const uint8_t *signing_key, const uint8_t *secret)
{
    struct writer *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    studies_init(&made->studies);
    made->signing_key = signing_key;
    made->secret = secret;
    batcher_init(&made->batcher, backend, owner);
    return made;
}

/* batcher_free() runs what is queued and ends the backend; then no thread uses the studies. */
void writer_stop(struct writer *writer)
{
    if (writer != NULL) {
        batcher_free(&writer->batcher);
        studies_free(&writer->studies);
        free(writer);
    }
}
