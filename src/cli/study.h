/* study.h -- the parts of `tremolo study`.
 *
 *     study.c           options, init, check, id
 *     study_show.c      what a study asks for, in words, as JSON and as C for a device's program
 *     study_operator.c  publish on a server, close a round, discard, enrol a device, fetch, move */
#ifndef TREMOLO_CLI_STUDY_H
#define TREMOLO_CLI_STUDY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "server.h"
#include "tremolo_study_file.h"

/* In the order of `actions` in study.c: the place of an action there is its number. */
enum study_action {
    STUDY_INIT,
    STUDY_CHECK,
    STUDY_ID,
    STUDY_SHOW,
    STUDY_PUBLISH,
    STUDY_CLOSE,
    STUDY_DISCARD,
    STUDY_ENROL,
    STUDY_MOVE,
};

/* The options and operands of all actions; each action reads its own. Texts from
 * the command line point into argv. */
struct study_options {
    const char *action; /* its name, for messages */
    const char *file; /* of `close`, `discard`, `enrol` and at times `show`: the study's address */
    const char *csv;  /* of `init`; NULL: an example is written */
    const char *response;
    struct options_list without; /* columns that `init` leaves out */
    const char *policy;
    const char *server; /* of `publish` */
    const char *token_file;
    const char *ca_file;
    const char *device;                 /* of `enrol`: its name */
    const char *from, *to;              /* places that a study moves between; times of `discard` */
    struct tremolo_store_options store; /* how to reach a clustered store among them */
    long round;                         /* to close, counted from 1; 0: the newest */
    bool json;
    bool source; /* of `show`: print C */
};

/* Print the study to standard output. Exit codes of the command, after a message where it is not
 * CLI_DONE: CLI_REFUSED is possible with `source`, when the policy refuses the study. */
int study_show(const struct study_options *options, const struct tremolo_study_file *file);

/* What an operator does with a study on a server; `file` is the study to publish, else NULL. Every
 * action may be repeated after a failure. Exit codes of the command. */
int study_operate(const struct study_options *options, enum study_action action,
                  const struct tremolo_study_file *file);

/* The study at an address, verified by its id and its server's signature. The caller frees it;
 * *file is untouched after a failure. The signing key is the one that the server names. */
int study_fetch(struct tremolo_study_file **file, const struct study_options *options);

#endif
