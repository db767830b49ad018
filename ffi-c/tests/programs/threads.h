/* A second thread for a case: runs a function on a lock and gives its status. */
#ifndef THREADS_H
#define THREADS_H

#include "check.h"
#include <pthread.h>

struct job {
    dlock_status_t (*run)(const dlock_lock_t* lock);
    const dlock_lock_t* lock;
    dlock_status_t status;
    pthread_t thread;
};

static inline void* job_main(void* argument) {
    struct job* job = argument;
    job->status = job->run(job->lock);
    return NULL;
}

static inline void start(dlock_status_t (*run)(const dlock_lock_t*), const dlock_lock_t* lock, struct job* job) {
    *job = (struct job){.run = run, .lock = lock, .status = DLOCK_OK};
    CHECK(pthread_create(&job->thread, NULL, job_main, job) == 0);
}

static inline dlock_status_t finish(struct job* job) {
    CHECK(pthread_join(job->thread, NULL) == 0);
    return job->status;
}

static inline dlock_status_t in_another_thread(dlock_status_t (*run)(const dlock_lock_t*), const dlock_lock_t* lock) {
    struct job job;
    start(run, lock, &job);
    return finish(&job);
}

static inline dlock_status_t try_it(const dlock_lock_t* lock) { return dlock_lock_try_acquire(lock, NULL, NULL); }
static inline dlock_status_t release_it(const dlock_lock_t* lock) { return dlock_lock_release(lock, NULL); }
static inline dlock_status_t wait_for_it(const dlock_lock_t* lock) {
    dlock_status_t status = dlock_lock_acquire(lock, NULL, NULL, NULL);
    return status == DLOCK_OK ? dlock_lock_release(lock, NULL) : status;
}

#endif
