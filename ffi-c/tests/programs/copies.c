/* Two copies of the library in one process, as of a program and of its plugin: neither takes a handle of the other. */
#define _GNU_SOURCE /* for dladdr() */
#include "check.h"
#include <dlfcn.h>

static dlock_status_t (*client_open)(const char*, size_t, const dlock_client_options_t*, dlock_client_t**,
                                     dlock_error_t*);
static dlock_status_t (*lock_open)(const dlock_client_t*, const char*, size_t, const dlock_lock_options_t*,
                                   dlock_lock_t**, dlock_error_t*);
static dlock_status_t (*lock_acquire)(const dlock_lock_t*, const dlock_acquire_options_t*, dlock_held_t**,
                                      dlock_error_t*);
static dlock_status_t (*lock_release)(const dlock_lock_t*, dlock_error_t*);
static dlock_status_t (*lock_free)(dlock_lock_t*);
static dlock_status_t (*client_free)(dlock_client_t*);
static const char* (*version)(void);

/* Loads the file of the library that this program is linked with once more, under another name. */
static void load_a_copy(void) {
    Dl_info loaded;
    CHECK(dladdr(dlsym(RTLD_DEFAULT, "dlock_version"), &loaded) != 0);
    char copy[] = "/tmp/libdlock-copy-XXXXXX";
    FILE* from = fopen(loaded.dli_fname, "rb");
    FILE* to = fdopen(mkstemp(copy), "wb");
    CHECK(from != NULL && to != NULL);
    static char piece[1 << 16];
    for (size_t read; (read = fread(piece, 1, sizeof piece, from)) > 0;) CHECK(fwrite(piece, 1, read, to) == read);
    CHECK(fclose(from) == 0 && fclose(to) == 0);
    void* library = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
    CHECK(unlink(copy) == 0);
    CHECK(library != NULL);
    *(void**)&client_open = dlsym(library, "dlock_client_open");
    *(void**)&lock_open = dlsym(library, "dlock_lock_open");
    *(void**)&lock_acquire = dlsym(library, "dlock_lock_acquire");
    *(void**)&lock_release = dlsym(library, "dlock_lock_release");
    *(void**)&lock_free = dlsym(library, "dlock_lock_free");
    *(void**)&client_free = dlsym(library, "dlock_client_free");
    *(void**)&version = dlsym(library, "dlock_version");
    CHECK(version != NULL && version != dlock_version);
}

static bool is_unknown(dlock_status_t status) { return status == DLOCK_INVALID_ARGUMENT || status == DLOCK_CLOSED; }

static void a_handle_of_one_copy_is_unknown_to_the_other(void) {
    load_a_copy();
    dlock_client_t *client = open_client(), *other_client = NULL;
    dlock_lock_t *lock = open_lock(client, NULL), *other = NULL;
    OK(client_open(server_url(), strlen(server_url()), NULL, &other_client, error));
    OK(lock_open(other_client, "c/copies", 8, NULL, &other, error));
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    OK(lock_acquire(other, NULL, NULL, error));
    CHECK(is_unknown(lock_release(lock, NULL)) && is_unknown(dlock_lock_release(other, NULL)));
    CHECK(is_unknown(lock_free(lock)) && is_unknown(dlock_lock_free(other)));
    CHECK(is_unknown(client_free(client)) && is_unknown(dlock_client_free(other_client)));
    OK(dlock_lock_release(lock, error));
    OK(lock_release(other, error));
    CHECK(lock_free(other) == DLOCK_OK && dlock_lock_free(lock) == DLOCK_OK);
    CHECK(client_free(other_client) == DLOCK_OK && dlock_client_free(client) == DLOCK_OK);
}

int main(void) {
    RUN(a_handle_of_one_copy_is_unknown_to_the_other);
    return 0;
}
