/* A process ends with 1500 operations pending, a lock and permits held, tokens fetched ahead and a worker
 * number leased; it neither crashes nor hangs. */
#include "check.h"

int main(void) {
    check_case = "exits";
    dlock_client_t* client = open_client();
    dlock_port_t* port = NULL;
    OK(dlock_port_new(&port, error));
    dlock_lock_t* lock = open_lock(client, NULL);
    dlock_semaphore_t* semaphore = open_semaphore(client, 2, NULL);
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    OK(dlock_semaphore_acquire(semaphore, 2, NULL, NULL, error));
    dlock_rate_limiter_options_t ahead = DLOCK_RATE_LIMITER_OPTIONS_INIT;
    ahead.prefetch = 0.5;
    dlock_rate_limiter_t *slow = NULL, *hot = NULL;
    OK(dlock_rate_limiter_open(client, "c/exits/slow", 12, 1, 3600000000, NULL, &slow, error));
    OK(dlock_rate_limiter_reserve(slow, 1, -1, NULL, error));
    OK(dlock_rate_limiter_open(client, "c/exits/hot", 11, 5000, 1000000, &ahead, &hot, error));
    for (int i = 0; i < 2000; i++) OK(dlock_rate_limiter_acquire(hot, 1, -1, NULL, NULL, error));
    dlock_worker_options_t lease = DLOCK_WORKER_OPTIONS_INIT;
    lease.lease_ms = 1000;
    dlock_held_t* worker = NULL;
    dlock_snowflake_t* ids = NULL;
    OK(dlock_worker_lease(client, "c/exits", 7, &lease, &worker, error));
    OK(dlock_worker_snowflake(worker, NULL, &ids, error));
    for (int i = 0; i < 300; i++) OK(dlock_submit_rate_limit(port, slow, 1, -1, NULL, NULL, error));
    for (int i = 0; i < 300; i++) OK(dlock_submit_rate_limit_reserve(port, slow, 1, -1, NULL, NULL, error));
    for (int i = 0; i < 300; i++) OK(dlock_submit_worker_lease(port, client, "c/exits", 7, &lease, NULL, NULL, error));
    for (int i = 0; i < 300; i++) OK(dlock_submit_acquire(port, lock, NULL, NULL, NULL, error));
    for (int i = 0; i < 300; i++) OK(dlock_submit_semaphore_acquire(port, semaphore, 2, NULL, NULL, NULL, error));
    printf("ok exits_with_1500_operations_pending\n");
    return 0;
}
