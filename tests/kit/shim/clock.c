/* The wall clock of a process, steered from outside: preload this into redis-server and name a control file in
 * DLOCK_CLOCK_FILE. The file holds native 64-bit integers, written by the test while the server runs (those that it
 * does not hold are 0):
 *
 *     frozen_us   >= 0: the time is exactly this many microseconds since 1970;  < 0: the clock runs
 *     offset_us   added to the real time while the clock runs
 *     slew_ppm    by how much the clock runs fast while it runs (negative: slow), from the real time slew_from_us on
 *     version     odd while the slew is being changed, which takes three of these integers
 *
 * Only the wall clock is steered. The monotonic clocks stay real, because the server's event loop sleeps by them:
 * freezing those too is what makes Debian's redis-server hang under libfaketime. The real time is read by a system
 * call: looking the original function up with dlsym could allocate, and an allocator may ask for the time.
 *
 * Valkey from 9.1 on looks at the wall clock once a millisecond and in between adds what the processor's counter says
 * has passed, which no preloaded function can steer. It trusts that counter only if /proc/cpuinfo calls it constant, so
 * it is kept from reading that file; it then takes its monotonic time from clock_gettime, and each wall-clock time from
 * gettimeofday. On arm64 it asks no file, and a frozen clock runs on for up to 1 ms there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control {
    _Atomic int64_t frozen_us;
    _Atomic int64_t offset_us;
    _Atomic int64_t slew_ppm;
    _Atomic int64_t slew_from_us;
    _Atomic int64_t version;
};

static struct control* control;

__attribute__((constructor)) static void attach(void) {
    const char* path = getenv("DLOCK_CLOCK_FILE");
    if (!path) return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) abort(); /* a test that believes in a steered clock must not run with a real one */
    void* map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) abort();
    control = map;
}

static int64_t now_us(void) {
    struct timespec real;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &real);
    int64_t us = (int64_t)real.tv_sec * 1000000 + real.tv_nsec / 1000;
    if (!control) return us;
    int64_t version, shown;
    do {
        version = atomic_load(&control->version);
        int64_t frozen = atomic_load(&control->frozen_us);
        /* in microseconds, so that a slow clock never steps back */
        int64_t slewed = (us - atomic_load(&control->slew_from_us)) * atomic_load(&control->slew_ppm) / 1000000;
        shown = frozen >= 0 ? frozen : us + slewed + atomic_load(&control->offset_us);
    } while (version % 2 != 0 || version != atomic_load(&control->version));
    return shown;
}

int clock_gettime(clockid_t clock, struct timespec* out) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, out);
    int64_t us = now_us();
    out->tv_sec = us / 1000000;
    out->tv_nsec = us % 1000000 * 1000;
    return 0;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
    (void)zone;
    int64_t us = now_us();
    out->tv_sec = us / 1000000;
    out->tv_usec = us % 1000000;
    return 0;
}

time_t time(time_t* out) {
    time_t seconds = now_us() / 1000000;
    if (out) *out = seconds;
    return seconds;
}

/* Opens a file by the function that this one hides; the processor's description is not there. */
static FILE* open_unless_hidden(const char* function, const char* restrict path, const char* restrict mode) {
    if (control && strcmp(path, "/proc/cpuinfo") == 0) {
        errno = ENOENT;
        return NULL;
    }
    FILE* (*hidden)(const char*, const char*) = dlsym(RTLD_NEXT, function);
    if (!hidden) abort();
    return hidden(path, mode);
}

FILE* fopen(const char* restrict path, const char* restrict mode) { return open_unless_hidden("fopen", path, mode); }

FILE* fopen64(const char* restrict path, const char* restrict mode) {
    return open_unless_hidden("fopen64", path, mode);
}
