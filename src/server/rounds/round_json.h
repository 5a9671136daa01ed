/* round_json.h -- the current round, as devices ask for it. */
#ifndef SERVER_ROUND_JSON_H
#define SERVER_ROUND_JSON_H

#include "served_study.h"

/* The body of GET .../round, with the server's signature. Any thread. */
TREMOLO_MUST_USE enum tremolo_status round_json(char **json, struct served_study *served,
                                                const uint8_t *signing_key, int64_t now);

/* "waiting", "open" or "done" for whoever wants to report. Lock held. */
const char *round_state(const struct served_study *served, int64_t now);

/* Seconds between which a device should come again: "next" of the protocol. */
struct round_window {
    int64_t earliest;
    int64_t latest;
};
struct round_window round_next(const struct served_study *served, int64_t now);

#endif
