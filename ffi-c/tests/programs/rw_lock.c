/* The read-write lock through the synchronous calls: sides held by threads or by handles, released, lost, counted. */
#include "threads.h"

static dlock_client_t* client;

/* Both sides of the case's read-write lock. */
struct sides {
    dlock_rw_lock_t *reads, *writes;
};

static struct sides open_with(const dlock_client_t* of, const dlock_rw_lock_options_t* options) {
    return (struct sides){open_side(of, DLOCK_SIDE_READ, options), open_side(of, DLOCK_SIDE_WRITE, options)};
}
static struct sides open_sides(void) { return open_with(client, NULL); }
static void free_sides(struct sides of) {
    CHECK(dlock_rw_lock_free(of.reads) == DLOCK_OK && dlock_rw_lock_free(of.writes) == DLOCK_OK);
}

static dlock_status_t try_side(const void* side) {
    dlock_status_t status = dlock_rw_lock_try_acquire(side, NULL, &job_error);
    return status == DLOCK_OK ? dlock_rw_lock_release(side, &job_error) : status;
}
static dlock_status_t release_side(const void* side) { return dlock_rw_lock_release(side, &job_error); }
static dlock_status_t wait_for_side(const void* side) {
    dlock_status_t status = dlock_rw_lock_acquire(side, NULL, NULL, &job_error);
    return status == DLOCK_OK ? dlock_rw_lock_release(side, &job_error) : status;
}

/* Until so many callers of a client wait. */
static void await_waiting(const dlock_client_t* of, uint64_t callers) {
    dlock_rw_lock_stats_t stats = DLOCK_RW_LOCK_STATS_INIT;
    for (int64_t until = now_ms() + 30000; stats.waiting != callers;) {
        CHECK(now_ms() < until);
        OK(dlock_client_rw_lock_stats(of, &stats, error));
    }
}

static dlock_held_t* acquire(const dlock_rw_lock_t* side) {
    dlock_held_t* held = NULL;
    OK(dlock_rw_lock_acquire(side, NULL, &held, error));
    return held;
}

static uint64_t token_of(const dlock_held_t* held) {
    uint64_t token = 0;
    OK(dlock_held_token(held, &token, error));
    CHECK(token > 0);
    return token;
}

static uint32_t count_of(const dlock_rw_lock_t* side) {
    uint32_t count = 99;
    OK(dlock_rw_lock_hold_count(side, &count, error));
    return count;
}

static dlock_rw_lock_inspection_t inspect(const dlock_rw_lock_t* side) {
    dlock_rw_lock_inspection_t seen = DLOCK_RW_LOCK_INSPECTION_INIT;
    OK(dlock_rw_lock_inspect(side, &seen, error));
    CHECK(seen.struct_size == sizeof seen);
    return seen;
}

static bool is_free(const dlock_rw_lock_t* side) {
    dlock_rw_lock_inspection_t seen = inspect(side);
    return !seen.writing && seen.readers == 0 && seen.ttl_ms == -1;
}

