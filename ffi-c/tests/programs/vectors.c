/* Names, leases and waits that are out of range, and the vectors that every language checks (vectors.h is made of
 * tests/vectors by run.py). */
#include "vectors.h"
#include "check.h"

static dlock_client_t* client;

static void errors_have_the_frozen_numbers(void) {
    for (size_t i = 0; i < sizeof vector_errors / sizeof *vector_errors; i++)
        CHECK(strcmp(dlock_status_name(vector_errors[i].code), vector_errors[i].name) == 0);
    CHECK(strcmp(dlock_status_name(-1000), "UNKNOWN") == 0);
}

static void names_are_accepted_or_refused_as_in_every_language(void) {
    for (size_t i = 0; i < sizeof vector_names / sizeof *vector_names; i++) {
        dlock_lock_t* lock = NULL;
        dlock_error_t error = DLOCK_ERROR_INIT;
        dlock_status_t status =
            dlock_lock_open(client, vector_names[i].bytes, vector_names[i].length, NULL, &lock, &error);
        if (status != (vector_names[i].ok ? DLOCK_OK : DLOCK_INVALID_NAME))
            check_failed(__FILE__, __LINE__, vector_names[i].why, &error);
        if (!vector_names[i].ok) continue;
        char name[DLOCK_NAME_SIZE];
        size_t length = 0;
        OK(dlock_lock_name(lock, name, sizeof name, &length, error));
        CHECK(length == vector_names[i].length && memcmp(name, vector_names[i].bytes, length) == 0);
        OK(dlock_lock_acquire(lock, NULL, NULL, error));
        OK(dlock_lock_release(lock, error));
        CHECK(dlock_lock_free(lock) == DLOCK_OK);
    }
}

static void statistics_have_the_names_of_every_language(void) {
    dlock_stats_t own = DLOCK_STATS_INIT;
    dlock_lock_stats_t lock = DLOCK_LOCK_STATS_INIT;
    dlock_limiter_stats_t limiter = DLOCK_LIMITER_STATS_INIT;
    dlock_semaphore_stats_t semaphore = DLOCK_SEMAPHORE_STATS_INIT;
    dlock_rw_lock_stats_t rw_lock = DLOCK_RW_LOCK_STATS_INIT;
    dlock_counting_semaphore_stats_t counting = DLOCK_COUNTING_SEMAPHORE_STATS_INIT;
    dlock_latch_stats_t latch = DLOCK_LATCH_STATS_INIT;
    dlock_worker_stats_t worker = DLOCK_WORKER_STATS_INIT;
    dlock_queue_stats_t queue = DLOCK_QUEUE_STATS_INIT;
    OK(dlock_client_stats(client, &own, error));
    OK(dlock_client_lock_stats(client, &lock, error));
    OK(dlock_client_limiter_stats(client, &limiter, error));
    OK(dlock_client_semaphore_stats(client, &semaphore, error));
    OK(dlock_client_rw_lock_stats(client, &rw_lock, error));
    OK(dlock_client_counting_semaphore_stats(client, &counting, error));
    OK(dlock_client_latch_stats(client, &latch, error));
    OK(dlock_client_worker_stats(client, &worker, error));
    OK(dlock_client_queue_stats(client, &queue, error));
#define OWN(name) size += sizeof own.name;
#define OF_LOCK(name) size += sizeof lock.name;
#define OF_LIMITER(name) size += sizeof limiter.name;
#define OF_SEMAPHORE(name) size += sizeof semaphore.name;
#define OF_RW_LOCK(name) size += sizeof rw_lock.name;
#define OF_COUNTING(name) size += sizeof counting.name;
#define OF_LATCH(name) size += sizeof latch.name;
#define OF_WORKER(name) size += sizeof worker.name;
#define OF_QUEUE(name) size += sizeof queue.name;
    size_t size = sizeof own.struct_size;
    VECTOR_COUNTERS(OWN)
    CHECK(size == sizeof own); /* and no others */
    size = sizeof lock.struct_size;
    VECTOR_LOCK_COUNTERS(OF_LOCK)
    VECTOR_LOCK_HISTOGRAMS(OF_LOCK)
    CHECK(size == sizeof lock);
    size = sizeof limiter.struct_size;
    VECTOR_LIMITER_COUNTERS(OF_LIMITER)
    VECTOR_LIMITER_HISTOGRAMS(OF_LIMITER)
    CHECK(size == sizeof limiter);
    size = sizeof semaphore.struct_size;
    VECTOR_SEMAPHORE_COUNTERS(OF_SEMAPHORE)
    VECTOR_SEMAPHORE_HISTOGRAMS(OF_SEMAPHORE)
    CHECK(size == sizeof semaphore);
    size = sizeof rw_lock.struct_size;
    VECTOR_RW_LOCK_COUNTERS(OF_RW_LOCK)
    VECTOR_RW_LOCK_HISTOGRAMS(OF_RW_LOCK)
    CHECK(size == sizeof rw_lock);
    size = sizeof counting.struct_size;
    VECTOR_COUNTING_SEMAPHORE_COUNTERS(OF_COUNTING)
    VECTOR_COUNTING_SEMAPHORE_HISTOGRAMS(OF_COUNTING)
    CHECK(size == sizeof counting);
    size = sizeof latch.struct_size;
    VECTOR_LATCH_COUNTERS(OF_LATCH)
    VECTOR_LATCH_HISTOGRAMS(OF_LATCH)
    CHECK(size == sizeof latch);
    size = sizeof worker.struct_size;
    VECTOR_WORKER_COUNTERS(OF_WORKER)
    VECTOR_WORKER_HISTOGRAMS(OF_WORKER)
    CHECK(size == sizeof worker);
    size = sizeof queue.struct_size;
    VECTOR_QUEUE_COUNTERS(OF_QUEUE)
    VECTOR_QUEUE_HISTOGRAMS(OF_QUEUE)
    CHECK(size == sizeof queue);
#define count_us count
#define buckets_us buckets
#define PART(name) in_all += sizeof lock.wait_time.name##_us;
    size_t in_all = 0;
    VECTOR_HISTOGRAM(PART)
    CHECK(in_all == sizeof lock.wait_time);
    CHECK(DLOCK_HISTOGRAM_BUCKETS == VECTOR_BUCKETS);
}

