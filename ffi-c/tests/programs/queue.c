/* Delayed queues, through the synchronous calls. What they refuse is in queue_bounds.c. */
#include "queues.h"
#include "threads.h"

static dlock_client_t* client;

static void a_job_is_put_taken_and_acknowledged(void) {
    dlock_queue_t* queue = open_queue(client, NULL);
    char name[DLOCK_NAME_SIZE], given[256];
    size_t length = 0, given_len = case_name(given, sizeof given);
    OK(dlock_queue_name(queue, name, sizeof name, &length, error));
    CHECK(length == given_len && strcmp(name, given) == 0);

    dlock_job_t job = job_of("hel\0lo", 6);
    job.id = "one", job.id_len = 3, job.priority = 7;
    dlock_put_t put = DLOCK_PUT_INIT;
    OK(dlock_queue_put(queue, &job, &put, error));
    CHECK(put.is_new && put.id_len == 3 && strcmp(put.id, "one") == 0 && put.struct_size == sizeof put);
    OK(dlock_queue_put(queue, &job, &put, error));
    CHECK(!put.is_new);
    OK(dlock_queue_put(queue, &job, NULL, error));
    has(queue, 1, 0, 0, 0);

    dlock_held_t* held = take(queue);
    dlock_delivery_t got = DLOCK_DELIVERY_INIT;
    OK(dlock_delivery_job(held, &got, error));
    CHECK(got.payload_len == 6 && memcmp(got.payload, "hel\0lo", 6) == 0);
    CHECK(got.id_len == 3 && strcmp(got.id, "one") == 0 && got.attempt == 1 && got.priority == 7);
    CHECK(got.due_ms > INT64_C(1700000000000) && got.struct_size == sizeof got);
    has(queue, 0, 0, 1, 0);
    uint64_t token = 0;
    bool valid = false;
    int64_t left = 0;
    dlock_loss_t loss = DLOCK_LOSS_CLOSED;
    OK(dlock_held_token(held, &token, error));
    OK(dlock_held_is_valid(held, &valid, error));
    OK(dlock_held_lost(held, &loss, error));
    OK(dlock_held_extend(held, 60000, error));
    OK(dlock_held_remaining_ms(held, &left, error));
    CHECK(token > 0 && valid && loss == DLOCK_LOSS_NONE && left > 30000 && left <= 60000);

    OK(dlock_delivery_ack(held, error));
    has(queue, 0, 0, 0, 0);
    OK(dlock_held_is_valid(held, &valid, error));
    CHECK(!valid && memcmp(got.payload, "hel\0lo", 6) == 0); /* it is there as long as the handle */
    GIVES(DLOCK_NOT_HELD, dlock_delivery_ack(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK);
    GIVES(DLOCK_CLOSED, dlock_delivery_job(held, &got, error));

    put_text(queue, "two");
    held = take(queue);
    uint64_t later = 0;
    OK(dlock_held_token(held, &later, error));
    CHECK(later > token);
    OK(dlock_delivery_ack(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_queue_free(queue) == DLOCK_OK);
}

static void jobs_come_by_priority_and_due_time(void) {
    dlock_queue_t* queue = open_queue(client, NULL);
    dlock_job_t jobs[5];
    static const char* const payloads[] = {"d", "b", "c", "a", "later"};
    static const int64_t at_ms[] = {2000, 1000, 1000, 3000, -1};
    for (int at = 0; at < 5; at++) {
        jobs[at] = job_of(payloads[at], strlen(payloads[at]));
        jobs[at].at_ms = at_ms[at];
    }
    jobs[3].priority = 1;
    jobs[4].delay_ms = 60000;
    dlock_put_t puts[5] = {DLOCK_PUT_INIT};
    OK(dlock_queue_put_many(queue, jobs, 5, puts, error));
    for (int at = 0; at < 5; at++) {
        CHECK(puts[at].is_new && puts[at].id_len > 0 && puts[at].id_len == strlen(puts[at].id));
        for (int other = 0; other < at; other++) CHECK(strcmp(puts[at].id, puts[other].id) != 0);
    }
    has(queue, 4, 1, 0, 0);
    dlock_held_t* helds[100] = {NULL};
    size_t count = 0;
    OK(dlock_queue_take_many(queue, 3, 0, NULL, helds, &count, error));
    CHECK(count == 3 && helds[3] == NULL);
    OK(dlock_queue_take_many(queue, 100, 0, NULL, helds + 3, &count, error));
    CHECK(count == 1);
    for (int at = 0; at < 4; at++) {
        dlock_delivery_t got = DLOCK_DELIVERY_INIT;
        OK(dlock_delivery_job(helds[at], &got, error));
        CHECK(got.payload_len == 1 && *(const char*)got.payload == "abcd"[at]);
    }
    OK(dlock_delivery_ack(helds[1], error));
    bool acked[4] = {false, true, false, false};
    OK(dlock_queue_ack_many(queue, (const dlock_held_t* const*)helds, 4, acked, error));
    CHECK(acked[0] && !acked[1] && acked[2] && acked[3]);
    OK(dlock_queue_ack_many(queue, NULL, 0, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_queue_ack_many(queue, NULL, 1, NULL, error));
    for (int at = 0; at < 4; at++) CHECK(dlock_held_free(helds[at]) == DLOCK_OK);
    GIVES(DLOCK_BUSY, dlock_queue_take_many(queue, 100, 10, NULL, helds, &count, error));
    dlock_held_t* none = NULL;
    GIVES(DLOCK_BUSY, dlock_queue_take(queue, 10, NULL, &none, error));
    CHECK(none == NULL && count == 1);
    OK(dlock_queue_put_many(queue, NULL, 0, NULL, error));
    OK(dlock_queue_put_many(queue, jobs, 2, NULL, error));
    int64_t purged = 0;
    OK(dlock_queue_purge(queue, &purged, error));
    CHECK(purged == 3);
    CHECK(dlock_queue_free(queue) == DLOCK_OK);
}

static dlock_cancel_t* cancel;
static dlock_status_t take_one(const void* queue) {
    dlock_held_t* held = NULL;
    dlock_status_t status = dlock_queue_take(queue, -1, cancel, &held, &job_error);
    if (status != DLOCK_OK) return status;
    status = dlock_delivery_ack(held, &job_error);
    return dlock_held_free(held) == DLOCK_OK ? status : DLOCK_INTERNAL;
}

static void await_waiters(const dlock_queue_t* queue, uint64_t waiters) {
    dlock_queue_counts_t counts = DLOCK_QUEUE_COUNTS_INIT;
    for (int64_t until = now_ms() + 30000; counts.waiters != waiters;) {
        CHECK(now_ms() < until);
        OK(dlock_queue_counts(queue, &counts, error));
    }
}

static void a_take_waits_for_a_put_and_is_cancelled(void) {
    dlock_client_t* other = open_client();
    dlock_queue_t *queue = open_queue(client, NULL), *theirs = open_queue(other, NULL);
    struct job waiting;
    start(take_one, queue, &waiting);
    await_waiters(theirs, 1);
    put_text(theirs, "now");
    ENDS(DLOCK_OK, &waiting);
    has(queue, 0, 0, 0, 0);

    OK(dlock_cancel_new(&cancel, error));
    start(take_one, queue, &waiting);
    await_waiters(theirs, 1);
    OK(dlock_cancel_fire(cancel, error));
    ENDS(DLOCK_CANCELLED, &waiting);
    CHECK(dlock_cancel_free(cancel) == DLOCK_OK);
    cancel = NULL;
    put_text(theirs, "later");
    start(take_one, queue, &waiting);
    ENDS(DLOCK_OK, &waiting);

    start(take_one, queue, &waiting);
    await_waiters(theirs, 1);
    OK(dlock_client_close(client, false, error));
    ENDS(DLOCK_CLOSED, &waiting);
    dlock_job_t job = job_of("x", 1);
    GIVES(DLOCK_CLOSED, dlock_queue_put(queue, &job, NULL, error));
    CHECK(dlock_queue_free(queue) == DLOCK_OK && dlock_queue_free(theirs) == DLOCK_OK);
    CHECK(dlock_client_free(client) == DLOCK_OK);
    client = other;
}

static void a_job_that_failed_comes_again_until_it_is_dead(void) {
    dlock_queue_options_t options = DLOCK_QUEUE_OPTIONS_INIT;
    options.max_attempts = 3;
    dlock_queue_t* queue = open_queue(client, &options);
    dlock_job_t job = job_of("payload", 7);
    job.id = "x", job.id_len = 1;
    OK(dlock_queue_put(queue, &job, NULL, error));
    for (int64_t attempt = 1; attempt <= 3; attempt++) {
        dlock_held_t* held = take(queue);
        CHECK(attempt_of(held) == attempt);
        OK(dlock_delivery_give_back(held, error)); /* this one does not count */
        CHECK(dlock_held_free(held) == DLOCK_OK);
        held = take(queue);
        CHECK(attempt_of(held) == attempt);
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_delivery_nack(held, -2, NULL, 0, error));
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_delivery_nack(held, -1, "\xff", 1, error));
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_delivery_nack(held, -1, NULL, 1, error));
        if (attempt == 1) OK(dlock_delivery_nack(held, -1, NULL, 0, error));
        if (attempt == 2) OK(dlock_delivery_nack(held, 20, "later", 5, error));
        if (attempt == 3) OK(dlock_delivery_nack(held, 60000, "n\xc3\xa4ver", 6, error));
        GIVES(DLOCK_NOT_HELD, dlock_delivery_nack(held, -1, NULL, 0, error));
        GIVES(DLOCK_NOT_HELD, dlock_delivery_give_back(held, error));
        CHECK(dlock_held_free(held) == DLOCK_OK);
    }
    has(queue, 0, 0, 0, 1);
    dlock_jobs_t* dead = NULL;
    size_t count = 0;
    OK(dlock_queue_dead(queue, DLOCK_QUEUE_LIST_MAX, &dead, error));
    OK(dlock_jobs_len(dead, &count, error));
    dlock_listed_job_t each = DLOCK_LISTED_JOB_INIT;
    OK(dlock_jobs_get(dead, 0, &each, error));
    CHECK(count == 1 && strcmp(each.id, "x") == 0 && each.id_len == 1 && each.attempts == 3 && each.dead);
    CHECK(each.payload_len == 7 && memcmp(each.payload, "payload", 7) == 0);
    CHECK(strcmp(each.reason, "n\xc3\xa4ver") == 0 && each.reason_len == 6);
    CHECK(each.dead_since_ms >= each.due_ms && each.due_ms > INT64_C(1700000000000));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_jobs_get(dead, 1, &each, error));
    CHECK(dlock_jobs_free(dead) == DLOCK_OK && dlock_jobs_free(dead) == DLOCK_CLOSED);
    GIVES(DLOCK_CLOSED, dlock_jobs_get(dead, 0, &each, error));

    bool is = true;
    int64_t number = 0;
    OK(dlock_queue_requeue_dead(queue, "y", 1, &is, error));
    CHECK(!is);
    OK(dlock_queue_requeue_dead(queue, "x", 1, &is, error));
    CHECK(is);
    dlock_held_t* held = take(queue);
    CHECK(attempt_of(held) == 1);
    OK(dlock_delivery_ack(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_queue_free(queue) == DLOCK_OK);

    options.max_attempts = 1;
    queue = open_queue(client, &options);
    for (int at = 0; at < 2; at++) {
        put_text(queue, "dies");
        held = take(queue);
        OK(dlock_delivery_nack(held, -1, NULL, 0, error));
        CHECK(dlock_held_free(held) == DLOCK_OK);
    }
    OK(dlock_queue_requeue_all_dead(queue, &number, error));
    CHECK(number == 2);
    held = take(queue);
    OK(dlock_delivery_nack(held, -1, NULL, 0, error));
    CHECK(dlock_held_free(held) == DLOCK_OK);
    OK(dlock_queue_remove_dead(queue, "none", 4, &is, error));
    CHECK(!is);
    OK(dlock_queue_purge_dead(queue, &number, error));
    CHECK(number == 1);
    OK(dlock_queue_purge(queue, NULL, error));
    CHECK(dlock_queue_free(queue) == DLOCK_OK);
}

