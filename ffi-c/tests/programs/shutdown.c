/* dlock_shutdown(): afterwards nothing is left (run.py has valgrind look), and calls say so. The argument chooses where
 * it is called: "main", "atexit", or "busy" for a shutdown under which other threads wait and clients are open. */
#include "check.h"
#include "exports.h"
#include "threads.h"

static dlock_client_t* client;
static dlock_lock_t* lock;
static dlock_held_t* held;
static dlock_semaphore_t* semaphore;
static dlock_rw_lock_t *reads, *writes;
static dlock_latch_t* latch;
static dlock_counting_semaphore_t* counting;
static dlock_port_t* port;

/* Some of everything, left open. */
static void use_everything(void) {
    client = open_client();
    lock = open_lock(client, NULL);
    OK(dlock_port_new(&port, error));
    OK(dlock_lock_acquire(lock, NULL, &held, error));
    OK(dlock_submit_acquire(port, lock, NULL, NULL, NULL, error));
    dlock_rate_limiter_t* limiter = NULL;
    OK(dlock_rate_limiter_open(client, "c/shutdown", 10, 100, 1000000, NULL, &limiter, error));
    dlock_decision_t decision = DLOCK_DECISION_INIT;
    OK(dlock_rate_limiter_acquire(limiter, 1, -1, NULL, &decision, error));
    semaphore = open_semaphore(client, 3, NULL);
    dlock_held_t* permits = NULL;
    OK(dlock_semaphore_acquire(semaphore, 1, NULL, NULL, error));
    OK(dlock_semaphore_take(semaphore, 1, NULL, &permits, error));
    OK(dlock_submit_semaphore_acquire(port, semaphore, 2, NULL, NULL, NULL, error));
    reads = open_side(client, DLOCK_SIDE_READ, NULL), writes = open_side(client, DLOCK_SIDE_WRITE, NULL);
    dlock_held_t* reading = NULL;
    OK(dlock_rw_lock_acquire(reads, NULL, NULL, error));
    OK(dlock_rw_lock_take(reads, NULL, &reading, error));
    OK(dlock_submit_rw_lock_acquire(port, writes, NULL, NULL, NULL, error));
    latch = open_latch(client);
    bool set = false;
    OK(dlock_latch_try_set_count(latch, 2, &set, error));
    OK(dlock_submit_latch_wait(port, latch, -1, NULL, NULL, error));
    counting = open_counting(client, 0);
    OK(dlock_submit_counting_semaphore_acquire(port, counting, 1, -1, NULL, NULL, error));
    dlock_snowflake_t* ids = NULL;
    int64_t id = 0;
    OK(dlock_snowflake_open(20, 1, NULL, &ids, error));
    OK(dlock_snowflake_next_id(ids, &id, error));
    dlock_cancel_t* cancel = NULL;
    OK(dlock_cancel_new(&cancel, error));
}

static void after_a_shutdown_every_call_says_closed(void) {
    dlock_error_t failure = DLOCK_ERROR_INIT;
    CHECK(dlock_lock_release(lock, &failure) == DLOCK_CLOSED && strstr(failure.message, "dlock_shutdown") != NULL);
    CHECK(dlock_held_free(held) == DLOCK_CLOSED && dlock_lock_free(lock) == DLOCK_CLOSED);
    GIVES(DLOCK_CLOSED, dlock_semaphore_release(semaphore, NULL, error));
    CHECK(dlock_semaphore_free(semaphore) == DLOCK_CLOSED);
    GIVES(DLOCK_CLOSED, dlock_rw_lock_release(reads, error));
    CHECK(dlock_rw_lock_free(reads) == DLOCK_CLOSED && dlock_rw_lock_free(writes) == DLOCK_CLOSED);
    GIVES(DLOCK_CLOSED, dlock_latch_count_down(latch, 1, NULL, error));
    GIVES(DLOCK_CLOSED, dlock_counting_semaphore_release(counting, 1, error));
    CHECK(dlock_latch_free(latch) == DLOCK_CLOSED && dlock_counting_semaphore_free(counting) == DLOCK_CLOSED);
    CHECK(dlock_port_free(port) == DLOCK_CLOSED && dlock_client_free(client) == DLOCK_CLOSED);
#define NEVER_A_CRASH(function, call)                                                                                  \
    check_case = #function;                                                                                            \
    {                                                                                                                  \
        dlock_error_t error_ = DLOCK_ERROR_INIT;                                                                       \
        dlock_error_t* error = &error_;                                                                                \
        dlock_status_t got = (call);                                                                                   \
        CHECK(got == DLOCK_OK || got == DLOCK_CLOSED);                                                                 \
        (void)error;                                                                                                   \
    }
    EACH_EXPORT(NEVER_A_CRASH)
}

