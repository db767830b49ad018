/*
 * The C worker of bench/run.py: does something as often as CALLERS threads can in SECONDS.
 *
 *     worker pairs|decisions|ids|batches URL CALLERS SECONDS
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dlock.h"

#define BATCH 1000 /* ids */

static double length;
static double begun;
static pthread_barrier_t warm, start_line;

struct caller {
    pthread_t thread;
    long (*work)(struct caller*); /* does it once or some times; says how many */
    dlock_lock_t* lock;
    dlock_rate_limiter_t* limiter;
    dlock_snowflake_t* ids;
    long done;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void check(dlock_status_t status, const dlock_error_t* error) {
    if (status != DLOCK_OK) {
        fprintf(stderr, "%s: %s: %s\n", error->op, dlock_status_name(status), error->message);
        exit(1);
    }
}

static long pair(struct caller* caller) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    check(dlock_lock_acquire(caller->lock, NULL, NULL, &error), &error);
    check(dlock_lock_release(caller->lock, &error), &error);
    return 1;
}

static long decision(struct caller* caller) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    dlock_decision_t told = DLOCK_DECISION_INIT;
    check(dlock_rate_limiter_try_acquire(caller->limiter, 1, &told, &error), &error);
    return 1;
}

static long one_by_one(struct caller* caller) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    int64_t id;
    /* Asking for the time costs as much as an id. */
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
    char name[32];
    if (strcmp(what, "pairs") == 0) {
        int bytes = snprintf(name, sizeof name, "bench-%ld", number);
        check(dlock_lock_open(client, name, (size_t)bytes, NULL, &caller->lock, &error), &error);
        caller->work = pair;
    } else if (strcmp(what, "decisions") == 0) {
        /* So wide that nobody is refused. */
        check(dlock_rate_limiter_open(client, "bench", 5, 1000000, 1000000, NULL, &caller->limiter, &error), &error);
        caller->work = decision;
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

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: worker pairs|decisions|ids|batches URL CALLERS SECONDS\n");
        return 2;
    }
    long count = strtol(argv[3], NULL, 10);
    length = strtod(argv[4], NULL);
    struct caller* callers = calloc((size_t)count, sizeof *callers);
    dlock_client_t* client = NULL;
    dlock_error_t error = DLOCK_ERROR_INIT;
    check(dlock_client_open(argv[2], strlen(argv[2]), NULL, &client, &error), &error);
    pthread_barrier_init(&warm, NULL, (unsigned)count + 1);
    pthread_barrier_init(&start_line, NULL, (unsigned)count + 1);
    for (long i = 0; i < count; i++) {
        if (!prepare(&callers[i], argv[1], client, i)) {
            fprintf(stderr, "there is no %s\n", argv[1]);
            return 2;
        }
        pthread_create(&callers[i].thread, NULL, run, &callers[i]);
    }
    pthread_barrier_wait(&warm);
    puts("ready");
    fflush(stdout);
    while (getchar() != '\n') {
    }

    begun = now();
    pthread_barrier_wait(&start_line);
    long done = 0;
    for (long i = 0; i < count; i++) {
        pthread_join(callers[i].thread, NULL);
        done += callers[i].done;
    }
    printf("{\"done\": %ld, \"seconds\": %.6f}\n", done, now() - begun);
    fflush(stdout);
    while (getchar() != EOF) { /* the driver reads our CPU time before it lets go */
    }
    for (long i = 0; i < count; i++) {
        dlock_lock_free(callers[i].lock);
        dlock_rate_limiter_free(callers[i].limiter);
        dlock_snowflake_free(callers[i].ids);
    }
    dlock_client_free(client);
    free(callers);
    return 0;
}
