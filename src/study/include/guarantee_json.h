/* guarantee_json.h -- a guarantee as JSON, the same in every document. */
#ifndef TREMOLO_GUARANTEE_JSON_H
#define TREMOLO_GUARANTEE_JSON_H

#include <jansson.h>

struct tremolo_explanation;
struct tremolo_promise;
struct tremolo_study_file;

/* "reviewer", "participant" and "differences", an array of objects with the
 * members of struct tremolo_difference; what is infinite is null: no epsilon
 * means no protection, no distance that all are the same. NULL without
 * memory. The caller owns it. */
json_t *guarantee_words_json(const struct tremolo_explanation *explanation);

/* What the study promises at its own delta: "epsilon", "delta", "mu", "rho",
 * "neighbours" ("any" or "distance=R"), "protects" ("all" or "features"), "releases",
 * "attacker_right" and "tradeoff", and the words. NULL when it cannot be said. The
 * caller owns it. */
json_t *guarantee_study_json(const struct tremolo_study_file *file);

/* The same of a promise that costs this epsilon at its delta. */
json_t *guarantee_promise_json(const struct tremolo_promise *promise, double epsilon);

#endif
