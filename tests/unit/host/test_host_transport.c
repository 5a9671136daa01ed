/* test_host_transport.c -- HTTP by libcurl against a server of a few lines on
 * this machine: what is sent, and what is not put up with. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "testing.h"
#include "transport.h"

enum { REQUEST_BYTES = 8192, ANSWER_MAX = 1000 };

/* Takes connections one after the other; each gets `answer` and is closed. */
struct listener {
    int fd;
    char url[64];
    pthread_t thread;
    const char *answer;
    size_t answer_length;
    long stall_ms; /* before the answer */
    char request[REQUEST_BYTES];
};

/* Heads are text, bodies may hold zeros. */
static bool is_whole(const char *request, size_t got)
{
    const char *body = strstr(request, "\r\n\r\n");
    const char *length = strstr(request, "Content-Length: ");
    return body != NULL &&
           (length == NULL || got - (size_t)(body + 4 - request) >= strtoul(length + 16, NULL, 10));
}

static void serve_one(struct listener *listener, int fd)
{
    size_t got = 0;
    ssize_t more = 0;
    memset(listener->request, 0, sizeof listener->request);
    while (!is_whole(listener->request, got) && got + 1 < REQUEST_BYTES &&
           (more = read(fd, listener->request + got, REQUEST_BYTES - 1 - got)) > 0) {
        got += (size_t)more;
    }
    struct timespec stall = {listener->stall_ms / 1000, listener->stall_ms % 1000 * 1000000};
    (void)nanosleep(&stall, NULL);
    (void)!send(fd, listener->answer, listener->answer_length, MSG_NOSIGNAL);
    (void)close(fd);
}

static void *listen_on(void *context)
{
    struct listener *listener = context;
    int fd = -1;
    while ((fd = accept(listener->fd, NULL, NULL)) >= 0) {
        serve_one(listener, fd);
    }
    return NULL;
}

