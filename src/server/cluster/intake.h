/* intake.h -- reports that devices published over MQTT, into the log.
 *
 * The broker keeps a publication until a gateway settles it, and that is done only
 * once its reports are in the study's stream, or can never be. A gateway that dies in
 * between leaves it to another: reports may then come twice, and the fold knows ids. */
#ifndef SERVER_INTAKE_H
#define SERVER_INTAKE_H

#include "ingest.h"
#include "tremolo_server.h"

struct intake;

/* A thread with a connection of its own. When the broker has no place for MQTT it keeps
 * trying, quietly. Stop it before the ingest. */
TREMOLO_MUST_USE enum tremolo_status intake_start(struct intake **intake, struct ingest *ingest,
                                                  const struct tremolo_store_options *options,
                                                  char *words, size_t words_capacity);
void intake_stop(struct intake *intake); /* NULL is fine */

#endif
