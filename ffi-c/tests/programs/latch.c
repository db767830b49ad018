/* Latches, through the synchronous calls and through a port: set, counted down, waited for. */
#include "threads.h"

static dlock_client_t* client;
static dlock_port_t* port;
static dlock_completion_t got[1];

static const dlock_completion_t* one(void) {
    collect(port, got, 1);
    return got;
}

static bool set(const dlock_latch_t* latch, int64_t count) {
    bool was_open = false;
    OK(dlock_latch_try_set_count(latch, count, &was_open, error));
    return was_open;
}

static int64_t down(const dlock_latch_t* latch, int64_t by) {
    int64_t left = -1;
    OK(dlock_latch_count_down(latch, by, &left, error));
    return left;
}

static int64_t count_of(const dlock_latch_t* latch) {
    int64_t count = -1;
    OK(dlock_latch_count(latch, &count, error));
    return count;
}

static bool opens(const dlock_latch_t* latch, int64_t wait_ms) {
    bool open = false;
    OK(dlock_latch_wait(latch, wait_ms, NULL, &open, error));
    return open;
}

static dlock_status_t wait_until_open(const void* latch) {
    bool open = false;
    dlock_status_t status = dlock_latch_wait(latch, -1, NULL, &open, &job_error);
    return status == DLOCK_OK && !open ? DLOCK_INTERNAL : status;
}

static dlock_latch_stats_t stats_of(const dlock_client_t* of) {
    dlock_latch_stats_t stats = DLOCK_LATCH_STATS_INIT;
    OK(dlock_client_latch_stats(of, &stats, error));
    return stats;
}

static void await_waiting(const dlock_client_t* of, uint64_t callers) {
    for (int64_t until = now_ms() + 30000; stats_of(of).waiting != callers;) CHECK(now_ms() < until);
}

static void it_is_set_once_and_counted_down_to_zero(void) {
    dlock_latch_t* latch = open_latch(client);
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    OK(dlock_latch_name(latch, name, sizeof name, &length, error));
    CHECK(length == strlen(name) && strstr(name, check_case) != NULL);
    CHECK(count_of(latch) == 0 && opens(latch, -1) && down(latch, 1) == 0); /* one that is not there is open */
    CHECK(set(latch, 5) && !set(latch, 7) && count_of(latch) == 5);
    CHECK(!opens(latch, 0) && !opens(latch, 20));
    CHECK(down(latch, 1) == 4 && down(latch, 2) == 2);
    OK(dlock_latch_count_down(latch, 1, NULL, error)); /* without asking what is left */
    CHECK(count_of(latch) == 1 && down(latch, 9) == 0 && opens(latch, 0));
    CHECK(set(latch, 9007199254740991) && count_of(latch) == 9007199254740991);
    bool deleted = false;
    OK(dlock_latch_delete(latch, &deleted, error));
    CHECK(deleted && count_of(latch) == 0);
    OK(dlock_latch_delete(latch, &deleted, error));
    CHECK(!deleted);
    OK(dlock_latch_delete(latch, NULL, error));
    CHECK(dlock_latch_free(latch) == DLOCK_OK);
    int64_t count = 0;
    GIVES(DLOCK_CLOSED, dlock_latch_count(latch, &count, error));
}

static void the_last_count_wakes_all_that_wait(void) {
    dlock_client_t* other = open_client();
    dlock_latch_t *mine = open_latch(client), *theirs = open_latch(other);
    CHECK(set(mine, 2));
    struct job waiters[4];
    for (int i = 0; i < 4; i++) start(wait_until_open, theirs, &waiters[i]);
    await_waiting(other, 4);
    CHECK(down(mine, 1) == 1 && stats_of(other).waiting == 4);
    int64_t begun = now_ms();
    CHECK(down(mine, 1) == 0);
    for (int i = 0; i < 4; i++) ENDS(DLOCK_OK, &waiters[i]);
    CHECK(now_ms() - begun < bound_ms(500)); /* by the message, not by the clock of the waiters */
    dlock_latch_stats_t seen = stats_of(other);
    CHECK(seen.opened == 4 && seen.wait_time.count == 4 && seen.waiting == 0 && seen.wait_timeouts == 0);
    dlock_latch_free(mine), dlock_latch_free(theirs);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static void counts_that_no_latch_has_are_refused(void) {
    dlock_latch_t* latch = open_latch(client);
    int64_t wrong[] = {0, -1, INT64_MIN, INT64_MAX, 9007199254740992};
    bool flag = false;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_latch_try_set_count(latch, wrong[i], &flag, error));
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_latch_count_down(latch, wrong[i], NULL, error));
    }
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_latch_wait(latch, -2, NULL, &flag, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_latch_wait(latch, 0, NULL, NULL, error)); /* OK would not say that it is open */
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_latch_try_set_count(latch, 1, NULL, error));
    CHECK(count_of(latch) == 0);
    dlock_latch_t* none = NULL;
    GIVES(DLOCK_INVALID_NAME, dlock_latch_open(client, "a{", 2, &none, error));
    CHECK(none == NULL && dlock_latch_free(latch) == DLOCK_OK);
}

