/* swarm.c -- thousands of devices against a running server, and the proof.
 *
 *   swarm --url http://HOST:PORT/v1/studies/ID --devices N [--threads T] [--batch B]
 *         [--token-file FILE] [--patience SECONDS] [--data DIR] [--drop SHARE] [--pause MS]
 *         [--url ...] [--twin http://HOST:PORT/v1/studies/ID]
 *
 * Every device is the real core with a ledger of its own and kernel entropy.
 * Its report is sent until it is acknowledged, the same bytes each time. When
 * all rounds are through, the acknowledged reports are folded here, without
 * the server's code, and compared with the server's answer, double by double:
 * a report lost, doubled or changed would show. With --data (the
 * server stopped by then) the stored checkpoint is compared byte by byte.
 *
 * With several --url the threads spread over those gateways of one cluster, and
 * each goes to the next one when it gets no answer. With --twin a second,
 * single server is then sent the same bytes, and both must give
 * the same estimate, character by character.
 *
 * Rounds are closed through the operator's token, unless the study closes
 * them by count. --drop lets a share of devices miss each round. */
#include <curl/curl.h>
#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bytes_order.h"
#include "store.h"
#include "tremolo_device.h"
#include "tremolo_host.h"
#include "tremolo_regression.h"
#include "tremolo_study_file.h"

enum { ROUNDS_MAX = 16, THREADS_MAX = 64, ANSWER_MAX = 4 << 20, URLS_MAX = 8, TWIN_BATCH = 1000 };

struct device {
    struct tremolo_host_memory memory;
    uint8_t report[TREMOLO_MAX_REPORT_BYTES];
    uint16_t length; /* 0: not taking part in this round */
};

struct swarm {
    const char *url[URLS_MAX]; /* gateways of one cluster, or one server */
    size_t urls;
    const char *twin;
    const char *data;
    char token[200];
    size_t devices;
    unsigned threads;
    size_t batch;
    double patience;
    double drop;
    double lag;        /* seconds from the last acknowledgement to the whole estimate */
    unsigned pause_ms; /* after each request, so that a test can last */
    struct tremolo_study_file *file;
    const struct tremolo_study *study;
    struct device *device;
    struct tremolo_moments *moments[ROUNDS_MAX];
    int16_t *vectors[ROUNDS_MAX];
    unsigned round;
    _Atomic size_t next;
    _Atomic size_t started; /* threads */
    _Atomic size_t accepted;
    _Atomic size_t repeated;
    _Atomic size_t retries;
    _Atomic int64_t heard_ms;   /* when the last acknowledgement came */
    _Atomic int64_t silence_ms; /* the longest time without one */
    _Atomic bool failed;
};

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void stop_with(const char *what)
{
    (void)fprintf(stderr, "swarm: %s\n", what);
    exit(1);
}

static void must(enum tremolo_status status, const char *what)
{
    if (status != TREMOLO_OK) {
        (void)fprintf(stderr, "swarm: %s: %s\n", what, tremolo_status_sentence(status));
        exit(1);
    }
}

/* ---------------------------------------------------------------- HTTP */

struct exchange {
    CURL *curl;
    size_t gateway; /* the one that answered last */
    char *answer;
    size_t length;
    long status;
};

static size_t collect(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    size_t more = size * count;
    if (exchange->length + more + 1 > ANSWER_MAX) {
        return 0;
    }
    memcpy(exchange->answer + exchange->length, data, more);
    exchange->length += more;
    exchange->answer[exchange->length] = '\0';
    return more;
}

static void exchange_open(struct exchange *exchange, size_t gateway)
{
    exchange->gateway = gateway;
    exchange->curl = curl_easy_init();
    exchange->answer = calloc(1, ANSWER_MAX);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_WRITEFUNCTION, collect);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_WRITEDATA, exchange);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_TIMEOUT, 20L);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_SSL_VERIFYPEER, 0L);
}

static void exchange_close(struct exchange *exchange)
{
    curl_easy_cleanup(exchange->curl);
    free(exchange->answer);
}

