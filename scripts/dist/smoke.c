/* What is run on each platform that can be: a lock. The URL may be given. */
#include <dlock.h>
#include <stdio.h>
#include <string.h>

int main(int count, char** arguments) {
    const char* url = count > 1 ? arguments[1] : "memory://";
    dlock_error_t error = DLOCK_ERROR_INIT;
    dlock_client_t* client = NULL;
    dlock_lock_t* lock = NULL;
    dlock_held_t* held = NULL;
    if (dlock_client_open(url, strlen(url), NULL, &client, &error) != DLOCK_OK ||
        dlock_lock_open(client, "job", 3, NULL, &lock, &error) != DLOCK_OK ||
        dlock_lock_take(lock, NULL, &held, &error) != DLOCK_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    if (dlock_held_release(held, &error) != DLOCK_OK) return 1;
    dlock_held_free(held);
    dlock_lock_free(lock);
    dlock_client_free(client);
    puts("ok");
    return 0;
}
