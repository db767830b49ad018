/* The same around libuv: `uv_poll_t` tells when the completion port has something.
 *
 *     cc -std=c11 libuv.c -o libuv $(pkg-config --cflags --libs dlock libuv) && REDIS_URL=redis://127.0.0.1:6379
 * ./libuv
 */
#define _POSIX_C_SOURCE 200809L
#include <dlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { JOBS = 3, TICK_MS = 10 };

struct job {
    int number;
    dlock_held_t* held;
};

static dlock_port_t* port;
static dlock_client_t* client;
static dlock_lock_t* orders;
static struct job jobs[JOBS];
static int done;
static uv_poll_t wakes;
static uv_timer_t timer;
static unsigned long long ticks;

static void check(dlock_status_t status, const dlock_error_t* error) {
    if (status == DLOCK_OK) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

static void completed(const dlock_completion_t* completion) {
    dlock_error_t error = DLOCK_ERROR_INIT;
    struct job* job = completion->user_data;
    check(completion->status, &completion->error);
    switch (completion->kind) {
    case DLOCK_COMPLETION_CLIENT:
        client = completion->client;
        check(dlock_lock_open(client, "orders", strlen("orders"), NULL, &orders, &error), &error);
        for (int i = 0; i < JOBS; i++) {
            jobs[i].number = i;
            check(dlock_submit_acquire(port, orders, NULL, &jobs[i], NULL, &error), &error);
        }
        break;
    case DLOCK_COMPLETION_HELD:
        job->held = completion->held;
        printf("job %d works under token %llu\n", job->number, (unsigned long long)completion->token);
        check(dlock_submit_release(port, job->held, job, NULL, &error), &error);
        break;
    default:
        dlock_held_free(job->held);
        if (++done == JOBS) {
            /* Nothing is left for the loop: uv_run returns. */
            uv_poll_stop(&wakes);
            uv_timer_stop(&timer);
        }
    }
}

static void on_wake(uv_poll_t* handle, int status, int events) {
    (void)handle, (void)status, (void)events;
    dlock_completion_t completions[8];
    size_t count;
    do {
        dlock_port_drain(port, completions, sizeof completions[0], 8, &count, NULL);
        for (size_t at = 0; at < count; at++) completed(&completions[at]);
    } while (count == 8);
}

static void on_tick(uv_timer_t* handle) {
    (void)handle;
    ticks++;
}

int main(void) {
    const char* url = getenv("REDIS_URL") ? getenv("REDIS_URL") : "memory://";
    uv_loop_t* loop = uv_default_loop();
    dlock_error_t error = DLOCK_ERROR_INIT;
    int fd = -1;
    check(dlock_port_new(&port, &error), &error);
    check(dlock_port_fd(port, &fd, &error), &error);
    if (uv_poll_init(loop, &wakes, fd) != 0 || uv_poll_start(&wakes, UV_READABLE, on_wake) != 0 ||
        uv_timer_init(loop, &timer) != 0 || uv_timer_start(&timer, on_tick, TICK_MS, TICK_MS) != 0) {
        fprintf(stderr, "libuv refuses the descriptor of the port\n");
        return 1;
    }
    check(dlock_submit_client_open(port, url, strlen(url), NULL, NULL, NULL, &error), &error);
    uv_run(loop, UV_RUN_DEFAULT);
    printf("done after %llu ticks\n", ticks);

    uv_close((uv_handle_t*)&wakes, NULL);
    uv_close((uv_handle_t*)&timer, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    /* After the loop has let go of its descriptor. */
    dlock_lock_free(orders);
    dlock_client_free(client);
    dlock_port_free(port);
    return 0;
}
