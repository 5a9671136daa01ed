/* move.c -- a study from a data directory into a clustered store, and back.
 *
 * Records travel, not segments: into a store they are sorted into its shards, and
 * out of it only those that count are taken, in the order of rounds. What
 * arrived is then folded again at its new place and its sums are compared, byte
 * by byte, with those at the old one; before that the study is not announced.
 *
 * A directory gets all or nothing: segments, study and rounds are staged as one
 * transaction, folded and compared while they are staged, and synced once at the end.
 * SQLite keeps what is staged in its write-ahead log, on disk, and passes over it
 * at the next opening when no commit follows. So a move that fails, or is killed, leaves
 * nothing that a second try would count again. In a store, what an interrupted move left
 * is erased by the next one; a study counts as moved once it is in the list.
 *
 * Nothing is taken away at the old place. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "encoder.h"
#include "lease.h"
#include "log.h"
#include "server.h"

enum { SEGMENT_FULL = BUS_MESSAGE_BYTES_MAX - SEGMENT_CHECK_BYTES };

struct move {
    struct store *store;
    struct bus *bus;
    struct served_study *served; /* as it is in the directory */
    struct mirror *study;
    unsigned shards;
    char tag[CLUSTER_TAG_BYTES];
    struct segment *segments; /* one a shard, or a single one on the way out */
    unsigned round;           /* of the records at hand */
    char *words;              /* TREMOLO_WORDS_BYTES */
};

/* ---------------------------------------------------------------- comparing */

static bool same_moments(struct tremolo_moments *a, struct tremolo_moments *b)
{
    struct tremolo_tail tail;
    if (!tremolo_moments_tail(&tail, a) || !tremolo_moments_tail(&tail, b)) {
        tremolo_moments_unwatch(a); /* an older version's, at one place */
        tremolo_moments_unwatch(b);
    }
    struct encoder first = {0}, second = {0};
    encode_moments(&first, a);
    encode_moments(&second, b);
    bool same = first.status == TREMOLO_OK && second.status == TREMOLO_OK &&
                first.length == second.length &&
                memcmp(first.bytes, second.bytes, first.length) == 0;
    free(first.bytes);
    free(second.bytes);
    return same;
}

static enum tremolo_status compare(struct move *move, const struct served_study *a,
                                   const struct served_study *b)
{
    bool same = a->sums.opened == b->sums.opened && a->sums.reports == b->sums.reports;
    for (unsigned t = 0; t < a->sums.opened && same; t++) {
        same = same_moments(a->sums.rounds[t].moments, b->sums.rounds[t].moments) &&
               a->sums.rounds[t].closed_at == b->sums.rounds[t].closed_at;
    }
    return same ? TREMOLO_OK
                : words_say(move->words, TREMOLO_STORE_FAILED,
                            "the sums at both places are not the same");
}

/* ---------------------------------------------------------------- into a store */

static enum tremolo_status flush(struct move *move, unsigned shard)
{
    struct segment *segment = &move->segments[shard];
    struct bus_message message = {0};
    if (segment->count == 0) {
        return TREMOLO_OK;
    }
    enum tremolo_status status = segment_seal(segment, 0);
    if (status == TREMOLO_OK) {
        cluster_segments(message.subject, move->tag, shard);
        message.bytes = segment->bytes;
        message.length = segment->length;
        status = move->bus->publish(move->bus, &message, 1);
    }
    segment_clear(segment);
    return status;
}

/* All records of the round are in: end it in every shard. */
static enum tremolo_status end_round(struct move *move)
{
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned n = 0; n < move->shards && status == TREMOLO_OK; n++) {
        status = flush(move, n);
    }
    if (status == TREMOLO_OK && move->served->sums.rounds[move->round].closed_at != 0) {
        status = cluster_mark_end(move->bus, move->tag, move->shards, move->round);
    }
    move->round++;
    return status;
}

static enum tremolo_status send_record(struct move *move, const struct segment_record *record)
{
    struct tremolo_report report;
    uint32_t offset = 0;
    enum tremolo_status status = tremolo_report_decode(&report, record->report, record->length);
    while (status == TREMOLO_OK && move->round < report.round) {
        status = end_round(move);
    }
    if (status != TREMOLO_OK || report.round != move->round) {
        return status != TREMOLO_OK ? status : TREMOLO_MALFORMED;
    }
    struct arrival arrival = {
        .id = report.id, .device = record->device, .device_length = record->device_length};
    unsigned shard = shard_of(move->served, &arrival, move->shards);
    if (move->segments[shard].length + record->length + SEGMENT_RECORD_OVERHEAD > SEGMENT_FULL) {
        status = flush(move, shard);
    }
    return status == TREMOLO_OK ? segment_add(&move->segments[shard], record, &offset) : status;
}

