/* decide.h -- what the embedded log decides about one report, and its part of a batch.
 *
 * decide() collects accepted reports in the study's segment, decide_append stages that in the
 * store; after the sync decide_commit folds them, and after a failure decide_drop forgets them.
 * The caller holds the writer's write_lock from the first decide() of a batch to its commit
 * or drop; no study has anything collected when that is released. */
#ifndef SERVER_DECIDE_H
#define SERVER_DECIDE_H

#include "served_study.h"

/* Decide `arrival` (outcome PENDING on entry) and, if it is new, stage it. */
enum server_outcome decide(struct served_study *served, const struct arrival *arrival,
                           const int16_t *row, struct store *store, int64_t now);

/* Stage the collected segment in the store, with room in the indexes made, so
 * that nothing can fail once the sync has succeeded. */
TREMOLO_MUST_USE enum tremolo_status decide_append(struct served_study *served,
                                                   struct store *store);

/* After the sync: ids are known, rows are folded. */
TREMOLO_MUST_USE enum tremolo_status decide_commit(struct served_study *served);

/* After a failure: as if they had never come. */
void decide_drop(struct served_study *served);

#endif