static void a_lost_delivery_is_not_acknowledged(void) {
    dlock_queue_options_t options = DLOCK_QUEUE_OPTIONS_INIT;
    options.lease_ms = 150;
    dlock_queue_t *queue = open_queue(client, &options), *renewed = open_queue(client, NULL);
    put_text(queue, "x");
    dlock_held_t* lost = take(queue);
    dlock_loss_t loss = DLOCK_LOSS_NONE;
    OK(dlock_held_wait_lost(lost, 10000, NULL, &loss, error));
    CHECK(loss == DLOCK_LOSS_EXPIRED);
    dlock_held_t* again = take(renewed);
    CHECK(attempt_of(again) == 2);
    GIVES(DLOCK_NOT_HELD, dlock_delivery_ack(lost, error));
    has(queue, 0, 0, 1, 0);
    OK(dlock_delivery_ack(again, error));
    has(queue, 0, 0, 0, 0);
    CHECK(dlock_held_free(lost) == DLOCK_OK && dlock_held_free(again) == DLOCK_OK);

    put_text(queue, "freed");
    again = take(renewed);
    CHECK(dlock_held_free(again) == DLOCK_OK); /* goes back, and counts */
    again = take(renewed);
    CHECK(attempt_of(again) == 2);
    OK(dlock_delivery_ack(again, error));
    CHECK(dlock_held_free(again) == DLOCK_OK);
    CHECK(dlock_queue_free(queue) == DLOCK_OK && dlock_queue_free(renewed) == DLOCK_OK);
}