static void start(struct listener *listener, const char *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    memset(listener, 0, sizeof *listener);
    listener->answer = answer;
    listener->answer_length = strlen(answer);
    listener->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(listener->fd >= 0);
    assert_int_equal(bind(listener->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener->fd, 8), 0);
    assert_int_equal(getsockname(listener->fd, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(listener->url, sizeof listener->url, "http://127.0.0.1:%u/x",
                   (unsigned)ntohs(address.sin_port));
    assert_int_equal(pthread_create(&listener->thread, NULL, listen_on, listener), 0);
}

static void stop(struct listener *listener)
{
    (void)shutdown(listener->fd, SHUT_RDWR);
    assert_int_equal(pthread_join(listener->thread, NULL), 0);
    (void)close(listener->fd);
}

struct got {
    struct tremolo_http_answer answer;
    uint8_t body[ANSWER_MAX + 1];
    int result;
};

static void ask_with(struct got *got, const char *url, const char *method, long timeout_ms,
                     const struct transport_options *options)
{
    struct transport *transport = transport_new(options);
    const uint8_t body[] = {0x86, 0x00, 0x01, 0xff};
    bool is_post = strcmp(method, "POST") == 0;
    struct tremolo_http_request request = {
        .method = method,
        .url = url,
        .media_type = is_post ? "application/cbor" : NULL,
        .device = is_post ? "d2F0Y2g" : NULL,
        .body = is_post ? body : NULL,
        .body_length = is_post ? sizeof body : 0,
        .answer_max = ANSWER_MAX,
        .timeout_ms = timeout_ms,
    };
    assert_non_null(transport);
    memset(got, 0, sizeof *got);
    got->answer.body = got->body;
    got->result = transport_exchange(transport, &got->answer, &request);
    transport_free(transport);
}

static void ask(struct got *got, const char *url, const char *method, long timeout_ms)
{
    ask_with(got, url, method, timeout_ms, &(struct transport_options){.ca_file = NULL});
}

static void test_get(void **state)
{
    struct listener listener;
    struct got got;
    (void)state;
    start(&listener, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    ask(&got, listener.url, "GET", 5000);
    stop(&listener);
    assert_int_equal(got.result, 0);
    assert_int_equal(got.answer.status, 200);
    assert_int_equal(got.answer.retry_after_s, -1);
    assert_string_equal((const char *)got.body, "hello");
    assert_int_equal(strncmp(listener.request, "GET /x HTTP/1.1\r\n", 17), 0);
    assert_null(strstr(listener.request, "Tremolo-Device"));
    assert_null(strstr(listener.request, "Authorization"));
}

/* A token of any length travels whole. */
static void test_token(void **state)
{
    char token[2001];
    char expected[sizeof token + 32];
    struct listener listener;
    struct got got;
    (void)state;
    memset(token, 't', sizeof token - 1);
    token[sizeof token - 1] = '\0';
    (void)snprintf(expected, sizeof expected, "\r\nAuthorization: Bearer %s\r\n", token);
    start(&listener, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    ask_with(&got, listener.url, "POST", 5000, &(struct transport_options){.token = token});
    stop(&listener);
    assert_int_equal(got.answer.status, 200);
    assert_non_null(strstr(listener.request, expected));
    assert_null(strstr(listener.request, "Expect"));
}

static bool stopping(void)
{
    return true;
}

static void test_stopping(void **state)
{
    struct listener listener;
    struct got got;
    (void)state;
    start(&listener, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    ask_with(&got, listener.url, "GET", 5000, &(struct transport_options){.stopping = stopping});
    stop(&listener);
    assert_int_not_equal(got.result, 0);
    assert_int_equal(got.answer.status, 0);
}

static void test_post(void **state)
{
    struct listener listener;
    struct got got;
    (void)state;
    start(&listener, "HTTP/1.1 503 Busy\r\nRetry-After: 17\r\nContent-Length: 0\r\n\r\n");
    ask(&got, listener.url, "POST", 5000);
    stop(&listener);
    assert_int_equal(got.result, 0);
    assert_int_equal(got.answer.status, 503);
    assert_int_equal(got.answer.retry_after_s, 17);
    assert_non_null(strstr(listener.request, "Content-Type: application/cbor\r\n"));
    assert_non_null(strstr(listener.request, "Tremolo-Device: d2F0Y2g\r\n"));
    assert_non_null(strstr(listener.request, "Content-Length: 4\r\n"));
}

static void test_retry_after_is_bounded(void **state)
{
    struct listener listener;
    struct got got;
    (void)state;
    start(&listener, "HTTP/1.1 429 Slow\r\nRetry-After: 99999999\r\nContent-Length: 0\r\n\r\n");
    ask(&got, listener.url, "GET", 5000);
    stop(&listener);
    assert_int_equal(got.answer.retry_after_s, TREMOLO_CLIENT_MAX_RETRY_AFTER_S);
}

static void test_long_answers(void **state)
{
    static char answer[ANSWER_MAX + 200];
    struct listener listener;
    struct got got;
    (void)state;
    int head = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
                        ANSWER_MAX + 1);
    memset(answer + head, 'a', ANSWER_MAX + 1);
    start(&listener, answer);
    ask(&got, listener.url, "GET", 5000);
    stop(&listener);
    assert_int_not_equal(got.result, 0);
    assert_string_equal(got.answer.error, "the answer is too long");
    /* The longest that is allowed. */
    head = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
                    ANSWER_MAX);
    memset(answer + head, 'a', ANSWER_MAX);
    answer[head + ANSWER_MAX] = '\0';
    start(&listener, answer);
    ask(&got, listener.url, "GET", 5000);
    stop(&listener);
    assert_int_equal(got.result, 0);
    assert_int_equal(got.answer.length, ANSWER_MAX);
}

static void test_redirects_are_not_followed(void **state)
{
    struct listener listener;
    struct got got;
    (void)state;
    start(&listener, "HTTP/1.1 302 Away\r\nLocation: http://127.0.0.1:1/\r\n"
                     "Content-Length: 0\r\n\r\n");
    ask(&got, listener.url, "GET", 5000);
    stop(&listener);
    assert_int_equal(got.result, 0);
    assert_int_equal(got.answer.status, 302);
}

static void test_failures(void **state)
{
    struct listener listener;
    struct got got;
    (void)state;
    start(&listener, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ncut short");
    ask(&got, listener.url, "GET", 5000);
    assert_int_not_equal(got.result, 0);
    listener.answer_length = 0; /* hangs up without a word */
    ask(&got, listener.url, "GET", 5000);
    assert_int_not_equal(got.result, 0);
    listener.stall_ms = 400; /* is slower than we wait */
    ask(&got, listener.url, "GET", 100);
    assert_int_not_equal(got.result, 0);
    stop(&listener);
    ask(&got, listener.url, "GET", 1000); /* no server there */
    assert_int_not_equal(got.result, 0);
    ask(&got, "file:///etc/passwd", "GET", 1000);
    assert_int_not_equal(got.result, 0);
    assert_true(got.answer.error[0] != '\0');
}

int main(void)
{
    /* A proxy of the environment that leads nowhere: nothing here may ask it. */
    (void)setenv("http_proxy", "http://127.0.0.1:1", 1);
    (void)setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_post),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_retry_after_is_bounded),
        cmocka_unit_test(test_long_answers),
        cmocka_unit_test(test_redirects_are_not_followed),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests_name("host transport", tests, NULL, NULL);
}
