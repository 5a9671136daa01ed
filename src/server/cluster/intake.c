/* intake.c -- MQTT publications, checked like requests and handed to the writer. */
#include "intake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "moment.h"
#include "writer.h"

enum { PULL_MAX = 256, REPORTS_MAX = 20000, SHORTEST_REPORT = 40, RETRY_MS = 2000 };

struct intake {
    struct ingest *ingest;
    struct bus *bus;
    pthread_t thread;
    pthread_mutex_t lock; /* guards `stopping` and `waiting` */
    pthread_cond_t wake;
    bool stopping;
    size_t waiting; /* jobs with the writer */
};

/* One publication. */
struct letter {
    struct intake *intake;
    struct job job;
    struct arrival *arrivals;
    bool submitted;
    bool settled; /* its fate is known, and no repeat would change it */
};

static void on_done(struct job *job)
{
    struct letter *letter = job->context;
    struct intake *intake = letter->intake;
    (void)pthread_mutex_lock(&intake->lock);
    intake->waiting--;
    (void)pthread_cond_signal(&intake->wake);
    (void)pthread_mutex_unlock(&intake->lock);
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
static enum tremolo_status split(struct letter *letter, const struct book *book,
                                 const struct bus_value *message)
{
    size_t most = message->length / SHORTEST_REPORT + 1;
    most = most < REPORTS_MAX ? most : REPORTS_MAX;
    letter->arrivals = calloc(most, sizeof *letter->arrivals);
    if (letter->arrivals == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    if (message->length == 0) {
        return TREMOLO_MALFORMED;
    }
    if ((message->bytes[0] & 0xe0) == 0x80) {
        letter->arrivals[0].bytes = message->bytes;
        letter->arrivals[0].length = (uint16_t)message->length;
        letter->job.count = 1;
        return message->length <= TREMOLO_MAX_REPORT_BYTES ? TREMOLO_OK : TREMOLO_MALFORMED;
    }
    long count = check_split(letter->arrivals, most, message->bytes, message->length,
                             book->check.secret != NULL);
    letter->job.count = count > 0 ? (size_t)count : 0;
    return count > 0 ? TREMOLO_OK : TREMOLO_MALFORMED;
}

/* False when there is nothing for the writer. */
static bool read_letter(struct letter *letter, struct intake *intake,
                        const struct bus_value *message)
{
    struct ingest_counters *counters = ingest_counters(intake->ingest);
    uint8_t id[TREMOLO_STUDY_ID_BYTES];
    bool named = read_id(id, message->subject);
    struct book *book = named ? ingest_find(intake->ingest, id) : NULL;
    letter->intake = intake;
    if (book == NULL && named && ingest_is_unsure(intake->ingest, id)) {
        return false; /* it comes again; by then we shall have heard of the study */
    }
    enum tremolo_status status = book != NULL ? split(letter, book, message) : TREMOLO_OK;
    if (status == TREMOLO_NO_MEMORY) {
        return false; /* it was acknowledged to its device, and comes again to us */
    }
    if (book == NULL || status != TREMOLO_OK) {
        (void)atomic_fetch_add(book == NULL ? &counters->mqtt_unknown : &counters->mqtt_malformed,
                               1);
        letter->settled = true;
        return false;
    }
    size_t n = book->check.row_values;
    size_t pending = 0;
    letter->job.rows = malloc(letter->job.count * n * sizeof *letter->job.rows);
    if (letter->job.rows == NULL) {
        return false; /* it comes again */
    }
    for (size_t i = 0; i < letter->job.count; i++) {
        check_arrival(&letter->arrivals[i], letter->job.rows + i * n, &book->check);
        pending += letter->arrivals[i].outcome == OUTCOME_PENDING;
    }
    bool malformed = letter->job.count == 1 && letter->arrivals[0].outcome == OUTCOME_MALFORMED;
    (void)atomic_fetch_add(malformed ? &counters->mqtt_malformed : &counters->mqtt_taken, 1);
    letter->job.book = book;
    letter->job.arrivals = letter->arrivals;
    letter->job.bytes = message->length;
    letter->job.done = on_done;
    letter->job.context = letter;
    if (pending == 0) {
        ingest_count(intake->ingest, book, letter->arrivals, letter->job.count);
        letter->settled = true;
    }
    return pending > 0;
}

/* ---------------------------------------------------------------- settling */

static bool is_final(const struct letter *letter)
{
    for (size_t i = 0; i < letter->job.count; i++) {
        uint8_t outcome = letter->arrivals[i].outcome;
        if (outcome == OUTCOME_NOT_STORED || outcome == OUTCOME_BUSY ||
            outcome == OUTCOME_PENDING || outcome == OUTCOME_TOO_EARLY) {
            return false;
        }
    }
    return true;
}

static void submit(struct intake *intake, struct letter *letter)
{
    (void)pthread_mutex_lock(&intake->lock);
    intake->waiting++;
    (void)pthread_mutex_unlock(&intake->lock);
    letter->submitted = ingest_submit(intake->ingest, &letter->job);
    if (!letter->submitted) {
        on_done(&letter->job);
    }
}

static void wait_for_all(struct intake *intake)
{
    (void)pthread_mutex_lock(&intake->lock);
    while (intake->waiting > 0) {
        (void)pthread_cond_wait(&intake->wake, &intake->lock);
    }
    (void)pthread_mutex_unlock(&intake->lock);
}

static void take_letters(struct intake *intake, struct bus_value *messages, size_t count)
{
    struct letter *letters = calloc(count, sizeof *letters);
    for (size_t i = 0; i < count && letters != NULL; i++) {
        if (messages[i].bytes != NULL && read_letter(&letters[i], intake, &messages[i])) {
            submit(intake, &letters[i]);
        }
    }
    wait_for_all(intake);
    for (size_t i = 0; i < count; i++) {
        if (letters != NULL) {
            if (letters[i].settled || (letters[i].submitted && is_final(&letters[i]))) {
                intake->bus->settle(intake->bus, i);
            }
            free(letters[i].arrivals);
            free(letters[i].job.rows);
        }
        free(messages[i].bytes);
    }
    free(letters);
}

/* ---------------------------------------------------------------- thread */

static bool is_stopping(struct intake *intake, int64_t wait_ms)
{
    (void)pthread_mutex_lock(&intake->lock);
    if (!intake->stopping && wait_ms > 0) {
        moment_wait(&intake->wake, &intake->lock, wait_ms);
    }
    bool stopping = intake->stopping;
    (void)pthread_mutex_unlock(&intake->lock);
    return stopping;
}

static void free_intake(struct intake *intake)
{
    if (intake->bus != NULL) {
        intake->bus->close(intake->bus);
    }
    (void)pthread_mutex_destroy(&intake->lock);
    (void)pthread_cond_destroy(&intake->wake);
    free(intake);
}

static void *intake_main(void *argument)
{
    static const int64_t no_wait = 0;
    struct intake *intake = argument;
    struct bus_value *messages = calloc(PULL_MAX, sizeof *messages);
    int64_t pause = no_wait;
    while (messages != NULL && !is_stopping(intake, pause)) {
        size_t count = 0;
        enum tremolo_status status = intake->bus->pull(intake->bus, messages, PULL_MAX, &count);
        if (count > 0) {
            take_letters(intake, messages, count);
        }
        pause = status == TREMOLO_OK ? no_wait : RETRY_MS;
    }
    free(messages);
    return NULL;
}

enum tremolo_status intake_start(struct intake **intake, struct ingest *ingest,
                                 const struct tremolo_store_options *options, char *words,
                                 size_t words_capacity)
{
    struct intake *made = calloc(1, sizeof *made);
    if (made == NULL) {
        (void)snprintf(words, words_capacity, "out of memory");
        return TREMOLO_NO_MEMORY;
    }
    made->ingest = ingest;
    (void)pthread_mutex_init(&made->lock, NULL);
    moment_cond_init(&made->wake);
    enum tremolo_status status =
        bus_open_nats(&made->bus, options, "gateway", words, words_capacity);
    if (status == TREMOLO_OK && pthread_create(&made->thread, NULL, intake_main, made) != 0) {
        (void)snprintf(words, words_capacity, "the thread for MQTT cannot be started");
        status = TREMOLO_NO_MEMORY;
    }
    if (status != TREMOLO_OK) {
        free_intake(made);
        return status;
    }
    *intake = made;
    return TREMOLO_OK;
}

void intake_stop(struct intake *intake)
{
    if (intake == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&intake->lock);
    intake->stopping = true;
    (void)pthread_cond_signal(&intake->wake);
    (void)pthread_mutex_unlock(&intake->lock);
    (void)pthread_join(intake->thread, NULL);
    free_intake(intake);
}
