/* http.c -- one connection of the swarm: a request, and insisting on an answer.
 *
 * A thread has one of these and keeps to the gateway that answered last; it goes to
 * the next when none comes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "swarm.h"

static size_t collect(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    size_t more = size * count;
    if (exchange->length + more + 1 > ANSWER_MAX) {
        return 0;
    }
    memcpy(exchange->answer + exchange->length, data, more);
    exchange->length += more;
    exchange->answer[exchange->length] = '\0';
    return more;
}

void exchange_open(struct exchange *exchange, size_t gateway)
{
    exchange->gateway = gateway;
    exchange->curl = curl_easy_init();
    exchange->answer = calloc(1, ANSWER_MAX);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_WRITEFUNCTION, collect);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_WRITEDATA, exchange);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_TIMEOUT, 20L);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_SSL_VERIFYPEER, 0L);
}

void exchange_close(struct exchange *exchange)
{
    curl_easy_cleanup(exchange->curl);
    free(exchange->answer);
}

static long exchange_run(struct exchange *exchange, const struct swarm *swarm, const char *path,
                         const char *type, const uint8_t *body, size_t length)
{
    char url[1200];
    char line[300];
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    (void)snprintf(url, sizeof url, "%s%s", swarm->url[exchange->gateway % swarm->urls], path);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(exchange->curl, CURLOPT_HTTPGET, 1L);
    if (type != NULL) {
        (void)snprintf(line, sizeof line, "Content-Type: %s", type);
        headers = curl_slist_append(headers, line);
        (void)curl_easy_setopt(exchange->curl, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(exchange->curl, CURLOPT_POSTFIELDS, body);
        (void)curl_easy_setopt(exchange->curl, CURLOPT_POSTFIELDSIZE, (long)length);
    }
    if (swarm->token[0] != '\0') {
        (void)snprintf(line, sizeof line, "Authorization: Bearer %s", swarm->token);
        headers = curl_slist_append(headers, line);
    }
    (void)curl_easy_setopt(exchange->curl, CURLOPT_HTTPHEADER, headers);
    exchange->length = 0;
    exchange->answer[0] = '\0';
    exchange->status = 0;
    if (curl_easy_perform(exchange->curl) == CURLE_OK) {
        (void)curl_easy_getinfo(exchange->curl, CURLINFO_RESPONSE_CODE, &exchange->status);
    }
    curl_slist_free_all(headers);
    return exchange->status;
}

long exchange_insist(struct exchange *exchange, struct swarm *swarm, const char *path,
                     const char *type, const uint8_t *body, size_t length)
{
    double until = seconds() + swarm->patience;
    for (;;) {
        long status = exchange_run(exchange, swarm, path, type, body, length);
        if ((status != 0 && status != 429 && status < 500) || seconds() > until) {
            return status;
        }
        (void)atomic_fetch_add(&swarm->retries, 1);
        exchange->gateway++;
        (void)usleep(20000);
    }
}
