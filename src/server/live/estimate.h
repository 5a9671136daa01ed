/* estimate.h -- what a study says so far, as JSON. */
#ifndef SERVER_ESTIMATE_H
#define SERVER_ESTIMATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "served_study.h"

/* Level of the intervals unless somebody asks for another. */
#define ESTIMATE_LEVEL 0.95

/* The body of GET .../estimate with intervals of this level; the caller frees *json. Of ESTIMATE_LEVEL
 * it is computed once for every change of the sums and repeated until the next. Any thread. */
TREMOLO_MUST_USE enum tremolo_status estimate_json(char **json, struct served_study *served,
                                                   double level);

/* The same of ESTIMATE_LEVEL without computing or waiting; NULL when it is not known, or not at
 * once. */
char *estimate_kept(struct served_study *served);

/* ---- the threads that compute estimates, so that no request thread does ----
 *
 * A study with hundreds of features needs seconds for one, and a request thread serves thousands of
 * devices. A study is computed by one thread at a time, and all who wait for it when its turn comes
 * at the same level get the same answer; wide studies never have all threads, so that the usual ones do not wait for
 * them; and all threads yield to those that take reports. */

struct question {
    struct question *next;
    struct served_study *served;
    double level; /* of the intervals */
    /* The answer: the estimate, which the asker frees, or why there is none. NULL and OK:
     * it was not computed any more. */
    char *json;
    enum tremolo_status status;
    /* Called once, from one of its threads; the question is the asker's again. */
    void (*done)(struct question *question);
    void *context;
};

struct estimator;

/* From how many features on a study is a wide one: below, an estimate takes milliseconds. */
enum { ESTIMATOR_WIDE = 32 };

/* NULL without memory or threads. Once *stopping is set nothing is computed any more. */
struct estimator *estimator_start(const _Atomic bool *stopping);

/* The callers make sure that no more questions come. NULL is fine. */
void estimator_stop(struct estimator *estimator);

void estimator_ask(struct estimator *estimator, struct question *question);

#endif
