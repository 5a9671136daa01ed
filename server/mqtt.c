/* mqtt.c -- one thread that carries reports from $MQTT_msgs into the logs.
 *
 * It fetches what waits, up to a bound, checks every message as a POST body would
 * be, hands all of them to the writer at once (one group commit), waits, and
 * tells the consumer message by message: taken, or to come again. */
#include "mqtt.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char stream_name[] = "$MQTT_msgs";
static const char stream_subject[] = "$MQTT.msgs.>";
static const char consumer_name[] = "tremolo";
static const char reports_subject[] = "$MQTT.msgs.tremolo.*.reports";

struct mqtt_intake {
    jsCtx *js;
    natsSubscription *consumer;
    struct ingest *ingest;
    struct mqtt_counters counters;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t settled;
    size_t under_way;
    bool stopping;
};

/* One message on its way. */
struct mail {
    struct mqtt_intake *intake;
    natsMsg *message;
    struct job job;
    int64_t again_ms; /* 0: taken or refused for good */
};

/* ---------------------------------------------------------------- checking */

/* The study named by $MQTT.msgs.tremolo.ID.reports. */
static struct book *find_study(struct mqtt_intake *intake, const char *subject)
{
    enum { ID_CHARACTERS = TREMOLO_STUDY_ID_TEXT_BYTES - 1 };
    const char *text = subject + sizeof "$MQTT.msgs.tremolo." - 1;
    char id_text[TREMOLO_STUDY_ID_TEXT_BYTES];
    uint8_t id[TREMOLO_STUDY_ID_BYTES];
    if (strlen(subject) != sizeof "$MQTT.msgs.tremolo..reports" - 1 + ID_CHARACTERS) {
        return NULL;
    }
    memcpy(id_text, text, ID_CHARACTERS);
    id_text[ID_CHARACTERS] = '\0';
    return tremolo_base64_decode(id, sizeof id, id_text) == TREMOLO_OK
               ? ingest_find(intake->ingest, id)
               : NULL;
}

/* A report is a CBOR array, a sequence begins with a byte string. */
static long split(struct arrival *arrivals, size_t most, const uint8_t *body, size_t length,
                  bool named)
{
    enum { ARRAY = 0x80, MAJOR = 0xe0 };
    if (length > 0 && (body[0] & MAJOR) == ARRAY && length <= TREMOLO_MAX_REPORT_BYTES) {
        arrivals->bytes = body;
        arrivals->length = (uint16_t)length;
        return 1;
    }
    return check_split(arrivals, most, body, length, named);
}

static void count_outcomes(struct mqtt_intake *intake, const struct job *job)
{
    struct ingest_counters *counters = ingest_counters(intake->ingest);
    for (size_t i = 0; i < job->count; i++) {
        (void)atomic_fetch_add_explicit(&counters->outcome[job->arrivals[i].outcome], 1,
                                        memory_order_relaxed);
    }
}

/* Arrivals and rows of the message's body; the number that is left for the
 * writer to decide, or -1 when the message must come again. */
static long check_mail(struct mail *mail, const uint8_t *body, size_t length)
{
    enum { SHORTEST = 40 }; /* bytes of a report, which bounds their number */
    struct job *job = &mail->job;
    const struct check_study *check = &job->book->check;
    size_t most = length / SHORTEST + 1;
    long pending = 0;
    job->arrivals = calloc(most, sizeof *job->arrivals);
    if (job->arrivals == NULL) {
        return -1;
    }
    long count = split(job->arrivals, most, body, length, check->secret != NULL);
    if (count <= 0) {
        (void)atomic_fetch_add(&mail->intake->counters.malformed, 1);
        return 0;
    }
    job->rows = malloc((size_t)count * check->row_values * sizeof *job->rows);
    if (job->rows == NULL) {
        return -1;
    }
    job->count = (size_t)count;
    job->bytes = length;
    for (size_t i = 0; i < job->count; i++) {
        check_arrival(&job->arrivals[i], job->rows + i * check->row_values, check);
        pending += job->arrivals[i].outcome == OUTCOME_PENDING;
    }
    if (pending == 0) {
        count_outcomes(mail->intake, job);
    }
    return pending;
}

/* ---------------------------------------------------------------- submitting */