static long exchange_run(struct exchange *exchange, const struct swarm *swarm, const char *path,
                         const char *type, const uint8_t *body, size_t length)
{
    char url[1200];
    char line[300];
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    (void)snprintf(url, sizeof url, "%s%s", swarm->url[exchange->gateway % swarm->urls], path);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_HTTPGET, 1L);
    if (type != NULL) {
        (void)snprintf(line, sizeof line, "Content-Type: %s", type);
        headers = curl_slist_append(headers, line);
        (void)curl_easy_setopt(exchange->curl, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(exchange->curl, CURLOPT_POSTFIELDS, body);
        (void)curl_easy_setopt(exchange->curl, CURLOPT_POSTFIELDSIZE, (long)length);
    }
    if (swarm->token[0] != '\0') {
        (void)snprintf(line, sizeof line, "Authorization: Bearer %s", swarm->token);
        headers = curl_slist_append(headers, line);
    }
    (void)curl_easy_setopt(exchange->curl, CURLOPT_HTTPHEADER, headers);
    exchange->length = 0;
    exchange->answer[0] = '\0';
    exchange->status = 0;
    if (curl_easy_perform(exchange->curl) == CURLE_OK) {
        (void)curl_easy_getinfo(exchange->curl, CURLINFO_RESPONSE_CODE, &exchange->status);
    }
    curl_slist_free_all(headers);
    return exchange->status;
}

/* Until there is an answer that is not "come again", or patience ends. */
static long exchange_insist(struct exchange *exchange, struct swarm *swarm, const char *path,
                            const char *type, const uint8_t *body, size_t length)
{
    double until = seconds() + swarm->patience;
    for (;;) {
        long status = exchange_run(exchange, swarm, path, type, body, length);
        if ((status != 0 && status != 429 && status < 500) || seconds() > until) {
            return status;
        }
        (void)atomic_fetch_add(&swarm->retries, 1);
        exchange->gateway++;
        (void)usleep(20000);
    }
}

/* ---------------------------------------------------------------- devices */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double uniform(size_t device, size_t what)
{
    return (double)(mix(mix(device) + what) >> 11) * 0x1p-53;
}

/* One person: correlated features, a response that leans on the first two. */
static void measure(int32_t *raw, int32_t *response, size_t d, size_t device)
{
    double common = uniform(device, 1000) - 0.5;
    double y = 0.3 * (uniform(device, 1001) - 0.5);
    for (size_t i = 0; i < d; i++) {
        double x = 0.5 * common + uniform(device, i) - 0.5;
        raw[i] = (int32_t)(x * TREMOLO_STUDY_RAW_MAX);
        y += (i == 0 ? 0.5 : i == 1 ? -0.3 : 0.0) * x;
    }
    *response = (int32_t)(y * TREMOLO_STUDY_RAW_MAX);
}

static void make_report(struct swarm *swarm, size_t index)
{
    static _Thread_local struct tremolo_work work;
    int32_t features[TREMOLO_MAX_DIMENSION];
    struct device *device = &swarm->device[index];
    struct tremolo_platform platform = tremolo_host_memory_platform(&device->memory);
    struct tremolo_round round = {swarm->study->vectors > 0 ? swarm->vectors[swarm->round] : NULL,
                                  (uint16_t)swarm->round};
    struct tremolo_sample sample = {features, 0, 0};
    size_t length = sizeof device->report;
    measure(features, &sample.response, swarm->study->dimension, index);
    if (swarm->round == 0) {
        must(tremolo_device_enrol(&work, &platform,
                                  tremolo_study_charge(swarm->study) * swarm->study->rounds),
             "enrol");
    }
    must(tremolo_device_report(&work, device->report, &length, swarm->study, &round, &sample,
                               &platform),
         "report");
    device->length = (uint16_t)length;
    if (swarm->drop > 0 && uniform(index, 2000 + swarm->round) < swarm->drop) {
        device->length = 0;
    }
}

/* ---------------------------------------------------------------- sending */

/* Are all failures of a sequence such that the same bytes may be sent again? */
static bool may_repeat(const json_t *receipt)
{
    const json_t *failures = json_object_get(receipt, "failures");
    for (size_t i = 0; i < json_array_size(failures); i++) {
        json_int_t status =
            json_integer_value(json_object_get(json_array_get(failures, i), "status"));
        if (status != 429 && status < 500) {
            return false;
        }
    }
    return json_array_size(failures) > 0;
}

