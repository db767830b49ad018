/* Signals of the program: none reaches a thread of the library. */
#include "check.h"
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

static dlock_client_t* client;
static volatile sig_atomic_t handled;

static void handle(int number) { handled = number; }

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

int main(void) {
    client = open_client();
    dlock_lock_t* lock = open_lock(client, NULL);
    for (int i = 0; i < 100; i++) {
        OK(dlock_lock_acquire(lock, NULL, NULL, error));
        OK(dlock_lock_release(lock, error));
    }
    RUN(threads_of_the_library_block_signals);
    RUN(the_program_keeps_its_mask);
    RUN(a_signal_that_the_program_blocks_waits_for_it);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_client_free(client) == DLOCK_OK);
    return 0;
}
