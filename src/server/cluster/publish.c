/* publish.c -- from checked reports to acknowledged messages.
 *
 * A group's reports are sorted into lanes (one study and round), and in each lane
 * into segments, one a shard. All segments are published together. A segment that
 * the stream acknowledged at number s counts if no end marker of its round stands
 * before s in its shard; whoever asks the stream's leader after the acknowledgement
 * and finds that its state holds s and no marker knows that for certain.
 *
 * Outcomes: ACCEPTED (in the stream, before the end of its round), CLOSED,
 * NOT_STORED (refused, unanswered or unclear: the device sends the same bytes
 * again, and the fold knows ids). A gateway knows no ids, so a repeat is
 * ACCEPTED again, and the fold passes over it. */
#include "publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mirror.h"

enum { SEGMENT_BYTES_MAX = BUS_MESSAGE_BYTES_MAX - SEGMENT_CHECK_BYTES, ASK_AGAIN = 20 };

/* One segment on its way. */
struct parcel {
    struct segment segment;
    size_t lane;
    unsigned shard;
    enum server_outcome outcome;
};

struct lane {
    struct served_study *served;
    unsigned round;
    size_t *open; /* for each shard 1 + its parcel that takes more; 0: none */
};

/* What the study says about rounds, as far as this gateway knows. */
struct view {
    struct served_study *served;
    unsigned newest;
    bool closed;
    bool full;
    bool asked; /* the broker, in this group */
};

struct group {
    struct bus *bus;
    int64_t now;
    struct parcel *parcels;
    size_t parcel_count;
    size_t parcel_capacity;
    struct lane *lanes;
    size_t lane_count;
    struct bus_message *messages;
};

/* ---------------------------------------------------------------- rounds */

static struct view view_of(struct served_study *served)
{
    struct view view = {.served = served};
    (void)pthread_mutex_lock(&served->lock);
    const struct served_round *newest = &served->rounds[served->opened - 1];
    view.newest = served->opened - 1;
    view.closed = newest->closed_at != 0;
    view.full =
        tremolo_moments_count(newest->moments) >= served->terms->devices * served->terms->samples;
    (void)pthread_mutex_unlock(&served->lock);
    return view;
}

/* Another gateway may have told a device of a round that we have not heard of. */
static void ask_newest(struct view *view, struct bus *bus)
{
    struct cluster_state state = {0};
    view->asked = true;
    if (cluster_get_state(&state, bus, view->served->mirror->tag) == TREMOLO_OK) {
        if (state.round > view->newest) {
            view->newest = state.round;
            view->closed = state.phase == CLUSTER_DONE;
            view->full = false;
        }
        cluster_state_free(&state);
    }
}

static enum server_outcome check_round(struct view *view, const struct arrival *arrival,
                                       const struct group *group)
{
    const struct tremolo_study_terms *terms = view->served->terms;
    if (group->now < terms->opens) {
        return OUTCOME_TOO_EARLY;
    }
    if (arrival->round > view->newest && !view->asked) {
        ask_newest(view, group->bus);
    }
    if (arrival->round > view->newest) {
        return OUTCOME_WRONG_ROUND;
    }
    bool closed = arrival->round < view->newest || view->closed || group->now >= terms->closes;
    return closed || view->full ? OUTCOME_CLOSED : OUTCOME_PENDING;
}

/* ---------------------------------------------------------------- sorting */

