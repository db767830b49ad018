/* The semaphore through the synchronous calls: permits held by a thread or by a handle, released, lost, counted. */
#include "threads.h"

static dlock_client_t* client;

static int64_t available(const dlock_semaphore_t* semaphore) {
    dlock_semaphore_inspection_t seen = DLOCK_SEMAPHORE_INSPECTION_INIT;
    OK(dlock_semaphore_inspect(semaphore, &seen, error));
    CHECK(seen.exists);
    return seen.available;
}

static dlock_status_t try_two(const void* semaphore) {
    return dlock_semaphore_try_acquire(semaphore, 2, NULL, &job_error);
}
static dlock_status_t release_latest(const void* semaphore) {
    return dlock_semaphore_release(semaphore, NULL, &job_error);
}
static dlock_status_t wait_for_two(const void* semaphore) {
    dlock_status_t status = dlock_semaphore_acquire(semaphore, 2, NULL, NULL, &job_error);
    return status == DLOCK_OK ? dlock_semaphore_release(semaphore, NULL, &job_error) : status;
}

/* Until so many callers of a client wait. */
static void await_waiting(const dlock_client_t* of, uint64_t callers) {
    dlock_semaphore_stats_t stats = DLOCK_SEMAPHORE_STATS_INIT;
    for (int64_t until = now_ms() + 30000; stats.waiting != callers;) {
        CHECK(now_ms() < until);
        OK(dlock_client_semaphore_stats(of, &stats, error));
    }
}

static size_t permits_of(const dlock_held_t* held) {
    size_t count = 77;
    OK(dlock_held_permits(held, NULL, 0, &count, error));
    return count;
}

static dlock_held_t* acquire(const dlock_semaphore_t* semaphore, int64_t permits) {
    dlock_held_t* held = NULL;
    OK(dlock_semaphore_acquire(semaphore, permits, NULL, &held, error));
    return held;
}

static void a_thread_acquires_and_releases_permits(void) {
    dlock_semaphore_t* semaphore = open_semaphore(client, 3, NULL);
    dlock_semaphore_inspection_t seen = DLOCK_SEMAPHORE_INSPECTION_INIT;
    OK(dlock_semaphore_inspect(semaphore, &seen, error));
    CHECK(!seen.exists && seen.permits == 0 && seen.struct_size == sizeof seen);
    dlock_held_t* held = acquire(semaphore, 2);
    OK(dlock_semaphore_inspect(semaphore, &seen, error));
    CHECK(seen.exists && seen.permits == 3 && seen.available == 1 && seen.queued == 0);
    uint64_t token = 7;
    bool valid = false;
    int64_t ms = 0;
    OK(dlock_held_token(held, &token, error));
    OK(dlock_held_is_valid(held, &valid, error));
    OK(dlock_held_remaining_ms(held, &ms, error));
    CHECK(token == 0 && valid && ms > 0 && ms <= 30000);
    CHECK(in_another_thread(try_two, semaphore) == DLOCK_BUSY);
    CHECK(in_another_thread(release_latest, semaphore) == DLOCK_NOT_HELD);
    OK(dlock_semaphore_release(semaphore, NULL, error));
    CHECK(available(semaphore) == 3);
    dlock_error_t again = DLOCK_ERROR_INIT;
    CHECK(dlock_semaphore_release(semaphore, NULL, &again) == DLOCK_NOT_HELD);
    CHECK(strstr(again.message, "one acquire of the same thread") != NULL && again.name[0] != '\0');
    OK(dlock_held_is_valid(held, &valid, error));
    CHECK(!valid);
    CHECK(in_another_thread(wait_for_two, semaphore) == DLOCK_OK);
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_semaphore_free(semaphore) == DLOCK_OK);
}