static enum tremolo_status send_log(struct move *move)
{
    struct store_segment segment = {0};
    enum tremolo_status status;
    uint64_t at = 0;
    do {
        status = move->store->read(move->store, at + 1, &segment);
        struct segment_record record;
        bool ours = status == TREMOLO_OK && segment.position != 0 &&
                    memcmp(segment.study, move->served->id, STORE_STUDY_BYTES) == 0;
        uint32_t offset = ours ? SEGMENT_HEAD_BYTES : 0;
        while (status == TREMOLO_OK && ours &&
               segment_next(&record, &offset, segment.bytes, segment.length)) {
            status = send_record(move, &record);
        }
        at = segment.position;
    } while (status == TREMOLO_OK && at != 0);
    while (status == TREMOLO_OK && move->round < move->served->sums.opened) {
        status = end_round(move);
    }
    return status;
}

static enum tremolo_status send_states(struct move *move)
{
    struct served_study *served = move->served;
    struct cluster_state state = {.phase = served_is_done(served) ? CLUSTER_DONE : CLUSTER_OPEN,
                                  .round = served->sums.opened - 1};
    int64_t *closed = calloc(served->sums.opened, sizeof *closed);
    if (closed == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    state.closed = closed;
    state.closed_count = served_is_done(served) ? served->sums.opened : served->sums.opened - 1;
    enum tremolo_status status = cluster_put_study(move->bus, served, move->shards);
    for (unsigned t = 0; t < served->sums.opened && status == TREMOLO_OK; t++) {
        closed[t] = served->sums.rounds[t].closed_at;
        status = cluster_put_round(move->bus, served, t);
    }
    if (status == TREMOLO_OK) {
        status = cluster_swap_state(&state, move->bus, move->tag);
    }
    free(closed);
    return status;
}

static void no_tick(void *context)
{
    (void)context;
}

/* Fold a shard here and leave its checkpoint for the next owner. */
static enum tremolo_status fold_shard(struct move *move, unsigned number)
{
    struct lease_holder holder = {.bus = move->bus, .name = "move", .tick = no_tick};
    struct lease lease;
    lease_init(&lease, move->study, number);
    enum tremolo_status status = lease_look(&lease, &holder);
    if (status == TREMOLO_OK) {
        status = lease_claim(&lease, &holder);
    }
    while (status == TREMOLO_OK && atomic_load(&lease.hinted)) {
        status = lease_work(&lease, &holder);
    }
    lease_release(&lease, &holder);
    return status;
}

static enum tremolo_status fold_and_compare(struct move *move)
{
    enum tremolo_status status = mirror_open(&move->study, move->bus, move->served->id, NULL, NULL);
    for (unsigned n = 0; n < move->shards && status == TREMOLO_OK; n++) {
        status = fold_shard(move, n);
    }
    if (status == TREMOLO_OK) {
        status = mirror_refresh(move->study, move->bus, true);
    }
    return status == TREMOLO_OK ? compare(move, move->served, move->study->served) : status;
}

/* What an interrupted move left is removed first; a study that is listed is not. */
static enum tremolo_status make_place(struct move *move)
{
    uint8_t *tags = NULL;
    size_t count = 0;
    enum tremolo_status status = cluster_list(move->bus, &tags, &count);
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        if (memcmp(tags + i * STORE_STUDY_BYTES, move->served->id, STORE_STUDY_BYTES) == 0) {
            status =
                words_say(move->words, TREMOLO_BAD_ARGUMENT, "the study is in that store already");
        }
    }
    free(tags);
    if (status == TREMOLO_OK) {
        status = cluster_erase(move->bus, move->tag);
    }
    return status == TREMOLO_OK ? cluster_make_streams(move->bus, move->tag) : status;
}

