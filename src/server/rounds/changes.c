/* changes.c -- what changes a study: its creation and the ends of its rounds.
 *
 * All of it runs on the writer thread, so every change has its place among the
 * group commits; only looking a study up is for any thread. */
#include <string.h>

#include "rounds.h"
#include "writer.h"

/* ---------------------------------------------------------------- books */

struct book *ingest_find(struct ingest *ingest, const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    struct book *found = NULL;
    (void)pthread_rwlock_rdlock(&ingest->books_lock);
    for (size_t i = 0; i < ingest->book_count && found == NULL; i++) {
        if (memcmp(ingest->books[i]->id, id, TREMOLO_STUDY_ID_BYTES) == 0) {
            found = ingest->books[i];
        }
    }
    (void)pthread_rwlock_unlock(&ingest->books_lock);
    return found;
}

bool ingest_is_unsure(struct ingest *ingest, const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    return ingest->decider->unsure != NULL && ingest->decider->unsure(ingest, id);
}

size_t ingest_studies(struct ingest *ingest)
{
    (void)pthread_rwlock_rdlock(&ingest->books_lock);
    size_t count = ingest->book_count;
    (void)pthread_rwlock_unlock(&ingest->books_lock);
    return count;
}

struct book *ingest_study(struct ingest *ingest, size_t index)
{
    (void)pthread_rwlock_rdlock(&ingest->books_lock);
    struct book *book = index < ingest->book_count ? ingest->books[index] : NULL;
    (void)pthread_rwlock_unlock(&ingest->books_lock);
    return book;
}

void writer_add_book(struct ingest *ingest, struct book *book)
{
    (void)pthread_rwlock_wrlock(&ingest->books_lock);
    ingest->books[ingest->book_count++] = book;
    (void)pthread_rwlock_unlock(&ingest->books_lock);
}

/* Two studies may not share a tag: reports could not be told apart. */
static bool tag_is_taken(struct ingest *ingest, const struct book *book)
{
    for (size_t i = 0; i < ingest->book_count; i++) {
        if (memcmp(ingest->books[i]->id, book->id, TREMOLO_STUDY_TAG_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

static enum tremolo_status store_new_book(struct ingest *ingest, struct book *book)
{
    enum tremolo_status status = book_put_study(ingest->store, book);
    if (status == TREMOLO_OK) {
        status = book_put_round(ingest->store, book, 0);
    }
    if (status == TREMOLO_OK) {
        status = writer_sync(ingest);
    }
    writer_settle(ingest, status);
    return status;
}

enum tremolo_status ingest_create_study(struct ingest *ingest, struct job *job)
{
    struct book *book = NULL;
    enum tremolo_status status = book_new(&book, job->problems, job->text, job->text_length,
                                          ingest->signing_key, ingest->secret);
    if (status != TREMOLO_OK) {
        return status;
    }
    job->book = ingest_find(ingest, book->id);
    if (job->book != NULL) {
        book_free(book);
        return TREMOLO_OK;
    }
    if (ingest->book_count == INGEST_STUDIES_MAX || tag_is_taken(ingest, book)) {
        status = TREMOLO_BAD_ARGUMENT;
    } else {
        status = store_new_book(ingest, book);
    }
    if (status != TREMOLO_OK) {
        book_free(book);
        return status;
    }
    writer_add_book(ingest, book);
    job->book = book;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- rounds */

/* Stage the end of the newest round and, unless it was the last, the next. Not when our sums may
 * lack what the log has: they would be the round's for good. */
static enum tremolo_status stage_close(struct ingest *ingest, struct book *book, int64_t now)
{
    unsigned closing = book->opened - 1;
    enum tremolo_status status = ingest_health(ingest, NULL, 0) == TREMOLO_NOT_SYNCED
                                     ? TREMOLO_NOT_SYNCED
                                     : book_put_checkpoint(ingest->store, book);
    book->rounds[closing].closed_at = now;
    if (status == TREMOLO_OK && book->opened < book->terms->rounds) {
        status = rounds_open_next(book, now);
    }
    for (unsigned t = closing; t < book->opened && status == TREMOLO_OK; t++) {
        status = book_put_round(ingest->store, book, t);
    }
    return status == TREMOLO_OK ? writer_sync(ingest) : status;
}

/* Readers wait until the change is durable, so none sees a round that a
 * crash could take back. */
static enum tremolo_status close_round(struct ingest *ingest, struct book *book)
{
    unsigned closing = book->opened - 1;
    (void)pthread_mutex_lock(&book->lock);
    enum tremolo_status status = stage_close(ingest, book, writer_seconds());
    if (status == TREMOLO_OK) {
        book->rounds[closing].checkpointed_to = book->rounds[closing].folded_to;
        book->generation++;
    } else {
        book->opened = closing + 1;
        book->rounds[closing].closed_at = 0;
    }
    (void)pthread_mutex_unlock(&book->lock);
    if (status == TREMOLO_OK || (status >= 60 && status < 70)) {
        writer_settle(ingest, status);
    } else {
        ingest->store->discard(ingest->store);
    }
    return status;
}

enum tremolo_status ingest_close_round(struct ingest *ingest, struct job *job)
{
    struct book *book = job->book;
    unsigned newest = book->opened - 1;
    if (job->round_named && (job->round < newest || book_is_done(book))) {
        return TREMOLO_OK; /* asked again: it is closed */
    }
    if (book_is_done(book)) {
        return TREMOLO_ROUND_PASSED;
    }
    if (tremolo_moments_count(book->rounds[newest].moments) < 2) {
        return TREMOLO_BAD_ARGUMENT;
    }
    return close_round(ingest, book);
}

void writer_close_due_rounds(struct ingest *ingest)
{
    for (size_t i = 0; i < ingest->book_count; i++) {
        if (rounds_is_due(ingest->books[i], writer_seconds())) {
            (void)close_round(ingest, ingest->books[i]);
        }
    }
}
