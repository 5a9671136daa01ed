/* bus_nats.h -- what the files of the bus on NATS share; no other file includes it.
 *
 * bus_nats.c connects and listens, bus_nats_store.c has values and streams, bus_nats_read.c
 * reads many messages at once, bus_nats_messages.c publishes groups and takes what MQTT clients
 * sent. */
#ifndef SERVER_BUS_NATS_H
#define SERVER_BUS_NATS_H

#include <nats/nats.h>
#include <pthread.h>

#include "bus.h"
#include "clock.h"

enum {
    SERVERS_MAX = 16,
    REQUEST_MS = 2000,
    MAKE_TRIES = 5,
    SINGLE_MS = 1000,
    COPIES_MAX = 64, /* streams of which that is remembered */
    RETRY_MS = 100,
    REOPEN_MS = 1000,
    PULL_MS = 500,
    LISTENERS_MAX = 4,
    QUIET_MS = 1000, /* for the library's threads to be done with us */
    WORDS_BYTES = 256,
};

struct listener {
    natsSubscription *subscription;
    char subjects[BUS_NAME_BYTES];
    bus_hint_fn heard;
    void *context;
};

/* Has a stream a single copy? As it was when we last asked. */
struct copies {
    char stream[BUS_NAME_BYTES];
    bool single;
    int64_t asked_ms;
};

struct nats_bus {
    struct bus base;
    natsConnection *connection;
    jsCtx *stream;
    char *url; /* servers, with commas */
    char *ca;
    char *cert;
    char *key;
    char name[64];
    char inbox[80];    /* so that a user can be kept from listening to others' answers */
    int64_t opened_ms; /* last attempt */
    struct listener listener[LISTENERS_MAX];
    size_t listeners;
    natsSubscription *pulling;
    natsMsgList pulled;     /* not yet settled */
    natsSubscription *many; /* where answers to questions asked at once come */
    uint64_t asked;         /* such questions so far */
    char words[WORDS_BYTES];
    struct copies copies[COPIES_MAX];
    size_t copies_next; /* to be replaced */
    uint64_t run;       /* random: no two processes use the same serials */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t settled;
    struct bus_message *messages; /* of the group under way */
    natsStatus *answers;
    size_t count;
    size_t waiting;
    uint64_t first;     /* serial number of messages[0] */
    size_t outstanding; /* messages for which on_ack will still be called */
    size_t listening;   /* subscriptions with a thread that may still call on_hint */
};

static inline struct nats_bus *self(struct bus *bus)
{
    return (struct nats_bus *)(void *)bus;
}

/* One sentence for explain; the status is given back. */
enum tremolo_status bus_nats_fail(struct nats_bus *bus, enum tremolo_status status,
                                  const char *what, const char *reason);

/* What the broker says no to. Without any answer the status is `unanswered`. */
enum tremolo_status bus_nats_judge(struct nats_bus *bus, const char *what, natsStatus status,
                                   jsErrCode code, enum tremolo_status unanswered);

/* Make sure of a connection; every call begins with it. */
enum tremolo_status bus_nats_reopen(struct nats_bus *bus);

/* A copy of a message; without memory `bytes` stays NULL. */
void bus_nats_take(struct bus_value *value, natsMsg *message);

/* The question to the leader of a stream for its first message at `from` or later. */
struct bus_nats_question {
    char subject[BUS_NAME_BYTES];
    char text[BUS_NAME_BYTES + 64];
};
void bus_nats_ask_for(struct bus_nats_question *question, const char *stream, const char *subjects,
                      uint64_t from);

/* What the leader of a stream answered to a question for a message. */
enum tremolo_status bus_nats_read_answer(struct nats_bus *bus, struct bus_value *message,
                                         natsMsg *answer);

/* Is there one copy of the stream only? Asked at most once a second. */
bool bus_nats_is_single(struct nats_bus *bus, const char *stream);

/* Called by the library for every message that was published. */
void bus_nats_on_ack(jsCtx *stream, natsMsg *message, jsPubAck *ack, jsPubAckErr *error,
                     void *context);

/* A stream in files that refuses messages when it is full; the names must live on. */
void bus_nats_stream_config(jsStreamConfig *config, const char *stream, const char **subjects);
enum tremolo_status bus_nats_make_stream(struct nats_bus *bus, jsStreamConfig *config,
                                         unsigned replicas);
enum tremolo_status bus_nats_make_bucket(struct nats_bus *bus);

/* The calls of struct bus, by file; bus_nats.c has the others. */
void bus_nats_store_calls(struct bus *bus);
void bus_nats_message_calls(struct bus *bus);
enum tremolo_status bus_nats_next_many(struct bus *base, const char *stream, const char *subjects,
                                       uint64_t from, unsigned span, struct bus_value *messages,
                                       size_t *count);

#endif
