/* A job for later, one that fails and comes again, and a dead one. */
#include <dlock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dlock_error_t error = DLOCK_ERROR_INIT;

static void check(dlock_status_t status) {
    if (status == DLOCK_OK) return;
    fprintf(stderr, "%s %s: %s\n", error.op, error.name, error.message);
    exit(1);
}

static dlock_held_t* take(const dlock_queue_t* queue) {
    dlock_held_t* held = NULL;
    check(dlock_queue_take(queue, -1, NULL, &held, &error));
    return held;
}

/* Says what was taken, and puts it back. */
static void fail(dlock_held_t* held, int64_t delay_ms, const char* reason) {
    dlock_delivery_t job = DLOCK_DELIVERY_INIT;
    check(dlock_delivery_job(held, &job, &error));
    printf("%.*s, attempt %" PRId64 "\n", (int)job.payload_len, (const char*)job.payload, job.attempt);
    check(dlock_delivery_nack(held, delay_ms, reason, strlen(reason), &error));
    dlock_held_free(held);
}

int main(void) {
    const char *url = getenv("REDIS_URL"), *name = "example-queue";
    dlock_client_t* client = NULL;
    if (url == NULL) url = "redis://127.0.0.1:6379";
    check(dlock_client_open(url, strlen(url), NULL, &client, &error));
    dlock_queue_options_t options = DLOCK_QUEUE_OPTIONS_INIT;
    options.max_attempts = 2;
    dlock_queue_t* mails = NULL;
    check(dlock_queue_open(client, name, strlen(name), &options, &mails, &error));

    dlock_job_t job = DLOCK_JOB_INIT;
    job.payload = "to: ada", job.payload_len = 7;
    job.id = "ada-1", job.id_len = 5;
    job.delay_ms = 100;
    dlock_put_t put = DLOCK_PUT_INIT;
    check(dlock_queue_put(mails, &job, &put, &error));
    check(dlock_queue_put(mails, &job, &put, &error));
    printf("put a second time: %s\n", put.is_new ? "true" : "false");
    dlock_held_t* none = NULL;
    dlock_status_t at_once = dlock_queue_take(mails, 0, NULL, &none, &error);
    printf("due at once: %s\n", at_once == DLOCK_BUSY ? "false" : "true");

    fail(take(mails), 50, "no route");
    fail(take(mails), -1, "still no route");

    dlock_jobs_t* jobs = NULL;
    dlock_listed_job_t dead = DLOCK_LISTED_JOB_INIT;
    check(dlock_queue_dead(mails, 1, &jobs, &error));
    check(dlock_jobs_get(jobs, 0, &dead, &error));
    printf("dead after %" PRIu64 " attempts: %s\n", dead.attempts, dead.reason);
    dlock_jobs_free(jobs);

    check(dlock_queue_requeue_dead(mails, "ada-1", 5, NULL, &error));
    dlock_held_t* held = take(mails);
    check(dlock_delivery_ack(held, &error));
    dlock_held_free(held);
    dlock_queue_counts_t counts = DLOCK_QUEUE_COUNTS_INIT;
    check(dlock_queue_counts(mails, &counts, &error));
    printf("left: %" PRIu64 "\n", counts.ready);

    dlock_queue_free(mails);
    dlock_client_free(client);
    return 0;
}