enum receipt { TAKEN, AGAIN, REFUSED };

static enum receipt read_receipt(struct swarm *swarm, const struct exchange *exchange,
                                 size_t expected)
{
    json_t *receipt = json_loads(exchange->answer, 0, NULL);
    size_t accepted = (size_t)json_integer_value(json_object_get(receipt, "accepted"));
    size_t repeated = (size_t)json_integer_value(json_object_get(receipt, "repeated"));
    bool again = may_repeat(receipt);
    json_decref(receipt);
    if (exchange->status != 200 || accepted + repeated != expected) {
        return exchange->status == 200 && again ? AGAIN : REFUSED;
    }
    (void)atomic_fetch_add(&swarm->accepted, accepted);
    (void)atomic_fetch_add(&swarm->repeated, repeated);
    return TAKEN;
}

static size_t put_string(uint8_t *out, const uint8_t *bytes, size_t length)
{
    size_t head = length < 24 ? 1 : length < 256 ? 2 : 3;
    out[0] = (uint8_t)(0x40 + (length < 24 ? length : length < 256 ? 24 : 25));
    if (head == 2) {
        out[1] = (uint8_t)length;
    } else if (head == 3) {
        out[1] = (uint8_t)(length >> 8);
        out[2] = (uint8_t)length;
    }
    memcpy(out + head, bytes, length);
    return head + length;
}

static void note_acknowledgement(struct swarm *swarm)
{
    int64_t now = (int64_t)(seconds() * 1000.0);
    int64_t before = atomic_exchange(&swarm->heard_ms, now);
    int64_t longest = swarm->silence_ms;
    while (before > 0 && now - before > longest &&
           !atomic_compare_exchange_weak(&swarm->silence_ms, &longest, now - before)) {
    }
}

static bool send_batch(struct swarm *swarm, struct exchange *exchange, size_t from, size_t count,
                       uint8_t *body)
{
    size_t length = 0;
    size_t taking_part = 0;
    for (size_t i = from; i < from + count; i++) {
        if (swarm->device[i].length > 0) {
            length += put_string(body + length, swarm->device[i].report, swarm->device[i].length);
            taking_part++;
        }
    }
    if (taking_part == 0) {
        return true;
    }
    const uint8_t *single = body + length - swarm->device[from].length;
    double until = seconds() + swarm->patience;
    enum receipt receipt = AGAIN;
    while (receipt == AGAIN && seconds() < until) {
        long status = count == 1 ? exchange_insist(exchange, swarm, "/reports", "application/cbor",
                                                   single, swarm->device[from].length)
                                 : exchange_insist(exchange, swarm, "/reports",
                                                   "application/cbor-seq", body, length);
        receipt = status == 200 ? read_receipt(swarm, exchange, taking_part) : REFUSED;
        if (receipt == AGAIN) {
            (void)atomic_fetch_add(&swarm->retries, 1);
            (void)usleep(20000);
        }
    }
    if (receipt != TAKEN) {
        (void)fprintf(stderr, "swarm: %ld %s\n", exchange->status, exchange->answer);
        return false;
    }
    note_acknowledgement(swarm);
    return true;
}

static void *run_thread(void *context)
{
    struct swarm *swarm = context;
    struct exchange exchange;
    uint8_t *body = malloc(swarm->batch * (TREMOLO_MAX_REPORT_BYTES + 3));
    size_t from;
    exchange_open(&exchange, atomic_fetch_add(&swarm->started, 1));
    while (!swarm->failed &&
           (from = atomic_fetch_add(&swarm->next, swarm->batch)) < swarm->devices) {
        size_t count = swarm->devices - from < swarm->batch ? swarm->devices - from : swarm->batch;
        for (size_t i = from; i < from + count; i++) {
            make_report(swarm, i);
        }
        if (!send_batch(swarm, &exchange, from, count, body)) {
            swarm->failed = true;
        }
        (void)usleep(1000 * swarm->pause_ms);
    }
    exchange_close(&exchange);
    free(body);
    return NULL;
}

