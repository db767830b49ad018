/* Worker numbers, through the synchronous calls and through a port. */
#include "threads.h"

static dlock_client_t* client;
static dlock_port_t* port;
static char pool[256];
static size_t pool_len;

static dlock_held_t* lease(const dlock_client_t* of, int64_t bits) {
    dlock_worker_options_t options = DLOCK_WORKER_OPTIONS_INIT;
    options.bits = bits;
    dlock_held_t* held = NULL;
    pool_len = case_name(pool, sizeof pool);
    OK(dlock_worker_lease(of, pool, pool_len, &options, &held, error));
    return held;
}

static int64_t number_of(const dlock_held_t* held) {
    int64_t number = -1;
    OK(dlock_worker_number(held, &number, error));
    return number;
}

static dlock_snowflake_t* ids_of(const dlock_held_t* held) {
    dlock_snowflake_t* ids = NULL;
    OK(dlock_worker_snowflake(held, NULL, &ids, error));
    return ids;
}

static void a_number_is_leased_and_given_back(void) {
    dlock_held_t* held = lease(client, DLOCK_WORKER_BITS_DEFAULT);
    dlock_held_t* other = lease(client, DLOCK_WORKER_BITS_DEFAULT);
    CHECK(number_of(held) == 0 && number_of(other) == 1);
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    OK(dlock_worker_pool(held, name, sizeof name, &length, error));
    CHECK(length == pool_len && strcmp(name, pool) == 0);
    int64_t bits = 0, left = 0;
    bool valid = false;
    OK(dlock_worker_bits(held, &bits, error));
    OK(dlock_held_is_valid(held, &valid, error));
    OK(dlock_held_remaining_ms(held, &left, error));
    CHECK(bits == 10 && valid && left > 0 && left <= 30000);

    dlock_snowflake_t* ids = ids_of(held);
    int64_t batch[5000];
    OK(dlock_snowflake_next_ids(ids, batch, 5000, error));
    for (int at = 1; at < 5000; at++) CHECK(batch[at - 1] < batch[at]);
    dlock_id_parts_t parts = DLOCK_ID_PARTS_INIT;
    OK(dlock_snowflake_decode(ids, batch[0], &parts, error));
    CHECK(parts.datacenter == 0 && parts.worker == 0);

    OK(dlock_held_release(held, error));
    int64_t id = 7;
    GIVES(DLOCK_NOT_HELD, dlock_snowflake_next_id(ids, &id, error));
    GIVES(DLOCK_NOT_HELD, dlock_held_release(held, error));
    CHECK(id == 7);
    dlock_held_t* again = lease(client, DLOCK_WORKER_BITS_DEFAULT);
    dlock_snowflake_t* next = ids_of(again);
    OK(dlock_snowflake_next_id(next, &id, error));
    CHECK(number_of(again) == 0 && id > batch[4999]);
    OK(dlock_held_release(again, error));
    OK(dlock_held_release(other, error));
    CHECK(dlock_snowflake_free(ids) == DLOCK_OK && dlock_snowflake_free(next) == DLOCK_OK);
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_held_free(other) == DLOCK_OK);
    CHECK(dlock_held_free(again) == DLOCK_OK);
}

