/* Signals of the program: none reaches a thread of the library, and what its handlers may call. */
#include "check.h"
#include "threads.h"
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static dlock_client_t* client;
static dlock_lock_t* lock;
static volatile sig_atomic_t handled, asked, wrong;

static void handle(int number) { handled = number; }

/* Calls the functions that the header allows in a handler. */
static void ask(int number) {
    (void)number;
    if (dlock_abi_version() != DLOCK_ABI_VERSION || *dlock_version() == 0) wrong = 1;
    if (strcmp(dlock_status_name(DLOCK_BUSY), "BUSY") != 0 || strcmp(dlock_status_name(77), "UNKNOWN") != 0) wrong = 1;
    asked = asked + 1;
}

/* The signals that a thread of this process blocks, signal 1 as the lowest bit. */
static unsigned long long blocked(const char* thread) {
    char path[64], line[256];
    unsigned long long signals = 0;
    CHECK(strlen(thread) < 20);
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE* status = fopen(path, "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status) != NULL && sscanf(line, "SigBlk: %llx", &signals) != 1) {
    }
    fclose(status);
    return signals;
}

static void threads_of_the_library_block_signals(void) {
    const int numbers[] = {SIGTERM, SIGINT, SIGCHLD, SIGUSR1};
    DIR* threads = opendir("/proc/self/task");
    CHECK(threads != NULL);
    size_t count = 0;
    for (struct dirent* thread; (thread = readdir(threads)) != NULL;) {
        long id = strtol(thread->d_name, NULL, 10);
        if (id == 0 || id == (long)getpid()) continue;
        unsigned long long signals = blocked(thread->d_name);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) CHECK((signals >> (numbers[i] - 1) & 1) == 1);
        /* Raised by a fault of the thread itself: a JVM has handlers for it. */
        CHECK((signals >> (SIGSEGV - 1) & 1) == 0);
        count++;
    }
    closedir(threads);
    CHECK(count > 0);
}

static void the_program_keeps_its_mask(void) {
    sigset_t mask;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
    CHECK(sigismember(&mask, SIGTERM) == 0 && sigismember(&mask, SIGUSR1) == 0);
}

/* As a program does that opens a client first and then waits for its signals in one place. */
static void a_signal_that_the_program_blocks_waits_for_it(void) {
    struct sigaction action = {.sa_handler = handle};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    const struct timespec patience = {.tv_sec = 10};
    CHECK(sigtimedwait(&set, NULL, &patience) == SIGUSR1);
    CHECK(handled == 0);
}

static void come_and_go(void) {
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    OK(dlock_lock_release(lock, error));
}

static dlock_status_t come_and_go_until_asked(const void* times) {
    while (asked < *(const int*)times) come_and_go();
    return DLOCK_OK;
}

/* Wherever in a call its thread is interrupted. */
static void a_handler_may_ask_for_version_and_names(void) {
    struct sigaction action = {.sa_handler = ask, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    const int times = 200;
    struct job job;
    start(come_and_go_until_asked, &times, &job);
    while (asked < times) {
        (void)pthread_kill(job.thread, SIGUSR2);
        sched_yield();
    }
    ENDS(DLOCK_OK, &job);
    CHECK(!wrong);
}

int main(void) {
    client = open_client();
    lock = open_lock(client, NULL);
    for (int i = 0; i < 100; i++) come_and_go();
    RUN(threads_of_the_library_block_signals);
    RUN(the_program_keeps_its_mask);
    RUN(a_handler_may_ask_for_version_and_names);
    RUN(a_signal_that_the_program_blocks_waits_for_it);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_client_free(client) == DLOCK_OK);
    return 0;
}
