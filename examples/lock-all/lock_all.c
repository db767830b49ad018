/* Two clients transfer between the same accounts. */
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

static uint64_t token_of(const dlock_held_t* held, const char* name) {
    uint64_t token = 0;
    check(dlock_held_token_of(held, name, strlen(name), &token, &error));
    return token;
}

int main(void) {
    const char* seven = "example-account/7";
    const char* forty_two = "example-account/42";
    const char* url = getenv("REDIS_URL");
    dlock_client_t *client = NULL, *another = NULL;
    if (url == NULL) url = "redis://127.0.0.1:6379";
    check(dlock_client_open(url, strlen(url), NULL, &client, &error));
    check(dlock_client_open(url, strlen(url), NULL, &another, &error));
    dlock_lock_all_t *first = NULL, *second = NULL;
    const char *names[] = {seven, forty_two}, *others[] = {forty_two, seven, seven};
    check(dlock_lock_all_open(client, names, NULL, 2, NULL, &first, &error));
    check(dlock_lock_all_open(another, others, NULL, 3, NULL, &second, &error));

    dlock_held_t* held = NULL;
    check(dlock_lock_all_acquire(first, NULL, &held, &error));
    if (token_of(held, seven) > 0 && token_of(held, forty_two) > 0)
        printf("both accounts are held, each with a token of its own\n");

    dlock_status_t status = dlock_lock_all_try_acquire(second, NULL, &error);
    check(status);
    if (status == DLOCK_BUSY) printf("a second client finds them busy, and takes neither\n");

    check(dlock_lock_all_release(first, &error));
    dlock_held_free(held);
    dlock_acquire_options_t patient = DLOCK_ACQUIRE_OPTIONS_INIT;
    patient.wait_ms = 5000;
    check(dlock_lock_all_acquire(second, &patient, &held, &error));
    printf("it has both as soon as they are released\n");

    size_t locks = 0;
    check(dlock_held_tokens(held, NULL, 0, &locks, &error));
    if (locks == 2) printf("a name that is given twice counts once\n");
    check(dlock_lock_all_release(second, &error));

    dlock_held_free(held);
    dlock_lock_all_free(first);
    dlock_lock_all_free(second);
    dlock_client_free(client);
    dlock_client_free(another);
    return 0;
}
