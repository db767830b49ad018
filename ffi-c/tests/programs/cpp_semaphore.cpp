// dlock::semaphore under C++17: the verbs of the standard's, what they cannot mean here, holds that are objects.
#include "check.hpp"

#include <set>
#include <thread>

namespace {

static_assert(move_only<dlock::semaphore>);
static_assert(dlock::semaphore::max() == 2147483647);

dlock::semaphore make_semaphore(std::int64_t permits, const dlock::semaphore_options& options = {}) {
    return {shared_client(), std::string("cpp/semaphore/") + check_case + "/" + std::to_string(getpid()), permits,
            options};
}

void a_thread_acquires_and_releases() {
    auto semaphore = make_semaphore(2);
    CHECK(!semaphore.inspect().permits);
    semaphore.acquire();
    CHECK(semaphore.try_acquire() && !semaphore.try_acquire() && semaphore.hold_count() == 2);
    CHECK(elsewhere([&] { return !semaphore.try_acquire() && semaphore.hold_count() == 0; }));
    const auto seen = semaphore.inspect();
    CHECK(seen.permits == 2U && seen.available == 0 && seen.queued == 0);
    semaphore.release();
    CHECK(elsewhere([&] {
        const bool got = semaphore.try_acquire();
        if (got) semaphore.release();
        return got;
    }));
    semaphore.release();
    CHECK(semaphore.inspect().available == 2);
}

void several_permits_come_and_go_together() {
    auto semaphore = make_semaphore(6);
    const dlock::held three = semaphore.acquire(3), two = semaphore.acquire(2, {1s, 5s, nullptr});
    const auto ids = three.permits();
    CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == 3 && ids[0].size() == 32);
    CHECK(three.token() == 0 && three.valid() && three.remaining() > 0ms && two.permits().size() == 2);
    CHECK(semaphore.held().permits() == two.permits() && semaphore.hold_count() == 2);
    CHECK(!semaphore.try_acquire(2) && semaphore.try_acquire(1));
    semaphore.release();
    semaphore.extend(1min); // the latest
    CHECK(two.remaining() > 40s && three.remaining() <= 30s);
    semaphore.extend(three, 2min);
    CHECK(three.remaining() > 90s);
    semaphore.release(three); // not the latest
    CHECK(!three.valid() && two.valid() && semaphore.inspect().available == 4);
    (void)thrown<dlock::not_held>([&] { semaphore.release(three); });
    semaphore.release();
    CHECK(semaphore.inspect().available == 6);
}

void what_a_release_cannot_mean_is_said() {
    auto semaphore = make_semaphore(3);
    (void)semaphore.acquire(3);
    for (std::ptrdiff_t update : {3, 0, -1}) {
        const auto refused = thrown<dlock::invalid_argument>([&] { semaphore.release(update); });
        CHECK(says(refused, "update is " + std::to_string(update)) && says(refused, "once for each acquire"));
    }
    const auto other = thrown<dlock::not_held>([&] { elsewhere([&] { semaphore.release(); }); });
    CHECK(says(other, "one acquire of the same thread") && other.name() == semaphore.name());
    CHECK(semaphore.inspect().available == 0); // all that was refused has released nothing
    semaphore.release(1);
    CHECK(semaphore.inspect().available == 3);
    (void)thrown<dlock::not_held>([&] { semaphore.release(); }); // and nobody makes permits by it
    // One that begins with nothing, for signals, is no semaphore of this kind.
    const auto empty = thrown<dlock::invalid_argument>([] { (void)make_semaphore(0); });
    CHECK(says(empty, "0 permits") && empty.allowed() == "1 to 2147483647");
    const auto many = thrown<dlock::invalid_argument>([&] { (void)semaphore.acquire(10001); });
    CHECK(many.allowed() == "1 to 10000");
    (void)thrown<dlock::invalid_argument>([&] { (void)semaphore.try_acquire(4); }); // never to be had
}

void a_hold_belongs_to_its_object_and_to_no_thread() {
    auto semaphore = make_semaphore(3);
    dlock::hold hold = semaphore.take(2);
    CHECK(hold && hold.valid() && hold.token() == 0 && hold.permits().size() == 2 && semaphore.hold_count() == 0);
    CHECK(!semaphore.try_take(2) && !semaphore.try_take_for(300ms, 2) && semaphore.try_take());
    (void)thrown<dlock::acquire_timeout>([&] { (void)semaphore.take(2, {300ms, 0ms, nullptr}); });
    (void)thrown<dlock::not_held>([&] { semaphore.release(); });
    (void)thrown<dlock::invalid_argument>([&] { semaphore.release(hold.view()); });
    (void)thrown<dlock::invalid_argument>([&] { (void)hold.detach(); });
    hold.extend(1min);
    CHECK(hold && hold.remaining() > 40s);
    std::thread([&, moved = std::move(hold)]() mutable { moved.release(); }).join();
    CHECK(!hold && semaphore.inspect().available == 3); // NOLINT: moved from is empty
    {
        auto taken = semaphore.try_take(3);
        CHECK(taken && semaphore.inspect().available == 0);
        *taken = dlock::hold::adopt(nullptr); // what was in it is released
        CHECK(semaphore.inspect().available == 3);
        taken = semaphore.try_take();
        CHECK(taken);
    }
    CHECK(semaphore.inspect().available == 3);
}

