/* estimator.c -- a queue of questions, answered study by study. */
#include "estimator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "background.h"
#include "estimate.h"

enum { THREADS = BACKGROUND_THREADS, WIDE_MAX = THREADS - 1, NICENESS = 5 };

struct estimator {
    const _Atomic bool *stopping; /* the server is */
    struct background threads;    /* their lock guards all below */
    struct served_study *under_way[THREADS];
    struct question *first;
    struct question **last;
};

static bool is_wide(const struct served_study *served)
{
    return served->study->dimension >= ESTIMATOR_WIDE;
}

/* May a thread begin with this study? Lock held. */
static bool is_free(const struct estimator *estimator, const struct served_study *served)
{
    unsigned wide = 0;
    for (size_t i = 0; i < THREADS; i++) {
        const struct served_study *other = estimator->under_way[i];
        if (other == served) {
            return false;
        }
        wide += other != NULL && is_wide(other);
    }
    return !is_wide(served) || wide < WIDE_MAX;
}

/* The first study whose turn it is, or NULL. Lock held. */
static struct served_study *next_study(const struct estimator *estimator)
{
    const struct question *question = estimator->first;
    while (question != NULL && !is_free(estimator, question->served)) {
        question = question->next;
    }
    return question != NULL ? question->served : NULL;
}

/* All questions about a study, in their order. Lock held. */
static struct question *take_all(struct estimator *estimator, const struct served_study *served)
{
    struct question *taken = NULL;
    struct question **end = &taken;
    struct question **link = &estimator->first;
    while (*link != NULL) {
        struct question *question = *link;
        if (question->served != served) {
            link = &question->next;
            continue;
        }
        *link = question->next;
        question->next = NULL;
        *end = question;
        end = &question->next;
    }
    estimator->last = link;
    return taken;
}

/* Each question gets its own copy. */
static void answer_all(struct question *questions, enum tremolo_status status, const char *json)
{
    while (questions != NULL) {
        struct question *question = questions;
        questions = question->next;
        question->json = json != NULL ? strdup(json) : NULL;
        question->status = json != NULL && question->json == NULL ? TREMOLO_NO_MEMORY : status;
        question->done(question);
    }
}

static void answer(const struct estimator *estimator, struct question *questions)
{
    char *json = NULL;
    enum tremolo_status status = TREMOLO_OK;
    if (!atomic_load(estimator->stopping)) {
        status = estimate_json(&json, questions->served);
    }
    answer_all(questions, status, json);
    free(json);
}

/* Answer all who wait for a study now. Lock held, but not while it computes. */
static void serve(struct estimator *estimator, struct served_study *served)
{
    size_t place = 0;
    while (estimator->under_way[place] != NULL) {
        place++;
    }
    estimator->under_way[place] = served;
    struct question *questions = take_all(estimator, served);
    background_unlock(&estimator->threads);
    answer(estimator, questions);
    background_lock(&estimator->threads);
    estimator->under_way[place] = NULL;
    background_signal(&estimator->threads);
}

static void *estimator_main(void *argument)
{
    struct estimator *estimator = argument;
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    background_lock(&estimator->threads);
    while (!estimator->threads.stopping || estimator->first != NULL) {
        struct served_study *served = next_study(estimator);
        if (served != NULL) {
            serve(estimator, served);
        } else {
            (void)pthread_cond_wait(&estimator->threads.wake, &estimator->threads.lock);
        }
    }
    background_unlock(&estimator->threads);
    return NULL;
}

void estimator_ask(struct estimator *estimator, struct question *question)
{
    question->next = NULL;
    background_lock(&estimator->threads);
    *estimator->last = question;
    estimator->last = &question->next;
    background_signal(&estimator->threads);
    background_unlock(&estimator->threads);
}

struct estimator *estimator_start(const _Atomic bool *stopping)
{
    struct estimator *estimator = calloc(1, sizeof *estimator);
    if (estimator == NULL) {
        return NULL;
    }
    estimator->stopping = stopping;
    estimator->last = &estimator->first;
    background_init(&estimator->threads);
    for (size_t i = 0; i < THREADS; i++) {
        if (!background_start(&estimator->threads, estimator_main, estimator)) {
            estimator_stop(estimator);
            return NULL;
        }
    }
    return estimator;
}

void estimator_stop(struct estimator *estimator)
{
    if (estimator != NULL) {
        background_free(&estimator->threads);
        free(estimator);
    }
}
