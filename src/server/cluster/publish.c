/* publish.c -- from checked reports to acknowledged messages.
 *
 * A batch's reports are sorted into lanes (one study and round), and in each lane
 * into segments, one a shard. All segments are published together. A segment that
 * the stream acknowledged at number s counts if no end marker of its round stands
 * before s in its shard; a client that asks the stream's leader after the acknowledgement
 * and finds that its state holds s and no marker knows that for certain.
 *
 * Outcomes: ACCEPTED (in the stream, before the end of its round), CLOSED,
 * NOT_STORED (refused, unanswered or unclear: the device sends the same bytes
 * again, and the fold knows ids). A gateway knows no ids, so a repeat is
 * ACCEPTED again, and the fold passes over it. */
#include "publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mirror.h"

enum { SEGMENT_BYTES_MAX = BUS_MESSAGE_BYTES_MAX - SEGMENT_CHECK_BYTES, ASK_AGAIN = 20 };

/* One segment on its way. */
struct outgoing {
    struct segment segment;
    size_t lane;
    unsigned shard;
    enum server_outcome outcome;
};

struct lane {
    struct served_study *served;
    unsigned round;
    size_t *open; /* for each shard 1 + its segment that takes more; 0: none */
};

/* What the study says about rounds, as far as this gateway knows. */
struct known_rounds {
    struct rounds_view view;
    bool asked; /* the broker, in this batch */
};

struct batch {
    struct bus *bus;
    struct publish_again *again;
    int64_t now;
    struct outgoing *outgoing;
    size_t outgoing_count;
    size_t outgoing_capacity;
    struct lane *lanes;
    size_t lane_count;
    struct bus_message *messages;
};

/* ---------------------------------------------------------------- rounds */

static struct known_rounds rounds_of(struct served_study *served)
{
    served_lock(served);
    struct known_rounds known = {rounds_view(served, 0, rounds_room(served)), false};
    served_unlock(served);
    return known;
}

/* Another gateway may have shown a device a round that we do not know yet. */
static void ask_newest(struct known_rounds *known, struct bus *bus, const char *tag)
{
    struct cluster_state state = {0};
    known->asked = true;
    if (cluster_get_state(&state, bus, tag) == TREMOLO_OK) {
        if (state.round > known->view.newest) {
            known->view =
                (struct rounds_view){.newest = state.round, .closed = state.phase == CLUSTER_DONE};
        }
        cluster_state_free(&state);
    }
}

static enum server_outcome admit(struct known_rounds *known, const struct served_study *served,
                                 unsigned round, const struct batch *batch)
{
    enum server_outcome outcome = rounds_admit(&known->view, served->terms, round, batch->now);
    if (outcome == OUTCOME_WRONG_ROUND && !known->asked) {
        ask_newest(known, batch->bus, served->mirror->tag);
        outcome = rounds_admit(&known->view, served->terms, round, batch->now);
    }
    return outcome;
}

/* ---------------------------------------------------------------- sorting */

