/* Rate limiters in C: waits, policies, the asynchronous form, bad arguments. tests/scenarios checks the decisions. */
#include <math.h>

#include "threads.h"

#define SECOND INT64_C(1000000)

static dlock_client_t* client;

/* A limiter with a name of the case's own, full: the program may run more than once on one server. */
static dlock_rate_limiter_t* open_limiter(const char* what, int64_t tokens, int64_t per_us,
                                          const dlock_rate_limiter_options_t* options) {
    char name[256];
    int length = snprintf(name, sizeof name, "c/limits/%s/%s", check_case, what);
    dlock_rate_limiter_t* limiter = NULL;
    OK(dlock_rate_limiter_open(client, name, (size_t)length, tokens, per_us, options, &limiter, error));
    OK(dlock_rate_limiter_reset(limiter, error));
    return limiter;
}

static void names_and_policies_that_cannot_be_are_refused(void) {
    dlock_rate_limiter_options_t options = DLOCK_RATE_LIMITER_OPTIONS_INIT;
    dlock_rate_limiter_t* limiter = NULL;
    options.absent = 4;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_open(client, "x", 1, 1, SECOND, &options, &limiter, error));
    options.absent = DLOCK_ABSENT_LOCAL_SHARE; /* of nobody */
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_open(client, "x", 1, 1, SECOND, &options, &limiter, error));
    GIVES(DLOCK_INVALID_NAME, dlock_rate_limiter_open(client, "a{", 2, 1, SECOND, NULL, &limiter, error));
    CHECK(limiter == NULL);
}

static void a_refusal_is_a_status_of_its_own_with_the_decision(void) {
    dlock_rate_limiter_t* limiter = open_limiter("l", 1, 3600 * SECOND, NULL);
    OK(dlock_rate_limiter_peek(limiter, NULL, error));
    OK(dlock_rate_limiter_try_acquire(limiter, 1, NULL, error));
    dlock_decision_t told = DLOCK_DECISION_INIT;
    dlock_error_t error = DLOCK_ERROR_INIT;
    CHECK(dlock_rate_limiter_try_acquire(limiter, 1, &told, &error) == DLOCK_LIMITED);
    CHECK(!told.allowed && told.retry_after_us > 3500 * SECOND && told.limit == 1);
    CHECK(error.code == DLOCK_LIMITED && strstr(error.name, "c/limits/") != NULL && strlen(error.message) > 0);
    CHECK(error.retry_after_us == told.retry_after_us && error.retryable && error.holder[0] == '\0');
    GIVES(DLOCK_LIMITED, dlock_rate_limiter_peek(limiter, &told, error));
    /* A wait that cannot be long enough is over at once. */
    int64_t begun = now_ms();
    GIVES(DLOCK_LIMITED, dlock_rate_limiter_acquire(limiter, 1, 60000, NULL, &told, error));
    CHECK(now_ms() - begun < bound_ms(1000));
    OK(dlock_rate_limiter_reset(limiter, error));
    OK(dlock_rate_limiter_try_acquire(limiter, 1, &told, error));
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    OK(dlock_rate_limiter_name(limiter, name, sizeof name, &length, error));
    CHECK(strcmp(name, error.name) == 0 && length == strlen(name));
    CHECK(dlock_rate_limiter_free(limiter) == DLOCK_OK);
    GIVES(DLOCK_CLOSED, dlock_rate_limiter_peek(limiter, NULL, error));
}

static void no_retry_helps_against_a_rate_of_nothing(void) {
    dlock_rate_limiter_t* limiter = open_limiter("none", 0, SECOND, NULL);
    dlock_decision_t told = DLOCK_DECISION_INIT;
    dlock_error_t error = DLOCK_ERROR_INIT;
    CHECK(dlock_rate_limiter_try_acquire(limiter, 1, &told, &error) == DLOCK_LIMITED);
    CHECK(told.retry_after_us == -1 && error.retry_after_us == -1 && !error.retryable);
    CHECK(dlock_rate_limiter_free(limiter) == DLOCK_OK);
}

#define KEY(text) text, sizeof(text) - 1

