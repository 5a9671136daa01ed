/* fetch.c -- a bounded exchange over libcurl. */
#include "fetch.h"

#include <curl/curl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct collected {
    char *bytes;
    size_t length;
};

static size_t collect(char *data, size_t size, size_t count, void *context)
{
    struct collected *collected = context;
    size_t more = size * count;
    if (collected->length + more > FETCH_BYTES_MAX) {
        return 0;
    }
    char *grown = realloc(collected->bytes, collected->length + more + 1);
    if (grown == NULL) {
        return 0;
    }
    memcpy(grown + collected->length, data, more);
    collected->bytes = grown;
    collected->length += more;
    grown[collected->length] = '\0';
    return more;
}

/* "NAME VALUE" of any length at the list's end; without memory the list stays. */
static bool append(struct curl_slist **headers, const char *name, const char *value)
{
    size_t bytes = strlen(name) + strlen(value) + 2;
    char *line = malloc(bytes);
    struct curl_slist *longer = NULL;
    if (line != NULL) {
        (void)snprintf(line, bytes, "%s %s", name, value);
        longer = curl_slist_append(*headers, line);
        sodium_memzero(line, bytes);
        free(line);
    }
    *headers = longer != NULL ? longer : *headers;
    return longer != NULL;
}

/* NULL without memory. */
static struct curl_slist *headers_of(const struct fetch *fetch)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    bool made = headers != NULL &&
                (fetch->type == NULL || append(&headers, "Content-Type:", fetch->type)) &&
                (fetch->token == NULL || append(&headers, "Authorization: Bearer", fetch->token));
    if (!made) {
        curl_slist_free_all(headers);
    }
    return made ? headers : NULL;
}

static int stop_asked(void *context, curl_off_t down, curl_off_t downloaded, curl_off_t up,
                      curl_off_t uploaded)
{
    const struct fetch *fetch = context;
    (void)down;
    (void)downloaded;
    (void)up;
    (void)uploaded;
    return fetch->stopping();
}

static void prepare(CURL *curl, struct fetch *fetch, struct curl_slist *headers,
                    struct collected *collected)
{
    (void)curl_easy_setopt(curl, CURLOPT_URL, fetch->url);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, fetch->seconds > 0 ? fetch->seconds : 60L);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, collected);
    if (fetch->stopping != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, stop_asked);
        (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, fetch);
    }
    if (strncmp(fetch->url, "http://", 7) == 0) {
        (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*"); /* as in host/transport.c */
    }
    if (fetch->ca_file != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, fetch->ca_file);
    }
    if (fetch->method != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, fetch->method);
    }
    if (fetch->body != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, fetch->body);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)fetch->body_length);
    }
}

bool fetch_address(char *url, size_t bytes, const char *given)
{
    const char *scheme = strstr(given, "://") != NULL ? "" : "http://";
    const char *page = strstr(given, "/studies/");
    bool is_page = page != NULL && (page - given < 3 || strncmp(page - 3, "/v1", 3) != 0);
    size_t before = is_page ? (size_t)(page - given) : 0;
    size_t length = strcspn(given, "?#");
    static const char about[] = "/about";
    while (length > 0 && given[length - 1] == '/') {
        length--;
    }
    if (is_page && length > before + strlen(about) &&
        strncmp(given + length - strlen(about), about, strlen(about)) == 0) {
        length -= strlen(about);
    }
    int written = snprintf(url, bytes, "%s%.*s%s%.*s", scheme, (int)before, given,
                           is_page ? "/v1" : "", (int)(length - before), given + before);
    return written > 0 && (size_t)written < bytes;
}

int fetch_run(struct fetch *fetch)
{
    struct collected collected = {NULL, 0};
    fetch->status = 0;
    fetch->answer = NULL;
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = headers_of(fetch);
    if (curl == NULL || headers == NULL) {
        curl_easy_cleanup(curl);
        curl_slist_free_all(headers);
        (void)snprintf(fetch->words, sizeof fetch->words, "out of memory");
        return -1;
    }
    prepare(curl, fetch, headers, &collected);
    CURLcode code = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &fetch->status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (code != CURLE_OK) {
        (void)snprintf(fetch->words, sizeof fetch->words, "%s", curl_easy_strerror(code));
        free(collected.bytes);
        fetch->status = 0;
        return -1;
    }
    fetch->answer = collected.bytes != NULL ? collected.bytes : calloc(1, 1);
    if (fetch->answer == NULL) {
        (void)snprintf(fetch->words, sizeof fetch->words, "out of memory");
        return -1;
    }
    return 0;
}
