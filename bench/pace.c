/* pace.c -- single reports at a given rate, and how long each took.
 *
 *   pace PORT PATH REPORT RATE CONNECTIONS SECONDS
 *
 * Open loop: report k is due at k / RATE whatever became of those before it, and
 * its time counts from when it was due. A server that stalls is charged for
 * all that should have been sent meanwhile, which a client that waits for each
 * answer before the next request would hide. Prints "RATE P50 P99 P999", the rate
 * achieved in reports/s and the times in microseconds. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "fresh.h"

enum { CONNECTIONS_MAX = 1024, REQUEST_MAX = 1024, ANSWER_MAX = 1024 };

struct line {
    int fd;
    int64_t due_ns;
    size_t got;
    char answer[ANSWER_MAX];
};

static struct line lines[CONNECTIONS_MAX];
static int idle[CONNECTIONS_MAX];
static int idle_count;
static uint8_t request[REQUEST_MAX];
static size_t head_length;
static size_t report_length;
static uint32_t *times_us;
static size_t times;

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void prepare(const char *path, const char *report_file)
{
    uint8_t report[FRESH_REPORT_MAX + 1];
    report_length = fresh_load(report, report_file);
    int size = snprintf((char *)request, sizeof request,
                        "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/cbor\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        path, report_length);
    if (size < 0 || (size_t)size + report_length > sizeof request) {
        stop_with("the path is too long");
    }
    head_length = (size_t)size;
    memcpy(request + head_length, report, report_length);
}

static void send_report(int64_t due_ns, uint64_t number)
{
    struct line *line = &lines[idle[--idle_count]];
    fresh_number(request + head_length, number);
    line->due_ns = due_ns;
    line->got = 0;
    fresh_send(line->fd, request, head_length + report_length);
}

/* Read what is there; note the time when the answer is whole. */
static void read_answer(int which)
{
    struct line *line = &lines[which];
    ssize_t got = recv(line->fd, line->answer + line->got, ANSWER_MAX - 1 - line->got, 0);
    if (got <= 0) {
        stop_with("the connection ended");
    }
    line->got += (size_t)got;
    line->answer[line->got] = '\0';
    const char *body = strstr(line->answer, "\r\n\r\n");
    if (body == NULL || strchr(body, '}') == NULL) {
        return;
    }
    if (strncmp(line->answer, "HTTP/1.1 200", 12) != 0) {
        stop_with(line->answer);
    }
    times_us[times++] = (uint32_t)((now_ns() - line->due_ns) / 1000);
    idle[idle_count++] = which;
}

static void wait_for(int events, int timer, int64_t until_ns)
{
    struct epoll_event ready[CONNECTIONS_MAX];
    struct itimerspec when = {
        .it_value = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)}};
    (void)timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
    int count = epoll_wait(events, ready, CONNECTIONS_MAX, -1);
    for (int i = 0; i < count; i++) {
        if (ready[i].data.u32 < CONNECTIONS_MAX) {
            read_answer((int)ready[i].data.u32);
        }
    }
}

static int watch_all(int port, int connections, int timer)
{
    int events = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    for (int i = 0; i < connections; i++) {
        lines[i].fd = fresh_dial(port);
        idle[idle_count++] = i;
        event.data.u32 = (uint32_t)i;
        (void)epoll_ctl(events, EPOLL_CTL_ADD, lines[i].fd, &event);
    }
    event.data.u32 = CONNECTIONS_MAX;
    (void)epoll_ctl(events, EPOLL_CTL_ADD, timer, &event);
    return events;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t quantile(double share)
{
    return times_us[(size_t)(share * (double)(times - 1))];
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        stop_with("usage: pace PORT PATH REPORT RATE CONNECTIONS SECONDS");
    }
    double rate = atof(argv[4]);
    int connections = atoi(argv[5]);
    size_t total = (size_t)(rate * atof(argv[6]));
    if (!(rate > 0.0) || connections < 1 || connections > CONNECTIONS_MAX || total < 1) {
        stop_with("a rate, 1 to 1024 connections and a time are needed");
    }
    prepare(argv[2], argv[3]);
    times_us = calloc(total, sizeof *times_us);
    if (times_us == NULL) {
        stop_with("no memory");
    }
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    int events = watch_all(atoi(argv[1]), connections, timer);
    uint64_t number = (uint64_t)time(NULL) << 32;
    int64_t start = now_ns();
    for (size_t sent = 0; times < total;) {
        int64_t due = start + (int64_t)((double)sent * 1e9 / rate);
        if (sent < total && idle_count > 0 && now_ns() >= due) {
            send_report(due, number + sent++);
        } else {
            wait_for(events, timer, idle_count > 0 && sent < total ? due : now_ns() + 100000000);
        }
    }
    double seconds = 1e-9 * (double)(now_ns() - start);
    qsort(times_us, times, sizeof *times_us, compare);
    (void)printf("%.0f %u %u %u\n", (double)times / seconds, quantile(0.5), quantile(0.99),
                 quantile(0.999));
    return 0;
}
