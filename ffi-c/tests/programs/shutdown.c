/* dlock_shutdown(): afterwards nothing is left (run.py has valgrind look), and calls say so. The argument chooses where
 * it is called: "main", "atexit", or "busy" for a shutdown under which other threads wait and clients are open. */
#include "check.h"
#include "exports.h"
#include "threads.h"

static dlock_client_t* client;
static dlock_lock_t* lock;
static dlock_held_t* held;
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
    GIVES(DLOCK_CLOSED, dlock_client_open("memory://", 9, NULL, &client, error));
    GIVES(DLOCK_CLOSED, dlock_port_new(&port, error));
    CHECK(dlock_held_free(held) == DLOCK_CLOSED && dlock_lock_free(lock) == DLOCK_CLOSED);
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

static dlock_status_t wait_for_the_loss(const dlock_lock_t* unused) {
    (void)unused;
    dlock_loss_t reason = DLOCK_LOSS_NONE;
    dlock_status_t status = dlock_held_wait_lost(held, -1, NULL, &reason, NULL);
    return status == DLOCK_OK && reason == DLOCK_LOSS_CLOSED ? DLOCK_CLOSED : status;
}

static dlock_status_t come_and_go(const dlock_lock_t* unused) {
    dlock_status_t status = DLOCK_OK;
    (void)unused;
    while (status == DLOCK_OK) {
        dlock_lock_t* mine = NULL;
        status = dlock_lock_open(client, "c/shutdown/busy", 15, NULL, &mine, NULL);
        if (status == DLOCK_OK) status = dlock_lock_acquire(mine, NULL, NULL, NULL);
        if (status == DLOCK_OK) status = dlock_lock_release(mine, NULL);
        dlock_lock_free(mine);
    }
    return status;
}

static void a_shutdown_ends_the_calls_of_other_threads(void) {
    use_everything();
    struct job jobs[8];
    for (int i = 0; i < 3; i++) start(wait_for_it, lock, &jobs[i]);
    start(wait_for_the_loss, lock, &jobs[3]);
    for (int i = 4; i < 8; i++) start(come_and_go, lock, &jobs[i]);
    dlock_lock_stats_t stats = DLOCK_LOCK_STATS_INIT;
    for (int64_t until = now_ms() + 30000; stats.waiting < 4 || stats.released < 20;) {
        CHECK(now_ms() < until);
        OK(dlock_client_lock_stats(client, &stats, error));
    }
    int64_t begun = now_ms();
    OK(dlock_shutdown(error));
    CHECK(now_ms() - begun < bound_ms(2000));
    for (int i = 0; i < 8; i++) CHECK(finish(&jobs[i]) == DLOCK_CLOSED);
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
    return 0;
}
