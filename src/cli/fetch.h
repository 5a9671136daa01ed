/* fetch.h -- one HTTP exchange for subcommands that talk to a server. */
#ifndef TREMOLO_CLI_FETCH_H
#define TREMOLO_CLI_FETCH_H

#include <stdbool.h>
#include <stddef.h>

/* The longest answer that is taken, 16 MiB, and the longest reason that is quoted from one. */
enum { FETCH_BYTES_MAX = 16 << 20, FETCH_DETAIL_BYTES = 400 };

/* A request and what came of it. The caller sets the members above `status`; zero is a good
 * value for all of them except `url`. The texts must outlive fetch_run(). */
struct fetch {
    const char *url;
    const char *body;       /* JSON to POST; NULL: GET */
    const char *token;      /* operator's; NULL without */
    const char *ca_file;    /* NULL: the system's certificates */
    long seconds;           /* to wait at most; 0: a minute */
    bool (*stopping)(void); /* asked now and then; NULL without */
    long status;            /* out: 0 when there was no answer */
    char *answer;           /* out: terminated, the caller frees it; NULL without */
    char words[128];        /* out: why there was none */
};

/* An address as people have it, made the one to ask: "http://" in front where no
 * scheme is, a study's page in the browser (/studies/ID) turned into its address
 * (/v1/studies/ID), no slash at the end, nothing from ? or # on. False when it does not fit into
 * `bytes`, terminator included. */
bool fetch_address(char *url, size_t bytes, const char *given);

/* The same with a path behind it, or the exit code after a message of `command`. */
int fetch_join(char *url, size_t bytes, const char *command, const char *given, const char *path);

/* 0 when any answer came, whatever its status: `answer` is the caller's to free. -1 when none came:
 * `answer` is NULL and `words` says why. Nothing is printed, and nothing is tried again. */
int fetch_run(struct fetch *fetch);

/* What was wrong, as the server says in "detail" of its answer: printable, after ": ";
 * "" without one. */
void fetch_detail(char detail[FETCH_DETAIL_BYTES], const char *answer);

/* GET what must be there, into memory that the caller frees. CLI_DONE, or the exit code
 * after a message of `command`. Any status but 200 is a failure. */
int fetch_text(char **text, const char *command, const char *url, const char *ca_file);

#endif
