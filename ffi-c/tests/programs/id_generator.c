/* Ids in blocks, through the synchronous calls and through a port. */
#include "threads.h"

static dlock_client_t* client;
static dlock_port_t* port;

static dlock_id_generator_t* open_generator(const dlock_client_t* of, int64_t block, int64_t start) {
    char name[256];
    size_t length = case_name(name, sizeof name);
    dlock_id_generator_t* ids = NULL;
    OK(dlock_id_generator_open(of, name, length, block, start, &ids, error));
    return ids;
}

static int64_t next(const dlock_id_generator_t* ids) {
    int64_t id = 0;
    OK(dlock_id_generator_next_id(ids, &id, error));
    return id;
}

static int64_t size_of(const dlock_id_generator_t* ids) {
    int64_t size = 0;
    OK(dlock_id_generator_block_size(ids, &size, error));
    return size;
}

static void clients_take_blocks(void) {
    dlock_client_t* other = open_client();
    dlock_id_generator_t* ids = open_generator(client, 10, 1);
    dlock_id_generator_t* theirs = open_generator(other, DLOCK_ID_BLOCK_DEFAULT, 70);
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    OK(dlock_id_generator_name(ids, name, sizeof name, &length, error));
    CHECK(length == strlen(name) && strstr(name, check_case) != NULL);
    CHECK(size_of(ids) == 10 && size_of(theirs) == 5000);
    CHECK(next(ids) == 1 && next(theirs) == 11 && next(ids) == 2 && size_of(theirs) == 10);
    int64_t batch[40];
    OK(dlock_id_generator_next_ids(theirs, batch, 40, error));
    for (int at = 1; at < 40; at++) CHECK(batch[at - 1] < batch[at]);
    CHECK(dlock_id_generator_free(ids) == DLOCK_OK);
    CHECK(dlock_id_generator_free(theirs) == DLOCK_OK);
    int64_t id = 0;
    GIVES(DLOCK_CLOSED, dlock_id_generator_next_id(ids, &id, error));
    CHECK(dlock_client_free(other) == DLOCK_OK);
}

static void the_last_ids_are_given_and_then_an_error(void) {
    dlock_id_generator_t* ids = open_generator(client, 2, INT64_MAX - 2);
    CHECK(next(ids) == INT64_MAX - 2 && next(ids) == INT64_MAX - 1);
    int64_t id = 0;
    dlock_error_t cause = DLOCK_ERROR_INIT;
    CHECK(dlock_id_generator_next_id(ids, &id, &cause) == DLOCK_UNSUPPORTED &&
          strstr(cause.message, "used up") != NULL);
    CHECK(dlock_id_generator_free(ids) == DLOCK_OK);
}

static void what_cannot_be_is_refused(void) {
    dlock_id_generator_t* none = NULL;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_id_generator_open(client, "n", 1, 0, 1, &none, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_id_generator_open(client, "n", 1, -1, 1, &none, error));
    GIVES(DLOCK_INVALID_NAME, dlock_id_generator_open(client, "n{", 2, 1, 1, &none, error));
    CHECK(none == NULL);
    dlock_id_generator_t* ids = open_generator(client, 10, 1);
    int64_t batch[2] = {7, 7};
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_id_generator_next_ids(ids, batch, 0, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_id_generator_next_ids(ids, batch, DLOCK_BATCH_MAX + 1, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_id_generator_next_ids(ids, NULL, 2, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_id_generator_next_id(ids, NULL, error));
    CHECK(batch[0] == 7 && batch[1] == 7);
    CHECK(dlock_id_generator_free(ids) == DLOCK_OK);
}

static void a_port_brings_the_next_id(void) {
    dlock_id_generator_t* ids = open_generator(client, 3, INT64_MAX - 100);
    dlock_completion_t got[1];
    for (int64_t expected = INT64_MAX - 100; expected < INT64_MAX - 90; expected++) {
        OK(dlock_submit_id_generator_next_id(port, ids, NULL, NULL, error));
        collect(port, got, 1);
        CHECK(got[0].kind == DLOCK_COMPLETION_NUMBER && got[0].number == expected);
    }
    CHECK(dlock_id_generator_free(ids) == DLOCK_OK);
}

int main(void) {
    client = open_client();
    OK(dlock_port_new(&port, error));
    RUN(clients_take_blocks);
    RUN(the_last_ids_are_given_and_then_an_error);
    RUN(what_cannot_be_is_refused);
    RUN(a_port_brings_the_next_id);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_port_free(port) == DLOCK_OK && dlock_client_free(client) == DLOCK_OK);
    return 0;
}