static void a_latch_of_the_name_of_a_held_lock_is_refused(void) {
    dlock_lock_t* lock = open_lock(client, NULL);
    char name[256];
    dlock_latch_t* latch = NULL;
    OK(dlock_latch_open(client, name, case_name(name, sizeof name), &latch, error));
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    int64_t number = 0;
    bool flag = false;
    GIVES(DLOCK_WRONG_TYPE, dlock_latch_count(latch, &number, error));
    GIVES(DLOCK_WRONG_TYPE, dlock_latch_wait(latch, 0, NULL, &flag, error));
    GIVES(DLOCK_WRONG_TYPE, dlock_latch_count_down(latch, 1, NULL, error));
    OK(dlock_lock_release(lock, error));
    CHECK(dlock_latch_free(latch) == DLOCK_OK && dlock_lock_free(lock) == DLOCK_OK);
}

static dlock_cancel_t* cancel;
static dlock_status_t wait_with_token(const void* latch) {
    bool open = false;
    return dlock_latch_wait(latch, -1, cancel, &open, &job_error);
}

static void a_cancel_token_ends_a_wait_for_a_latch(void) {
    dlock_latch_t* latch = open_latch(client);
    CHECK(set(latch, 1));
    OK(dlock_cancel_new(&cancel, error));
    struct job waiter;
    start(wait_with_token, latch, &waiter);
    await_waiting(client, 1);
    OK(dlock_cancel_fire(cancel, error));
    ENDS(DLOCK_CANCELLED, &waiter);
    await_waiting(client, 0);
    CHECK(count_of(latch) == 1 && dlock_cancel_free(cancel) == DLOCK_OK && dlock_latch_free(latch) == DLOCK_OK);
}

static void closing_ends_the_waiters_of_a_latch(void) {
    dlock_client_t* other = open_client();
    dlock_latch_t* latch = open_latch(other);
    CHECK(set(latch, 1));
    struct job waiter;
    start(wait_until_open, latch, &waiter);
    await_waiting(other, 1);
    OK(dlock_client_close(other, false, error));
    ENDS(DLOCK_CLOSED, &waiter);
    GIVES(DLOCK_CLOSED, dlock_latch_count_down(latch, 1, NULL, error));
    dlock_latch_free(latch), dlock_client_free(other);
}

static void operations_of_a_latch_complete_with_their_answers(void) {
    dlock_latch_t* latch = open_latch(client);
    int mine = 0;
    dlock_op_t* op = NULL;
    OK(dlock_submit_latch_try_set_count(port, latch, 9007199254740991, &mine, &op, error));
    CHECK(one()->kind == DLOCK_COMPLETION_FLAG && got[0].flag && got[0].op == op && got[0].user_data == &mine);
    OK(dlock_submit_latch_try_set_count(port, latch, 3, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_FLAG && !got[0].flag);
    OK(dlock_submit_latch_count_down(port, latch, 1, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_NUMBER && got[0].number == 9007199254740990);
    OK(dlock_submit_latch_count(port, latch, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_NUMBER && got[0].number == 9007199254740990);
    OK(dlock_submit_latch_wait(port, latch, 20, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_FLAG && !got[0].flag);
    OK(dlock_submit_latch_wait(port, latch, -1, &mine, NULL, error));
    await_waiting(client, 1);
    CHECK(down(latch, 9007199254740991) == 0);
    CHECK(one()->kind == DLOCK_COMPLETION_FLAG && got[0].flag && got[0].user_data == &mine);
    OK(dlock_submit_latch_delete(port, latch, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_FLAG && !got[0].flag);
    OK(dlock_submit_latch_count_down(port, latch, 0, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_ERROR && got[0].status == DLOCK_INVALID_ARGUMENT);
    CHECK(set(latch, 1));
    OK(dlock_submit_latch_wait(port, latch, -1, NULL, &op, error));
    bool cancelled = false;
    OK(dlock_op_cancel(op, &cancelled, error));
    CHECK(cancelled && one()->op == op && got[0].status == DLOCK_CANCELLED);
    await_waiting(client, 0);
    CHECK(!readable(port) && dlock_latch_free(latch) == DLOCK_OK);
}

int main(void) {
    client = open_client();
    OK(dlock_port_new(&port, error));
    RUN(it_is_set_once_and_counted_down_to_zero);
    RUN(the_last_count_wakes_all_that_wait);
    RUN(counts_that_no_latch_has_are_refused);
    RUN(a_latch_of_the_name_of_a_held_lock_is_refused);
    RUN(a_cancel_token_ends_a_wait_for_a_latch);
    RUN(closing_ends_the_waiters_of_a_latch);
    RUN(operations_of_a_latch_complete_with_their_answers);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_port_free(port) == DLOCK_OK && dlock_client_free(client) == DLOCK_OK);
    return 0;
}