static void send_all(struct swarm *swarm)
{
    pthread_t thread[THREADS_MAX];
    swarm->next = 0;
    for (unsigned i = 0; i < swarm->threads; i++) {
        (void)pthread_create(&thread[i], NULL, run_thread, swarm);
    }
    for (unsigned i = 0; i < swarm->threads; i++) {
        (void)pthread_join(thread[i], NULL);
    }
    if (swarm->failed) {
        stop_with("a report was not taken");
    }
}

/* ---------------------------------------------------------------- offline fold */

static void fold_round(struct swarm *swarm)
{
    int16_t row[TREMOLO_MAX_FOLD_COORDINATES];
    struct tremolo_report report;
    struct tremolo_study_release release = tremolo_study_file_release(swarm->file);
    size_t d = swarm->study->dimension;
    must(tremolo_moments_new(&swarm->moments[swarm->round], d + 1, release.wire_max,
                             release.response_max),
         "moments");
    for (size_t i = 0; i < swarm->devices; i++) {
        if (swarm->device[i].length == 0) {
            continue;
        }
        must(tremolo_report_decode(&report, swarm->device[i].report, swarm->device[i].length),
             "decode");
        must(tremolo_report_unpack(row, d + 1, &report, swarm->study), "unpack");
        if (report.has_response) {
            row[d] = report.response;
        }
        uint8_t bucket = (uint8_t)tremolo_bucket_of(report.id);
        must(tremolo_moments_add(swarm->moments[swarm->round], row, &bucket, 1), "fold");
    }
}

static struct tremolo_debiased *debias(struct swarm *swarm, unsigned round)
{
    struct tremolo_study_release plain = tremolo_study_file_release(swarm->file);
    struct tremolo_sums sums[TREMOLO_BUCKETS];
    struct tremolo_debiased *evidence = NULL;
    size_t count = plain.vectors * plain.dimension;
    double *V = calloc(count + 1, sizeof *V);
    for (size_t i = 0; i < count; i++) {
        V[i] = swarm->vectors[round][i] / 16384.0;
    }
    for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
        must(tremolo_moments_bucket(swarm->moments[round], &sums[b], b), "bucket");
    }
    struct tremolo_release release = {.dimension = plain.dimension,
                                      .keep = plain.keep,
                                      .noise_variance = plain.noise_variance,
                                      .modulation = plain.modulation,
                                      .vectors = plain.vectors,
                                      .V = V,
                                      .feature_scale = plain.feature_scale,
                                      .response_scale = plain.response_scale,
                                      .response_private = plain.response_private,
                                      .largest = 1.0};
    must(tremolo_debias_new(&evidence, sums, TREMOLO_BUCKETS, &release), "debias");
    free(V);
    return evidence;
}

/* ---------------------------------------------------------------- comparing */

static size_t compared;

static void same(double theirs, double ours, const char *what, size_t index)
{
    compared++;
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): to the bit is what we mean */
    if (memcmp(&theirs, &ours, sizeof ours) != 0) {
        (void)fprintf(stderr, "swarm: %s %zu differs: server %.17g, offline %.17g\n", what, index,
                      theirs, ours);
        exit(1);
    }
}

static void compare_table(struct swarm *swarm, const json_t *answer, unsigned round)
{
    size_t d = swarm->study->dimension;
    struct tremolo_coefficient *rows = calloc(d + 1, sizeof *rows);
    double *centre = calloc(2 * d, sizeof *centre);
    struct tremolo_debiased *evidence = debias(swarm, round);
    for (size_t i = 0; i < d; i++) {
        const struct tremolo_study_coordinate *c = tremolo_study_file_coordinate(swarm->file, i);
        centre[i] = (c->low + c->high) / 2.0;
        centre[d + i] = (c->high - c->low) / 2.0;
    }
    const struct tremolo_study_coordinate *y = tremolo_study_file_coordinate(swarm->file, d);
    struct tremolo_units units = {centre, centre + d, (y->low + y->high) / 2.0,
                                  (y->high - y->low) / 2.0};
    must(tremolo_infer(rows, evidence, &units, true, 0.95), "infer");
    const json_t *table = json_object_get(answer, "coefficients");
    if (json_array_size(table) != d + 1) {
        stop_with("the server's table has another size");
    }
    for (size_t i = 0; i <= d; i++) {
        const json_t *line = json_array_get(table, i);
        same(json_number_value(json_object_get(line, "estimate")), rows[i].estimate, "estimate", i);
        bool told = rows[i].identified; /* else there are no numbers to compare */
        same(json_number_value(json_object_get(line, "standard_error")),
             told ? rows[i].standard_error : 0, "standard error", i);
        same(json_number_value(json_object_get(line, "p")), told ? rows[i].p : 0, "p", i);
    }
    tremolo_debias_free(evidence);
    free(rows);
    free(centre);
}

