/* A plugin with the static library in it, which plugins.c loads. */
#include <dlock.h>
#include <pthread.h>
#include <string.h>

dlock_status_t plugin_use(const char* url);

static dlock_status_t use(const char* url) {
    dlock_client_t* client = NULL;
    dlock_lock_t* lock = NULL;
    dlock_status_t status = dlock_client_open(url, strlen(url), NULL, &client, NULL);
    if (status == DLOCK_OK) status = dlock_lock_open(client, "c/plugin", 8, NULL, &lock, NULL);
    if (status == DLOCK_OK) status = dlock_lock_acquire(lock, NULL, NULL, NULL);
    if (status == DLOCK_OK) status = dlock_lock_release(lock, NULL);
    dlock_lock_free(lock);
    dlock_client_free(client);
    return status;
}

static void* use_on_a_thread(void* url) { return use(url) == DLOCK_OK ? url : NULL; }

/* Uses the library on this thread and on another, and ends it. */
dlock_status_t plugin_use(const char* url) {
    pthread_t thread;
    void* done = NULL;
    if (pthread_create(&thread, NULL, use_on_a_thread, (void*)url) != 0) return DLOCK_INTERNAL;
    dlock_status_t status = use(url);
    if (pthread_join(thread, &done) != 0 || done == NULL) return DLOCK_INTERNAL;
    dlock_status_t ended = dlock_shutdown(NULL);
    return status != DLOCK_OK ? status : ended;
}
