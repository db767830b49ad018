/* A second thread for a case: runs a function on a lock, or on another object, and gives its status. */
#ifndef THREADS_H
#define THREADS_H

#include "check.h"
#include <pthread.h>

struct job {
    dlock_status_t (*run)(const void* object);
    const void* object;
    dlock_status_t status;
    dlock_error_t error;
    pthread_t thread;
};

/* Where what a job runs reports its error. */
static _Thread_local dlock_error_t job_error = DLOCK_ERROR_INIT;

static inline void* job_main(void* argument) {
    struct job* job = argument;
    job_error = (dlock_error_t)DLOCK_ERROR_INIT;
    job->status = job->run(job->object);
    job->error = job_error;
    return NULL;
}

static inline void start(dlock_status_t (*run)(const void*), const void* object, struct job* job) {
    *job = (struct job){.run = run, .object = object, .status = DLOCK_OK};
    CHECK(pthread_create(&job->thread, NULL, job_main, job) == 0);
}

static inline dlock_status_t finish(struct job* job) {
    CHECK(pthread_join(job->thread, NULL) == 0);
    return job->status;
}

/* The job ends with this status. */
#define ENDS(expected, job)                                                                                            \
    do {                                                                                                               \
        if (finish(job) != (expected)) check_failed(__FILE__, __LINE__, #job " ended", &(job)->error);                 \
    } while (0)

static inline dlock_status_t in_another_thread(dlock_status_t (*run)(const void*), const void* object) {
    struct job job;
    start(run, object, &job);
    return finish(&job);
}

static inline dlock_status_t try_it(const void* lock) { return dlock_lock_try_acquire(lock, NULL, &job_error); }
static inline dlock_status_t release_it(const void* lock) { return dlock_lock_release(lock, &job_error); }
static inline dlock_status_t wait_for_it(const void* lock) {
    dlock_status_t status = dlock_lock_acquire(lock, NULL, NULL, &job_error);
    return status == DLOCK_OK ? dlock_lock_release(lock, &job_error) : status;
}

#endif
