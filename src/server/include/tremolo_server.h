/* tremolo_server.h -- what a server has stored, without the server.
 *
 *     char words[TREMOLO_WORDS_BYTES];
 *     char *json = NULL;
 *     if (tremolo_server_offline(&json, "/var/lib/tremolo", NULL, 0.95, words) == TREMOLO_OK) ...
 *     free(json); */
#ifndef TREMOLO_SERVER_H
#define TREMOLO_SERVER_H

#include "tremolo_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The estimate of a study in a data directory that no server is using: the body
 * of GET .../estimate, to the bit. `study` is an id, or NULL when there is only
 * one; `level` that of the intervals. The caller frees *json; on failure it is untouched and words says why. */
TREMOLO_MUST_USE enum tremolo_status tremolo_server_offline(char **json, const char *data,
                                                            const char *study, double level,
                                                            char words[TREMOLO_WORDS_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
