/* estimate.h -- what a study says so far, as JSON. */
#ifndef SERVER_ESTIMATE_H
#define SERVER_ESTIMATE_H

#include "book.h"

/* The body of GET .../estimate; the caller frees *json. Computed once for
 * every change of the fold and repeated until the next. Any thread. */
TREMOLO_MUST_USE enum tremolo_status estimate_json(char **json, struct book *book);

/* The same without computing or waiting: NULL when it is not known, or not at once. */
char *estimate_kept(struct book *book);

/* Its member "guarantee" alone, which says nothing of the reports. The caller frees it. */
TREMOLO_MUST_USE enum tremolo_status estimate_guarantee_json(char **json, const struct book *book);

/* The body of GET .../round, with the server's signature. Any thread. */
TREMOLO_MUST_USE enum tremolo_status estimate_round_json(char **json, struct book *book,
                                                         const uint8_t *signing_key, int64_t now);

/* "waiting", "open" or "done" for whoever wants to report. Lock held. */
const char *estimate_state(const struct book *book, int64_t now);

/* Seconds between which a device should come again: "next" of the protocol. */
struct estimate_window {
    int64_t earliest;
    int64_t latest;
};
struct estimate_window estimate_next(const struct book *book, int64_t now);

#endif
