/* send.c -- every report is sent until it is acknowledged, the same bytes each time,
 * by threads that take the next devices in turn. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "swarm.h"

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

bool send_batch(struct swarm *swarm, struct exchange *exchange, size_t from, size_t count,
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

/* Shall no further device begin? */
static bool is_over(const struct swarm *swarm)
{
    return swarm->failed ||
           (swarm->until != NULL && swarm->next >= swarm->least && access(swarm->until, F_OK) == 0);
}

static void *run_thread(void *context)
{
    struct swarm *swarm = context;
    struct exchange exchange;
    uint8_t *body = malloc(swarm->batch * (TREMOLO_MAX_REPORT_BYTES + 3));
    size_t from;
    exchange_open(&exchange, atomic_fetch_add(&swarm->started, 1));
    while (!is_over(swarm) &&
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

void send_all(struct swarm *swarm)
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