static void readers_hold_it_together_and_a_writer_alone(void) {
    dlock_client_t* other = open_client();
    struct sides mine = open_sides(), theirs = open_with(other, NULL);
    dlock_held_t *first = acquire(mine.reads), *second = acquire(theirs.reads);
    CHECK(token_of(second) > token_of(first));
    CHECK(in_another_thread(try_side, mine.writes) == DLOCK_BUSY);
    CHECK(in_another_thread(try_side, theirs.writes) == DLOCK_BUSY);
    CHECK(in_another_thread(release_side, mine.reads) == DLOCK_NOT_HELD);
    OK(dlock_rw_lock_release(mine.reads, error));
    GIVES(DLOCK_NOT_HELD, dlock_rw_lock_release(mine.reads, error));
    CHECK(in_another_thread(try_side, mine.writes) == DLOCK_BUSY);
    OK(dlock_rw_lock_release(theirs.reads, error));
    dlock_held_t* writer = acquire(mine.writes);
    CHECK(token_of(writer) > token_of(second));
    CHECK(in_another_thread(try_side, mine.reads) == DLOCK_BUSY);
    CHECK(in_another_thread(try_side, theirs.reads) == DLOCK_BUSY);
    CHECK(in_another_thread(try_side, theirs.writes) == DLOCK_BUSY);
    bool valid = false;
    int64_t ms = 0;
    OK(dlock_held_is_valid(writer, &valid, error));
    OK(dlock_held_remaining_ms(writer, &ms, error));
    CHECK(valid && ms > 0 && ms <= 30000);
    OK(dlock_rw_lock_release(mine.writes, error));
    OK(dlock_held_is_valid(writer, &valid, error));
    CHECK(!valid && in_another_thread(wait_for_side, theirs.writes) == DLOCK_OK && is_free(mine.reads));
    dlock_held_free(first), dlock_held_free(second), dlock_held_free(writer);
    free_sides(mine), free_sides(theirs);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static void a_side_is_entered_again_and_left_as_often(void) {
    struct sides of = open_sides();
    const dlock_rw_lock_t* each[] = {of.reads, of.writes};
    for (int i = 0; i < 2; i++) {
        for (int depth = 0; depth < 3; depth++) OK(dlock_rw_lock_acquire(each[i], NULL, NULL, error));
        OK(dlock_rw_lock_try_acquire(each[i], NULL, error));
        CHECK(count_of(each[i]) == 4 && count_of(each[1 - i]) == 0);
        for (int depth = 0; depth < 3; depth++) OK(dlock_rw_lock_release(each[i], error));
        CHECK(in_another_thread(try_side, of.writes) == DLOCK_BUSY);
        OK(dlock_rw_lock_release(each[i], error));
        CHECK(count_of(each[i]) == 0 && is_free(of.reads));
    }
    free_sides(of);
    dlock_rw_lock_options_t options = DLOCK_RW_LOCK_OPTIONS_INIT;
    options.reentrant = 0;
    of = open_with(client, &options);
    OK(dlock_rw_lock_acquire(of.reads, NULL, NULL, error));
    GIVES(DLOCK_DEADLOCK, dlock_rw_lock_acquire(of.reads, NULL, NULL, error));
    OK(dlock_rw_lock_release(of.reads, error));
    free_sides(of);
}

static void who_writes_may_read_and_goes_on_as_a_reader(void) {
    dlock_client_t* other = open_client();
    struct sides mine = open_sides(), theirs = open_with(other, NULL);
    dlock_held_t* written = acquire(mine.writes);
    struct job reader;
    start(wait_for_side, theirs.reads, &reader);
    await_waiting(other, 1);
    dlock_held_t* read = acquire(mine.reads);
    CHECK(token_of(read) > token_of(written) && count_of(mine.writes) == 1 && count_of(mine.reads) == 1);
    OK(dlock_rw_lock_release(mine.writes, error));
    ENDS(DLOCK_OK, &reader); /* woken while this thread reads */
    CHECK(count_of(mine.reads) == 1 && in_another_thread(try_side, theirs.writes) == DLOCK_BUSY);
    OK(dlock_rw_lock_release(mine.reads, error));
    CHECK(is_free(mine.reads));
    dlock_held_free(written), dlock_held_free(read);
    free_sides(mine), free_sides(theirs);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static void a_downgrade_leaves_no_time_to_write_between(void) {
    dlock_client_t* other = open_client();
    struct sides mine = open_sides(), theirs = open_with(other, NULL);
    dlock_held_t* untouched = (dlock_held_t*)7;
    GIVES(DLOCK_NOT_HELD, dlock_rw_lock_downgrade(mine.writes, &untouched, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rw_lock_downgrade(mine.reads, &untouched, error));
    dlock_held_t *written = acquire(mine.writes), *read = NULL;
    struct job writer, reader;
    start(wait_for_side, theirs.reads, &reader);
    await_waiting(other, 1);
    OK(dlock_rw_lock_downgrade(mine.writes, &read, error));
    ENDS(DLOCK_OK, &reader);
    CHECK(count_of(mine.writes) == 0 && count_of(mine.reads) == 1);
    start(wait_for_side, theirs.writes, &writer);
    await_waiting(other, 1); /* it could not write in between, and cannot now */
    CHECK(token_of(read) > token_of(written) && inspect(mine.reads).readers == 1);
    OK(dlock_rw_lock_release(mine.reads, error));
    ENDS(DLOCK_OK, &writer);
    OK(dlock_rw_lock_acquire(mine.writes, NULL, NULL, error)); /* of two acquires one */
    OK(dlock_rw_lock_acquire(mine.writes, NULL, NULL, error));
    OK(dlock_rw_lock_downgrade(mine.writes, NULL, error));
    CHECK(count_of(mine.writes) == 1 && count_of(mine.reads) == 1);
    OK(dlock_rw_lock_release(mine.writes, error));
    OK(dlock_rw_lock_release(mine.reads, error));
    dlock_held_t *taken = NULL, *reading = NULL;
    OK(dlock_rw_lock_take(mine.writes, NULL, &taken, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_downgrade(written, &reading, error)); /* a thread's */
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_downgrade(taken, NULL, error));
    OK(dlock_held_downgrade(taken, &reading, error));
    CHECK(token_of(reading) > token_of(taken) && inspect(mine.reads).readers == 1 && !inspect(mine.reads).writing);
    GIVES(DLOCK_NOT_HELD, dlock_held_release(taken, error));
    GIVES(DLOCK_NOT_HELD, dlock_held_downgrade(taken, &untouched, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_downgrade(reading, &untouched, error));
    CHECK(dlock_held_free(taken) == DLOCK_OK && inspect(mine.reads).readers == 1);
    OK(dlock_held_release(reading, error));
    CHECK(is_free(mine.reads) && untouched == (dlock_held_t*)7);
    dlock_held_free(written), dlock_held_free(read), dlock_held_free(reading);
    free_sides(mine), free_sides(theirs);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static void who_reads_cannot_write_too_and_is_told_at_once(void) {
    struct sides of = open_sides();
    OK(dlock_rw_lock_acquire(of.reads, NULL, NULL, error));
    int64_t begun = now_ms();
    dlock_error_t refused = DLOCK_ERROR_INIT;
    CHECK(dlock_rw_lock_acquire(of.writes, NULL, NULL, &refused) == DLOCK_DEADLOCK);
    CHECK(now_ms() - begun < bound_ms(100) && strstr(refused.message, "acquire the write side before") != NULL);
    GIVES(DLOCK_DEADLOCK, dlock_rw_lock_try_acquire(of.writes, NULL, error));
    CHECK(count_of(of.reads) == 1 && count_of(of.writes) == 0);
    OK(dlock_rw_lock_release(of.reads, error));
    OK(dlock_rw_lock_acquire(of.writes, NULL, NULL, error));
    OK(dlock_rw_lock_release(of.writes, error));
    free_sides(of);
}

static void a_reader_stands_behind_a_writer_that_waits(void) {
    dlock_client_t* other = open_client();
    struct sides mine = open_sides(), theirs = open_with(other, NULL);
    OK(dlock_rw_lock_acquire(mine.reads, NULL, NULL, error));
    struct job writer, reader;
    start(wait_for_side, theirs.writes, &writer);
    while (inspect(mine.reads).queued == 0) continue;
    start(wait_for_side, theirs.reads, &reader);
    await_waiting(other, 2);
    OK(dlock_rw_lock_release(mine.reads, error));
    ENDS(DLOCK_OK, &writer);
    ENDS(DLOCK_OK, &reader);
    CHECK(is_free(mine.reads));
    free_sides(mine), free_sides(theirs);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static uint64_t token_elsewhere;
static dlock_status_t read_elsewhere(const void* side) {
    dlock_held_t* held = NULL;
    dlock_status_t status = dlock_rw_lock_acquire(side, NULL, &held, &job_error);
    if (status == DLOCK_OK) status = dlock_held_token(held, &token_elsewhere, &job_error);
    if (status == DLOCK_OK) status = dlock_rw_lock_release(side, &job_error);
    dlock_held_free(held);
    return status;
}

static void readers_of_one_process_share_a_hold_while_it_is_young(void) {
    dlock_rw_lock_options_t options = DLOCK_RW_LOCK_OPTIONS_INIT;
    options.shared_age_ms = 10000; /* and a quarter of the lease */
    struct sides of = open_with(client, &options);
    dlock_held_t* held = acquire(of.reads);
    CHECK(in_another_thread(read_elsewhere, of.reads) == DLOCK_OK && token_elsewhere == token_of(held));
    CHECK(inspect(of.reads).readers == 1);
    OK(dlock_rw_lock_release(of.reads, error));
    CHECK(is_free(of.reads) && dlock_held_free(held) == DLOCK_OK);
    free_sides(of);
    options.shared_age_ms = 0;
    of = open_with(client, &options);
    held = acquire(of.reads);
    CHECK(in_another_thread(read_elsewhere, of.reads) == DLOCK_OK && token_elsewhere > token_of(held));
    OK(dlock_rw_lock_release(of.reads, error));
    CHECK(dlock_held_free(held) == DLOCK_OK);
    free_sides(of);
}

static void a_timed_wait_for_a_side_ends_as_busy(void) {
    dlock_client_t* other = open_client();
    struct sides mine = open_sides(), theirs = open_with(other, NULL);
    OK(dlock_rw_lock_acquire(theirs.reads, NULL, NULL, error));
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.wait_ms = 150;
    int64_t begun = now_ms();
    dlock_error_t busy = DLOCK_ERROR_INIT;
    CHECK(dlock_rw_lock_acquire(mine.writes, &options, NULL, &busy) == DLOCK_BUSY);
    int64_t took = now_ms() - begun;
    CHECK(took >= 150 && took < bound_ms(150 + 100));
    CHECK(strstr(busy.message, "held by one reader") != NULL && busy.retryable);
    OK(dlock_rw_lock_release(theirs.reads, error));
    OK(dlock_rw_lock_acquire(theirs.writes, NULL, NULL, error));
    dlock_rw_lock_inspection_t seen = inspect(mine.reads);
    dlock_held_t* untouched = (dlock_held_t*)7;
    busy = (dlock_error_t)DLOCK_ERROR_INIT;
    CHECK(dlock_rw_lock_try_acquire(mine.reads, &untouched, &busy) == DLOCK_BUSY);
    CHECK(strcmp(busy.holder, seen.writer) == 0 && busy.remaining_ms > 20000);
    options.wait_ms = 0;
    GIVES(DLOCK_BUSY, dlock_rw_lock_take(mine.reads, &options, &untouched, error));
    CHECK(untouched == (dlock_held_t*)7);
    OK(dlock_rw_lock_release(theirs.writes, error));
    free_sides(mine), free_sides(theirs);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static dlock_held_t* taken;
static dlock_status_t release_taken(const void* unused) {
    (void)unused;
    return dlock_held_release(taken, &job_error);
}

static void a_hold_that_is_taken_belongs_to_its_handle(void) {
    struct sides of = open_sides();
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rw_lock_take(of.writes, NULL, NULL, error));
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.lease_ms = 5000;
    const dlock_rw_lock_t* each[] = {of.reads, of.writes};
    for (int i = 0; i < 2; i++) {
        OK(dlock_rw_lock_take(each[i], &options, &taken, error));
        CHECK(count_of(each[i]) == 0 && token_of(taken) > 0);
        GIVES(DLOCK_NOT_HELD, dlock_rw_lock_release(each[i], error));
        GIVES(DLOCK_BUSY, dlock_rw_lock_try_acquire(of.writes, NULL, error)); /* for this thread too */
        int64_t ms = 0;
        OK(dlock_held_extend(taken, 60000, error));
        OK(dlock_held_remaining_ms(taken, &ms, error));
        CHECK(ms > 30000);
        uint32_t count = 0;
        size_t permits = 9;
        OK(dlock_held_reenter(taken, error));
        OK(dlock_held_hold_count(taken, &count, error));
        OK(dlock_held_permits(taken, NULL, 0, &permits, error));
        CHECK(count == 2 && permits == 0);
        dlock_detached_t detached = DLOCK_DETACHED_INIT;
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_detach(taken, &detached, error));
        OK(dlock_held_release(taken, error));
        CHECK(!is_free(of.reads) && in_another_thread(release_taken, NULL) == DLOCK_OK && is_free(of.reads));
        GIVES(DLOCK_NOT_HELD, dlock_held_release(taken, error));
        CHECK(dlock_held_free(taken) == DLOCK_OK);
    }
    dlock_held_t* own = acquire(of.reads);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_release(own, error)); /* the thread's, not the handle's */
    OK(dlock_rw_lock_release(of.reads, error));
    CHECK(dlock_held_free(own) == DLOCK_OK);
    free_sides(of);
}

static void a_threads_hold_outlives_the_handle_of_its_side(void) {
    struct sides of = open_sides();
    OK(dlock_rw_lock_acquire(of.writes, NULL, NULL, error));
    free_sides(of);
    GIVES(DLOCK_CLOSED, dlock_rw_lock_release(of.writes, error));
    CHECK(dlock_rw_lock_free(of.writes) == DLOCK_CLOSED);
    of = open_sides();
    CHECK(inspect(of.reads).writing && count_of(of.writes) == 1);
    dlock_held_t* held = NULL;
    GIVES(DLOCK_NOT_HELD, dlock_rw_lock_held(of.reads, &held, error));
    OK(dlock_rw_lock_held(of.writes, &held, error));
    CHECK(token_of(held) > 0 && dlock_held_free(held) == DLOCK_OK);
    OK(dlock_rw_lock_release(of.writes, error));
    CHECK(is_free(of.writes));
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    OK(dlock_rw_lock_name(of.reads, name, sizeof name, &length, error));
    CHECK(length == strlen(name) && strncmp(name, "c/a_threads_hold_", 17) == 0);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rw_lock_name(of.reads, name, length, &length, error));
    free_sides(of);
}

static void a_side_whose_lease_runs_out_is_lost_and_it_is_told(void) {
    dlock_rw_lock_options_t options = DLOCK_RW_LOCK_OPTIONS_INIT;
    options.lease_ms = lease_ms(300);
    struct sides of = open_with(client, &options);
    const dlock_rw_lock_t* each[] = {of.reads, of.writes};
    for (int i = 0; i < 2; i++) {
        dlock_held_t* held = acquire(each[i]);
        dlock_loss_t loss = DLOCK_LOSS_INTERNAL;
        OK(dlock_held_lost(held, &loss, error));
        CHECK(loss == DLOCK_LOSS_NONE);
        OK(dlock_held_wait_lost(held, -1, NULL, &loss, error));
        CHECK(loss == DLOCK_LOSS_EXPIRED);
        GIVES(DLOCK_NOT_HELD, dlock_rw_lock_extend(each[i], 1000, error));
        GIVES(DLOCK_NOT_HELD, dlock_rw_lock_release(each[i], error));
        OK(dlock_rw_lock_acquire(each[i], NULL, NULL, error)); /* it came back */
        OK(dlock_rw_lock_extend(each[i], 60000, error));
        OK(dlock_rw_lock_release(each[i], error));
        CHECK(dlock_held_free(held) == DLOCK_OK);
    }
    dlock_held_t* held = acquire(of.writes);
    dlock_loss_t loss = DLOCK_LOSS_NONE;
    OK(dlock_held_wait_lost(held, -1, NULL, &loss, error));
    GIVES(DLOCK_LOST, dlock_rw_lock_acquire(of.reads, NULL, NULL, error)); /* told once, whichever side asks */
    OK(dlock_rw_lock_acquire(of.reads, NULL, NULL, error));
    OK(dlock_rw_lock_release(of.reads, error));
    CHECK(dlock_held_free(held) == DLOCK_OK);
    free_sides(of);
}

static void a_watchdog_keeps_a_side_for_longer_than_its_lease(void) {
    dlock_rw_lock_options_t options = DLOCK_RW_LOCK_OPTIONS_INIT;
    options.watchdog_lease_ms = 1500; /* valgrind on a busy machine renews late */
    struct sides of = open_with(client, &options);
    dlock_held_t *written = acquire(of.writes), *read = acquire(of.reads);
    dlock_loss_t loss = DLOCK_LOSS_INTERNAL;
    GIVES(DLOCK_BUSY, dlock_held_wait_lost(written, 2000, NULL, &loss, error));
    OK(dlock_rw_lock_release(of.writes, error));
    GIVES(DLOCK_BUSY, dlock_held_wait_lost(read, 2000, NULL, &loss, error));
    OK(dlock_rw_lock_release(of.reads, error));
    OK(dlock_held_wait_lost(read, -1, NULL, &loss, error));
    CHECK(loss == DLOCK_LOSS_NONE);
    dlock_held_free(written), dlock_held_free(read), free_sides(of);
}

static void an_inspection_names_the_writer_and_counts_readers(void) {
    dlock_client_t* other = open_client();
    struct sides mine = open_sides(), theirs = open_with(other, NULL);
    dlock_rw_lock_inspection_t seen = inspect(mine.reads);
    CHECK(!seen.writing && !seen.ours && seen.writer[0] == '\0' && seen.readers == 0 && seen.ttl_ms == -1);
    CHECK(seen.token == 0 && seen.queued == 0);
    dlock_held_t *first = acquire(mine.reads), *second = acquire(theirs.reads);
    seen = inspect(mine.writes);
    CHECK(!seen.writing && seen.readers == 2 && seen.ttl_ms > 20000 && seen.token == token_of(second));
    OK(dlock_rw_lock_release(mine.reads, error));
    OK(dlock_rw_lock_release(theirs.reads, error));
    dlock_held_t* written = acquire(mine.writes);
    char owner[DLOCK_OWNER_SIZE];
    size_t length = 0;
    OK(dlock_held_owner(written, owner, sizeof owner, &length, error));
    seen = inspect(mine.reads);
    CHECK(seen.writing && seen.ours && strcmp(seen.writer, owner) == 0 && seen.readers == 0);
    seen = inspect(theirs.reads);
    CHECK(seen.writing && !seen.ours && strcmp(seen.writer, owner) == 0 && seen.token == token_of(written));
    OK(dlock_rw_lock_release(mine.writes, error));
    dlock_held_free(first), dlock_held_free(second), dlock_held_free(written);
    free_sides(mine), free_sides(theirs);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static void a_forced_release_frees_both_sides(void) {
    dlock_client_t* other = open_client();
    struct sides mine = open_sides(), theirs = open_with(other, NULL);
    bool was_held = true;
    OK(dlock_rw_lock_force_release(mine.reads, &was_held, error));
    CHECK(!was_held);
    dlock_held_t *written = acquire(theirs.writes), *read = acquire(theirs.reads);
    OK(dlock_rw_lock_force_release(mine.reads, &was_held, error));
    CHECK(was_held && is_free(mine.reads));
    dlock_loss_t of_written = DLOCK_LOSS_NONE, of_read = DLOCK_LOSS_NONE;
    OK(dlock_held_wait_lost(written, 10000, NULL, &of_written, error));
    OK(dlock_held_wait_lost(read, 10000, NULL, &of_read, error));
    CHECK(of_written == DLOCK_LOSS_DELETED && of_read == DLOCK_LOSS_DELETED);
    GIVES(DLOCK_NOT_HELD, dlock_rw_lock_release(theirs.writes, error));
    GIVES(DLOCK_NOT_HELD, dlock_rw_lock_release(theirs.reads, error));
    OK(dlock_rw_lock_acquire(mine.writes, NULL, NULL, error));
    OK(dlock_rw_lock_force_release(mine.writes, NULL, error));
    CHECK(count_of(mine.writes) == 0);
    dlock_held_free(written), dlock_held_free(read);
    free_sides(mine), free_sides(theirs);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static void what_cannot_be_is_refused(void) {
    dlock_rw_lock_t* none = NULL;
    int32_t sides[] = {-1, 2, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        dlock_error_t refused = DLOCK_ERROR_INIT;
        CHECK(dlock_rw_lock_open(client, "x", 1, sides[i], NULL, &none, &refused) == DLOCK_INVALID_ARGUMENT);
        CHECK(strstr(refused.allowed, "DLOCK_SIDE_READ (0)") != NULL);
    }
    dlock_rw_lock_options_t options = DLOCK_RW_LOCK_OPTIONS_INIT;
#define REFUSED(field, value)                                                                                          \
    options.field = (value);                                                                                           \
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rw_lock_open(client, "x", 1, DLOCK_SIDE_WRITE, &options, &none, error));       \
    options = (dlock_rw_lock_options_t)DLOCK_RW_LOCK_OPTIONS_INIT
    REFUSED(shared_age_ms, 10001);
    REFUSED(shared_age_ms, -2);
    REFUSED(shared_age_ms, INT64_MIN);
    REFUSED(lease_ms, 99);
    REFUSED(lease_ms, -1);
    REFUSED(watchdog_lease_ms, 99);
    REFUSED(reentrant, 2);
    REFUSED(struct_size, sizeof options - 1);
    options.lease_ms = 1000;
    REFUSED(watchdog_lease_ms, 1000);
    GIVES(DLOCK_INVALID_NAME, dlock_rw_lock_open(client, "a{", 2, DLOCK_SIDE_READ, NULL, &none, error));
    GIVES(DLOCK_INVALID_NAME, dlock_rw_lock_open(client, "x", SIZE_MAX, DLOCK_SIDE_READ, NULL, &none, error));
    struct sides of = open_sides();
    dlock_held_t* held = NULL;
    dlock_acquire_options_t how = DLOCK_ACQUIRE_OPTIONS_INIT;
    how.wait_ms = -2;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rw_lock_acquire(of.reads, &how, &held, error));
    how.wait_ms = 0, how.lease_ms = 5;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rw_lock_take(of.writes, &how, &held, error));
    how.struct_size = 8;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rw_lock_acquire(of.reads, &how, &held, error));
    CHECK(none == NULL && held == NULL && is_free(of.reads));
    dlock_rw_lock_inspection_t seen = DLOCK_RW_LOCK_INSPECTION_INIT;
    seen.struct_size = 8;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rw_lock_inspect(of.reads, &seen, error));
    free_sides(of);
}