static void a_generator_keeps_the_number_of_a_freed_hold(void) {
    dlock_held_t* held = lease(client, 1);
    dlock_snowflake_t* ids = ids_of(held);
    CHECK(dlock_held_free(held) == DLOCK_OK);
    dlock_held_t* other = lease(client, 1);
    int64_t id = 0;
    CHECK(number_of(other) == 1);
    OK(dlock_snowflake_next_id(ids, &id, error));
    CHECK(dlock_snowflake_free(ids) == DLOCK_OK);
    dlock_status_t got = DLOCK_BUSY;
    dlock_worker_options_t options = DLOCK_WORKER_OPTIONS_INIT;
    options.bits = 1;
    for (int64_t begun = now_ms(); got == DLOCK_BUSY && now_ms() < begun + bound_ms(10000);)
        got = dlock_worker_lease(client, pool, pool_len, &options, &held, NULL);
    CHECK(got == DLOCK_OK && number_of(held) == 0);
    OK(dlock_held_release(held, error));
    OK(dlock_held_release(other, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_held_free(other) == DLOCK_OK);
}

static void an_exhausted_pool_is_busy(void) {
    dlock_held_t *one = lease(client, 1), *two = lease(client, 1), *none = NULL;
    dlock_worker_options_t options = DLOCK_WORKER_OPTIONS_INIT;
    options.bits = 1;
    dlock_error_t cause = DLOCK_ERROR_INIT;
    CHECK(dlock_worker_lease(client, pool, pool_len, &options, &none, &cause) == DLOCK_BUSY);
    CHECK(none == NULL && cause.retry_after_us > 0 && strcmp(cause.name, pool) == 0);
    OK(dlock_held_release(one, error));
    OK(dlock_held_release(two, error));
    CHECK(dlock_held_free(one) == DLOCK_OK && dlock_held_free(two) == DLOCK_OK);
}

static void the_end_of_the_client_is_a_loss(void) {
    dlock_client_t* own = open_client();
    dlock_held_t* held = lease(own, 5);
    dlock_snowflake_t* ids = ids_of(held);
    OK(dlock_client_close(own, true, error));
    dlock_loss_t loss = DLOCK_LOSS_NONE;
    OK(dlock_held_wait_lost(held, 10000, NULL, &loss, error));
    CHECK(loss == DLOCK_LOSS_CLOSED);
    int64_t id = 0, batch[2] = {7, 7};
    GIVES(DLOCK_LOST, dlock_snowflake_next_id(ids, &id, error));
    GIVES(DLOCK_LOST, dlock_snowflake_next_ids(ids, batch, 2, error));
    CHECK(batch[0] == 7 && batch[1] == 7);
    dlock_held_t* next = lease(client, 5);
    CHECK(number_of(next) == 0); /* it was given back, not left to its lease */
    OK(dlock_held_release(next, error));
    CHECK(dlock_held_free(next) == DLOCK_OK && dlock_snowflake_free(ids) == DLOCK_OK);
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_client_free(own) == DLOCK_OK);
}

