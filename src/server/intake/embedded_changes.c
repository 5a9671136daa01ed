/* embedded_changes.c -- what changes a study in the server's own log: its creation and the ends of
 * its rounds.
 *
 * All of it runs on the writer thread, so every change has its place among the
 * group commits. */
#include <string.h>

#include "rounds.h"
#include "writer.h"

/* ---------------------------------------------------------------- studies */

/* Two studies may not share a tag: reports could not be told apart. */
static bool tag_is_taken(struct writer *writer, const struct served_study *served)
{
    for (size_t i = 0; i < writer->study_count; i++) {
        if (memcmp(writer->studies[i]->id, served->id, TREMOLO_STUDY_TAG_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

static enum tremolo_status store_new_study(struct writer *writer, struct served_study *served)
{
    enum tremolo_status status = served_put_study(writer->store, served);
    if (status == TREMOLO_OK) {
        status = served_put_round(writer->store, served, 0);
    }
    if (status == TREMOLO_OK) {
        status = writer_sync(writer);
    }
    writer_settle(writer, status);
    return status;
}

enum tremolo_status writer_create_study(struct writer *writer, struct job *job)
{
    struct served_study *served = NULL;
    enum tremolo_status status = served_new(&served, job->problems, job->text, job->text_length,
                                            writer->signing_key, writer->secret);
    if (status != TREMOLO_OK) {
        return status;
    }
    job->served = writer_find(writer, served->id);
    if (job->served != NULL) {
        served_free(served);
        return TREMOLO_OK;
    }
    if (writer->study_count == WRITER_STUDIES_MAX || tag_is_taken(writer, served)) {
        status = TREMOLO_BAD_ARGUMENT;
    } else {
        status = store_new_study(writer, served);
    }
    if (status != TREMOLO_OK) {
        served_free(served);
        return status;
    }
    writer_add_study(writer, served);
    job->served = served;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- rounds */

/* Stage the end of the newest round and, unless it was the last, the next. Not when our sums may
 * lack what the log has: they would be the round's for good. */
static enum tremolo_status stage_close(struct writer *writer, struct served_study *served,
                                       int64_t now)
{
    unsigned closing = served->opened - 1;
    enum tremolo_status status = writer_health(writer, NULL, 0) == TREMOLO_NOT_SYNCED
                                     ? TREMOLO_NOT_SYNCED
                                     : served_put_checkpoint(writer->store, served);
    served->rounds[closing].closed_at = now;
    if (status == TREMOLO_OK && served->opened < served->terms->rounds) {
        status = rounds_open_next(served, now);
    }
    for (unsigned t = closing; t < served->opened && status == TREMOLO_OK; t++) {
        status = served_put_round(writer->store, served, t);
    }
    return status == TREMOLO_OK ? writer_sync(writer) : status;
}

/* Readers wait until the change is durable, so none sees a round that a
 * crash could take back. */
static enum tremolo_status close_round(struct writer *writer, struct served_study *served)
{
    unsigned closing = served->opened - 1;
    (void)pthread_mutex_lock(&served->lock);
    enum tremolo_status status = stage_close(writer, served, writer_seconds());
    if (status == TREMOLO_OK) {
        served->rounds[closing].checkpointed_to = served->rounds[closing].folded_to;
        served->generation++;
    } else {
        served->opened = closing + 1;
        served->rounds[closing].closed_at = 0;
    }
    (void)pthread_mutex_unlock(&served->lock);
    if (status == TREMOLO_OK || (status >= 60 && status < 70)) {
        writer_settle(writer, status);
    } else {
        writer->store->discard(writer->store);
    }
    return status;
}

enum tremolo_status writer_close_round(struct writer *writer, struct job *job)
{
    struct served_study *served = job->served;
    unsigned newest = served->opened - 1;
    if (job->round_named && (job->round < newest || served_is_done(served))) {
        return TREMOLO_OK; /* asked again: it is closed */
    }
    if (served_is_done(served)) {
        return TREMOLO_ROUND_PASSED;
    }
    if (tremolo_moments_count(served->rounds[newest].moments) < 2) {
        return TREMOLO_BAD_ARGUMENT;
    }
    return close_round(writer, served);
}

void writer_close_due_rounds(struct writer *writer)
{
    for (size_t i = 0; i < writer->study_count; i++) {
        if (rounds_is_due(writer->studies[i], writer_seconds())) {
            (void)close_round(writer, writer->studies[i]);
        }
    }
}