static dlock_status_t open_with(const char* name, const char* value) {
    dlock_option_t option = {name, strlen(name), value, strlen(value)};
    dlock_client_options_t options = DLOCK_CLIENT_OPTIONS_INIT;
    options.options = &option, options.options_len = 1;
    dlock_client_t* opened = NULL;
    dlock_status_t status = dlock_client_open("memory://", 9, &options, &opened, NULL);
    if (status == DLOCK_OK) dlock_client_close(opened, false, NULL);
    dlock_client_free(opened);
    return status;
}

static void options_are_known_by_their_names(void) {
    for (size_t i = 0; i < sizeof vector_options / sizeof *vector_options; i++) {
        const char* value = vector_options[i].value;
        if (value != NULL && open_with(vector_options[i].name, value) != DLOCK_OK)
            check_failed(__FILE__, __LINE__, vector_options[i].name, NULL);
    }
    CHECK(open_with("no_such_option", "1") == DLOCK_INVALID_ARGUMENT);
    CHECK(open_with("semaphore.cohort_max", "1") == DLOCK_INVALID_ARGUMENT);
    CHECK(open_with("lock.cohort_max", "0") == DLOCK_INVALID_ARGUMENT);
    CHECK(open_with("lease", "soon") == DLOCK_INVALID_ARGUMENT);
    CHECK(open_with("lease", "99ms") == DLOCK_INVALID_ARGUMENT);
}

static void leases_and_waits_out_of_range_are_refused_and_leave_no_key(void) {
    dlock_lock_t* lock = open_lock(client, NULL);
    int64_t leases[] = {-1, 1, 99, 86400001, (int64_t)1 << 53, INT64_MAX, INT64_MIN};
    int64_t waits[] = {-2, INT64_MIN};
    int64_t long_waits[] = {86400001, (int64_t)1 << 53, INT64_MAX};
    for (size_t i = 0; i < sizeof leases / sizeof *leases; i++) {
        dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
        options.lease_ms = leases[i];
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_acquire(lock, &options, NULL, error));
        dlock_lock_options_t with_lease = DLOCK_LOCK_OPTIONS_INIT;
        with_lease.lease_ms = leases[i];
        dlock_lock_t* opened = NULL;
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_open(client, "x", 1, &with_lease, &opened, error));
    }
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
        options.wait_ms = waits[i];
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_acquire(lock, &options, NULL, error));
    }
    for (size_t i = 0; i < sizeof long_waits / sizeof *long_waits; i++) {
        dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
        options.wait_ms = long_waits[i];
        OK(dlock_lock_acquire(lock, &options, NULL, error));
        OK(dlock_lock_release(lock, error));
    }
    dlock_lock_options_t odd = DLOCK_LOCK_OPTIONS_INIT;
    odd.reentrant = 2;
    dlock_lock_t* opened = NULL;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_open(client, "x", 1, &odd, &opened, error));
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_extend(lock, 0, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_extend(lock, -1, error));
    OK(dlock_lock_release(lock, error));
    dlock_inspection_t seen = DLOCK_INSPECTION_INIT;
    OK(dlock_lock_inspect(lock, &seen, error));
    CHECK(!seen.held);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
}

