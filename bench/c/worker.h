/* What the parts of the C worker share. */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "dlock.h"

struct client_and_size {
    dlock_client_t* client;
    long callers;
    double seconds;
};

/* On CLOCK_MONOTONIC, which all processes of the machine share. */
int64_t now_ns(void);
double now(void);

/* Ends the process when a call failed. */
void check(dlock_status_t status, const dlock_error_t* error);

dlock_lock_t* open_lock(dlock_client_t* client, const char* name);
void take(dlock_lock_t* lock);
void let_go(dlock_lock_t* lock);
/* Takes a lock of this process alone, so that connections are warm, and lets go of it. */
void warm_up(dlock_client_t* client);

/* The protocol: says that all is warm and returns when the driver says go; returns when the driver is done with us. */
void ready(void);
void wait_for_end(void);

/* What is measured, one file each. */
int loops(const char* what, const struct client_and_size* size);
void contended(const struct client_and_size* size);
void handover(const struct client_and_size* size);
void lost(const struct client_and_size* size);

#endif