/* On the writer's thread: the reports are in the log, or are refused. */
static void on_done(struct job *job)
{
    struct mail *mail = job->context;
    struct mqtt_intake *intake = mail->intake;
    for (size_t i = 0; i < job->count; i++) {
        switch (job->arrivals[i].outcome) {
        case OUTCOME_PENDING:
        case OUTCOME_BUSY:
        case OUTCOME_NOT_STORED: mail->again_ms = MQTT_AGAIN_MS; break;
        case OUTCOME_TOO_EARLY:
            mail->again_ms = mail->again_ms > 0 ? mail->again_ms : MQTT_EARLY_MS;
            break;
        default: break;
        }
    }
    (void)pthread_mutex_lock(&intake->lock);
    if (--intake->under_way == 0) {
        (void)pthread_cond_signal(&intake->settled);
    }
    (void)pthread_mutex_unlock(&intake->lock);
}

/* A study can be younger than what this gateway has heard of; after a
 * number of deliveries it is taken not to exist. */
static void meet_unknown_study(struct mail *mail)
{
    jsMsgMetaData *data = NULL;
    uint64_t delivered = MQTT_DELIVERIES_MAX;
    if (natsMsg_GetMetaData(&data, mail->message) == NATS_OK) {
        delivered = data->NumDelivered;
    }
    jsMsgMetaData_Destroy(data);
    if (delivered < MQTT_DELIVERIES_MAX) {
        mail->again_ms = MQTT_AGAIN_MS;
    } else {
        (void)atomic_fetch_add(&mail->intake->counters.unknown_study, 1);
    }
}

static void submit(struct mail *mail)
{
    struct mqtt_intake *intake = mail->intake;
    const char *data = natsMsg_GetData(mail->message);
    size_t length = (size_t)natsMsg_GetDataLength(mail->message);
    (void)atomic_fetch_add(&intake->counters.messages, 1);
    mail->job.book = find_study(intake, natsMsg_GetSubject(mail->message));
    if (mail->job.book == NULL) {
        meet_unknown_study(mail);
        return;
    }
    long pending = check_mail(mail, (const uint8_t *)data, length);
    if (pending <= 0) {
        mail->again_ms = pending < 0 ? MQTT_AGAIN_MS : 0;
        return;
    }
    mail->job.done = on_done;
    mail->job.context = mail;
    (void)pthread_mutex_lock(&intake->lock);
    intake->under_way++;
    (void)pthread_mutex_unlock(&intake->lock);
    if (!ingest_submit(intake->ingest, &mail->job)) {
        (void)pthread_mutex_lock(&intake->lock);
        intake->under_way--;
        (void)pthread_mutex_unlock(&intake->lock);
        mail->again_ms = MQTT_AGAIN_MS;
    }
}

static void await_all(struct mqtt_intake *intake)
{
    (void)pthread_mutex_lock(&intake->lock);
    while (intake->under_way > 0) {
        (void)pthread_cond_wait(&intake->settled, &intake->lock);
    }
    (void)pthread_mutex_unlock(&intake->lock);
}

/* An acknowledgement that gets lost is a message that comes again, and its
 * reports are repeats. */
static void settle(struct mail *mail)
{
    if (mail->again_ms > 0) {
        (void)atomic_fetch_add(&mail->intake->counters.again, 1);
        (void)natsMsg_NakWithDelay(mail->message, mail->again_ms, NULL);
    } else {
        (void)natsMsg_Ack(mail->message, NULL);
    }
    free(mail->job.arrivals);
    free(mail->job.rows);
}

static void take(struct mqtt_intake *intake, natsMsgList *list)
{
    struct mail *mails = calloc((size_t)list->Count, sizeof *mails);
    if (mails == NULL) {
        return; /* nothing is acknowledged: they come again */
    }
    for (int i = 0; i < list->Count; i++) {
        mails[i].intake = intake;
        mails[i].message = list->Msgs[i];
        submit(&mails[i]);
    }
    await_all(intake);
    for (int i = 0; i < list->Count; i++) {
        settle(&mails[i]);
    }
    free(mails);
}

/* ---------------------------------------------------------------- the thread */

static bool is_stopping(struct mqtt_intake *intake)
{
    (void)pthread_mutex_lock(&intake->lock);
    bool stopping = intake->stopping;
    (void)pthread_mutex_unlock(&intake->lock);
    return stopping;
}

