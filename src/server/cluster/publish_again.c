/* publish_again.c -- the first messages under a new leader, written again.
 *
 * In nats-server 2.9 a leader that is killed may leave entries in its own log that no other node has:
 * messages that were on their way. When it comes back it stores them, and passes over the next
 * leader's messages of the same numbers. Those are acknowledged and on the two other nodes; but
 * once that node leads again, they are not seen. As many are lost as were on their way:
 * no more than all gateways have in one group each.
 *
 * So a gateway keeps what it published under numbers near a new leader's first. When that leader
 * has settled it fills up the numbers that could be passed over, with one report of what it keeps
 * again and again, and then publishes all of it once more. The fold passes over reports that
 * it knows.
 *
 * All of it belongs to the thread that publishes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "mirror.h"
#include "publish.h"

enum {
    SETTLED_MS = 2000,    /* after a change, before messages are written again */
    RETRY_MS = 1000,      /* after a failure */
    GUARD_MESSAGES = 128, /* numbers that may be passed over, and more for each shard: */
    GUARD_SHARD = 16,
    GROUP_MAX = 16,           /* messages on their way at once: they may be left behind, too */
    RUN_MAX = 64,             /* before reports have their turn */
    KEPT_MAX = 1 << 14,       /* messages, and */
    KEPT_BYTES_MAX = 1 << 28, /* bytes of them, that wait at once */
};

struct kept_message {
    struct mirror *study;
    char subject[BUS_NAME_BYTES];
    uint8_t *bytes;
    size_t length;
};

/* `next` is a number that this leader gives, not after the first that we care for. */
static void note_leader(struct mirror *study, const char *leader, uint64_t next)
{
    if (strcmp(study->leader, leader) != 0) {
        (void)snprintf(study->leader, sizeof study->leader, "%s", leader);
        study->leader_ms = clock_ms();
        study->leader_first = next;
    }
}

static bool is_safe(const struct mirror *study, uint64_t sequence)
{
    uint64_t guard = GUARD_MESSAGES + (uint64_t)GUARD_SHARD * study->shards;
    return study->leader[0] == '\0' || sequence >= study->leader_first + guard;
}

static bool is_settled(const struct mirror *study)
{
    return clock_ms() - study->leader_ms >= SETTLED_MS;
}

void publish_again_keep(struct publish_again *again, struct mirror *study, const char *leader,
                        const struct bus_message *message)
{
    note_leader(study, leader, message->sequence);
    if (is_safe(study, message->sequence)) {
        return;
    }
    /* Without room there is no second time: it is on two nodes anyway. */
    bool full = again->count == KEPT_MAX || message->length > KEPT_BYTES_MAX - again->bytes;
    uint8_t *bytes = full ? NULL : malloc(message->length + 1);
    if (bytes == NULL) {
        return;
    }
    struct kept_message *grown = realloc(again->kept, (again->count + 1) * sizeof *grown);
    if (grown == NULL) {
        free(bytes);
        return;
    }
    again->kept = grown;
    memcpy(bytes, message->bytes, message->length);
    again->bytes += message->length;
    struct kept_message *kept = &again->kept[again->count++];
    *kept = (struct kept_message){.study = study, .bytes = bytes, .length = message->length};
    (void)snprintf(kept->subject, sizeof kept->subject, "%s", message->subject);
}

/* Has the leader of this log settled? Asked again: a change may have come without a report of ours. */
static bool look(struct mirror *study, struct bus *bus, uint64_t *last)
{
    struct bus_state state = {0};
    if (!is_settled(study) || bus->state(bus, study->stream, NULL, &state) != TREMOLO_OK) {
        return false;
    }
    note_leader(study, state.leader, state.last + 1);
    *last = state.last;
    return is_settled(study);
}

/* The first report of a kept message, as a segment. */
static enum tremolo_status make_filler(struct segment *filler, const struct kept_message *kept)
{
    struct segment_record record;
    uint32_t offset = SEGMENT_HEAD_BYTES;
    if (!segment_next(&record, &offset, kept->bytes, kept->length)) {
        return TREMOLO_MALFORMED;
    }
    enum tremolo_status status = segment_add(filler, &record, &offset);
    return status == TREMOLO_OK ? segment_seal(filler, 0) : status;
}

/* Fill numbers until what comes is safe, so many at most. False when there is more to do. */
static bool fill(struct publish_again *again, struct bus *bus, uint64_t last)
{
    const struct kept_message *kept = &again->kept[0];
    struct bus_message messages[GROUP_MAX];
    struct segment filler = {0};
    bool good = make_filler(&filler, kept) == TREMOLO_OK;
    for (size_t n = 0; good && n < RUN_MAX && !is_safe(kept->study, last + 1); n += GROUP_MAX) {
        for (size_t i = 0; i < GROUP_MAX; i++) {
            messages[i] = (struct bus_message){.bytes = filler.bytes, .length = filler.length};
            (void)snprintf(messages[i].subject, sizeof messages[i].subject, "%s", kept->subject);
        }
        good = bus->publish(bus, messages, GROUP_MAX) == TREMOLO_OK;
        for (size_t i = 0; i < GROUP_MAX; i++) {
            last = good && messages[i].sequence > last ? messages[i].sequence : last;
        }
    }
    segment_free(&filler);
    return good && is_safe(kept->study, last + 1);
}

/* Publish the first `count`; what is not stored stays. False when something was not. */
static bool publish_group(struct publish_again *again, struct bus *bus, size_t count)
{
    struct bus_message messages[GROUP_MAX];
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        const struct kept_message *kept = &again->kept[i];
        messages[i] = (struct bus_message){
            .bytes = kept->bytes, .length = kept->length, .status = TREMOLO_STORE_FAILED};
        (void)snprintf(messages[i].subject, sizeof messages[i].subject, "%s", kept->subject);
    }
    (void)!bus->publish(bus, messages, count); /* each has its own result */
    for (size_t i = 0; i < again->count; i++) {
        if (i < count && messages[i].status == TREMOLO_OK) {
            again->bytes -= again->kept[i].length;
            free(again->kept[i].bytes);
        } else {
            again->kept[left++] = again->kept[i];
        }
    }
    bool good = left == again->count - count;
    again->count = left;
    return good;
}

/* Messages in front that are of one study. */
static size_t group_of(const struct publish_again *again)
{
    size_t count = 1;
    while (count < again->count && count < GROUP_MAX &&
           again->kept[count].study == again->kept[0].study) {
        count++;
    }
    return count;
}

void publish_again_run(struct publish_again *again, struct bus *bus, bool now)
{
    uint64_t last = 0;
    if (again->count == 0 || (!now && clock_ms() < again->not_before_ms)) {
        return;
    }
    /* When the process ends all of it is written once more, wherever that is. */
    bool good = now || (look(again->kept[0].study, bus, &last) && fill(again, bus, last));
    size_t left = now ? again->count : (size_t)RUN_MAX;
    const struct mirror *study = again->kept[0].study;
    while (good && left > 0 && again->count > 0 && (now || again->kept[0].study == study)) {
        size_t group = group_of(again);
        group = group < left ? group : left;
        good = publish_group(again, bus, group);
        left -= group;
    }
    again->not_before_ms = good ? 0 : clock_ms() + RETRY_MS;
}

void publish_again_free(struct publish_again *again)
{
    for (size_t i = 0; i < again->count; i++) {
        free(again->kept[i].bytes);
    }
    free(again->kept);
    *again = (struct publish_again){0};
}
