/* What callers do again and again, none in the way of another: pairs, acquires, re-entry, reads, decisions, ids. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker.h"

#define BATCH 1000 /* ids, and what is quick between two looks at the clock */

static double length;
static double begun;
static pthread_barrier_t warm, start_line;

struct caller {
    pthread_t thread;
    long (*work)(struct caller*); /* does it once or some times; says how many */
    dlock_lock_t* lock;
    dlock_rw_lock_t* reads;
    dlock_rate_limiter_t* limiter;
    dlock_queue_t* queue;
    dlock_snowflake_t* ids;
    dlock_client_t* client;
    long number; /* its own */
    long named;  /* locks */
    long done;
};

static long pair(struct caller* caller) {
    take(caller->lock);
    let_go(caller->lock);
    return 1;
}

/* Another lock every time, which is held until the process ends. */
static long acquire(struct caller* caller) {
    char name[64];
    snprintf(name, sizeof name, "bench-%ld-%ld", caller->number, caller->named++);
    take(open_lock(caller->client, name));
    return 1;
}

/* Each thread takes its lock the first time it comes by, and never lets go of it. */
static long reentry(struct caller* caller) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    uint32_t count = 0;
    check(dlock_lock_hold_count(caller->lock, &count, &error), &error);
    if (count == 0) take(caller->lock);
    for (int i = 0; i < BATCH; i++) {
        take(caller->lock);
        let_go(caller->lock);
    }
    return BATCH;
}

/* With others inside: who reads alone ends the hold. */
static long read_once(struct caller* caller) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    check(dlock_rw_lock_acquire(caller->reads, NULL, NULL, &error), &error);
    sched_yield();
    check(dlock_rw_lock_release(caller->reads, &error), &error);
    return 1;
}

static long decision(struct caller* caller) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    dlock_decision_t told = DLOCK_DECISION_INIT;
    check(dlock_rate_limiter_try_acquire(caller->limiter, 1, &told, &error), &error);
    return 1;
}

/* A job is put, one is taken, and ended. */
static long job(struct caller* caller) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    dlock_job_t job = DLOCK_JOB_INIT;
    dlock_held_t* held = NULL;
    char payload[100];
    memset(payload, 'x', sizeof payload);
    job.payload = payload;
    job.payload_len = sizeof payload;
    check(dlock_queue_put(caller->queue, &job, NULL, &error), &error);
    check(dlock_queue_take(caller->queue, -1, NULL, &held, &error), &error);
    check(dlock_delivery_ack(held, &error), &error);
    dlock_held_free(held);
    return 1;
}

/* Of a limiter that hardly ever asks the server. */
static long prefetched(struct caller* caller) {
    for (int i = 0; i < BATCH; i++) decision(caller);
    return BATCH;
}

static long one_by_one(struct caller* caller) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    int64_t id;
    for (int i = 0; i < BATCH; i++) check(dlock_snowflake_next_id(caller->ids, &id, &error), &error);
    return BATCH;
}

static long batch(struct caller* caller) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    int64_t ids[BATCH];
    check(dlock_snowflake_next_ids(caller->ids, ids, BATCH, &error), &error);
    return BATCH;
}

/* What each caller is to do, and what it needs for that. */
static int prepare(struct caller* caller, const char* what, dlock_client_t* client, long number) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    if (strcmp(what, "pairs") == 0 || strcmp(what, "reentry") == 0) {
        char name[32];
        snprintf(name, sizeof name, "bench-%ld", number);
        caller->lock = open_lock(client, name);
        caller->work = strcmp(what, "pairs") == 0 ? pair : reentry;
    } else if (strcmp(what, "acquires") == 0) {
        caller->client = client;
        caller->number = number;
        caller->work = acquire;
    } else if (strcmp(what, "reads") == 0) {
        check(dlock_rw_lock_open(client, "bench", 5, DLOCK_SIDE_READ, NULL, &caller->reads, &error), &error);
        caller->work = read_once;
    } else if (strcmp(what, "jobs") == 0) {
        check(dlock_queue_open(client, "bench", 5, NULL, &caller->queue, &error), &error);
        caller->work = job;
    } else if (strcmp(what, "decisions") == 0) {
        /* So wide that nobody is refused. */
        check(dlock_rate_limiter_open(client, "bench", 5, 1000000, 1000000, NULL, &caller->limiter, &error), &error);
        caller->work = decision;
    } else if (strcmp(what, "prefetched") == 0) {
        dlock_rate_limiter_options_t ahead = DLOCK_RATE_LIMITER_OPTIONS_INIT;
        ahead.prefetch = 0.5;
        check(dlock_rate_limiter_open(client, "bench", 5, 1000000000, 1000000, &ahead, &caller->limiter, &error),
              &error);
        caller->work = prefetched;
    } else {
        check(dlock_snowflake_open(1, 1, NULL, &caller->ids, &error), &error);
        caller->work = strcmp(what, "ids") == 0 ? one_by_one : strcmp(what, "batches") == 0 ? batch : NULL;
    }
    return caller->work != NULL;
}

static void* run(void* argument) {
    struct caller* caller = argument;
    caller->work(caller); /* connections and keys are warm before the clock starts */
    pthread_barrier_wait(&warm);
    pthread_barrier_wait(&start_line);
    while (now() - begun < length) {
        caller->done += caller->work(caller);
    }
    return NULL;
}

int loops(const char* what, const struct client_and_size* size) {
    size_t count = (size_t)size->callers;
    struct caller* callers = calloc(count, sizeof *callers);
    length = size->seconds;
    pthread_barrier_init(&warm, NULL, (unsigned)count + 1);
    pthread_barrier_init(&start_line, NULL, (unsigned)count + 1);
    for (size_t i = 0; i < count; i++) {
        if (!prepare(&callers[i], what, size->client, (long)i)) return 0;
        pthread_create(&callers[i].thread, NULL, run, &callers[i]);
    }
    pthread_barrier_wait(&warm);
    ready();
    begun = now();
    pthread_barrier_wait(&start_line);
    long done = 0;
    for (size_t i = 0; i < count; i++) {
        pthread_join(callers[i].thread, NULL);
        done += callers[i].done;
    }
    printf("{\"done\": %ld, \"seconds\": %.6f}\n", done, now() - begun);
    wait_for_end();
    for (size_t i = 0; i < count; i++) {
        dlock_lock_free(callers[i].lock);
        dlock_rw_lock_free(callers[i].reads);
        dlock_rate_limiter_free(callers[i].limiter);
        dlock_queue_free(callers[i].queue);
        dlock_snowflake_free(callers[i].ids);
    }
    free(callers);
    return 1;
}