static void permits_have_ids_of_their_own(void) {
    dlock_semaphore_t* semaphore = open_semaphore(client, 10000, NULL);
    dlock_held_t *two = acquire(semaphore, 2), *most = acquire(semaphore, 9998);
    dlock_permit_id_t ids[3] = {{"untouched"}, {"untouched"}, {"untouched"}};
    size_t count = 77;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_permits(two, ids, 1, &count, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_permits(two, NULL, 2, &count, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_permits(two, ids, 2, NULL, error));
    CHECK(count == 77 && strcmp(ids[0].text, "untouched") == 0);
    OK(dlock_held_permits(two, ids, 3, &count, error));
    CHECK(count == 2 && strcmp(ids[2].text, "untouched") == 0 && strcmp(ids[0].text, ids[1].text) != 0);
    for (int i = 0; i < 2; i++) CHECK(strlen(ids[i].text) == 32 && strspn(ids[i].text, "0123456789abcdef") == 32);
    CHECK(permits_of(most) == 9998);
    static dlock_permit_id_t all[9998];
    OK(dlock_held_permits(most, all, 9998, &count, error));
    CHECK(count == 9998 && strlen(all[9997].text) == 32 && strcmp(all[0].text, ids[0].text) != 0);
    dlock_lock_t* lock = NULL;
    dlock_held_t* of_a_lock = NULL;
    OK(dlock_lock_open(client, "c/semaphore/lock", 16, NULL, &lock, error));
    OK(dlock_lock_acquire(lock, NULL, &of_a_lock, error));
    CHECK(permits_of(of_a_lock) == 0);
    OK(dlock_lock_release(lock, error));
    OK(dlock_semaphore_release(semaphore, NULL, error));
    OK(dlock_semaphore_release(semaphore, NULL, error));
    CHECK(available(semaphore) == 10000);
    dlock_held_free(two), dlock_held_free(most), dlock_held_free(of_a_lock);
    dlock_lock_free(lock), dlock_semaphore_free(semaphore);
}

static void each_acquire_is_a_hold_that_can_be_named(void) {
    dlock_semaphore_t* semaphore = open_semaphore(client, 6, NULL);
    dlock_acquire_options_t brief = DLOCK_ACQUIRE_OPTIONS_INIT;
    brief.lease_ms = 5000;
    dlock_held_t *first = NULL, *latest = NULL;
    uint32_t count = 99;
    GIVES(DLOCK_NOT_HELD, dlock_semaphore_held(semaphore, &latest, error));
    OK(dlock_semaphore_acquire(semaphore, 1, &brief, &first, error));
    OK(dlock_semaphore_acquire(semaphore, 3, &brief, NULL, error));
    OK(dlock_semaphore_hold_count(semaphore, &count, error));
    OK(dlock_semaphore_held(semaphore, &latest, error));
    CHECK(count == 2 && permits_of(latest) == 3);
    int64_t of_first = 0, of_latest = 0;
    OK(dlock_semaphore_extend(semaphore, first, 60000, error));
    OK(dlock_held_remaining_ms(first, &of_first, error));
    OK(dlock_held_remaining_ms(latest, &of_latest, error));
    CHECK(of_first > 30000 && of_latest <= 5000);
    OK(dlock_semaphore_extend(semaphore, NULL, 60000, error));
    OK(dlock_held_remaining_ms(latest, &of_latest, error));
    CHECK(of_latest > 30000);
    OK(dlock_semaphore_release(semaphore, first, error));
    CHECK(available(semaphore) == 3);
    GIVES(DLOCK_NOT_HELD, dlock_semaphore_release(semaphore, first, error));
    GIVES(DLOCK_NOT_HELD, dlock_semaphore_extend(semaphore, first, 60000, error));
    OK(dlock_semaphore_hold_count(semaphore, &count, error));
    CHECK(count == 1);
    OK(dlock_semaphore_release(semaphore, NULL, error));
    CHECK(available(semaphore) == 6);
    dlock_held_free(first), dlock_held_free(latest), dlock_semaphore_free(semaphore);
}

static void what_is_not_a_hold_of_the_thread_is_not_released(void) {
    dlock_client_t* other_client = open_client();
    dlock_semaphore_t *semaphore = open_semaphore(client, 6, NULL), *theirs = open_semaphore(other_client, 6, NULL);
    dlock_semaphore_t* second = NULL;
    OK(dlock_semaphore_open(client, "c/semaphore/second", 18, 2, NULL, &second, error));
    dlock_lock_t* lock = NULL;
    OK(dlock_lock_open(client, "c/semaphore/lock", 16, NULL, &lock, error));
    dlock_held_t *own = acquire(semaphore, 1), *of_theirs = acquire(theirs, 1), *of_second = acquire(second, 1);
    dlock_held_t *taken = NULL, *of_lock = NULL;
    OK(dlock_semaphore_take(semaphore, 1, NULL, &taken, error));
    OK(dlock_lock_acquire(lock, NULL, &of_lock, error));
    const void* wrong[] = {of_theirs, of_second, taken, of_lock, lock, semaphore};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_release(semaphore, wrong[i], error));
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_extend(semaphore, wrong[i], 60000, error));
    }
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_release(own, error)); /* the thread's, not the handle's */
    CHECK(available(semaphore) == 3);
    OK(dlock_held_release(taken, error));
    OK(dlock_semaphore_release(semaphore, own, error));
    OK(dlock_semaphore_release(theirs, of_theirs, error));
    OK(dlock_semaphore_release(second, of_second, error));
    OK(dlock_lock_release(lock, error));
    CHECK(available(semaphore) == 6 && available(second) == 2);
    dlock_held_free(own), dlock_held_free(of_theirs), dlock_held_free(of_second), dlock_held_free(taken);
    dlock_held_free(of_lock), dlock_lock_free(lock);
    dlock_semaphore_free(semaphore), dlock_semaphore_free(theirs), dlock_semaphore_free(second);
    OK(dlock_client_close(other_client, false, error));
    dlock_client_free(other_client);
}

