/* trial.c -- a queue of trials and threads that take from it. */
#include "trial.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tremolo_random.h"

struct queue {
    struct trial *trials;
    size_t count;
    atomic_size_t next;
    atomic_int status;
    const struct tremolo_progress *progress;
};

static enum tremolo_status run_trial(struct trial *trial)
{
    double sum = 0, squares = 0, count = (double)trial->repeats;
    for (size_t r = 0; r < trial->repeats; r++) {
        const struct tremolo_split *split = &trial->splits[r % trial->split_count];
        struct tremolo_outcome outcome = {.evidence = NULL};
        enum tremolo_status status = tremolo_experiment_run(&outcome, split, &trial->options,
                                                            tremolo_random_hash(trial->seed, r));
        if (status != TREMOLO_OK) {
            return status;
        }
        double r2 = tremolo_split_r2(split, trial->part, outcome.beta, outcome.intercept);
        sum += r2;
        squares += r2 * r2;
        tremolo_outcome_free(&outcome);
    }
    trial->r2.mean = sum / count;
    double variance = (squares - sum * sum / count) / (count - 1);
    trial->r2.sd = trial->repeats > 1 && variance > 0 ? sqrt(variance) : 0;
    return TREMOLO_OK;
}

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
