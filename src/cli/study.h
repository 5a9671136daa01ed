/* study.h -- the parts of `tremolo study`.
 *
 *     study.c           options, check, id
 *     study_init.c      write a starter
 *     study_operator.c  publish on a server, close a round, discard, enrol a device, fetch, move
 *     study_warnings.c  what is allowed and still deserves a word
 *     study_show.c    what a study asks for, in words and as JSON
 *     study_source.c  the same for a device's program, as C */
#ifndef TREMOLO_CLI_STUDY_H
#define TREMOLO_CLI_STUDY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "tremolo_server.h"
#include "tremolo_study_file.h"

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

struct study_options {
    const char *action;
    const char *file; /* of `close`, `discard`, `enrol` and at times `show`: the study's address */
    const char *csv;
    const char *response;
    struct options_list without; /* columns that `init` leaves out */
    const char *out;
    const char *policy;
    const char *server;
    const char *token_file;
    const char *ca_file;
    const char *device;
    const char *from, *to;              /* places that a study moves between; times of `discard` */
    struct tremolo_store_options store; /* how to reach a clustered store among them */
    long round;                         /* to close, counted from 1; 0: the newest */
    bool force;
    bool json;
    bool source;
};

/* Exit codes of the command, after a message where it is not CLI_DONE. */
int study_init(const struct study_options *options);
int study_show(const struct study_options *options, const struct tremolo_study_file *file);
int study_source(const struct study_options *options, const struct tremolo_study_file *file);
int study_publish(const struct study_options *options, const struct tremolo_study_file *file);
int study_close(const struct study_options *options);
int study_discard(const struct study_options *options);
int study_enrol(const struct study_options *options);

/* The study at an address, by its id and its server's signature. */
int study_fetch(struct tremolo_study_file **file, const struct study_options *options);
int study_move(const struct study_options *options);

/* ---- what is allowed in a study, and still deserves a word */

enum { STUDY_WARNINGS_MAX = 6, STUDY_WARNING_BYTES = 768 };

/* "path: reason" each; how many there are at `now`, in Unix seconds. */
size_t study_warnings(char text[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES],
                      const struct tremolo_study_file *file, int64_t now);

/* Do devices with the default policy, and with it a participant's page, refuse the
 * study? Then `why` says so and `policy`, unless it comes back empty, is the
 * content of a policy file that allows it. */
enum { STUDY_POLICY_BYTES = 8 * 1024 };
bool study_is_refused(char why[STUDY_WARNING_BYTES], char policy[STUDY_POLICY_BYTES],
                      const struct tremolo_study_file *file);

#endif
