/* fake_bus.h -- a broker in memory, with faults on demand.
 *
 * The n-th call (counted from when the fault is armed) does not go well: it is
 * refused, or it is done and its answer lost, or it is lost with its answer, or the
 * process that made it is killed. */
#ifndef TREMOLO_FAKE_BUS_H
#define TREMOLO_FAKE_BUS_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"

enum { FAKE_MESSAGES_MAX = 4096, FAKE_VALUES_MAX = 256 };

struct fake_message {
    char stream[BUS_NAME_BYTES];
    char subject[BUS_NAME_BYTES];
    uint8_t *bytes;
    size_t length;
    uint64_t sequence;
};

struct fake_value {
    char key[BUS_NAME_BYTES];
    uint8_t *bytes;
    size_t length;
    uint64_t revision;
};

enum fake_fault { FAKE_REFUSES, FAKE_LOSES_ANSWER, FAKE_LOSES_BOTH, FAKE_KILLS };

/* What is kept; several buses may share it, as several processes do. */
struct fake_broker {
    struct fake_message message[FAKE_MESSAGES_MAX];
    size_t messages;
    struct fake_value value[FAKE_VALUES_MAX];
    size_t values;
    uint64_t revision;
    char leader[64];  /* of every log; empty: not a cluster */
    uint64_t shift;   /* added to the numbers of logs: a replica that counts differently */
    long until_fault; /* calls; negative: never */
    enum fake_fault fault;
    long calls;
};

struct fake_bus {
    struct bus base;
    struct fake_broker *broker;
};

static inline struct fake_broker *fake_broker_of(struct bus *bus)
{
    return ((struct fake_bus *)(void *)bus)->broker;
}

/* Is this call the one that fails? */
static inline bool fake_fails(struct fake_broker *broker)
{
    broker->calls++;
    bool fails = broker->until_fault >= 0 && broker->until_fault-- == 0;
    if (fails && broker->fault == FAKE_KILLS) {
        (void)raise(SIGKILL);
    }
    return fails;
}

/* Patterns of the product end in ">" or name a subject; a "*" matches one token. */
static inline bool fake_matches(const char *pattern, const char *subject)
{
    while (*pattern != '\0' && *subject != '\0') {
        if (*pattern == '>') {
            return true;
        }
        if (*pattern == '*') {
            pattern++;
            subject += strcspn(subject, ".");
        } else if (*pattern++ != *subject++) {
            return false;
        }
    }
    return *pattern == *subject;
}

static inline struct fake_value *fake_find(struct fake_broker *broker, const char *key)
{
    for (size_t i = 0; i < broker->values; i++) {
        if (strcmp(broker->value[i].key, key) == 0) {
            return &broker->value[i];
        }
    }
    return NULL;
}

/* Another replica leads, and has `fewer` numbers of the bucket in use: values stay, numbers do not. */
static inline void fake_number_lower(struct fake_broker *broker, uint64_t fewer)
{
    for (size_t i = 0; i < broker->values; i++) {
        broker->value[i].revision -= broker->value[i].revision > fewer ? fewer : 0;
    }
    broker->revision -= fewer;
}

static inline uint8_t *fake_copy(const uint8_t *bytes, size_t length)
{
    if (length > BUS_VALUE_BYTES_MAX) {
        abort();
    }
    uint8_t *copy = malloc(length + 1);
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    copy[length] = '\0';
    return copy;
}

static inline enum tremolo_status fake_get(struct bus *bus, const char *key,
                                           struct bus_value *value)
{
    struct fake_broker *broker = fake_broker_of(bus);
    *value = (struct bus_value){0};
    if (fake_fails(broker)) {
        return TREMOLO_NETWORK_FAILED;
    }
    const struct fake_value *found = fake_find(broker, key);
    if (found != NULL) {
        value->bytes = fake_copy(found->bytes, found->length);
        value->length = found->length;
        value->revision = found->revision;
    }
    return TREMOLO_OK;
}

static inline enum tremolo_status fake_swap(struct bus *bus, const char *key, uint64_t expected,
                                            const uint8_t *bytes, size_t length, uint64_t *revision)
{
    struct fake_broker *broker = fake_broker_of(bus);
    bool fails = fake_fails(broker);
    struct fake_value *found = fake_find(broker, key);
    if (fails && broker->fault != FAKE_LOSES_ANSWER) {
        return broker->fault == FAKE_REFUSES ? TREMOLO_STORE_FULL : TREMOLO_NOT_SYNCED;
    }
    if ((found == NULL ? 0 : found->revision) != expected) {
        return TREMOLO_CHANGED;
    }
    if (found == NULL) {
        found = &broker->value[broker->values++];
        (void)snprintf(found->key, sizeof found->key, "%s", key);
    }
    free(found->bytes);
    found->bytes = fake_copy(bytes, length);
    found->length = length;
    found->revision = ++broker->revision;
    if (fails) {
        return TREMOLO_NOT_SYNCED;
    }
    *revision = found->revision;
    return TREMOLO_OK;
}

static inline enum tremolo_status fake_make(struct bus *bus, const char *stream,
                                            const char *subjects, unsigned replicas)
{
    (void)stream;
    (void)subjects;
    (void)replicas;
    return fake_fails(fake_broker_of(bus)) ? TREMOLO_NETWORK_FAILED : TREMOLO_OK;
}

static inline void fake_stream_of(char stream[BUS_NAME_BYTES], const char *subject)
{
    if (strncmp(subject, "tremolo.log.", 12) == 0) {
        (void)snprintf(stream, BUS_NAME_BYTES, "TREMOLO-%.32s", subject + 12);
    } else {
        (void)snprintf(stream, BUS_NAME_BYTES, "TREMOLO-BLOBS");
    }
}

