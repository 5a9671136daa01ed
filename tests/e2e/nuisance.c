/* nuisance.c -- clients that do harm or waste time.
 *
 *   nuisance idle PORT COUNT SECONDS   open connections and send nothing;
 *                                      prints how many were opened, then holds
 *   nuisance drip PORT SECONDS         a head, one byte at a time; prints
 *                                      after how many seconds it was cut, or -1
 *   nuisance body PORT PATH SECONDS    a body that never comes, the same
 *   nuisance noise PORT COUNT SEED     random bytes as requests; prints COUNT */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int dial(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static int idle(int port, long count, unsigned seconds)
{
    struct rlimit files;
    long opened = 0;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    while (opened < count && dial(port) >= 0) {
        opened++;
    }
    (void)printf("%ld\n", opened);
    (void)fflush(stdout);
    (void)sleep(seconds);
    return 0;
}

/* Not the time of day, which jumps when a virtual machine was stopped for a while. */
static long now_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec;
}

/* Seconds until the other side closes, sending `drop` every 200 ms if not 0. */
static int wait_for_cut(int fd, char drop, long seconds)
{
    long start = now_seconds();
    char buffer[512];
    while (now_seconds() - start <= seconds) {
        struct pollfd wait = {fd, POLLIN, 0};
        if (poll(&wait, 1, 200) > 0 && recv(fd, buffer, sizeof buffer, 0) <= 0) {
            (void)printf("%ld\n", now_seconds() - start);
            return 0;
        }
        if (drop != 0 && send(fd, &drop, 1, MSG_NOSIGNAL) != 1) {
            (void)printf("%ld\n", now_seconds() - start);
            return 0;
        }
    }
    (void)puts("-1");
    return 1;
}

static int say(int fd, const char *text)
{
    return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text) ? 0 : -1;
}

static int noise(int port, long count, unsigned seed)
{
    static const char *const starts[] = {"",
                                         "GET ",
                                         "POST /v1/studies",
                                         "GET /v1/studies/%ff%00",
                                         "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                                         "GET / HTTP/1.1\r\nHost: x\r\nX: "};
    unsigned char bytes[700];
    srand(seed);
    for (long i = 0; i < count; i++) {
        int fd = dial(port);
        size_t length = (size_t)(rand() % (int)sizeof bytes);
        for (size_t k = 0; k < length; k++) {
            bytes[k] = (unsigned char)(rand() % 4 == 0 ? "\r\n: /"[rand() % 5] : rand());
        }
        if (fd >= 0) {
            (void)say(fd, starts[(size_t)rand() % (sizeof starts / sizeof starts[0])]);
            (void)send(fd, bytes, length, MSG_NOSIGNAL);
            (void)close(fd);
        }
    }
    (void)printf("%ld\n", count);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return 2;
    }
    int port = atoi(argv[2]);
    if (strcmp(argv[1], "idle") == 0) {
        return idle(port, atol(argv[3]), (unsigned)atoi(argv[4]));
    }
    if (strcmp(argv[1], "noise") == 0) {
        return noise(port, atol(argv[3]), (unsigned)atoi(argv[4]));
    }
    int fd = dial(port);
    if (fd < 0) {
        return 1;
    }
    if (strcmp(argv[1], "drip") == 0) {
        return say(fd, "GET / HTTP/1.1\r\nX-Slow: ") == 0 ? wait_for_cut(fd, 'a', atol(argv[3]))
                                                          : 1;
    }
    char head[400];
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/cbor\r\n"
                   "Content-Length: 60\r\n\r\nabc",
                   argv[3]);
    return say(fd, head) == 0 ? wait_for_cut(fd, 0, atol(argv[4])) : 1;
}
