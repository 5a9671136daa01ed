/* bus_nats_messages.c -- groups of messages on their way into streams of NATS, and the queue
 * of what MQTT clients published. */
#include "bus.h"

#ifdef TREMOLO_HAS_NATS

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus_nats.h"

/* By this we know our messages' answers. It is not NATS' own id of a message, which would
 * make the broker drop repeats: nats-server 2.9 numbers messages differently on a replica
 * that restarts after a stream refused something that was on its way, and then what one
 * replica calls 219 is 221 on another. A log that refuses nothing has no such trouble,
 * and repeats are ours to know. */
static const char serial_header[] = "Tremolo-Serial";

/* ---------------------------------------------------------------- publishing */

/* On a thread of the library, once for each message. An answer for a group that
 * was given up, or for a message sent twice, finds no place and is dropped. */
void bus_nats_on_ack(jsCtx *stream, natsMsg *message, jsPubAck *ack, jsPubAckErr *error,
                     void *context)
{
    struct nats_bus *bus = context;
    const char *id = NULL;
    (void)stream;
    (void)natsMsgHeader_Get(message, serial_header, &id);
    const char *dash = id != NULL ? strrchr(id, '-') : NULL;
    uint64_t serial = dash != NULL ? strtoull(dash + 1, NULL, 10) : 0;
    (void)pthread_mutex_lock(&bus->lock);
    bus->outstanding--;
    size_t at = (size_t)(serial - bus->first);
    if (serial >= bus->first && at < bus->count && bus->answers[at] == NATS_NOT_YET_CONNECTED) {
        struct bus_message *found = &bus->messages[at];
        if (ack != NULL) {
            bus->answers[at] = NATS_OK;
            found->sequence = ack->Sequence;
            found->status = TREMOLO_OK;
        } else {
            bus->answers[at] = error != NULL && error->Err != NATS_OK ? error->Err : NATS_ERR;
            found->status =
                bus_nats_judge(bus, "publish", bus->answers[at],
                               error != NULL ? error->ErrCode : (jsErrCode)0, TREMOLO_NOT_SYNCED);
            if (error != NULL && error->ErrText != NULL) {
                (void)bus_nats_fail(bus, found->status, "publish", error->ErrText);
            }
        }
        bus->waiting--;
    }
    (void)pthread_cond_signal(&bus->settled);
    (void)pthread_mutex_unlock(&bus->lock);
    natsMsg_Destroy(message);
}

static natsStatus send_one(struct nats_bus *bus, size_t at, int64_t wait_ms)
{
    const struct bus_message *item = &bus->messages[at];
    natsMsg *message = NULL;
    jsPubOptions options;
    char id[64];
    (void)snprintf(id, sizeof id, "%016" PRIx64 "-%" PRIu64, bus->run, bus->first + at);
    (void)jsPubOptions_Init(&options);
    options.MaxWait = wait_ms;
    natsStatus status =
        natsMsg_Create(&message, item->subject, NULL, (const char *)item->bytes, (int)item->length);
    if (status == NATS_OK) {
        status = natsMsgHeader_Set(message, serial_header, id);
    }
    if (status == NATS_OK) {
        status = js_PublishMsgAsync(bus->stream, &message, &options);
    }
    natsMsg_Destroy(message);
    return status;
}

/* Lock held. Send every message that has no place in the stream yet. */
static void send_open(struct nats_bus *bus, int64_t wait_ms)
{
    for (size_t i = 0; i < bus->count; i++) {
        if (bus->answers[i] == NATS_OK || bus->answers[i] == NATS_ERR) {
            continue;
        }
        bus->answers[i] = NATS_NOT_YET_CONNECTED;
        bus->waiting++;
        bus->outstanding++;
        (void)pthread_mutex_unlock(&bus->lock);
        natsStatus sent = send_one(bus, i, wait_ms);
        (void)pthread_mutex_lock(&bus->lock);
        bus->outstanding -= sent != NATS_OK;
        if (sent != NATS_OK && bus->answers[i] == NATS_NOT_YET_CONNECTED) {
            bus->answers[i] = NATS_NO_RESPONDERS;
            bus->messages[i].status =
                bus_nats_judge(bus, "publish", sent, (jsErrCode)0, TREMOLO_NOT_SYNCED);
            bus->waiting--;
        }
    }
}

/* Lock held. */
static void wait_settled(struct nats_bus *bus, int64_t until_ms)
{
    while (bus->waiting > 0 && clock_ms() < until_ms) {
        clock_wait(&bus->settled, &bus->lock, 50);
    }
}

/* A stream without a leader answers "no responders" for a second or two. A message that is
 * sent again may then be in its stream twice, which is harmless: in a log the fold passes over
 * reports and ends of rounds that it knows, and a blob is named by the number that the broker gave. */
static bool worth_repeating(const struct nats_bus *bus)
{
    for (size_t i = 0; i < bus->count; i++) {
        natsStatus answer = bus->answers[i];
        if (answer == NATS_NO_RESPONDERS || answer == NATS_CONNECTION_DISCONNECTED) {
            return true;
        }
    }
    return false;
}