static enum tremolo_status move_in(struct move *move, const struct tremolo_move_options *options)
{
    /* First for reading, so that a wrong name does not become a directory; then with the
     * lock that keeps servers away during that time. */
    enum tremolo_status status = store_read_sqlite(&move->store, options->from_data, move->words);
    if (status == TREMOLO_OK) {
        move->store->close(move->store);
        move->store = NULL;
        status = store_open_sqlite(&move->store, options->from_data, STORE_CAREFUL, move->words);
    }
    if (status == TREMOLO_OK) {
        status = served_load(&move->served, move->store, options->study, move->words);
    }
    if (status == TREMOLO_OK && move->served->sums.opened < move->served->terms->rounds &&
        (move->store->past != STORE_ITS_OWN ||
         move->served->sums.round_limit < move->served->terms->rounds)) {
        status =
            words_say(move->words, TREMOLO_STORE_COPIED,
                      "the directory is a copy or was restored, and the study has rounds to come, "
                      "which may have been broadcast before");
    }
    if (status == TREMOLO_OK && move->served->log.discard_count > 0) {
        status =
            words_say(move->words, TREMOLO_BAD_ARGUMENT,
                      "reports of the study were discarded, and a clustered store has no place for "
                      "reports that do not count");
    }
    if (status == TREMOLO_OK) {
        status = bus_open_nats(&move->bus, &options->to_store, "gateway", move->words);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    move->shards = options->to_store.shards > 0 ? options->to_store.shards : CLUSTER_SHARDS_DEFAULT;
    cluster_tag(move->tag, move->served->id);
    move->segments = calloc(move->shards, sizeof *move->segments);
    status = move->segments == NULL ? TREMOLO_NO_MEMORY : make_place(move);
    if (status == TREMOLO_OK) {
        status = send_log(move);
    }
    if (status == TREMOLO_OK) {
        status = send_states(move);
    }
    if (status == TREMOLO_OK) {
        status = fold_and_compare(move);
    }
    return status == TREMOLO_OK ? cluster_add_to_list(move->bus, move->served->id) : status;
}

/* ---------------------------------------------------------------- out of a store */

/* Staged only, like everything that is written to the directory. */
static enum tremolo_status write_segment(struct move *move)
{
    uint64_t position = 0;
    struct segment *segment = move->segments;
    if (segment->count == 0) {
        return TREMOLO_OK;
    }
    enum tremolo_status status = segment_seal(segment, 0);
    if (status == TREMOLO_OK) {
        status = move->store->append(move->store, move->study->served->id, segment->bytes,
                                     segment->length, &position);
    }
    segment_clear(segment);
    return status;
}

static enum tremolo_status take_record(void *context, const struct segment_record *record)
{
    struct move *move = context;
    uint32_t offset = 0;
    enum tremolo_status status = segment_add(move->segments, record, &offset);
    return status == TREMOLO_OK && move->segments->length > SEGMENT_FULL ? write_segment(move)
                                                                         : status;
}

/* Fold on until the shard's marker of the round, or the log's end. */
static enum tremolo_status take_round(struct move *move, struct shard *shard, unsigned round,
                                      uint64_t last)
{
    char subjects[BUS_NAME_BYTES];
    enum tremolo_status status = TREMOLO_OK;
    bool more = true;
    cluster_shard_all(subjects, move->tag, shard->number);
    while (more && status == TREMOLO_OK && shard->active == round) {
        struct bus_value message;
        status = move->bus->next(move->bus, move->study->stream, subjects, shard->position + 1,
                                 &message);
        more = status == TREMOLO_OK && message.revision != 0 && message.revision <= last;
        if (more) {
            status = cluster_take(shard, &message);
        }
        free(message.bytes);
    }
    return status;
}

static enum tremolo_status take_log(struct move *move, struct shard **shards, uint64_t last)
{
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned n = 0; n < move->shards && status == TREMOLO_OK; n++) {
        status = shard_new(&shards[n], move->study->served, n, move->shards);
        if (status == TREMOLO_OK) {
            shards[n]->counted = take_record;
            shards[n]->counted_context = move;
        }
    }
    for (unsigned t = 0; t <= move->study->round && status == TREMOLO_OK; t++) {
        for (unsigned n = 0; n < move->shards && status == TREMOLO_OK; n++) {
            status = take_round(move, shards[n], t, last);
        }
    }
    return status == TREMOLO_OK ? write_segment(move) : status;
}

static enum tremolo_status write_states(struct move *move)
{
    struct served_study *served = move->study->served;
    enum tremolo_status status = served_put_study(move->store, served);
    for (unsigned t = 0; t < served->sums.opened && status == TREMOLO_OK; t++) {
        status = served_put_round(move->store, served, t);
    }
    return status;
}

static enum tremolo_status copy_out(struct move *move)
{
    struct bus_state before = {0};
    struct bus_state after = {0};
    struct shard **shards = calloc(move->shards, sizeof(struct shard *));
    enum tremolo_status status =
        shards == NULL ? TREMOLO_NO_MEMORY
                       : move->bus->state(move->bus, move->study->stream, NULL, &before);
    if (status == TREMOLO_OK) {
        status = take_log(move, shards, before.last);
    }
    if (status == TREMOLO_OK) {
        status = move->bus->state(move->bus, move->study->stream, NULL, &after);
    }
    if (status == TREMOLO_OK && before.last != after.last) {
        status = words_say(
            move->words, TREMOLO_STORE_FAILED,
            "reports came in during the move: stop the gateways, or close the study, first");
    }
    for (unsigned n = 0; shards != NULL && n < move->shards; n++) {
        shard_free(shards[n]);
    }
    free(shards);
    return status == TREMOLO_OK ? write_states(move) : status;
}