static void a_waiter_gets_permits_when_enough_are_released(void) {
    dlock_semaphore_t* semaphore = open_semaphore(client, 2, NULL);
    OK(dlock_semaphore_acquire(semaphore, 1, NULL, NULL, error));
    OK(dlock_semaphore_acquire(semaphore, 1, NULL, NULL, error));
    struct job waiter;
    start(wait_for_two, semaphore, &waiter);
    await_waiting(client, 1);
    OK(dlock_semaphore_release(semaphore, NULL, error));
    await_waiting(client, 1); /* one is not enough */
    OK(dlock_semaphore_release(semaphore, NULL, error));
    ENDS(DLOCK_OK, &waiter);
    CHECK(dlock_semaphore_free(semaphore) == DLOCK_OK);
}

static void a_timed_wait_for_permits_ends_as_busy(void) {
    dlock_semaphore_t* semaphore = open_semaphore(client, 3, NULL);
    OK(dlock_semaphore_acquire(semaphore, 2, NULL, NULL, error));
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.wait_ms = 150;
    int64_t begun = now_ms();
    dlock_error_t busy = DLOCK_ERROR_INIT;
    CHECK(dlock_semaphore_acquire(semaphore, 2, &options, NULL, &busy) == DLOCK_BUSY);
    int64_t took = now_ms() - begun;
    CHECK(took >= 150 && took < bound_ms(150 + 100));
    CHECK(strstr(busy.message, "only 1 of 3 permits") != NULL && busy.retryable);
    GIVES(DLOCK_BUSY, dlock_semaphore_try_acquire(semaphore, 2, NULL, error));
    dlock_held_t* untouched = (dlock_held_t*)7;
    options.wait_ms = 0;
    GIVES(DLOCK_BUSY, dlock_semaphore_take(semaphore, 2, &options, &untouched, error));
    CHECK(untouched == (dlock_held_t*)7);
    OK(dlock_semaphore_try_acquire(semaphore, 1, NULL, error));
    OK(dlock_semaphore_release(semaphore, NULL, error));
    OK(dlock_semaphore_release(semaphore, NULL, error));
    CHECK(available(semaphore) == 3 && dlock_semaphore_free(semaphore) == DLOCK_OK);
}

static dlock_held_t* taken;
static dlock_status_t release_taken(const void* unused) {
    (void)unused;
    return dlock_held_release(taken, &job_error);
}

