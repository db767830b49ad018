/*
 * The C worker of bench/run.py; see bench/README.md.
 *
 *     c-worker WHAT URL CALLERS SECONDS
 */
#define _POSIX_C_SOURCE 200809L
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

double now(void) { return (double)now_ns() * 1e-9; }

void check(dlock_status_t status, const dlock_error_t* error) {
    if (status != DLOCK_OK) {
        fprintf(stderr, "%s: %s: %s\n", error->op, dlock_status_name(status), error->message);
        exit(1);
    }
}

dlock_lock_t* open_lock(dlock_client_t* client, const char* name) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    dlock_lock_t* lock = NULL;
    check(dlock_lock_open(client, name, strlen(name), NULL, &lock, &error), &error);
    return lock;
}

void take(dlock_lock_t* lock) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    check(dlock_lock_acquire(lock, NULL, NULL, &error), &error);
}

void let_go(dlock_lock_t* lock) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    check(dlock_lock_release(lock, &error), &error);
}

void warm_up(dlock_client_t* client) {
    char name[32];
    snprintf(name, sizeof name, "warm-%ld", (long)getpid());
    dlock_lock_t* lock = open_lock(client, name);
    take(lock);
    let_go(lock);
    dlock_lock_free(lock);
}

void ready(void) {
    puts("ready");
    fflush(stdout);
    while (getchar() != '\n') {
    }
}

void wait_for_end(void) {
    fflush(stdout);
    while (getchar() != EOF) {
    }
}

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: c-worker WHAT URL CALLERS SECONDS\n");
        return 2;
    }
    const char* what = argv[1];
    struct client_and_size size = {NULL, strtol(argv[3], NULL, 10), strtod(argv[4], NULL)};
    dlock_error_t error = DLOCK_ERROR_INIT;
    check(dlock_client_open(argv[2], strlen(argv[2]), NULL, &size.client, &error), &error);
    if (strcmp(what, "contended") == 0) {
        contended(&size);
    } else if (strcmp(what, "handover") == 0) {
        handover(&size);
    } else if (strcmp(what, "lost") == 0) {
        lost(&size);
    } else if (!loops(what, &size)) {
        fprintf(stderr, "there is no %s\n", what);
        return 2;
    }
    dlock_client_free(size.client);
    return 0;
}
