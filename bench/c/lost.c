/* A server that goes away under held locks. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

struct hold {
    pthread_t thread;
    dlock_held_t* held;
    double margin_ms; /* from the signal to the end of validity */
};

static void* wait_for_loss(void* argument) {
    struct hold* hold = argument;
    dlock_error_t error = DLOCK_ERROR_INIT;
    int64_t remaining_ms = 0;
    dlock_loss_t loss = DLOCK_LOSS_NONE;
    int64_t asked = now_ns();
    check(dlock_held_remaining_ms(hold->held, &remaining_ms, &error), &error);
    check(dlock_held_wait_lost(hold->held, -1, NULL, &loss, &error), &error);
    hold->margin_ms = (double)(asked - now_ns()) * 1e-6 + (double)remaining_ms;
    if (loss == DLOCK_LOSS_NONE) exit(1);
    return NULL;
}

/* Holds so many locks; from the start on the server does not answer. */
void lost(const struct client_and_size* size) {
    const struct timespec apart = {0, 5000000}; /* so that the leases end one after the other */
    size_t count = (size_t)size->callers;
    struct hold* holds = calloc(count, sizeof *holds);
    for (size_t i = 0; i < count; i++) {
        dlock_error_t error = DLOCK_ERROR_INIT;
        char name[32];
        snprintf(name, sizeof name, "bench-%zu", i);
        dlock_lock_t* lock = open_lock(size->client, name);
        take(lock);
        check(dlock_lock_held(lock, &holds[i].held, &error), &error);
        nanosleep(&apart, NULL);
    }
    ready();
    for (size_t i = 0; i < count; i++) pthread_create(&holds[i].thread, NULL, wait_for_loss, &holds[i]);
    const char* comma = "";
    printf("{\"margins_ms\": [");
    for (size_t i = 0; i < count; i++) {
        pthread_join(holds[i].thread, NULL);
        printf("%s%.3f", comma, holds[i].margin_ms);
        comma = ", ";
    }
    puts("]}");
    wait_for_end();
    _exit(0); /* nothing is left to release */
}
