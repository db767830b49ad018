/* Delayed queues, through a port. */
#include "queues.h"

static dlock_client_t* client;
static dlock_port_t* port;

/* The next completion, which is of this kind. */
static dlock_completion_t next(dlock_completion_kind_t kind) {
    dlock_completion_t got;
    collect(port, &got, 1);
    if (got.kind != kind) check_failed(__FILE__, __LINE__, "the kind of a completion", &got.error);
    return got;
}

static dlock_held_t* take_by_port(const dlock_queue_t* queue) {
    OK(dlock_submit_queue_take(port, queue, bound_ms(10000), NULL, NULL, error));
    return next(DLOCK_COMPLETION_HELD).held;
}

static void a_port_puts_takes_and_acknowledges(void) {
    dlock_queue_t* queue = open_queue(client, NULL);
    int mine = 0;
    OK(dlock_submit_queue_take(port, queue, -1, &mine, NULL, error));
    CHECK(!readable(port));
    dlock_job_t job = job_of("payload", 7);
    job.id = "one", job.id_len = 3;
    OK(dlock_submit_queue_put(port, queue, &job, NULL, NULL, error));
    dlock_completion_t got[2];
    collect(port, got, 2);
    const dlock_completion_t* put = got[0].kind == DLOCK_COMPLETION_PUT ? &got[0] : &got[1];
    const dlock_completion_t* taken = put == &got[0] ? &got[1] : &got[0];
    CHECK(put->kind == DLOCK_COMPLETION_PUT && put->flag && strcmp(put->text, "one") == 0 && put->text_len == 3);
    CHECK(taken->kind == DLOCK_COMPLETION_HELD && taken->token > 0 && taken->user_data == &mine);
    dlock_delivery_t delivery = DLOCK_DELIVERY_INIT;
    OK(dlock_delivery_job(taken->held, &delivery, error));
    CHECK(delivery.payload_len == 7 && memcmp(delivery.payload, "payload", 7) == 0);
    OK(dlock_submit_queue_put(port, queue, &job, NULL, NULL, error));
    CHECK(!next(DLOCK_COMPLETION_PUT).flag);

    OK(dlock_submit_wait_lost(port, taken->held, -1, NULL, NULL, error));
    OK(dlock_submit_extend(port, taken->held, 60000, NULL, NULL, error));
    (void)next(DLOCK_COMPLETION_DONE);
    OK(dlock_submit_delivery_ack(port, taken->held, NULL, NULL, error));
    collect(port, got, 2);
    const dlock_completion_t* lost = got[0].kind == DLOCK_COMPLETION_LOSS ? &got[0] : &got[1];
    CHECK(lost->kind == DLOCK_COMPLETION_LOSS && lost->loss == DLOCK_LOSS_NONE);
    CHECK((lost == &got[0] ? &got[1] : &got[0])->kind == DLOCK_COMPLETION_DONE);
    OK(dlock_submit_queue_counts(port, queue, NULL, NULL, error));
    const dlock_completion_t counted = next(DLOCK_COMPLETION_QUEUE_COUNTS);
    CHECK(counted.queue_counts.ready == 0 && counted.queue_counts.in_flight == 0);
    CHECK(counted.queue_counts.struct_size == sizeof counted.queue_counts);
    OK(dlock_submit_queue_take(port, queue, 0, NULL, NULL, error));
    const dlock_completion_t none = next(DLOCK_COMPLETION_ERROR);
    CHECK(none.status == DLOCK_BUSY && none.error.name[0] != '\0');
    CHECK(dlock_held_free(taken->held) == DLOCK_OK && dlock_queue_free(queue) == DLOCK_OK);
}