/* Calls that need no object from before. */
static dlock_status_t make_a_port(void) { return dlock_port_new(&port, NULL); }
static dlock_status_t make_a_token(void) {
    dlock_cancel_t* cancel = NULL;
    return dlock_cancel_new(&cancel, NULL);
}
static dlock_status_t make_a_generator(void) {
    dlock_snowflake_t* ids = NULL;
    int64_t id = 0;
    dlock_status_t status = dlock_snowflake_open(20, 1, NULL, &ids, NULL);
    return status == DLOCK_OK ? dlock_snowflake_next_id(ids, &id, NULL) : status;
}
static dlock_status_t make_a_client(void) {
    dlock_client_t* fresh = NULL;
    return dlock_client_open(server_url(), strlen(server_url()), NULL, &fresh, NULL);
}

static dlock_status_t (*const makes[])(void) = {make_a_port, make_a_token, make_a_generator, make_a_client};
#define LIVES (sizeof makes / sizeof *makes)
static pthread_barrier_t life;

/* One thread, which each shutdown has to wake. */
static dlock_status_t wait_in_each_life(const void* unused) {
    dlock_status_t status = DLOCK_CLOSED;
    (void)unused;
    for (size_t i = 0; i < LIVES && status == DLOCK_CLOSED; i++) {
        pthread_barrier_wait(&life);
        status = dlock_lock_acquire(lock, NULL, NULL, &job_error);
    }
    return status;
}

static void the_library_starts_again_after_a_shutdown(void) {
    CHECK(pthread_barrier_init(&life, NULL, 2) == 0);
    struct job job;
    start(wait_in_each_life, NULL, &job);
    for (size_t i = 0; i < LIVES; i++) {
        dlock_lock_t* old = lock;
        GIVES(DLOCK_CLOSED, dlock_lock_release(old, error));
        CHECK(makes[i]() == DLOCK_OK);
        GIVES(DLOCK_CLOSED, dlock_lock_release(old, error));
        CHECK(dlock_lock_free(old) == DLOCK_CLOSED && dlock_client_free(client) == DLOCK_CLOSED);
        client = open_client();
        char name[64];
        int length = snprintf(name, sizeof name, "c/shutdown/%ld/%zu", (long)getpid(), i);
        OK(dlock_lock_open(client, name, (size_t)length, NULL, &lock, error));
        CHECK(lock != old && dlock_lock_free(old) == DLOCK_CLOSED);
        OK(dlock_lock_acquire(lock, NULL, NULL, error));
        pthread_barrier_wait(&life);
        dlock_lock_stats_t stats = DLOCK_LOCK_STATS_INIT;
        while (stats.waiting == 0) OK(dlock_client_lock_stats(client, &stats, error));
        int64_t begun = now_ms();
        OK(dlock_shutdown(error));
        CHECK(now_ms() - begun < bound_ms(2000));
    }
    ENDS(DLOCK_CLOSED, &job);
}

static void called_twice_it_does_nothing(void) {
    OK(dlock_shutdown(error));
    OK(dlock_shutdown(error));
    CHECK(dlock_shutdown(NULL) == DLOCK_OK);
}

static void a_shutdown_with_everything_open(void) {
    use_everything();
    OK(dlock_shutdown(error));
}

static void at_exit(void) {
    check_case = "a_shutdown_in_an_atexit_handler";
    OK(dlock_shutdown(error));
    after_a_shutdown_every_call_says_closed();
    printf("ok a_shutdown_in_an_atexit_handler\n");
    fflush(stdout);
}

