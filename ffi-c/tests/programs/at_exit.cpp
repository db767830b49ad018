// Calls at the end of a process and of a thread: atexit handlers, static destructors, thread-local and thread-key
// destructors. Each case runs this program anew with its name, and then asks the server at once.
#include "check.h"

#include <dlock.hpp>

#include <mutex>
#include <optional>
#include <pthread.h>
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
    END_CASE(everything_works_in_an_atexit_handler),
    END_CASE(the_first_call_may_come_in_an_atexit_handler),
    END_CASE(a_thread_key_destructor_releases),
    END_CASE(a_thread_local_guard_releases),
    END_CASE(a_thread_that_ends_holding_gives_up_the_renewal),
    END_CASE(a_key_made_before_libdlocks_acquires_for_a_lease),
    END_CASE(a_key_made_after_libdlocks_acquires_for_a_lease),
    END_CASE(two_keys_acquire_one_after_the_other_for_a_lease),
    END_CASE(a_thread_local_destructor_acquires_for_a_lease),
};

// Runs a case in a process of its own; what it held has to be free when that process is gone.
bool holds(const char* program, const end_case& each) {
    check_case = each.name;
    char* const arguments[] = {const_cast<char*>(program), const_cast<char*>(each.name), nullptr};
    pid_t child = 0;
    CHECK(posix_spawn(&child, program, nullptr, nullptr, arguments, environ) == 0);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    dlock::client observer{server_url()};
    dlock::mutex mutex{observer, lock_name("m")}, other{observer, lock_name("other")};
    const char* why = nullptr;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        why = "the process failed";
    else if (mutex.locked() || other.locked())
        why = "its lock is still held";
    if (why != nullptr) {
        printf("not ok %s: %s, status %#x\n", each.name, why, static_cast<unsigned>(status));
        mutex.force_release(), other.force_release();
    } else {
        printf("ok %s\n", each.name);
    }
    fflush(stdout);
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
