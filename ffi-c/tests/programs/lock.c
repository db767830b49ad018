/* The lock through the synchronous calls: held by a thread, released by it, told about. */
#include "threads.h"

static dlock_client_t* client;

static void a_thread_acquires_and_releases(void) {
    dlock_lock_t* lock = open_lock(client, NULL);
    dlock_held_t* held = NULL;
    OK(dlock_lock_acquire(lock, NULL, &held, error));
    uint64_t token = 0;
    OK(dlock_held_token(held, &token, error));
    CHECK(token > 0);
    bool valid = false;
    OK(dlock_held_is_valid(held, &valid, error));
    CHECK(valid);
    int64_t ms = 0;
    OK(dlock_held_remaining_ms(held, &ms, error));
    CHECK(ms > 0 && ms <= 30000);
    CHECK(in_another_thread(try_it, lock) == DLOCK_BUSY);
    CHECK(in_another_thread(release_it, lock) == DLOCK_NOT_HELD);
    OK(dlock_lock_release(lock, error));
    GIVES(DLOCK_NOT_HELD, dlock_lock_release(lock, error));
    OK(dlock_held_is_valid(held, &valid, error));
    CHECK(!valid);
    CHECK(in_another_thread(wait_for_it, lock) == DLOCK_OK);
    CHECK(dlock_held_free(held) == DLOCK_OK);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static void a_waiter_gets_it_when_it_is_released(void) {
    dlock_lock_t* lock = open_lock(client, NULL);
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    struct job waiter;
    start(wait_for_it, lock, &waiter);
    OK(dlock_lock_release(lock, error));
    ENDS(DLOCK_OK, &waiter);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static void a_timed_wait_ends_as_busy(void) {
    dlock_client_t* other = open_client();
    dlock_lock_t *mine = open_lock(client, NULL), *theirs = open_lock(other, NULL);
    OK(dlock_lock_acquire(theirs, NULL, NULL, error));
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.wait_ms = 150;
    int64_t begun = now_ms();
    GIVES(DLOCK_BUSY, dlock_lock_acquire(mine, &options, NULL, error));
    int64_t took = now_ms() - begun;
    CHECK(took >= 150 && took < bound_ms(150 + 100));
    dlock_inspection_t seen = DLOCK_INSPECTION_INIT;
    OK(dlock_lock_inspect(mine, &seen, error));
    dlock_error_t busy = DLOCK_ERROR_INIT;
    CHECK(dlock_lock_try_acquire(mine, NULL, &busy) == DLOCK_BUSY);
    CHECK(strcmp(busy.holder, seen.holder) == 0 && busy.retryable);
    CHECK(busy.remaining_ms > 20000 && busy.remaining_ms <= 30000);
    CHECK(busy.retry_after_us == -1 && busy.allowed[0] == '\0');
    OK(dlock_lock_release(theirs, error));
    OK(dlock_client_close(other, false, error));
    dlock_lock_free(mine), dlock_lock_free(theirs), dlock_client_free(other);
}

static void a_holder_enters_10000_deep(void) {
    dlock_lock_t* lock = open_lock(client, NULL);
    const size_t deep = repeats(10000);
    for (size_t depth = 0; depth < deep; depth++) OK(dlock_lock_acquire(lock, NULL, NULL, error));
    uint32_t count = 0;
    OK(dlock_lock_hold_count(lock, &count, error));
    CHECK(count == deep);
    for (size_t depth = 1; depth < deep; depth++) OK(dlock_lock_release(lock, error));
    CHECK(in_another_thread(try_it, lock) == DLOCK_BUSY);
    OK(dlock_lock_release(lock, error));
    CHECK(in_another_thread(wait_for_it, lock) == DLOCK_OK);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static void without_re_entry_a_second_acquire_is_a_deadlock_at_once(void) {
    dlock_lock_options_t options = DLOCK_LOCK_OPTIONS_INIT;
    options.reentrant = 0;
    dlock_lock_t* lock = open_lock(client, &options);
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    int64_t begun = now_ms();
    GIVES(DLOCK_DEADLOCK, dlock_lock_acquire(lock, NULL, NULL, error));
    CHECK(now_ms() - begun < bound_ms(100));
    OK(dlock_lock_release(lock, error));
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static void a_lease_that_is_not_renewed_runs_out_and_is_told(void) {
    dlock_lock_t* lock = open_lock(client, NULL);
    dlock_held_t* held = NULL;
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.lease_ms = lease_ms(300);
    OK(dlock_lock_acquire(lock, &options, &held, error));
    dlock_loss_t loss = DLOCK_LOSS_INTERNAL;
    OK(dlock_held_lost(held, &loss, error));
    CHECK(loss == DLOCK_LOSS_NONE);
    GIVES(DLOCK_BUSY, dlock_held_wait_lost(held, 20, NULL, &loss, error));
    OK(dlock_held_wait_lost(held, -1, NULL, &loss, error));
    CHECK(loss == DLOCK_LOSS_EXPIRED);
    GIVES(DLOCK_NOT_HELD, dlock_lock_release(lock, error));
    CHECK(dlock_held_free(held) == DLOCK_OK);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static void an_extension_prolongs_the_lease(void) {
    dlock_lock_options_t options = DLOCK_LOCK_OPTIONS_INIT;
    options.lease_ms = 5000;
    dlock_lock_t* lock = open_lock(client, &options);
    dlock_held_t* held = NULL;
    OK(dlock_lock_acquire(lock, NULL, &held, error));
    OK(dlock_lock_extend(lock, 60000, error));
    int64_t ms = 0;
    OK(dlock_held_remaining_ms(held, &ms, error));
    CHECK(ms > 30000 && ms <= 60000);
    OK(dlock_lock_release(lock, error));
    GIVES(DLOCK_NOT_HELD, dlock_lock_extend(lock, 60000, error));
    CHECK(dlock_held_free(held) == DLOCK_OK);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static void an_inspection_names_the_holder(void) {
    dlock_lock_t* lock = open_lock(client, NULL);
    dlock_inspection_t seen = DLOCK_INSPECTION_INIT;
    OK(dlock_lock_inspect(lock, &seen, error));
    CHECK(!seen.held && !seen.ours && seen.ttl_ms == -1 && seen.holder[0] == '\0');
    dlock_held_t* held = NULL;
    OK(dlock_lock_acquire(lock, NULL, &held, error));
    OK(dlock_lock_inspect(lock, &seen, error));
    char owner[DLOCK_OWNER_SIZE];
    size_t length = 0;
    uint64_t token = 0;
    OK(dlock_held_owner(held, owner, sizeof owner, &length, error));
    OK(dlock_held_token(held, &token, error));
    CHECK(seen.held && seen.ours && seen.ttl_ms > 0 && seen.token == token);
    CHECK(strcmp(seen.holder, owner) == 0 && strlen(owner) == length);
    OK(dlock_lock_release(lock, error));
    CHECK(dlock_held_free(held) == DLOCK_OK);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static void a_forced_release_frees_what_another_client_holds(void) {
    dlock_client_t* operator= open_client();
    dlock_lock_t *lock = open_lock(client, NULL), *from_outside = open_lock(operator, NULL);
    bool was_held = true;
    OK(dlock_lock_force_release(from_outside, &was_held, error));
    CHECK(!was_held);
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    OK(dlock_lock_force_release(from_outside, &was_held, error));
    CHECK(was_held);
    OK(dlock_lock_try_acquire(from_outside, NULL, error));
    OK(dlock_lock_release(from_outside, error));
    GIVES(DLOCK_NOT_HELD, dlock_lock_release(lock, error));
    OK(dlock_client_close(operator, false, error));
    dlock_lock_free(from_outside), dlock_lock_free(lock), dlock_client_free(operator);
}

static dlock_detached_t detached;
static dlock_status_t attach_and_release(const void* lock) {
    dlock_held_t* held = NULL;
    OK(dlock_lock_attach(lock, detached.text, detached.text_len, &held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK);
    return dlock_lock_release(lock, &job_error);
}

static void a_detached_hold_is_taken_over_by_another_thread(void) {
    dlock_lock_t* lock = open_lock(client, NULL);
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    detached = (dlock_detached_t)DLOCK_DETACHED_INIT;
    OK(dlock_lock_detach(lock, &detached, error));
    CHECK(detached.text_len == strlen(detached.text));
    GIVES(DLOCK_NOT_HELD, dlock_lock_release(lock, error));
    CHECK(in_another_thread(try_it, lock) == DLOCK_BUSY);
    CHECK(in_another_thread(attach_and_release, lock) == DLOCK_OK);
    CHECK(in_another_thread(wait_for_it, lock) == DLOCK_OK);
    GIVES(DLOCK_NOT_HELD, dlock_lock_attach(lock, detached.text, detached.text_len, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_attach(lock, "nonsense", 8, NULL, error));
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static void the_hold_of_the_thread_can_be_asked_for(void) {
    dlock_lock_t* lock = open_lock(client, NULL);
    dlock_held_t *held = NULL, *again = NULL;
    GIVES(DLOCK_NOT_HELD, dlock_lock_held(lock, &held, error));
    OK(dlock_lock_acquire(lock, NULL, &held, error));
    OK(dlock_lock_held(lock, &again, error));
    uint64_t token = 0, same = 1;
    OK(dlock_held_token(held, &token, error));
    OK(dlock_held_token(again, &same, error));
    CHECK(token == same);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_release(held, error)); /* the thread's, not the handle's */
    OK(dlock_lock_release(lock, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && dlock_held_free(again) == DLOCK_OK);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static dlock_cancel_t* cancel;
static dlock_status_t wait_until_cancelled(const void* lock) {
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.cancel = cancel;
    return dlock_lock_acquire(lock, &options, NULL, &job_error);
}

static void a_cancel_token_ends_a_wait(void) {
    dlock_lock_t* lock = open_lock(client, NULL);
    OK(dlock_cancel_new(&cancel, error));
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    struct job waiter;
    start(wait_until_cancelled, lock, &waiter);
    int64_t begun = now_ms();
    OK(dlock_cancel_fire(cancel, error));
    ENDS(DLOCK_CANCELLED, &waiter);
    CHECK(now_ms() - begun < bound_ms(100));
    OK(dlock_lock_release(lock, error));
    CHECK(dlock_cancel_free(cancel) == DLOCK_OK);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static dlock_status_t hold_and_end(const void* lock) {
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    return dlock_lock_acquire(lock, &options, NULL, &job_error);
}

static void the_end_of_the_holding_thread_ends_renewal_and_not_the_lease(void) {
    dlock_client_options_t how = DLOCK_CLIENT_OPTIONS_INIT;
    char brief_lease[16];
    int length = snprintf(brief_lease, sizeof brief_lease, "%dms", (int)lease_ms(600));
    dlock_option_t lease = {"lease", 5, brief_lease, (size_t)length};
    how.options = &lease, how.options_len = 1;
    dlock_client_t* brief = NULL;
    OK(dlock_client_open(server_url(), strlen(server_url()), &how, &brief, error));
    dlock_lock_t* lock = open_lock(brief, NULL);
    CHECK(in_another_thread(hold_and_end, lock) == DLOCK_OK);
    GIVES(DLOCK_BUSY, dlock_lock_try_acquire(lock, NULL, error));
    OK(dlock_lock_acquire(lock, NULL, NULL, error)); /* when the lease has run out */
    OK(dlock_lock_release(lock, error));
    OK(dlock_client_close(brief, false, error));
    dlock_lock_free(lock), dlock_client_free(brief);
}

static void closing_wakes_waiters_and_what_comes_after_is_closed(void) {
    dlock_client_t* ending = open_client();
    dlock_lock_t* lock = open_lock(ending, NULL);
    dlock_held_t* held = NULL;
    OK(dlock_lock_acquire(lock, NULL, &held, error));
    struct job waiters[20];
    for (int i = 0; i < 20; i++) start(wait_for_it, lock, &waiters[i]);
    OK(dlock_client_close(ending, true, error));
    int64_t begun = now_ms();
    for (int i = 0; i < 20; i++) {
        dlock_status_t status = finish(&waiters[i]);
        CHECK(status == DLOCK_CLOSED || status == DLOCK_OK || status == DLOCK_NOT_HELD);
    }
    CHECK(now_ms() - begun < bound_ms(100));
    GIVES(DLOCK_CLOSED, dlock_lock_acquire(lock, NULL, NULL, error));
    OK(dlock_client_close(ending, false, error)); /* again is no error */
    dlock_inspection_t seen = DLOCK_INSPECTION_INIT;
    dlock_lock_t* after = open_lock(client, NULL);
    OK(dlock_lock_inspect(after, &seen, error));
    CHECK(!seen.held); /* released on the way */
    dlock_held_free(held), dlock_lock_free(lock), dlock_lock_free(after), dlock_client_free(ending);
}

static void a_client_counts_what_its_locks_do(void) {
    dlock_client_t* counting = open_client();
    dlock_lock_t* lock = open_lock(counting, NULL);
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    OK(dlock_lock_acquire(lock, NULL, NULL, error)); /* a re-entry is no acquire */
    CHECK(in_another_thread(try_it, lock) == DLOCK_BUSY);
    dlock_lock_stats_t stats = DLOCK_LOCK_STATS_INIT;
    OK(dlock_client_lock_stats(counting, &stats, error));
    CHECK(stats.struct_size == sizeof stats && stats.acquired == 1 && stats.wait_timeouts == 1);
    CHECK(stats.held == 1 && stats.released == 0 && stats.contended == 0);
    OK(dlock_lock_release(lock, error));
    struct job waiter;
    start(wait_for_it, lock, &waiter);
    do OK(dlock_client_lock_stats(counting, &stats, error));
    while (stats.waiting == 0);
    OK(dlock_lock_release(lock, error));
    ENDS(DLOCK_OK, &waiter);
    OK(dlock_client_lock_stats(counting, &stats, error));
    CHECK(stats.acquired == 2 && stats.contended == 1 && stats.handed_over_local + stats.handed_over_remote == 1);
    CHECK(stats.released == 2 && stats.held == 0 && stats.waiting == 0 && stats.lost == 0);
    CHECK(stats.wait_time.count == 2 && stats.hold_time.count == 2);
    CHECK(stats.wait_time.p50_us <= stats.wait_time.p99_us && stats.wait_time.p99_us <= stats.wait_time.max_us);
    uint64_t counted = 0;
    for (int i = 0; i < DLOCK_HISTOGRAM_BUCKETS; i++) counted += stats.hold_time.buckets[i];
    CHECK(counted == 2);
    OK(dlock_client_close(counting, false, error));
    OK(dlock_client_lock_stats(counting, &stats, error)); /* also when it is closed */
    dlock_lock_free(lock), dlock_client_free(counting);
}

int main(void) {
    CHECK(dlock_abi_version() == DLOCK_ABI_VERSION);
    client = open_client();
    RUN(a_thread_acquires_and_releases);
    RUN(a_waiter_gets_it_when_it_is_released);
    RUN(a_timed_wait_ends_as_busy);
    RUN(a_holder_enters_10000_deep);
    RUN(without_re_entry_a_second_acquire_is_a_deadlock_at_once);
    RUN(a_lease_that_is_not_renewed_runs_out_and_is_told);
    RUN(an_extension_prolongs_the_lease);
    RUN(an_inspection_names_the_holder);
    RUN(a_forced_release_frees_what_another_client_holds);
    RUN(a_detached_hold_is_taken_over_by_another_thread);
    RUN(the_hold_of_the_thread_can_be_asked_for);
    RUN(a_cancel_token_ends_a_wait);
    RUN(the_end_of_the_holding_thread_ends_renewal_and_not_the_lease);
    RUN(a_client_counts_what_its_locks_do);
    RUN(closing_wakes_waiters_and_what_comes_after_is_closed);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_client_free(client) == DLOCK_OK);
    return 0;
}