static void keys_have_buckets_of_their_own(void) {
    dlock_rate_limiter_t* limiter = open_limiter("keys", 1, 3600 * SECOND, NULL);
    OK(dlock_rate_limiter_reset_keyed(limiter, KEY("a"), error));
    OK(dlock_rate_limiter_reset_keyed(limiter, KEY("b"), error));
    dlock_decision_t told = DLOCK_DECISION_INIT;
    dlock_error_t error = DLOCK_ERROR_INIT;
    OK(dlock_rate_limiter_try_acquire_keyed(limiter, KEY("a"), 1, NULL, error));
    CHECK(dlock_rate_limiter_acquire_keyed(limiter, KEY("a"), 1, 5, NULL, &told, &error) == DLOCK_LIMITED);
    CHECK(!told.allowed && strstr(error.name, "/keys:a") != NULL);
    OK(dlock_rate_limiter_peek_keyed(limiter, KEY("b"), &told, error));
    OK(dlock_rate_limiter_peek(limiter, &told, error));
    /* What is no key: empty, braces, a NUL, no UTF-8, 10 kB. */
    static char long_key[10000];
    memset(long_key, 'k', sizeof long_key);
    const dlock_keyed_cost_t odd[] = {{KEY(""), 1},     {KEY("{"), 1},        {KEY("{}"), 1},
                                      {KEY("a\0b"), 1}, {KEY("\xff\xfe"), 1}, {long_key, sizeof long_key, 1}};
    for (size_t at = 0; at < sizeof odd / sizeof *odd; at++) {
        GIVES(DLOCK_INVALID_NAME, dlock_rate_limiter_peek_keyed(limiter, odd[at].key, odd[at].key_len, NULL, error));
        dlock_status_t status = DLOCK_OK;
        OK(dlock_rate_limiter_try_acquire_many(limiter, &odd[at], 1, &status, NULL, NULL, error));
        CHECK(status == DLOCK_INVALID_NAME);
    }
    OK(dlock_rate_limiter_try_acquire_keyed(limiter, KEY("a\nb"), 1, NULL, error));
    OK(dlock_rate_limiter_reset_keyed(limiter, KEY("a\nb"), error));
    dlock_port_t* port = NULL;
    dlock_completion_t got;
    OK(dlock_port_new(&port, error));
    OK(dlock_submit_rate_limit_keyed(port, limiter, KEY("b"), 1, 0, NULL, NULL, error));
    collect(port, &got, 1);
    CHECK(got.kind == DLOCK_COMPLETION_DECISION && got.status == DLOCK_OK);
    OK(dlock_submit_rate_limit_reset_keyed(port, limiter, KEY("a"), NULL, NULL, error));
    collect(port, &got, 1);
    CHECK(got.kind == DLOCK_COMPLETION_DONE);
    OK(dlock_rate_limiter_try_acquire_keyed(limiter, KEY("a"), 1, NULL, error));
    CHECK(dlock_port_free(port) == DLOCK_OK);
    CHECK(dlock_rate_limiter_free(limiter) == DLOCK_OK);
}

