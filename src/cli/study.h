/* study.h -- the parts of `tremolo study`.
 *
 *     study.c           options, init, check, id
 *     study_show.c      what a study asks for, in words and as JSON
 *     study_source.c    the same for a device's program, as C
 *     study_operator.c  publish on a server, close a round, enrol a device, fetch
 *     study_move.c      from a data directory into a clustered store, and back
 *     study_warnings.c  what is allowed and still deserves a word */
#ifndef TREMOLO_CLI_STUDY_H
#define TREMOLO_CLI_STUDY_H

#include <jansson.h>
#include <stdbool.h>

#include "tremolo_server.h"
#include "tremolo_study_file.h"

enum study_action {
    STUDY_INIT,
    STUDY_CHECK,
    STUDY_ID,
    STUDY_SHOW,
    STUDY_PUBLISH,
    STUDY_CLOSE,
    STUDY_ENROL,
    STUDY_MOVE,
};

struct study_options {
    const char *action;
    const char *file; /* of `close`, `enrol` and at times `show`: the study's address */
    const char *csv;
    const char *response;
    const char *out;
    const char *policy;
    const char *server;
    const char *token_file;
    const char *ca_file;
    const char *device;
    const char *from, *to;              /* places that a study moves between */
    struct tremolo_store_options store; /* how to reach a clustered store among them */
    long round;                         /* to close, counted from 1; 0: the newest */
    bool force;
    bool json;
    bool source;
};

/* Exit codes of the command, after a message where it is not CLI_DONE. */
int study_show(const struct study_options *options, const struct tremolo_study_file *file);
int study_source(const struct study_options *options, const struct tremolo_study_file *file);
int study_publish(const struct study_options *options, const struct tremolo_study_file *file);
int study_close(const struct study_options *options);
int study_enrol(const struct study_options *options);

/* The study at an address, by its id and its server's signature. */
int study_fetch(struct tremolo_study_file **file, const struct study_options *options);
int study_move(const struct study_options *options);

/* Print an object, which is consumed; NULL is a failure, too. */
int study_print_json(json_t *object);
void study_id_text(char text[TREMOLO_STUDY_ID_TEXT_BYTES], const struct tremolo_study_file *file);

#endif
