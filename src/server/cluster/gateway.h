/* gateway.h -- a writer without a log of its own: reports go to a stream.
 *
 * A gateway holds nothing that is not also in the broker or in its key files:
 * any number of them serve the same studies, and any may die at any moment. */
#ifndef SERVER_GATEWAY_H
#define SERVER_GATEWAY_H

#include "writer.h"
#include "tremolo_server.h"

/* Connect and read all studies first. writer_stop ends it. */
TREMOLO_MUST_USE enum tremolo_status gateway_start(struct writer **writer,
                                                   const struct tremolo_store_options *options,
                                                   const uint8_t *signing_key,
                                                   const uint8_t *secret, char *words,
                                                   size_t words_capacity);

#endif
