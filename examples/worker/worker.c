/* Two processes lease worker numbers of one pool and make ids under them. Nobody has to hand the numbers out. */
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

static dlock_held_t* lease(const dlock_client_t* client) {
    const char* pool = "example-worker";
    dlock_held_t* worker = NULL;
    check(dlock_worker_lease(client, pool, strlen(pool), NULL, &worker, &error));
    return worker;
}

static int64_t number_of(const dlock_held_t* worker) {
    int64_t number = 0;
    check(dlock_worker_number(worker, &number, &error));
    return number;
}

int main(void) {
    const char* url = getenv("REDIS_URL");
    dlock_client_t *one = NULL, *two = NULL;
    if (url == NULL) url = "redis://127.0.0.1:6379";
    check(dlock_client_open(url, strlen(url), NULL, &one, &error));
    check(dlock_client_open(url, strlen(url), NULL, &two, &error));
    dlock_held_t *first = lease(one), *second = lease(two);
    printf("leased %" PRId64 " and %" PRId64 "\n", number_of(first), number_of(second));

    dlock_snowflake_t *ids = NULL, *next = NULL;
    int64_t made[1000], id = 0;
    check(dlock_worker_snowflake(first, NULL, &ids, &error));
    check(dlock_snowflake_next_ids(ids, made, 1000, &error));
    check(dlock_held_release(first, &error));
    if (dlock_snowflake_next_id(ids, &id, NULL) == DLOCK_NOT_HELD) printf("no ids without a number\n");

    dlock_held_t* again = lease(one);
    printf("leased %" PRId64 " again\n", number_of(again));
    check(dlock_worker_snowflake(again, NULL, &next, &error));
    check(dlock_snowflake_next_id(next, &id, &error));
    if (id > made[999]) printf("its ids go on behind the last\n");
    check(dlock_held_release(again, &error));
    check(dlock_held_release(second, &error));

    dlock_snowflake_free(ids);
    dlock_snowflake_free(next);
    dlock_held_free(first);
    dlock_held_free(second);
    dlock_held_free(again);
    dlock_client_free(one);
    dlock_client_free(two);
    return 0;
}
