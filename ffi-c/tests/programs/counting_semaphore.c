/* Counting semaphores, through the synchronous calls and through a port: permits without owner, taken and brought back.
 */
#include "threads.h"

static dlock_client_t* client;
static dlock_port_t* port;
static dlock_completion_t got[1];

static const dlock_completion_t* one(void) {
    collect(port, got, 1);
    return got;
}

static dlock_counting_semaphore_inspection_t inspect(const dlock_counting_semaphore_t* semaphore) {
    dlock_counting_semaphore_inspection_t seen = DLOCK_COUNTING_SEMAPHORE_INSPECTION_INIT;
    OK(dlock_counting_semaphore_inspect(semaphore, &seen, error));
    CHECK(seen.struct_size == sizeof seen);
    return seen;
}

static int64_t available(const dlock_counting_semaphore_t* semaphore) { return inspect(semaphore).available; }

/* Until so many are available: what is given back in the background comes soon. */
static void comes_to(const dlock_counting_semaphore_t* semaphore, int64_t permits) {
    for (int64_t until = now_ms() + 30000; available(semaphore) != permits;) CHECK(now_ms() < until);
}

static dlock_counting_semaphore_stats_t stats_of(const dlock_client_t* of) {
    dlock_counting_semaphore_stats_t stats = DLOCK_COUNTING_SEMAPHORE_STATS_INIT;
    OK(dlock_client_counting_semaphore_stats(of, &stats, error));
    return stats;
}

static void await_waiting(const dlock_client_t* of, uint64_t callers) {
    for (int64_t until = now_ms() + 30000; stats_of(of).waiting != callers;) CHECK(now_ms() < until);
}

static dlock_status_t acquire_two(const void* semaphore) {
    return dlock_counting_semaphore_acquire(semaphore, 2, -1, NULL, &job_error);
}

