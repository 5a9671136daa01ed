/* fetch.c -- a bounded exchange over libcurl. */
#include "fetch.h"

#include <curl/curl.h>
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

static struct curl_slist *headers_of(const struct fetch *fetch)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    char line[512];
    if (fetch->type != NULL) {
        (void)snprintf(line, sizeof line, "Content-Type: %s", fetch->type);
        headers = curl_slist_append(headers, line);
    }
    if (fetch->token != NULL) {
        (void)snprintf(line, sizeof line, "Authorization: Bearer %s", fetch->token);
        headers = curl_slist_append(headers, line);
    }
    return headers;
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

int fetch_run(struct fetch *fetch)
{
    struct collected collected = {NULL, 0};
    fetch->status = 0;
    fetch->answer = NULL;
    CURL *curl = curl_easy_init();
    if (curl == NULL) {
        (void)snprintf(fetch->words, sizeof fetch->words, "libcurl cannot be initialised");
        return -1;
    }
    struct curl_slist *headers = headers_of(fetch);
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
    return 0;
}
