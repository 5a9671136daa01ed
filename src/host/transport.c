/* transport.c -- HTTP by libcurl.
 *
 * One handle for a client's life, so that rounds share a connection. Nothing
 * is followed, stored or decompressed; size and time are bounded. */
#include "client_parts.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_MS_MAX = 10000, HEADER_BYTES = 128 };

struct transport {
    CURL *curl;
    char *ca_file;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_curl(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct transport *transport_new(const char *ca_file)
{
    (void)pthread_once(&once, init_curl);
    struct transport *transport = calloc(1, sizeof *transport);
    if (transport == NULL) {
        return NULL;
    }
    transport->curl = curl_easy_init();
    transport->ca_file = ca_file != NULL ? strdup(ca_file) : NULL;
    if (transport->curl == NULL || (ca_file != NULL && transport->ca_file == NULL)) {
        transport_free(transport);
        return NULL;
    }
    return transport;
}

void transport_free(struct transport *transport)
{
    if (transport != NULL) {
        curl_easy_cleanup(transport->curl);
        free(transport->ca_file);
        free(transport);
    }
}

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

static bool append(struct curl_slist **list, const char *name, const char *value)
{
    char line[HEADER_BYTES];
    (void)snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer != NULL) {
        *list = longer;
    }
    return longer != NULL;
}

static struct curl_slist *headers_of(const struct tremolo_http_request *request)
{
    struct curl_slist *list = NULL;
    bool made = append(&list, "Accept", "application/json, application/problem+json");
    if (made && request->media_type != NULL) {
        made = append(&list, "Content-Type", request->media_type);
    }
    if (made && request->device != NULL) {
        made = append(&list, "Tremolo-Device", request->device);
    }
    if (!made) {
        curl_slist_free_all(list);
        return NULL;
    }
    return list;
}

/* Options that do not depend on the request. */
static void set_manners(const struct transport *transport)
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
}

static CURLcode perform(const struct transport *transport, struct receiving *receiving,
                        const struct curl_slist *headers,
                        const struct tremolo_http_request *request)
{
    CURL *curl = transport->curl;
    long connect_ms = request->timeout_ms < CONNECT_MS_MAX ? request->timeout_ms : CONNECT_MS_MAX;
    set_manners(transport);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
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

int transport_exchange(void *context, struct tremolo_http_answer *answer,
                       const struct tremolo_http_request *request)
{
    const struct transport *transport = context;
    struct receiving receiving = {answer, request->answer_max, false};
    struct curl_slist *headers = headers_of(request);
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
