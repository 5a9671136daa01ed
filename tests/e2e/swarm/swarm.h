/* swarm.h -- what the parts of the swarm share. swarm.c says what it is for.
 *
 *   http.c      a request, and insisting on an answer
 *   devices.c   people, and the real device core for each of them
 *   send.c      threads that send every report until it is acknowledged
 *   rounds.c    from one round to the next
 *   fold.c      the acknowledged reports, folded here
 *   estimate.c  the server's estimate against that fold, and against a twin's
 *   store.c     the server's stored moments against that fold
 *
 * Whatever cannot be or is not equal ends the program with a sentence. */
#ifndef TREMOLO_TESTS_SWARM_H
#define TREMOLO_TESTS_SWARM_H

#include <curl/curl.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_host.h"
#include "regression.h"
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
    const char *until; /* a file that ends the sending, or NULL */
    size_t least;      /* but not before so many devices have begun */
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
    size_t compared; /* places in which the server and this program agree */
};

struct exchange {
    CURL *curl;
    size_t gateway; /* the one that answered last */
    char *answer;
    size_t length;
    long status;
};

double seconds(void);
_Noreturn void stop_with(const char *what);
void must(enum tremolo_status status, const char *what);

void exchange_open(struct exchange *exchange, size_t gateway);
void exchange_close(struct exchange *exchange);

/* Until there is an answer that is not "come again", or patience ends: its
 * status, 0 for none. Without `type` it is a GET. */
long exchange_insist(struct exchange *exchange, struct swarm *swarm, const char *path,
                     const char *type, const uint8_t *body, size_t length);

/* Measure one device's sample and make its report of this round. */
void make_report(struct swarm *swarm, size_t index);

/* Send the reports of `count` devices in one request, single ones as they are;
 * false when they were refused. `body` has room for all of them. */
bool send_batch(struct swarm *swarm, struct exchange *exchange, size_t from, size_t count,
                uint8_t *body);

/* All devices of this round, by all threads. */
void send_all(struct swarm *swarm);

void run_rounds(struct swarm *swarm, struct exchange *exchange);

/* This round's reports into swarm->moments, and what a round's moments say. */
void fold_round(struct swarm *swarm);
struct tremolo_debiased *debias(struct swarm *swarm, unsigned round);

/* Leaves the server's estimate in `exchange`. */
void compare_estimate(struct swarm *swarm, struct exchange *exchange);

/* Send the bytes that the cluster got to a single server, and compare what
 * the two say. The estimate of the cluster is still in `exchange`. */
void compare_twin(struct swarm *swarm, struct exchange *exchange);

void compare_store(struct swarm *swarm);

#endif
