/* fresh.h -- what the load makers share: connections, and reports without end.
 *
 * A report is copied from one honest report of an open study (round 0); every copy
 * gets an id of its own, which is all that a server needs to take it as new. */
#ifndef BENCH_FRESH_H
#define BENCH_FRESH_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FRESH_REPORT_MAX = 255, FRESH_ID_OFFSET = 2 + 17 + 3 + 1 };

static inline void stop_with(const char *what)
{
    (void)fprintf(stderr, "%s\n", what);
    exit(1);
}

static inline int fresh_dial(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        stop_with("cannot connect");
    }
    /* Or the kernel holds back the end of each body for the other's ACK. */
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static inline void fresh_send(int fd, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) {
            stop_with("the connection ended");
        }
        bytes += sent;
        length -= (size_t)sent;
    }
}

/* The report in a file; its length. */
static inline size_t fresh_load(uint8_t report[FRESH_REPORT_MAX + 1], const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t length = file != NULL ? fread(report, 1, FRESH_REPORT_MAX + 1, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    if (length < 40 || length > FRESH_REPORT_MAX) {
        stop_with("a report of 40 to 255 bytes is needed");
    }
    return length;
}

/* Make the copy at `report` the one with this number. */
static inline void fresh_number(uint8_t *report, uint64_t number)
{
    uint64_t id[2] = {number * 0x9e3779b97f4a7c15u, number};
    memcpy(report + FRESH_ID_OFFSET, id, sizeof id);
}

#endif