static void what_waits_is_listed_and_cancelled(void) {
    dlock_queue_t* queue = open_queue(client, NULL);
    dlock_job_t job = job_of("", 0);
    static const char* const ids[] = {"a", "b", "c"};
    for (int at = 0; at < 3; at++) {
        job.id = ids[at], job.id_len = 1, job.delay_ms = at == 2 ? 60000 : 0;
        OK(dlock_queue_put(queue, &job, NULL, error));
    }
    dlock_jobs_t* jobs = NULL;
    size_t count = 0;
    OK(dlock_queue_peek(queue, 2, &jobs, error));
    OK(dlock_jobs_len(jobs, &count, error));
    CHECK(count == 2 && dlock_jobs_free(jobs) == DLOCK_OK);
    OK(dlock_queue_peek(queue, 100, &jobs, error));
    OK(dlock_jobs_len(jobs, &count, error));
    CHECK(count == 3);
    for (size_t at = 0; at < 3; at++) {
        dlock_listed_job_t each = DLOCK_LISTED_JOB_INIT;
        OK(dlock_jobs_get(jobs, at, &each, error));
        CHECK(strcmp(each.id, ids[at]) == 0 && each.attempts == 0 && each.payload_len == 0);
        CHECK(!each.dead && each.dead_since_ms == 0 && each.reason_len == 0 && each.reason[0] == '\0');
    }
    CHECK(dlock_jobs_free(jobs) == DLOCK_OK && dlock_jobs_free(NULL) == DLOCK_OK);

    dlock_held_t* held = take(queue);
    bool cancelled = true;
    GIVES(DLOCK_NOT_HELD, dlock_queue_cancel(queue, "a", 1, &cancelled, error));
    OK(dlock_queue_cancel(queue, "d", 1, &cancelled, error));
    CHECK(!cancelled);
    OK(dlock_queue_cancel(queue, "b", 1, &cancelled, error));
    CHECK(cancelled);
    OK(dlock_queue_cancel(queue, "c", 1, NULL, error));
    has(queue, 0, 0, 1, 0);
    OK(dlock_delivery_ack(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_queue_free(queue) == DLOCK_OK);
}

int main(void) {
    client = open_client();
    RUN(a_job_is_put_taken_and_acknowledged);
    RUN(jobs_come_by_priority_and_due_time);
    RUN(a_take_waits_for_a_put_and_is_cancelled);
    RUN(a_job_that_failed_comes_again_until_it_is_dead);
    RUN(a_lost_delivery_is_not_acknowledged);
    RUN(what_waits_is_listed_and_cancelled);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_client_free(client) == DLOCK_OK);
    return 0;
}
