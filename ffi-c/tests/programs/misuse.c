/* Null pointers, wild lengths, freed, foreign and wild handles give a status; nothing crashes. */
#include "check.h"
#include "exports.h"

static dlock_client_t* client;
static dlock_lock_t* lock;
static dlock_held_t* held;
static dlock_port_t* port;
static dlock_cancel_t* cancel;

static void nothing_but_null_is_an_invalid_argument(void) {
#define ALL_NULL(function, call)                                                                                       \
    {                                                                                                                  \
        dlock_error_t error_ = DLOCK_ERROR_INIT;                                                                       \
        dlock_error_t* error = &error_;                                                                                \
        (void)error;                                                                                                   \
        check_case = #function;                                                                                        \
        dlock_status_t got = (call);                                                                                   \
        bool free_or_text = strstr(#function, "_free") || strstr(#call, "says(") || strstr(#function, "_version");     \
        CHECK(got == (free_or_text ? DLOCK_OK : DLOCK_INVALID_ARGUMENT));                                              \
        CHECK(free_or_text || strlen(error->message) > 0);                                                             \
    }
    EACH_EXPORT(ALL_NULL)
#define NO_ERROR_EITHER(function, call)                                                                                \
    check_case = #function;                                                                                            \
    CHECK((call) <= DLOCK_OK);
    dlock_error_t* error = NULL;
    EACH_EXPORT(NO_ERROR_EITHER)
}

static void a_handle_of_another_kind_or_of_nobody_is_an_invalid_argument(void) {
    int local = 0;
    const void* wrong[] = {client, port, cancel, held, &local, check_case, (void*)1, (void*)-1, (void*)0x1000000000000};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_release(wrong[i], error));
        CHECK(dlock_lock_free((dlock_lock_t*)wrong[i]) == DLOCK_INVALID_ARGUMENT);
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_semaphore_release(wrong[i], NULL, error));
        CHECK(dlock_semaphore_free((dlock_semaphore_t*)wrong[i]) == DLOCK_INVALID_ARGUMENT);
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_rw_lock_release(wrong[i], error));
        CHECK(dlock_rw_lock_free((dlock_rw_lock_t*)wrong[i]) == DLOCK_INVALID_ARGUMENT);
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_latch_count_down(wrong[i], 1, NULL, error));
        CHECK(dlock_latch_free((dlock_latch_t*)wrong[i]) == DLOCK_INVALID_ARGUMENT);
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_counting_semaphore_release(wrong[i], 1, error));
        CHECK(dlock_counting_semaphore_free((dlock_counting_semaphore_t*)wrong[i]) == DLOCK_INVALID_ARGUMENT);
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_all_release(wrong[i], error));
        CHECK(dlock_lock_all_free((dlock_lock_all_t*)wrong[i]) == DLOCK_INVALID_ARGUMENT);
        if (wrong[i] != (void*)port) CHECK(dlock_port_free((dlock_port_t*)wrong[i]) == DLOCK_INVALID_ARGUMENT);
        if (wrong[i] != (void*)client) GIVES(DLOCK_INVALID_ARGUMENT, dlock_client_close(wrong[i], false, error));
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_op_cancel(wrong[i], NULL, error));
    }
    /* Next to a live handle is none. */
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_release((dlock_lock_t*)((char*)lock + 1), error));
}

static void wild_lengths_are_refused(void) {
    size_t wild[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 40, 1 << 20};
    dlock_lock_t* opened = NULL;
    dlock_client_t* connected = NULL;
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        GIVES(DLOCK_INVALID_NAME, dlock_lock_open(client, "name", wild[i], NULL, &opened, error));
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_client_open("memory://", wild[i], NULL, &connected, error));
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_attach(lock, "text", wild[i], NULL, error));
        dlock_option_t option = {"lease", wild[i], "10s", 3};
        dlock_client_options_t options = DLOCK_CLIENT_OPTIONS_INIT;
        options.options = &option;
        options.options_len = 1;
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_client_open("memory://", 9, &options, &connected, error));
        options.options_len = wild[i];
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_client_open("memory://", 9, &options, &connected, error));
    }
    GIVES(DLOCK_INVALID_NAME, dlock_lock_open(client, "", 0, NULL, &opened, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_open(client, NULL, 4, NULL, &opened, error));
    CHECK(opened == NULL && connected == NULL);
}