static void a_hold_that_is_taken_belongs_to_its_handle(void) {
    dlock_semaphore_t* semaphore = open_semaphore(client, 3, NULL);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_take(semaphore, 2, NULL, NULL, error));
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.lease_ms = 5000;
    OK(dlock_semaphore_take(semaphore, 2, &options, &taken, error));
    uint32_t count = 99;
    int64_t ms = 0;
    OK(dlock_semaphore_hold_count(semaphore, &count, error));
    CHECK(count == 0 && permits_of(taken) == 2);
    OK(dlock_held_hold_count(taken, &count, error));
    CHECK(count == 1);
    GIVES(DLOCK_NOT_HELD, dlock_semaphore_release(semaphore, NULL, error));
    OK(dlock_held_extend(taken, 60000, error));
    OK(dlock_held_remaining_ms(taken, &ms, error));
    CHECK(ms > 30000);
    dlock_detached_t detached = DLOCK_DETACHED_INIT;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_reenter(taken, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_detach(taken, &detached, error));
    CHECK(in_another_thread(release_taken, NULL) == DLOCK_OK);
    CHECK(available(semaphore) == 3);
    GIVES(DLOCK_NOT_HELD, dlock_held_release(taken, error));
    CHECK(dlock_held_free(taken) == DLOCK_OK && dlock_semaphore_free(semaphore) == DLOCK_OK);
}

static void a_threads_permits_outlive_the_handle_of_their_semaphore(void) {
    dlock_semaphore_t* semaphore = open_semaphore(client, 2, NULL);
    OK(dlock_semaphore_acquire(semaphore, 2, NULL, NULL, error));
    CHECK(dlock_semaphore_free(semaphore) == DLOCK_OK);
    GIVES(DLOCK_CLOSED, dlock_semaphore_release(semaphore, NULL, error));
    CHECK(dlock_semaphore_free(semaphore) == DLOCK_CLOSED);
    semaphore = open_semaphore(client, 2, NULL);
    CHECK(available(semaphore) == 0);
    OK(dlock_semaphore_release(semaphore, NULL, error));
    CHECK(available(semaphore) == 2);
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    OK(dlock_semaphore_name(semaphore, name, sizeof name, &length, error));
    CHECK(length == strlen(name) && strncmp(name, "c/a_threads_permits_", 20) == 0);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_name(semaphore, name, length, &length, error));
    CHECK(dlock_semaphore_free(semaphore) == DLOCK_OK);
}

static void permits_whose_lease_runs_out_are_lost_and_it_is_told(void) {
    dlock_semaphore_options_t options = DLOCK_SEMAPHORE_OPTIONS_INIT;
    options.lease_ms = lease_ms(300);
    dlock_semaphore_t* semaphore = open_semaphore(client, 1, &options);
    dlock_held_t* held = acquire(semaphore, 1);
    dlock_loss_t loss = DLOCK_LOSS_INTERNAL;
    OK(dlock_held_lost(held, &loss, error));
    CHECK(loss == DLOCK_LOSS_NONE);
    OK(dlock_held_wait_lost(held, -1, NULL, &loss, error));
    CHECK(loss == DLOCK_LOSS_EXPIRED);
    uint32_t count = 99;
    dlock_held_t* lost = NULL;
    OK(dlock_semaphore_held(semaphore, &lost, error)); /* also when it is lost */
    CHECK(permits_of(lost) == 1);
    do { /* the loss is told some ms before the permits are not to be used any more */
        OK(dlock_semaphore_hold_count(semaphore, &count, error));
        CHECK(count <= 1);
    } while (count > 0);
    GIVES(DLOCK_NOT_HELD, dlock_semaphore_extend(semaphore, held, 1000, error));
    GIVES(DLOCK_NOT_HELD, dlock_semaphore_release(semaphore, NULL, error));
    OK(dlock_semaphore_acquire(semaphore, 1, NULL, NULL, error)); /* they came back */
    OK(dlock_semaphore_release(semaphore, NULL, error));
    dlock_held_free(held), dlock_held_free(lost), dlock_semaphore_free(semaphore);
}

static void a_watchdog_keeps_permits_for_longer_than_their_lease(void) {
    dlock_semaphore_options_t options = DLOCK_SEMAPHORE_OPTIONS_INIT;
    options.watchdog_lease_ms = lease_ms(300);
    dlock_semaphore_t* semaphore = open_semaphore(client, 1, &options);
    dlock_held_t* held = acquire(semaphore, 1);
    dlock_loss_t loss = DLOCK_LOSS_INTERNAL;
    GIVES(DLOCK_BUSY, dlock_held_wait_lost(held, lease_ms(1000), NULL, &loss, error));
    CHECK(in_another_thread(release_latest, semaphore) == DLOCK_NOT_HELD);
    OK(dlock_semaphore_release(semaphore, held, error));
    OK(dlock_held_wait_lost(held, -1, NULL, &loss, error));
    CHECK(loss == DLOCK_LOSS_NONE);
    dlock_held_free(held), dlock_semaphore_free(semaphore);
}

