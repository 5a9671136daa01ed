/* mqtt.h -- reports that devices published over MQTT.
 *
 * nats-server speaks MQTT. A message of quality of service 1 is stored in the
 * stream $MQTT_msgs of the account before the device gets its PUBACK, and
 * that is all the device ever hears. So the stream must keep a message until it is
 * in a study's log:
 *
 *   - nats-server makes the stream with interest retention: a message that no
 *     consumer waits for is acknowledged and gone. We make it first, as a
 *     work queue, so that messages stay until somebody took them.
 *   - One durable consumer is shared by all gateways. A message is
 *     acknowledged to it only after the log has acknowledged the reports, so a
 *     gateway that dies in between has its messages handed to another one.
 *   - What is taken twice that way is a repeat like any other.
 *
 * A message on topic tremolo/ID/reports is a body of POST .../reports: one
 * report, or a sequence of byte strings. What is refused is counted by
 * its reason and dropped, since nobody is left to tell. */
#ifndef SERVER_MQTT_H
#define SERVER_MQTT_H

#include <nats/nats.h>

#include "ingest.h"

enum {
    MQTT_FETCH_MESSAGES = 256, /* at once */
    MQTT_FETCH_MS = 500,       /* and how long stopping may take */
    MQTT_ACK_WAIT_S = 30,      /* then another gateway gets the message */
    MQTT_AGAIN_MS = 1000,      /* before a message that could not be stored comes again */
    MQTT_EARLY_MS = 60000,     /* before one for a study that has not begun does */
    MQTT_DELIVERIES_MAX = 20,  /* of a message for a study that nobody here knows */
    MQTT_PENDING_MAX = 65536,  /* delivered and not acknowledged, all gateways */
};

struct mqtt_intake;

/* Numbers for /metrics. */
struct mqtt_counters {
    _Atomic uint64_t messages;
    _Atomic uint64_t unknown_study;
    _Atomic uint64_t malformed; /* no body of reports; single reports count as outcomes */
    _Atomic uint64_t again;     /* handed back to come again */
};

/* Make stream and consumer where they are missing and start taking messages.
 * The connection and ingest must outlive it. `words` says what failed. */
TREMOLO_MUST_USE enum tremolo_status mqtt_start(struct mqtt_intake **intake, natsConnection *nc,
                                                struct ingest *ingest, unsigned replicas,
                                                char *words, size_t words_capacity);

/* Finish what was fetched, and end. NULL is fine. */
void mqtt_stop(struct mqtt_intake *intake);

struct mqtt_counters *mqtt_counters(struct mqtt_intake *intake);

#endif