void timed_tries_end_in_time() {
    auto semaphore = make_semaphore(1);
    CHECK(semaphore.try_acquire_for(1s));
    const auto begun = now_ms();
    CHECK(!semaphore.try_acquire_for(50ms) && !semaphore.try_acquire_until(std::chrono::system_clock::now() + 50ms));
    CHECK(!semaphore.try_acquire_for(-1h));
    CHECK(!semaphore.try_acquire_until(std::chrono::steady_clock::time_point::min()));
    CHECK(now_ms() - begun >= 100 && now_ms() - begun < bound_ms(300));
    semaphore.release();
    semaphore.set_permits(4);
    // As long as the caller likes, and for ever, as the standard library says it.
    CHECK(semaphore.try_acquire_for(48h) && semaphore.try_acquire_for(std::chrono::hours::max()));
    CHECK(semaphore.try_acquire_until(std::chrono::steady_clock::time_point::max()));
    CHECK(semaphore.try_acquire_until(std::chrono::system_clock::now() - 1h) && semaphore.hold_count() == 4);
    for (int i = 0; i < 4; i++) semaphore.release();
    (void)thrown<dlock::invalid_argument>([&] { (void)semaphore.acquire(1, {-1ms, 0ms, nullptr}); });
}

void a_waiter_is_woken_by_a_release_and_by_more_permits() {
    auto semaphore = make_semaphore(2);
    const auto two = [&] {
        (void)semaphore.acquire(2);
        semaphore.release();
        return true;
    };
    const auto await_waiting = [] {
        while (shared_client().stats().semaphore.waiting == 0) std::this_thread::yield();
    };
    semaphore.acquire();
    auto waiter = std::async(std::launch::async, two);
    await_waiting();
    semaphore.release();
    CHECK(waiter.wait_for(30s) == std::future_status::ready && waiter.get());
    semaphore.acquire();
    waiter = std::async(std::launch::async, two);
    await_waiting();
    semaphore.set_permits(3);
    CHECK(waiter.wait_for(30s) == std::future_status::ready && waiter.get());
    semaphore.set_permits(1);
    (void)thrown<dlock::invalid_argument>([&] { semaphore.set_permits(0); });
    CHECK(semaphore.inspect().permits == 1U && semaphore.inspect().available == 0);
    semaphore.release();
}

void lost_permits_are_told() {
    auto semaphore = make_semaphore(2, {300ms, 0ms});
    const auto held = semaphore.acquire(1);
    auto taken = semaphore.take();
    CHECK(held.wait_lost(48h) == dlock::loss::expired && taken.wait_lost(10s) == dlock::loss::expired);
    (void)thrown<dlock::not_held>([&] { semaphore.extend(1s); });
    (void)thrown<dlock::not_held>([&] { semaphore.release(); });
    (void)thrown<dlock::not_held>([&] { taken.release(); });
    CHECK(semaphore.try_acquire_for(10s, 2)); // they came back
    semaphore.release();
    (void)thrown<dlock::invalid_argument>([] { (void)make_semaphore(1, {1s, 1s}); });
}

void a_cancel_token_ends_a_wait() {
    auto semaphore = make_semaphore(1);
    semaphore.acquire();
    dlock::cancel_token cancel;
    auto waiter = std::async(std::launch::async, [&] { (void)semaphore.take(1, {std::nullopt, 0ms, &cancel}); });
    cancel.fire();
    (void)thrown<dlock::cancelled>([&] { waiter.get(); });
    semaphore.release();
    CHECK(semaphore.inspect().available == 1);
}

void a_client_counts() {
    dlock::client client{server_url()};
    dlock::semaphore semaphore{client, std::string("cpp/semaphore/") + check_case, 2};
    { const auto hold = semaphore.take(2); }
    const dlock::stats seen = client.stats();
    CHECK(seen.semaphore.acquired == 1 && seen.semaphore.released == 1 && seen.semaphore.held == 0);
    CHECK(seen.semaphore.wait_time.count == 1 && seen.semaphore.hold_time.count == 1 && seen.lock.acquired == 0);
    client.close();
    (void)thrown<dlock::closed>([&] { semaphore.acquire(); });
}

void callbacks_get_permits() {
    auto semaphore = make_semaphore(2);
    dlock::port port;
    std::optional<dlock::hold> hold;
    int refused = 0;
    port.acquire(semaphore, 2).then([&](dlock::result<dlock::hold> got) {
        hold.emplace(got.get());
        port.try_acquire(semaphore).then([&](dlock::result<std::optional<dlock::hold>> none) {
            refused += !none.get();
            port.acquire(semaphore, 1, {300ms, 0ms, nullptr}).then([&](const dlock::result<dlock::hold>& late) {
                refused += late.status() == DLOCK_BUSY;
            });
        });
    });
    port.run();
    CHECK(hold && hold->permits().size() == 2 && refused == 2);
    port.release(*std::move(hold)).then([](dlock::result<void> done) { done.get(); });
    port.run();
    CHECK(semaphore.inspect().available == 2);
}

} // namespace

int main() {
    RUN(a_thread_acquires_and_releases);
    RUN(several_permits_come_and_go_together);
    RUN(what_a_release_cannot_mean_is_said);
    RUN(a_hold_belongs_to_its_object_and_to_no_thread);
    RUN(timed_tries_end_in_time);
    RUN(a_waiter_is_woken_by_a_release_and_by_more_permits);
    RUN(lost_permits_are_told);
    RUN(a_cancel_token_ends_a_wait);
    RUN(a_client_counts);
    RUN(callbacks_get_permits);
}
