/* Bloom filters, through the synchronous calls and through a port. */
#include "threads.h"

static dlock_client_t* client;
static dlock_port_t* port;

static dlock_bloom_filter_t* open_filter(const dlock_client_t* of, int64_t expected, int64_t ttl_ms) {
    char name[256];
    size_t length = case_name(name, sizeof name);
    dlock_bloom_filter_t* filter = NULL;
    OK(dlock_bloom_filter_open(of, name, length, expected, 0.01, ttl_ms, &filter, error));
    return filter;
}

static bool found(const dlock_bloom_filter_t* filter, const char* item) {
    const void* items[] = {item};
    size_t length = strlen(item);
    bool answer = false;
    OK(dlock_bloom_filter_contains(filter, items, &length, 1, &answer, error));
    return answer;
}

static void what_was_added_is_found_by_every_client(void) {
    dlock_client_t* other = open_client();
    dlock_bloom_filter_t* filter = open_filter(client, 1000, DLOCK_BLOOM_NO_END);
    dlock_bloom_filter_t* theirs = open_filter(other, 1000, 60000);
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    OK(dlock_bloom_filter_name(filter, name, sizeof name, &length, error));
    CHECK(length == strlen(name) && strstr(name, check_case) != NULL);
    int64_t size = 0, hashes = 0, count = 0;
    OK(dlock_bloom_filter_size(filter, &size, error));
    OK(dlock_bloom_filter_hashes(filter, &hashes, error));
    CHECK(size == 9585 && hashes == 7);
    const void* items[] = {"ada", "\0\xff", "ada", NULL};
    const size_t lengths[] = {3, 2, 3, 0};
    bool answers[4] = {false, false, true, false};
    OK(dlock_bloom_filter_add(filter, items, lengths, 4, answers, error));
    CHECK(answers[0] && answers[1] && !answers[2] && answers[3]);
    OK(dlock_bloom_filter_contains(theirs, items, lengths, 4, answers, error));
    CHECK(answers[0] && answers[1] && answers[2] && answers[3] && !found(theirs, "nobody") && found(theirs, ""));
    OK(dlock_bloom_filter_count(theirs, &count, error));
    double rate = 1;
    OK(dlock_bloom_filter_false_positive_rate(theirs, &rate, error));
    CHECK(count == 3 && rate > 0 && rate < 1e-10);
    OK(dlock_bloom_filter_add(filter, NULL, NULL, 0, NULL, error));
    bool cleared = false;
    OK(dlock_bloom_filter_clear(theirs, &cleared, error));
    CHECK(cleared && !found(filter, "ada"));
    OK(dlock_bloom_filter_clear(theirs, NULL, error));
    CHECK(dlock_bloom_filter_free(filter) == DLOCK_OK && dlock_bloom_filter_free(theirs) == DLOCK_OK);
    GIVES(DLOCK_CLOSED, dlock_bloom_filter_count(filter, &count, error));
    CHECK(dlock_client_free(other) == DLOCK_OK);
}

static void another_configuration_is_refused(void) {
    dlock_bloom_filter_t* filter = open_filter(client, 1000, DLOCK_BLOOM_NO_END);
    dlock_bloom_filter_t* other = open_filter(client, 2000, DLOCK_BLOOM_NO_END);
    const void* items[] = {"a"};
    const size_t length = 1;
    OK(dlock_bloom_filter_add(filter, items, &length, 1, NULL, error));
    dlock_error_t cause = DLOCK_ERROR_INIT;
    CHECK(dlock_bloom_filter_add(other, items, &length, 1, NULL, &cause) == DLOCK_WRONG_TYPE);
    CHECK(strstr(cause.message, "9585 bits") != NULL && strstr(cause.message, "19170 bits") != NULL);
    OK(dlock_bloom_filter_clear(other, NULL, error));
    CHECK(dlock_bloom_filter_free(filter) == DLOCK_OK && dlock_bloom_filter_free(other) == DLOCK_OK);
}

static void what_cannot_be_is_refused(void) {
    dlock_bloom_filter_t* none = NULL;
    const int64_t no_end = DLOCK_BLOOM_NO_END;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_open(client, "n", 1, 0, 0.01, no_end, &none, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_open(client, "n", 1, 10, 0.0, no_end, &none, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_open(client, "n", 1, 10, 1.0, no_end, &none, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_open(client, "n", 1, 4294967296, 0.1, no_end, &none, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_open(client, "n", 1, 10, 0.01, 0, &none, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_open(client, "n", 1, 10, 0.01, -2, &none, error));
    GIVES(DLOCK_INVALID_NAME, dlock_bloom_filter_open(client, "n{", 2, 10, 0.01, no_end, &none, error));
    CHECK(none == NULL);
    dlock_bloom_filter_t* filter = open_filter(client, 1000, no_end);
    const void* items[] = {NULL};
    const size_t length = 1;
    bool answer = true;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_add(filter, items, &length, 1, &answer, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_add(filter, NULL, &length, 1, &answer, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_add(filter, items, NULL, 1, &answer, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_add(filter, items, &length, DLOCK_BATCH_MAX + 1, &answer, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_contains(filter, items, &length, 1, NULL, error));
    const void* short_item[] = {"abc"};
    const size_t wild = SIZE_MAX / 4;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_add(filter, short_item, &wild, 1, &answer, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_submit_bloom_filter_add(port, filter, "abc", wild, NULL, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_bloom_filter_count(filter, NULL, error));
    CHECK(answer && dlock_bloom_filter_free(filter) == DLOCK_OK);
}

static void a_port_brings_the_answers(void) {
    dlock_bloom_filter_t* filter = open_filter(client, 1000, DLOCK_BLOOM_NO_END);
    dlock_completion_t got[1];
    for (int round = 0; round < 2; round++) {
        OK(dlock_submit_bloom_filter_add(port, filter, "ada", 3, NULL, NULL, error));
        collect(port, got, 1);
        CHECK(got[0].kind == DLOCK_COMPLETION_FLAG && got[0].flag == (round == 0));
    }
    OK(dlock_submit_bloom_filter_contains(port, filter, NULL, 0, NULL, NULL, error));
    collect(port, got, 1);
    CHECK(got[0].kind == DLOCK_COMPLETION_FLAG && !got[0].flag);
    OK(dlock_submit_bloom_filter_count(port, filter, NULL, NULL, error));
    collect(port, got, 1);
    CHECK(got[0].kind == DLOCK_COMPLETION_NUMBER && got[0].number == 1);
    OK(dlock_submit_bloom_filter_clear(port, filter, NULL, NULL, error));
    collect(port, got, 1);
    CHECK(got[0].kind == DLOCK_COMPLETION_FLAG && got[0].flag);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_submit_bloom_filter_add(port, filter, NULL, 3, NULL, NULL, error));
    CHECK(dlock_bloom_filter_free(filter) == DLOCK_OK);
}

int main(void) {
    client = open_client();
    OK(dlock_port_new(&port, error));
    RUN(what_was_added_is_found_by_every_client);
    RUN(another_configuration_is_refused);
    RUN(what_cannot_be_is_refused);
    RUN(a_port_brings_the_answers);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_port_free(port) == DLOCK_OK && dlock_client_free(client) == DLOCK_OK);
    return 0;
}
