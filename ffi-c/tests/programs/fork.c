/* A process forks while it holds a lock, several as one, a side of one, permits, and a worker number. The
 * child neither holds nor releases nor hangs; the parent goes on.
 */
#include "threads.h"
#include <sys/wait.h>
#include <unistd.h>

static dlock_client_t* client;
static dlock_lock_t* lock;
static dlock_held_t* held;
static dlock_semaphore_t* semaphore;
static dlock_held_t *permits, *taken;
static dlock_rw_lock_t *reads, *writes;
static dlock_held_t *reading, *also_reading;
static dlock_lock_all_t* set;
static dlock_held_t *all, *all_taken;
static dlock_latch_t* latch;
static dlock_counting_semaphore_t* counting;
static dlock_port_t* port;
static dlock_held_t* worker;
static dlock_snowflake_t *ids, *leased_ids;

static const char permits_name[] = "c/fork/permits", sides_name[] = "c/fork/sides";

static dlock_lock_all_t* set_of(const dlock_client_t* of, const char* first, const char* second) {
    const char* names[] = {first, second};
    dlock_lock_all_t* opened = NULL;
    OK(dlock_lock_all_open(of, names, NULL, 2, NULL, &opened, error));
    return opened;
}

static dlock_rw_lock_t* side(const dlock_client_t* of, dlock_side_t which) {
    dlock_rw_lock_t* opened = NULL;
    OK(dlock_rw_lock_open(of, sides_name, strlen(sides_name), which, NULL, &opened, error));
    return opened;
}

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
    size_t permit_count = 0;
    dlock_semaphore_inspection_t seen = DLOCK_SEMAPHORE_INSPECTION_INIT;
    GIVES(DLOCK_FORKED, dlock_held_permits(permits, NULL, 0, &permit_count, error));
    GIVES(DLOCK_FORKED, dlock_semaphore_hold_count(semaphore, &count, error));
    GIVES(DLOCK_FORKED, dlock_semaphore_release(semaphore, NULL, error));
    GIVES(DLOCK_FORKED, dlock_semaphore_release(semaphore, permits, error));
    GIVES(DLOCK_FORKED, dlock_semaphore_acquire(semaphore, 1, NULL, NULL, error));
    GIVES(DLOCK_FORKED, dlock_semaphore_inspect(semaphore, &seen, error));
    GIVES(DLOCK_FORKED, dlock_held_release(taken, error));
    CHECK(dlock_held_free(permits) == DLOCK_FORKED && dlock_held_free(taken) == DLOCK_FORKED);
    CHECK(dlock_semaphore_free(semaphore) == DLOCK_FORKED);
    dlock_rw_lock_inspection_t holders = DLOCK_RW_LOCK_INSPECTION_INIT;
    GIVES(DLOCK_FORKED, dlock_rw_lock_hold_count(reads, &count, error));
    GIVES(DLOCK_FORKED, dlock_rw_lock_release(reads, error));
    GIVES(DLOCK_FORKED, dlock_rw_lock_acquire(reads, NULL, NULL, error));
    GIVES(DLOCK_FORKED, dlock_rw_lock_inspect(writes, &holders, error));
    GIVES(DLOCK_FORKED, dlock_rw_lock_force_release(writes, NULL, error));
    GIVES(DLOCK_FORKED, dlock_held_release(also_reading, error));
    CHECK(dlock_held_free(reading) == DLOCK_FORKED && dlock_held_free(also_reading) == DLOCK_FORKED);
    CHECK(dlock_rw_lock_free(reads) == DLOCK_FORKED && dlock_rw_lock_free(writes) == DLOCK_FORKED);
    int64_t number = 7;
    GIVES(DLOCK_FORKED, dlock_worker_number(worker, &number, error));
    GIVES(DLOCK_FORKED, dlock_snowflake_next_id(leased_ids, &number, error));
    GIVES(DLOCK_FORKED, dlock_held_release(worker, error));
    CHECK(number == 7 && dlock_held_free(worker) == DLOCK_FORKED && dlock_snowflake_free(leased_ids) == DLOCK_FORKED);
    dlock_lock_all_t* unopened = NULL;
    const char* name = "c/fork/set";
    GIVES(DLOCK_FORKED, dlock_lock_all_open(client, &name, NULL, 1, NULL, &unopened, error));
    GIVES(DLOCK_FORKED, dlock_lock_all_hold_count(set, &count, error));
    GIVES(DLOCK_FORKED, dlock_lock_all_release(set, error));
    GIVES(DLOCK_FORKED, dlock_lock_all_acquire(set, NULL, NULL, error));
    GIVES(DLOCK_FORKED, dlock_held_tokens(all, NULL, 0, &permit_count, error));
    GIVES(DLOCK_FORKED, dlock_held_release(all_taken, error));
    CHECK(dlock_held_free(all) == DLOCK_FORKED && dlock_held_free(all_taken) == DLOCK_FORKED);
    CHECK(dlock_lock_all_free(set) == DLOCK_FORKED);
    bool open = false;
    GIVES(DLOCK_FORKED, dlock_latch_count_down(latch, 1, NULL, error));
    GIVES(DLOCK_FORKED, dlock_latch_wait(latch, 0, NULL, &open, error));
    GIVES(DLOCK_FORKED, dlock_counting_semaphore_release(counting, 1, error));
    GIVES(DLOCK_FORKED, dlock_counting_semaphore_try_acquire(counting, 1, error));
    CHECK(dlock_latch_free(latch) == DLOCK_FORKED && dlock_counting_semaphore_free(counting) == DLOCK_FORKED);
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
    dlock_semaphore_t* counted = NULL;
    OK(dlock_semaphore_open(own, permits_name, strlen(permits_name), 4, NULL, &counted, error));
    GIVES(DLOCK_BUSY, dlock_semaphore_try_acquire(counted, 2, NULL, error));
    GIVES(DLOCK_NOT_HELD, dlock_semaphore_release(counted, NULL, error));
    OK(dlock_semaphore_acquire(counted, 1, NULL, NULL, error));
    OK(dlock_semaphore_release(counted, NULL, error));
    dlock_rw_lock_t *own_reads = side(own, DLOCK_SIDE_READ), *own_writes = side(own, DLOCK_SIDE_WRITE);
    GIVES(DLOCK_NOT_HELD, dlock_rw_lock_release(own_reads, error));
    GIVES(DLOCK_BUSY, dlock_rw_lock_try_acquire(own_writes, NULL, error));
    OK(dlock_rw_lock_acquire(own_reads, NULL, NULL, error)); /* beside the parent's */
    OK(dlock_rw_lock_release(own_reads, error));
    dlock_rw_lock_free(own_reads), dlock_rw_lock_free(own_writes);
    dlock_lock_all_t *busy = set_of(own, "c/fork/a", "c/fork/child"), *free = set_of(own, "c/fork/e", "c/fork/f");
    GIVES(DLOCK_BUSY, dlock_lock_all_try_acquire(busy, NULL, error));
    GIVES(DLOCK_NOT_HELD, dlock_lock_all_release(busy, error));
    OK(dlock_lock_all_acquire(free, NULL, NULL, error));
    OK(dlock_lock_all_release(free, error));
    dlock_lock_all_free(busy), dlock_lock_all_free(free);
    OK(dlock_client_close(own, true, error));
    dlock_lock_free(same), dlock_lock_free(other), dlock_semaphore_free(counted), dlock_client_free(own);
}