static struct lane *lane_for(struct batch *batch, struct served_study *served, unsigned round)
{
    for (size_t i = batch->lane_count; i > 0; i--) {
        struct lane *lane = &batch->lanes[i - 1];
        if (lane->served == served && lane->round == round) {
            return lane;
        }
    }
    struct lane *grown = realloc(batch->lanes, (batch->lane_count + 1) * sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    batch->lanes = grown;
    struct lane *lane = &grown[batch->lane_count];
    *lane = (struct lane){served, round, calloc(served->mirror->shards, sizeof *lane->open)};
    if (lane->open == NULL) {
        return NULL;
    }
    batch->lane_count++;
    return lane;
}

static bool grow_outgoing(struct batch *batch)
{
    if (batch->outgoing_count < batch->outgoing_capacity) {
        return true;
    }
    size_t capacity = batch->outgoing_capacity == 0 ? 16 : 2 * batch->outgoing_capacity;
    struct outgoing *grown = realloc(batch->outgoing, capacity * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    batch->outgoing = grown;
    batch->outgoing_capacity = capacity;
    return true;
}

/* The segment that takes this report, or SIZE_MAX without memory. */
static size_t outgoing_for(struct batch *batch, struct lane *lane, unsigned shard, size_t size)
{
    size_t open = lane->open[shard];
    if (open > 0 && batch->outgoing != NULL &&
        batch->outgoing[open - 1].segment.length + size <= SEGMENT_BYTES_MAX) {
        return open - 1;
    }
    if (!grow_outgoing(batch)) {
        return SIZE_MAX;
    }
    batch->outgoing[batch->outgoing_count] =
        (struct outgoing){.lane = (size_t)(lane - batch->lanes), .shard = shard};
    lane->open[shard] = ++batch->outgoing_count;
    return batch->outgoing_count - 1;
}

/* Put a report into its segment; 0 without memory, else 1 + the segment's place. */
static uint32_t place(struct batch *batch, struct served_study *served,
                      const struct arrival *arrival)
{
    struct segment_record record = {.report = arrival->bytes,
                                    .length = arrival->length,
                                    .device = arrival->device,
                                    .device_length =
                                        served->check.secret != NULL ? arrival->device_length : 0};
    uint32_t offset = 0;
    struct lane *lane = lane_for(batch, served, arrival->round);
    if (lane == NULL) {
        return 0;
    }
    unsigned shard = shard_of(served, arrival, served->mirror->shards);
    size_t at = outgoing_for(batch, lane, shard, arrival->length + (size_t)SEGMENT_RECORD_OVERHEAD);
    if (at == SIZE_MAX ||
        segment_add(&batch->outgoing[at].segment, &record, &offset) != TREMOLO_OK) {
        return 0;
    }
    return (uint32_t)at + 1;
}

/* Everything that can be said before the stream is asked. arrival->hash is free
 * for our use: a gateway has no index. */
static void sort_job(struct batch *batch, struct job *job)
{
    struct known_rounds known = rounds_of(job->served);
    for (size_t i = 0; i < job->reports.count; i++) {
        struct arrival *arrival = &job->reports.arrivals[i];
        arrival->hash = 0;
        if (arrival->outcome != OUTCOME_PENDING) {
            continue;
        }
        enum server_outcome outcome = admit(&known, job->served, arrival->round, batch);
        if (outcome == OUTCOME_PENDING) {
            arrival->hash = place(batch, job->served, arrival);
            outcome = arrival->hash == 0 ? OUTCOME_NOT_STORED : OUTCOME_PENDING;
        }
        arrival->outcome = (uint8_t)outcome;
    }
}

/* ---------------------------------------------------------------- publishing */

static enum tremolo_status publish_outgoing(struct batch *batch)
{
    size_t count = batch->outgoing_count;
    enum tremolo_status status = TREMOLO_OK;
    batch->messages = calloc(count + 1, sizeof *batch->messages);
    if (batch->messages == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) { /* until the stream says otherwise */
        batch->messages[i].status = TREMOLO_STORE_FAILED;
    }
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        struct outgoing *sent = &batch->outgoing[i];
        struct bus_message *message = &batch->messages[i];
        status = segment_seal(&sent->segment, 0); /* the broker knows when */
        cluster_segments(message->subject, batch->lanes[sent->lane].served->mirror->tag,
                         sent->shard);
        message->bytes = sent->segment.bytes;
        message->length = sent->segment.length;
    }
    return status == TREMOLO_OK ? batch->bus->publish(batch->bus, batch->messages, count) : status;
}

static void hint_outgoing(struct batch *batch)
{
    char subject[BUS_NAME_BYTES];
    for (size_t i = 0; i < batch->outgoing_count; i++) {
        struct outgoing *sent = &batch->outgoing[i];
        if (batch->messages[i].status == TREMOLO_OK) {
            (void)snprintf(subject, sizeof subject, CLUSTER_HINT_LOG ".%s.%u",
                           batch->lanes[sent->lane].served->mirror->tag, sent->shard);
            batch->bus->hint(batch->bus, subject);
        }
    }
}

/* Ask the leader until its state holds message `last`; state->matching is then how many markers
 * match. After a change of leaders that may take a moment. */
static enum tremolo_status count_markers(struct bus *bus, const char *stream, const char *subjects,
                                         uint64_t last, struct bus_state *state)
{
    for (int i = 0; i < ASK_AGAIN; i++) {
        enum tremolo_status status = bus->state(bus, stream, subjects, state);
        if (status != TREMOLO_OK) {
            return status;
        }
        if (state->last >= last) {
            return TREMOLO_OK;
        }
        (void)usleep(20000);
    }
    return TREMOLO_NETWORK_FAILED;
}

/* A round is ending: did this segment come before its shard's marker? */
static enum server_outcome compare_with_marker(struct batch *batch, const struct outgoing *sent,
                                               uint64_t sequence)
{
    const struct lane *lane = &batch->lanes[sent->lane];
    const struct mirror *study = lane->served->mirror;
    char subject[BUS_NAME_BYTES];
    struct bus_state log = {0};
    cluster_end(subject, study->tag, sent->shard, lane->round);
    if (count_markers(batch->bus, study->stream, subject, sequence, &log) != TREMOLO_OK) {
        return OUTCOME_NOT_STORED;
    }
    if (log.matching == 0) {
        return OUTCOME_ACCEPTED;
    }
    for (int i = 0; i < ASK_AGAIN; i++) {
        struct bus_value marker;
        if (batch->bus->next(batch->bus, study->stream, subject, 1, &marker) != TREMOLO_OK) {
            return OUTCOME_NOT_STORED;
        }
        free(marker.bytes);
        if (marker.revision != 0) {
            return marker.revision > sequence ? OUTCOME_ACCEPTED : OUTCOME_CLOSED;
        }
        (void)usleep(20000); /* a replica that is behind */
    }
    return OUTCOME_NOT_STORED;
}

/* One question a lane, as nearly always no round is ending. */
static enum tremolo_status judge_lane(struct batch *batch, size_t lane_at)
{
    const struct lane *lane = &batch->lanes[lane_at];
    struct mirror *study = lane->served->mirror;
    char subjects[BUS_NAME_BYTES];
    struct bus_state log = {0};
    uint64_t last = 0;
    for (size_t i = 0; i < batch->outgoing_count; i++) {
        if (batch->outgoing[i].lane == lane_at && batch->messages[i].sequence > last) {
            last = batch->messages[i].sequence;
        }
    }
    (void)snprintf(subjects, sizeof subjects, "tremolo.log.%s.*.end.%u", study->tag, lane->round);
    enum tremolo_status status =
        last == 0 ? TREMOLO_OK : count_markers(batch->bus, study->stream, subjects, last, &log);
    for (size_t i = 0; i < batch->outgoing_count; i++) {
        struct outgoing *sent = &batch->outgoing[i];
        if (sent->lane != lane_at) {
            continue;
        }
        bool stored = status == TREMOLO_OK && batch->messages[i].status == TREMOLO_OK &&
                      batch->messages[i].sequence > 0;
        sent->outcome = !stored ? OUTCOME_NOT_STORED
                        : log.matching == 0
                            ? OUTCOME_ACCEPTED
                            : compare_with_marker(batch, sent, batch->messages[i].sequence);
        if (sent->outcome == OUTCOME_ACCEPTED) {
            publish_again_keep(batch->again, study, log.leader, &batch->messages[i]);
        }
    }
    return status;
}

/* ---------------------------------------------------------------- public */

static void settle_job(const struct batch *batch, struct job *job)
{
    for (size_t i = 0; i < job->reports.count; i++) {
        struct arrival *arrival = &job->reports.arrivals[i];
        if (arrival->outcome == OUTCOME_PENDING) {
            arrival->outcome = (uint8_t)(batch->messages != NULL && arrival->hash > 0
                                             ? batch->outgoing[arrival->hash - 1].outcome
                                             : OUTCOME_NOT_STORED);
        }
    }
}

static void free_batch(struct batch *batch)
{
    for (size_t i = 0; i < batch->outgoing_count; i++) {
        segment_free(&batch->outgoing[i].segment);
    }
    for (size_t i = 0; i < batch->lane_count; i++) {
        free(batch->lanes[i].open);
    }
    free(batch->outgoing);
    free(batch->lanes);
    free(batch->messages);
}

enum tremolo_status publish_jobs(struct job *jobs, struct bus *bus, struct publish_again *again,
                                 int64_t now)
{
    struct batch batch = {.bus = bus, .again = again, .now = now};
    enum tremolo_status status = TREMOLO_OK;
    for (struct job *job = jobs; job != NULL; job = job_next(job)) {
        sort_job(&batch, job);
    }
    if (batch.outgoing_count > 0) {
        status = publish_outgoing(&batch);
    }
    if (batch.messages != NULL) {
        hint_outgoing(&batch);
        for (size_t i = 0; i < batch.lane_count; i++) {
            enum tremolo_status judged = judge_lane(&batch, i);
            status = status == TREMOLO_OK ? judged : status;
        }
    }
    for (struct job *job = jobs; job != NULL; job = job_next(job)) {
        settle_job(&batch, job);
    }
    free_batch(&batch);
    return status;
}
