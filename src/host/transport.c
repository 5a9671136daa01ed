/* transport.c -- HTTP by libcurl.
 *
 * A device trusts signatures, not servers, so this client does as little as it can with an answer.
 *
 * One handle for a transport's life, so that rounds share a connection. Nothing
 * is followed, stored or decompressed; size and time are bounded. */
#include "transport.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_MS_MAX = 10000 };

struct transport {
    CURL *curl;
    char *ca_file;
    char *token;
    bool (*stopping)(void);
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* True when there was nothing to copy, too. */
static bool copy(char **to, const char *from)
{
    *to = from != NULL ? strdup(from) : NULL;
    return from == NULL || *to != NULL;
}

/* libcurl is initialised once for the process, whichever thread comes first. */
struct transport *transport_new(const struct transport_options *options)
{
    (void)pthread_once(&once, init_curl);
    struct transport *transport = calloc(1, sizeof *transport);
    if (transport == NULL) {
        return NULL;
    }
    transport->curl = curl_easy_init();
    transport->stopping = options->stopping;
    if (transport->curl == NULL || !copy(&transport->ca_file, options->ca_file) ||
        !copy(&transport->token, options->token)) {
        transport_free(transport);
        return NULL;
    }
    return transport;
}

/* A string that held a secret. */
static void wipe(char *secret)
{
    if (secret != NULL) {
        explicit_bzero(secret, strlen(secret));
    }
    free(secret);
}

void transport_free(struct transport *transport)
{
    if (transport != NULL) {
        curl_easy_cleanup(transport->curl);
        free(transport->ca_file);
        wipe(transport->token);
        free(transport);
    }
}

/* Where an answer goes while it comes, and how long it may get. */
struct receiving {
    struct tremolo_http_answer *answer;
    size_t most;
    bool too_long;
};

/* Taking fewer bytes than were offered ends the transfer. */
static size_t on_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct receiving *receiving = context;
    struct tremolo_http_answer *answer = receiving->answer;
    size_t length = size * count;
    if (length > receiving->most - answer->length) {
        receiving->too_long = true;
        return 0;
    }
    memcpy(answer->body + answer->length, bytes, length);
    answer->length += length;
    return length;
}

/* "NAME VALUE" of any length at the list's end; without memory the list stays. A value
 * that is not there is no failure. */
static bool append(struct curl_slist **list, const char *name, const char *value)
{
    char *line = NULL;
    if (value == NULL) {
        return true;
    }
    struct curl_slist *longer = NULL;
    if (asprintf(&line, "%s %s", name, value) >= 0) {
        longer = curl_slist_append(*list, line);
        wipe(line);
    }
    *list = longer != NULL ? longer : *list;
    return longer != NULL;
}

/* NULL without memory. An empty Expect: a long body goes without asking first. */
static struct curl_slist *headers_of(const struct transport *transport,
                                     const struct tremolo_http_request *request)
{
    struct curl_slist *list = NULL;
    bool made = append(&list, "Accept:", "application/json, application/problem+json") &&
                append(&list, "Expect:", "") &&
                append(&list, "Content-Type:", request->media_type) &&
                append(&list, "Tremolo-Device:", request->device) &&
                append(&list, "Authorization: Bearer", transport->token);
    if (!made) {
        curl_slist_free_all(list);
    }
    return made ? list : NULL;
}

/* libcurl asks about once a second; anything but 0 ends the transfer. */
static int stop_asked(void *context, curl_off_t down, curl_off_t downloaded, curl_off_t up,
                      curl_off_t uploaded)
{
    const struct transport *transport = context;
    (void)down;
    (void)downloaded;
    (void)up;
    (void)uploaded;
    return transport->stopping();
}

/* Options that do not depend on the request. */
static void set_lasting(struct transport *transport)
{
    CURL *curl = transport->curl;
    curl_easy_reset(curl);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "tremolo/" TREMOLO_VERSION);
    if (transport->ca_file != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, transport->ca_file);
    }
    if (transport->stopping != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, stop_asked);
        (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transport);
    }
}

/* One exchange with all of its limits: time, size and redirects, of which there are none. */
static CURLcode perform(struct transport *transport, struct receiving *receiving,
                        const struct curl_slist *headers,
                        const struct tremolo_http_request *request)
{
    CURL *curl = transport->curl;
    long connect_ms = request->timeout_ms < CONNECT_MS_MAX ? request->timeout_ms : CONNECT_MS_MAX;
    set_lasting(transport);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, request->timeout_ms);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, receiving);
    if (strcmp(request->method, "POST") == 0) {
        (void)curl_easy_setopt(curl, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, (const char *)request->body);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
    }
    /* Plain HTTP stays on this machine: no proxy of the environment may see it. */
    if (strncmp(request->url, "http://", 7) == 0) {
        (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    }
    CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, request->url);
    return code == CURLE_OK ? curl_easy_perform(curl) : code;
}

/* Options are set again for each request, so that no request inherits from the one before. */
int transport_exchange(void *context, struct tremolo_http_answer *answer,
                       const struct tremolo_http_request *request)
{
    struct transport *transport = context;
    struct receiving receiving = {answer, request->answer_max, false};
    struct curl_slist *headers = headers_of(transport, request);
    curl_off_t retry_after = 0;
    answer->status = 0;
    answer->length = 0;
    answer->retry_after_s = -1;
    if (headers == NULL) {
        (void)snprintf(answer->error, sizeof answer->error, "out of memory");
        return -1;
    }
    CURLcode code = perform(transport, &receiving, headers, request);
    curl_slist_free_all(headers);
    answer->body[answer->length] = '\0';
    if (code != CURLE_OK) {
        (void)snprintf(answer->error, sizeof answer->error, "%s",
                       receiving.too_long ? "the answer is too long" : curl_easy_strerror(code));
        return -1;
    }
    (void)curl_easy_getinfo(transport->curl, CURLINFO_RESPONSE_CODE, &answer->status);
    (void)curl_easy_getinfo(transport->curl, CURLINFO_RETRY_AFTER, &retry_after);
    if (retry_after > 0) {
        answer->retry_after_s = retry_after < TREMOLO_CLIENT_MAX_RETRY_AFTER_S
                                    ? (long)retry_after
                                    : TREMOLO_CLIENT_MAX_RETRY_AFTER_S;
    }
    return 0;
}