/* The child's worker number is not its parent's. */
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
    dlock_semaphore_inspection_t seen = DLOCK_SEMAPHORE_INSPECTION_INIT;
    OK(dlock_held_is_valid(permits, &valid, error));
    CHECK(valid);
    OK(dlock_held_is_valid(reading, &valid, error));
    CHECK(valid);
    OK(dlock_semaphore_inspect(semaphore, &seen, error));
    CHECK(seen.available == 1);
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
    OK(dlock_semaphore_release(semaphore, permits, error));
    OK(dlock_held_release(taken, error));
    dlock_semaphore_inspection_t seen = DLOCK_SEMAPHORE_INSPECTION_INIT;
    OK(dlock_semaphore_inspect(semaphore, &seen, error));
    CHECK(seen.available == 4);
    OK(dlock_snowflake_next_id(leased_ids, &(int64_t){0}, error));
    OK(dlock_held_release(worker, error));
    OK(dlock_rw_lock_release(reads, error));
    OK(dlock_held_release(also_reading, error));
    OK(dlock_rw_lock_try_acquire(writes, NULL, error));
    OK(dlock_rw_lock_release(writes, error));
    OK(dlock_lock_all_release(set, error));
    OK(dlock_held_release(all_taken, error));
    int64_t left = 0;
    OK(dlock_latch_count_down(latch, 1, &left, error)); /* no child has counted */
    CHECK(left == 1);
    GIVES(DLOCK_BUSY, dlock_counting_semaphore_try_acquire(counting, 1, error)); /* nor brought any back */
}