static void *run(void *context)
{
    struct mqtt_intake *intake = context;
    while (!is_stopping(intake)) {
        natsMsgList list = {0};
        natsStatus status = natsSubscription_Fetch(&list, intake->consumer, MQTT_FETCH_MESSAGES,
                                                   MQTT_FETCH_MS, NULL);
        if (list.Count > 0) {
            take(intake, &list);
        }
        natsMsgList_Destroy(&list);
        if (status != NATS_OK && status != NATS_TIMEOUT) {
            nats_Sleep(MQTT_AGAIN_MS); /* the connection is being made anew */
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- starting */

/* The stream as a work queue. One that nats-server made before we came has
 * interest retention; the durable consumer makes that as good from now on. */
static natsStatus ensure_stream(jsCtx *js, unsigned replicas)
{
    jsStreamInfo *info = NULL;
    jsStreamConfig config;
    jsErrCode code = 0;
    const char *subjects[] = {stream_subject};
    natsStatus status = js_GetStreamInfo(&info, js, stream_name, NULL, &code);
    if (status != NATS_NOT_FOUND) {
        jsStreamInfo_Destroy(info);
        return status;
    }
    (void)jsStreamConfig_Init(&config);
    config.Name = stream_name;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Retention = js_WorkQueuePolicy;
    config.Discard = js_DiscardNew;
    config.Storage = js_FileStorage;
    config.Replicas = replicas;
    status = js_AddStream(NULL, js, &config, NULL, &code);
    return code == JSStreamNameExistErr ? NATS_OK : status;
}

static natsStatus ensure_consumer(jsCtx *js)
{
    jsConsumerInfo *info = NULL;
    jsConsumerConfig config;
    jsErrCode code = 0;
    natsStatus status = js_GetConsumerInfo(&info, js, stream_name, consumer_name, NULL, &code);
    if (status != NATS_NOT_FOUND) {
        jsConsumerInfo_Destroy(info);
        return status;
    }
    (void)jsConsumerConfig_Init(&config);
    config.Durable = consumer_name;
    config.AckPolicy = js_AckExplicit;
    config.AckWait = (int64_t)MQTT_ACK_WAIT_S * 1000000000;
    config.FilterSubject = reports_subject;
    config.MaxAckPending = MQTT_PENDING_MAX;
    return js_AddConsumer(NULL, js, stream_name, &config, NULL, &code);
}

static natsStatus subscribe(struct mqtt_intake *intake)
{
    jsSubOptions options;
    (void)jsSubOptions_Init(&options);
    options.Stream = stream_name;
    options.Consumer = consumer_name;
    return js_PullSubscribe(&intake->consumer, intake->js, reports_subject, consumer_name, NULL,
                            &options, NULL);
}

static natsStatus prepare(struct mqtt_intake *intake, natsConnection *nc, unsigned replicas)
{
    natsStatus status = natsConnection_JetStream(&intake->js, nc, NULL);
    status = status == NATS_OK ? ensure_stream(intake->js, replicas) : status;
    status = status == NATS_OK ? ensure_consumer(intake->js) : status;
    return status == NATS_OK ? subscribe(intake) : status;
}

enum tremolo_status mqtt_start(struct mqtt_intake **intake, natsConnection *nc,
                               struct ingest *ingest, unsigned replicas, char *words,
                               size_t words_capacity)
{
    struct mqtt_intake *made = calloc(1, sizeof *made);
    if (made == NULL) {
        (void)snprintf(words, words_capacity, "out of memory");
        return TREMOLO_NO_MEMORY;
    }
    made->ingest = ingest;
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_cond_init(&made->settled, NULL);
    natsStatus status = prepare(made, nc, replicas);
    if (status == NATS_OK) {
        made->running = pthread_create(&made->thread, NULL, run, made) == 0;
        status = made->running ? NATS_OK : NATS_NO_MEMORY;
    }
    if (status != NATS_OK) {
        (void)snprintf(words, words_capacity, "the stream of MQTT messages: %s",
                       natsStatus_GetText(status));
        mqtt_stop(made);
        return TREMOLO_STORE_FAILED;
    }
    *intake = made;
    return TREMOLO_OK;
}

void mqtt_stop(struct mqtt_intake *intake)
{
    if (intake == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&intake->lock);
    intake->stopping = true;
    (void)pthread_mutex_unlock(&intake->lock);
    if (intake->running) {
        (void)pthread_join(intake->thread, NULL);
    }
    natsSubscription_Destroy(intake->consumer);
    jsCtx_Destroy(intake->js);
    (void)pthread_cond_destroy(&intake->settled);
    (void)pthread_mutex_destroy(&intake->lock);
    free(intake);
}

struct mqtt_counters *mqtt_counters(struct mqtt_intake *intake)
{
    return &intake->counters;
}
