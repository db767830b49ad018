// dlock.hpp under C++20: the loss of a lock as a std::stop_token.
#include "check.h"

#include <condition_variable>
#include <dlock.hpp>
#include <mutex>

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

} // namespace

int main() {
    RUN(a_loss_requests_a_stop);
    RUN(a_release_requests_none);
}