int main(void) {
    client = open_client();
    OK(dlock_lock_open(client, "c/fork", 6, NULL, &lock, error));
    OK(dlock_port_new(&port, error));
    OK(dlock_snowflake_open(10, 1, NULL, &ids, error));
    int64_t id = 0;
    OK(dlock_snowflake_next_id(ids, &id, error));
    OK(dlock_lock_acquire(lock, NULL, &held, error));
    OK(dlock_semaphore_open(client, permits_name, strlen(permits_name), 4, NULL, &semaphore, error));
    OK(dlock_semaphore_acquire(semaphore, 2, NULL, &permits, error));
    OK(dlock_semaphore_take(semaphore, 1, NULL, &taken, error));
    latch = open_latch(client), counting = open_counting(client, 1);
    bool set_now = false;
    OK(dlock_latch_try_set_count(latch, 2, &set_now, error));
    OK(dlock_counting_semaphore_acquire(counting, 1, -1, NULL, error));
    reads = side(client, DLOCK_SIDE_READ), writes = side(client, DLOCK_SIDE_WRITE);
    OK(dlock_rw_lock_acquire(reads, NULL, &reading, error));
    OK(dlock_rw_lock_take(reads, NULL, &also_reading, error));
    set = set_of(client, "c/fork/a", "c/fork/b");
    OK(dlock_lock_all_acquire(set, NULL, &all, error));
    dlock_lock_all_t* other = set_of(client, "c/fork/c", "c/fork/d");
    OK(dlock_lock_all_take(other, NULL, &all_taken, error));
    OK(dlock_worker_lease(client, "c/fork", 6, NULL, &worker, error));
    OK(dlock_worker_snowflake(worker, NULL, &leased_ids, error));
    RUN(a_childs_old_objects_are_forked_and_its_exit_releases_nothing);
    RUN(a_childs_new_objects_work);
    RUN(a_child_makes_its_own_ids);
    RUN(a_grandchild_is_no_different);
    RUN(the_parent_releases_afterwards);
    dlock_held_free(worker), dlock_snowflake_free(leased_ids);
    dlock_held_free(permits), dlock_held_free(taken), dlock_semaphore_free(semaphore);
    dlock_held_free(reading), dlock_held_free(also_reading), dlock_rw_lock_free(reads), dlock_rw_lock_free(writes);
    dlock_held_free(all), dlock_held_free(all_taken), dlock_lock_all_free(set), dlock_lock_all_free(other);
    dlock_latch_free(latch), dlock_counting_semaphore_free(counting);
    dlock_held_free(held), dlock_lock_free(lock), dlock_port_free(port), dlock_snowflake_free(ids);
    OK(dlock_client_close(client, false, error));
    dlock_client_free(client);
    return 0;
}