static void permits_are_taken_by_one_and_brought_back_by_another(void) {
    dlock_client_t* other = open_client();
    dlock_counting_semaphore_t *mine = open_counting(client, 3), *theirs = open_counting(other, 9);
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    OK(dlock_counting_semaphore_name(mine, name, sizeof name, &length, error));
    CHECK(length == strlen(name) && strstr(name, check_case) != NULL);
    CHECK(inspect(theirs).exists && available(theirs) == 3); /* whoever makes it says how many */
    OK(dlock_counting_semaphore_acquire(mine, 2, -1, NULL, error));
    GIVES(DLOCK_BUSY, dlock_counting_semaphore_try_acquire(mine, 2, error));
    GIVES(DLOCK_BUSY, dlock_counting_semaphore_acquire(theirs, 2, 300, NULL, error));
    OK(dlock_counting_semaphore_try_acquire(theirs, 1, error));
    struct job waiter;
    start(acquire_two, mine, &waiter);
    await_waiting(client, 1);
    int64_t begun = now_ms();
    OK(dlock_counting_semaphore_release(theirs, 2, error));
    ENDS(DLOCK_OK, &waiter);
    CHECK(now_ms() - begun < bound_ms(500));
    CHECK(available(mine) == 0 && inspect(mine).queued == 0);
    OK(dlock_counting_semaphore_release(theirs, 7, error)); /* nothing stops more than there were */
    CHECK(available(mine) == 7);
    dlock_counting_semaphore_free(mine), dlock_counting_semaphore_free(theirs);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static void permits_are_added_taken_away_and_drained(void) {
    dlock_counting_semaphore_t* semaphore = open_counting(client, 4);
    OK(dlock_counting_semaphore_add_permits(semaphore, -6, error));
    CHECK(available(semaphore) == -2);
    int64_t drained = 0;
    OK(dlock_counting_semaphore_drain(semaphore, &drained, error));
    CHECK(drained == -2 && available(semaphore) == 0);
    OK(dlock_counting_semaphore_add_permits(semaphore, 5, error));
    OK(dlock_counting_semaphore_drain(semaphore, &drained, error));
    CHECK(drained == 5 && available(semaphore) == 0);
    bool made = true;
    OK(dlock_counting_semaphore_try_set_permits(semaphore, 3, &made, error));
    CHECK(!made && available(semaphore) == 0);
    CHECK(dlock_counting_semaphore_free(semaphore) == DLOCK_OK);
    GIVES(DLOCK_CLOSED, dlock_counting_semaphore_release(semaphore, 1, error));
}

static void numbers_that_no_counting_semaphore_has_are_refused(void) {
    dlock_counting_semaphore_t* semaphore = open_counting(client, 1);
    int64_t wrong[] = {-1, 2147483648, INT64_MIN, INT64_MAX};
    bool made = false;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_counting_semaphore_try_set_permits(semaphore, wrong[i], &made, error));
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_counting_semaphore_acquire(semaphore, wrong[i], -1, NULL, error));
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_counting_semaphore_release(semaphore, wrong[i], error));
    }
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_counting_semaphore_try_acquire(semaphore, 0, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_counting_semaphore_release(semaphore, 0, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_counting_semaphore_add_permits(semaphore, 0, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_counting_semaphore_add_permits(semaphore, -2147483648, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_counting_semaphore_release(semaphore, 2147483647, error)); /* too many in all */
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_counting_semaphore_acquire(semaphore, 1, -2, NULL, error));
    CHECK(available(semaphore) == 1);
    dlock_counting_semaphore_t* none = NULL;
    GIVES(DLOCK_INVALID_NAME, dlock_counting_semaphore_open(client, "a{", 2, &none, error));
    CHECK(none == NULL && dlock_counting_semaphore_free(semaphore) == DLOCK_OK);
}

static void both_kinds_of_semaphore_of_one_name_refuse_each_other(void) {
    char name[256];
    size_t length = case_name(name, sizeof name);
    dlock_counting_semaphore_t* counting = NULL;
    dlock_semaphore_t* leased = NULL;
    OK(dlock_counting_semaphore_open(client, name, length, &counting, error));
    OK(dlock_semaphore_open(client, name, length, 2, NULL, &leased, error));
    OK(dlock_semaphore_acquire(leased, 1, NULL, NULL, error));
    GIVES(DLOCK_WRONG_TYPE, dlock_counting_semaphore_try_acquire(counting, 1, error));
    GIVES(DLOCK_WRONG_TYPE, dlock_counting_semaphore_release(counting, 1, error));
    OK(dlock_semaphore_release(leased, NULL, error));
    dlock_counting_semaphore_free(counting), dlock_semaphore_free(leased);
}

static dlock_cancel_t* cancel;
static dlock_status_t acquire_with_token(const void* semaphore) {
    return dlock_counting_semaphore_acquire(semaphore, 1, -1, cancel, &job_error);
}

static void a_cancelled_wait_for_permits_leaves_nothing(void) {
    dlock_counting_semaphore_t* semaphore = open_counting(client, 0);
    OK(dlock_cancel_new(&cancel, error));
    struct job waiter;
    start(acquire_with_token, semaphore, &waiter);
    await_waiting(client, 1);
    OK(dlock_cancel_fire(cancel, error));
    ENDS(DLOCK_CANCELLED, &waiter);
    dlock_op_t* op = NULL;
    OK(dlock_submit_counting_semaphore_acquire(port, semaphore, 1, -1, NULL, &op, error));
    await_waiting(client, 1);
    bool cancelled = false;
    OK(dlock_op_cancel(op, &cancelled, error));
    CHECK(cancelled && one()->op == op && got[0].status == DLOCK_CANCELLED);
    OK(dlock_counting_semaphore_release(semaphore, 1, error));
    OK(dlock_counting_semaphore_acquire(semaphore, 1, 30000, NULL, error)); /* nobody stands before it */
    CHECK(dlock_cancel_free(cancel) == DLOCK_OK && dlock_counting_semaphore_free(semaphore) == DLOCK_OK);
}

static void a_port_that_goes_brings_undrained_permits_back(void) {
    dlock_counting_semaphore_t* semaphore = open_counting(client, 2);
    dlock_port_t* unread = NULL;
    OK(dlock_port_new(&unread, error));
    OK(dlock_submit_counting_semaphore_acquire(unread, semaphore, 2, -1, NULL, NULL, error));
    while (!readable(unread)) continue;                                                       /* granted */
    OK(dlock_submit_counting_semaphore_acquire(unread, semaphore, 1, -1, NULL, NULL, error)); /* waiting */
    CHECK(available(semaphore) == 0 && dlock_port_free(unread) == DLOCK_OK);
    comes_to(semaphore, 2);
    CHECK(dlock_counting_semaphore_free(semaphore) == DLOCK_OK);
}

static void operations_of_a_counting_semaphore_complete_with_answers(void) {
    dlock_counting_semaphore_t* semaphore = open_counting(client, 3);
    int mine = 0;
    dlock_op_t* op = NULL;
    OK(dlock_submit_counting_semaphore_try_set_permits(port, semaphore, 9, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_FLAG && !got[0].flag);
    OK(dlock_submit_counting_semaphore_acquire(port, semaphore, 2, -1, &mine, &op, error));
    CHECK(one()->kind == DLOCK_COMPLETION_DONE && got[0].op == op && got[0].user_data == &mine);
    bool cancelled = true;
    OK(dlock_op_cancel(op, &cancelled, error));
    CHECK(!cancelled && available(semaphore) == 1); /* too late: they stay acquired */
    OK(dlock_submit_counting_semaphore_acquire(port, semaphore, 2, 300, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_ERROR && got[0].status == DLOCK_BUSY);
    OK(dlock_submit_counting_semaphore_release(port, semaphore, 2, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_DONE);
    OK(dlock_submit_counting_semaphore_add_permits(port, semaphore, 4, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_DONE);
    OK(dlock_submit_counting_semaphore_inspect(port, semaphore, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_COUNTING_SEMAPHORE_INSPECTION);
    CHECK(got[0].counting_semaphore_inspection.exists && got[0].counting_semaphore_inspection.available == 7);
    OK(dlock_submit_counting_semaphore_drain(port, semaphore, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_NUMBER && got[0].number == 7);
    OK(dlock_submit_counting_semaphore_acquire(port, semaphore, 0, -1, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_ERROR && got[0].status == DLOCK_INVALID_ARGUMENT);
    CHECK(!readable(port) && dlock_counting_semaphore_free(semaphore) == DLOCK_OK);
}

static void closing_ends_the_waiters_for_permits(void) {
    dlock_client_t* other = open_client();
    dlock_counting_semaphore_t* semaphore = open_counting(other, 1);
    struct job waiter;
    start(acquire_two, semaphore, &waiter);
    await_waiting(other, 1);
    OK(dlock_client_close(other, false, error));
    ENDS(DLOCK_CLOSED, &waiter);
    GIVES(DLOCK_CLOSED, dlock_counting_semaphore_release(semaphore, 1, error));
    dlock_counting_semaphore_free(semaphore), dlock_client_free(other);
}

static void a_client_counts_what_its_counting_semaphores_do(void) {
    dlock_client_t* own = open_client();
    dlock_counting_semaphore_t* semaphore = open_counting(own, 2);
    OK(dlock_counting_semaphore_acquire(semaphore, 2, -1, NULL, error));
    GIVES(DLOCK_BUSY, dlock_counting_semaphore_try_acquire(semaphore, 1, error));
    OK(dlock_counting_semaphore_release(semaphore, 2, error));
    dlock_counting_semaphore_stats_t seen = stats_of(own);
    CHECK(seen.acquired == 1 && seen.wait_time.count == 1 && seen.released == 1 && seen.wait_timeouts == 1);
    CHECK(dlock_counting_semaphore_free(semaphore) == DLOCK_OK);
    OK(dlock_client_close(own, false, error));
    dlock_client_free(own);
}

int main(void) {
    client = open_client();
    OK(dlock_port_new(&port, error));
    RUN(permits_are_taken_by_one_and_brought_back_by_another);
    RUN(permits_are_added_taken_away_and_drained);
    RUN(numbers_that_no_counting_semaphore_has_are_refused);
    RUN(both_kinds_of_semaphore_of_one_name_refuse_each_other);
    RUN(a_cancelled_wait_for_permits_leaves_nothing);
    RUN(a_port_that_goes_brings_undrained_permits_back);
    RUN(operations_of_a_counting_semaphore_complete_with_answers);
    RUN(closing_ends_the_waiters_for_permits);
    RUN(a_client_counts_what_its_counting_semaphores_do);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_port_free(port) == DLOCK_OK && dlock_client_free(client) == DLOCK_OK);
    return 0;
}
