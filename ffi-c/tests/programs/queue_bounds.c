/* Delayed queues: what is refused, and the back-off. */
#include "queues.h"

static dlock_client_t* client;

static void a_full_queue_refuses_and_payloads_have_bounds(void) {
    dlock_queue_options_t options = DLOCK_QUEUE_OPTIONS_INIT;
    options.max_length = 1;
    dlock_queue_t* queue = open_queue(client, &options);
    char* large = calloc(1, DLOCK_QUEUE_PAYLOAD_DEFAULT + 1);
    CHECK(large != NULL);
    dlock_job_t job = job_of(large, DLOCK_QUEUE_PAYLOAD_DEFAULT + 1);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_put(queue, &job, NULL, error));
    large[DLOCK_QUEUE_PAYLOAD_DEFAULT - 1] = 'z';
    job.payload_len = DLOCK_QUEUE_PAYLOAD_DEFAULT;
    OK(dlock_queue_put(queue, &job, NULL, error));
    GIVES(DLOCK_FULL, dlock_queue_put(queue, &job, NULL, error));
    dlock_held_t* held = take(queue);
    dlock_delivery_t got = DLOCK_DELIVERY_INIT;
    OK(dlock_delivery_job(held, &got, error));
    CHECK(got.payload_len == job.payload_len && memcmp(got.payload, large, got.payload_len) == 0);
    OK(dlock_delivery_ack(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_queue_free(queue) == DLOCK_OK);
    free(large);
}

static void what_cannot_be_is_refused(void) {
    dlock_queue_t *queue = open_queue(client, NULL), *none = NULL;
    static const int64_t wrong[][5] = {
        {99, 0, 16, 1, 0},     {0, 99, 16, 1, 0}, {500, 500, 16, 1, 0},   {0, 0, 0, 1, 0},   {0, 0, -1, 1, 0},
        {0, 0, 1000001, 1, 0}, {0, 0, 16, -1, 0}, {0, 0, 16, 2097153, 0}, {0, 0, 16, 1, -1}, {0, 0, INT64_MAX, 1, 0}};
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        const dlock_queue_options_t options = {sizeof options, wrong[at][0], wrong[at][1],
                                               wrong[at][2],   wrong[at][3], wrong[at][4]};
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_open(client, "n", 1, &options, &none, error));
    }
    dlock_queue_options_t options = DLOCK_QUEUE_OPTIONS_INIT;
    options.struct_size--;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_open(client, "n", 1, &options, &none, error));
    GIVES(DLOCK_INVALID_NAME, dlock_queue_open(client, "", 0, NULL, &none, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_open(client, "n", 1, NULL, NULL, error));
    CHECK(none == NULL);

    char long_id[513];
    memset(long_id, 'i', sizeof long_id);
    dlock_job_t jobs[9];
    for (size_t at = 0; at < 9; at++) jobs[at] = job_of("x", 1);
    jobs[0].id = "";
    jobs[1].id = long_id, jobs[1].id_len = sizeof long_id;
    jobs[2].id = "\xff", jobs[2].id_len = 1;
    jobs[3].id_len = 1;
    jobs[4].delay_ms = -1;
    jobs[5].delay_ms = 1, jobs[5].at_ms = 1;
    jobs[6].priority = 32768;
    jobs[7].payload = NULL;
    jobs[8].payload_len = SIZE_MAX;
    for (size_t at = 0; at < 9; at++) {
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_put(queue, &jobs[at], NULL, error));
        const dlock_job_t two[] = {job_of("good", 4), jobs[at]};
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_put_many(queue, two, 2, NULL, error));
    }
    dlock_job_t small = job_of("x", 1);
    small.struct_size--;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_put(queue, &small, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_put_many(queue, &small, 1, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_put(queue, NULL, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_put_many(queue, NULL, 1, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_put_many(queue, jobs, SIZE_MAX, NULL, error));
    has(queue, 0, 0, 0, 0);

    dlock_held_t* helds[101] = {NULL};
    size_t count = 7;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_take_many(queue, 0, 0, NULL, helds, &count, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_take_many(queue, 101, 0, NULL, helds, &count, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_take_many(queue, 1, -2, NULL, helds, &count, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_take_many(queue, 1, 0, NULL, NULL, &count, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_take_many(queue, 1, 0, NULL, helds, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_take(queue, 0, NULL, NULL, error));
    dlock_jobs_t* jobs_list = NULL;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_peek(queue, 0, &jobs_list, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_dead(queue, DLOCK_QUEUE_LIST_MAX + 1, &jobs_list, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_cancel(queue, "\xff", 1, NULL, error));
    CHECK(count == 7 && helds[0] == NULL && jobs_list == NULL);

    dlock_lock_t* lock = open_lock(client, NULL);
    dlock_held_t* held = NULL;
    dlock_delivery_t got = DLOCK_DELIVERY_INIT;
    OK(dlock_lock_take(lock, NULL, &held, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_delivery_job(held, &got, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_delivery_ack(held, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_delivery_nack(held, -1, NULL, 0, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_delivery_give_back(held, error));
    CHECK(got.payload == NULL);
    OK(dlock_held_release(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_lock_free(lock) == DLOCK_OK);

    put_text(queue, "x");
    held = take(queue);
    dlock_detached_t detached = DLOCK_DETACHED_INIT;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_release(held, error)); /* done, or not done? */
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_detach(held, &detached, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_reenter(held, error));
    OK(dlock_delivery_ack(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_queue_free(queue) == DLOCK_OK);
}

static void a_backoff_doubles_and_has_an_end(void) {
    for (int64_t attempt = 1; attempt < 100; attempt++) {
        int64_t ms = 0, most = attempt < 10 ? INT64_C(100) << (attempt - 1) : 5000;
        if (most > 5000) most = 5000;
        OK(dlock_backoff_ms(attempt, 100, 5000, &ms, error));
        CHECK(ms >= most / 2 && ms <= most);
    }
    int64_t ms = 7;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_backoff_ms(-1, 100, 5000, &ms, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_backoff_ms(1, -1, 5000, &ms, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_backoff_ms(1, 5001, 5000, &ms, error));
    CHECK(ms == 7);
}

/* valgrind takes its time over a mebibyte. */
static dlock_client_t* open_patient(void) {
    const dlock_option_t patience = {"response_timeout", 16, "30s", 3};
    dlock_client_options_t options = DLOCK_CLIENT_OPTIONS_INIT;
    options.options = &patience;
    options.options_len = 1;
    dlock_client_t* opened = NULL;
    OK(dlock_client_open(server_url(), strlen(server_url()), &options, &opened, error));
    return opened;
}

int main(void) {
    client = open_patient();
    RUN(a_full_queue_refuses_and_payloads_have_bounds);
    RUN(what_cannot_be_is_refused);
    RUN(a_backoff_doubles_and_has_an_end);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_client_free(client) == DLOCK_OK);
    return 0;
}