static void the_number_of_permits_is_set_for_everybody(void) {
    dlock_semaphore_t* semaphore = open_semaphore(client, 1, NULL);
    OK(dlock_semaphore_set_permits(semaphore, 2, error)); /* makes it */
    OK(dlock_semaphore_acquire(semaphore, 2, NULL, NULL, error));
    struct job waiter;
    start(wait_for_two, semaphore, &waiter);
    await_waiting(client, 1);
    OK(dlock_semaphore_set_permits(semaphore, 4, error));
    ENDS(DLOCK_OK, &waiter);
    OK(dlock_semaphore_set_permits(semaphore, 1, error));
    dlock_semaphore_inspection_t seen = DLOCK_SEMAPHORE_INSPECTION_INIT;
    OK(dlock_semaphore_inspect(semaphore, &seen, error));
    CHECK(seen.permits == 1 && seen.available == -1);
    OK(dlock_semaphore_release(semaphore, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_try_acquire(semaphore, 2, NULL, error)); /* never to be had */
    CHECK(available(semaphore) == 1 && dlock_semaphore_free(semaphore) == DLOCK_OK);
}

static void what_cannot_be_is_refused(void) {
    dlock_semaphore_t *semaphore = open_semaphore(client, 3, NULL), *none = NULL;
    int64_t totals[] = {0, -1, INT64_C(1) << 31, INT64_MAX, INT64_MIN}, counts[] = {0, -1, 10001, INT64_MAX};
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        dlock_error_t refused = DLOCK_ERROR_INIT;
        CHECK(dlock_semaphore_open(client, "x", 1, totals[i], NULL, &none, &refused) == DLOCK_INVALID_ARGUMENT);
        CHECK(strcmp(refused.allowed, "1 to 2147483647") == 0);
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_set_permits(semaphore, totals[i], error));
    }
    dlock_held_t* held = NULL;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        dlock_error_t refused = DLOCK_ERROR_INIT;
        CHECK(dlock_semaphore_acquire(semaphore, counts[i], NULL, &held, &refused) == DLOCK_INVALID_ARGUMENT);
        CHECK(strcmp(refused.allowed, "1 to 10000") == 0);
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_take(semaphore, counts[i], NULL, &held, error));
    }
    dlock_acquire_options_t how = DLOCK_ACQUIRE_OPTIONS_INIT;
    how.wait_ms = -2;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_acquire(semaphore, 1, &how, &held, error));
    how.wait_ms = 0, how.lease_ms = 5;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_acquire(semaphore, 1, &how, &held, error));
    how.struct_size = 8;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_acquire(semaphore, 1, &how, &held, error));
    dlock_semaphore_options_t options = DLOCK_SEMAPHORE_OPTIONS_INIT;
    options.lease_ms = 1000, options.watchdog_lease_ms = 1000;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_open(client, "x", 1, 1, &options, &none, error));
    options.struct_size--;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_open(client, "x", 1, 1, &options, &none, error));
    GIVES(DLOCK_INVALID_NAME, dlock_semaphore_open(client, "a{", 2, 1, NULL, &none, error));
    GIVES(DLOCK_INVALID_NAME, dlock_semaphore_open(client, "x", SIZE_MAX, 1, NULL, &none, error));
    dlock_semaphore_inspection_t seen = DLOCK_SEMAPHORE_INSPECTION_INIT;
    OK(dlock_semaphore_inspect(semaphore, &seen, error));
    CHECK(none == NULL && held == NULL && !seen.exists);                                      /* nothing was made */
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_acquire(semaphore, 4, NULL, &held, error)); /* more than there are */
    seen.struct_size = 8;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_inspect(semaphore, &seen, error));
    CHECK(dlock_semaphore_free(semaphore) == DLOCK_OK);
}

