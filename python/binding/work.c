/* work.c -- what the binding adds to the library's headers: a progress that a thread of
 * Python reads and stops, without ever being called. */
#include <stdatomic.h>
#include <stdlib.h>

#include "tremolo_client.h"
#include "tremolo_planning.h"
#include "tremolo_predict.h"
#include "tremolo_estimate.h"
#include "tremolo_regression.h"
#include "tremolo_server.h"
#include "tremolo_simulation.h"
#include "tremolo_terms.h"

struct work {
    struct tremolo_progress progress;
    atomic_size_t done, steps;
    atomic_bool stop;
};

static void begin(void *context, const char *what, size_t steps)
{
    struct work *work = context;
    (void)what;
    atomic_store(&work->done, 0);
    atomic_store(&work->steps, steps);
}

static bool add(void *context, size_t steps)
{
    struct work *work = context;
    atomic_fetch_add(&work->done, steps);
    return !atomic_load(&work->stop);
}

static void end(void *context)
{
    (void)context;
}

static struct work *work_new(void)
{
    struct work *work = calloc(1, sizeof *work);
    if (work != NULL) {
        work->progress = (struct tremolo_progress){begin, add, end, work};
    }
    return work;
}

static void work_free(struct work *work)
{
    free(work);
}

static const struct tremolo_progress *work_progress(struct work *work)
{
    return &work->progress;
}

static size_t work_done(struct work *work)
{
    return atomic_load(&work->done);
}

static size_t work_steps(struct work *work)
{
    return atomic_load(&work->steps);
}

static void work_stop(struct work *work)
{
    atomic_store(&work->stop, true);
}
