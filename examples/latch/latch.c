/* A start that waits until two workers are ready. */
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

static dlock_latch_t* open_latch(const dlock_client_t* client) {
    const char* name = "example-latch";
    dlock_latch_t* latch = NULL;
    check(dlock_latch_open(client, name, strlen(name), &latch, &error));
    return latch;
}

int main(void) {
    const char* url = getenv("REDIS_URL");
    dlock_client_t *starter = NULL, *worker = NULL;
    if (url == NULL) url = "redis://127.0.0.1:6379";
    check(dlock_client_open(url, strlen(url), NULL, &starter, &error));
    check(dlock_client_open(url, strlen(url), NULL, &worker, &error));
    dlock_latch_t *ready = open_latch(starter), *mine = open_latch(worker);

    bool set = false, open = false;
    check(dlock_latch_try_set_count(ready, 2, &set, &error));

    int64_t left = 0;
    check(dlock_latch_count_down(mine, 1, &left, &error));
    printf("the first worker is ready, %" PRId64 " is left\n", left);
    check(dlock_latch_wait(ready, 100, NULL, &open, &error));
    if (!open) printf("not everybody is ready\n");

    check(dlock_latch_count_down(mine, 1, NULL, &error)); /* the second worker */
    check(dlock_latch_wait(ready, -1, NULL, &open, &error));
    if (open) printf("everybody is ready\n");

    dlock_latch_free(ready);
    dlock_latch_free(mine);
    dlock_client_free(starter);
    dlock_client_free(worker);
    return 0;
}
