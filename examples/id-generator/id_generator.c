/* Ids of orders and their lines, from two clients that take a block each. */
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

static dlock_id_generator_t* open_generator(const dlock_client_t* client, int64_t block) {
    const char* name = "example-orders";
    dlock_id_generator_t* ids = NULL;
    check(dlock_id_generator_open(client, name, strlen(name), block, 1, &ids, &error));
    return ids;
}

int main(void) {
    const char* url = getenv("REDIS_URL");
    dlock_client_t *shop = NULL, *other = NULL;
    if (url == NULL) url = "redis://127.0.0.1:6379";
    check(dlock_client_open(url, strlen(url), NULL, &shop, &error));
    check(dlock_client_open(url, strlen(url), NULL, &other, &error));
    dlock_id_generator_t *ids = open_generator(shop, 100), *others = open_generator(other, DLOCK_ID_BLOCK_DEFAULT);

    int64_t id = 0, lines[3], size = 0;
    check(dlock_id_generator_next_id(ids, &id, &error));
    printf("order %" PRId64 "\n", id);
    check(dlock_id_generator_next_ids(ids, lines, 3, &error));
    printf("lines %" PRId64 ", %" PRId64 " and %" PRId64 "\n", lines[0], lines[1], lines[2]);

    check(dlock_id_generator_next_id(others, &id, &error));
    printf("another process has %" PRId64 "\n", id);
    check(dlock_id_generator_block_size(others, &size, &error));
    printf("blocks of %" PRId64 "\n", size);

    dlock_id_generator_free(ids);
    dlock_id_generator_free(others);
    dlock_client_free(shop);
    dlock_client_free(other);
    return 0;
}
