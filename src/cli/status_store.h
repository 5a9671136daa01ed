/* status_store.h -- the part of `tremolo status` that asks a clustered store. */
#ifndef TREMOLO_CLI_STATUS_STORE_H
#define TREMOLO_CLI_STATUS_STORE_H

#include <stdbool.h>

#include "tremolo_server.h"

/* Print every study, its stream and its shards; the command's exit code. */
int status_store(const struct tremolo_store_options *store, bool json);

#endif