/* The offline iteration answers each round from the fold made here, after
 * checking that the server broadcast the very vectors it wants. */
static enum tremolo_status offline_round(void *context, size_t round, const double *beta,
                                         const double *V, size_t vectors,
                                         struct tremolo_debiased **evidence)
{
    struct swarm *swarm = context;
    (void)beta;
    for (size_t i = 0; i < vectors * swarm->study->dimension; i++) {
        same(swarm->vectors[round][i], (double)lrint(V[i] * 16384.0), "vector entry", i);
    }
    *evidence = debias(swarm, (unsigned)round);
    return TREMOLO_OK;
}

static void compare_iteration(struct swarm *swarm, const json_t *answer)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(swarm->file);
    size_t d = swarm->study->dimension;
    double *last = calloc(2 * d, sizeof *last);
    struct tremolo_iterate_options options = {.rounds = terms->rounds,
                                              .vectors = terms->vectors,
                                              .step = terms->step,
                                              .radius = terms->radius,
                                              .seed = bytes_get_u64(swarm->study->id),
                                              .intercept = true};
    must(tremolo_iterate(last, last + d, NULL, d, &options, offline_round, swarm), "iterate");
    const json_t *iteration = json_object_get(answer, "iteration");
    for (size_t i = 0; i < d; i++) {
        same(json_number_value(json_array_get(json_object_get(iteration, "last"), i)), last[i],
             "last iterate", i);
        same(json_number_value(json_array_get(json_object_get(iteration, "average"), i)),
             last[d + i], "average iterate", i);
    }
    free(last);
}

/* The estimate over `reports` reports: a cluster folds after it has acknowledged,
 * so it may take a moment to get there. */
static json_t *await_estimate(struct swarm *swarm, struct exchange *exchange, uint64_t reports)
{
    double start = seconds();
    for (;;) {
        if (exchange_insist(exchange, swarm, "/estimate", NULL, NULL, 0) != 200) {
            stop_with("there is no estimate");
        }
        json_t *answer = json_loads(exchange->answer, 0, NULL);
        uint64_t count = (uint64_t)json_integer_value(json_object_get(answer, "reports"));
        if (count >= reports || seconds() > start + swarm->patience) {
            swarm->lag = seconds() - start;
            return answer;
        }
        json_decref(answer);
        (void)usleep(5000);
    }
}

static void compare_estimate(struct swarm *swarm, struct exchange *exchange)
{
    uint64_t reports = 0;
    unsigned largest = 0;
    for (unsigned t = 0; t < swarm->study->rounds; t++) {
        reports += tremolo_moments_count(swarm->moments[t]);
        if (tremolo_moments_count(swarm->moments[t]) >=
            tremolo_moments_count(swarm->moments[largest])) {
            largest = t;
        }
    }
    json_t *answer = await_estimate(swarm, exchange, reports);
    same((double)json_integer_value(json_object_get(answer, "reports")), (double)reports,
         "number of reports", 0);
    compare_table(swarm, answer, largest);
    if (swarm->study->rounds > 1) {
        compare_iteration(swarm, answer);
    }
    json_decref(answer);
}

/* Send the bytes that the cluster got to a single server, and compare what
 * the two say. The estimate of the cluster is still in `exchange`. */