static void a_batch_answers_each_item_by_itself(void) {
    dlock_rate_limiter_t* limiter = open_limiter("batch", 3, 3600 * SECOND, NULL);
    OK(dlock_rate_limiter_reset_keyed(limiter, KEY("a"), error));
    const dlock_keyed_cost_t items[] = {{KEY("a"), 2}, {KEY("b"), 4}, {KEY("a"), 2}, {KEY("c"), -1}, {KEY("a"), 1}};
    dlock_status_t statuses[5];
    dlock_decision_t decisions[5] = {DLOCK_DECISION_INIT};
    static dlock_error_t errors[5] = {DLOCK_ERROR_INIT};
    OK(dlock_rate_limiter_try_acquire_many(limiter, items, 5, statuses, decisions, errors, error));
    CHECK(statuses[0] == DLOCK_OK && decisions[0].granted == 2 && errors[0].code == DLOCK_OK);
    CHECK(statuses[1] == DLOCK_LIMITED && decisions[1].retry_after_us == -1 &&
          strstr(errors[1].name, "/batch:b") != NULL);
    CHECK(statuses[2] == DLOCK_LIMITED && !decisions[2].allowed && decisions[2].remaining == 1);
    CHECK(errors[2].code == DLOCK_LIMITED && strstr(errors[2].name, "/batch:a") != NULL);
    CHECK(statuses[3] == DLOCK_INVALID_ARGUMENT && !decisions[3].allowed);
    CHECK(statuses[4] == DLOCK_OK && decisions[4].struct_size == sizeof decisions[4]);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_try_acquire_many(limiter, items, 0, statuses, NULL, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_try_acquire_many(limiter, NULL, 1, statuses, NULL, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_try_acquire_many(limiter, items, 5, NULL, NULL, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT,
          dlock_rate_limiter_try_acquire_many(limiter, items, SIZE_MAX, statuses, NULL, NULL, error));
    decisions[0].struct_size = 1;
    GIVES(DLOCK_INVALID_ARGUMENT,
          dlock_rate_limiter_try_acquire_many(limiter, items, 5, statuses, decisions, NULL, error));
    CHECK(dlock_rate_limiter_free(limiter) == DLOCK_OK);
}

static void a_wait_ends_when_the_tokens_are_there(void) {
    dlock_rate_limiter_t* limiter = open_limiter("l", 1, SECOND / 5, NULL);
    OK(dlock_rate_limiter_try_acquire(limiter, 1, NULL, error));
    int64_t begun = now_ms();
    dlock_decision_t told = DLOCK_DECISION_INIT;
    OK(dlock_rate_limiter_acquire(limiter, 1, -1, NULL, &told, error));
    /* One token comes in 200 ms, of which some had passed. */
    CHECK(told.granted == 1 && now_ms() - begun > 100 && now_ms() - begun < bound_ms(1000));
    CHECK(dlock_rate_limiter_free(limiter) == DLOCK_OK);
}

static void* fire(void* cancel) {
    OK(dlock_cancel_fire(cancel, error));
    return NULL;
}

static void a_wait_can_be_cancelled(void) {
    dlock_rate_limiter_t* limiter = open_limiter("l", 1, 3600 * SECOND, NULL);
    dlock_cancel_t* cancel = NULL;
    pthread_t other;
    OK(dlock_cancel_new(&cancel, error));
    OK(dlock_rate_limiter_try_acquire(limiter, 1, NULL, error));
    CHECK(pthread_create(&other, NULL, fire, cancel) == 0);
    GIVES(DLOCK_CANCELLED, dlock_rate_limiter_acquire(limiter, 1, -1, cancel, NULL, error));
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(dlock_cancel_free(cancel) == DLOCK_OK && dlock_rate_limiter_free(limiter) == DLOCK_OK);
}

static void decisions_come_through_a_port(void) {
    dlock_rate_limiter_t* limiter = open_limiter("l", 2, 3600 * SECOND, NULL);
    dlock_port_t* port = NULL;
    dlock_completion_t got;
    int mine = 0;
    OK(dlock_port_new(&port, error));
    OK(dlock_submit_rate_limit(port, limiter, 2, -1, &mine, NULL, error));
    collect(port, &got, 1);
    CHECK(got.kind == DLOCK_COMPLETION_DECISION && got.status == DLOCK_OK && got.user_data == &mine);
    CHECK(got.decision.granted == 2 && got.decision.remaining == 0 && got.decision.struct_size == sizeof got.decision);
    OK(dlock_submit_rate_limit(port, limiter, 1, 0, NULL, NULL, error));
    collect(port, &got, 1);
    CHECK(got.kind == DLOCK_COMPLETION_DECISION && got.status == DLOCK_LIMITED && !got.decision.allowed);
    CHECK(got.error.code == DLOCK_LIMITED && strlen(got.error.message) > 0 && got.error.retryable);
    CHECK(got.error.retry_after_us == got.decision.retry_after_us && got.error.retry_after_us > 1700 * SECOND);
    OK(dlock_submit_rate_limit(port, limiter, 3, 0, NULL, NULL, error));
    collect(port, &got, 1);
    CHECK(got.kind == DLOCK_COMPLETION_DECISION && got.decision.retry_after_us == -1 && !got.error.retryable);
    OK(dlock_submit_rate_limit_reset(port, limiter, NULL, NULL, error));
    collect(port, &got, 1);
    CHECK(got.kind == DLOCK_COMPLETION_DONE);
    OK(dlock_rate_limiter_peek(limiter, &got.decision, error));
    CHECK(got.decision.remaining == 2);
    OK(dlock_submit_rate_limit(port, limiter, 1, 0, NULL, NULL, error));
    CHECK(dlock_rate_limiter_free(limiter) == DLOCK_OK); /* the call under way keeps it */
    collect(port, &got, 1);
    CHECK(got.kind == DLOCK_COMPLETION_DECISION && got.decision.allowed);
    CHECK(dlock_port_free(port) == DLOCK_OK);
}

static void shares_that_cannot_be_are_refused(void) {
    const double shares[] = {-0.1, 1.1, 1e300, NAN};
    for (size_t at = 0; at < sizeof shares / sizeof *shares; at++) {
        dlock_rate_limiter_options_t options = DLOCK_RATE_LIMITER_OPTIONS_INIT;
        dlock_rate_limiter_t* limiter = NULL;
        dlock_error_t error = DLOCK_ERROR_INIT;
        options.prefetch = shares[at];
        CHECK(dlock_rate_limiter_open(client, "x", 1, 1, SECOND, &options, &limiter, &error) == DLOCK_INVALID_ARGUMENT);
        CHECK(strstr(error.message, "prefetch") != NULL);
    }
}

/* Two clients, one in the blocking and one in the asynchronous form. */
static void clients_that_fetch_ahead_use_the_rate_and_no_more(void) {
    dlock_rate_limiter_options_t options = DLOCK_RATE_LIMITER_OPTIONS_INIT;
    options.prefetch = 0.5;
    dlock_rate_limiter_t* ours = open_limiter("l", 2000, SECOND, &options);
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    OK(dlock_rate_limiter_name(ours, name, sizeof name, &length, error));
    dlock_client_t* other = open_client();
    dlock_rate_limiter_t* theirs = NULL;
    OK(dlock_rate_limiter_open(other, name, length, 2000, SECOND, &options, &theirs, error));
    dlock_port_t* port = NULL;
    OK(dlock_port_new(&port, error));
    int64_t asked = 0, granted = 0, first = INT64_MAX, last = 0, begun = now_ms();
    while (now_ms() - begun < 1000) {
        dlock_decision_t told = DLOCK_DECISION_INIT;
        dlock_error_t error = DLOCK_ERROR_INIT;
        dlock_status_t status = dlock_rate_limiter_try_acquire(ours, 1, &told, &error);
        CHECK(status == DLOCK_OK || (status == DLOCK_LIMITED && strstr(error.name, name) != NULL));
        dlock_completion_t got;
        OK(dlock_submit_rate_limit(port, theirs, 1, 0, NULL, NULL, error));
        collect(port, &got, 1);
        CHECK(got.kind == DLOCK_COMPLETION_DECISION);
        dlock_decision_t both[] = {told, got.decision};
        asked += 2;
        for (int at = 0; at < 2; at++) {
            if (!both[at].allowed) continue;
            granted++;
            if (both[at].server_time_us < first) first = both[at].server_time_us;
            if (both[at].server_time_us > last) last = both[at].server_time_us;
        }
    }
    /* A slow machine may ask for less than there is. */
    CHECK(granted >= (asked < 2000 ? asked : 2000) / 2 && granted <= 2001 + 2000 * (last - first) / SECOND);
    dlock_decision_t told = DLOCK_DECISION_INIT;
    dlock_error_t error = DLOCK_ERROR_INIT;
    CHECK(dlock_rate_limiter_try_acquire(ours, 2001, &told, &error) == DLOCK_LIMITED && told.retry_after_us == -1);
    OK(dlock_client_close(other, false, error));
    CHECK(dlock_rate_limiter_try_acquire(theirs, 1, &told, &error) == DLOCK_CLOSED);
    CHECK(dlock_port_free(port) == DLOCK_OK && dlock_client_free(other) == DLOCK_OK);
    CHECK(dlock_rate_limiter_free(theirs) == DLOCK_OK && dlock_rate_limiter_free(ours) == DLOCK_OK);
    CHECK(dlock_rate_limiter_try_acquire(ours, 1, &told, &error) == DLOCK_CLOSED);
}

static const dlock_algorithm_t ALGORITHMS[] = {DLOCK_ALGORITHM_GCRA,
                                               DLOCK_ALGORITHM_FIXED_WINDOW,
                                               DLOCK_ALGORITHM_ALIGNED_WINDOW,
                                               DLOCK_ALGORITHM_SLIDING_LOG,
                                               DLOCK_ALGORITHM_SLIDING_COUNTER,
                                               DLOCK_ALGORITHM_REDISSON,
                                               DLOCK_ALGORITHM_REDISSON_PER_CLIENT};

static void each_algorithm_counts(void) {
    dlock_rate_limiter_options_t options = DLOCK_RATE_LIMITER_OPTIONS_INIT;
    for (size_t at = 0; at < sizeof ALGORITHMS / sizeof *ALGORITHMS; at++) {
        char what[32];
        snprintf(what, sizeof what, "algorithm%zu", at);
        options.algorithm = ALGORITHMS[at];
        /* In an hour of a window of 50 years, none ends. */
        dlock_rate_limiter_t* limiter = open_limiter(what, 2, SECOND * 3600 * 24 * 365 * 50, &options);
        dlock_decision_t told = DLOCK_DECISION_INIT;
        OK(dlock_rate_limiter_try_acquire(limiter, 2, &told, error));
        CHECK(told.refused_by == -1);
        GIVES(DLOCK_LIMITED, dlock_rate_limiter_try_acquire(limiter, 1, &told, error));
        CHECK(told.limit == 2 && told.remaining == 0 && told.refused_by == 0);
        CHECK(dlock_rate_limiter_free(limiter) == DLOCK_OK);
    }
}

static void several_rates_grant_what_each_of_them_does(void) {
    const dlock_rate_t more[] = {{3, 3600 * SECOND, 0, DLOCK_ALGORITHM_SLIDING_LOG}};
    dlock_rate_limiter_options_t options = DLOCK_RATE_LIMITER_OPTIONS_INIT;
    options.more_rates = more;
    options.more_rates_count = 1;
    dlock_rate_limiter_t* limiter = open_limiter("l", 2, 60 * SECOND, &options);
    dlock_decision_t told = DLOCK_DECISION_INIT;
    OK(dlock_rate_limiter_try_acquire(limiter, 2, &told, error));
    GIVES(DLOCK_LIMITED, dlock_rate_limiter_try_acquire(limiter, 1, &told, error));
    CHECK(told.refused_by == 0);
    OK(dlock_rate_limiter_reserve(limiter, 1, -1, NULL, error));
    GIVES(DLOCK_LIMITED, dlock_rate_limiter_try_acquire(limiter, 1, &told, error));
    CHECK(told.refused_by == 1 && told.retry_after_us > 3000 * SECOND);
    CHECK(dlock_rate_limiter_free(limiter) == DLOCK_OK);
}

static void rates_that_cannot_be_are_refused(void) {
    const dlock_rate_t no_algorithm[] = {{3, 3600 * SECOND, 0, 7}};
    const dlock_rate_t pointless[] = {{3, SECOND, 0, DLOCK_ALGORITHM_GCRA}};
    const dlock_rate_t burst[] = {{3, 3600 * SECOND, -1, DLOCK_ALGORITHM_GCRA}};
    const dlock_rate_t* wrong[] = {no_algorithm, pointless, burst, NULL};
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        dlock_rate_limiter_options_t options = DLOCK_RATE_LIMITER_OPTIONS_INIT;
        options.more_rates = wrong[at];
        options.more_rates_count = 1;
        dlock_rate_limiter_t* limiter = NULL;
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_open(client, "x", 1, 2, SECOND, &options, &limiter, error));
        options.more_rates_count = SIZE_MAX;
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_open(client, "x", 1, 2, SECOND, &options, &limiter, error));
        options.more_rates_count = 0;
        options.algorithm = -1;
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_open(client, "x", 1, 2, SECOND, &options, &limiter, error));
        CHECK(limiter == NULL);
    }
}

