/* publish.h -- a gateway's group commit: reports into the stream, or not at all. */
#ifndef SERVER_PUBLISH_H
#define SERVER_PUBLISH_H

#include "bus.h"
#include "writer.h"

/* Messages that will be published a second time (publish_again.c); all zero: none. */
struct publish_again {
    struct kept_message *kept;
    size_t count;
    size_t bytes;
    int64_t not_before_ms;
};

/* Decide and publish the reports of all jobs, and set their outcomes. What the
 * result says is for /healthz; every outcome is set whatever it is. */
TREMOLO_MUST_USE enum tremolo_status publish_jobs(struct job *jobs, struct bus *bus,
                                                  struct publish_again *again, int64_t now);

/* A message is in the log of `study`, led by `leader`: keep a copy if that leader is new. */
void publish_again_keep(struct publish_again *again, struct mirror *study, const char *leader,
                        const struct bus_message *message);

/* Publish what is kept, if its time has come or it has to be `now`; what is refused stays. */
void publish_again_run(struct publish_again *again, struct bus *bus, bool now);
void publish_again_free(struct publish_again *again);

#endif
