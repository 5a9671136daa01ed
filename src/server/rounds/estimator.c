/* estimator.c -- a queue of questions, answered study by study. */
#include "estimator.h"

#include <stdlib.h>
#include <string.h>

#include "background.h"
#include "estimate.h"

struct estimator {
    const _Atomic bool *stopping; /* the server is */
    struct background thread;     /* its lock guards all below */
    struct question *first;
    struct question **last;
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
    background_lock(&estimator->thread);
    while (!estimator->thread.stopping || estimator->first != NULL) {
        if (estimator->first == NULL) {
            (void)pthread_cond_wait(&estimator->thread.wake, &estimator->thread.lock);
            continue;
        }
        struct question *questions = take_same(estimator);
        background_unlock(&estimator->thread);
        answer(estimator, questions);
        background_lock(&estimator->thread);
    }
    background_unlock(&estimator->thread);
    return NULL;
}

void estimator_ask(struct estimator *estimator, struct question *question)
{
    question->next = NULL;
    background_lock(&estimator->thread);
    *estimator->last = question;
    estimator->last = &question->next;
    background_signal(&estimator->thread);
    background_unlock(&estimator->thread);
}

struct estimator *estimator_start(const _Atomic bool *stopping)
{
    struct estimator *estimator = calloc(1, sizeof *estimator);
    if (estimator == NULL) {
        return NULL;
    }
    estimator->stopping = stopping;
    estimator->last = &estimator->first;
    background_init(&estimator->thread);
    if (!background_start(&estimator->thread, estimator_main, estimator)) {
        background_free(&estimator->thread);
        free(estimator);
        return NULL;
    }
    return estimator;
}

void estimator_stop(struct estimator *estimator)
{
    if (estimator != NULL) {
        background_stop(&estimator->thread);
        background_free(&estimator->thread);
        free(estimator);
    }
}