static dlock_status_t wait_for_the_loss(const void* unused) {
    (void)unused;
    dlock_loss_t reason = DLOCK_LOSS_NONE;
    dlock_status_t status = dlock_held_wait_lost(held, -1, NULL, &reason, &job_error);
    return status == DLOCK_OK && reason == DLOCK_LOSS_CLOSED ? DLOCK_CLOSED : status;
}

static dlock_status_t wait_for_permits(const void* of) {
    return dlock_semaphore_acquire(of, 3, NULL, NULL, &job_error);
}

static dlock_status_t wait_for_the_readers(const void* of) { return dlock_rw_lock_acquire(of, NULL, NULL, &job_error); }

static dlock_status_t wait_for_the_latch(const void* of) {
    bool open = false;
    return dlock_latch_wait(of, -1, NULL, &open, &job_error);
}

static dlock_status_t wait_for_a_count(const void* of) {
    return dlock_counting_semaphore_acquire(of, 1, -1, NULL, &job_error);
}

static dlock_status_t come_and_go(const void* unused) {
    dlock_status_t status = DLOCK_OK;
    (void)unused;
    while (status == DLOCK_OK) {
        dlock_lock_t* mine = NULL;
        status = dlock_lock_open(client, "c/shutdown/busy", 15, NULL, &mine, &job_error);
        if (status == DLOCK_OK) status = dlock_lock_acquire(mine, NULL, NULL, &job_error);
        if (status == DLOCK_OK) status = dlock_lock_release(mine, &job_error);
        dlock_lock_free(mine);
    }
    return status;
}

static void a_shutdown_ends_the_calls_of_other_threads(void) {
    use_everything();
    struct job jobs[14];
    for (int i = 0; i < 3; i++) start(wait_for_it, lock, &jobs[i]);
    start(wait_for_the_loss, lock, &jobs[3]);
    for (int i = 4; i < 8; i++) start(come_and_go, lock, &jobs[i]);
    for (int i = 8; i < 10; i++) start(wait_for_permits, semaphore, &jobs[i]);
    for (int i = 10; i < 12; i++) start(wait_for_the_readers, writes, &jobs[i]);
    start(wait_for_the_latch, latch, &jobs[12]);
    start(wait_for_a_count, counting, &jobs[13]);
    dlock_latch_stats_t latches = DLOCK_LATCH_STATS_INIT;
    dlock_counting_semaphore_stats_t counts = DLOCK_COUNTING_SEMAPHORE_STATS_INIT;
    dlock_lock_stats_t stats = DLOCK_LOCK_STATS_INIT;
    dlock_semaphore_stats_t permits = DLOCK_SEMAPHORE_STATS_INIT;
    dlock_rw_lock_stats_t sides = DLOCK_RW_LOCK_STATS_INIT;
    int64_t until = now_ms() + 30000;
    while (stats.waiting < 4 || stats.released < 20 || permits.waiting < 3 || sides.waiting < 3 ||
           latches.waiting < 2 || counts.waiting < 2) {
        CHECK(now_ms() < until);
        OK(dlock_client_latch_stats(client, &latches, error));
        OK(dlock_client_counting_semaphore_stats(client, &counts, error));
        OK(dlock_client_rw_lock_stats(client, &sides, error));
        OK(dlock_client_lock_stats(client, &stats, error));
        OK(dlock_client_semaphore_stats(client, &permits, error));
    }
    int64_t begun = now_ms();
    OK(dlock_shutdown(error));
    CHECK(now_ms() - begun < bound_ms(2000));
    for (int i = 0; i < 14; i++) ENDS(DLOCK_CLOSED, &jobs[i]);
}

int main(int count, char** arguments) {
    const char* where = count > 1 ? arguments[1] : "main";
    if (strcmp(where, "atexit") == 0) {
        check_case = "a_shutdown_in_an_atexit_handler";
        use_everything();
        return atexit(at_exit);
    }
    if (strcmp(where, "busy") == 0)
        RUN(a_shutdown_ends_the_calls_of_other_threads);
    else
        RUN(a_shutdown_with_everything_open);
    RUN(called_twice_it_does_nothing);
    RUN(after_a_shutdown_every_call_says_closed);
    RUN(the_library_starts_again_after_a_shutdown);
    return 0;
}
