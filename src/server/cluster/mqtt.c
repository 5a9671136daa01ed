/* mqtt.c -- MQTT publications, checked like requests and handed to the writer. */
#include "server.h"
#include "mqtt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "writer.h"
#include "log.h"

enum { PULL_MAX = 256, RETRY_MS = 2000 };

struct mqtt {
    struct writer *writer;
    struct bus *bus;
    struct background thread; /* its lock guards `waiting` */
    size_t waiting;           /* jobs with the writer */
};

/* One publication. */
struct publication {
    struct mqtt *mqtt;
    struct job job;
    struct arrival *arrivals;
    bool submitted;
    bool settled; /* its fate is known, and no repeat would change it */
};

static void on_done(struct job *job)
{
    struct publication *publication = job->context;
    struct mqtt *mqtt = publication->mqtt;
    background_lock(&mqtt->thread);
    mqtt->waiting--;
    background_signal(&mqtt->thread);
    background_unlock(&mqtt->thread);
}

/* ---------------------------------------------------------------- reading */

/* "$MQTT.msgs.tremolo.ID.reports" */
static bool read_id(uint8_t id[TREMOLO_STUDY_ID_BYTES], const char *subject)
{
    static const char start[] = "$MQTT.msgs.tremolo.";
    char text[TREMOLO_STUDY_ID_TEXT_BYTES];
    if (strncmp(subject, start, sizeof start - 1) != 0 ||
        strlen(subject) < sizeof start - 1 + sizeof text - 1) {
        return false;
    }
    memcpy(text, subject + sizeof start - 1, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    return tremolo_base64_decode(id, TREMOLO_STUDY_ID_BYTES, text) == TREMOLO_OK;
}

/* A single report is a CBOR array, a sequence begins with a byte string. MALFORMED: it will
 * never be anything else. */
static enum tremolo_status split(struct publication *publication, const struct served_study *served,
                                 const struct bus_value *message)
{
    if (message->length == 0) {
        return TREMOLO_MALFORMED;
    }
    if ((message->bytes[0] & 0xe0) == 0x80) {
        publication->arrivals = calloc(1, sizeof *publication->arrivals);
        if (publication->arrivals == NULL) {
            return TREMOLO_NO_MEMORY;
        }
        publication->arrivals[0].bytes = message->bytes;
        publication->arrivals[0].length = (uint16_t)message->length;
        publication->job.reports.count = 1;
        return message->length <= TREMOLO_MAX_REPORT_BYTES ? TREMOLO_OK : TREMOLO_MALFORMED;
    }
    enum tremolo_status status =
        check_split(&publication->arrivals, &publication->job.reports.count, message->bytes,
                    message->length, served->check.secret != NULL);
    bool empty = status == TREMOLO_OK && publication->job.reports.count == 0;
    return empty ? TREMOLO_MALFORMED : status;
}

/* False when there is nothing for the writer. */
static bool read_publication(struct publication *publication, struct mqtt *mqtt,
                             const struct bus_value *message)
{
    bool unsure = false;
    uint8_t id[TREMOLO_STUDY_ID_BYTES];
    bool named = read_id(id, message->subject);
    struct served_study *served = named ? writer_find(mqtt->writer, &unsure, id) : NULL;
    publication->mqtt = mqtt;
    if (unsure) {
        return false; /* it comes again; by then we shall have heard of the study */
    }
    enum tremolo_status status = served != NULL ? split(publication, served, message) : TREMOLO_OK;
    if (status == TREMOLO_NO_MEMORY) {
        return false; /* it was acknowledged to its device, and comes again to us */
    }
    if (served == NULL || status != TREMOLO_OK) {
        (void)atomic_fetch_add(
            served == NULL ? &mqtt->writer->mqtt_unknown : &mqtt->writer->mqtt_malformed, 1);
        publication->settled = true;
        return false;
    }
    size_t count = publication->job.reports.count;
    int16_t *rows = malloc(count * served->check.row_values * sizeof *rows);
    if (rows == NULL) {
        return false; /* it comes again */
    }
    size_t pending = check_reports(publication->arrivals, rows, count, &served->check);
    bool malformed = count == 1 && publication->arrivals[0].outcome == OUTCOME_MALFORMED;
    (void)atomic_fetch_add(malformed ? &mqtt->writer->mqtt_malformed : &mqtt->writer->mqtt_taken,
                           1);
    publication->job = (struct job){.served = served,
                                    .reports = {publication->arrivals, rows, count},
                                    .queued.bytes = message->length,
                                    .done = on_done,
                                    .context = publication};
    if (pending == 0) {
        writer_count(mqtt->writer, served, publication->arrivals, count);
        publication->settled = true;
    }
    return pending > 0;
}

/* ---------------------------------------------------------------- settling */

static bool is_final(const struct publication *publication)
{
    for (size_t i = 0; i < publication->job.reports.count; i++) {
        uint8_t outcome = publication->arrivals[i].outcome;
        if (outcome == OUTCOME_NOT_STORED || outcome == OUTCOME_BUSY ||
            outcome == OUTCOME_PENDING || outcome == OUTCOME_TOO_EARLY) {
            return false;
        }
    }
    return true;
}

static void submit(struct mqtt *mqtt, struct publication *publication)
{
    background_lock(&mqtt->thread);
    mqtt->waiting++;
    background_unlock(&mqtt->thread);
    publication->submitted = writer_submit(mqtt->writer, &publication->job);
    if (!publication->submitted) {
        on_done(&publication->job);
    }
}

static void wait_for_all(struct mqtt *mqtt)
{
    background_lock(&mqtt->thread);
    while (mqtt->waiting > 0) {
        (void)pthread_cond_wait(&mqtt->thread.wake, &mqtt->thread.lock);
    }
    background_unlock(&mqtt->thread);
}

static void take_publications(struct mqtt *mqtt, struct bus_value *messages, size_t count)
{
    struct publication *publications = calloc(count, sizeof *publications);
    for (size_t i = 0; i < count && publications != NULL; i++) {
        if (messages[i].bytes != NULL && read_publication(&publications[i], mqtt, &messages[i])) {
            submit(mqtt, &publications[i]);
        }
    }
    wait_for_all(mqtt);
    for (size_t i = 0; i < count; i++) {
        if (publications != NULL) {
            if (publications[i].settled ||
                (publications[i].submitted && is_final(&publications[i]))) {
                mqtt->bus->settle(mqtt->bus, i);
            }
            free(publications[i].arrivals);
            free(publications[i].job.reports.rows);
        }
        free(messages[i].bytes);
    }
    free(publications);
}

/* ---------------------------------------------------------------- thread */

static bool is_stopping(struct mqtt *mqtt, int64_t wait_ms)
{
    background_lock(&mqtt->thread);
    if (!mqtt->thread.stopping && wait_ms > 0) {
        background_wait_us(&mqtt->thread, 1000 * wait_ms);
    }
    bool stopping = mqtt->thread.stopping;
    background_unlock(&mqtt->thread);
    return stopping;
}

static void *mqtt_main(void *argument)
{
    static const int64_t no_wait = 0;
    struct mqtt *mqtt = argument;
    struct bus_value *messages = calloc(PULL_MAX, sizeof *messages);
    int64_t pause = no_wait;
    while (messages != NULL && !is_stopping(mqtt, pause)) {
        size_t count = 0;
        enum tremolo_status status = mqtt->bus->pull(mqtt->bus, messages, PULL_MAX, &count);
        if (count > 0) {
            take_publications(mqtt, messages, count);
        }
        pause = status == TREMOLO_OK ? no_wait : RETRY_MS;
    }
    free(messages);
    return NULL;
}

enum tremolo_status mqtt_start(struct mqtt **mqtt, struct writer *writer,
                               const struct tremolo_store_options *options,
                               char words[TREMOLO_WORDS_BYTES])
{
    struct mqtt *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return words_say(words, TREMOLO_NO_MEMORY, "out of memory");
    }
    made->writer = writer;
    background_init(&made->thread);
    enum tremolo_status status = bus_open_nats(&made->bus, options, "gateway", words);
    if (status == TREMOLO_OK && !background_start(&made->thread, mqtt_main, made)) {
        status = words_say(words, TREMOLO_NO_MEMORY, "the thread for MQTT cannot be started");
    }
    if (status != TREMOLO_OK) {
        mqtt_stop(made);
        return status;
    }
    *mqtt = made;
    return TREMOLO_OK;
}

void mqtt_stop(struct mqtt *mqtt)
{
    if (mqtt == NULL) {
        return;
    }
    background_free(&mqtt->thread);
    if (mqtt->bus != NULL) {
        mqtt->bus->close(mqtt->bus);
    }
    free(mqtt);
}
