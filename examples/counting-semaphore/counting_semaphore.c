/* Two clients, of which one takes permits and the other brings them back. */
#include <dlock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dlock_error_t error = DLOCK_ERROR_INIT;

static void check(dlock_status_t status) {
    if (status >= DLOCK_OK) return;
    fprintf(stderr, "%s %s: %s\n", error.op, error.name, error.message);
    exit(1);
}

static dlock_counting_semaphore_t* open_semaphore(const dlock_client_t* client) {
    const char* name = "example-counting-semaphore";
    dlock_counting_semaphore_t* semaphore = NULL;
    check(dlock_counting_semaphore_open(client, name, strlen(name), &semaphore, &error));
    return semaphore;
}

int main(void) {
    const char* url = getenv("REDIS_URL");
    dlock_client_t *first = NULL, *second = NULL;
    if (url == NULL) url = "redis://127.0.0.1:6379";
    check(dlock_client_open(url, strlen(url), NULL, &first, &error));
    check(dlock_client_open(url, strlen(url), NULL, &second, &error));
    dlock_counting_semaphore_t *slots = open_semaphore(first), *same = open_semaphore(second);

    int64_t drained = 0;
    check(dlock_counting_semaphore_drain(slots, &drained, &error));
    check(dlock_counting_semaphore_add_permits(slots, 2, &error));
    check(dlock_counting_semaphore_acquire(slots, 2, -1, NULL, &error));
    printf("the first client has taken both permits\n");

    dlock_status_t status = dlock_counting_semaphore_try_acquire(same, 1, &error);
    check(status);
    if (status == DLOCK_BUSY) printf("the second client finds none available\n");

    /* By whomever: a permit has no owner. */
    check(dlock_counting_semaphore_release(same, 2, &error));
    dlock_counting_semaphore_inspection_t seen = DLOCK_COUNTING_SEMAPHORE_INSPECTION_INIT;
    check(dlock_counting_semaphore_inspect(slots, &seen, &error));
    printf("the second client has brought %" PRId64 " back\n", seen.available);

    dlock_counting_semaphore_free(slots);
    dlock_counting_semaphore_free(same);
    dlock_client_free(first);
    dlock_client_free(second);
    return 0;
}