static struct lane *lane_for(struct group *group, struct served_study *served, unsigned round)
{
    for (size_t i = group->lane_count; i > 0; i--) {
        struct lane *lane = &group->lanes[i - 1];
        if (lane->served == served && lane->round == round) {
            return lane;
        }
    }
    struct lane *grown = realloc(group->lanes, (group->lane_count + 1) * sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    group->lanes = grown;
    struct lane *lane = &grown[group->lane_count];
    *lane = (struct lane){served, round, calloc(served->mirror->shards, sizeof *lane->open)};
    if (lane->open == NULL) {
        return NULL;
    }
    group->lane_count++;
    return lane;
}

static bool grow_parcels(struct group *group)
{
    if (group->parcel_count < group->parcel_capacity) {
        return true;
    }
    size_t capacity = group->parcel_capacity == 0 ? 16 : 2 * group->parcel_capacity;
    struct parcel *grown = realloc(group->parcels, capacity * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    group->parcels = grown;
    group->parcel_capacity = capacity;
    return true;
}

/* The parcel that takes this report, or SIZE_MAX without memory. */
static size_t parcel_for(struct group *group, struct lane *lane, unsigned shard, size_t size)
{
    size_t open = lane->open[shard];
    if (open > 0 && group->parcels != NULL &&
        group->parcels[open - 1].segment.length + size <= SEGMENT_BYTES_MAX) {
        return open - 1;
    }
    if (!grow_parcels(group)) {
        return SIZE_MAX;
    }
    group->parcels[group->parcel_count] =
        (struct parcel){.lane = (size_t)(lane - group->lanes), .shard = shard};
    lane->open[shard] = ++group->parcel_count;
    return group->parcel_count - 1;
}

/* Put a report into its parcel; 0 without memory, else 1 + the parcel. */
static uint32_t place(struct group *group, struct served_study *served,
                      const struct arrival *arrival)
{
    struct segment_record record = {.report = arrival->bytes,
                                    .length = arrival->length,
                                    .device = arrival->device,
                                    .device_length =
                                        served->check.secret != NULL ? arrival->device_length : 0};
    uint32_t offset = 0;
    struct lane *lane = lane_for(group, served, arrival->round);
    if (lane == NULL) {
        return 0;
    }
    unsigned shard = shard_of(served, arrival, served->mirror->shards);
    size_t at = parcel_for(group, lane, shard, arrival->length + (size_t)SEGMENT_RECORD_OVERHEAD);
    if (at == SIZE_MAX ||
        segment_add(&group->parcels[at].segment, &record, &offset) != TREMOLO_OK) {
        return 0;
    }
    return (uint32_t)at + 1;
}

/* Everything that can be said before the stream is asked. arrival->hash is free
 * for our use: a gateway has no index. */
static void sort_job(struct group *group, struct job *job)
{
    struct view view = view_of(job->served);
    for (size_t i = 0; i < job->count; i++) {
        struct arrival *arrival = &job->arrivals[i];
        arrival->hash = 0;
        if (arrival->outcome != OUTCOME_PENDING) {
            continue;
        }
        enum server_outcome outcome = check_round(&view, arrival, group);
        if (outcome == OUTCOME_PENDING) {
            arrival->hash = place(group, job->served, arrival);
            outcome = arrival->hash == 0 ? OUTCOME_NOT_STORED : OUTCOME_PENDING;
        }
        arrival->outcome = (uint8_t)outcome;
    }
}

/* ---------------------------------------------------------------- publishing */

static enum tremolo_status publish_parcels(struct group *group)
{
    size_t count = group->parcel_count;
    enum tremolo_status status = TREMOLO_OK;
    group->messages = calloc(count + 1, sizeof *group->messages);
    if (group->messages == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) { /* until the stream says otherwise */
        group->messages[i].status = TREMOLO_STORE_FAILED;
    }
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        struct parcel *parcel = &group->parcels[i];
        struct bus_message *message = &group->messages[i];
        status = segment_seal(&parcel->segment);
        cluster_segments(message->subject, group->lanes[parcel->lane].served->mirror->tag,
                         parcel->shard);
        message->bytes = parcel->segment.bytes;
        message->length = parcel->segment.length;
    }
    return status == TREMOLO_OK ? group->bus->publish(group->bus, group->messages, count) : status;
}

static void hint_parcels(struct group *group)
{
    char subject[BUS_NAME_BYTES];
    for (size_t i = 0; i < group->parcel_count; i++) {
        struct parcel *parcel = &group->parcels[i];
        if (group->messages[i].status == TREMOLO_OK) {
            (void)snprintf(subject, sizeof subject, CLUSTER_HINT_LOG ".%s.%u",
                           group->lanes[parcel->lane].served->mirror->tag, parcel->shard);
            group->bus->hint(group->bus, subject);
        }
    }
}

/* Ask the leader until its state holds message `last`, then say how many markers
 * match. After a change of leaders that may take a moment. */
static enum tremolo_status count_markers(struct bus *bus, const char *stream, const char *subjects,
                                         uint64_t last, uint64_t *markers)
{
    struct bus_state state = {0};
    for (int i = 0; i < ASK_AGAIN; i++) {
        enum tremolo_status status = bus->state(bus, stream, subjects, &state);
        if (status != TREMOLO_OK) {
            return status;
        }
        if (state.last >= last) {
            *markers = state.matching;
            return TREMOLO_OK;
        }
        (void)usleep(20000);
    }
    return TREMOLO_NETWORK_FAILED;
}

/* A round is ending: did this parcel come before its shard's marker? */
static enum server_outcome compare_with_marker(struct group *group, const struct parcel *parcel,
                                               uint64_t sequence)
{
    const struct lane *lane = &group->lanes[parcel->lane];
    const struct mirror *study = lane->served->mirror;
    char subject[BUS_NAME_BYTES];
    uint64_t markers = 0;
    cluster_end(subject, study->tag, parcel->shard, lane->round);
    if (count_markers(group->bus, study->stream, subject, sequence, &markers) != TREMOLO_OK) {
        return OUTCOME_NOT_STORED;
    }
    if (markers == 0) {
        return OUTCOME_ACCEPTED;
    }
    for (int i = 0; i < ASK_AGAIN; i++) {
        struct bus_value marker;
        if (group->bus->next(group->bus, study->stream, subject, 1, &marker) != TREMOLO_OK) {
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
static enum tremolo_status judge_lane(struct group *group, size_t lane_at)
{
    const struct lane *lane = &group->lanes[lane_at];
    const struct mirror *study = lane->served->mirror;
    char subjects[BUS_NAME_BYTES];
    uint64_t markers = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < group->parcel_count; i++) {
        if (group->parcels[i].lane == lane_at && group->messages[i].sequence > last) {
            last = group->messages[i].sequence;
        }
    }
    (void)snprintf(subjects, sizeof subjects, "tremolo.log.%s.*.end.%u", study->tag, lane->round);
    enum tremolo_status status =
        last == 0 ? TREMOLO_OK : count_markers(group->bus, study->stream, subjects, last, &markers);
    for (size_t i = 0; i < group->parcel_count; i++) {
        struct parcel *parcel = &group->parcels[i];
        if (parcel->lane != lane_at) {
            continue;
        }
        bool stored = status == TREMOLO_OK && group->messages[i].status == TREMOLO_OK &&
                      group->messages[i].sequence > 0;
        parcel->outcome = !stored ? OUTCOME_NOT_STORED
                          : markers == 0
                              ? OUTCOME_ACCEPTED
                              : compare_with_marker(group, parcel, group->messages[i].sequence);
    }
    return status;
}

/* ---------------------------------------------------------------- public */

static void settle_job(const struct group *group, struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        struct arrival *arrival = &job->arrivals[i];
        if (arrival->outcome == OUTCOME_PENDING) {
            arrival->outcome = (uint8_t)(group->messages != NULL && arrival->hash > 0
                                             ? group->parcels[arrival->hash - 1].outcome
                                             : OUTCOME_NOT_STORED);
        }
    }
}

static void free_group(struct group *group)
{
    for (size_t i = 0; i < group->parcel_count; i++) {
        segment_free(&group->parcels[i].segment);
    }
    for (size_t i = 0; i < group->lane_count; i++) {
        free(group->lanes[i].open);
    }
    free(group->parcels);
    free(group->lanes);
    free(group->messages);
}

enum tremolo_status publish_jobs(struct job *jobs, struct bus *bus, int64_t now)
{
    struct group group = {.bus = bus, .now = now};
    enum tremolo_status status = TREMOLO_OK;
    for (struct job *job = jobs; job != NULL; job = job->next) {
        sort_job(&group, job);
    }
    if (group.parcel_count > 0) {
        status = publish_parcels(&group);
    }
    if (group.messages != NULL) {
        hint_parcels(&group);
        for (size_t i = 0; i < group.lane_count; i++) {
            enum tremolo_status judged = judge_lane(&group, i);
            status = status == TREMOLO_OK ? judged : status;
        }
    }
    for (struct job *job = jobs; job != NULL; job = job->next) {
        settle_job(&group, job);
    }
    free_group(&group);
    return status;
}
