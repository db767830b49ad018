/* What the programs of queues share. */
#ifndef QUEUES_H
#define QUEUES_H

#include "check.h"

static inline dlock_queue_t* open_queue(const dlock_client_t* client, const dlock_queue_options_t* options) {
    char name[256];
    size_t length = case_name(name, sizeof name);
    dlock_queue_t* queue = NULL;
    OK(dlock_queue_open(client, name, length, options, &queue, error));
    return queue;
}

static inline dlock_job_t job_of(const char* payload, size_t length) {
    dlock_job_t job = DLOCK_JOB_INIT;
    job.payload = payload;
    job.payload_len = length;
    return job;
}

static inline void put_text(const dlock_queue_t* queue, const char* text) {
    const dlock_job_t job = job_of(text, strlen(text));
    dlock_put_t put = DLOCK_PUT_INIT;
    OK(dlock_queue_put(queue, &job, &put, error));
    CHECK(put.is_new);
}

static inline dlock_held_t* take(const dlock_queue_t* queue) {
    dlock_held_t* held = NULL;
    OK(dlock_queue_take(queue, bound_ms(10000), NULL, &held, error));
    return held;
}

static inline int64_t attempt_of(const dlock_held_t* held) {
    dlock_delivery_t got = DLOCK_DELIVERY_INIT;
    OK(dlock_delivery_job(held, &got, error));
    return got.attempt;
}

/* The queue has so many jobs. */
static inline void has(const dlock_queue_t* queue, uint64_t ready, uint64_t delayed, uint64_t in_flight,
                       uint64_t dead) {
    dlock_queue_counts_t counts = DLOCK_QUEUE_COUNTS_INIT;
    OK(dlock_queue_counts(queue, &counts, error));
    CHECK(counts.ready == ready && counts.delayed == delayed && counts.in_flight == in_flight && counts.dead == dead);
}

#endif