static inline uint64_t fake_last(const struct fake_broker *broker, const char *stream)
{
    uint64_t last = 0;
    for (size_t i = 0; i < broker->messages; i++) {
        if (strcmp(broker->message[i].stream, stream) == 0) {
            last = broker->message[i].sequence;
        }
    }
    return last;
}

static inline uint64_t fake_append(struct fake_broker *broker, const char *subject,
                                   const uint8_t *bytes, size_t length)
{
    struct fake_message *made = &broker->message[broker->messages];
    fake_stream_of(made->stream, subject);
    made->sequence = fake_last(broker, made->stream) + 1;
    (void)snprintf(made->subject, sizeof made->subject, "%s", subject);
    made->bytes = fake_copy(bytes, length);
    made->length = length;
    broker->messages++;
    return made->sequence;
}

static inline enum tremolo_status fake_publish(struct bus *bus, struct bus_message *messages,
                                               size_t count)
{
    struct fake_broker *broker = fake_broker_of(bus);
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < count; i++) {
        bool fails = fake_fails(broker);
        messages[i].status = TREMOLO_OK;
        if (fails) {
            messages[i].status =
                broker->fault == FAKE_REFUSES ? TREMOLO_STORE_FULL : TREMOLO_NOT_SYNCED;
        }
        if (!fails || broker->fault == FAKE_LOSES_ANSWER) {
            messages[i].sequence =
                fake_append(broker, messages[i].subject, messages[i].bytes, messages[i].length);
        }
        status = status == TREMOLO_OK ? messages[i].status : status;
    }
    return status;
}

static inline enum tremolo_status fake_next(struct bus *bus, const char *stream,
                                            const char *subjects, uint64_t from,
                                            struct bus_value *message)
{
    struct fake_broker *broker = fake_broker_of(bus);
    uint64_t shift = strcmp(stream, "TREMOLO-BLOBS") == 0 ? 0 : broker->shift;
    *message = (struct bus_value){0};
    if (fake_fails(broker)) {
        return TREMOLO_NETWORK_FAILED;
    }
    for (size_t i = 0; i < broker->messages; i++) {
        const struct fake_message *at = &broker->message[i];
        if (strcmp(at->stream, stream) == 0 && at->sequence + shift >= from &&
            fake_matches(subjects, at->subject)) {
            message->bytes = fake_copy(at->bytes, at->length);
            message->length = at->length;
            message->revision = at->sequence + shift;
            (void)snprintf(message->subject, sizeof message->subject, "%s", at->subject);
            return TREMOLO_OK;
        }
    }
    return TREMOLO_OK;
}

/* By way of `next`, so that a test's own takes part. */
static inline enum tremolo_status fake_next_many(struct bus *bus, const char *stream,
                                                 const char *subjects, uint64_t from, unsigned span,
                                                 struct bus_value *messages, size_t *count)
{
    uint64_t at = from;
    *count = 0;
    while (*count == 0 || at < from + span) {
        struct bus_value found;
        enum tremolo_status status = bus->next(bus, stream, subjects, at, &found);
        if (status != TREMOLO_OK || found.revision == 0) {
            return *count > 0 ? TREMOLO_OK : status;
        }
        if (*count > 0 && found.revision >= from + span) {
            free(found.bytes);
            break;
        }
        messages[(*count)++] = found;
        at = found.revision + 1;
    }
    return TREMOLO_OK;
}

static inline enum tremolo_status fake_state(struct bus *bus, const char *stream,
                                             const char *subjects, struct bus_state *state)
{
    struct fake_broker *broker = fake_broker_of(bus);
    *state = (struct bus_state){.last = fake_last(broker, stream), .replicas = 1, .current = 1};
    memcpy(state->leader, broker->leader, sizeof state->leader);
    if (fake_fails(broker)) {
        return TREMOLO_NETWORK_FAILED;
    }
    for (size_t i = 0; i < broker->messages && subjects != NULL; i++) {
        state->matching += strcmp(broker->message[i].stream, stream) == 0 &&
                           fake_matches(subjects, broker->message[i].subject);
    }
    return TREMOLO_OK;
}

static inline enum tremolo_status fake_forget(struct bus *bus, const char *stream,
                                              const char *subject, uint64_t before)
{
    (void)stream;
    (void)subject;
    (void)before;
    return fake_fails(fake_broker_of(bus)) ? TREMOLO_NETWORK_FAILED : TREMOLO_OK;
}

static inline void fake_hint(struct bus *bus, const char *subject)
{
    (void)bus;
    (void)subject;
}

static inline const char *fake_explain(const struct bus *bus)
{
    (void)bus;
    return "a fault on demand";
}

static inline void fake_bus_open(struct fake_bus *bus, struct fake_broker *broker)
{
    *bus = (struct fake_bus){.base = {.get = fake_get,
                                      .swap = fake_swap,
                                      .make = fake_make,
                                      .publish = fake_publish,
                                      .next = fake_next,
                                      .next_many = fake_next_many,
                                      .state = fake_state,
                                      .forget = fake_forget,
                                      .hint = fake_hint,
                                      .explain = fake_explain},
                             .broker = broker};
}

static inline void fake_broker_clear(struct fake_broker *broker)
{
    for (size_t i = 0; i < broker->messages; i++) {
        free(broker->message[i].bytes);
    }
    for (size_t i = 0; i < broker->values; i++) {
        free(broker->value[i].bytes);
    }
    memset(broker, 0, sizeof *broker);
    broker->until_fault = -1;
}

#endif