static enum tremolo_status open_study(struct move *move, const char *id)
{
    uint8_t bytes[TREMOLO_STUDY_ID_BYTES];
    if (id == NULL || tremolo_base64_decode(bytes, sizeof bytes, id) != TREMOLO_OK) {
        return words_say(move->words, TREMOLO_BAD_ARGUMENT, "the study's id is needed");
    }
    enum tremolo_status status = mirror_open(&move->study, move->bus, bytes, NULL, NULL);
    if (status == TREMOLO_STORE_FAILED) {
        return words_say(move->words, status, "there is no such study in that store");
    }
    if (status == TREMOLO_OK) {
        status = mirror_refresh(move->study, move->bus, true);
    }
    if (status == TREMOLO_OK && move->study->phase == CLUSTER_CLOSING) {
        status = words_say(move->words, TREMOLO_STORE_FAILED,
                           "a round is being closed; try again in a moment");
    }
    return status;
}

static enum tremolo_status refuse_double(struct move *move, const char *id)
{
    char why[TREMOLO_WORDS_BYTES] = "";
    struct served_study *there = NULL;
    enum tremolo_status status = served_load(&there, move->store, id, why);
    served_free(there);
    if (status == TREMOLO_NO_SUCH_STUDY) {
        return TREMOLO_OK;
    }
    return status == TREMOLO_OK ? words_say(move->words, TREMOLO_BAD_ARGUMENT,
                                            "the study is in that directory already")
                                : words_say(move->words, status, "%s", why);
}

/* Workers may be a moment behind. */
static enum tremolo_status compare_when_folded(struct move *move)
{
    enum { TRIES = 20, PAUSE_US = 250000 };
    enum tremolo_status status = TREMOLO_STORE_FAILED;
    for (int i = 0; i < TRIES && status != TREMOLO_OK; i++) {
        status = mirror_refresh(move->study, move->bus, true);
        if (status == TREMOLO_OK) {
            status = compare(move, move->served, move->study->served);
        }
        if (status != TREMOLO_OK) {
            (void)usleep(PAUSE_US);
        }
    }
    return status;
}

static enum tremolo_status move_out(struct move *move, const struct tremolo_move_options *options)
{
    enum tremolo_status status =
        bus_open_nats(&move->bus, &options->from_store, "gateway", move->words);
    if (status == TREMOLO_OK) {
        status = open_study(move, options->study);
    }
    if (status == TREMOLO_OK) {
        status = store_open_sqlite(&move->store, options->to_data, STORE_CAREFUL, move->words);
    }
    if (status == TREMOLO_OK) {
        status = refuse_double(move, options->study);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    move->shards = move->study->shards;
    (void)snprintf(move->tag, sizeof move->tag, "%s", move->study->tag);
    move->segments = calloc(1, sizeof *move->segments);
    status = move->segments == NULL ? TREMOLO_NO_MEMORY : copy_out(move);
    if (status == TREMOLO_OK) {
        status = served_load(&move->served, move->store, options->study, move->words);
    }
    if (status == TREMOLO_OK) {
        status = compare_when_folded(move);
    }
    if (status == TREMOLO_OK) {
        status = move->store->sync(move->store);
        (void)words_say(move->words, status, "%s",
                        status == TREMOLO_OK ? "" : move->store->explain(move->store));
    }
    return status;
}

/* ---------------------------------------------------------------- public */

static void free_move(struct move *move)
{
    mirror_free(move->study);
    served_free(move->served);
    if (move->bus != NULL) {
        move->bus->close(move->bus);
    }
    if (move->store != NULL) {
        move->store->close(move->store);
    }
}

enum tremolo_status tremolo_study_move(uint64_t *reports,
                                       const struct tremolo_move_options *options,
                                       char words[TREMOLO_WORDS_BYTES])
{
    struct move move = {.words = words};
    words[0] = '\0';
    if (sodium_init() < 0) {
        return TREMOLO_NO_ENTROPY;
    }
    enum tremolo_status status = TREMOLO_BAD_ARGUMENT;
    bool in = options->from_data != NULL && options->to_store.url != NULL;
    bool out = options->from_store.url != NULL && options->to_data != NULL;
    if (in) {
        status = move_in(&move, options);
    } else if (out) {
        status = move_out(&move, options);
    } else {
        (void)words_say(words, status, "a study moves from a directory to a store, or back");
    }
    if (status == TREMOLO_OK) {
        *reports = move.served->sums.reports;
    } else if (words[0] == '\0') {
        (void)words_say(words, status, "%s%s%s", tremolo_status_sentence(status),
                        move.bus != NULL ? ": " : "",
                        move.bus != NULL ? move.bus->explain(move.bus) : "");
    }
    for (unsigned n = 0; move.segments != NULL && n < (in ? move.shards : 1); n++) {
        segment_free(&move.segments[n]);
    }
    free(move.segments);
    free_move(&move);
    return status;
}
