/* fuzz_http.c -- what a client sends over one connection.
 *
 * The server's own loop, handlers and writer run in this process, over a store in
 * memory; the input is written into one end of a socket pair; the other end is a
 * connection. So that inputs find their way without guessing 43 characters of an id,
 * a few short words are replaced by longer ones:
 *
 *     {o} {k}   ids of an open study, and of one with keys and rounds
 *     {t}       the operator's token
 *     {r}       a report of the open study
 *
 * Whatever comes, every answer must begin as HTTP/1.1 does, with a status the
 * protocol knows, the connection must come to its end, and no request may
 * stay behind. */
#include <microhttpd.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "http_parts.h"
#include "memory_store.h"
#include "routes.h"
#include "server_jobs.h"
#include "server_reports.h"
#include "study_internal.h"

enum { SENT_MAX = 1 << 16, ANSWERS_MAX = 1 << 20, TURNS_MAX = 2000 };

static struct tremolo_server *server;
static struct loop *loop;
static int events;
static char open_id[TREMOLO_STUDY_ID_TEXT_BYTES];
static char keys_id[TREMOLO_STUDY_ID_TEXT_BYTES];
static struct server_report report;

/* ---------------------------------------------------------------- the server */

static struct served_study *create(const char *text)
{
    struct job job = job_create(text);
    fuzz_require(submit_and_wait(server->writer, &job) && job.status == TREMOLO_OK);
    return job.served;
}

static void start(void)
{
    static const uint8_t seed[TREMOLO_SIGNING_SEED_BYTES] = {1};
    char words[TREMOLO_WORDS_BYTES];
    fuzz_require(sodium_init() >= 0);
    server = calloc(1, sizeof *server);
    loop = calloc(1, sizeof *loop);
    fuzz_require(server != NULL && loop != NULL);
    fuzz_require(tremolo_signing_keys(server->public_key, server->signing_key, seed) == TREMOLO_OK);
    (void)snprintf(server->token, sizeof server->token, "fuzz");
    log_open(&server->log, NULL);
    fuzz_require(writer_start_embedded(&server->writer, memory_store_new(), server->signing_key,
                                       server->device_secret, words) == TREMOLO_OK);
    struct http_options options = {.token = server->token,
                                   .request_seconds = 10,
                                   .log = &server->log,
                                   .stopping = &server->stopping};
    server->estimator = estimator_start(&server->stopping);
    fuzz_require(server->estimator != NULL && routes_open(server));
    server->http = http_new(&options, &server->program);
    fuzz_require(server->http != NULL && loop_open(loop, server->http, -1, 8));
    events = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    const struct served_study *served = create(server_study_open);
    (void)snprintf(open_id, sizeof open_id, "%s", served->id_text);
    server_report_make(&report, served->study, 0, NULL, NULL);
    (void)snprintf(keys_id, sizeof keys_id, "%s", create(server_study_rounds)->id_text);
}

/* ---------------------------------------------------------------- the input */

struct text {
    uint8_t *bytes;
    size_t length;
};

static void put(struct text *text, const void *bytes, size_t length)
{
    if (length <= SENT_MAX - text->length) {
        memcpy(text->bytes + text->length, bytes, length);
        text->length += length;
    }
}

static void expand(struct text *text, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        int word = size - i >= 3 && data[i] == '{' && data[i + 2] == '}' ? data[i + 1] : 0;
        i += word == 'o' || word == 'k' || word == 't' || word == 'r' ? 2 : 0;
        switch (word) {
        case 'o': put(text, open_id, strlen(open_id)); break;
        case 'k': put(text, keys_id, strlen(keys_id)); break;
        case 't': put(text, server->token, strlen(server->token)); break;
        case 'r': put(text, report.bytes, report.length); break;
        default: put(text, &data[i], 1);
        }
    }
}

/* ---------------------------------------------------------------- the answers */

static void check_status(unsigned status)
{
    static const unsigned known[] = {100, 200, 201, 204, 304, 308, 400, 401, 403,
                                     404, 405, 408, 409, 410, 411, 413, 414, 415,
                                     417, 422, 425, 429, 431, 500, 501, 503, 505};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i] == status) {
            return;
        }
    }
    (void)fprintf(stderr, "status %u\n", status);
    abort();
}

/* Only the first answer's place is known without parsing lengths. */
static void check_answers(const char *text, size_t length)
{
    if (length > 0) {
        fuzz_require(length > 12 && memcmp(text, "HTTP/1.", 7) == 0 && text[8] == ' ');
        check_status((unsigned)strtoul(text + 9, NULL, 10));
    }
}

/* Until the server has closed its end. */
static size_t converse(int client, char *answers)
{
    size_t length = 0;
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        loop_turn(loop);
        ssize_t got = recv(client, answers + length, ANSWERS_MAX - length, MSG_DONTWAIT);
        if (got == 0) {
            return length;
        }
        length += got > 0 ? (size_t)got : 0;
        length = length > ANSWERS_MAX / 2 ? ANSWERS_MAX / 2 : length; /* enough to judge by */
        if (got < 0 && !loop->progress) {
            loop_pause(loop, events);
        }
    }
    (void)fprintf(stderr, "the connection did not come to its end\n");
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t sent[SENT_MAX];
    static char answers[ANSWERS_MAX];
    struct text text = {sent, 0};
    struct sockaddr_storage no_address = {.ss_family = AF_UNIX};
    int pair[2];
    if (server == NULL) {
        start();
    }
    expand(&text, data, size);
    fuzz_require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    int room = 2 * SENT_MAX; /* the input fits in whole, or no thread would read it */
    (void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    fuzz_require(send(pair[0], sent, text.length, MSG_NOSIGNAL) == (ssize_t)text.length);
    fuzz_require(shutdown(pair[0], SHUT_WR) == 0);
    fuzz_require(MHD_add_connection(loop->daemon, pair[1], (struct sockaddr *)&no_address,
                                    sizeof no_address.ss_family) == MHD_YES);
    check_answers(answers, converse(pair[0], answers));
    (void)close(pair[0]);
    while (loop->active > 0) { /* a job may outlive its connection */
        loop_turn(loop);
        loop_pause(loop, events);
    }
    fuzz_require(loop->queued == 0 && loop->suspended == 0 && loop->orphans == NULL);
    fuzz_require(atomic_load(&server->http->body_bytes) == 0);
    return 0;
}
