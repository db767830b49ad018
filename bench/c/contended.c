/* Many callers of one lock: how often it changes hands, and how long each of them waits. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "worker.h"

#define WINDOW_FROM_NS 500000000 /* before a window is counted, all processes are at work */
#define BUCKETS 2048             /* 32 of them double the time: 2^(n/32) ns */

static dlock_lock_t* lock;
static int64_t from, to;
static pthread_barrier_t start_line;

/* One caller's share: holds that began within the window count, all others only keep the lock wanted. */
struct caller {
    pthread_t thread;
    long buckets[BUCKETS];
    long done, all;
    double waited;
};

static void* run(void* argument) {
    struct caller* caller = argument;
    pthread_barrier_wait(&start_line);
    for (int64_t asked = now_ns(); asked < to; asked = now_ns()) {
        take(lock);
        int64_t granted = now_ns();
        caller->all++;
        if (from <= granted && granted < to) {
            int64_t wait = granted > asked ? granted - asked : 1;
            caller->buckets[lround(32 * log2((double)wait))]++;
            caller->waited += (double)wait * 1e-9;
            caller->done++;
        }
        let_go(lock);
    }
    return NULL;
}

void contended(const struct client_and_size* size) {
    size_t count = (size_t)size->callers;
    struct caller* callers = calloc(count, sizeof *callers);
    warm_up(size->client);
    lock = open_lock(size->client, "bench");
    pthread_barrier_init(&start_line, NULL, (unsigned)count + 1);
    for (size_t i = 0; i < count; i++) pthread_create(&callers[i].thread, NULL, run, &callers[i]);
    ready();
    from = now_ns() + WINDOW_FROM_NS;
    to = from + (int64_t)(size->seconds * 1e9);
    pthread_barrier_wait(&start_line);
    struct caller sum = {0};
    for (size_t i = 0; i < count; i++) {
        pthread_join(callers[i].thread, NULL);
        sum.done += callers[i].done;
        sum.all += callers[i].all;
        sum.waited += callers[i].waited;
        for (int bucket = 0; bucket < BUCKETS; bucket++) sum.buckets[bucket] += callers[i].buckets[bucket];
    }
    printf("{\"done\": %ld, \"seconds\": %.3f, \"all\": %ld, \"waited\": %.6f, \"waits\": [", sum.done, size->seconds,
           sum.all, sum.waited);
    const char* comma = "";
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        if (sum.buckets[bucket] == 0) continue;
        printf("%s[%d, %ld]", comma, bucket, sum.buckets[bucket]);
        comma = ", ";
    }
    puts("]}");
    wait_for_end();
    dlock_lock_free(lock);
    free(callers);
}

/* Two processes take turns: takes `bench`, holds it, lets go; tells when it had it and when it called release. */
void handover(const struct client_and_size* size) {
    const struct timespec hold = {0, 2000000}; /* in which the other process is waiting for sure */
    warm_up(size->client);
    lock = open_lock(size->client, "bench");
    ready();
    const char* comma = "";
    printf("{\"turns\": [");
    for (double end = now() + size->seconds; now() < end;) {
        take(lock);
        int64_t taken = now_ns();
        nanosleep(&hold, NULL);
        int64_t released = now_ns();
        let_go(lock);
        printf("%s[%lld, %lld]", comma, (long long)taken, (long long)released);
        comma = ", ";
    }
    puts("]}");
    wait_for_end();
    dlock_lock_free(lock);
}
