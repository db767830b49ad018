/* Two clients take turns on one lock. */
#include <dlock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dlock_error_t error = DLOCK_ERROR_INIT;

static void check(dlock_status_t status) {
    if (status == DLOCK_OK) return;
    fprintf(stderr, "%s %s: %s\n", error.op, error.name, error.message);
    exit(1);
}

int main(void) {
    const char* url = getenv("REDIS_URL");
    const char* name = "example-lock";
    dlock_client_t *first = NULL, *second = NULL;
    dlock_lock_t *mine = NULL, *theirs = NULL;
    dlock_held_t* held = NULL;
    uint64_t token = 0, next = 0;
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.wait_ms = 5000;
    if (url == NULL) url = "redis://127.0.0.1:6379";

    check(dlock_client_open(url, strlen(url), NULL, &first, &error));
    check(dlock_client_open(url, strlen(url), NULL, &second, &error));
    check(dlock_lock_open(first, name, strlen(name), NULL, &mine, &error));
    check(dlock_lock_open(second, name, strlen(name), NULL, &theirs, &error));

    check(dlock_lock_acquire(mine, &options, &held, &error));
    printf("the first client holds the lock\n");
    /* Send the token with every write: the resource refuses one that is lower than the highest it has seen. */
    check(dlock_held_token(held, &token, &error));
    if (dlock_lock_try_acquire(theirs, NULL, &error) == DLOCK_BUSY) printf("the second client finds it busy\n");
    check(dlock_lock_release(mine, &error));
    dlock_held_free(held);
    held = NULL;

    check(dlock_lock_acquire(theirs, &options, &held, &error));
    check(dlock_held_token(held, &next, &error));
    if (next > token) printf("the second client holds it, with a larger token\n");
    check(dlock_lock_release(theirs, &error));

    dlock_held_free(held);
    dlock_lock_free(mine);
    dlock_lock_free(theirs);
    dlock_client_free(first);
    dlock_client_free(second);
    return 0;
}
