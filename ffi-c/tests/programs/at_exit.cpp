// Calls at the end of a process and of a thread: atexit handlers, static destructors, thread-local and thread-key
// destructors. Each case runs this program anew with its name, and then asks the server at once.
#include "check.h"

#include <dlock.hpp>

#include <mutex>
#include <optional>
#include <pthread.h>
#include <shared_mutex>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>

extern char** environ;

namespace {

std::string lock_name(const char* what) { return std::string("cpp/at_exit/") + check_case + "/" + what; }

// What the cases use: static objects, ended after main.
dlock::client& client() {
    static dlock::client client{server_url()};
    return client;
}

dlock::mutex& shared_mutex() {
    static dlock::mutex mutex{client(), lock_name("m")};
    return mutex;
}

void use_everything_that_blocks() {
    dlock::mutex mutex{client(), lock_name("other")};
    CHECK(mutex.try_lock());
    mutex.extend(std::chrono::minutes(1));
    CHECK(mutex.hold_count() == 1 && mutex.held().valid() && mutex.inspect().ours);
    mutex.release();
    CHECK(mutex.try_lock_for(std::chrono::seconds(5)));
    mutex.unlock();
    dlock::semaphore semaphore{client(), lock_name("permits"), 3};
    CHECK(semaphore.try_acquire(2));
    semaphore.extend(std::chrono::minutes(1));
    CHECK(semaphore.hold_count() == 1 && semaphore.held().permits().size() == 2 && semaphore.inspect().available == 1);
    semaphore.set_permits(3);
    semaphore.release();
    CHECK(semaphore.take(3).valid());
    dlock::shared_mutex sides{client(), lock_name("sides")};
    CHECK(sides.try_lock_shared() && sides.hold_count_shared() == 1 && sides.inspect().readers == 1);
    sides.unlock_shared();
    sides.lock();
    CHECK(sides.downgrade().valid());
    sides.release_shared();
    CHECK(sides.take().valid());
    dlock::client late{server_url()};
    dlock::rate_limiter limiter{late, lock_name("limiter"), {100, std::chrono::seconds(1)}};
    CHECK(limiter.acquire().allowed && limiter.try_acquire().allowed);
    late.close_releasing();
    dlock_port_t* port = nullptr;
    OK(dlock_port_new(&port, error));
    dlock_op_t* op = nullptr;
    dlock_completion_t done[1];
    OK(dlock_submit_acquire(port, mutex.get(), nullptr, nullptr, &op, error));
    collect(port, done, 1);
    CHECK(done[0].kind == DLOCK_COMPLETION_HELD);
    OK(dlock_submit_acquire(port, mutex.get(), nullptr, nullptr, &op, error));
    OK(dlock_op_cancel(op, nullptr, error));
    OK(dlock_held_release(done[0].held, error));
    CHECK(dlock_held_free(done[0].held) == DLOCK_OK && dlock_port_free(port) == DLOCK_OK);
}

// The cases, as the new process runs them. Their end is what is tested.

void a_static_guard_releases_at_exit() {
    shared_mutex();
    static std::unique_lock guard{shared_mutex()};
    CHECK(guard.owns_lock());
}

void a_static_guard_releases_when_another_thread_exits() {
    std::thread([] {
        static std::unique_lock guard{shared_mutex()};
        std::exit(0);
    }).join();
}

// A guard would leave its lock to the lease: the thread that ends it does not hold it.
void a_static_hold_releases_when_another_thread_exits() {
    static const dlock::hold hold = shared_mutex().take();
    CHECK(hold.valid());
    std::thread([] { std::exit(0); }).join();
}

void everything_works_in_an_atexit_handler() {
    shared_mutex().lock();
    CHECK(std::atexit([] {
              use_everything_that_blocks();
              shared_mutex().release();
          }) == 0);
}

void the_first_call_may_come_in_an_atexit_handler() { CHECK(std::atexit(use_everything_that_blocks) == 0); }

void a_thread_key_destructor_releases() {
    static pthread_key_t key;
    CHECK(pthread_key_create(&key, [](void* mutex) {
              use_everything_that_blocks();
              static_cast<dlock::mutex*>(mutex)->release();
          }) == 0);
    std::thread([] {
        shared_mutex().lock();
        CHECK(pthread_setspecific(key, &shared_mutex()) == 0);
    }).join();
    CHECK(std::thread::hardware_concurrency() > 0 && !shared_mutex().locked());
}

void a_thread_local_guard_releases() {
    std::thread([] {
        // Made before this thread's first call, so ended after what libdlock keeps for the thread.
        thread_local std::optional<std::unique_lock<dlock::mutex>> guard;
        guard.emplace(shared_mutex());
    }).join();
    CHECK(!shared_mutex().locked());
}

dlock::semaphore& shared_semaphore() {
    static dlock::semaphore semaphore{client(), lock_name("permits"), 3};
    return semaphore;
}

void static_permits_are_released_at_exit() {
    static dlock::hold hold = shared_semaphore().take(2);
    CHECK(hold.valid() && shared_semaphore().inspect().available == 1);
}

void a_thread_local_hold_releases_its_permits() {
    std::thread([] {
        thread_local std::optional<dlock::hold> hold;
        hold.emplace(shared_semaphore().take(3));
    }).join();
    CHECK(shared_semaphore().inspect().available == 3);
}

void a_thread_key_destructor_releases_permits() {
    static pthread_key_t key;
    CHECK(pthread_key_create(&key, [](void* semaphore) { static_cast<dlock::semaphore*>(semaphore)->release(); }) == 0);
    std::thread([] {
        (void)shared_semaphore().acquire(2);
        CHECK(pthread_setspecific(key, &shared_semaphore()) == 0);
    }).join();
    CHECK(shared_semaphore().inspect().available == 3);
}

dlock::shared_mutex& shared_sides() {
    static dlock::shared_mutex sides{client(), lock_name("sides")};
    return sides;
}

void a_static_shared_lock_is_released_at_exit() {
    shared_sides();
    static const std::shared_lock guard{shared_sides()};
    static const dlock::hold hold = shared_sides().take_shared();
    CHECK(guard.owns_lock() && hold.valid() && shared_sides().inspect().readers > 0);
}

void a_thread_local_guard_releases_a_side() {
    std::thread([] {
        thread_local std::optional<std::unique_lock<dlock::shared_mutex>> guard;
        guard.emplace(shared_sides());
        (void)shared_sides().downgrade();
        guard->release();
        thread_local const std::shared_lock reading{shared_sides(), std::adopt_lock};
    }).join();
    CHECK(shared_sides().inspect().readers == 0 && !shared_sides().inspect().writer);
}

void a_thread_that_ends_with_permits_loses_them() {
    std::optional<dlock::held> held;
    dlock::semaphore brief{
        client(), lock_name("abandoned"), 3, {std::chrono::milliseconds(0), std::chrono::milliseconds(300)}};
    std::thread([&] { held = brief.acquire(2); }).join();
    CHECK(held->lost() == dlock::loss::closed);
    CHECK(brief.try_acquire_for(std::chrono::seconds(10), 3)); // when the lease has run out
    brief.release();
}

// Nobody releases these; what looks afterwards waits for their lease.
void a_process_that_exits_leaves_its_permits_to_their_lease() {
    dlock::semaphore brief{
        client(), lock_name("abandoned"), 3, {std::chrono::milliseconds(0), std::chrono::milliseconds(300)}};
    (void)brief.acquire(2);
    static std::optional<dlock::hold> never_ended = brief.take();
    (void)never_ended->disown();
}

void a_key_that_acquires_permits_does_so_for_a_lease() {
    static dlock::semaphore brief{
        client(), lock_name("abandoned"), 3, {std::chrono::milliseconds(0), std::chrono::milliseconds(300)}};
    pthread_key_t key = 0;
    CHECK(pthread_key_create(&key, [](void* semaphore) { static_cast<dlock::semaphore*>(semaphore)->acquire(); }) == 0);
    for (bool used_before : {false, true}) {
        std::thread([=] {
            if (used_before) CHECK(brief.inspect().available == 3);
            CHECK(pthread_setspecific(key, &brief) == 0);
        }).join();
        CHECK(brief.try_acquire_for(std::chrono::seconds(10), 3));
        brief.release();
    }
}

void a_thread_that_ends_holding_gives_up_the_renewal() {
    std::optional<dlock::held> held;
    std::thread([&] { held = shared_mutex().acquire(); }).join();
    CHECK(held->lost() == dlock::loss::closed);
    CHECK(shared_mutex().force_release());
}

// What the end of a thread acquires and never releases.
dlock::mutex& abandoned_mutex() {
    static dlock::mutex mutex{
        client(), lock_name("m"), {std::chrono::milliseconds(0), std::nullopt, std::chrono::milliseconds(300)}};
    return mutex;
}

// The process lives on: the lease, which nobody may renew, frees the lock.
void comes_free_with_its_lease() {
    CHECK(abandoned_mutex().try_lock_for(std::chrono::seconds(10)));
    abandoned_mutex().unlock();
}

pthread_key_t acquiring_key() {
    pthread_key_t key = 0;
    CHECK(pthread_key_create(&key, [](void* mutex) { static_cast<dlock::mutex*>(mutex)->lock(); }) == 0);
    return key;
}

// In a thread of its own, with libdlock's values of the thread already made or not.
void end_acquiring(pthread_key_t key, bool used_before) {
    std::thread([=] {
        if (used_before) CHECK(!abandoned_mutex().locked());
        CHECK(pthread_setspecific(key, &abandoned_mutex()) == 0);
    }).join();
    comes_free_with_its_lease();
}

void a_key_made_before_libdlocks_acquires_for_a_lease() {
    const auto key = acquiring_key();
    for (bool used_before : {false, true}) end_acquiring(key, used_before);
}

void a_key_made_after_libdlocks_acquires_for_a_lease() {
    comes_free_with_its_lease();
    const auto key = acquiring_key();
    for (bool used_before : {false, true}) end_acquiring(key, used_before);
}

void two_keys_acquire_one_after_the_other_for_a_lease() {
    static dlock::mutex second{
        client(), lock_name("other"), {std::chrono::milliseconds(0), std::nullopt, std::chrono::milliseconds(300)}};
    const auto before = acquiring_key();
    comes_free_with_its_lease();
    const auto after = acquiring_key();
    std::thread([=] {
        CHECK(!second.locked());
        CHECK(pthread_setspecific(before, &abandoned_mutex()) == 0 && pthread_setspecific(after, &second) == 0);
    }).join();
    comes_free_with_its_lease();
    CHECK(second.try_lock_for(std::chrono::seconds(10)));
    second.unlock();
}

void a_thread_local_destructor_acquires_for_a_lease() {
    struct acquiring {
        bool armed = false;
        ~acquiring() {
            if (armed) abandoned_mutex().lock();
        }
    };
    std::thread([] {
        thread_local acquiring at_the_end; // made before libdlock's, so ended after them
        at_the_end.armed = true;
        CHECK(!abandoned_mutex().locked());
    }).join();
    comes_free_with_its_lease();
}

struct end_case {
    const char* name;
    void (*run)();
};

#define END_CASE(name)                                                                                                 \
    { #name, name }
constexpr end_case cases[] = {
    END_CASE(a_static_guard_releases_at_exit),
    END_CASE(a_static_guard_releases_when_another_thread_exits),
    END_CASE(a_static_hold_releases_when_another_thread_exits),
    END_CASE(everything_works_in_an_atexit_handler),
    END_CASE(the_first_call_may_come_in_an_atexit_handler),
    END_CASE(a_thread_key_destructor_releases),
    END_CASE(a_thread_local_guard_releases),
    END_CASE(static_permits_are_released_at_exit),
    END_CASE(a_thread_local_hold_releases_its_permits),
    END_CASE(a_thread_key_destructor_releases_permits),
    END_CASE(a_static_shared_lock_is_released_at_exit),
    END_CASE(a_thread_local_guard_releases_a_side),
    END_CASE(a_thread_that_ends_with_permits_loses_them),
    END_CASE(a_process_that_exits_leaves_its_permits_to_their_lease),
    END_CASE(a_key_that_acquires_permits_does_so_for_a_lease),
    END_CASE(a_thread_that_ends_holding_gives_up_the_renewal),
    END_CASE(a_key_made_before_libdlocks_acquires_for_a_lease),
    END_CASE(a_key_made_after_libdlocks_acquires_for_a_lease),
    END_CASE(two_keys_acquire_one_after_the_other_for_a_lease),
    END_CASE(a_thread_local_destructor_acquires_for_a_lease),
};

// Runs a case in a process of its own; what it held has to be free when that process is gone, and what it abandoned has
// to come free.
bool holds(const char* program, const end_case& each) {
    check_case = each.name;
    char* const arguments[] = {const_cast<char*>(program), const_cast<char*>(each.name), nullptr};
    pid_t child = 0;
    CHECK(posix_spawn(&child, program, nullptr, nullptr, arguments, environ) == 0);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    dlock::client observer{server_url()};
    dlock::mutex mutex{observer, lock_name("m")}, other{observer, lock_name("other")};
    const auto permits = dlock::semaphore{observer, lock_name("permits"), 3}.inspect();
    const auto sides = dlock::shared_mutex{observer, lock_name("sides")}.inspect();
    dlock::semaphore abandoned{observer, lock_name("abandoned"), 3};
    const char* why = nullptr;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        why = "the process failed";
    else if (mutex.locked() || other.locked())
        why = "its lock is still held";
    else if (permits.permits && permits.available != 3)
        why = "its permits are still held";
    else if (sides.writer || sides.readers != 0)
        why = "a side is still held";
    else if (!abandoned.try_acquire_for(std::chrono::seconds(10), 3))
        why = "the permits that it left have not come back";
    if (why != nullptr) {
        printf("not ok %s: %s, status %#x\n", each.name, why, static_cast<unsigned>(status));
        mutex.force_release(), other.force_release();
    } else {
        printf("ok %s\n", each.name);
    }
    fflush(stdout);
    observer.close_releasing();
    return why == nullptr;
}

} // namespace

int main(int count, char** arguments) {
    bool all = true;
    for (const auto& each : cases) {
        check_case = each.name;
        if (count < 2)
            all = holds(arguments[0], each) && all;
        else if (std::string_view(arguments[1]) == each.name)
            return each.run(), 0;
    }
    return count < 2 && all ? 0 : 1;
}
