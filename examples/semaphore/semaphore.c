/* Two clients share three permits. */
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

int main(void) {
    const char* url = getenv("REDIS_URL");
    const char* name = "example-semaphore";
    dlock_client_t *first = NULL, *second = NULL;
    dlock_semaphore_t *semaphore = NULL, *other = NULL;
    dlock_held_t* held = NULL;
    if (url == NULL) url = "redis://127.0.0.1:6379";

    check(dlock_client_open(url, strlen(url), NULL, &first, &error));
    check(dlock_client_open(url, strlen(url), NULL, &second, &error));
    check(dlock_semaphore_open(first, name, strlen(name), 3, NULL, &semaphore, &error));
    check(dlock_semaphore_open(second, name, strlen(name), 3, NULL, &other, &error));

    check(dlock_semaphore_take(semaphore, 2, NULL, &held, &error));
    printf("the first client holds two of three permits\n");

    dlock_status_t status = dlock_semaphore_try_acquire(other, 2, NULL, &error);
    check(status);
    if (status == DLOCK_BUSY) printf("the second client finds no two available\n");

    check(dlock_held_release(held, &error)); /* those of a process that dies come back when its lease ends */

    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.wait_ms = 5000;
    status = dlock_semaphore_acquire(other, 2, &options, NULL, &error);
    check(status);
    if (status == DLOCK_OK) {
        printf("the second client holds two\n");
        check(dlock_semaphore_release(other, NULL, &error));
    }

    dlock_held_free(held);
    dlock_semaphore_free(semaphore);
    dlock_semaphore_free(other);
    dlock_client_free(first);
    dlock_client_free(second);
    return 0;
}
