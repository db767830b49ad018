/* A program around epoll that takes locks and never blocks: a timer ticks while three jobs take turns.
 *
 *     cc -std=c11 epoll.c -o epoll $(pkg-config --cflags --libs dlock) && REDIS_URL=redis://127.0.0.1:6379 ./epoll
 */
#define _GNU_SOURCE
#include <dlock.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

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

static void check(dlock_status_t status, const dlock_error_t* error) {
    if (status == DLOCK_OK) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

/* Each operation comes back with what it was given, here the job that it is of. */
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
        done++;
    }
}

int main(void) {
    const char* url = getenv("REDIS_URL") ? getenv("REDIS_URL") : "memory://";
    dlock_error_t error = DLOCK_ERROR_INIT;
    int wakes = -1;
    check(dlock_port_new(&port, &error), &error);
    check(dlock_port_fd(port, &wakes, &error), &error);
    check(dlock_submit_client_open(port, url, strlen(url), NULL, NULL, NULL, &error), &error);

    int loop = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct itimerspec every = {{0, TICK_MS * 1000000L}, {0, TICK_MS * 1000000L}};
    struct epoll_event of_port = {.events = EPOLLIN, .data.fd = wakes},
                       of_timer = {.events = EPOLLIN, .data.fd = timer};
    if (loop < 0 || timer < 0 || timerfd_settime(timer, 0, &every, NULL) != 0 ||
        epoll_ctl(loop, EPOLL_CTL_ADD, wakes, &of_port) != 0 || epoll_ctl(loop, EPOLL_CTL_ADD, timer, &of_timer) != 0) {
        perror("epoll");
        return 1;
    }
    unsigned long long ticks = 0;
    while (done < JOBS) {
        struct epoll_event events[8];
        int ready = epoll_wait(loop, events, 8, -1);
        for (int i = 0; i < ready; i++) {
            uint64_t times;
            if (events[i].data.fd == timer) {
                if (read(timer, &times, sizeof times) == sizeof times) ticks += times;
                continue;
            }
            dlock_completion_t completions[8];
            size_t count;
            do {
                dlock_port_drain(port, completions, sizeof completions[0], 8, &count, NULL);
                for (size_t at = 0; at < count; at++) completed(&completions[at]);
            } while (count == 8);
        }
    }
    printf("done after %llu ticks\n", ticks);
    close(timer);
    close(loop);
    dlock_lock_free(orders);
    dlock_client_free(client);
    dlock_port_free(port);
    return 0;
}
