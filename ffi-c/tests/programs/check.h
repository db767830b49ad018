/* What the test programs share: cases that print a line each, checks that end the program, a client on the test's
 * server. */
#ifndef CHECK_H
#define CHECK_H

#include <dlock.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) check_failed(__FILE__, __LINE__, #what, NULL);                                                    \
    } while (0)

/* The call, with an error at its end, gives this status. */
#define GIVES(status, call)                                                                                            \
    do {                                                                                                               \
        dlock_error_t error_ = DLOCK_ERROR_INIT;                                                                       \
        dlock_error_t* error = &error_;                                                                                \
        dlock_status_t got_ = (call);                                                                                  \
        if (got_ != (status)) check_failed(__FILE__, __LINE__, #call, &error_);                                        \
        CHECK(got_ == DLOCK_OK || error_.code == got_);                                                                \
    } while (0)

#define OK(call) GIVES(DLOCK_OK, call)

#define RUN(name)                                                                                                      \
    do {                                                                                                               \
        check_case = #name;                                                                                            \
        name();                                                                                                        \
        printf("ok %s\n", #name);                                                                                      \
        fflush(stdout);                                                                                                \
    } while (0)

static const char* check_case = "";

static inline void check_failed(const char* file, int line, const char* what, const dlock_error_t* error) {
    printf("not ok %s: %s:%d: %s", check_case, file, line, what);
    if (error != NULL && error->code != DLOCK_OK)
        printf(" gave %s: %s %s: %s", dlock_status_name(error->code), error->op, error->name, error->message);
    printf("\n");
    fflush(stdout);
    _Exit(1);
}

/* Where the test's server is. */
static inline const char* server_url(void) {
    const char* url = getenv("REDIS_URL");
    CHECK(url != NULL);
    return url;
}

/* Between that URL and an option: it has some already where the program is slowed down. */
static inline char separator(void) { return strchr(server_url(), '?') != NULL ? '&' : '?'; }

static inline dlock_client_t* open_url(const char* url) {
    dlock_client_t* client = NULL;
    OK(dlock_client_open(url, strlen(url), NULL, &client, error));
    return client;
}

static inline dlock_client_t* open_client(void) { return open_url(server_url()); }

/* A name of the case's own and of the process's, so that cases, programs and runs never meet; its length. */
static inline size_t case_name(char* name, size_t size) {
    return (size_t)snprintf(name, size, "c/%s/%ld", check_case, (long)getpid());
}

static inline dlock_lock_t* open_lock(const dlock_client_t* client, const dlock_lock_options_t* options) {
    char name[256];
    size_t length = case_name(name, sizeof name);
    dlock_lock_t* lock = NULL;
    OK(dlock_lock_open(client, name, length, options, &lock, error));
    return lock;
}

static inline dlock_semaphore_t* open_semaphore(const dlock_client_t* client, int64_t permits,
                                                const dlock_semaphore_options_t* options) {
    char name[256];
    size_t length = case_name(name, sizeof name - 8);
    memcpy(name + length, "/permits", 8); /* a lock of the case has another key */
    dlock_semaphore_t* semaphore = NULL;
    OK(dlock_semaphore_open(client, name, length + 8, permits, options, &semaphore, error));
    return semaphore;
}

static inline dlock_rw_lock_t* open_side(const dlock_client_t* client, dlock_side_t which,
                                         const dlock_rw_lock_options_t* options) {
    char name[256];
    size_t length = case_name(name, sizeof name - 6);
    memcpy(name + length, "/sides", 6); /* a lock of the case has another key */
    dlock_rw_lock_t* side = NULL;
    OK(dlock_rw_lock_open(client, name, length + 6, which, options, &side, error));
    return side;
}

static inline dlock_latch_t* open_latch(const dlock_client_t* client) {
    char name[256];
    size_t length = case_name(name, sizeof name - 6);
    memcpy(name + length, "/latch", 6); /* a lock of the case has another key */
    dlock_latch_t* latch = NULL;
    OK(dlock_latch_open(client, name, length + 6, &latch, error));
    return latch;
}

/* With so many permits, or as it is on the server. */
static inline dlock_counting_semaphore_t* open_counting(const dlock_client_t* client, int64_t permits) {
    char name[256];
    size_t length = case_name(name, sizeof name - 9);
    memcpy(name + length, "/counting", 9); /* a lock of the case has another key */
    dlock_counting_semaphore_t* semaphore = NULL;
    bool made = false;
    OK(dlock_counting_semaphore_open(client, name, length + 9, &semaphore, error));
    OK(dlock_counting_semaphore_try_set_permits(semaphore, permits, &made, error));
    return semaphore;
}

static inline int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Bounds are for a program that runs by itself; valgrind and the sanitizers slow it down many times. */
static inline int64_t bound_ms(int64_t bound) { return getenv("SLOWED_DOWN") != NULL ? 50 * bound : bound; }

/* A lease that a test uses before it runs out; the renewals of a watchdog's come late there, too. */
static inline int64_t lease_ms(int64_t lease) { return getenv("SLOWED_DOWN") != NULL ? 5 * lease : lease; }

/* The number of repeats of a loop that shows a memory checker nothing new after some rounds. */
static inline size_t repeats(size_t count) { return getenv("SLOWED_DOWN") != NULL ? count / 20 : count; }

/* Waits for the next `count` completions of a port. */
static inline void collect(const dlock_port_t* port, dlock_completion_t* completions, size_t count) {
    int fd = -1;
    OK(dlock_port_fd(port, &fd, error));
    size_t got = 0;
    while (got < count) {
        struct pollfd wait = {fd, POLLIN, 0};
        CHECK(poll(&wait, 1, 60000) == 1);
        size_t more = 0;
        OK(dlock_port_drain(port, completions + got, sizeof *completions, count - got, &more, error));
        got += more;
    }
}

static inline bool readable(const dlock_port_t* port) {
    int fd = -1;
    OK(dlock_port_fd(port, &fd, error));
    struct pollfd wait = {fd, POLLIN, 0};
    return poll(&wait, 1, 0) == 1;
}

#endif
