/* publish.h -- a gateway's group commit: reports into the stream, or not at all. */
#ifndef SERVER_PUBLISH_H
#define SERVER_PUBLISH_H

#include "bus.h"
#include "writer.h"

/* Decide and publish the reports of all jobs, and set their outcomes. What the
 * result says is for /healthz; every outcome is set whatever it is. */
TREMOLO_MUST_USE enum tremolo_status publish_jobs(struct job *jobs, struct bus *bus, int64_t now);

#endif
