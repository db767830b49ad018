/* Two clients share a read-write lock. */
#include <dlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dlock_error_t error = DLOCK_ERROR_INIT;

static void check(dlock_status_t status) {
    if (status >= DLOCK_OK) return;
    fprintf(stderr, "%s %s: %s\n", error.op, error.name, error.message);
    exit(1);
}

/* A handle of one side. */
static dlock_rw_lock_t* side(const dlock_client_t* client, dlock_side_t which) {
    const char* name = "example-rw-lock";
    dlock_rw_lock_t* opened = NULL;
    check(dlock_rw_lock_open(client, name, strlen(name), which, NULL, &opened, &error));
    return opened;
}

int main(void) {
    const char* url = getenv("REDIS_URL");
    dlock_client_t *first = NULL, *second = NULL;
    if (url == NULL) url = "redis://127.0.0.1:6379";
    check(dlock_client_open(url, strlen(url), NULL, &first, &error));
    check(dlock_client_open(url, strlen(url), NULL, &second, &error));
    dlock_rw_lock_t *first_reads = side(first, DLOCK_SIDE_READ), *second_reads = side(second, DLOCK_SIDE_READ);
    dlock_rw_lock_t* second_writes = side(second, DLOCK_SIDE_WRITE);

    check(dlock_rw_lock_acquire(first_reads, NULL, NULL, &error));
    check(dlock_rw_lock_acquire(second_reads, NULL, NULL, &error));
    printf("both clients read at the same time\n");

    check(dlock_rw_lock_release(second_reads, &error));
    dlock_status_t status = dlock_rw_lock_try_acquire(second_writes, NULL, &error);
    check(status);
    if (status == DLOCK_BUSY) printf("the second client cannot write while the first reads\n");
    check(dlock_rw_lock_release(first_reads, &error));

    check(dlock_rw_lock_acquire(second_writes, NULL, NULL, &error));
    printf("the second client writes alone\n");

    /* From now on others may read too, and nobody has written in between. */
    check(dlock_rw_lock_downgrade(second_writes, NULL, &error));
    check(dlock_rw_lock_acquire(first_reads, NULL, NULL, &error));
    printf("it goes on as a reader, and the first client reads again\n");
    check(dlock_rw_lock_release(first_reads, &error));
    check(dlock_rw_lock_release(second_reads, &error));

    dlock_rw_lock_free(first_reads);
    dlock_rw_lock_free(second_reads);
    dlock_rw_lock_free(second_writes);
    dlock_client_free(first);
    dlock_client_free(second);
    return 0;
}
