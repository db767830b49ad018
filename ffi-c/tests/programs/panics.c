/* Against the library with fault injection: a panic in any exported function is a status, and the process lives. */
#include "check.h"
#include "exports.h"

static void a_panic_in_every_export_is_an_internal_error(void) {
#define PANIC(function, call)                                                                                          \
    CHECK(setenv("DLOCK_PANIC", #function, 1) == 0);                                                                   \
    {                                                                                                                  \
        dlock_error_t error_ = DLOCK_ERROR_INIT;                                                                       \
        dlock_error_t* error = &error_;                                                                                \
        (void)error;                                                                                                   \
        check_case = #function;                                                                                        \
        CHECK((call) == DLOCK_INTERNAL);                                                                               \
        if (error->code != DLOCK_OK) CHECK(strstr(error->message, "DLOCK_PANIC=" #function) != NULL);                  \
    }
    EACH_EXPORT(PANIC)
    LAST_EXPORT(PANIC)
    CHECK(unsetenv("DLOCK_PANIC") == 0);
}

static void afterwards_the_library_works(void) {
    dlock_client_t* client = open_client();
    dlock_lock_t* lock = open_lock(client, NULL);
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    OK(dlock_lock_release(lock, error));
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
    CHECK(dlock_client_free(client) == DLOCK_OK);
}

int main(void) {
    RUN(a_panic_in_every_export_is_an_internal_error);
    RUN(afterwards_the_library_works);
    return 0;
}