static void options_of_a_lock_have_the_bounds_of_the_vectors(void) {
    for (size_t i = 0; i < sizeof vector_lock_options / sizeof *vector_lock_options; i++) {
        int64_t min = vector_lock_options[i].min, max = vector_lock_options[i].max;
        int64_t given[] = {min - 1, min, max, max + 1};
        for (size_t at = 0; at < 4; at++) {
            dlock_lock_options_t options = DLOCK_LOCK_OPTIONS_INIT;
            if (strcmp(vector_lock_options[i].name, "lease") == 0) {
                options.lease_ms = given[at];
            } else {
                CHECK(strcmp(vector_lock_options[i].name, "watchdog_lease") == 0);
                options.watchdog_lease_ms = given[at];
            }
            dlock_lock_t* opened = NULL;
            if (at == 1 || at == 2) {
                OK(dlock_lock_open(client, "x", 1, &options, &opened, error));
                CHECK(dlock_lock_free(opened) == DLOCK_OK);
            } else {
                dlock_error_t error = DLOCK_ERROR_INIT;
                CHECK(dlock_lock_open(client, "x", 1, &options, &opened, &error) == DLOCK_INVALID_ARGUMENT);
                CHECK(strncmp(error.allowed, "100 ms to 24 h", 14) == 0 && !error.retryable);
                CHECK(error.remaining_ms == -1 && error.retry_after_us == -1);
            }
        }
    }
    dlock_lock_options_t both = DLOCK_LOCK_OPTIONS_INIT;
    both.lease_ms = both.watchdog_lease_ms = 5000;
    dlock_lock_t* opened = NULL;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_open(client, "x", 1, &both, &opened, error));
}

static void a_bad_url_is_refused_without_its_password(void) {
    for (size_t i = 0; i < sizeof vector_bad_urls / sizeof *vector_bad_urls; i++) {
        dlock_error_t error = DLOCK_ERROR_INIT;
        dlock_client_t* opened = NULL;
        const char* url = vector_bad_urls[i].url;
        dlock_status_t status = dlock_client_open(url, strlen(url), NULL, &opened, &error);
        CHECK(strcmp(dlock_status_name(status), vector_bad_urls[i].kind) == 0);
        CHECK(strstr(error.message, vector_bad_urls[i].says) != NULL && strstr(error.message, "cret") == NULL);
    }
}

static void a_refused_connection_names_host_and_port_and_not_the_password(void) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    dlock_client_t* opened = NULL;
    const char* url = "redis://:hunter2@127.0.0.1:1/0"; /* nobody listens on port 1 */
    int64_t begun = now_ms();
    CHECK(dlock_client_open(url, strlen(url), NULL, &opened, &error) == DLOCK_CONNECTION);
    CHECK(now_ms() - begun < bound_ms(5000 + 500)); /* connect_timeout */
    CHECK(strstr(error.message, "127.0.0.1:1") != NULL && strstr(error.message, "hunter2") == NULL);
    CHECK(error.retryable && error.retry_after_us == -1);
}

static void no_retry_mends_a_wrong_password(void) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    dlock_client_t* opened = NULL;
    char url[512];
    (void)snprintf(url, sizeof url, "%s%cuser=nobody&password=hunter2", server_url(), separator());
    CHECK(dlock_client_open(url, strlen(url), NULL, &opened, &error) == DLOCK_CONNECTION);
    CHECK(strstr(error.message, "password") != NULL && strstr(error.message, "hunter2") == NULL);
    CHECK(!error.retryable);
}

int main(void) {
    client = open_client();
    RUN(errors_have_the_frozen_numbers);
    RUN(names_are_accepted_or_refused_as_in_every_language);
    RUN(options_are_known_by_their_names);
    RUN(options_of_a_lock_have_the_bounds_of_the_vectors);
    RUN(statistics_have_the_names_of_every_language);
    RUN(leases_and_waits_out_of_range_are_refused_and_leave_no_key);
    RUN(a_bad_url_is_refused_without_its_password);
    RUN(a_refused_connection_names_host_and_port_and_not_the_password);
    RUN(no_retry_mends_a_wrong_password);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_client_free(client) == DLOCK_OK);
    return 0;
}
