// dlock::counting_semaphore: the verbs of std::counting_semaphore across clients, and its operations on a port.
#include "check.hpp"

namespace {

dlock::counting_semaphore make_counting(std::int64_t permits, dlock::client& client = shared_client()) {
    dlock::counting_semaphore made{client, std::string("cpp/counting/") + check_case};
    made.try_set_permits(permits);
    return made;
}

void await_waiting(const dlock::client& client, std::uint64_t callers) {
    for (int64_t until = now_ms() + 30000; client.stats().counting_semaphore.waiting != callers;)
        CHECK(now_ms() < until);
}

void it_has_the_verbs_of_the_standards_counting_semaphore() {
    static_assert(move_only<dlock::counting_semaphore>);
    dlock::counting_semaphore slots{shared_client(), std::string("cpp/counting/") + check_case};
    CHECK(slots.name() == std::string("cpp/counting/") + check_case);
    CHECK(!slots.inspect().exists && slots.available() == 0 && !slots.try_acquire());
    CHECK(slots.try_set_permits(3) && !slots.try_set_permits(9) && slots.inspect().exists);
    slots.acquire();
    slots.acquire(2);
    CHECK(!slots.try_acquire() && !slots.try_acquire_for(20ms, 2));
    CHECK(!slots.try_acquire_until(std::chrono::steady_clock::now() + 20ms));
    elsewhere([&] { slots.release(3); }); // whoever has acquired them
    CHECK(slots.try_acquire(2) && slots.try_acquire_for(1s) && slots.available() == 0);
    slots.release();
    CHECK(slots.try_acquire_until(std::chrono::system_clock::now() + 10s));
    slots.add_permits(-2);
    CHECK(slots.available() == -2 && slots.drain() == -2 && slots.available() == 0);
    slots.add_permits(4);
    CHECK(slots.drain() == 4 && slots.inspect().queued == 0);
}

void a_release_wakes_a_waiter_of_another_client() {
    dlock::client other{server_url()};
    auto mine = make_counting(0), theirs = make_counting(0, other);
    auto waiting = std::async(std::launch::async, [&] { theirs.acquire(2); });
    await_waiting(other, 1);
    mine.release(2);
    waiting.get();
    CHECK(mine.available() == 0 && other.stats().counting_semaphore.acquired == 1);
}

void what_cannot_be_throws() {
    auto slots = make_counting(1);
    thrown<dlock::invalid_argument>([&] { slots.try_set_permits(-1); });
    const auto error = thrown<dlock::invalid_argument>([&] { slots.acquire(0); });
    CHECK(says(error, "2147483647") && error.name() == slots.name());
    thrown<dlock::invalid_argument>([&] { slots.release(-1); });
    thrown<dlock::invalid_argument>([&] { slots.add_permits(0); });
    thrown<dlock::invalid_argument>([&] { slots.release((dlock::counting_semaphore::max)()); });
    thrown<dlock::invalid_name>([&] { dlock::counting_semaphore{shared_client(), "a{"}; });
    CHECK(slots.available() == 1);
    dlock::client closed{server_url()};
    auto unusable = make_counting(1, closed);
    closed.close();
    thrown<dlock::closed>([&] { unusable.acquire(); });
    auto moved = std::move(slots);
    CHECK(moved.available() == 1);
    dlock::port port;
    dlock_status_t status = DLOCK_OK;
    thrown<dlock::invalid_argument>([&] { slots.release(); }); // NOLINT(bugprone-use-after-move)
    port.release(moved, 0).then([&](const dlock::result<void>& got) { status = got.status(); });
    port.run();
    CHECK(status == DLOCK_INVALID_ARGUMENT);
}

void a_cancel_token_ends_the_wait_and_takes_nothing() {
    dlock::client own{server_url()};
    auto slots = make_counting(0, own);
    dlock::cancel_token token;
    auto waiting = std::async(std::launch::async, [&] { slots.acquire(1, &token); });
    await_waiting(own, 1);
    token.fire();
    thrown<dlock::cancelled>([&] { waiting.get(); });
    slots.release();
    CHECK(slots.try_acquire_for(10s));
}

void a_port_acquires_and_releases() {
    dlock::port port;
    auto slots = make_counting(2);
    int acquired = 0, refused = 0;
    port.acquire(slots, 2).then([&](dlock::result<void> got) { got.get(), acquired++; });
    port.run();
    port.try_acquire(slots).then([&](dlock::result<bool> got) { (got.get() ? acquired : refused)++; });
    port.try_acquire(slots, 1, 20ms).then([&](dlock::result<bool> got) { (got.get() ? acquired : refused)++; });
    port.run();
    CHECK(acquired == 1 && refused == 2 && slots.available() == 0);
    port.acquire(slots).then([&](dlock::result<void> got) { got.get(), acquired++; });
    port.release(slots, 2).then([](dlock::result<void> got) { got.get(); });
    port.run();
    CHECK(acquired == 2 && slots.available() == 1);
    port.try_acquire(slots).then([&](dlock::result<bool> got) { (got.get() ? acquired : refused)++; });
    port.run();
    CHECK(acquired == 3 && refused == 2 && slots.available() == 0);
}

} // namespace

int main() {
    RUN(it_has_the_verbs_of_the_standards_counting_semaphore);
    RUN(a_release_wakes_a_waiter_of_another_client);
    RUN(what_cannot_be_throws);
    RUN(a_cancel_token_ends_the_wait_and_takes_nothing);
    RUN(a_port_acquires_and_releases);
    shared_client().close();
}
