// dlock::latch: the verbs of std::latch across clients, and its operations on a port.
#include "check.hpp"

#include <type_traits>
#include <vector>

namespace {

dlock::latch make_latch(dlock::client& client = shared_client()) {
    return {client, std::string("cpp/latch/") + check_case};
}

void await_waiting(const dlock::client& client, std::uint64_t callers) {
    for (int64_t until = now_ms() + 30000; client.stats().latch.waiting != callers;) CHECK(now_ms() < until);
}

void it_has_the_verbs_of_the_standards_latch() {
    static_assert(move_only<dlock::latch>);
    dlock::latch latch = make_latch();
    CHECK(latch.name() == std::string("cpp/latch/") + check_case);
    CHECK(latch.try_wait() && latch.count() == 0); // one that is not there is open
    CHECK(latch.try_set_count(4) && !latch.try_set_count(9) && latch.count() == 4 && !latch.try_wait());
    latch.count_down();
    CHECK(latch.count_down(2) == 1);
    CHECK(!latch.wait_for(20ms) && !latch.wait_until(std::chrono::steady_clock::now() + 20ms));
    CHECK(!latch.wait_until(std::chrono::system_clock::now() - 1h));
    latch.arrive_and_wait();
    latch.wait();
    CHECK(latch.try_wait() && latch.wait_for(0s) && latch.wait_until(std::chrono::steady_clock::time_point::max()));
    CHECK(latch.try_set_count((dlock::latch::max)()) && latch.count() == (dlock::latch::max)());
    CHECK(latch.remove() && !latch.remove() && latch.try_wait());
}

void three_that_arrive_go_on_together() {
    dlock::client other{server_url()};
    dlock::latch setter = make_latch();
    CHECK(setter.try_set_count(3));
    std::vector<std::future<void>> arriving;
    for (int i = 0; i < 2; i++)
        arriving.push_back(std::async(std::launch::async, [&] { make_latch(other).arrive_and_wait(); }));
    await_waiting(other, 2);
    CHECK(setter.count() == 1);
    setter.arrive_and_wait();
    for (auto& each : arriving) each.get();
    CHECK(setter.count() == 0 && other.stats().latch.counted_down == 2 && other.stats().latch.opened == 2);
}

void what_cannot_be_throws() {
    dlock::latch latch = make_latch();
    thrown<dlock::invalid_argument>([&] { latch.try_set_count(0); });
    const auto error = thrown<dlock::invalid_argument>([&] { latch.count_down(-1); });
    CHECK(says(error, "9007199254740991") && error.name() == latch.name());
    thrown<dlock::invalid_argument>([&] { latch.arrive_and_wait(0); });
    thrown<dlock::invalid_name>([&] { dlock::latch{shared_client(), "a{"}; });
    dlock::mutex mutex{shared_client(), latch.name()};
    mutex.lock();
    thrown<dlock::wrong_type>([&] { (void)latch.count(); });
    mutex.unlock();
    dlock::client closed{server_url()};
    dlock::latch unusable{closed, "cpp/latch/closed"};
    closed.close();
    thrown<dlock::closed>([&] { unusable.wait(); });
    dlock::latch moved = std::move(latch);
    CHECK(moved.count() == 0);
    thrown<dlock::invalid_argument>([&] { (void)latch.count(); }); // NOLINT(bugprone-use-after-move)
}

void a_cancel_token_ends_the_wait() {
    dlock::client own{server_url()};
    dlock::latch latch = make_latch(own);
    CHECK(latch.try_set_count(1));
    dlock::cancel_token token;
    auto waiting = std::async(std::launch::async, [&] { latch.arrive_and_wait(1, &token); });
    waiting.get(); // it was the last to arrive
    CHECK(latch.try_set_count(2));
    waiting = std::async(std::launch::async, [&] { latch.arrive_and_wait(1, &token); });
    await_waiting(own, 1);
    token.fire();
    thrown<dlock::cancelled>([&] { waiting.get(); });
    CHECK(latch.count() == 1);
}

void a_port_counts_down_and_waits() {
    dlock::port port;
    dlock::latch latch = make_latch();
    CHECK(latch.try_set_count(3));
    int open = 0, closed = 0;
    port.wait(latch, 20ms).then([&](dlock::result<bool> got) { (got.get() ? open : closed)++; });
    port.run();
    CHECK(open == 0 && closed == 1);
    port.wait(latch).then([&](dlock::result<bool> got) { (got.get() ? open : closed)++; });
    std::int64_t left = -1;
    port.count_down(latch).then([&](dlock::result<std::int64_t> got) { left = got.get(); });
    while (left < 0) port.dispatch_for(30s);
    CHECK(left == 2 && open == 0);
    port.count_down(latch, 5).then([&](dlock::result<std::int64_t> got) { left = got.get(); });
    port.run();
    CHECK(left == 0 && open == 1 && closed == 1);
    dlock_status_t refused = DLOCK_OK;
    port.count_down(latch, 0).then([&](const dlock::result<std::int64_t>& got) { refused = got.status(); });
    port.run();
    CHECK(refused == DLOCK_INVALID_ARGUMENT);
}

} // namespace

int main() {
    RUN(it_has_the_verbs_of_the_standards_latch);
    RUN(three_that_arrive_go_on_together);
    RUN(what_cannot_be_throws);
    RUN(a_cancel_token_ends_the_wait);
    RUN(a_port_counts_down_and_waits);
    shared_client().close();
}
