/* estimator.h -- the thread that computes estimates, so that no request thread does.
 *
 * A study with hundreds of features needs seconds for one, and a request thread serves
 * thousands of devices. All who wait for one study when its turn comes get the same
 * answer. */
#ifndef SERVER_ESTIMATOR_H
#define SERVER_ESTIMATOR_H

#include <stdatomic.h>
#include <stdbool.h>

#include "served_study.h"

struct question {
    struct question *next;
    struct served_study *served;
    /* The answer: the estimate, which the asker frees, or why there is none. NULL and OK:
     * it was not computed any more. */
    char *json;
    enum tremolo_status status;
    /* Called once, from the estimator's thread; the question is the asker's again. */
    void (*done)(struct question *question);
    void *context;
};

struct estimator;

/* NULL without memory or threads. Once *stopping is set nothing is computed any more. */
struct estimator *estimator_start(const _Atomic bool *stopping);

/* Nobody may ask any more. NULL is fine. */
void estimator_stop(struct estimator *estimator);

void estimator_ask(struct estimator *estimator, struct question *question);

#endif