static void a_struct_that_does_not_say_its_size_is_refused(void) {
    size_t sizes[] = {0, 1, sizeof(dlock_error_t) - 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        dlock_error_t error;
        memset(&error, 0x55, sizeof error);
        error.struct_size = sizes[i];
        dlock_error_t before = error;
        CHECK(dlock_lock_try_acquire(lock, NULL, &error) == DLOCK_INVALID_ARGUMENT);
        CHECK(memcmp(&error, &before, sizeof error) == 0);
    }
    uint32_t count = 99;
    OK(dlock_lock_hold_count(lock, &count, error));
    CHECK(count == 1); /* the hold of main(): nothing was acquired above */
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.struct_size = 8;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_acquire(lock, &options, NULL, error));
    dlock_inspection_t inspection = DLOCK_INSPECTION_INIT;
    inspection.struct_size--;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_inspect(lock, &inspection, error));
    /* A newer caller's struct is larger. */
    struct {
        dlock_error_t error;
        char newer[64];
    } newer = {.error = DLOCK_ERROR_INIT, .newer = "untouched"};
    newer.error.struct_size = sizeof newer;
    CHECK(dlock_lock_release(NULL, &newer.error) == DLOCK_INVALID_ARGUMENT);
    CHECK(newer.error.code == DLOCK_INVALID_ARGUMENT && newer.error.struct_size == sizeof newer);
    CHECK(strcmp(newer.newer, "untouched") == 0);
}

static void out_parameters_are_written_only_on_success(void) {
    dlock_held_t* untouched = held;
    dlock_lock_t* other = NULL;
    dlock_client_t* second = open_client();
    char name[DLOCK_NAME_SIZE];
    size_t length = 77;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_name(lock, name, 3, &length, error));
    CHECK(length == 77);
    OK(dlock_lock_name(lock, name, sizeof name, &length, error));
    OK(dlock_lock_open(second, name, length, NULL, &other, error));
    GIVES(DLOCK_BUSY, dlock_lock_try_acquire(other, &untouched, error));
    CHECK(untouched == held);
    CHECK(dlock_lock_free(other) == DLOCK_OK);
    OK(dlock_client_close(second, false, error));
    CHECK(dlock_client_free(second) == DLOCK_OK);
}

static void a_freed_handle_is_closed_and_stays_so(void) {
    OK(dlock_lock_release(lock, error));
    CHECK(dlock_held_free(held) == DLOCK_OK);
    CHECK(dlock_lock_free(lock) == DLOCK_OK);
    CHECK(dlock_cancel_free(cancel) == DLOCK_OK);
    CHECK(dlock_port_free(port) == DLOCK_OK);
    OK(dlock_client_close(client, false, error));
    CHECK(dlock_client_free(client) == DLOCK_OK);
    CHECK(dlock_held_free(held) == DLOCK_CLOSED);
    CHECK(dlock_lock_free(lock) == DLOCK_CLOSED);
    CHECK(dlock_cancel_free(cancel) == DLOCK_CLOSED);
    CHECK(dlock_port_free(port) == DLOCK_CLOSED);
    CHECK(dlock_client_free(client) == DLOCK_CLOSED);
    bool valid = false;
    GIVES(DLOCK_CLOSED, dlock_held_is_valid(held, &valid, error));
    GIVES(DLOCK_CLOSED, dlock_lock_acquire(lock, NULL, NULL, error));
    GIVES(DLOCK_CLOSED, dlock_client_close(client, false, error));
    GIVES(DLOCK_CLOSED, dlock_cancel_fire(cancel, error));
    dlock_completion_t completion;
    size_t count = 0;
    GIVES(DLOCK_CLOSED, dlock_port_drain(port, &completion, sizeof completion, 1, &count, error));
    GIVES(DLOCK_CLOSED, dlock_submit_acquire(port, lock, NULL, NULL, NULL, error));
    /* New objects in the same places do not answer to the old handles. */
    dlock_client_t* next = open_client();
    CHECK(next != client);
    GIVES(DLOCK_CLOSED, dlock_client_close(client, false, error));
    OK(dlock_client_close(next, false, error));
    CHECK(dlock_client_free(next) == DLOCK_OK);
}

int main(void) {
    client = open_client();
    check_case = "misuse";
    lock = open_lock(client, NULL);
    OK(dlock_lock_acquire(lock, NULL, &held, error));
    OK(dlock_port_new(&port, error));
    OK(dlock_cancel_new(&cancel, error));
    RUN(nothing_but_null_is_an_invalid_argument);
    RUN(a_handle_of_another_kind_or_of_nobody_is_an_invalid_argument);
    RUN(wild_lengths_are_refused);
    RUN(a_struct_that_does_not_say_its_size_is_refused);
    RUN(out_parameters_are_written_only_on_success);
    RUN(a_freed_handle_is_closed_and_stays_so);
    return 0;
}