static void a_lock_and_a_read_write_lock_of_one_name_refuse_each_other(void) {
    struct sides of = open_sides();
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    dlock_lock_t* lock = NULL;
    OK(dlock_rw_lock_name(of.reads, name, sizeof name, &length, error));
    OK(dlock_lock_open(client, name, length, NULL, &lock, error));
    OK(dlock_rw_lock_acquire(of.reads, NULL, NULL, error));
    GIVES(DLOCK_WRONG_TYPE, dlock_lock_try_acquire(lock, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_release((const dlock_lock_t*)of.reads, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rw_lock_release((const dlock_rw_lock_t*)lock, error));
    OK(dlock_rw_lock_release(of.reads, error));
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    GIVES(DLOCK_WRONG_TYPE, dlock_rw_lock_try_acquire(of.writes, NULL, error));
    dlock_rw_lock_inspection_t seen = DLOCK_RW_LOCK_INSPECTION_INIT;
    GIVES(DLOCK_WRONG_TYPE, dlock_rw_lock_inspect(of.writes, &seen, error));
    OK(dlock_lock_release(lock, error));
    dlock_lock_free(lock), free_sides(of);
}

static dlock_cancel_t* cancel;
static dlock_status_t wait_until_cancelled(const void* side) {
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.cancel = cancel;
    return dlock_rw_lock_acquire(side, &options, NULL, &job_error);
}

static void a_cancel_token_ends_a_wait_for_a_side(void) {
    struct sides of = open_sides();
    OK(dlock_cancel_new(&cancel, error));
    OK(dlock_rw_lock_acquire(of.reads, NULL, NULL, error));
    struct job writer, reader;
    start(wait_until_cancelled, of.writes, &writer);
    await_waiting(client, 1);
    start(wait_for_side, of.reads, &reader); /* behind the writer */
    await_waiting(client, 2);
    int64_t begun = now_ms();
    OK(dlock_cancel_fire(cancel, error));
    ENDS(DLOCK_CANCELLED, &writer);
    CHECK(now_ms() - begun < bound_ms(100));
    ENDS(DLOCK_OK, &reader); /* with the writer's place its own wait is over */
    OK(dlock_rw_lock_release(of.reads, error));
    CHECK(is_free(of.reads) && dlock_cancel_free(cancel) == DLOCK_OK);
    free_sides(of);
}

static dlock_status_t acquire_and_end(const void* side) {
    return dlock_rw_lock_acquire(side, NULL, &taken, &job_error);
}

static void a_side_of_a_thread_that_ends_comes_back_with_its_lease(void) {
    dlock_rw_lock_options_t options = DLOCK_RW_LOCK_OPTIONS_INIT;
    options.watchdog_lease_ms = lease_ms(600);
    struct sides of = open_with(client, &options);
    const dlock_rw_lock_t* each[] = {of.reads, of.writes};
    for (int i = 0; i < 2; i++) {
        CHECK(in_another_thread(acquire_and_end, each[i]) == DLOCK_OK);
        dlock_loss_t loss = DLOCK_LOSS_NONE;
        OK(dlock_held_wait_lost(taken, 10000, NULL, &loss, error));
        CHECK(loss == DLOCK_LOSS_CLOSED);
        GIVES(DLOCK_BUSY, dlock_rw_lock_try_acquire(of.writes, NULL, error));
        OK(dlock_rw_lock_acquire(of.writes, NULL, NULL, error)); /* when the lease has run out */
        OK(dlock_rw_lock_release(of.writes, error));
        CHECK(dlock_held_free(taken) == DLOCK_OK);
        OK(dlock_rw_lock_take(each[i], NULL, &taken, error));
        CHECK(dlock_held_free(taken) == DLOCK_OK);
        OK(dlock_rw_lock_acquire(of.writes, NULL, NULL, error)); /* nothing renews what was freed */
        OK(dlock_rw_lock_release(of.writes, error));
    }
    free_sides(of);
}

static void closing_ends_the_waiters_for_both_sides(void) {
    dlock_client_t* ending = open_client();
    struct sides of = open_with(ending, NULL), after = open_sides();
    OK(dlock_rw_lock_take(after.reads, NULL, &taken, error)); /* so that no writer is granted on the way */
    dlock_held_t* held = acquire(of.reads);
    struct job waiters[20];
    start(wait_for_side, of.writes, &waiters[0]);
    await_waiting(ending, 1);
    for (int i = 1; i < 20; i++) start(wait_for_side, i % 2 == 0 ? of.writes : of.reads, &waiters[i]);
    await_waiting(ending, 20);
    int64_t begun = now_ms();
    OK(dlock_client_close(ending, true, error));
    for (int i = 0; i < 20; i++) ENDS(DLOCK_CLOSED, &waiters[i]);
    CHECK(now_ms() - begun < bound_ms(300)); /* the release of what is held is a round trip, on a busy machine */
    GIVES(DLOCK_CLOSED, dlock_rw_lock_acquire(of.reads, NULL, NULL, error));
    dlock_loss_t loss = DLOCK_LOSS_NONE;
    OK(dlock_held_lost(held, &loss, error));
    CHECK(loss == DLOCK_LOSS_CLOSED && inspect(after.reads).readers == 1); /* released on the way */
    OK(dlock_held_release(taken, error));
    dlock_held_free(held), dlock_held_free(taken), free_sides(of), free_sides(after);
    dlock_client_free(ending);
}

static void a_client_counts_what_its_read_write_locks_do(void) {
    dlock_client_t* counting = open_client();
    struct sides of = open_with(counting, NULL);
    OK(dlock_rw_lock_acquire(of.writes, NULL, NULL, error));
    CHECK(in_another_thread(try_side, of.reads) == DLOCK_BUSY);
    dlock_rw_lock_stats_t stats = DLOCK_RW_LOCK_STATS_INIT;
    OK(dlock_client_rw_lock_stats(counting, &stats, error));
    CHECK(stats.struct_size == sizeof stats && stats.acquired == 1 && stats.wait_timeouts == 1);
    CHECK(stats.held == 1 && stats.released == 0 && stats.contended == 0 && stats.waiting == 0);
    struct job waiter;
    start(wait_for_side, of.reads, &waiter);
    await_waiting(counting, 1);
    OK(dlock_rw_lock_release(of.writes, error));
    ENDS(DLOCK_OK, &waiter);
    OK(dlock_client_rw_lock_stats(counting, &stats, error));
    CHECK(stats.acquired == 2 && stats.contended == 1 && stats.handed_over_local + stats.handed_over_remote == 1);
    CHECK(stats.released == 2 && stats.held == 0 && stats.waiting == 0 && stats.lost == 0 && stats.cancelled == 0);
    CHECK(stats.wait_time.count == 2 && stats.hold_time.count == 2);
    dlock_lock_stats_t locks = DLOCK_LOCK_STATS_INIT;
    OK(dlock_client_lock_stats(counting, &locks, error));
    CHECK(locks.acquired == 0 && locks.held == 0);
    OK(dlock_client_close(counting, false, error));
    OK(dlock_client_rw_lock_stats(counting, &stats, error)); /* also when it is closed */
    free_sides(of), dlock_client_free(counting);
}

static dlock_port_t* port;
static dlock_completion_t got[1];
static const dlock_completion_t* one(void) {
    collect(port, got, 1);
    return got;
}

static void operations_of_a_side_complete_with_their_answers(void) {
    struct sides of = open_sides();
    dlock_op_t* op = NULL;
    int mine = 0;
    OK(dlock_submit_rw_lock_acquire(port, of.reads, NULL, &mine, &op, error));
    CHECK(one()->kind == DLOCK_COMPLETION_HELD && got[0].status == DLOCK_OK && got[0].op == op);
    dlock_held_t* held = got[0].held;
    CHECK(got[0].user_data == &mine && got[0].token == token_of(held));
    OK(dlock_submit_rw_lock_inspect(port, of.writes, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_RW_LOCK_INSPECTION && got[0].rw_lock_inspection.readers == 1);
    CHECK(!got[0].rw_lock_inspection.writing && got[0].rw_lock_inspection.token == token_of(held));
    OK(dlock_submit_extend(port, held, 60000, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_DONE);
    OK(dlock_submit_detach(port, held, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_ERROR && got[0].status == DLOCK_INVALID_ARGUMENT);
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.wait_ms = 300; /* a server that has not answered within 100 ms is no answer, and valgrind is slow */
    OK(dlock_submit_rw_lock_acquire(port, of.writes, &options, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_ERROR && got[0].status == DLOCK_BUSY);
    OK(dlock_submit_release(port, held, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_DONE && dlock_held_free(held) == DLOCK_OK);
    OK(dlock_submit_rw_lock_acquire(port, of.writes, NULL, NULL, NULL, error));
    held = one()->held;
    OK(dlock_submit_downgrade(port, held, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_HELD && got[0].token > token_of(held) && inspect(of.reads).readers == 1);
    CHECK(dlock_held_free(held) == DLOCK_OK);
    held = got[0].held;
    OK(dlock_submit_downgrade(port, held, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_ERROR && got[0].status == DLOCK_INVALID_ARGUMENT);
    OK(dlock_submit_rw_lock_force_release(port, of.reads, NULL, NULL, error));
    CHECK(one()->kind == DLOCK_COMPLETION_FLAG && got[0].flag);
    GIVES(DLOCK_NOT_HELD, dlock_held_release(held, error));
    CHECK(dlock_held_free(held) == DLOCK_OK && !readable(port));
    free_sides(of);
}

static void a_cancelled_wait_for_a_side_leaves_nothing(void) {
    struct sides of = open_sides();
    OK(dlock_rw_lock_take(of.reads, NULL, &taken, error));
    dlock_op_t* waiting = NULL;
    OK(dlock_submit_rw_lock_acquire(port, of.writes, NULL, NULL, &waiting, error));
    for (int64_t until = now_ms() + 30000; inspect(of.reads).queued == 0;) CHECK(now_ms() < until);
    bool cancelled = false;
    OK(dlock_op_cancel(waiting, &cancelled, error));
    CHECK(cancelled && one()->op == waiting && got[0].status == DLOCK_CANCELLED);
    OK(dlock_rw_lock_acquire(of.reads, NULL, NULL, error)); /* what the writer stood in front of */
    OK(dlock_rw_lock_release(of.reads, error));
    OK(dlock_held_release(taken, error));
    /* What was granted to the wait just before it was cancelled is given back in the background. */
    for (int64_t until = now_ms() + 30000; !is_free(of.reads);) CHECK(now_ms() < until);
    CHECK(dlock_held_free(taken) == DLOCK_OK);
    dlock_port_t* unread = NULL;
    OK(dlock_port_new(&unread, error));
    OK(dlock_submit_rw_lock_acquire(unread, of.writes, NULL, NULL, NULL, error));
    while (!readable(unread)) continue;                                          /* granted, not drained */
    OK(dlock_submit_rw_lock_acquire(unread, of.reads, NULL, NULL, NULL, error)); /* waiting */
    CHECK(dlock_port_free(unread) == DLOCK_OK);
    OK(dlock_rw_lock_acquire(of.writes, NULL, NULL, error)); /* released in the background */
    OK(dlock_rw_lock_release(of.writes, error));
    free_sides(of);
}

int main(void) {
    client = open_client();
    OK(dlock_port_new(&port, error));
    RUN(readers_hold_it_together_and_a_writer_alone);
    RUN(a_side_is_entered_again_and_left_as_often);
    RUN(who_writes_may_read_and_goes_on_as_a_reader);
    RUN(a_downgrade_leaves_no_time_to_write_between);
    RUN(who_reads_cannot_write_too_and_is_told_at_once);
    RUN(a_reader_stands_behind_a_writer_that_waits);
    RUN(readers_of_one_process_share_a_hold_while_it_is_young);
    RUN(a_timed_wait_for_a_side_ends_as_busy);
    RUN(a_hold_that_is_taken_belongs_to_its_handle);
    RUN(a_threads_hold_outlives_the_handle_of_its_side);
    RUN(a_side_whose_lease_runs_out_is_lost_and_it_is_told);
    RUN(a_watchdog_keeps_a_side_for_longer_than_its_lease);
    RUN(an_inspection_names_the_writer_and_counts_readers);
    RUN(a_forced_release_frees_both_sides);
    RUN(what_cannot_be_is_refused);
    RUN(a_lock_and_a_read_write_lock_of_one_name_refuse_each_other);
    RUN(a_cancel_token_ends_a_wait_for_a_side);
    RUN(a_side_of_a_thread_that_ends_comes_back_with_its_lease);
    RUN(closing_ends_the_waiters_for_both_sides);
    RUN(a_client_counts_what_its_read_write_locks_do);
    RUN(operations_of_a_side_complete_with_their_answers);
    RUN(a_cancelled_wait_for_a_side_leaves_nothing);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_port_free(port) == DLOCK_OK && dlock_client_free(client) == DLOCK_OK);
    return 0;
}