static void a_lock_and_a_semaphore_of_one_name_are_two(void) {
    dlock_semaphore_t* semaphore = open_semaphore(client, 1, NULL);
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    dlock_lock_t* lock = NULL;
    OK(dlock_semaphore_name(semaphore, name, sizeof name, &length, error));
    OK(dlock_lock_open(client, name, length, NULL, &lock, error));
    OK(dlock_semaphore_acquire(semaphore, 1, NULL, NULL, error));
    GIVES(DLOCK_WRONG_TYPE, dlock_lock_try_acquire(lock, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_release((const dlock_lock_t*)semaphore, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_release((const dlock_semaphore_t*)lock, NULL, error));
    OK(dlock_semaphore_release(semaphore, NULL, error));
    dlock_lock_free(lock), dlock_semaphore_free(semaphore);
}

static dlock_cancel_t* cancel;
static dlock_status_t wait_until_cancelled(const void* semaphore) {
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.cancel = cancel;
    return dlock_semaphore_acquire(semaphore, 2, &options, NULL, &job_error);
}

static void a_cancel_token_ends_a_wait_for_permits(void) {
    dlock_semaphore_t* semaphore = open_semaphore(client, 2, NULL);
    OK(dlock_cancel_new(&cancel, error));
    OK(dlock_semaphore_acquire(semaphore, 1, NULL, NULL, error));
    struct job waiter;
    start(wait_until_cancelled, semaphore, &waiter);
    await_waiting(client, 1);
    int64_t begun = now_ms();
    OK(dlock_cancel_fire(cancel, error));
    ENDS(DLOCK_CANCELLED, &waiter);
    CHECK(now_ms() - begun < bound_ms(100));
    OK(dlock_semaphore_acquire(semaphore, 1, NULL, NULL, error)); /* its place in the queue is gone */
    OK(dlock_semaphore_release(semaphore, NULL, error));
    OK(dlock_semaphore_release(semaphore, NULL, error));
    CHECK(available(semaphore) == 2);
    CHECK(dlock_cancel_free(cancel) == DLOCK_OK && dlock_semaphore_free(semaphore) == DLOCK_OK);
}

static dlock_status_t acquire_two_and_end(const void* semaphore) {
    return dlock_semaphore_acquire(semaphore, 2, NULL, &taken, &job_error);
}

static void permits_of_a_thread_that_ends_come_back_with_their_lease(void) {
    dlock_semaphore_options_t options = DLOCK_SEMAPHORE_OPTIONS_INIT;
    options.watchdog_lease_ms = lease_ms(600);
    dlock_semaphore_t* semaphore = open_semaphore(client, 2, &options);
    CHECK(in_another_thread(acquire_two_and_end, semaphore) == DLOCK_OK);
    dlock_loss_t loss = DLOCK_LOSS_NONE;
    OK(dlock_held_wait_lost(taken, 10000, NULL, &loss, error));
    CHECK(loss == DLOCK_LOSS_CLOSED);
    GIVES(DLOCK_BUSY, dlock_semaphore_try_acquire(semaphore, 1, NULL, error));
    OK(dlock_semaphore_acquire(semaphore, 2, NULL, NULL, error)); /* when the lease has run out */
    OK(dlock_semaphore_release(semaphore, NULL, error));
    CHECK(dlock_held_free(taken) == DLOCK_OK && dlock_semaphore_free(semaphore) == DLOCK_OK);
}

static void a_taken_hold_that_is_freed_runs_out(void) {
    dlock_semaphore_options_t options = DLOCK_SEMAPHORE_OPTIONS_INIT;
    options.watchdog_lease_ms = 300;
    dlock_semaphore_t* semaphore = open_semaphore(client, 2, &options);
    OK(dlock_semaphore_take(semaphore, 2, NULL, &taken, error));
    CHECK(dlock_held_free(taken) == DLOCK_OK);
    OK(dlock_semaphore_acquire(semaphore, 2, NULL, NULL, error)); /* nothing renews it */
    OK(dlock_semaphore_release(semaphore, NULL, error));
    CHECK(dlock_semaphore_free(semaphore) == DLOCK_OK);
}

static void closing_ends_the_waiters_for_permits(void) {
    dlock_client_t* ending = open_client();
    dlock_semaphore_t *semaphore = open_semaphore(ending, 2, NULL), *after = open_semaphore(client, 2, NULL);
    OK(dlock_semaphore_take(after, 1, NULL, &taken, error)); /* so that no waiter is granted on the way */
    dlock_held_t* held = acquire(semaphore, 1);
    struct job waiters[20];
    for (int i = 0; i < 20; i++) start(wait_for_two, semaphore, &waiters[i]);
    await_waiting(ending, 20);
    int64_t begun = now_ms();
    OK(dlock_client_close(ending, true, error));
    for (int i = 0; i < 20; i++) ENDS(DLOCK_CLOSED, &waiters[i]);
    CHECK(now_ms() - begun < bound_ms(300)); /* the release of what is held is a round trip, on a busy machine */
    GIVES(DLOCK_CLOSED, dlock_semaphore_acquire(semaphore, 1, NULL, NULL, error));
    dlock_loss_t loss = DLOCK_LOSS_NONE;
    OK(dlock_held_lost(held, &loss, error));
    CHECK(loss == DLOCK_LOSS_CLOSED && available(after) == 1); /* released on the way */
    OK(dlock_held_release(taken, error));
    dlock_held_free(held), dlock_held_free(taken), dlock_semaphore_free(semaphore), dlock_semaphore_free(after);
    dlock_client_free(ending);
}

static void a_client_counts_what_its_semaphores_do(void) {
    dlock_client_t* counting = open_client();
    dlock_semaphore_t* semaphore = open_semaphore(counting, 3, NULL);
    OK(dlock_semaphore_acquire(semaphore, 2, NULL, NULL, error));
    CHECK(in_another_thread(try_two, semaphore) == DLOCK_BUSY);
    dlock_semaphore_stats_t stats = DLOCK_SEMAPHORE_STATS_INIT;
    OK(dlock_client_semaphore_stats(counting, &stats, error));
    CHECK(stats.struct_size == sizeof stats && stats.acquired == 1 && stats.wait_timeouts == 1);
    CHECK(stats.held == 1 && stats.released == 0 && stats.contended == 0 && stats.waiting == 0);
    struct job waiter;
    start(wait_for_two, semaphore, &waiter);
    await_waiting(counting, 1);
    OK(dlock_semaphore_release(semaphore, NULL, error));
    ENDS(DLOCK_OK, &waiter);
    OK(dlock_client_semaphore_stats(counting, &stats, error));
    CHECK(stats.acquired == 2 && stats.contended == 1 && stats.handed_over_local + stats.handed_over_remote == 1);
    CHECK(stats.released == 2 && stats.held == 0 && stats.waiting == 0 && stats.lost == 0 && stats.cancelled == 0);
    CHECK(stats.wait_time.count == 2 && stats.hold_time.count == 2);
    CHECK(stats.wait_time.p50_us <= stats.wait_time.p99_us && stats.wait_time.p99_us <= stats.wait_time.max_us);
    dlock_lock_stats_t locks = DLOCK_LOCK_STATS_INIT;
    OK(dlock_client_lock_stats(counting, &locks, error));
    CHECK(locks.acquired == 0 && locks.held == 0);
    OK(dlock_client_close(counting, false, error));
    OK(dlock_client_semaphore_stats(counting, &stats, error)); /* also when it is closed */
    dlock_semaphore_free(semaphore), dlock_client_free(counting);
}

int main(void) {
    client = open_client();
    RUN(a_thread_acquires_and_releases_permits);
    RUN(permits_have_ids_of_their_own);
    RUN(each_acquire_is_a_hold_that_can_be_named);
    RUN(what_is_not_a_hold_of_the_thread_is_not_released);
    RUN(a_waiter_gets_permits_when_enough_are_released);
    RUN(a_timed_wait_for_permits_ends_as_busy);
    RUN(a_hold_that_is_taken_belongs_to_its_handle);
    RUN(a_threads_permits_outlive_the_handle_of_their_semaphore);
    RUN(permits_whose_lease_runs_out_are_lost_and_it_is_told);
    RUN(a_watchdog_keeps_permits_for_longer_than_their_lease);
    RUN(the_number_of_permits_is_set_for_everybody);
    RUN(what_cannot_be_is_refused);
    RUN(a_lock_and_a_semaphore_of_one_name_are_two);
    RUN(a_cancel_token_ends_a_wait_for_permits);
    RUN(permits_of_a_thread_that_ends_come_back_with_their_lease);
    RUN(a_taken_hold_that_is_freed_runs_out);
    RUN(closing_ends_the_waiters_for_permits);
    RUN(a_client_counts_what_its_semaphores_do);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_client_free(client) == DLOCK_OK);
    return 0;
}
