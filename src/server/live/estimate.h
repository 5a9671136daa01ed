/* estimate.h -- what a study says so far, as JSON. */
#ifndef SERVER_ESTIMATE_H
#define SERVER_ESTIMATE_H

#include "served_study.h"

/* The body of GET .../estimate; the caller frees *json. Computed once for
 * every change of the fold and repeated until the next. Any thread. */
TREMOLO_MUST_USE enum tremolo_status estimate_json(char **json, struct served_study *served);

/* The same with intervals of this level, computed anew. */
TREMOLO_MUST_USE enum tremolo_status estimate_at_level(char **json, struct served_study *served,
                                                       double level);

/* The same without computing or waiting: NULL when it is not known, or not at once. */
char *estimate_kept(struct served_study *served);

/* Its member "guarantee" alone, which says nothing of the reports. The caller frees it. */
TREMOLO_MUST_USE enum tremolo_status estimate_guarantee_json(char **json,
                                                             const struct served_study *served);

/* A study at a glance, for lists: made when its estimate is, so that a list of many studies computes
 * nothing. Of the estimate's document "devices_needed" and "guarantee" without its long words, how many
 * effects are significant ("told") of so many "features", and "learnt", the sentence of the largest
 * one, or null. NULL without memory; the caller owns it. (summary.c) */
json_t *summary_of(const json_t *document);

#endif
