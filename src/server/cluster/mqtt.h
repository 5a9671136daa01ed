/* mqtt.h -- reports that devices published over MQTT, into the log.
 *
 * The broker keeps a publication until a gateway settles it, and that is done only
 * once its reports are in the study's stream, or can never be. A gateway that dies in
 * between leaves it to another: reports may then come twice, and the fold knows ids. */
#ifndef SERVER_MQTT_H
#define SERVER_MQTT_H

#include "server.h"
#include "writer.h"

struct tremolo_store_options;
struct mqtt;

/* A thread with a connection of its own. When the broker has no place for MQTT it keeps
 * trying, quietly. Stop it before the writer. */
TREMOLO_MUST_USE enum tremolo_status mqtt_start(struct mqtt **mqtt, struct writer *writer,
                                                const struct tremolo_store_options *options,
                                                char words[TREMOLO_WORDS_BYTES]);
void mqtt_stop(struct mqtt *mqtt); /* NULL is fine */

#endif
