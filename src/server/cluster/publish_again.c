/* publish_again.c -- the first messages under a new leader, written again.
 *
 * In nats-server 2.9 a leader that is killed may leave entries in its own log that nobody else has:
 * messages that were on their way. When it comes back it stores them, and passes over the next
 * leader's messages of the same numbers. Those are acknowledged and on the two other nodes; but
 * once that node leads again, nobody sees them. As many are lost so as were on their way:
 * no more than all gateways have in one group each.
 *
 * So a gateway keeps what it published under numbers near a new leader's first, and when that leader
 * has settled publishes it again, and again, until it stands behind all numbers that could be
 * passed over. The fold passes over reports that it knows.
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
    GUARD_MESSAGES = 512, /* numbers that may be passed over, and of each shard: */
    GUARD_SHARD = 16,
    GROUP_MAX = 16, /* messages on their way at once: they may be left behind, too */
    RUN_MAX = 64,   /* before reports have their turn */
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
    /* Without memory there is no second time: it is on two nodes all the same. */
    uint8_t *bytes = malloc(message->length + 1);
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
    struct kept_message *kept = &again->kept[again->count++];
    *kept = (struct kept_message){.study = study, .bytes = bytes, .length = message->length};
    (void)snprintf(kept->subject, sizeof kept->subject, "%s", message->subject);
}

/* Have all leaders settled? Asked anew: a change may have come without a report of ours. */
static bool are_settled(struct publish_again *again, struct bus *bus)
{
    const struct mirror *asked = NULL;
    for (size_t i = 0; i < again->count; i++) {
        struct bus_state state = {0};
        struct mirror *study = again->kept[i].study;
        if (study == asked) {
            continue;
        }
        if (!is_settled(study) || bus->state(bus, study->stream, NULL, &state) != TREMOLO_OK) {
            return false;
        }
        note_leader(study, state.leader, state.last + 1);
        if (!is_settled(study)) {
            return false;
        }
        asked = study;
    }
    return true;
}

/* Publish the first `count`. What is safe now is dropped, what is not goes to the end; what was not
 * stored stays in front. False when something was not. */
static bool publish_group(struct publish_again *again, struct bus *bus, size_t count)
{
    struct bus_message messages[GROUP_MAX];
    struct kept_message moved[GROUP_MAX] = {0};
    size_t stay = 0;
    size_t back = 0;
    for (size_t i = 0; i < count; i++) {
        const struct kept_message *kept = &again->kept[i];
        messages[i] = (struct bus_message){
            .bytes = kept->bytes, .length = kept->length, .status = TREMOLO_STORE_FAILED};
        (void)snprintf(messages[i].subject, sizeof messages[i].subject, "%s", kept->subject);
    }
    (void)!bus->publish(bus, messages, count); /* each has its own result */
    for (size_t i = 0; i < count; i++) {
        struct kept_message kept = again->kept[i];
        if (messages[i].status != TREMOLO_OK) {
            again->kept[stay++] = kept;
        } else if (is_safe(kept.study, messages[i].sequence)) {
            free(kept.bytes);
        } else {
            moved[back++] = kept;
        }
    }
    size_t rest = again->count - count;
    memmove(again->kept + stay, again->kept + count, rest * sizeof *again->kept);
    memcpy(again->kept + stay + rest, moved, back * sizeof *moved);
    again->count = stay + rest + back;
    return stay == 0;
}

void publish_again_run(struct publish_again *again, struct bus *bus, bool now)
{
    if (again->count == 0 || (!now && clock_ms() < again->not_before_ms)) {
        return;
    }
    bool good = now || are_settled(again, bus);
    /* At the end of a process each is written once more, however many there are. */
    size_t left = now ? again->count : (size_t)RUN_MAX;
    while (good && left > 0 && again->count > 0) {
        size_t group = again->count < GROUP_MAX ? again->count : (size_t)GROUP_MAX;
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