static void compare_twin(struct swarm *swarm, struct exchange *exchange)
{
    uint8_t *body = malloc((size_t)TWIN_BATCH * (TREMOLO_MAX_REPORT_BYTES + 3));
    char *ours = strdup(exchange->answer);
    size_t accepted = swarm->accepted;
    swarm->url[0] = swarm->twin;
    swarm->urls = 1;
    for (size_t from = 0; from < swarm->devices; from += TWIN_BATCH) {
        size_t left = swarm->devices - from;
        if (!send_batch(swarm, exchange, from, left < TWIN_BATCH ? left : TWIN_BATCH, body)) {
            stop_with("the twin did not take a report");
        }
    }
    swarm->accepted = accepted;
    if (exchange_insist(exchange, swarm, "/estimate", NULL, NULL, 0) != 200 ||
        strcmp(exchange->answer, ours) != 0) {
        (void)fprintf(stderr, "%s\n%s\n", ours, exchange->answer);
        stop_with("the twin's estimate is another");
    }
    (void)printf("twin equal in %zu characters\n", strlen(ours));
    free(ours);
    free(body);
}

/* ---------------------------------------------------------------- rounds */

static void read_round(struct swarm *swarm, struct exchange *exchange)
{
    size_t d = swarm->study->dimension;
    size_t m = swarm->study->vectors;
    double until = seconds() + swarm->patience;
    long seen = -1;
    json_t *answer = NULL;
    while (seen != (long)swarm->round && seconds() < until) {
        json_decref(answer);
        if (exchange_insist(exchange, swarm, "/round", NULL, NULL, 0) != 200) {
            stop_with("there is no round");
        }
        answer = json_loads(exchange->answer, 0, NULL);
        seen = (long)json_integer_value(json_object_get(answer, "round"));
    }
    if (seen != (long)swarm->round) {
        stop_with("the round did not open");
    }
    swarm->vectors[swarm->round] = calloc(m * d + 1, sizeof(int16_t));
    for (size_t i = 0; i < m * d; i++) {
        const json_t *row = json_array_get(json_object_get(answer, "vectors"), i / d);
        swarm->vectors[swarm->round][i] = (int16_t)json_integer_value(json_array_get(row, i % d));
    }
    struct tremolo_round round = {m > 0 ? swarm->vectors[swarm->round] : NULL,
                                  (uint16_t)swarm->round};
    must(tremolo_round_check(swarm->study, &round), "vectors");
    json_decref(answer);
}

static void run_rounds(struct swarm *swarm, struct exchange *exchange)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(swarm->file);
    for (swarm->round = 0; swarm->round < swarm->study->rounds; swarm->round++) {
        read_round(swarm, exchange);
        send_all(swarm);
        fold_round(swarm);
        char close[64];
        (void)snprintf(close, sizeof close, "/round/close?round=%u", (unsigned)swarm->round);
        if (swarm->study->rounds > 1 && terms->close_reports == 0 &&
            exchange_insist(exchange, swarm, close, "application/json", (const uint8_t *)"", 0) !=
                200) {
            stop_with("the round was not closed");
        }
    }
}

static void get_study(struct swarm *swarm, struct exchange *exchange)
{
    uint8_t id[TREMOLO_STUDY_ID_BYTES];
    const char *text = strrchr(swarm->url[0], '/');
    must(text != NULL ? tremolo_base64_decode(id, sizeof id, text + 1) : TREMOLO_BAD_ARGUMENT,
         "the URL's id");
    if (exchange_insist(exchange, swarm, "", NULL, NULL, 0) != 200) {
        stop_with("the study cannot be fetched");
    }
    must(tremolo_study_receive(&swarm->file, NULL, NULL, exchange->answer, exchange->length, id,
                               NULL),
         "the study");
    swarm->study = tremolo_study_file_device(swarm->file);
    if (swarm->study->rounds > ROUNDS_MAX) {
        stop_with("too many rounds");
    }
}

/* ---------------------------------------------------------------- the store */

static enum tremolo_status compare_checkpoint(void *context, const uint8_t *key, size_t key_length,
                                              const uint8_t *value, size_t length)
{
    struct swarm *swarm = context;
    unsigned round = (unsigned)(key[key_length - 2] << 8 | key[key_length - 1]);
    size_t expected = tremolo_moments_encoded_bytes(swarm->moments[round]);
    uint8_t *bytes = malloc(expected);
    must(tremolo_moments_encode(swarm->moments[round], bytes, expected), "encode");
    if (length != expected + 8 || memcmp(value + 8, bytes, expected) != 0) {
        stop_with("the stored moments are not those of the acknowledged reports");
    }
    compared += expected;
    free(bytes);
    return TREMOLO_OK;
}