static enum tremolo_status bus_nats_publish(struct bus *base, struct bus_message *messages,
                                            size_t count)
{
    struct nats_bus *bus = self(base);
    int64_t until = clock_ms() + BUS_PUBLISH_MS;
    natsStatus *answers = malloc((count + 1) * sizeof *answers);
    enum tremolo_status status = answers == NULL ? TREMOLO_NO_MEMORY : bus_nats_reopen(bus);
    for (size_t i = 0; i < count; i++) {
        messages[i].status = status == TREMOLO_OK ? TREMOLO_NOT_SYNCED : TREMOLO_STORE_FAILED;
        messages[i].sequence = 0;
    }
    if (status != TREMOLO_OK) {
        free(answers);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        answers[i] = NATS_NO_RESPONDERS;
    }
    (void)pthread_mutex_lock(&bus->lock);
    bus->messages = messages;
    bus->answers = answers;
    bus->count = count;
    bus->waiting = 0;
    do {
        send_open(bus, until - clock_ms() > 1 ? until - clock_ms() : 1);
        wait_settled(bus, until);
        bool again = bus->waiting == 0 && worth_repeating(bus) && clock_ms() + RETRY_MS < until;
        if (!again) {
            break;
        }
        (void)pthread_mutex_unlock(&bus->lock);
        clock_pause(RETRY_MS);
        (void)pthread_mutex_lock(&bus->lock);
    } while (true);
    bus->first += count; /* whatever is answered from now on is too late */
    bus->count = 0;
    (void)pthread_mutex_unlock(&bus->lock);
    free(answers);
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        status = messages[i].status;
    }
    return status;
}

/* ---------------------------------------------------------------- MQTT */

/* nats-server keeps publications of MQTT clients in this stream. Left to itself it makes
 * one that drops messages without a listener, so ours is there first: a queue that keeps
 * every message until it is settled. All gateways share one consumer. */
static const char mqtt_stream[] = "$MQTT_msgs";
static const char mqtt_consumer[] = "tremolo";

static enum tremolo_status make_queue(struct nats_bus *bus)
{
    static const char *subjects = "$MQTT.msgs.>";
    jsStreamConfig config;
    bus_nats_stream_config(&config, mqtt_stream, &subjects);
    config.Retention = js_WorkQueuePolicy;
    return bus_nats_make_stream(bus, &config, 0);
}

static enum tremolo_status start_pulling(struct nats_bus *bus)
{
    jsConsumerInfo *info = NULL;
    jsConsumerConfig config;
    jsSubOptions options;
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = make_queue(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    natsStatus answer =
        js_GetConsumerInfo(&info, bus->stream, mqtt_stream, mqtt_consumer, NULL, &code);
    jsConsumerInfo_Destroy(info);
    if (answer != NATS_OK) {
        (void)jsConsumerConfig_Init(&config);
        config.Durable = mqtt_consumer;
        config.AckPolicy = js_AckExplicit;
        config.AckWait = INT64_C(30) * 1000000000;
        config.FilterSubject = "$MQTT.msgs.tremolo.*.reports";
        code = (jsErrCode)0;
        answer = js_AddConsumer(NULL, bus->stream, mqtt_stream, &config, NULL, &code);
    }
    if (answer == NATS_OK) {
        (void)jsSubOptions_Init(&options);
        options.Stream = mqtt_stream;
        options.Consumer = mqtt_consumer;
        answer = js_PullSubscribe(&bus->pulling, bus->stream, NULL, mqtt_consumer, NULL, &options,
                                  &code);
    }
    return bus_nats_judge(bus, mqtt_stream, answer, code, TREMOLO_NETWORK_FAILED);
}

static enum tremolo_status bus_nats_pull(struct bus *base, struct bus_value *messages,
                                         size_t capacity, size_t *count)
{
    struct nats_bus *bus = self(base);
    jsErrCode code = (jsErrCode)0;
    *count = 0;
    natsMsgList_Destroy(&bus->pulled);
    enum tremolo_status status = bus_nats_reopen(bus);
    if (status == TREMOLO_OK && bus->pulling == NULL) {
        status = start_pulling(bus);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    natsStatus answer =
        natsSubscription_Fetch(&bus->pulled, bus->pulling, (int)capacity, PULL_MS, &code);
    if (answer == NATS_TIMEOUT) {
        return TREMOLO_OK;
    }
    for (int i = 0; answer == NATS_OK && i < bus->pulled.Count && *count < capacity; i++) {
        messages[*count] = (struct bus_value){0};
        bus_nats_take(&messages[(*count)++], bus->pulled.Msgs[i]);
    }
    return bus_nats_judge(bus, mqtt_stream, answer, code, TREMOLO_NETWORK_FAILED);
}

static void bus_nats_settle(struct bus *base, size_t index)
{
    struct nats_bus *bus = self(base);
    if (index < (size_t)bus->pulled.Count && bus->pulled.Msgs[index] != NULL) {
        (void)natsMsg_Ack(bus->pulled.Msgs[index], NULL);
    }
}

void bus_nats_message_calls(struct bus *bus)
{
    bus->publish = bus_nats_publish;
    bus->pull = bus_nats_pull;
    bus->settle = bus_nats_settle;
}

#endif
