/* overview.h -- a clustered store's studies, shards and workers, as JSON. */
#ifndef SERVER_OVERVIEW_H
#define SERVER_OVERVIEW_H

#include "bus.h"

/* The caller frees *json. Leases are looked at twice, pause_ms apart: one that was not renewed
 * in between has no living owner. */
TREMOLO_MUST_USE enum tremolo_status overview_json(char **json, struct bus *bus, int64_t pause_ms);

#endif
