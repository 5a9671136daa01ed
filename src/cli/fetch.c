/* fetch.c -- one exchange with a server, for commands.
 *
 * Commands ask once and print what came: they do not retry, because a person or a script sees
 * the failure and decides. Devices are different, their client (host/client) repeats a report
 * until it is acknowledged. What a server says is cleaned before it reaches a terminal
 * (common.c). */
#include "fetch.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "transport.h"
#include "study_internal.h"

/* People paste addresses from a browser, from the output of publish and from memory; all mean the
 * same study. A page is known by "/studies/" without "/v1" before it; its own page "about" leads to
 * the study as well. What precedes "/studies/" stays: a server may lie below a path. */
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

/* The path is added after the address was made whole, so that it never becomes part of a host's
 * name. */
int fetch_join(char *url, size_t bytes, const char *command, const char *given, const char *path)
{
    size_t room = strlen(path) + 1;
    if (!fetch_address(url, bytes - room, given)) {
        return cli_fail(CLI_USAGE, command, "the address is too long");
    }
    memcpy(url + strlen(url), path, room);
    return CLI_DONE;
}

/* The whole answer is kept in memory, at most FETCH_BYTES_MAX of it. The caller frees `answer`; it
 * is NULL when none came, and `words` says why. The room for the longest answer is taken before the
 * exchange, so that no length a server sends decides what is allocated. */
int fetch_run(struct fetch *fetch)
{
    struct transport *transport = transport_new(&(struct transport_options){
        .ca_file = fetch->ca_file, .token = fetch->token, .stopping = fetch->stopping});
    struct tremolo_http_answer answer = {.body = malloc(FETCH_BYTES_MAX + 1),
                                         .error = "out of memory"};
    const struct tremolo_http_request request = {
        .method = fetch->body != NULL ? "POST" : "GET",
        .url = fetch->url,
        .media_type = fetch->body != NULL ? "application/json" : NULL,
        .body = (const uint8_t *)fetch->body,
        .body_length = fetch->body != NULL ? strlen(fetch->body) : 0,
        .answer_max = FETCH_BYTES_MAX,
        .timeout_ms = 1000 * (fetch->seconds > 0 ? fetch->seconds : 60)};
    bool came = transport != NULL && answer.body != NULL &&
                transport_exchange(transport, &answer, &request) == 0;
    transport_free(transport);
    fetch->status = answer.status;
    /* Gives back what the answer did not need, which cannot fail in a way that matters. */
    char *shorter = came ? realloc(answer.body, answer.length + 1) : NULL;
    fetch->answer = shorter != NULL || !came ? shorter : (char *)answer.body;
    if (!came) {
        (void)snprintf(fetch->words, sizeof fetch->words, "%s", answer.error);
        free(answer.body);
    }
    return came ? 0 : -1;
}

/* The text comes from outside and is printed, so it is cleaned first. */
void fetch_detail(char detail[FETCH_DETAIL_BYTES], const char *answer)
{
    json_t *root = json_loads(answer, 0, NULL);
    const char *text = json_string_value(json_object_get(root, "detail"));
    (void)snprintf(detail, FETCH_DETAIL_BYTES, "%s%s", text != NULL ? ": " : "",
                   text != NULL ? text : "");
    (void)tremolo_text_clean(detail);
    json_decref(root);
}

/* Any status except 200 is a failure. A study that is not there gets a hint, because its id is
 * easily cut when it is copied. */
int fetch_text(char **text, const char *command, const char *url, const char *ca_file)
{
    char detail[FETCH_DETAIL_BYTES];
    struct fetch fetch = {.url = url, .ca_file = ca_file};
    if (fetch_run(&fetch) != 0) {
        return cli_fail(CLI_FAILED, command, "%s: %s", url, fetch.words);
    }
    if (fetch.status != 200) {
        fetch_detail(detail, fetch.answer);
        free(fetch.answer);
        const char *path = strstr(url, "/v1/studies/");
        return fetch.status == 404 && path != NULL
                   ? cli_fail(CLI_FAILED, command,
                              "%s answered 404%s; 'tremolo status %.*s' lists the studies there",
                              url, detail, (int)(path - url), url)
                   : cli_fail(CLI_FAILED, command, "%s answered %ld%s", url, fetch.status, detail);
    }
    *text = fetch.answer;
    return CLI_DONE;
}