static void compare_store(struct swarm *swarm)
{
    struct store *store = NULL;
    char words[200];
    double until = seconds() + swarm->patience;
    while (store_open_sqlite(&store, swarm->data, words, sizeof words) != TREMOLO_OK) {
        if (seconds() > until) {
            stop_with(words);
        }
        (void)usleep(50000);
    }
    size_t before = compared;
    must(store->each(store, "checkpoint", compare_checkpoint, swarm), "checkpoint");
    if (compared == before) {
        stop_with("there is no checkpoint");
    }
    store->close(store);
}

static void read_token(struct swarm *swarm, const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(swarm->token, sizeof swarm->token, file) == NULL) {
        stop_with("the token cannot be read");
    }
    (void)fclose(file);
    swarm->token[strcspn(swarm->token, "\n")] = '\0';
}

static void parse_arguments(struct swarm *swarm, int argc, char **argv)
{
    static const struct option options[] = {
        {"url", required_argument, NULL, 'u'},
        {"devices", required_argument, NULL, 'd'},
        {"threads", required_argument, NULL, 't'},
        {"batch", required_argument, NULL, 'b'},
        {"token-file", required_argument, NULL, 'o'},
        {"patience", required_argument, NULL, 'p'},
        {"data", required_argument, NULL, 's'},
        {"drop", required_argument, NULL, 'x'},
        {"pause", required_argument, NULL, 'w'},
        {"twin", required_argument, NULL, 'i'},
        {NULL, 0, NULL, 0},
    };
    int option;
    *swarm = (struct swarm){.devices = 1000, .threads = 8, .batch = 1, .patience = 30.0};
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'u':
            if (swarm->urls == URLS_MAX) {
                stop_with("too many gateways");
            }
            swarm->url[swarm->urls++] = optarg;
            break;
        case 'i': swarm->twin = optarg; break;
        case 'd': swarm->devices = strtoul(optarg, NULL, 10); break;
        case 't': swarm->threads = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'b': swarm->batch = strtoul(optarg, NULL, 10); break;
        case 'o': read_token(swarm, optarg); break;
        case 'p': swarm->patience = strtod(optarg, NULL); break;
        case 's': swarm->data = optarg; break;
        case 'x': swarm->drop = strtod(optarg, NULL); break;
        case 'w': swarm->pause_ms = (unsigned)strtoul(optarg, NULL, 10); break;
        default: stop_with("usage");
        }
    }
    if (swarm->urls == 0 || swarm->threads < 1 || swarm->threads > THREADS_MAX ||
        swarm->batch < 1) {
        stop_with("usage");
    }
}

int main(int argc, char **argv)
{
    struct swarm swarm;
    struct exchange exchange;
    double start = seconds();
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    parse_arguments(&swarm, argc, argv);
    exchange_open(&exchange, 0);
    get_study(&swarm, &exchange);
    swarm.device = calloc(swarm.devices, sizeof *swarm.device);
    run_rounds(&swarm, &exchange);
    compare_estimate(&swarm, &exchange);
    (void)printf("sent %zu repeated %zu retries %zu seconds %.1f lag %.3f silence %.3f\n",
                 (size_t)swarm.accepted, (size_t)swarm.repeated, (size_t)swarm.retries,
                 seconds() - start, swarm.lag, (double)swarm.silence_ms / 1000.0);
    (void)fflush(stdout);
    if (swarm.twin != NULL) {
        compare_twin(&swarm, &exchange);
    }
    exchange_close(&exchange);
    if (swarm.data != NULL) {
        compare_store(&swarm);
    }
    (void)printf("equal in %zu places\n", compared);
    for (unsigned t = 0; t < swarm.study->rounds; t++) {
        tremolo_moments_free(swarm.moments[t]);
        free(swarm.vectors[t]);
    }
    free(swarm.device);
    tremolo_study_file_free(swarm.file);
    return 0;
}
