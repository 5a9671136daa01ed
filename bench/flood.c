/* flood.c -- batches of fresh reports as fast as a server takes them.
 *
 *   flood PORT PATH REPORT BATCH CONNECTIONS REPORTS
 *
 * REPORT is one honest report of an open study. Every copy gets an id of its
 * own, which is all that a server needs to take it as new; making them costs
 * next to nothing, so what is measured is the server. Prints reports/s. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "fresh.h"

enum { THREADS_MAX = 64 };

static int port;
static const char *path;
static uint8_t report[FRESH_REPORT_MAX + 1];
static size_t report_length;
static size_t batch;
static _Atomic long left;
static _Atomic uint64_t serial;

/* One answer; it must be a 200 without failures. */
static void read_answer(int fd)
{
    char text[4096];
    size_t length = 0;
    while (length < sizeof text - 1) {
        ssize_t got = recv(fd, text + length, sizeof text - 1 - length, 0);
        if (got <= 0) {
            stop_with("the connection ended");
        }
        length += (size_t)got;
        text[length] = '\0';
        const char *body = strstr(text, "\r\n\r\n");
        if (body != NULL && strchr(body, '}') != NULL) {
            break;
        }
    }
    if (strncmp(text, "HTTP/1.1 200", 12) != 0 || strstr(text, "\"failures\":[]") == NULL) {
        stop_with(text);
    }
}

static void *run(void *unused)
{
    char head[400];
    size_t item = report_length + 2;
    uint8_t *body = malloc(item * batch);
    int fd = fresh_dial(port);
    (void)unused;
    if (body == NULL) {
        stop_with("no memory");
    }
    for (size_t i = 0; i < batch; i++) {
        body[i * item] = 0x58;
        body[i * item + 1] = (uint8_t)report_length;
        memcpy(body + i * item + 2, report, report_length);
    }
    int size = snprintf(head, sizeof head,
                        "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/cbor-seq\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        path, item * batch);
    while (atomic_fetch_sub(&left, (long)batch) > 0) {
        uint64_t first = atomic_fetch_add(&serial, batch);
        for (size_t i = 0; i < batch; i++) {
            fresh_number(body + i * item + 2, first + i);
        }
        fresh_send(fd, (const uint8_t *)head, (size_t)size);
        fresh_send(fd, body, item * batch);
        read_answer(fd);
    }
    (void)close(fd);
    free(body);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS_MAX];
    struct timespec start;
    struct timespec end;
    if (argc != 7) {
        stop_with("usage: flood PORT PATH REPORT BATCH CONNECTIONS REPORTS");
    }
    port = atoi(argv[1]);
    path = argv[2];
    report_length = fresh_load(report, argv[3]);
    batch = strtoul(argv[4], NULL, 10);
    long threads = atol(argv[5]);
    long total = atol(argv[6]);
    if (batch == 0 || threads < 1 || threads > THREADS_MAX) {
        stop_with("a batch and 1 to 64 connections are needed");
    }
    left = total;
    serial = (uint64_t)time(NULL) << 32;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < threads; i++) {
        (void)pthread_create(&thread[i], NULL, run, NULL);
    }
    for (long i = 0; i < threads; i++) {
        (void)pthread_join(thread[i], NULL);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds =
        (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    (void)printf("%.0f\n", (double)total / seconds);
    return 0;
}
