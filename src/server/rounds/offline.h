/* offline.h -- a study from a store that no server is using. */
#ifndef SERVER_OFFLINE_H
#define SERVER_OFFLINE_H

#include "served_study.h"

/* The study with this id, or with NULL the only one, recovered. The caller frees *study;
 * on failure it is untouched and words may say why. */
TREMOLO_MUST_USE enum tremolo_status offline_study(struct served_study **served,
                                                   struct store *store, const char *study,
                                                   char *words, size_t words_capacity);

#endif
