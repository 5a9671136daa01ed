/* bus.h -- what the clustered server needs of a broker, and nothing more.
 *
 * Two things are kept: values under keys, changed by compare-and-set on their
 * revision; and messages in streams, each under a subject, numbered from 1 in
 * one order that all replicas share. There are no consumers and no watches:
 * a reader asks for the next message after a number it remembers, so a broker
 * that restarts or moves has nothing of ours to lose. Hints are messages that
 * are not kept: they only make things fast, and all would work without them.
 *
 *     status = bus->get(bus, "state.ab12", &value);
 *     status = bus->swap(bus, "state.ab12", value.revision, bytes, length, &revision);
 *
 * What a reader may rely on: the leader of a stream answers, from a beginning of the one
 * order. One that was cut off from the others may not know yet that it leads no
 * longer: get and next may therefore answer with something old, never with
 * something wrong. swap and publish need a majority.
 *
 * Statuses: CHANGED (the compare-and-set was lost), STORE_FULL, STORE_FAILED
 * (refused: nothing was stored), NOT_SYNCED (no answer: it may or may not be
 * stored), NETWORK_FAILED (a question was not answered). One thread uses a
 * bus at a time; threads open one each. */
#ifndef SERVER_BUS_H
#define SERVER_BUS_H

#include <stddef.h>
#include <stdint.h>

#include "server.h"
#include "tremolo_status.h"

enum {
    BUS_MESSAGE_BYTES_MAX = 512 << 10, /* brokers take 1 MiB unless configured otherwise */
    BUS_VALUE_BYTES_MAX = 768 << 10,   /* of one value */
    BUS_NAME_BYTES = 128,              /* of keys, subjects, names of streams */
    BUS_PUBLISH_MS = 5000,             /* then a message is NOT_SYNCED */
    BUS_SPAN_MAX = 64,                 /* numbers that are asked about at once */
};

/* A value or message; `bytes` is malloc'd, the receiver frees it. */
struct tremolo_store_options;
struct bus_value {
    uint8_t *bytes;
    size_t length;
    uint64_t revision;            /* of a value, or the number of a message; 0: there is none */
    char subject[BUS_NAME_BYTES]; /* of a message */
};

/* One message of a group; status and sequence are results. */
struct bus_message {
    char subject[BUS_NAME_BYTES];
    const uint8_t *bytes;
    size_t length;
    enum tremolo_status status;
    uint64_t sequence;
};

/* A stream as its leader sees it. `matching` is the number of messages under the
 * subjects asked about, counted after `last` was read. */
struct bus_state {
    uint64_t last;
    uint64_t messages;
    uint64_t bytes;
    uint64_t matching;
    unsigned replicas; /* as configured */
    unsigned current;  /* of these, up to date; the leader included */
    char leader[64];   /* empty: not a cluster */
};

/* Runs on a thread of the bus; must be quick and call nothing of the bus. */
typedef void (*bus_hint_fn)(void *context, const char *subject);

struct bus {
    enum tremolo_status (*get)(struct bus *bus, const char *key, struct bus_value *value);
    /* Store if the newest revision is still `expected` (0: there is none yet). */
    enum tremolo_status (*swap)(struct bus *bus, const char *key, uint64_t expected,
                                const uint8_t *bytes, size_t length, uint64_t *revision);
    /* Make a stream for `subjects`, unless it is there. 0 replicas: three, or as
     * many as the broker has nodes. */
    enum tremolo_status (*make)(struct bus *bus, const char *stream, const char *subjects,
                                unsigned replicas);
    /* Store a group; each message has its own result. OK when all are stored. */
    enum tremolo_status (*publish)(struct bus *bus, struct bus_message *messages, size_t count);
    /* The first message at `from` or later with a matching subject. */
    enum tremolo_status (*next)(struct bus *bus, const char *stream, const char *subjects,
                                uint64_t from, struct bus_value *message);
    /* Those among the numbers `from` to `from + span - 1` with a matching subject, in order, or when there
     * is none among these the first one after. All are asked for at once: who is behind waits once
     * for many. `messages` has room for `span`; *count is 0 at the end of the stream, and may be
     * less than there are. The broker answers `span` times, so this is for small messages. */
    enum tremolo_status (*next_many)(struct bus *bus, const char *stream, const char *subjects,
                                     uint64_t from, unsigned span, struct bus_value *messages,
                                     size_t *count);
    enum tremolo_status (*state)(struct bus *bus, const char *stream, const char *subjects,
                                 struct bus_state *state);
    /* Forget messages under `subject` numbered below `before`; 0: all of them. */
    enum tremolo_status (*forget)(struct bus *bus, const char *stream, const char *subject,
                                  uint64_t before);
    /* Remove a stream, or everything under a key. */
    enum tremolo_status (*drop)(struct bus *bus, const char *stream);
    enum tremolo_status (*erase)(struct bus *bus, const char *key);
    void (*hint)(struct bus *bus, const char *subject);
    enum tremolo_status (*listen)(struct bus *bus, const char *subjects, bus_hint_fn heard,
                                  void *context);
    /* Messages that MQTT clients published, up to `capacity`, after waiting a little; each
     * comes again, to somebody, unless it is settled (by its index) before the next pull. */
    enum tremolo_status (*pull)(struct bus *bus, struct bus_value *messages, size_t capacity,
                                size_t *count);
    void (*settle)(struct bus *bus, size_t index);
    const char *(*explain)(const struct bus *bus);
    void (*close)(struct bus *bus);
};

/* Connect to NATS and make sure of JetStream and of the bucket. `role` (gateway,
 * folder or reader) names the connection, and its inbox is _INBOX_role. `words` gets
 * one sentence about any failure, also when this build has no NATS. */
TREMOLO_MUST_USE enum tremolo_status bus_open_nats(struct bus **bus,
                                                   const struct tremolo_store_options *options,
                                                   const char *role,
                                                   char words[TREMOLO_WORDS_BYTES]);

#endif
