/* recover.c -- sums from the log: of all studies after a start, and of one without a span of time.
 *
 * Recovery reads the whole log once for the ids and folds only what follows each round's
 * checkpoint. The store has compared every row with its check value by then; here the rows are
 * compared with each other: rounds come from 0 without a gap and all but the last are closed,
 * every state and segment belongs to a study that is there, no checkpoint is ahead of the log,
 * and the log has as many reports of a round as its sums.
 *
 * A flood of made-up reports can fill an open study. The operator names the span in which they
 * came, and the sums are made again from the log without it. The log itself keeps every report:
 * ids stay known, so that none of them comes back, and what counts is still a function of log and
 * states. Times of segments never go back: each has the clock's, or that of the segment before or
 * the end of the last discarded span, whichever is latest. A span ends at the present at the
 * latest, so no later report can fall into it, whatever the clock does. Only reports of the newest
 * round are discarded: the rounds before have made what was broadcast since. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encoder.h"
#include "log.h"
#include "served_study.h"
#include "study_internal.h"

/* A key on its way into an index: it is added some keys later, when the slot where it belongs has
 * come from memory. Waiting for that was half of the time that a start took. */
enum { KEYS_AHEAD = 16 };

struct waiting_key {
    struct index *index; /* NULL: none waits here */
    uint64_t hash;
    uint64_t place;
};

/* Studies that come back together, and where to say what is wrong. */
struct recovery {
    struct studies *studies;
    bool all;                      /* the store has no other studies */
    const struct state_kind *kind; /* of the states that come back now */
    struct store *store;
    char *words;                         /* TREMOLO_WORDS_BYTES */
    struct served_study *served;         /* the study of the segment that is read now, */
    const struct store_segment *segment; /* and the segment */
    struct waiting_key waiting[KEYS_AHEAD];
    size_t keys; /* so many came */
};

/* ---------------------------------------------------------------- studies
 *
 * A study's row is its normalised text. Its id is the hash of that text and its key the
 * beginning of the id, so a row that was changed or moved is noticed without trusting anything
 * else. */

/* The study by the beginning of its id, which its key is, and the row by its place. */
static void name_row(char words[TREMOLO_WORDS_BYTES], const uint8_t *key, size_t key_length,
                     const char *what, const char *path, const char *reason)
{
    enum { SHOWN_BYTES = 15 }; /* without a letter that depends on what follows */
    char id[TREMOLO_BASE64_BYTES(SHOWN_BYTES)] = "?";
    char hex[2 * STORE_KEY_BYTES_MAX + 1] = "";
    if (key_length >= SHOWN_BYTES) {
        (void)!tremolo_base64_encode(id, sizeof id, key, SHOWN_BYTES);
    }
    if (key_length <= STORE_KEY_BYTES_MAX) {
        (void)sodium_bin2hex(hex, sizeof hex, key, key_length);
    }
    (void)snprintf(words, TREMOLO_WORDS_BYTES,
                   "study %s... (tremolo.db, table state, kind study, key %s) %s%s%s%s", id, hex,
                   what, path, path[0] != '\0' ? " " : "", reason);
}

/* The row must be of this version and under its own id: a study that hashes to another id is
 * another study. */
