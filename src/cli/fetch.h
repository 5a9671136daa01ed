/* fetch.h -- one HTTP exchange for subcommands that talk to a server. */
#ifndef TREMOLO_CLI_FETCH_H
#define TREMOLO_CLI_FETCH_H

#include <stdbool.h>
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
    long seconds;           /* to wait at most; 0: a minute */
    bool (*stopping)(void); /* asked now and then; NULL without */
    long status;            /* out: 0 when there was no answer */
    char *answer;           /* out: terminated, the caller frees it; NULL without */
    char words[128];        /* out: why there was none */
};

/* The estimate of a study, as `tremolo status` and `tremolo fit` print it: from the
 * study's address, or from a data directory. Exit codes of the command line;
 * messages under `command`. */
struct estimate_wish {
    const char *study;   /* its id in a directory; NULL: the only one */
    const char *ca_file; /* NULL: the system's certificates */
    bool as_json;
    const char *report; /* save it under this name, too; NULL: no */
    const char *line;   /* the command as typed, for the report */
};
int estimate_show(const char *command, const char *where, const struct estimate_wish *wish);

/* An address as people have it, made the one to ask: "http://" in front where no
 * scheme is, a study's page in the browser (/studies/ID) turned into its address
 * (/v1/studies/ID), no slash at the end. False when it does not fit. */
bool fetch_address(char *url, size_t bytes, const char *given);

/* 0 when any answer came. */
int fetch_run(struct fetch *fetch);

#endif