static void what_cannot_be_is_refused(void) {
    static const int64_t wrong_bits[] = {0, -1, 23, INT64_MAX, INT64_MIN};
    dlock_held_t* none = NULL;
    for (size_t i = 0; i < sizeof wrong_bits / sizeof *wrong_bits; i++) {
        dlock_worker_options_t options = DLOCK_WORKER_OPTIONS_INIT;
        options.bits = wrong_bits[i];
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_worker_lease(client, "n", 1, &options, &none, error));
    }
    dlock_worker_options_t options = DLOCK_WORKER_OPTIONS_INIT;
    options.lease_ms = 99;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_worker_lease(client, "n", 1, &options, &none, error));
    options = (dlock_worker_options_t)DLOCK_WORKER_OPTIONS_INIT;
    options.struct_size--;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_worker_lease(client, "n", 1, &options, &none, error));
    GIVES(DLOCK_INVALID_NAME, dlock_worker_lease(client, "", 0, NULL, &none, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_worker_lease(client, "n", 1, NULL, NULL, error));
    CHECK(none == NULL);

    dlock_held_t* held = lease(client, 6);
    dlock_layout_t js = DLOCK_LAYOUT_INIT;
    dlock_snowflake_t* ids = NULL;
    OK(dlock_layout_named("js53", 4, &js, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_worker_snowflake(held, &js, &ids, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_extend(held, 5000, error));
    dlock_detached_t detached = DLOCK_DETACHED_INIT;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_detach(held, &detached, error));
    bool valid = false;
    OK(dlock_held_is_valid(held, &valid, error));
    CHECK(ids == NULL && valid);
    OK(dlock_held_release(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK);

    dlock_lock_t* lock = open_lock(client, NULL);
    int64_t number = 7;
    OK(dlock_lock_take(lock, NULL, &held, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_worker_number(held, &number, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_worker_bits(held, &number, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_worker_snowflake(held, NULL, &ids, error));
    CHECK(number == 7 && ids == NULL);
    OK(dlock_held_release(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_lock_free(lock) == DLOCK_OK);
}

static void a_port_leases_and_releases(void) {
    pool_len = case_name(pool, sizeof pool);
    dlock_worker_options_t options = DLOCK_WORKER_OPTIONS_INIT;
    options.bits = 1;
    dlock_completion_t got[2], lost[1];
    for (int at = 0; at < 2; at++) {
        OK(dlock_submit_worker_lease(port, client, pool, pool_len, &options, NULL, NULL, error));
        collect(port, got + at, 1);
        CHECK(got[at].kind == DLOCK_COMPLETION_HELD && number_of(got[at].held) == at);
    }
    OK(dlock_submit_worker_lease(port, client, pool, pool_len, &options, NULL, NULL, error));
    collect(port, lost, 1);
    CHECK(lost[0].kind == DLOCK_COMPLETION_ERROR && lost[0].status == DLOCK_BUSY && lost[0].error.retry_after_us > 0);
    OK(dlock_submit_wait_lost(port, got[0].held, -1, NULL, NULL, error));
    CHECK(!readable(port));
    OK(dlock_held_release(got[0].held, error));
    collect(port, lost, 1);
    CHECK(lost[0].kind == DLOCK_COMPLETION_LOSS && lost[0].loss == DLOCK_LOSS_NONE);
    OK(dlock_submit_release(port, got[1].held, NULL, NULL, error));
    collect(port, lost, 1);
    CHECK(lost[0].kind == DLOCK_COMPLETION_DONE);
    CHECK(dlock_held_free(got[0].held) == DLOCK_OK && dlock_held_free(got[1].held) == DLOCK_OK);
    options.bits = 0;
    OK(dlock_submit_worker_lease(port, client, pool, pool_len, &options, NULL, NULL, error));
    collect(port, lost, 1);
    CHECK(lost[0].kind == DLOCK_COMPLETION_ERROR && lost[0].status == DLOCK_INVALID_ARGUMENT);
}

static void a_freed_port_gives_back_what_nobody_got(void) {
    dlock_port_t* own = NULL;
    pool_len = case_name(pool, sizeof pool);
    dlock_worker_options_t options = DLOCK_WORKER_OPTIONS_INIT;
    options.bits = 1;
    OK(dlock_port_new(&own, error));
    for (int at = 0; at < 2; at++)
        OK(dlock_submit_worker_lease(own, client, pool, pool_len, &options, NULL, NULL, error));
    CHECK(dlock_port_free(own) == DLOCK_OK);
    dlock_held_t* held[2] = {NULL, NULL};
    for (int at = 0; at < 2; at++) {
        dlock_status_t got = DLOCK_BUSY;
        for (int64_t begun = now_ms(); got == DLOCK_BUSY && now_ms() < begun + bound_ms(10000);)
            got = dlock_worker_lease(client, pool, pool_len, &options, &held[at], NULL);
        CHECK(got == DLOCK_OK);
    }
    for (int at = 0; at < 2; at++) {
        OK(dlock_held_release(held[at], error));
        CHECK(dlock_held_free(held[at]) == DLOCK_OK);
    }
}

int main(void) {
    client = open_client();
    OK(dlock_port_new(&port, error));
    RUN(a_number_is_leased_and_given_back);
    RUN(a_generator_keeps_the_number_of_a_freed_hold);
    RUN(an_exhausted_pool_is_busy);
    RUN(the_end_of_the_client_is_a_loss);
    RUN(what_cannot_be_is_refused);
    RUN(a_port_leases_and_releases);
    RUN(a_freed_port_gives_back_what_nobody_got);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_port_free(port) == DLOCK_OK && dlock_client_free(client) == DLOCK_OK);
    return 0;
}
