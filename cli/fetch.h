/* fetch.h -- one HTTP exchange for subcommands that talk to a server. */
#ifndef TREMOLO_CLI_FETCH_H
#define TREMOLO_CLI_FETCH_H

#include <stddef.h>

enum { FETCH_BYTES_MAX = 16 << 20 };

struct fetch {
    const char *method; /* NULL: GET */
    const char *url;
    const char *type;    /* of the body; NULL without */
    const char *token;   /* operator's; NULL without */
    const char *ca_file; /* NULL: the system's certificates */
    const char *body;
    size_t body_length;
    long status;     /* out: 0 when there was no answer */
    char *answer;    /* out: terminated, the caller frees it; NULL without */
    char words[128]; /* out: why there was none */
};

/* 0 when any answer came. */
int fetch_run(struct fetch *fetch);

#endif
