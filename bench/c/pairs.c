/*
 * Lock and unlock as fast as CALLERS threads can, each with a lock of its own: the C worker of bench/run.py.
 *
 *     pairs URL CALLERS SECONDS
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dlock.h"

static double length;
static double begun;
static pthread_barrier_t warm, start_line;

struct caller {
    pthread_t thread;
    dlock_lock_t* lock;
    long pairs;
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

static void pair(struct caller* caller) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    check(dlock_lock_acquire(caller->lock, NULL, NULL, &error), &error);
    check(dlock_lock_release(caller->lock, &error), &error);
}

static void* run(void* argument) {
    struct caller* caller = argument;
    pair(caller); /* connections and keys are warm before the clock starts */
    pthread_barrier_wait(&warm);
    pthread_barrier_wait(&start_line);
    while (now() - begun < length) {
        pair(caller);
        caller->pairs++;
    }
    return NULL;
}

int main(int argc, char** argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: pairs URL CALLERS SECONDS\n");
        return 2;
    }
    long count = strtol(argv[2], NULL, 10);
    length = strtod(argv[3], NULL);
    struct caller* callers = calloc((size_t)count, sizeof *callers);
    dlock_client_t* client = NULL;
    dlock_error_t error = DLOCK_ERROR_INIT;
    check(dlock_client_open(argv[1], strlen(argv[1]), NULL, &client, &error), &error);
    pthread_barrier_init(&warm, NULL, (unsigned)count + 1);
    pthread_barrier_init(&start_line, NULL, (unsigned)count + 1);
    for (long i = 0; i < count; i++) {
        char name[32];
        int bytes = snprintf(name, sizeof name, "bench-%ld", i);
        check(dlock_lock_open(client, name, (size_t)bytes, NULL, &callers[i].lock, &error), &error);
        pthread_create(&callers[i].thread, NULL, run, &callers[i]);
    }
    pthread_barrier_wait(&warm);
    puts("ready");
    fflush(stdout);
    while (getchar() != '\n') {
    }

    begun = now();
    pthread_barrier_wait(&start_line);
    long pairs = 0;
    for (long i = 0; i < count; i++) {
        pthread_join(callers[i].thread, NULL);
        pairs += callers[i].pairs;
    }
    printf("{\"pairs\": %ld, \"seconds\": %.6f}\n", pairs, now() - begun);
    fflush(stdout);
    while (getchar() != EOF) { /* the driver reads our CPU time before it lets go */
    }
    for (long i = 0; i < count; i++) dlock_lock_free(callers[i].lock);
    dlock_client_free(client);
    free(callers);
    return 0;
}