static void a_port_lists_and_moves_jobs(void) {
    dlock_queue_options_t options = DLOCK_QUEUE_OPTIONS_INIT;
    options.max_attempts = 1;
    dlock_queue_t* queue = open_queue(client, &options);
    put_text(queue, "dies");
    dlock_held_t* held = take_by_port(queue);
    OK(dlock_submit_delivery_give_back(port, held, NULL, NULL, error));
    (void)next(DLOCK_COMPLETION_DONE);
    CHECK(dlock_held_free(held) == DLOCK_OK);
    held = take_by_port(queue);
    OK(dlock_submit_delivery_nack(port, held, -1, "why", 3, NULL, NULL, error));
    (void)next(DLOCK_COMPLETION_DONE);
    CHECK(dlock_held_free(held) == DLOCK_OK);

    OK(dlock_submit_queue_dead(port, queue, 10, NULL, NULL, error));
    dlock_jobs_t* jobs = next(DLOCK_COMPLETION_JOBS).jobs;
    dlock_listed_job_t dead = DLOCK_LISTED_JOB_INIT, waits = DLOCK_LISTED_JOB_INIT;
    OK(dlock_jobs_get(jobs, 0, &dead, error));
    CHECK(dead.payload_len == 4 && memcmp(dead.payload, "dies", 4) == 0 && strcmp(dead.reason, "why") == 0);
    CHECK(dlock_jobs_free(jobs) == DLOCK_OK);
    OK(dlock_submit_queue_requeue_dead(port, queue, dead.id, dead.id_len, NULL, NULL, error));
    CHECK(next(DLOCK_COMPLETION_FLAG).flag);
    OK(dlock_submit_queue_peek(port, queue, 10, NULL, NULL, error));
    jobs = next(DLOCK_COMPLETION_JOBS).jobs;
    OK(dlock_jobs_get(jobs, 0, &waits, error));
    CHECK(strcmp(waits.id, dead.id) == 0 && dlock_jobs_free(jobs) == DLOCK_OK);
    OK(dlock_submit_queue_cancel(port, queue, dead.id, dead.id_len, NULL, NULL, error));
    CHECK(next(DLOCK_COMPLETION_FLAG).flag);
    OK(dlock_submit_queue_cancel(port, queue, dead.id, dead.id_len, NULL, NULL, error));
    CHECK(!next(DLOCK_COMPLETION_FLAG).flag);
    OK(dlock_submit_queue_remove_dead(port, queue, dead.id, dead.id_len, NULL, NULL, error));
    CHECK(!next(DLOCK_COMPLETION_FLAG).flag);
    OK(dlock_submit_queue_purge_dead(port, queue, NULL, NULL, error));
    CHECK(next(DLOCK_COMPLETION_NUMBER).number == 0);
    OK(dlock_submit_queue_requeue_all_dead(port, queue, NULL, NULL, error));
    CHECK(next(DLOCK_COMPLETION_NUMBER).number == 0);
    put_text(queue, "waits");
    OK(dlock_submit_queue_purge(port, queue, NULL, NULL, error));
    CHECK(next(DLOCK_COMPLETION_NUMBER).number == 1);

    OK(dlock_submit_queue_peek(port, queue, 0, NULL, NULL, error));
    CHECK(next(DLOCK_COMPLETION_ERROR).status == DLOCK_INVALID_ARGUMENT);
    dlock_job_t wrong = job_of("x", 1);
    wrong.struct_size = 0;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_submit_queue_put(port, queue, &wrong, NULL, NULL, error));
    CHECK(dlock_queue_free(queue) == DLOCK_OK);
}

static void what_reaches_nobody_goes_back(void) {
    dlock_queue_t* queue = open_queue(client, NULL);
    dlock_port_t* own = NULL;
    dlock_op_t* op = NULL;
    bool in_time = false;
    OK(dlock_submit_queue_take(port, queue, -1, NULL, &op, error));
    OK(dlock_op_cancel(op, &in_time, error));
    CHECK(in_time && next(DLOCK_COMPLETION_ERROR).status == DLOCK_CANCELLED);
    OK(dlock_port_new(&own, error));
    put_text(queue, "x");
    OK(dlock_submit_queue_take(own, queue, -1, NULL, NULL, error));
    int fd = -1;
    OK(dlock_port_fd(own, &fd, error));
    struct pollfd done = {fd, POLLIN, 0};
    CHECK(poll(&done, 1, 60000) == 1);
    CHECK(dlock_port_free(own) == DLOCK_OK); /* the delivery was not drained */
    dlock_held_t* held = take(queue);
    CHECK(attempt_of(held) == 1); /* it did not count */
    OK(dlock_delivery_ack(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_queue_free(queue) == DLOCK_OK);
}

int main(void) {
    client = open_client();
    OK(dlock_port_new(&port, error));
    RUN(a_port_puts_takes_and_acknowledges);
    RUN(a_port_lists_and_moves_jobs);
    RUN(what_reaches_nobody_goes_back);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_port_free(port) == DLOCK_OK && dlock_client_free(client) == DLOCK_OK);
    return 0;
}
