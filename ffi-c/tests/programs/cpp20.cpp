// dlock.hpp under C++20: the loss of a lock as a std::stop_token; the standard's semaphore beside the shared one.
#include "check.h"

#include <condition_variable>
#include <dlock.hpp>
#include <mutex>
#include <semaphore>
#include <type_traits>

using namespace std::chrono_literals;

namespace {

void a_loss_requests_a_stop() {
    dlock::client client{server_url()};
    dlock::mutex mutex{client, "cpp20/lost"};
    auto held = mutex.acquire({std::nullopt, 2s, nullptr});
    dlock::stop_on_loss loss{held};
    std::mutex local;
    std::condition_variable_any stopped;
    std::unique_lock guard{local};
    CHECK(!loss.token().stop_requested());
    // What a worker does: waits for its work, or for the stop.
    CHECK(!stopped.wait_for(guard, loss.token(), 30s, [] { return false; }));
    CHECK(loss.token().stop_requested() && held.lost() == dlock::loss::expired);
}

void a_release_requests_none() {
    dlock::client client{server_url()};
    dlock::mutex mutex{client, "cpp20/released"};
    std::stop_token token;
    {
        std::unique_lock guard{mutex};
        auto held = mutex.held();
        dlock::stop_on_loss loss{held};
        token = loss.token();
        mutex.release();
        guard.release();
    }
    CHECK(!token.stop_requested());
}

// What a user of the standard's semaphore writes, for either.
template <class Semaphore> void use_as_the_standards(Semaphore& permits) {
    permits.acquire();
    CHECK(permits.try_acquire() && !permits.try_acquire() && !permits.try_acquire_for(300ms));
    CHECK(!permits.try_acquire_until(std::chrono::steady_clock::now() + 300ms));
    permits.release();
    CHECK(permits.try_acquire_for(10s));
    permits.release(1);
    CHECK(permits.try_acquire_until(std::chrono::system_clock::now() + 10s));
    permits.release();
    permits.release();
    static_assert(std::is_same_v<decltype(permits.release()), void> &&
                  std::is_same_v<decltype(permits.acquire()), void>);
    static_assert(std::is_same_v<decltype(Semaphore::max()), std::ptrdiff_t> && Semaphore::max() >= 2);
}

void a_semaphore_has_the_verbs_of_the_standards() {
    dlock::client client{server_url()};
    dlock::semaphore shared{client, "cpp20/semaphore", 2};
    std::counting_semaphore<2> local{2};
    use_as_the_standards(shared);
    use_as_the_standards(local);
    CHECK(shared.inspect().available == 2 && shared.hold_count() == 0);
}

} // namespace

int main() {
    RUN(a_loss_requests_a_stop);
    RUN(a_release_requests_none);
    RUN(a_semaphore_has_the_verbs_of_the_standards);
}
