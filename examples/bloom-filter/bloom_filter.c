/* Names that are taken: only for those that the filter may contain, a data base would be asked. */
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

static dlock_bloom_filter_t* open_filter(const dlock_client_t* client, int64_t expected) {
    const char* name = "example-names";
    dlock_bloom_filter_t* filter = NULL;
    check(dlock_bloom_filter_open(client, name, strlen(name), expected, 0.01, DLOCK_BLOOM_NO_END, &filter, &error));
    return filter;
}

static const char* shown(bool flag) { return flag ? "true" : "false"; }

int main(void) {
    const char* url = getenv("REDIS_URL");
    dlock_client_t* client = NULL;
    if (url == NULL) url = "redis://127.0.0.1:6379";
    check(dlock_client_open(url, strlen(url), NULL, &client, &error));

    dlock_bloom_filter_t *taken = open_filter(client, 1000), *other = open_filter(client, 2000);
    int64_t size = 0, hashes = 0, count = 0;
    check(dlock_bloom_filter_clear(taken, NULL, &error));
    check(dlock_bloom_filter_size(taken, &size, &error));
    check(dlock_bloom_filter_hashes(taken, &hashes, &error));
    printf("%" PRId64 " bits, %" PRId64 " of them for each name\n", size, hashes);

    const void* names[] = {"ada", "grace", "ada"};
    const size_t name_lens[] = {3, 5, 3};
    bool added[3];
    check(dlock_bloom_filter_add(taken, names, name_lens, 3, added, &error));
    printf("new: %s %s %s\n", shown(added[0]), shown(added[1]), shown(added[2]));

    const void* asked[] = {"grace", "linus"};
    const size_t asked_lens[] = {5, 5};
    bool found[2];
    check(dlock_bloom_filter_contains(taken, asked, asked_lens, 2, found, &error));
    printf("taken: %s %s\n", shown(found[0]), shown(found[1]));
    check(dlock_bloom_filter_count(taken, &count, &error));
    printf("about %" PRId64 " names\n", count);

    if (dlock_bloom_filter_contains(other, asked, asked_lens, 2, found, &error) == DLOCK_WRONG_TYPE) {
        printf("another size is refused\n");
    }

    dlock_bloom_filter_free(taken);
    dlock_bloom_filter_free(other);
    dlock_client_free(client);
    return 0;
}
