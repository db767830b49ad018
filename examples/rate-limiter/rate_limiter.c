/* Three requests a minute for everybody: the fourth is told when to come back. */
#include <dlock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dlock_error_t error = DLOCK_ERROR_INIT;

static void check(dlock_status_t status) {
    if (status >= DLOCK_OK) return;
    fprintf(stderr, "%s %s: %s\n", error.op, error.name, error.message);
    exit(1);
}

int main(void) {
    const char* url = getenv("REDIS_URL");
    const char* name = "example-api";
    dlock_client_t* client = NULL;
    dlock_rate_limiter_t* api = NULL;
    dlock_decision_t decision = DLOCK_DECISION_INIT;
    if (url == NULL) url = "redis://127.0.0.1:6379";

    check(dlock_client_open(url, strlen(url), NULL, &client, &error));
    check(dlock_rate_limiter_open(client, name, strlen(name), 3, 60 * INT64_C(1000000), NULL, &api, &error));
    check(dlock_rate_limiter_reset(api, &error)); /* earlier runs have spent tokens */

    for (int request = 1; request <= 4; request++) {
        dlock_status_t status = dlock_rate_limiter_try_acquire(api, 1, &decision, &error);
        check(status);
        if (status == DLOCK_OK) {
            printf("request %d is allowed, %" PRId64 " left\n", request, decision.remaining);
        } else if (decision.retry_after_us >= 0 && decision.retry_after_us <= 20 * INT64_C(1000000)) {
            printf("request %d is refused, and may come back within 20 s\n", request);
        }
    }
    dlock_rate_limiter_free(api);
    dlock_client_free(client);
    return 0;
}
