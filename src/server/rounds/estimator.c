/* estimator.c -- a queue of questions, answered study by study. */
#include "estimator.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"

struct estimator {
    const _Atomic bool *stopping; /* the server is */
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t wake;
    struct question *first;
    struct question **last;
    bool ending;
};

/* The first question and all others about its study, in their order. Lock held. */
static struct question *take_same(struct estimator *estimator)
{
    struct question *taken = NULL;
    struct question **end = &taken;
    struct question **link = &estimator->first;
    const struct served_study *served = estimator->first->served;
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

static void *estimator_main(void *argument)
{
    struct estimator *estimator = argument;
    (void)pthread_mutex_lock(&estimator->lock);
    while (!estimator->ending || estimator->first != NULL) {
        if (estimator->first == NULL) {
            (void)pthread_cond_wait(&estimator->wake, &estimator->lock);
            continue;
        }
        struct question *questions = take_same(estimator);
        (void)pthread_mutex_unlock(&estimator->lock);
        answer(estimator, questions);
        (void)pthread_mutex_lock(&estimator->lock);
    }
    (void)pthread_mutex_unlock(&estimator->lock);
    return NULL;
}

void estimator_ask(struct estimator *estimator, struct question *question)
{
    question->next = NULL;
    (void)pthread_mutex_lock(&estimator->lock);
    *estimator->last = question;
    estimator->last = &question->next;
    (void)pthread_cond_signal(&estimator->wake);
    (void)pthread_mutex_unlock(&estimator->lock);
}

static void free_estimator(struct estimator *estimator)
{
    (void)pthread_mutex_destroy(&estimator->lock);
    (void)pthread_cond_destroy(&estimator->wake);
    free(estimator);
}

struct estimator *estimator_start(const _Atomic bool *stopping)
{
    struct estimator *estimator = calloc(1, sizeof *estimator);
    if (estimator == NULL) {
        return NULL;
    }
    estimator->stopping = stopping;
    estimator->last = &estimator->first;
    (void)pthread_mutex_init(&estimator->lock, NULL);
    (void)pthread_cond_init(&estimator->wake, NULL);
    if (pthread_create(&estimator->thread, NULL, estimator_main, estimator) != 0) {
        free_estimator(estimator);
        return NULL;
    }
    return estimator;
}

void estimator_stop(struct estimator *estimator)
{
    if (estimator == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&estimator->lock);
    estimator->ending = true;
    (void)pthread_cond_signal(&estimator->wake);
    (void)pthread_mutex_unlock(&estimator->lock);
    (void)pthread_join(estimator->thread, NULL);
    free_estimator(estimator);
}
