/* faults 31: a process forks while it holds a lock. The child neither holds nor releases nor hangs; the parent goes on.
 */
#include "threads.h"
#include <sys/wait.h>
#include <unistd.h>

static dlock_client_t* client;
static dlock_lock_t* lock;
static dlock_held_t* held;
static dlock_port_t* port;
static dlock_snowflake_t* ids;

static void old_objects_say_forked(void) {
    bool valid = true;
    uint32_t count = 1;
    dlock_completion_t completion;
    size_t drained = 0;
    GIVES(DLOCK_FORKED, dlock_held_is_valid(held, &valid, error));
    GIVES(DLOCK_FORKED, dlock_lock_hold_count(lock, &count, error));
    GIVES(DLOCK_FORKED, dlock_lock_release(lock, error));
    GIVES(DLOCK_FORKED, dlock_lock_acquire(lock, NULL, NULL, error));
    GIVES(DLOCK_FORKED, dlock_port_drain(port, &completion, sizeof completion, 1, &drained, error));
    GIVES(DLOCK_FORKED, dlock_client_close(client, true, error));
    int64_t id = 0;
    GIVES(DLOCK_FORKED, dlock_snowflake_next_id(ids, &id, error));
    GIVES(DLOCK_FORKED, dlock_snowflake_next_ids(ids, &id, 1, error));
    CHECK(dlock_snowflake_free(ids) == DLOCK_FORKED);
    CHECK(dlock_held_free(held) == DLOCK_FORKED);
    CHECK(dlock_lock_free(lock) == DLOCK_FORKED);
    CHECK(dlock_port_free(port) == DLOCK_FORKED);
    CHECK(dlock_client_free(client) == DLOCK_FORKED);
}

static void new_objects_work_and_see_the_parents_hold(void) {
    dlock_client_t* own = open_client();
    dlock_lock_t *same = NULL, *other = NULL;
    OK(dlock_lock_open(own, "c/fork", 6, NULL, &same, error));
    GIVES(DLOCK_BUSY, dlock_lock_try_acquire(same, NULL, error));
    OK(dlock_lock_open(own, "c/fork/child", 12, NULL, &other, error));
    OK(dlock_lock_acquire(other, NULL, NULL, error));
    CHECK(in_another_thread(try_it, other) == DLOCK_BUSY);
    OK(dlock_lock_release(other, error));
    OK(dlock_client_close(own, true, error));
    dlock_lock_free(same), dlock_lock_free(other), dlock_client_free(own);
}

/* A worker number of the child's own; faults 40 in a fork. */
static void a_new_generator_works(void) {
    dlock_snowflake_t* own = NULL;
    int64_t id = 0, next = 0;
    OK(dlock_snowflake_open(10, 2, NULL, &own, error));
    OK(dlock_snowflake_next_id(own, &id, error));
    OK(dlock_snowflake_next_id(own, &next, error));
    CHECK(next > id);
    CHECK(dlock_snowflake_free(own) == DLOCK_OK);
}

static void in_a_child(void (*body)(void), bool ordinary_exit) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(30); /* a hang is a failure, not a hang of the test */
        body();
        if (ordinary_exit) exit(0);
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    bool valid = false;
    OK(dlock_held_is_valid(held, &valid, error));
    CHECK(valid);
    CHECK(in_another_thread(try_it, lock) == DLOCK_BUSY); /* the server says so too */
}

static void a_childs_old_objects_are_forked_and_its_exit_releases_nothing(void) {
    in_a_child(old_objects_say_forked, true);
    in_a_child(old_objects_say_forked, false);
}

static void a_childs_new_objects_work(void) { in_a_child(new_objects_work_and_see_the_parents_hold, true); }

static void a_child_makes_its_own_ids(void) {
    int64_t before = 0, after = 0;
    OK(dlock_snowflake_next_id(ids, &before, error));
    in_a_child(a_new_generator_works, true);
    OK(dlock_snowflake_next_id(ids, &after, error));
    CHECK(after > before);
}

static void nested(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        old_objects_say_forked();
        new_objects_work_and_see_the_parents_hold();
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    new_objects_work_and_see_the_parents_hold();
}

static void a_grandchild_is_no_different(void) { in_a_child(nested, true); }

static void the_parent_releases_afterwards(void) {
    OK(dlock_lock_release(lock, error));
    CHECK(in_another_thread(wait_for_it, lock) == DLOCK_OK);
}

int main(void) {
    client = open_client();
    OK(dlock_lock_open(client, "c/fork", 6, NULL, &lock, error));
    OK(dlock_port_new(&port, error));
    OK(dlock_snowflake_open(10, 1, NULL, &ids, error));
    int64_t id = 0;
    OK(dlock_snowflake_next_id(ids, &id, error));
    OK(dlock_lock_acquire(lock, NULL, &held, error));
    RUN(a_childs_old_objects_are_forked_and_its_exit_releases_nothing);
    RUN(a_childs_new_objects_work);
    RUN(a_child_makes_its_own_ids);
    RUN(a_grandchild_is_no_different);
    RUN(the_parent_releases_afterwards);
    dlock_held_free(held), dlock_lock_free(lock), dlock_port_free(port), dlock_snowflake_free(ids);
    OK(dlock_client_close(client, false, error));
    dlock_client_free(client);
    return 0;
}