static enum tremolo_status take_row(const struct studies_reader *reader, const uint8_t *key,
                                    size_t key_length, const uint8_t *value, size_t length)
{
    struct tremolo_study_problems problems = {.count = 0};
    struct served_study *made = NULL;
    if (reader->studies->count == STUDIES_MAX) {
        return words_say(reader->words, TREMOLO_STUDIES_FULL, "there are more than %d studies",
                         STUDIES_MAX);
    }
    enum tremolo_status status = served_new(&made, &problems, (const char *)value, length,
                                            reader->signing_key, reader->secret);
    if (status == TREMOLO_BAD_STUDY) {
        const struct tremolo_study_problem *first = &problems.item[0];
        name_row(reader->words, key, key_length,
                 "is not served by this version, but by the one that published it: ", first->path,
                 problems.stored > 0 ? first->reason : tremolo_status_sentence(status));
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    if (key_length != STORE_STUDY_BYTES || memcmp(made->id, key, STORE_STUDY_BYTES) != 0) {
        name_row(reader->words, key, key_length,
                 "is another study, or one that an older version gave another id and serves; by "
                 "this version its id is ",
                 "", made->id_text);
        served_free(made);
        return TREMOLO_MALFORMED;
    }
    studies_add(reader->studies, made);
    return TREMOLO_OK;
}

enum tremolo_status studies_take(void *context, const uint8_t *key, size_t key_length,
                                 const uint8_t *value, size_t length)
{
    struct studies_reader *reader = context;
    enum tremolo_status status = take_row(reader, key, key_length, value, length);
    bool refused = status == TREMOLO_BAD_STUDY || status == TREMOLO_MALFORMED ||
                   status == TREMOLO_STUDIES_FULL;
    if (refused && reader->refused != NULL) {
        reader->refused(reader->context, reader->words);
        return TREMOLO_OK;
    }
    return status;
}

/* ---------------------------------------------------------------- discarded spans
 *
 * A span names a round and a time, and the reports in it stop counting; their ids stay known.
 * Spans are few, and are compared one by one for each segment. */

/* Spans are half open: `to` itself is outside. */
static bool holds(const struct served_discard *discard, unsigned round, int64_t arrived)
{
    return discard->round == round && discard->from <= arrived && arrived < discard->to;
}

/* Segments of time 0, of a cluster, are never discarded: their time is unknown. */
static bool is_discarded(const struct served_study *served, unsigned round, int64_t arrived)
{
    for (size_t i = 0; i < served->log.discard_count; i++) {
        if (arrived != 0 && holds(&served->log.discards[i], round, arrived)) {
            return true;
        }
    }
    return false;
}

/* Never earlier than the segment before or the end of a discarded span, whatever the clock does. */
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

/* There is room: next_discard() was called. Later segments get times from `to` on. */
static void add_discard(struct served_study *served, const struct served_discard *discard)
{
    served->log.discards[served->log.discard_count++] = *discard;
    served->sums.discarded += discard->reports;
    served->log.time = discard->to > served->log.time ? discard->to : served->log.time;
}

/* ---------------------------------------------------------------- states
 *
 * Each kind of state is taken by one function, and all of them refuse what does not fit the
 * study: a state that passes its check value and does not fit was written by a bug, or belongs
 * elsewhere. */

/* Memory for the round is made here. The numbers are compared by take_round(), or by the mirror
 * of a cluster. */
enum tremolo_status served_decode_round(struct served_study *served, unsigned round,
                                        const uint8_t *value, size_t length)
{
    size_t d = served->study->dimension;
    size_t m = served->study->vectors;
    if (round >= served->terms->rounds || round > served->sums.opened ||
        length != SERVED_ROUND_HEAD_BYTES + 8 * d + 2 * d * m) {
        return TREMOLO_MALFORMED;
    }
    struct served_round *stored = &served->sums.rounds[round];
    if (!served_prepare_round(served, round)) {
        return TREMOLO_NO_MEMORY;
    }
    struct decoder in = {value, length, false};
    stored->opened_at = (int64_t)decode_number(&in, 8);
    stored->closed_at = (int64_t)decode_number(&in, 8);
    decode_numbers(&in, stored->beta, sizeof *stored->beta, d);
    decode_numbers(&in, stored->vectors, sizeof *stored->vectors, d * m);
    served->sums.opened = round + 1;
    return TREMOLO_OK;
}

/* What follows takes one state, of a study that is there: `number` is what its key names after the
 * tag. Keys come in order, so rounds and spans come from 0 upwards without a gap. */

/* Rounds come in order, and a round begins when the one before has ended. Vectors must be such
 * that a device accepts them. */
static enum tremolo_status take_round(struct served_study *served, unsigned round,
                                      const uint8_t *value, size_t length)
{
    bool next = round == served->sums.opened &&
                (round == 0 || served->sums.rounds[round - 1].closed_at != 0);
    enum tremolo_status status =
        next ? served_decode_round(served, round, value, length) : TREMOLO_MALFORMED;
    if (status != TREMOLO_OK) {
        return status;
    }
    struct tremolo_round broadcast = {
        served->study->vectors > 0 ? served->sums.rounds[round].vectors : NULL, (uint16_t)round};
    return tremolo_round_check(served->study, &broadcast);
}

/* After a restore: the round that is the last one here. */
static enum tremolo_status take_final(struct served_study *served, unsigned number,
                                      const uint8_t *value, size_t length)
{
    unsigned last = length == 2 ? (unsigned)(value[0] << 8 | value[1]) : UINT16_MAX;
    (void)number;
    if (last + 1 < served->sums.opened || last >= served->terms->rounds) {
        return TREMOLO_MALFORMED;
    }
    served->sums.round_limit = last + 1;
    return TREMOLO_OK;
}

/* Spans are numbered from 0 without a gap, so a missing one is noticed. */
static enum tremolo_status take_discard(struct served_study *served, unsigned number,
                                        const uint8_t *value, size_t length)
{
    struct decoder in = {value, length, false};
    struct served_discard discard = {.round = (unsigned)decode_number(&in, 2),
                                     .from = (int64_t)decode_number(&in, 8),
                                     .to = (int64_t)decode_number(&in, 8),
                                     .reports = decode_number(&in, 8)};
    if (in.failed || in.left != 0 || number != served->log.discard_count ||
        discard.round >= served->sums.opened || discard.from < 0 || discard.from >= discard.to) {
        return TREMOLO_MALFORMED;
    }
    if (next_discard(served) == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    add_discard(served, &discard);
    return TREMOLO_OK;
}

/* The sums must be of this study's shape; compare() checks later that they are of this log. */
static enum tremolo_status take_checkpoint(struct served_study *served, unsigned round,
                                           const uint8_t *value, size_t length)
{
    struct tremolo_moments *moments = NULL;
    enum tremolo_status status = round < served->sums.opened && length >= 8
                                     ? tremolo_moments_decode(&moments, value + 8, length - 8)
                                     : TREMOLO_MALFORMED;
    if (status == TREMOLO_OK && !tremolo_release_fits(moments, served->study)) {
        status = TREMOLO_MALFORMED;
    }
    if (status != TREMOLO_OK ||
        !tremolo_release_watches(moments, served->study)) { /* another version's: folded again */
        tremolo_moments_free(moments);
        return status;
    }
    struct served_round *stored = &served->sums.rounds[round];
    tremolo_moments_free(stored->moments);
    stored->moments = moments;
    stored->folded_to = bytes_get_u64(value);
    stored->checkpointed_to = stored->folded_to;
    return TREMOLO_OK;
}

/* Charts only. It is recovered as strictly as the rest, because a wrong row means damage. */
static enum tremolo_status take_history(struct served_study *served, unsigned number,
                                        const uint8_t *value, size_t length)
{
    (void)number;
    return history_decode(&served->sums.history, served->study->dimension, value, length);
}

/* In this order: each needs what comes before. */
static const struct state_kind {
    const char *kind;
    bool numbered; /* the key is a tag and a number, or else a tag */
    enum tremolo_status (*take)(struct served_study *served, unsigned number, const uint8_t *value,
                                size_t length);
    const char *one, *this, *wrong; /* in sentences: a ..., then ... of study ... */
} state_kinds[] = {
    {"round", true, take_round, "round", "round", "is not one of it, or not the next"},
    {"final", false, take_final, "last round", "the last round", "is not one of it"},
    {"discarded", true, take_discard, "discarded span", "discarded span",
     "is none, or not the next"},
    {"checkpoint", true, take_checkpoint, "checkpoint", "the checkpoint of round",
     "is not one of it"},
    {"history", false, take_history, "history", "the history", "is not one of it"},
};

/* One row of a kind: the study by its key, then its content. A row of no study is damage, unless
 * only some studies are recovered. */
static enum tremolo_status recover_state(void *context, const uint8_t *key, size_t key_length,
                                         const uint8_t *value, size_t length)
{
    struct recovery *recovery = context;
    const struct state_kind *kind = recovery->kind;
    bool fits = key_length == (kind->numbered ? SERVED_ROUND_KEY_BYTES : STORE_STUDY_BYTES);
    struct served_study *served = fits ? studies_find(recovery->studies, key) : NULL;
    char text[8] = "";
    unsigned number = 0;
    if (served == NULL) {
        return recovery->all || !fits ? words_say(recovery->words, TREMOLO_MALFORMED,
                                                  "a %s belongs to no study", kind->one)
                                      : TREMOLO_OK;
    }
    if (kind->numbered) {
        number = (unsigned)(key[STORE_STUDY_BYTES] << 8 | key[STORE_STUDY_BYTES + 1]);
        (void)snprintf(text, sizeof text, " %u", number);
    }
    enum tremolo_status status = kind->take(served, number, value, length);
    return status == TREMOLO_OK || status == TREMOLO_NO_MEMORY
               ? status
               : words_say(recovery->words, TREMOLO_MALFORMED, "%s%s of study %s %s", kind->this,
                           text, served->id_text, kind->wrong);
}

/* Rounds and what of them was folded up to the checkpoint. */
static enum tremolo_status recover_states(struct recovery *recovery)
{
    struct store *store = recovery->store;
    for (size_t i = 0; i < recovery->studies->count; i++) {
        recovery->studies->study[i]->sums.opened = 0;
    }
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < sizeof state_kinds / sizeof state_kinds[0] && status == TREMOLO_OK;
         i++) {
        recovery->kind = &state_kinds[i];
        status = store->each(store, recovery->kind->kind, recover_state, recovery);
    }
    for (size_t i = 0; i < recovery->studies->count && status == TREMOLO_OK; i++) {
        struct served_study *served = recovery->studies->study[i];
        size_t known = 0;
        for (unsigned t = 0; t < served->sums.opened; t++) {
            known += (size_t)served_reports(served, t);
        }
        /* Growing step by step would copy it again and again. */
        status = served->sums.opened == 0 ? words_say(recovery->words, TREMOLO_MALFORMED,
                                                      "study %s has no round", served->id_text)
                                          : index_reserve(&served->log.ids, known);
    }
    return status;
}

/* ---------------------------------------------------------------- the log
 *
 * The pass takes most of the time of a start, and most of that is waiting for memory: each key
 * goes to a random place of an index. Keys therefore wait a little in a ring, after their slot
 * was asked for. */

/* Round and name together: a device has its samples in each round. */
size_t served_device_key(uint8_t key[SERVED_DEVICE_KEY_BYTES], const struct arrival *arrival)
{
    key[0] = (uint8_t)(arrival->round >> 8);
    key[1] = (uint8_t)arrival->round;
    memcpy(key + 2, arrival->device, arrival->device_length);
    return 2u + arrival->device_length;
}

static void add_waiting(struct waiting_key *key)
{
    if (key->index != NULL) {
        index_add(key->index, key->hash, key->place);
    }
    key->index = NULL;
}

/* The key takes the place of one that has waited long enough. */
static enum tremolo_status index_key(struct recovery *recovery, struct index *index, uint64_t hash,
                                     uint64_t place)
{
    struct waiting_key *key = &recovery->waiting[recovery->keys++ % KEYS_AHEAD];
    add_waiting(key);
    enum tremolo_status status = index_reserve(index, KEYS_AHEAD);
    if (status == TREMOLO_OK) {
        index_prefetch(index, hash);
        *key = (struct waiting_key){index, hash, place};
    }
    return status;
}

/* Into the index of ids; in studies with keys into that of devices, too. */
static enum tremolo_status index_record(struct recovery *recovery, struct served_study *served,
                                        const struct arrival *arrival, uint64_t place)
{
    uint8_t key[SERVED_DEVICE_KEY_BYTES];
    enum tremolo_status status = index_key(recovery, &served->log.ids, arrival->hash, place);
    if (status == TREMOLO_OK && served->check.secret != NULL) {
        size_t length = served_device_key(key, arrival);
        uint64_t hash = index_hash(served->hash_key, key, length);
        status = index_key(recovery, &served->log.devices, hash, place);
    }
    return status;
}

/* A record that its round's checkpoint holds already: only its names are
 * needed. Its bytes were checked when it came, and the segment's check value
 * says that they are still those. */
static enum tremolo_status read_names(struct arrival *arrival, const struct served_study *served,
                                      const struct segment_record *record)
{
    struct tremolo_report report;
    *arrival = (struct arrival){.bytes = record->report,
                                .length = record->length,
                                .device = record->device,
                                .device_length = record->device_length};
    enum tremolo_status status = tremolo_report_decode(&report, arrival->bytes, arrival->length);
    if (status == TREMOLO_OK &&
        memcmp(report.study_tag, served->id, TREMOLO_STUDY_TAG_BYTES) != 0) {
        status = TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK) {
        arrival->id = report.id;
        arrival->round = report.round;
        arrival->hash = index_hash(served->hash_key, report.id, TREMOLO_REPORT_ID_BYTES);
    }
    return status;
}

/* The same check as at arrival, without the MAC: the log does not depend on the key. A stored
 * report that fails it is damage. */
static enum tremolo_status fold_record(struct served_round *round,
                                       const struct served_study *served, struct arrival *arrival)
{
    int16_t row[TREMOLO_ROW_VALUES_MAX];
    struct check_study unauthenticated = served->check;
    unauthenticated.secret = NULL;
    check_report(arrival, row, &unauthenticated);
    if (arrival->outcome != OUTCOME_PENDING) {
        return TREMOLO_MALFORMED;
    }
    uint8_t bucket = (uint8_t)served_bucket(served, arrival);
    return tremolo_release_fold(round->moments, served->study, row, &bucket, 1);
}

/* A record of the log: into the indexes, and into the fold of its round unless
 * it is in the checkpoint. */
static enum tremolo_status recover_record(void *context, const struct segment_record *record,
                                          int64_t arrived)
{
    struct recovery *recovery = context;
    struct served_study *served = recovery->served;
    uint64_t position = recovery->segment->position;
    struct arrival arrival;
    enum tremolo_status status = read_names(&arrival, served, record);
    served->log.time = served_arrival_time(served, arrived);
    if (status == TREMOLO_OK && arrival.round >= served->sums.opened) {
        status = TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK && !is_discarded(served, arrival.round, arrived)) {
        struct served_round *round = &served->sums.rounds[arrival.round];
        round->logged++;
        status = position > round->folded_to ? fold_record(round, served, &arrival) : status;
    }
    return status == TREMOLO_OK
               ? index_record(recovery, served, &arrival, index_place(position, record->offset))
               : status;
}

/* Called for each segment of a study that is wanted. */
static enum tremolo_status recover_segment(struct recovery *recovery, struct served_study *served,
                                           const struct store_segment *segment)
{
    recovery->served = served;
    recovery->segment = segment;
    enum tremolo_status status =
        segment_each(segment->bytes, segment->length, recover_record, recovery);
    served->log.position = segment->position;
    return status == TREMOLO_OK || status == TREMOLO_NO_MEMORY
               ? status
               : words_say(recovery->words, TREMOLO_MALFORMED,
                           "segment %llu, of study %s, is damaged",
                           (unsigned long long)segment->position, served->id_text);
}

/* One pass over the log for all studies together. Segments of studies that are not wanted are
 * skipped. */
static enum tremolo_status recover_log(struct recovery *recovery)
{
    struct store_segment segment = {0};
    enum tremolo_status status = TREMOLO_OK;
    while (status == TREMOLO_OK) {
        status = recovery->store->read(recovery->store, segment.position + 1, &segment);
        if (status != TREMOLO_OK || segment.position == 0) {
            break;
        }
        struct served_study *served = studies_find(recovery->studies, segment.study);
        if (served != NULL) {
            status = recover_segment(recovery, served, &segment);
        } else if (recovery->all) {
            status =
                words_say(recovery->words, TREMOLO_MALFORMED, "segment %llu belongs to no study",
                          (unsigned long long)segment.position);
        }
    }
    for (size_t i = 0; i < KEYS_AHEAD; i++) {
        add_waiting(&recovery->waiting[i]);
    }
    return status;
}

/* ---------------------------------------------------------------- together
 *
 * Three sources say how many reports a round has: the log, the sums, and the checkpoint's
 * position. They agree, or the start is refused. */

/* The log, the sums and the checkpoints' positions say the same of every round. */
static enum tremolo_status compare(struct recovery *recovery, struct served_study *served)
{
    for (unsigned t = 0; t < served->sums.opened; t++) {
        struct served_round *round = &served->sums.rounds[t];
        uint64_t count = tremolo_moments_count(round->moments);
        if (round->folded_to > served->log.position) {
            return words_say(recovery->words, TREMOLO_MALFORMED,
                             "the checkpoint of round %u of study %s is ahead of the log", t,
                             served->id_text);
        }
        if (count != round->logged) {
            return words_say(
                recovery->words, TREMOLO_MALFORMED,
                "round %u of study %s has %llu reports in its sums and %llu in the log", t,
                served->id_text, (unsigned long long)count, (unsigned long long)round->logged);
        }
        round->folded_to = served->log.position;
        served->sums.reports += count;
        tremolo_moments_rest(round->moments);
    }
    return TREMOLO_OK;
}

/* States first, because folding a record needs its round; then the log; then both are compared.
 * No lock is needed: no other thread knows the studies yet. */
enum tremolo_status served_recover_all(struct studies *studies, bool all, struct store *store,
                                       char words[TREMOLO_WORDS_BYTES])
{
    struct recovery recovery = {.studies = studies, .all = all, .store = store, .words = words};
    words[0] = '\0';
    enum tremolo_status status = recover_states(&recovery);
    if (status == TREMOLO_OK) {
        status = recover_log(&recovery);
    }
    for (size_t i = 0; i < studies->count && status == TREMOLO_OK; i++) {
        status = compare(&recovery, studies->study[i]);
    }
    if (status != TREMOLO_OK && words[0] == '\0') {
        const char *why = store->explain(store);
        status =
            words_say(words, status, "%s", why[0] != '\0' ? why : tremolo_status_sentence(status));
    }
    return status;
}

/* ---------------------------------------------------------------- without a span of time
 *
 * Sums cannot forget a report, because rows are not kept. So they are made again from the log,
 * next to the old ones, and exchanged when the store has them. */

/* The sums of the newest round as they are made again. */
struct refold {
    struct served_study *served;
    struct served_discard discard;
    struct served_round left;
};

/* Fold a record of the newest round, or count it if it is in the span. */
static enum tremolo_status refold_record(void *context, const struct segment_record *record,
                                         int64_t arrived)
{
    struct refold *refold = context;
    const struct served_study *served = refold->served;
    struct arrival arrival;
    enum tremolo_status status = read_names(&arrival, served, record);
    if (status != TREMOLO_OK || arrival.round != refold->discard.round ||
        is_discarded(served, arrival.round, arrived)) {
        return status;
    }
    if (arrived != 0 && holds(&refold->discard, arrival.round, arrived)) {
        refold->discard.reports++;
        return TREMOLO_OK;
    }
    return fold_record(&refold->left, served, &arrival);
}

/* One pass over the whole log. The log must hold what was counted: both sums agree. */
static enum tremolo_status fold_again(struct refold *refold, struct store *store)
{
    struct store_segment segment = {0};
    const struct served_study *served = refold->served;
    enum tremolo_status status = tremolo_release_sums(&refold->left.moments, served->study);
    while (status == TREMOLO_OK) {
        status = store->read(store, segment.position + 1, &segment);
        if (status != TREMOLO_OK || segment.position == 0) {
            break;
        }
        if (memcmp(segment.study, served->id, STORE_STUDY_BYTES) == 0) {
            status = segment_each(segment.bytes, segment.length, refold_record, refold);
        }
    }
    uint64_t found = status == TREMOLO_OK
                         ? tremolo_moments_count(refold->left.moments) + refold->discard.reports
                         : 0;
    return status == TREMOLO_OK && found != served_reports(served, refold->discard.round)
               ? TREMOLO_MALFORMED
               : status;
}

/* Staged together with the checkpoint without the span: one transaction, so that neither is
 * there alone. */
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

/* Stage the span and the checkpoint of the sums without it, and sync. `lock` is held, so that no reader
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
    add_discard(served, discard);
    served_checkpointed(served);
    served->sums.reports -= discard->reports;
    served->sums.generation++;
    return TREMOLO_OK;
}

/* The slow pass over the log is made without the lock of the sums, which readers need;
 * write_lock keeps the log from growing. */
enum tremolo_status served_discard(struct served_study *served, struct store *store, int64_t from,
                                   int64_t to, int64_t now, uint64_t *reports)
{
    int64_t present = served_arrival_time(served, now);
    struct refold refold = {.served = served,
                            .discard = {.round = served->sums.opened - 1,
                                        .from = from,
                                        .to = to < present ? to : present}};
    *reports = 0;
    if (served_is_done(served)) {
        return TREMOLO_STUDY_DONE;
    }
    if (from < 0 || from >= to) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (from >= present) {
        return TREMOLO_SPAN_NOT_BEGUN;
    }
    if (served->log.discard_count == SERVED_DISCARDS_MAX) {
        return TREMOLO_SPANS_FULL;
    }
    enum tremolo_status status =
        next_discard(served) != NULL ? fold_again(&refold, store) : TREMOLO_NO_MEMORY;
    if (status == TREMOLO_OK && refold.discard.reports > 0) {
        served_lock(served);
        status = store_discard(served, store, &refold.discard, refold.left.moments);
        served_unlock(served);
        refold.left.moments = status == TREMOLO_OK ? NULL : refold.left.moments;
    }
    tremolo_moments_free(refold.left.moments);
    *reports = status == TREMOLO_OK ? refold.discard.reports : 0;
    return status;
}