static void a_limiter_and_its_keys_are_adjusted(void) {
    dlock_rate_limiter_t* limiter = open_limiter("l", 2, 3600 * SECOND, NULL);
    dlock_decision_t told = DLOCK_DECISION_INIT;
    OK(dlock_rate_limiter_penalty(limiter, 2, error));
    GIVES(DLOCK_LIMITED, dlock_rate_limiter_peek(limiter, &told, error));
    OK(dlock_rate_limiter_reward(limiter, 1, error));
    OK(dlock_rate_limiter_reserve(limiter, 1, 0, &told, error));
    CHECK(told.granted == 1 && told.usable_after_us == 0);
    GIVES(DLOCK_LIMITED, dlock_rate_limiter_reserve(limiter, 1, 1000, &told, error));
    OK(dlock_rate_limiter_reserve(limiter, 1, -1, &told, error));
    CHECK(told.usable_after_us > 1700 * SECOND);
    OK(dlock_rate_limiter_reset(limiter, error));
    OK(dlock_rate_limiter_block(limiter, 60000, error));
    GIVES(DLOCK_LIMITED, dlock_rate_limiter_try_acquire(limiter, 1, &told, error));
    CHECK(told.refused_by == -1 && told.retry_after_us > 50 * SECOND);
    CHECK(told.remaining == 0 && told.reset_after_us == told.retry_after_us);
    OK(dlock_rate_limiter_block(limiter, 0, error));
    OK(dlock_rate_limiter_try_acquire(limiter, 1, &told, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_penalty(limiter, 3, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_reward(limiter, 0, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_rate_limiter_block(limiter, -1, error));
    OK(dlock_rate_limiter_reset_keyed(limiter, KEY("a"), error));
    OK(dlock_rate_limiter_penalty_keyed(limiter, KEY("a"), 2, error));
    OK(dlock_rate_limiter_reward_keyed(limiter, KEY("a"), 1, error));
    OK(dlock_rate_limiter_reserve_keyed(limiter, KEY("a"), 1, 0, NULL, error));
    GIVES(DLOCK_LIMITED, dlock_rate_limiter_peek_keyed(limiter, KEY("a"), NULL, error));
    OK(dlock_rate_limiter_reset_keyed(limiter, KEY("a"), error));
    OK(dlock_rate_limiter_block_keyed(limiter, KEY("a"), 60000, error));
    GIVES(DLOCK_LIMITED, dlock_rate_limiter_peek_keyed(limiter, KEY("a"), NULL, error));
    CHECK(dlock_rate_limiter_free(limiter) == DLOCK_OK);
}

static void adjustments_go_through_a_port(void) {
    dlock_rate_limiter_t* limiter = open_limiter("l", 2, 3600 * SECOND, NULL);
    OK(dlock_rate_limiter_reset_keyed(limiter, KEY("a"), error));
    dlock_port_t* port = NULL;
    dlock_completion_t got;
    OK(dlock_port_new(&port, error));
#define DONE(submitted)                                                                                                \
    OK(submitted);                                                                                                     \
    collect(port, &got, 1);                                                                                            \
    CHECK(got.kind == DLOCK_COMPLETION_DONE)
    DONE(dlock_submit_rate_limit_penalty(port, limiter, 2, NULL, NULL, error));
    DONE(dlock_submit_rate_limit_reward(port, limiter, 1, NULL, NULL, error));
    DONE(dlock_submit_rate_limit_penalty_keyed(port, limiter, KEY("a"), 2, NULL, NULL, error));
    DONE(dlock_submit_rate_limit_reward_keyed(port, limiter, KEY("a"), 1, NULL, NULL, error));
    OK(dlock_submit_rate_limit_reserve(port, limiter, 2, -1, NULL, NULL, error));
    collect(port, &got, 1);
    CHECK(got.kind == DLOCK_COMPLETION_DECISION && got.decision.usable_after_us > 1700 * SECOND);
    OK(dlock_submit_rate_limit_reserve_keyed(port, limiter, KEY("a"), 2, 0, NULL, NULL, error));
    collect(port, &got, 1);
    CHECK(got.kind == DLOCK_COMPLETION_DECISION && got.status == DLOCK_LIMITED);
    DONE(dlock_submit_rate_limit_block(port, limiter, 60000, NULL, NULL, error));
    DONE(dlock_submit_rate_limit_block_keyed(port, limiter, KEY("a"), 60000, NULL, NULL, error));
    GIVES(DLOCK_LIMITED, dlock_rate_limiter_peek_keyed(limiter, KEY("a"), &got.decision, error));
    CHECK(got.decision.refused_by == -1);
    CHECK(dlock_port_free(port) == DLOCK_OK);
    CHECK(dlock_rate_limiter_free(limiter) == DLOCK_OK);
}

int main(void) {
    client = open_client();
    RUN(names_and_policies_that_cannot_be_are_refused);
    RUN(a_refusal_is_a_status_of_its_own_with_the_decision);
    RUN(no_retry_helps_against_a_rate_of_nothing);
    RUN(keys_have_buckets_of_their_own);
    RUN(a_batch_answers_each_item_by_itself);
    RUN(a_wait_ends_when_the_tokens_are_there);
    RUN(a_wait_can_be_cancelled);
    RUN(decisions_come_through_a_port);
    RUN(shares_that_cannot_be_are_refused);
    RUN(clients_that_fetch_ahead_use_the_rate_and_no_more);
    RUN(each_algorithm_counts);
    RUN(several_rates_grant_what_each_of_them_does);
    RUN(rates_that_cannot_be_are_refused);
    RUN(a_limiter_and_its_keys_are_adjusted);
    RUN(adjustments_go_through_a_port);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_client_free(client) == DLOCK_OK);
    return 0;
}
