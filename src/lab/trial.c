/* trial.c -- a queue of trials, and threads that take from it.
 *
 * Each trial draws from its own seed and writes to its own place, so results do not depend on which
 * thread ran it. The threads share two numbers alone, the next trial and the first failure, and both
 * are atomic; a failure stops the others at their next trial. */
#include "trial.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tremolo_random.h"

struct queue {
    struct trial *trials;
    size_t count;
    atomic_size_t next;
    atomic_int status;
    const struct tremolo_progress *progress;
};

static int compare(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;
    return a < b ? -1 : a > b;
}

/* The value below which this share of the sorted numbers lies, interpolated between two of them. */
static double quantile(const double *sorted, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

/* Mean, standard deviation and the middle 80% of R^2, which is sorted on the way. */
static struct tremolo_sweep_point point_of(double *r2, size_t repeats)
{
    double sum = 0, squares = 0, count = (double)repeats;
    for (size_t r = 0; r < repeats; r++) {
        sum += r2[r];
        squares += r2[r] * r2[r];
    }
    double variance = (squares - sum * sum / count) / (count - 1);
    qsort(r2, repeats, sizeof *r2, compare);
    return (struct tremolo_sweep_point){.mean = sum / count,
                                        .sd = repeats > 1 && variance > 0 ? sqrt(variance) : 0,
                                        .low = quantile(r2, repeats, 0.1),
                                        .high = quantile(r2, repeats, 0.9)};
}

/* All repeats of one trial, over its splits in turn. */
static enum tremolo_status run_trial(struct trial *trial)
{
    double *r2 = trial->repeats > 0 ? calloc(trial->repeats, sizeof *r2) : NULL;
    enum tremolo_status status = r2 != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
    for (size_t r = 0; r < trial->repeats && status == TREMOLO_OK; r++) {
        const struct tremolo_split *split = &trial->splits[r % trial->split_count];
        struct tremolo_outcome outcome = {.evidence = NULL};
        status = tremolo_experiment_run(&outcome, split, &trial->options,
                                        tremolo_random_hash(trial->seed, r));
        if (status == TREMOLO_OK) {
            r2[r] = tremolo_split_r2(split, trial->part, outcome.beta, outcome.intercept,
                                     tremolo_experiment_reach(&trial->options));
            tremolo_outcome_free(&outcome);
        }
    }
    if (status == TREMOLO_OK) {
        trial->r2 = point_of(r2, trial->repeats);
    }
    free(r2);
    return status;
}

/* A thread's work: trials until there are no more, or one failed. */
static void *take(void *argument)
{
    struct queue *queue = argument;
    for (;;) {
        size_t mine = atomic_fetch_add(&queue->next, 1);
        if (mine >= queue->count || atomic_load(&queue->status) != TREMOLO_OK) {
            return NULL;
        }
        enum tremolo_status status = run_trial(&queue->trials[mine]);
        status = tremolo_progress_add(queue->progress, 1, status);
        if (status != TREMOLO_OK) {
            atomic_store(&queue->status, (int)status);
        }
    }
}

enum tremolo_status trials_run(struct trial *trials, size_t count, const char *what,
                               const struct tremolo_reproduction *reproduction)
{
    struct queue queue = {.trials = trials, .count = count, .progress = reproduction->progress};
    unsigned threads = reproduction->threads;
    pthread_t thread[TREMOLO_MAX_FOLD_THREADS];
    bool started[TREMOLO_MAX_FOLD_THREADS] = {false};
    tremolo_progress_begin(queue.progress, what, count);
    atomic_init(&queue.next, 0);
    atomic_init(&queue.status, TREMOLO_OK);
    for (unsigned t = 1; t < threads; t++) {
        started[t] = pthread_create(&thread[t], NULL, take, &queue) == 0;
    }
    (void)take(&queue);
    for (unsigned t = 1; t < threads; t++) {
        if (started[t]) {
            (void)pthread_join(thread[t], NULL);
        }
    }
    tremolo_progress_end(queue.progress);
    return (enum tremolo_status)atomic_load(&queue.status);
}
