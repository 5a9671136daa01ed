/* server_jobs.h -- a job for the writer, and waiting until it is done. */
#ifndef TREMOLO_SERVER_JOBS_H
#define TREMOLO_SERVER_JOBS_H

#include <pthread.h>
#include <string.h>

#include "writer.h"

struct job_waiter {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool done;
};

static inline void job_wake(struct job *job)
{
    struct job_waiter *waiter = job->context;
    (void)pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    (void)pthread_cond_signal(&waiter->wake);
    (void)pthread_mutex_unlock(&waiter->lock);
}

/* False, with nothing done, when the queue is full. */
static inline bool submit_and_wait(struct writer *writer, struct job *job)
{
    struct job_waiter waiter = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    job->done = job_wake;
    job->context = &waiter;
    bool taken = writer_submit(writer, job);
    (void)pthread_mutex_lock(&waiter.lock);
    while (taken && !waiter.done) {
        (void)pthread_cond_wait(&waiter.wake, &waiter.lock);
    }
    (void)pthread_mutex_unlock(&waiter.lock);
    job->context = NULL;
    return taken;
}

static inline struct job job_create(const char *text)
{
    return (struct job){.kind = JOB_CREATE, .create = {text, strlen(text), NULL}};
}

#endif
