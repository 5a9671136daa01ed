/* discard.c -- reports of a span of time that no longer count.
 *
 * A flood of made-up reports can fill an open study. The operator names the span in which they
 * came, and the sums are made anew from the log without it. The log itself keeps every report: ids stay
 * known, so that none of them comes back, and what counts is still a function of log and states.
 *
 * Times of segments never go back: each has the clock's, or that of the segment before or the end
 * of the last discarded span, whichever is latest. A span ends at the present at the latest,
 * so that nothing that comes later can fall into it, whatever the clock does. Only reports of the
 * newest round are discarded: the rounds before have made what was broadcast since. */
#include <stdlib.h>
#include <string.h>

#include "encoder.h"
#include "served_study.h"

static bool holds(const struct served_discard *discard, unsigned round, int64_t arrived)
{
    return discard->round == round && discard->from <= arrived && arrived < discard->to;
}

bool served_is_discarded(const struct served_study *served, unsigned round, int64_t arrived)
{
    for (size_t i = 0; i < served->log.discard_count; i++) {
        if (arrived != 0 && holds(&served->log.discards[i], round, arrived)) {
            return true;
        }
    }
    return false;
}

int64_t served_arrival_time(const struct served_study *served, int64_t now)
{
    return now > served->log.time ? now : served->log.time;
}

/* Room for one more. */
static struct served_discard *next_discard(struct served_study *served)
{
    struct served_discard *grown =
        realloc(served->log.discards, (served->log.discard_count + 1) * sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    served->log.discards = grown;
    return &grown[served->log.discard_count];
}

static void take_discard(struct served_study *served, const struct served_discard *discard)
{
    served->log.discards[served->log.discard_count++] = *discard;
    served->sums.discarded += discard->reports;
    served->log.time = discard->to > served->log.time ? discard->to : served->log.time;
}

enum tremolo_status served_decode_discard(struct served_study *served, const uint8_t *value,
                                          size_t length)
{
    struct decoder in = {value, length, false};
    struct served_discard discard = {.round = (unsigned)decode_number(&in, 2),
                                     .from = (int64_t)decode_number(&in, 8),
                                     .to = (int64_t)decode_number(&in, 8),
                                     .reports = decode_number(&in, 8)};
    if (in.failed || in.left != 0 || discard.round >= served->sums.opened || discard.from < 0 ||
        discard.from >= discard.to) {
        return TREMOLO_MALFORMED;
    }
    if (next_discard(served) == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    take_discard(served, &discard);
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- the sums anew */

/* Fold what is left of the newest round in one segment. */
static enum tremolo_status fold_segment(struct served_round *round, struct served_discard *discard,
                                        struct served_study *served,
                                        const struct store_segment *segment)
{
    struct segment_record record;
    enum tremolo_status status = segment_check(segment->bytes, segment->length);
    if (status != TREMOLO_OK) {
        return status;
    }
    uint32_t offset = segment_start(segment->bytes);
    int64_t arrived = segment_arrived(segment->bytes);
    while (status == TREMOLO_OK &&
           segment_next(&record, &offset, segment->bytes, segment->length)) {
        struct arrival arrival = {.bytes = record.report,
                                  .length = record.length,
                                  .device = record.device,
                                  .device_length = record.device_length};
        status = served_read_names(&arrival, served);
        if (status != TREMOLO_OK || arrival.round != discard->round ||
            served_is_discarded(served, arrival.round, arrived)) {
            continue;
        }
        if (arrived != 0 && holds(discard, arrival.round, arrived)) {
            discard->reports++;
        } else {
            status = served_fold_record(round, served, &arrival);
        }
    }
    return status;
}

static enum tremolo_status fold_anew(struct served_round *round, struct served_discard *discard,
                                     struct served_study *served, struct store *store)
{
    struct store_segment segment = {0};
    enum tremolo_status status = tremolo_release_sums(&round->moments, served->study);
    while (status == TREMOLO_OK) {
        status = store->read(store, segment.position + 1, &segment);
        if (status != TREMOLO_OK || segment.position == 0) {
            break;
        }
        if (memcmp(segment.study, served->id, STORE_STUDY_BYTES) == 0) {
            status = fold_segment(round, discard, served, &segment);
        }
    }
    return status;
}

static enum tremolo_status put_discard(struct store *store, const struct served_study *served,
                                       const struct served_discard *discard)
{
    struct encoder out = {0};
    encode_number(&out, discard->round, 2);
    encode_number(&out, (uint64_t)discard->from, 8);
    encode_number(&out, (uint64_t)discard->to, 8);
    encode_number(&out, discard->reports, 8);
    return served_put_encoded(store, "discarded", served, (unsigned)served->log.discard_count,
                              &out);
}

/* Both sums agree: what the log holds is what was counted. */
static bool agrees(const struct served_round *old, const struct served_round *left,
                   const struct served_discard *discard)
{
    return tremolo_moments_count(old->moments) ==
           tremolo_moments_count(left->moments) + discard->reports;
}

/* Stage the span and the checkpoint of the sums without it, and sync. `lock` is held, so that nobody
 * sees sums that a crash could take back. */
static enum tremolo_status store_discard(struct served_study *served, struct store *store,
                                         const struct served_discard *discard,
                                         struct tremolo_moments *left)
{
    struct served_round *newest = &served->sums.rounds[discard->round];
    struct tremolo_moments *old = newest->moments;
    uint64_t checkpointed = newest->checkpointed_to;
    newest->moments = left;
    newest->checkpointed_to = UINT64_MAX; /* whatever its position, it is another one */
    enum tremolo_status status = put_discard(store, served, discard);
    if (status == TREMOLO_OK) {
        status = served_put_checkpoint(store, served);
    }
    if (status == TREMOLO_OK) {
        status = store->sync(store);
    }
    if (status != TREMOLO_OK) {
        newest->moments = old;
        newest->checkpointed_to = checkpointed;
        return status;
    }
    tremolo_moments_free(old);
    take_discard(served, discard);
    served_checkpointed(served);
    served->sums.reports -= discard->reports;
    served->sums.generation++;
    return TREMOLO_OK;
}

enum tremolo_status served_discard(struct served_study *served, struct store *store, int64_t from,
                                   int64_t to, int64_t now, uint64_t *reports)
{
    int64_t present = served_arrival_time(served, now);
    struct served_discard discard = {
        .round = served->sums.opened - 1, .from = from, .to = to < present ? to : present};
    struct served_round left = {0};
    *reports = 0;
    if (served_is_done(served)) {
        return TREMOLO_ROUND_PASSED;
    }
    if (from < 0 || from >= discard.to || served->log.discard_count == SERVED_DISCARDS_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = next_discard(served) != NULL
                                     ? fold_anew(&left, &discard, served, store)
                                     : TREMOLO_NO_MEMORY;
    if (status == TREMOLO_OK && !agrees(&served->sums.rounds[discard.round], &left, &discard)) {
        status = TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK && discard.reports > 0) {
        (void)pthread_mutex_lock(&served->sums.lock);
        status = store_discard(served, store, &discard, left.moments);
        (void)pthread_mutex_unlock(&served->sums.lock);
        left.moments = status == TREMOLO_OK ? NULL : left.moments;
    }
    tremolo_moments_free(left.moments);
    *reports = status == TREMOLO_OK ? discard.reports : 0;
    return status;
}
