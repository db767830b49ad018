/* Loads and unloads a plugin that has the static library in it and calls dlock_shutdown(). The C library may keep it
 * loaded: the thread that used it has destructors in it. */
#include "check.h"
#include <dlfcn.h>

static void a_plugin_may_be_loaded_again_and_again(void) {
    for (int i = 0; i < 3; i++) {
        void* plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
        CHECK(plugin != NULL);
        dlock_status_t (*use)(const char*);
        *(void**)&use = dlsym(plugin, "plugin_use");
        CHECK(use != NULL && use(server_url()) == DLOCK_OK);
        CHECK(dlclose(plugin) == 0);
    }
}

int main(void) {
    RUN(a_plugin_may_be_loaded_again_and_again);
    return 0;
}
