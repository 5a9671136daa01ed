/* transport.h -- the one HTTP client: libcurl, for a device's client and for the
 * commands that talk to a server.
 *
 *     struct transport *transport = transport_new(&(struct transport_options){.ca_file = NULL});
 *     if (transport != NULL && transport_exchange(transport, &answer, &request) != 0) {
 *         log_line(answer.error);
 *     }
 *     transport_free(transport);
 *
 * Nothing is followed, stored or decompressed; size and time are bounded by the request. */
#ifndef TREMOLO_TRANSPORT_H
#define TREMOLO_TRANSPORT_H

#include <stdbool.h>

#include "tremolo_client.h"

struct transport_options {
    const char *ca_file;    /* certificates to trust instead of the system's; NULL */
    const char *token;      /* an operator's, sent with every request; NULL without */
    bool (*stopping)(void); /* asked now and then; true ends the exchange; NULL without */
};

struct transport; /* opaque; belongs to one thread at a time */

/* Options are copied. NULL without memory. */
struct transport *transport_new(const struct transport_options *options);
void transport_free(struct transport *transport); /* accepts NULL; wipes the token */

/* 0 when any answer came; otherwise answer->error says in a few words why not. Requests of
 * one transport share a connection. */
int transport_exchange(void *transport, struct tremolo_http_answer *answer,
                       const struct tremolo_http_request *request);

#endif
